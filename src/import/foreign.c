/* SPDX-License-Identifier: Apache-2.0 */
#include "import/foreign.h"

#include "base/names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static const char export_it[] = "export the model with torch.export.save (tools/export.py shows how) or to ONNX";

/* By their first bytes, or by bytes further on. */
static const struct {
    size_t at;
    const char *bytes;
    size_t length;
    const char *what, *how; /* how NULL: export the model */
} kinds[] = {
#define KIND(at, bytes, what, how)                                                                                     \
    {                                                                                                                  \
        at, bytes, sizeof(bytes) - 1, what, how                                                                        \
    }
    KIND(0, "\x80\x02", "a Python pickle, as torch.save wrote it: weights without a graph", NULL),
    KIND(0, "\x80\x03", "a Python pickle: weights without a graph", NULL),
    KIND(0, "\x80\x04", "a Python pickle: weights without a graph", NULL),
    KIND(0, "\x80\x05", "a Python pickle: weights without a graph", NULL),
    KIND(0, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes it", NULL),
    KIND(0, "GGUF", "a GGUF file: weights without a graph", "fusesim workloads lists language models by name"),
    KIND(4, "TFL3", "a TensorFlow Lite model", NULL),
    KIND(0, "version https://git-lfs", "a pointer of Git LFS and not the file itself", "fetch it with 'git lfs pull'"),
    KIND(0, "<!DOCTYPE", "a web page", "download the file itself"),
    KIND(0, "<!doctype", "a web page", "download the file itself"),
    KIND(0, "<html", "a web page", "download the file itself"),
    KIND(0, "\x1f\x8b", "packed by gzip", "unpack it first"),
    KIND(0, "BZh", "packed by bzip2", "unpack it first"),
    KIND(0,
         "\xfd"
         "7zXZ",
         "packed by xz", "unpack it first"),
    KIND(0, "\x28\xb5\x2f\xfd", "packed by zstd", "unpack it first"),
    KIND(257, "ustar", "a tar archive", "unpack it first"),
    KIND(0,
         "\x7f"
         "ELF",
         "a program or library (ELF)", NULL),
#undef KIND
};

/* A length of 8 bytes, and JSON as long. */
static bool is_safetensors(const char *text, size_t bytes)
{
    uint64_t length = 0;
    if (bytes < 10 || text[8] != '{')
        return false;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | (unsigned char)text[i];
    return length >= 2 && length <= bytes - 8;
}

const char *fsim_foreign_file(fsim_arena *a, const char *text, size_t bytes)
{
    if (is_safetensors(text, bytes))
        return fsim_printf(a, "a safetensors file: weights without a graph; %s", export_it);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bytes >= kinds[i].at + kinds[i].length && memcmp(text + kinds[i].at, kinds[i].bytes, kinds[i].length) == 0)
            return fsim_printf(a, "%s; %s", kinds[i].what, kinds[i].how ? kinds[i].how : export_it);
    return NULL;
}

static bool ends(const char *path, const char *tail)
{
    const size_t n = strlen(path), k = strlen(tail);
    return n > k && strcasecmp(path + n - k, tail) == 0;
}

/* No control characters but those that lay out a text? */
static bool is_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < ' ' && !memchr("\t\n\v\f\r\033", text[i], 6))
            return false;
    return true;
}

const char *fsim_foreign_name(fsim_arena *a, const char *path, const char *text, size_t bytes)
{
    const bool torch = ends(path, ".pt2") || ends(path, ".pt") || ends(path, ".pth"), onnx = ends(path, ".onnx");
    if (!torch && !onnx)
        return NULL;
    const char *found = bytes == 0             ? "the file is empty"
                        : is_text(text, bytes) ? "the file is text"
                                               : "the file begins as no model does; it is damaged or another file";
    if (torch)
        return fsim_printf(a,
                           "%s; wanted a torch.export archive, a zip ('PK'): export the model with torch.export.save "
                           "(tools/export.py shows how)",
                           found);
    return fsim_printf(a, "%s; wanted an ONNX model, a protocol buffer: export the model with torch.onnx.export",
                       found);
}
