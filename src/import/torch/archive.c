/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c: finds the program in a zip. PyTorch's local headers say size 0 and zip64 records stand even in small
 * files, so only the central directory counts: libzip reads it from the mapped file. */
#include "import/torch/archive.h"

#include <string.h>

#ifdef FSIM_LIBZIP
#include <dlfcn.h>
#include <zip.h>

/* What a zip is that holds no program, by a name in it. */
static const struct {
    const char *part, *what;
} others[] = {
    {"data/aotinductor/", "an AOTInductor package: it holds compiled code and no graph"},
    {"code/__torch__", "a TorchScript archive"},
    {"constants.pkl", "a TorchScript archive"},
    {"data.pkl", "a checkpoint: weights without a graph"},
    {"pytorch_model", "a checkpoint: weights without a graph"},
    {".safetensors", "a zip of safetensors: weights without a graph"},
    {".npy", "a zip of arrays without a graph"},
};
static const char how[] = "export the model with torch.export.save (tools/export.py shows how)";

/* libzip is opened for archives alone: it brings libcrypto, which would make every start of the program half as long
 * again. What is called of it, each by its own name and type: */
#define CALLED(of)                                                                                                     \
    of(zip_discard) of(zip_error_code_zip) of(zip_error_fini) of(zip_error_init) of(zip_error_strerror) of(zip_fclose) \
        of(zip_fopen_index) of(zip_fread) of(zip_get_name) of(zip_get_num_entries) of(zip_open_from_source)            \
            of(zip_source_buffer_create) of(zip_source_free) of(zip_stat_index) of(zip_strerror)

#define MEMBER(name) __typeof__(name) *name;
typedef struct {
    CALLED(MEMBER)
} library;

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_loc at;
    library lib;
    zip_t *zip;
} archive;

static bool load(library *l)
{
    void *so = dlopen(FSIM_LIBZIP, RTLD_NOW | RTLD_LOCAL);
    bool all = so != NULL;
#define FOUND(name) all = all && (*(void **)(void *)&l->name = dlsym(so, #name)) != NULL;
    CALLED(FOUND)
    return all;
}

static uint32_t little(const char *p, int bytes)
{
    uint32_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | (unsigned char)p[i];
    return x;
}

/* How many entries the end of the file says that there are: libzip makes room for each of them. 0: not found, which
 * libzip then says. */
static uint64_t entries_said(const char *text, size_t bytes)
{
    const size_t record = 22, locator = 20, most_comment = 65535;
    const size_t first = bytes > record + most_comment ? bytes - record - most_comment : 0;
    for (size_t at = bytes >= record ? bytes - record : 0; bytes >= record && at + 1 > first; at--) {
        if (memcmp(text + at, "PK\5\6", 4) == 0) {
            const uint32_t count = little(text + at + 10, 2);
            if (count != 0xffff || at < locator || memcmp(text + at - locator, "PK\6\7", 4) != 0)
                return count;
            const uint64_t end = little(text + at - 12, 4) | (uint64_t)little(text + at - 8, 4) << 32;
            if (end > bytes || bytes - end < 56)
                return 0;
            return little(text + end + 32, 4) | (uint64_t)little(text + end + 36, 4) << 32;
        }
        if (at == 0)
            break;
    }
    return 0;
}

static bool ends(const char *name, const char *tail)
{
    const size_t n = strlen(name), k = strlen(tail);
    return n >= k && strcmp(name + n - k, tail) == 0;
}

/* Is it the program's entry? 2: named as a single program is; 1: one of several; 0: no. */
static int is_program(const char *name)
{
    const char *models = strstr(name, "models/");
    if (strcmp(name, "serialized_exported_program.json") == 0)
        return 2; /* torch up to 2.7 */
    if (!models || (models != name && models[-1] != '/') || strchr(models + 7, '/') || !ends(name, ".json"))
        return 0;
    return strcmp(models, "models/model.json") == 0 ? 2 : 1;
}

/* The entry of the program; -1 after an error. */
static zip_int64_t find_program(const archive *x)
{
    const zip_int64_t count = x->lib.zip_get_num_entries(x->zip, 0);
    size_t kind = sizeof others / sizeof *others;
    zip_int64_t found = -1;
    int best = 0, rivals = 0;
    for (zip_int64_t i = 0; i < count; i++) {
        const char *name = x->lib.zip_get_name(x->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        const int is = name ? is_program(name) : 0;
        rivals = is > best ? 1 : rivals + (is == best && is > 0);
        if (is > best) {
            best = is;
            found = i;
        }
        for (size_t k = 0; name && k < kind; k++) /* rows in front say more than those behind */
            kind = strstr(name, others[k].part) ? k : kind;
    }
    if (rivals > 1)
        fsim_error(x->d, x->at, "the archive holds %d programs; wanted one (save each in a file of its own)", rivals);
    else if (found < 0)
        fsim_error(x->d, x->at, "this is %s; wanted a torch.export archive: %s",
                   kind < sizeof others / sizeof *others ? others[kind].what
                   : count                               ? "a zip without a program (models/model.json)"
                                                         : "an empty zip",
                   how);
    return rivals > 1 ? -1 : found;
}

static const char *read_entry(const archive *x, zip_uint64_t which, size_t *bytes)
{
    zip_stat_t s;
    if (x->lib.zip_stat_index(x->zip, which, 0, &s) != 0 || !(s.valid & ZIP_STAT_SIZE) || !(s.valid & ZIP_STAT_NAME)) {
        fsim_error(x->d, x->at, "the archive does not say how long its program is");
        return NULL;
    }
    if (s.size > FSIM_TORCH_MAX_JSON_BYTES) {
        fsim_error(x->d, x->at, "'%s' in the archive has %llu bytes; at most %d are read", s.name,
                   (unsigned long long)s.size, FSIM_TORCH_MAX_JSON_BYTES);
        return NULL;
    }
    char *text = fsim_new(x->a, char, s.size + 1);
    zip_file_t *file = x->lib.zip_fopen_index(x->zip, which, 0);
    const zip_int64_t got = file ? x->lib.zip_fread(file, text, s.size) : -1;
    char more;
    const bool whole = got == (zip_int64_t)s.size && x->lib.zip_fread(file, &more, 1) == 0; /* checks the sum, too */
    if (!whole)
        fsim_error(x->d, x->at, "'%s' in the archive cannot be read: %s", s.name,
                   file ? "it is damaged" : x->lib.zip_strerror(x->zip));
    if (file)
        x->lib.zip_fclose(file);
    *bytes = s.size;
    return whole ? text : NULL;
}

static void discard(void *opened)
{
    const archive *x = opened;
    x->lib.zip_discard(x->zip);
}

static const char *read_archive(archive *x, size_t *bytes)
{
    fsim_resource open;
    fsim_guard(&open, discard, x);
    const zip_int64_t which = find_program(x);
    const char *text = which < 0 ? NULL : read_entry(x, (zip_uint64_t)which, bytes);
    fsim_release(&open);
    return text;
}

const char *fsim_torch_archive(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, size_t *bytes)
{
    archive x = {.a = a, .d = d, .at = {from->path, 0, 0}};
    if (!load(&x.lib)) {
        fsim_failure(d, FSIM_UNAVAILABLE, x.at,
                     "torch.export archives are read by " FSIM_LIBZIP ", which is not on this machine: install libzip");
        return NULL;
    }
    const uint64_t entries = entries_said(from->text, from->bytes);
    if (entries > FSIM_TORCH_MAX_ENTRIES) {
        fsim_error(d, x.at, "the archive says that it has %llu entries; at most %d are read",
                   (unsigned long long)entries, FSIM_TORCH_MAX_ENTRIES);
        return NULL;
    }
    zip_error_t why;
    x.lib.zip_error_init(&why);
    zip_source_t *source = x.lib.zip_source_buffer_create(from->text, from->bytes, 0, &why);
    x.zip = source ? x.lib.zip_open_from_source(source, ZIP_RDONLY, &why) : NULL;
    if (!x.zip) {
        if (x.lib.zip_error_code_zip(&why) == ZIP_ER_NOZIP)
            fsim_error(d, x.at,
                       "this zip has no end: of %zu bytes, it is cut short or damaged; copy or export it again",
                       from->bytes);
        else
            fsim_error(d, x.at, "this zip cannot be read (%s): is it whole?", x.lib.zip_error_strerror(&why));
        if (source)
            x.lib.zip_source_free(source);
    }
    x.lib.zip_error_fini(&why);
    return x.zip ? read_archive(&x, bytes) : NULL;
}

#else

const char *fsim_torch_archive(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, size_t *bytes)
{
    (void)a;
    (void)bytes;
    fsim_failure(d, FSIM_UNAVAILABLE, (fsim_loc){from->path, 0, 0},
                 "this build cannot read torch.export archives: it was made without libzip (libzip-dev)");
    return NULL;
}

#endif
