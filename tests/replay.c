/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: a main for a fuzz target where libFuzzer is missing: runs it on nothing, then on every file named and every
 * file of the folders named. A crash or a sanitizer's report is the failure; the last line on stderr says which file it
 * was. */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long replayed;

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
}

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return fail(path);
    const long bytes = ftell(f);
    rewind(f);
    uint8_t *data = malloc(bytes > 0 ? (size_t)bytes : 1); /* the exact size, so that a read past the end is seen */
    if (bytes < 0 || !data || fread(data, 1, (size_t)bytes, f) != (size_t)bytes)
        return fail(path);
    fclose(f);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, (size_t)bytes);
    free(data);
    replayed++;
    return 0;
}

static int replay_folder(const char *path, DIR *folder)
{
    int status = 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char file[4096];
        if (e->d_name[0] == '.')
            continue;
        if (snprintf(file, sizeof file, "%s/%s", path, e->d_name) >= (int)sizeof file) {
            errno = ENAMETOOLONG;
            return fail(path);
        }
        DIR *inner = opendir(file);
        status |= inner ? replay_folder(file, inner) : replay_file(file);
    }
    closedir(folder);
    return status;
}

int main(int argc, char **argv)
{
    int status = 0;
    const uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        status |= folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
    }
    printf("%ld inputs\n", replayed);
    return status;
}
