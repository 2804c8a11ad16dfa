/* SPDX-License-Identifier: Apache-2.0 */
/* import MODEL: which of its operators are known; with -o, the model as a workload in YAML. What is written is read
 * again and must be the same graph; where blocks or symbols would make another one, they are left out. */
#include "base/memory.h"
#include "command/command.h"
#include "import/fold.h"
#include "import/load.h"
#include "import/symbolic.h"
#include "import/write.h"
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_context *c;
    fsim_workload_wanted how;
    fsim_tree tree;
    fsim_shown_model shown;
} importing;

/* The tree as text. In c->arena. */
static const char *text_of(const importing *x, const fsim_yaml *y, const char *comment)
{
    fsim_memory text;
    fsim_write_workload(fsim_memory_begin(&text), y, comment);
    return fsim_memory_end(&text, x->c->arena, NULL);
}

/* The first lines of the file: where it is from, and how to write it again. */
static const char *comment_of(const importing *x, const char *left)
{
    fsim_arena *a = x->c->arena;
    const char *slash = strrchr(x->tree.path, '/'), *name = slash ? slash + 1 : x->tree.path;
    const char *text = fsim_printf(a, "%s (%s) as a workload: fusesim import %s", name, x->tree.format, name);
    for (int i = 0; i < x->how.sets; i++)
        text = fsim_printf(a, "%s --dim %s=%s", text, x->how.set[i].name, x->how.set[i].value);
    return fsim_printf(a, "%s%s\n%s", text, x->how.precision ? fsim_printf(a, " --precision %s", x->how.precision) : "",
                       left);
}

/* The text, where it is a workload with the same graph. */
static const char *checked(const importing *x, const char *text)
{
    fsim_arena *a = x->c->arena;
    const fsim_graph *g = text ? fsim_graph_parse(a, fsim_diag_new(a), x->tree.path, text, strlen(text), NULL) : NULL;
    return g && fsim_same_graph(x->shown.graph, g) ? text : NULL;
}

/* Operators that repeat blocks stand for. */
static int in_blocks(const fsim_yaml *y)
{
    const fsim_yaml *ops = fsim_yaml_get(y, "operators");
    int count = 0;
    for (int i = 0; i < ops->count; i++) {
        const fsim_yaml *repeat = fsim_yaml_get(ops->item[i], "repeat");
        if (repeat && repeat->text)
            count += atoi(repeat->text) * fsim_yaml_get(ops->item[i], "operators")->count;
    }
    return count;
}

/* The workload as text: with symbols and blocks, else with one of these, else as it is. NULL after an error. */
static const char *workload_text(importing *x)
{
    fsim_arena *a = x->c->arena;
    const fsim_symbolic s =
        x->tree.bound ? fsim_symbolic_tree(a, x->c->args.at[0], &x->how, &x->tree) : (fsim_symbolic){x->tree.yaml, ""};
    const char *const fixed = "its dimensions stay numbers: as symbols they would make another graph\n";
    for (int symbols = 1; symbols >= 0; symbols--)
        for (int blocks = 1; blocks >= 0; blocks--) {
            const fsim_yaml *y = symbols ? s.yaml : x->tree.yaml;
            const fsim_folded f = blocks && x->tree.bound ? fsim_fold_layers(a, y) : (fsim_folded){y, y, 0};
            x->shown.left = symbols ? s.left : fixed;
            x->shown.blocks = f.blocks;
            x->shown.in_block = f.blocks ? in_blocks(f.folded) : 0;
            const char *text = checked(x, text_of(x, f.folded, comment_of(x, x->shown.left)));
            if (text)
                return text;
        }
    fsim_failure(x->c->diag, FSIM_FAILED, fsim_command_line,
                 "import: '%s' cannot be written as YAML that is the same workload", x->c->args.at[0]);
    return NULL;
}

/* Writes the workload to -o. The report goes to stderr where the file goes to stdout. */
static int deliver(importing *x)
{
    fsim_context *c = x->c;
    const char *text = c->set.output ? workload_text(x) : NULL;
    if (c->set.output && !text)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    if (!fsim_is_stdout(c->set.output)) {
        if (c->own)
            fputs(text, fsim_stream(c->own));
        return fsim_commit_own(c, c->set.output) ? fsim_deliver(c, &x->shown) : fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    if (!fsim_show_in_files(c, &x->shown) || !fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    fputs(text, stdout);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

int fsim_run_import_model(fsim_context *c)
{
    importing x = {.c = c, .how = fsim_wanted_workload(c)};
    c->kind = FSIM_RESULT_MODEL;
    if (fsim_is_stdout(c->args.at[0]))
        fsim_error(c->diag, fsim_command_line, "import reads its model several times: wanted a file, not stdin");
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    x.tree = fsim_tree_load(c->arena, c->diag, c->args.at[0], &x.how);
    if (x.tree.yaml)
        x.shown = (fsim_shown_model){
            .graph = fsim_graph_of(c->arena, c->diag, x.tree.path, x.tree.yaml, &x.tree.set),
            .format = x.tree.format,
            .written = c->set.output,
            .left = "",
            .list = c->set.check || c->set.verbose || !c->set.output,
        };
    int status = fsim_conclude(c, FSIM_EXIT_OK);
    if (status || (status = fsim_open_outputs_and(c, "-o", c->set.output)))
        return status;
    return deliver(&x);
}
