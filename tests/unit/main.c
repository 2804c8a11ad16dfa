/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the unit test by whose name it is called, or that is named first: tests/CMakeLists.txt. */
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*plain)(void);
    int (*with_arguments)(int, char **);
} tests[] = {
#include "unit_rows.inc"
};

static int find(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int i = 0; i < (int)(sizeof tests / sizeof *tests); i++)
        if (strcmp(tests[i].name, name) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    int i = argc > 0 ? find(argv[0]) : -1;
    if (i < 0 && argc > 1) {
        argc--, argv++;
        i = find(argv[0]);
    }
    if (i < 0) {
        fprintf(stderr, "usage: unit_tests NAME_test [ARGUMENT...]\n");
        return 2;
    }
    return tests[i].plain ? tests[i].plain() : tests[i].with_arguments(argc, argv);
}
