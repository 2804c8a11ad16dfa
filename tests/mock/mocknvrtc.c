/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC: cc, and what ptxas -v would say. */
#include "emulated.h"
#include "mockgpu.h"
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUCCESS, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6, INTERNAL_ERROR = 11 };
enum { MAX_ENTRIES = 64, MAX_ARGUMENTS = 128 };

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

typedef struct {
    char *source, *name;
    int headers;
    char **header, **header_name;
    bool compiled;
    char *log, *cubin;
    size_t log_bytes, cubin_bytes;
    FILE *log_stream;
} program;

static char *copy_text(const char *text)
{
    char *const copy = strdup(text);
    if (!copy)
        abort();
    return copy;
}

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 99; /* no real one, so that caches keep ours apart */
    return SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(int result)
{
    static const char *const names[] = {"NVRTC_SUCCESS",
                                        "NVRTC_ERROR_OUT_OF_MEMORY",
                                        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVRTC_ERROR_INVALID_INPUT",
                                        "NVRTC_ERROR_INVALID_PROGRAM",
                                        "NVRTC_ERROR_INVALID_OPTION",
                                        "NVRTC_ERROR_COMPILATION",
                                        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"};
    if (result >= 0 && (size_t)result < sizeof names / sizeof *names)
        return names[result];
    return result == INTERNAL_ERROR ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_ERROR unknown";
}

EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    *count = ARCHITECTURES;
    return SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int *arch)
{
    memcpy(arch, architectures, sizeof architectures);
    return SUCCESS;
}

EXPORT int nvrtcCreateProgram(program **out, const char *source, const char *name, int headers,
                              const char *const *header, const char *const *header_name)
{
    if (!out || !source || headers < 0 || (headers > 0 && (!header || !header_name)))
        return INVALID_INPUT;
    for (int i = 0; i < headers; i++)
        if (!header[i] || !header_name[i] || strchr(header_name[i], '/'))
            return INVALID_INPUT;
    program *const p = calloc(1, sizeof *p);
    if (!p)
        return 1;
    p->source = copy_text(source);
    p->name = copy_text(name ? name : "default_program");
    p->headers = headers;
    p->header = calloc((size_t)headers + 1, sizeof *p->header);
    p->header_name = calloc((size_t)headers + 1, sizeof *p->header_name);
    if (!p->header || !p->header_name)
        abort();
    for (int i = 0; i < headers; i++) {
        p->header[i] = copy_text(header[i]);
        p->header_name[i] = copy_text(header_name[i]);
    }
    *out = p;
    return SUCCESS;
}

EXPORT int nvrtcDestroyProgram(program **program_)
{
    if (!program_ || !*program_)
        return INVALID_PROGRAM;
    program *const p = *program_;
    for (int i = 0; i < p->headers; i++) {
        free(p->header[i]);
        free(p->header_name[i]);
    }
    free(p->header);
    free(p->header_name);
    free(p->source);
    free(p->name);
    free(p->log);
    free(p->cubin);
    free(p);
    *program_ = NULL;
    return SUCCESS;
}

static char *read_all(const char *path, size_t *bytes)
{
    FILE *const in = fopen(path, "rb");
    char *text = NULL;
    *bytes = 0;
    FILE *const out = in ? open_memstream(&text, bytes) : NULL;
    if (out) {
        char part[16384];
        for (size_t got; (got = fread(part, 1, sizeof part, in)) > 0;)
            fwrite(part, 1, got, out);
        fclose(out);
    }
    if (in)
        fclose(in);
    return text;
}

/* Runs a command; what it says goes to the file `said`. */
static bool run(char *const *argument, const char *said)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    extern char **environ;
    pid_t child;
    const int error = posix_spawnp(&child, argument[0], &files, NULL, argument, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) {
        mock_say("%s: %s", argument[0], strerror(error));
        return false;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Tokens of preprocessed text: words, numbers and single characters; strings are one. */
typedef struct {
    const char *at;
    int length;
} token;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static token *tokens_of(const char *text, int *count)
{
    int room = 1024;
    token *tokens = malloc((size_t)room * sizeof *tokens);
    *count = 0;
    bool at_line_start = true;
    for (const char *c = text; tokens && *c;) {
        if (at_line_start && *c == '#') {
            c += strcspn(c, "\n");
            continue;
        }
        at_line_start = *c == '\n' || (at_line_start && isspace((unsigned char)*c));
        if (isspace((unsigned char)*c)) {
            c++;
            continue;
        }
        const char *end = c + 1;
        if (*c == '"' || *c == '\'') {
            while (*end && *end != *c)
                end += *end == '\\' && end[1] ? 2 : 1;
            end += *end != '\0';
        } else if (is_word(*c)) {
            while (is_word(*end))
                end++;
        }
        if (*count == room) {
            room *= 2;
            tokens = realloc(tokens, (size_t)room * sizeof *tokens);
            if (!tokens)
                abort();
        }
        tokens[(*count)++] = (token){c, (int)(end - c)};
        c = end;
    }
    return tokens;
}

static bool is(const token *t, const char *text)
{
    return (size_t)t->length == strlen(text) && memcmp(t->at, text, (size_t)t->length) == 0;
}

/* Are the tokens from `t` these? "?" is any word. */
static bool are(const token *t, const token *end, const char *const *words)
{
    for (; *words; words++, t++)
        if (t >= end || !(is(t, *words) || (strcmp(*words, "?") == 0 && is_word(*t->at))))
            return false;
    return true;
}

/* Is the cast before params[i] one to a pointer to a pointer to const? *(const float **)params[0] */
static bool cast_to_const(const token *first, const token *t)
{
    if (t == first || !is(t - 1, ")"))
        return false;
    const token *open = t - 1;
    while (open > first && !is(open, "("))
        open--;
    for (const token *in = open + 1; in < t && !is(in, "*"); in++)
        if (is(in, "const"))
            return true;
    return false;
}

/* The threads that the source is compiled for, which the preprocessed text does not have: N of FS_ENTRY(NAME, N or of
 * the
 * __launch_bounds__(N before NAME; else 1024. */
static int launch_bound(const char *source, const token *name)
{
    for (const char *at = source; (at = strstr(at, "FS_ENTRY(")); at++) {
        const char *const given = at + strlen("FS_ENTRY(") + strspn(at + strlen("FS_ENTRY("), " ");
        const char *const comma = given + name->length;
        if (strncmp(given, name->at, (size_t)name->length) == 0 && *comma == ',' && atoi(comma + 1) > 0)
            return atoi(comma + 1);
    }
    for (const char *at = source; (at = strstr(at, "__launch_bounds__")); at++) {
        const char *const number = at + strcspn(at, "(0123456789");
        const size_t length = strcspn(at, ";{}");
        for (const char *c = at; c < at + length; c++)
            if (strncmp(c, name->at, (size_t)name->length) == 0 && !is_word(c[-1]) && !is_word(c[name->length]) &&
                *number == '(' && isdigit((unsigned char)number[1]))
                return atoi(number + 1);
    }
    return 1024;
}

/* The parameters' name and the body of the entry function that begins here, or false. */
static bool is_entry(const token *t, const token *end, const token **params, const token **body)
{
    static const struct {
        const char *words[11];
        int params, body;
    } forms[] = {{{"void", "?", "(", "void", "*", "*", "?", ")", "{"}, 6, 8},
                 {{"void", "?", "(", "void", "*", "const", "*", "?", ")", "{"}, 7, 9},
                 {{"void", "?", "(", "void", "*", "?", "[", "]", ")", "{"}, 5, 9}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (are(t, end, forms[i].words)) {
            *params = t + forms[i].params;
            *body = t + forms[i].body;
            return true;
        }
    return false;
}

/* Writes the line of an entry function; returns the end of its body. */
static const token *write_entry(FILE *out, const token *name, const token *params, const token *body, const token *end,
                                const char *source)
{
    int used = 0, depth = 0;
    bool read_only[MOCK_MAX_PARAMS], unseen = false;
    memset(read_only, true, sizeof read_only);
    const token *t = body;
    for (; t < end; t++) {
        depth += is(t, "{") - is(t, "}");
        if (depth == 0)
            break;
        if (t->length != params->length || memcmp(t->at, params->at, (size_t)t->length) != 0)
            continue;
        const bool indexed = t + 3 < end && is(t + 1, "[") && isdigit((unsigned char)*t[2].at) && is(t + 3, "]");
        const int index = indexed ? atoi(t[2].at) : MOCK_MAX_PARAMS;
        if (index >= MOCK_MAX_PARAMS) {
            unseen = unseen || !(is(t - 1, ")") && is(t - 2, "void")); /* (void)params; */
            continue;
        }
        used = index >= used ? index + 1 : used;
        read_only[index] = read_only[index] && cast_to_const(body, t);
    }
    if (unseen)
        mock_say("%.*s uses its parameters otherwise than by %.*s[0] to [%d]: how many there are is not known",
                 name->length, name->at, params->length, params->at, MOCK_MAX_PARAMS - 1);
    fprintf(out, "\n\"%.*s %d %d", name->length, name->at, used, launch_bound(source, name));
    for (int i = 0; i < used; i++)
        fprintf(out, " %d", read_only[i]);
    fprintf(out, "\\n\"");
    return t;
}

/* Appends what mock_entries reads, as C, to the preprocessed text. */
static void append_entries(FILE *out, const char *text, const char *source)
{
    int count = 0, depth = 0;
    token *const tokens = tokens_of(text, &count);
    const token *const end = tokens + count, *params, *body;
    bool is_static = false;
    fprintf(out,
            "\nextern const fs_shared_site __start_fs_shared_sites[] __attribute__((weak, visibility(\"hidden\")));"
            "\nextern const fs_shared_site __stop_fs_shared_sites[] __attribute__((weak, visibility(\"hidden\")));"
            "\nconst fs_shared_site *const fs_sites[2] = {__start_fs_shared_sites, __stop_fs_shared_sites};"
            "\nconst char fs_entries[] = \"\"");
    for (const token *t = tokens; t < end; t++) {
        if (depth == 0 && !is_static && is_entry(t, end, &params, &body)) {
            t = write_entry(out, t + 1, params, body, end, source);
            continue;
        }
        depth += is(t, "{") - is(t, "}");
        if (depth == 0)
            is_static = !is(t, "}") && !is(t, ";") && (is_static || is(t, "static"));
    }
    fprintf(out, ";\n");
    free(tokens);
}

int mock_entries(void *library, mock_entry *entry, int room)
{
    const char *text = dlsym(library, MOCK_ENTRIES);
    const fs_shared_site *const *const sites = dlsym(library, "fs_sites");
    int count = 0;
    for (int used; text && count < room; text += used, count++) {
        mock_entry *const e = &entry[count];
        *e = (mock_entry){.params = 0};
        if (sscanf(text, "%255s %d %d%n", e->name, &e->params, &e->threads, &used) != 3)
            break;
        text += used;
        used = 0;
        for (int i = 0; i < e->params && i < MOCK_MAX_PARAMS; i++) {
            e->read_only[i] = text[1] == '1';
            text += 2;
        }
    }
    /* An array in a function that is no entry is any entry's. */
    for (const fs_shared_site *site = sites ? sites[0] : NULL; sites && site < sites[1]; site++) {
        bool of_an_entry = false;
        for (int i = 0; i < count; i++)
            of_an_entry = of_an_entry || strcmp(entry[i].name, site->function) == 0;
        for (int i = 0; i < count; i++)
            if (!of_an_entry || strcmp(entry[i].name, site->function) == 0)
                entry[i].static_shared_bytes += (int)((site->bytes + 15) / 16 * 16);
    }
    return count;
}

/* What option *i gives a name: "name=value", or "name" and the value next; else NULL. */
static const char *value_of(const char *name, int options, const char *const *option, int *i)
{
    const size_t length = strlen(name);
    const char *const rest = option[*i] + length;
    if (strncmp(option[*i], name, length) != 0 || (*rest && *rest != '='))
        return NULL;
    return *rest ? rest + 1 : *i + 1 < options ? option[++*i] : "";
}

/* Those that NVRTC takes and we do without; "=": and anything behind. */
static bool is_ignored(const char *option)
{
    static const char *const ignored[] = {"-w",
                                          "--disable-warnings",
                                          "--std=",
                                          "-std=",
                                          "--use_fast_math",
                                          "-use_fast_math",
                                          "--fmad=",
                                          "-fmad=",
                                          "--lineinfo",
                                          "-lineinfo",
                                          "--generate-line-info",
                                          "--maxrregcount=",
                                          "-maxrregcount=",
                                          "--minimal",
                                          "-minimal",
                                          "--device-as-default-execution-space",
                                          "-default-device",
                                          "--restrict",
                                          "-restrict",
                                          "-G",
                                          "--device-debug",
                                          "--relocatable-device-code=",
                                          "-rdc=",
                                          "--diag-suppress=",
                                          "-diag-suppress=",
                                          "--split-compile=",
                                          "--ftz=",
                                          "-ftz=",
                                          "--prec-div=",
                                          "-prec-div=",
                                          "--prec-sqrt=",
                                          "-prec-sqrt=",
                                          "--extra-device-vectorization"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        const size_t length = strlen(ignored[i]);
        if (strncmp(option, ignored[i], length) == 0 && (ignored[i][length - 1] == '=' || !option[length]))
            return true;
    }
    return false;
}

typedef struct {
    int sm;
    bool to_cubin, verbose;
    char *argument[MAX_ARGUMENTS]; /* for cc */
    int arguments;
} settings;

static bool read_architecture(const char *value, settings *s)
{
    s->to_cubin = strncmp(value, "sm_", 3) == 0;
    s->sm = s->to_cubin || strncmp(value, "compute_", 8) == 0 ? atoi(strchr(value, '_') + 1) : 0;
    for (int i = 0; i < ARCHITECTURES; i++)
        if (architectures[i] == s->sm)
            return true;
    return false;
}

static bool read_options(program *p, int options, const char *const *option, settings *s)
{
    static const struct {
        const char *ours, *cc;
    } passed[] = {{"--define-macro=", "-D"}, {"-D", "-D"}, {"--include-path=", "-I"}, {"-I", "-I"}};
    for (int i = 0; i < options; i++) {
        const char *value = value_of("--gpu-architecture", options, option, &i);
        if (value || (value = value_of("-arch", options, option, &i))) {
            if (read_architecture(value, s))
                continue;
            fprintf(p->log_stream, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
            return false;
        }
        if ((value = value_of("--ptxas-options", options, option, &i)) ||
            (value = value_of("-Xptxas", options, option, &i))) {
            s->verbose = s->verbose || strcmp(value, "-v") == 0 || strcmp(value, "--verbose") == 0;
            continue;
        }
        bool known = is_ignored(option[i]);
        for (size_t k = 0; k < sizeof passed / sizeof *passed && !known; k++) {
            const size_t length = strlen(passed[k].ours);
            known = strncmp(option[i], passed[k].ours, length) == 0;
            if (known && s->arguments < MAX_ARGUMENTS - 16 &&
                asprintf(&s->argument[s->arguments++], "%s%s", passed[k].cc, option[i] + length) < 0)
                abort();
        }
        if (!known) {
            fprintf(p->log_stream, "nvrtc: error: unrecognized option %s found\n", option[i]);
            return false;
        }
    }
    return true;
}

static void say_resources(program *p, int sm)
{
    void *const library = mock_open(p->cubin, p->cubin_bytes);
    if (!library)
        return;
    mock_entry *const entry = calloc(MAX_ENTRIES, sizeof *entry);
    const int entries = entry ? mock_entries(library, entry, MAX_ENTRIES) : 0;
    fprintf(p->log_stream, "ptxas info    : 0 bytes gmem\n");
    for (int i = 0; i < entries; i++) {
        const mock_entry *const e = &entry[i];
        fprintf(p->log_stream,
                "ptxas info    : Compiling entry function '%s' for 'sm_%d'\n"
                "ptxas info    : Function properties for %s\n"
                "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                "ptxas info    : Used %d registers, used 1 barriers",
                e->name, sm, e->name, mock_registers(e->name));
        if (e->static_shared_bytes > 0)
            fprintf(p->log_stream, ", %d bytes smem", e->static_shared_bytes);
        fprintf(p->log_stream, "\nptxas info    : Compile time = 1.000 ms\n");
    }
    free(entry);
    dlclose(library);
}

static void write_text(const char *folder, const char *name, const char *before, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const out = fopen(path, "wb");
    if (!out) {
        mock_say("cannot write %s", path);
        return;
    }
    fprintf(out, "%s%s", before, text);
    fclose(out);
}

static int compile(program *p, const char *folder, const settings *s)
{
    char kernel[4096], preprocessed[4096], library[4096], said[4096], line[4096];
    snprintf(kernel, sizeof kernel, "%s/kernel.c", folder);
    snprintf(preprocessed, sizeof preprocessed, "%s/kernel.i", folder);
    snprintf(library, sizeof library, "%s/kernel.so", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    snprintf(line, sizeof line, "#line 1 \"%s\"\n", p->name);
    for (int i = 0; i < p->headers; i++)
        write_text(folder, p->header_name[i], "", p->header[i]);
    write_text(folder, "kernel.c", line, p->source);

    const char *const chosen = getenv("MOCK_CC");
    char *argument[MAX_ARGUMENTS] = {(char *)(chosen && *chosen ? chosen : MOCK_CC_DEFAULT),
                                     "-std=gnu11",
                                     "-E",
                                     "-DFS_EMULATED",
                                     "-include",
                                     MOCK_EMULATED_H,
                                     "-o",
                                     preprocessed,
                                     kernel};
    for (int i = 0, at = 9; i < s->arguments; i++)
        argument[at++] = s->argument[i];
    char *compiling[] = {argument[0],
                         "-O1",
                         "-g0",
                         "-shared",
                         "-fPIC",
                         "-std=gnu11",
                         "-fno-strict-aliasing",
                         "-ffp-contract=off",
                         "-Werror=implicit-function-declaration",
                         "-Wl,-z,defs,-Bsymbolic",
                         "-x",
                         "cpp-output",
                         preprocessed,
                         "-o",
                         library,
                         "-x",
                         "none",
                         "-lm",
                         NULL};
    bool good = run(argument, said);
    if (good) {
        size_t bytes;
        char *const text = read_all(preprocessed, &bytes);
        FILE *const out = fopen(preprocessed, "ab");
        if (text && out)
            append_entries(out, text, p->source);
        if (out)
            fclose(out);
        free(text);
        good = run(compiling, said);
    }
    if (!good) {
        size_t bytes;
        char *const text = read_all(said, &bytes);
        fprintf(p->log_stream, "%s", text ? text : "");
        free(text);
        return COMPILATION;
    }
    if (s->to_cubin)
        p->cubin = read_all(library, &p->cubin_bytes);
    return SUCCESS;
}

EXPORT int nvrtcCompileProgram(program *p, int options, const char *const *option)
{
    if (!p)
        return INVALID_PROGRAM;
    free(p->log);
    free(p->cubin);
    p->log = p->cubin = NULL;
    p->cubin_bytes = 0;
    p->compiled = false;
    p->log_stream = open_memstream(&p->log, &p->log_bytes);
    if (!p->log_stream)
        return 1;
    settings s = {.sm = 75};
    int result = read_options(p, options, option, &s) ? SUCCESS : INVALID_OPTION;
    const char *const temporary = getenv("TMPDIR");
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/fusesim-mock-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (result == SUCCESS && !mkdtemp(folder)) {
        mock_say("no folder %s", folder);
        result = INTERNAL_ERROR;
    } else if (result == SUCCESS) {
        result = compile(p, folder, &s);
        static const char *const ours[] = {"kernel.c", "kernel.i", "kernel.so", "said"};
        for (size_t i = 0; i < sizeof ours / sizeof *ours + (size_t)p->headers; i++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", folder, i < 4 ? ours[i] : p->header_name[i - 4]);
            unlink(path);
        }
        rmdir(folder);
    }
    for (int i = 0; i < s.arguments; i++)
        free(s.argument[i]);
    if (p->cubin && s.verbose)
        say_resources(p, s.sm);
    fclose(p->log_stream);
    p->compiled = result == SUCCESS;
    return result;
}

EXPORT int nvrtcGetProgramLogSize(const program *p, size_t *bytes)
{
    if (!p || !bytes)
        return p ? INVALID_INPUT : INVALID_PROGRAM;
    *bytes = p->log ? p->log_bytes + 1 : 1;
    return SUCCESS;
}

EXPORT int nvrtcGetProgramLog(const program *p, char *log)
{
    if (!p || !log)
        return p ? INVALID_INPUT : INVALID_PROGRAM;
    memcpy(log, p->log ? p->log : "", p->log ? p->log_bytes + 1 : 1);
    return SUCCESS;
}

EXPORT int nvrtcGetCUBINSize(const program *p, size_t *bytes)
{
    if (!p || !p->compiled || !bytes)
        return INVALID_PROGRAM;
    *bytes = p->cubin_bytes;
    return SUCCESS;
}

EXPORT int nvrtcGetCUBIN(const program *p, char *cubin)
{
    if (!p || !p->compiled || !cubin)
        return INVALID_PROGRAM;
    memcpy(cubin, p->cubin, p->cubin_bytes);
    return SUCCESS;
}
