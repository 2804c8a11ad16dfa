/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: the formats that a workload may have (format.def): YAML, and models as their exporters write them. */
#ifndef FUSESIM_IMPORT_FORMAT_H
#define FUSESIM_IMPORT_FORMAT_H

#include "import/draft.h"
#include "import/wanted.h"

/* A file that was read. */
typedef struct {
    const char *path; /* for messages */
    const char *text; /* not followed by a NUL */
    size_t bytes;
} fsim_import_source;

/* The workload in a file, however it was written. */
typedef struct {
    const char *format;    /* "YAML" */
    const fsim_yaml *yaml; /* the tree that fsim_graph_of takes */
    fsim_draft *draft;     /* by an importer; NULL: the file itself is the tree */
    bool states_shapes;    /* the file says the shape of every tensor, and rightly */
} fsim_imported;

/* An importer: reads a file of its format. False after errors (in d). In a. */
typedef bool fsim_importer(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                           fsim_imported *out);
fsim_importer fsim_read_onnx, fsim_read_torch;

typedef enum {
#define FSIM_IMPORT(id, name, is, read) FSIM_FORMAT_##id,
#include "import/format.def"
#undef FSIM_IMPORT
} fsim_format_id;

/* The format of a file's content; YAML where it is none of the others. */
fsim_format_id fsim_format_of(const char *text, size_t bytes);
/* Reads a file by its content. False after errors (in d). Text of from stays referenced by YAML's trees only. In a. */
bool fsim_import_read(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                      fsim_imported *out);

#endif
