/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gnuplot.h"

#include "base/file.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const fsim_chart_colors[FSIM_CHART_COLORS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                          "#E69F00", "#56B4E9", "#6A3D9A", "#B15928"};

const char *fsim_gnuplot_terminal(fsim_arena *a, const char *path, int height, double *points)
{
    static const struct {
        const char *ending, *before, *after;
        double pixels, points; /* pixels: in a unit of the size */
    } kind[] = {
        {".svg", "svg size 1200,", " noenhanced background rgb 'white' font 'DejaVu Sans,10' fontscale 1.3", 1, 0.6},
        {".png", "pngcairo size 1200,", " noenhanced font 'Sans,10'", 1, 1},
        {".pdf", "pdfcairo size 12.5in,", "in noenhanced font 'Sans,10' fontscale 0.74", 96, 1}};
    const char *ending = strrchr(path, '.');
    for (int k = 0; ending && k < (int)(sizeof kind / sizeof *kind); k++)
        if (strcasecmp(ending, kind[k].ending) == 0) {
            *points = kind[k].points;
            return fsim_printf(a, "set terminal %s%.6g%s", kind[k].before, height / kind[k].pixels, kind[k].after);
        }
    return NULL;
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

bool fsim_gnuplot_draw(fsim_arena *a, const char *text, const fsim_chart_file *to, fsim_fault *fault)
{
    const char *program = to->program && *to->program ? to->program : "gnuplot";
    const char *why = "";
    fsim_output *out = fsim_open_output(a, to->path, &why);
    if (!out)
        return fsim_fail(fault, a, FSIM_FAILED, "%s", why);
    FILE *script = tmpfile(), *said = tmpfile();
    bool ok = script && said && fputs(text, script) >= 0 && fflush(script) == 0;
    if (ok)
        rewind(script);
    else
        fsim_fail(fault, a, FSIM_FAILED, "no room for a temporary file");
    ok = ok && run(a, program, script, fsim_stream(out), said, fault);
    if (script)
        fclose(script);
    if (said)
        fclose(said);
    if (!ok)
        fsim_discard(out);
    if (!ok)
        return false;
    return fsim_commit(out, &why) || fsim_fail(fault, a, FSIM_FAILED, "%s", why);
}
