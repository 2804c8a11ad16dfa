/* SPDX-License-Identifier: Apache-2.0 */
/* hw: lists, shows and checks GPUs, and begins a new one's file. */
#include "command/command.h"

#include "hw/like.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int run_hw_list(fsim_context *c)
{
    fsim_shown_hw all = {0};
    const char *why, **names = fsim_hw_list(c->arena, &c->hw_folders, &all.count, &why);
    if (why) {
        fsim_failure(c->diag, FSIM_NO_INPUT, fsim_command_line, "%s", why);
        return fsim_conclude(c, FSIM_EXIT_OK);
    }
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

/* Is it a name that 'hw new' can make a file of? */
static bool is_new_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0';
}

/* The file that 'hw new' is to write; an error where it is there, or would hide a shipped GPU. */
static const char *new_path(fsim_context *c, const char *name)
{
    const char *path = c->set.output ? c->set.output : fsim_printf(c->arena, "%s.yaml", name);
    const char *shipped = c->hw_folders.shipped ? fsim_printf(c->arena, "%s/%s.yaml", c->hw_folders.shipped, name) : "";
    if (!is_new_name(name))
        fsim_error(c->diag, fsim_command_line, "hw new: '%s' is no name for a GPU: wanted letters, digits, - and _",
                   name);
    else if (!fsim_is_stdout(path) && access(path, F_OK) == 0)
        fsim_error(c->diag, fsim_command_line, "hw new: '%s' is there already, and is not overwritten", path);
    else if (!c->set.output && access(shipped, F_OK) == 0)
        fsim_error(c->diag, fsim_command_line,
                   "hw new: %s is shipped, and %s would take its place here; choose another name, or say -o FILE", name,
                   path);
    return path;
}

static int run_hw_new(fsim_context *c)
{
    const char *name = c->args.at[1], *path = new_path(c, name);
    fsim_hw *like = c->set.like ? fsim_read_hw(c, c->set.like) : NULL;
    const int wrong = fsim_usage_status(c);
    if (wrong)
        return wrong;
    const char *text = fsim_new_hw_text(c->arena, name, like);
    fsim_named_hw written = {path, NULL, 0};
    if (like)
        written.hw = fsim_hw_parse_in(c->arena, fsim_diag_new(c->arena), &(fsim_hw_text){path, text, strlen(text)},
                                      &c->hw_folders);
    const int status = fsim_open_outputs_and(c, "-o", path);
    c->set.output = path;
    if (status)
        return status;
    if (fsim_is_stdout(path)) {
        fputs(text, stdout);
        return fsim_conclude(c, FSIM_EXIT_OK);
    }
    if (!c->set.quiet && fsim_on_stdout(&c->set) == FSIM_AS_TEXT)
        printf("Wrote %s: %s, then 'fusesim hw check %s'.\n", path,
               like ? "put in this GPU's own figures" : "replace each TODO by a figure of the data sheet", path);
    return fsim_deliver_hw(c, text, &(fsim_shown_hw){&written, 1});
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
                   {"new", 1, 1, "one name, of the GPU to describe", FSIM_RESULT_HW_CHECK, run_hw_new},
                   {"keys", 0, 0, "nothing more", FSIM_RESULT_HW_KEYS, run_hw_keys},
                   {"systems", 0, 0, "nothing more", FSIM_RESULT_CLUSTERS, fsim_run_hw_systems}};

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
        fsim_error(c->diag, fsim_command_line, "hw wants list, show NAME, check FILE..., new NAME, keys or systems");
    else if (which == FSIM_COUNT_OF(hw_commands))
        fsim_error(c->diag, fsim_command_line,
                   "hw does not know '%s'%s; wanted list, show NAME, check FILE..., new NAME, keys or systems", word,
                   fsim_did_you_mean(c->arena, word, names, FSIM_COUNT_OF(names)));
    else if (words < hw_commands[which].least || words > hw_commands[which].most)
        fsim_error(c->diag, fsim_command_line, "hw %s wants %s", word, hw_commands[which].args);
    else if ((c->set.like || c->set.output) && hw_commands[which].run != run_hw_new)
        fsim_error(c->diag, fsim_command_line, "%s is of hw new, not of hw %s", c->set.like ? "--like" : "-o", word);
    const int status = fsim_usage_status(c);
    if (status)
        return status;
    c->kind = hw_commands[which].kind;
    return hw_commands[which].run(c);
}
