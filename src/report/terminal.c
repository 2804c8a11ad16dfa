/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int fsim_terminal_columns(const char *columns)
{
    enum { FEWEST = 40, USUAL = 80, MOST = 10000 };
    struct winsize size;
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0 && isatty(STDOUT_FILENO))
        width = USUAL;
    return width <= 0 ? 0 : width < FEWEST ? FEWEST : width > MOST ? MOST : (int)width;
}

bool fsim_terminal_color(const char *no_color, const char *term)
{
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

bool fsim_terminal_shows_progress(const char *term)
{
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

int fsim_terminal_width(void)
{
    enum { USUAL = 80 };
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : USUAL;
}
