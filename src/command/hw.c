/* SPDX-License-Identifier: Apache-2.0 */
/* hw: lists, shows and checks GPUs. */
#include "command/command.h"

#include <limits.h>
#include <string.h>

static int run_hw_list(fsim_context *c)
{
    fsim_shown_hw all = {0};
    const char **names = fsim_hw_list(c->arena, &c->hw_folders, &all.count);
    fsim_diag *aside = fsim_diag_new(c->arena),
              *kept = c->diag; /* an invalid file is a row of the list; 'hw check' explains it */
    all.at = fsim_new(c->arena, fsim_named_hw, all.count + 1);
    c->diag = aside;
    for (int i = 0; i < all.count; i++)
        all.at[i] = (fsim_named_hw){names[i], fsim_read_hw(c, names[i]), 0};
    c->diag = kept;
    return fsim_answer(c, &all);
}

static int run_hw_show(fsim_context *c)
{
    fsim_hw *hw = fsim_read_hw(c, c->args.at[1]);
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    return status ? status : fsim_answer(c, hw);
}

static int run_hw_check(fsim_context *c)
{
    const fsim_shown_hw all = {fsim_new(c->arena, fsim_named_hw, c->args.count), c->args.count - 1};
    for (int i = 0; i < all.count; i++) {
        const char *name = c->args.at[1 + i];
        const int before = fsim_errors(c->diag);
        fsim_hw *hw = fsim_read_hw(c, name);
        all.at[i] = (fsim_named_hw){name, hw, fsim_errors(c->diag) - before};
    }
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    const int delivered = fsim_answer(c, &all);
    return status ? status : delivered;
}

static int run_hw_keys(fsim_context *c) { return fsim_answer(c, NULL); }

static const struct {
    const char *name;
    int least, most; /* number of words after it */
    const char *args;
    fsim_result_kind kind;
    int (*run)(fsim_context *c);
} hw_commands[] = {{"list", 0, 0, "nothing more", FSIM_RESULT_HW_LIST, run_hw_list},
                   {"show", 1, 1, "one name or file", FSIM_RESULT_HW, run_hw_show},
                   {"check", 1, INT_MAX, "names or files", FSIM_RESULT_HW_CHECK, run_hw_check},
                   {"keys", 0, 0, "nothing more", FSIM_RESULT_HW_KEYS, run_hw_keys}};

int fsim_run_hw(fsim_context *c)
{
    const char *names[FSIM_COUNT_OF(hw_commands)], *word = c->args.count ? c->args.at[0] : NULL;
    int which = FSIM_COUNT_OF(hw_commands);
    for (int i = 0; i < FSIM_COUNT_OF(hw_commands); i++) {
        names[i] = hw_commands[i].name;
        if (word && strcmp(word, names[i]) == 0)
            which = i;
    }
    const int words = c->args.count - 1;
    if (!word)
        fsim_error(c->diag, fsim_command_line, "hw wants list, show NAME, check FILE... or keys");
    else if (which == FSIM_COUNT_OF(hw_commands))
        fsim_error(c->diag, fsim_command_line, "hw does not know '%s'%s; wanted list, show NAME, check FILE... or keys",
                   word, fsim_did_you_mean(c->arena, word, names, FSIM_COUNT_OF(names)));
    else if (words < hw_commands[which].least || words > hw_commands[which].most)
        fsim_error(c->diag, fsim_command_line, "hw %s wants %s", word, hw_commands[which].args);
    const int status = fsim_usage_status(c);
    if (status)
        return status;
    c->kind = hw_commands[which].kind;
    return hw_commands[which].run(c);
}
