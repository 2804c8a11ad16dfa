/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h: the zip that torch.export.save writes. Its directory and the program's entry are read, nothing else: not
 * the weights, not the constants, not what is pickled. */
#ifndef FUSESIM_IMPORT_TORCH_ARCHIVE_H
#define FUSESIM_IMPORT_TORCH_ARCHIVE_H

#include "import/format.h"

enum {
    FSIM_TORCH_MAX_ENTRIES = 1 << 20,     /* of an archive: each weight is one */
    FSIM_TORCH_MAX_JSON_BYTES = 128 << 20 /* of a program: an 80-layer model takes 10 to 20 MB */
};

/* The program's JSON, in a: *bytes of it, and a NUL. NULL after an error. */
const char *fsim_torch_archive(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, size_t *bytes);

#endif
