/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/resources.h"
#include "validate/device/texts.h"

#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Lines of the log with these words, with any prefix (NVRTC's differ from nvcc's).
 *     ptxas info    : Compiling entry function 'spill' for 'sm_90'
 *     ptxas         .     416 bytes stack frame, 708 bytes spill stores, 856 bytes spill loads
 *     ptxas info    : Used 32 registers, used 0 barriers, 416 bytes cumulative stack size, 16 bytes smem */

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* The number right before `what` in [line, end), or 0. */
static int number_before(const char *line, const char *end, const char *what)
{
    const char *p = strstr(line, what);
    if (!p || p >= end)
        return 0;
    while (p > line && digit(p[-1]))
        p--;
    const long value = digit(*p) ? strtol(p, NULL, 10) : 0;
    return value > INT_MAX ? INT_MAX : (int)value;
}

static bool has(const char *line, const char *end, const char *what)
{
    const char *p = strstr(line, what);
    return p && p < end;
}

int fsim_resources_of_log(const char *log, fsim_arena *a, fsim_resources **out)
{
    static const char compiling[] = "Compiling entry function '";
    fsim_resources *entry = NULL;
    int count = 0, room = 0;
    for (const char *line = log, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const char *name = strstr(line, compiling);
        if (name && name < end) {
            name += sizeof compiling - 1;
            *FSIM_PUSH(a, entry, count, room) = (fsim_resources){.entry = fsim_strndup(a, name, strcspn(name, "'\n")),
                                                                 .registers = -1,
                                                                 .elf_registers = -1,
                                                                 .elf_frame_bytes = -1};
        } else if (count > 0 && has(line, end, " bytes stack frame")) {
            entry[count - 1].stack_bytes = number_before(line, end, " bytes stack frame");
            entry[count - 1].spill_store_bytes = number_before(line, end, " bytes spill stores");
            entry[count - 1].spill_load_bytes = number_before(line, end, " bytes spill loads");
        } else if (count > 0 && has(line, end, "Used ") && has(line, end, " registers")) {
            entry[count - 1].registers = number_before(line, end, " registers");
            entry[count - 1].barriers = number_before(line, end, " barriers");
            entry[count - 1].static_shared_bytes = number_before(line, end, " bytes smem");
        }
    }
    *out = entry;
    return count;
}

const fsim_resources *fsim_resources_find(const fsim_resources *entry, int entries, const char *name)
{
    for (int i = 0; i < entries; i++)
        if (strcmp(entry[i].entry, name) == 0)
            return &entry[i];
    return NULL;
}

/* The cubin is an ELF file whose section .nv.info has records {u8 format, u8 attribute, u16 value}; format 4 is
 * followed by `value` bytes. The two attributes that we read have {u32 symbol, u32 number}. */

enum { MACHINE_CUDA = 190, FORMAT_BYTES = 4, FRAME_SIZE = 0x11, REGISTER_COUNT = 0x2f };

typedef struct {
    const uint8_t *byte;
    size_t bytes;
    Elf64_Ehdr header;
} elf;

static bool inside(const elf *f, uint64_t at, uint64_t bytes) { return at <= f->bytes && bytes <= f->bytes - at; }

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool section(const elf *f, unsigned index, Elf64_Shdr *s)
{
    if (index >= f->header.e_shnum)
        return false;
    memcpy(s, f->byte + f->header.e_shoff + (size_t)index * sizeof *s, sizeof *s);
    return s->sh_type == SHT_NOBITS || inside(f, s->sh_offset, s->sh_size);
}

static bool open_elf(elf *f, const void *cubin, size_t bytes)
{
    *f = (elf){.byte = cubin, .bytes = bytes};
    if (bytes < sizeof f->header)
        return false;
    memcpy(&f->header, cubin, sizeof f->header);
    return memcmp(f->header.e_ident, ELFMAG, SELFMAG) == 0 && f->header.e_machine == MACHINE_CUDA &&
           f->header.e_shentsize == sizeof(Elf64_Shdr) &&
           inside(f, f->header.e_shoff, (uint64_t)f->header.e_shnum * sizeof(Elf64_Shdr));
}

/* The string at `offset` of a string table, or NULL. */
static const char *string_at(const elf *f, const Elf64_Shdr *table, uint64_t offset)
{
    if (table->sh_type != SHT_STRTAB || offset >= table->sh_size)
        return NULL;
    const char *text = (const char *)f->byte + table->sh_offset + offset;
    return memchr(text, 0, (size_t)(table->sh_size - offset)) ? text : NULL;
}

static bool find_section(const elf *f, const char *name, unsigned type, Elf64_Shdr *found)
{
    Elf64_Shdr names;
    if (!section(f, f->header.e_shstrndx, &names))
        return false;
    for (unsigned i = 0; i < f->header.e_shnum; i++) {
        if (!section(f, i, found))
            return false;
        const char *text = string_at(f, &names, found->sh_name);
        if (name ? text && strcmp(text, name) == 0 : found->sh_type == type)
            return true;
    }
    return false;
}

static const char *symbol_name(const elf *f, const Elf64_Shdr *symbols, uint32_t index)
{
    Elf64_Shdr strings;
    Elf64_Sym symbol;
    if (index >= symbols->sh_size / sizeof symbol || !section(f, symbols->sh_link, &strings))
        return NULL;
    memcpy(&symbol, f->byte + symbols->sh_offset + index * sizeof symbol, sizeof symbol);
    return string_at(f, &strings, symbol.st_name);
}

static void take_attribute(const char *name, int attribute, uint32_t value, fsim_resources *entry, int entries)
{
    for (int i = 0; i < entries && name; i++)
        if (strcmp(entry[i].entry, name) == 0) {
            if (attribute == REGISTER_COUNT)
                entry[i].elf_registers = (int)value;
            if (attribute == FRAME_SIZE)
                entry[i].elf_frame_bytes = (int)value;
        }
}

static bool read_info(const elf *f, const Elf64_Shdr *info, const Elf64_Shdr *symbols, fsim_resources *entry,
                      int entries)
{
    const uint8_t *p = f->byte + info->sh_offset, *const end = p + info->sh_size;
    while (end - p >= 4) {
        const int format = p[0], attribute = p[1], value = p[2] | p[3] << 8;
        p += 4;
        if (format != FORMAT_BYTES)
            continue;
        if (value > end - p)
            return false;
        if (value == 8)
            take_attribute(symbol_name(f, symbols, u32(p)), attribute, u32(p + 4), entry, entries);
        p += value;
    }
    return true;
}

bool fsim_resources_check(const void *cubin, size_t bytes, fsim_resources *entry, int entries)
{
    elf f;
    Elf64_Shdr info, symbols;
    if (!open_elf(&f, cubin, bytes) || !find_section(&f, NULL, SHT_SYMTAB, &symbols) ||
        !find_section(&f, ".nv.info", 0, &info) || info.sh_type == SHT_NOBITS ||
        !read_info(&f, &info, &symbols, entry, entries))
        return false;
    for (int i = 0; i < entries; i++)
        entry[i].disagrees = entry[i].elf_registers != entry[i].registers ||
                             (entry[i].elf_frame_bytes >= 0 ? entry[i].elf_frame_bytes : 0) != entry[i].stack_bytes;
    return true;
}

fsim_resources *fsim_named_resources(const fsim_program *p, const fsim_resources *entry, int entries, fsim_arena *a)
{
    fsim_resources *named = fsim_new(a, fsim_resources, entries + 1);
    for (int k = 0; k < entries; k++) {
        named[k] = entry[k];
        for (int i = 0; i < p->launches; i++)
            if (strcmp(entry[k].entry, fsim_nameless_entry(i, a)) == 0)
                named[k].entry = p->launch[i].entry;
    }
    return named;
}
