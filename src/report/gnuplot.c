/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gnuplot.h"

#include "base/file.h"
#include "report/svg.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int fsim_chart_ending(const char *path)
{
    static const char *const endings[] = {".svg", ".png", ".pdf"};
    const char *ending = strrchr(path, '.');
    for (int k = 0; ending && k < (int)(sizeof endings / sizeof *endings); k++)
        if (strcasecmp(ending, endings[k]) == 0)
            return k;
    return -1;
}

void fsim_gnuplot_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("''", out);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    fputc('\'', out);
}

/* The first line of what a program said on stderr that is not blank or a picture of where the error was. */
static const char *complaint(fsim_arena *a, FILE *said)
{
    char line[256];
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strspn(line, " \t^");
        if (*text && strncmp(text, "gnuplot>", 8) != 0)
            return fsim_strdup(a, text);
    }
    return NULL;
}

/* gnuplot says nothing of a disk that is full: does the drawing have its end? A pipe or a device can't be asked. */
static bool is_whole(int file, const struct stat *st)
{
    static const char *const ends[][2] = {{"<?xml", "</svg>"}, {"\x89PNG", "IEND"}, {"%PDF", "%%EOF"}};
    char head[9] = "", tail[33] = "";
    const off_t from = st->st_size > 32 ? st->st_size - 32 : 0;
    if (!S_ISREG(st->st_mode) || pread(file, head, sizeof head - 1, 0) <= 0)
        return !S_ISREG(st->st_mode);
    const ssize_t bytes = pread(file, tail, sizeof tail - 1, from);
    for (ssize_t i = 0; i < bytes; i++)
        tail[i] = tail[i] ? tail[i] : ' ';
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(head, ends[i][0], strlen(ends[i][0])) == 0)
            return strstr(tail, ends[i][1]) != NULL;
    return true;
}

/* Runs gnuplot from one file to another. Files, not a pipe: nothing can block, and a gnuplot that ends early sends no
 * SIGPIPE. */
static bool run(fsim_arena *a, const char *program, FILE *script, FILE *to, FILE *said, fsim_fault *fault)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(to), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(said), STDERR_FILENO);
    char *const arguments[] = {fsim_strdup(a, program), NULL};
    pid_t child;
    const int error = posix_spawnp(&child, program, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error == ENOENT)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE,
                         "needs %s, which is not installed (Debian, Ubuntu: package gnuplot-nox)", program);
    if (error)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s does not start: %s", program, strerror(error));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fsim_fail(fault, a, FSIM_FAILED, "%s was lost: %s", program, strerror(errno));
    struct stat result;
    const bool drew =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && fstat(fileno(to), &result) == 0 && result.st_size > 0;
    if (drew && is_whole(fileno(to), &result))
        return true;
    if (drew)
        return fsim_fail(fault, a, FSIM_FAILED, "the drawing is cut short: no space left on the disk?");
    const char *words = complaint(a, said);
    return words ? fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s failed: %s", program, words)
                 : fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s failed and drew nothing", program);
}

/* The text of a stream that a program has written. NULL where it can't be read. In a. */
static const char *text_of(fsim_arena *a, FILE *file)
{
    struct stat st;
    if (fstat(fileno(file), &st) != 0)
        return NULL;
    char *text = fsim_new(a, char, st.st_size + 1);
    for (off_t at = 0; at < st.st_size;) {
        const ssize_t bytes = pread(fileno(file), text + at, (size_t)(st.st_size - at), at);
        if (bytes <= 0)
            return NULL;
        at += bytes;
    }
    return text;
}

/* Runs the program into the open file; an SVG by way of a temporary one. */
static bool draw_into(fsim_arena *a, FILE *script, const fsim_chart_file *to, FILE *out, const fsim_svg_words *words,
                      fsim_fault *fault)
{
    const char *program = to->program && *to->program ? to->program : "gnuplot", *svg = NULL;
    const bool is_svg = fsim_chart_ending(to->path) == FSIM_CHART_SVG;
    FILE *said = tmpfile(), *drawn = is_svg ? tmpfile() : out;
    bool ok = said && drawn;
    if (!ok)
        fsim_fail(fault, a, FSIM_FAILED, "no room for a temporary file");
    ok = ok && run(a, program, script, drawn, said, fault);
    if (ok && is_svg && !(svg = text_of(a, drawn)))
        ok = fsim_fail(fault, a, FSIM_FAILED, "the drawing can't be read again");
    if (svg)
        fsim_svg_write(out, svg, words);
    if (said)
        fclose(said);
    if (is_svg && drawn)
        fclose(drawn);
    return ok;
}

bool fsim_gnuplot_draw(fsim_arena *a, const char *text, const fsim_chart_file *to, const fsim_svg_words *words,
                       fsim_fault *fault)
{
    const char *why = "";
    fsim_output *out = fsim_open_output(a, to->path, &why);
    if (!out)
        return fsim_fail(fault, a, FSIM_FAILED, "%s", why);
    FILE *script = tmpfile();
    bool ok = script && fputs(text, script) >= 0 && fflush(script) == 0;
    if (ok)
        rewind(script);
    else
        fsim_fail(fault, a, FSIM_FAILED, "no room for a temporary file");
    ok = ok && draw_into(a, script, to, fsim_stream(out), words, fault);
    if (script)
        fclose(script);
    if (!ok) {
        fsim_discard(out);
        return false;
    }
    return fsim_commit(out, &why) || fsim_fail(fault, a, FSIM_FAILED, "%s", why);
}
