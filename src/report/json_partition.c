/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `enumerate`. */
#include "report/json_stream.h"
#include "report/report.h"
#include <inttypes.h>

/* cJSON would build and free a tree for each of what may be millions of lines. */
static void put_groups(FILE *out, const fsim_graph *g, const fsim_partition *partition, bool clones)
{
    fputc('[', out);
    for (int i = 0; i < partition->parts; i++) {
        const fsim_part *part = &partition->part[i];
        const char *between = "";
        fputs(i ? ", [" : "[", out);
        for (int n = 0; n < part->count; n++)
            if (!clones || (part->clone && part->clone[n])) {
                fputs(between, out);
                fsim_json_string(out, g->node[part->node[n]].name);
                between = ", ";
            }
        fputc(']', out);
    }
    fputc(']', out);
}

void fsim_json_partition(FILE *out, const fsim_graph *g, const fsim_partition *partition, double time_s,
                         fsim_sum dram_read_bytes, fsim_sum dram_write_bytes)
{
    char buffer[40], read[FSIM_SUM_DIGITS], written[FSIM_SUM_DIGITS];
    fputs("{\"groups\": ", out);
    put_groups(out, g, partition, false);
    fputs(", \"recomputed\": ", out);
    put_groups(out, g, partition, true);
    fprintf(out, ", \"time_s\": %s, \"dram_read_bytes\": %s, \"dram_write_bytes\": %s}\n",
            fsim_json_digits(buffer, time_s), fsim_sum_digits(read, dram_read_bytes),
            fsim_sum_digits(written, dram_write_bytes));
}

void fsim_json_partitions_end(FILE *out, int64_t partitions, bool truncated)
{
    fprintf(out, "{\"partitions\": %" PRId64 ", \"truncated\": %s}\n", partitions, truncated ? "true" : "false");
}
