/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: a workload's tree as YAML that people read and edit, as the files in workloads/ are. */
#ifndef FUSESIM_IMPORT_WRITE_H
#define FUSESIM_IMPORT_WRITE_H

#include "input/yaml.h"
#include <stdio.h>

/* Writes y, with a comment in front: lines, each of which gets its "# "; NULL: none. What is written parses to the same
 * tree, but for places. Errors are left in the stream. */
void fsim_write_workload(FILE *out, const fsim_yaml *y, const char *comment);

#endif
