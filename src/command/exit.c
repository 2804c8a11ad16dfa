/* SPDX-License-Identifier: Apache-2.0 */
#include "command/exit.h"

#include <string.h>

static const struct {
    int number;
    const char *commands, *words;
} exits[] = {
#define FSIM_EXIT(id, number, commands, words) {number, commands, words},
#include "command/exit.def"
#undef FSIM_EXIT
};

/* Is word among the words of a list with spaces between? */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

const char *fsim_exit_words(fsim_arena *a, const char *command)
{
    const char *text = "";
    int last = -1;
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        if (!command || !*exits[i].commands || is_listed(exits[i].commands, command)) {
            text = exits[i].number == last
                       ? fsim_printf(a, "%s or %s", text, exits[i].words)
                       : fsim_printf(a, "%s%s%d %s", text, *text ? ", " : "", exits[i].number, exits[i].words);
            last = exits[i].number;
        }
    return text;
}

int fsim_exit_status(fsim_status status)
{
    switch (status) {
    case FSIM_OK:
        return FSIM_EXIT_OK;
    case FSIM_INCONCLUSIVE:
        return FSIM_EXIT_INCONCLUSIVE;
    case FSIM_BAD_ARGUMENT:
        return FSIM_EXIT_USAGE;
    case FSIM_BAD_INPUT:
        return FSIM_EXIT_BAD_INPUT;
    case FSIM_NO_INPUT:
        return FSIM_EXIT_NO_INPUT;
    case FSIM_UNAVAILABLE:
        return FSIM_EXIT_UNAVAILABLE;
    case FSIM_FAILED:
    case FSIM_NO_MEMORY:
        break;
    }
    return FSIM_EXIT_INTERNAL;
}
