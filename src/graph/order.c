/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: operators in topological order, each through its rule. */
#include "graph/alias.h"
#include "graph/batch.h"
#include "graph/reader.h"

#include <string.h>

static void unknown_tensor(fsim_reader *r, const fsim_pending *p, int i)
{
    const fsim_yaml *in = fsim_yaml_get(p->yaml, "in");
    const fsim_loc at = in->kind == FSIM_YAML_SEQUENCE ? in->item[i]->at : in->at;
    int count = 0;
    if (fsim_names_get(&r->absent, p->in[i]) >= 0) {
        fsim_error(r->diag, at, "'%s' is a further result of an operator that is not there: its 'when' is 0", p->in[i]);
        return;
    }
    const char **names = fsim_new(r->arena, const char *, r->tensor.slots + r->maker.slots + 1);
    for (int s = 0; s < r->tensor.slots; s++)
        if (r->tensor.name[s])
            names[count++] = r->tensor.name[s];
    for (int s = 0; s < r->maker.slots; s++)
        if (r->maker.name[s])
            names[count++] = r->maker.name[s];
    fsim_error(r->diag, at, "no tensor '%s'%s", p->in[i], fsim_did_you_mean(r->arena, p->in[i], names, count));
}

/* What PyTorch asks of the inputs and results under another name than the operator's own. */
static bool check_alias(const fsim_call *c, const fsim_alias *alias)
{
    const char *ranks = alias->ranks;
    for (int i = 0; i < c->args && *ranks; i++, ranks += ranks[0] && ranks[1] ? 2 : 1) {
        const fsim_tensor *t = fsim_arg(c, i);
        if (t->shape.rank - t->mapped != *ranks - '0')
            return fsim_refuse(c, "'%s' wants rank %c of input %d, '%s' has rank %d; '%s' takes others", alias->name,
                               *ranks, i + 1, t->name, t->shape.rank - t->mapped, fsim_ops[c->op].name);
    }
    if (alias->outs && c->outs > alias->outs)
        return fsim_refuse(c, "'%s' has one result, 'out' names %d; write '%s'", alias->name, c->outs,
                           fsim_ops[c->op].name);
    return true;
}

static bool wrong_inputs(const fsim_call *c)
{
    const fsim_op_row *row = &fsim_ops[c->op];
    const bool few = c->args < row->least_args, any = row->most_args < 0;
    fsim_refuse(c, "has %d input%s; wants %s%d", c->args, c->args == 1 ? "" : "s",
                !any && row->least_args == row->most_args ? ""
                : few || any                              ? "at least "
                                                          : "at most ",
                few || any ? row->least_args : row->most_args);
    if (fsim_operands[c->op])
        fsim_note(c->build->diag, "its inputs: %s", fsim_operands[c->op]);
    else if (c->op == FSIM_OP_MAX || c->op == FSIM_OP_MIN)
        fsim_note(c->build->diag, "'%simum' is of two tensors, '%s' reduces one", row->name, row->name);
    return false;
}

/* Is source s, made by --autocast, the cast of an input or a weight? */
static bool casts_given(const fsim_graph *g, int s)
{
    const fsim_node *n = &g->node[g->source[s].first];
    return g->tensor[g->tensor[n->arg[0].tensor].storage].producer < 0;
}

static void give_names(fsim_reader *r, const fsim_pending *p, int i, int tensor)
{
    fsim_names_set(r->arena, &r->tensor, p->out[i], tensor);
    if (p->alias && p->alias[i])
        fsim_names_set(r->arena, &r->tensor, p->alias[i], tensor);
}

/* The result of an operator that is not there: its first input. */
static bool stand_in(fsim_reader *r, const fsim_pending *p)
{
    const int tensor = fsim_names_get(&r->tensor, p->in[0]);
    if (tensor < 0)
        return false;
    give_names(r, p, 0, tensor);
    return true;
}

static bool build(fsim_reader *r, fsim_pending *p)
{
    const fsim_yaml *op = fsim_yaml_get(p->yaml, "op");
    fsim_call c = {
        .build = &r->build, .at = p->at, .out = p->out, .outs = p->outs, .args = p->ins, .source = r->graph->sources};
    c.attrs = (fsim_attrs){.dtype = FSIM_DTYPE_NONE, .compute = FSIM_DTYPE_NONE};
    const fsim_alias *alias;
    if (!fsim_want_scalar(r, op, "'op'"))
        return false;
    if (!fsim_op_named(op->text, &c.op, &alias)) {
        fsim_error(r->diag, op->at, "%s", fsim_unknown_op(r->arena, op->text));
        return false;
    }
    const fsim_op_row *row = &fsim_ops[c.op];
    if (!fsim_read_attrs(r, &c, p->yaml))
        return false;
    if (p->absent)
        return stand_in(r, p);
    if (p->ins < row->least_args || (row->most_args >= 0 && p->ins > row->most_args))
        return wrong_inputs(&c);
    if (row->most_outs >= 0 && p->outs > row->most_outs)
        return fsim_refuse(&c, "has %d outputs; makes at most %d", p->outs, row->most_outs);
    c.arg = fsim_new(r->arena, int, p->ins + 1);
    c.result = fsim_new(r->arena, int, p->outs + 1);
    for (int i = 0; i < p->ins; i++)
        if ((c.arg[i] = fsim_names_get(&r->tensor, p->in[i])) < 0)
            return false; /* unknown, or its operator failed: an error was reported */
    if (alias && !check_alias(&c, alias))
        return false;
    for (int i = 0; i < p->ins; i++)
        r->graph->tensor[c.arg[i]].used = true;
    const int casts = r->graph->sources;
    if (!fsim_pairs_are_known(&c))
        return false;
    if (!fsim_autocast(r, &c, false))
        return false;
    for (int s = casts; s < r->graph->sources; s++) /* the cast of a weight is there for all turns */
        r->graph->source[s].layer_number = casts_given(r->graph, s) ? 0 : p->layer_number;
    const int first = r->graph->nodes;
    fsim_dtype dtype;
    if (!fsim_autocast(r, &c, true))
        return false;
    if (!fsim_result_dtype(&c, &dtype))
        return false;
    if (!fsim_map_over_batch(&c))
        return false;
    for (int i = 0; i < p->outs; i++)
        give_names(r, p, i, c.result[i]);
    if (r->build.recording)
        *FSIM_PUSH(r->arena, r->graph->operation, r->graph->operations, r->build.operation_room) =
            (fsim_operation){c.op, p->ins, c.arg, p->outs, c.result, c.attrs};
    *FSIM_PUSH(r->arena, r->graph->source, r->graph->sources, r->build.source_room) =
        (fsim_source){.op = c.op,
                      .name = p->out[0],
                      .layer = p->layer,
                      .from = p->from,
                      .first = first,
                      .nodes = r->graph->nodes - first,
                      .layer_number = p->layer_number,
                      .at = p->at,
                      .gradient_of = -1,
                      .fused = c.attrs.fused};
    return true;
}

/* Depth first, with a stack of its own because chains may be long. */
void fsim_build_all(fsim_reader *r)
{
    int *stack = fsim_new(r->arena, int, r->ops + 1);
    for (int start = 0; start < r->ops; start++) {
        int depth = 0;
        if (r->op[start].state == 0)
            stack[depth++] = start;
        while (depth > 0) {
            fsim_pending *p = &r->op[stack[depth - 1]];
            int next = -1;
            p->state = 1;
            for (int i = 0; i < p->ins && next < 0 && depth > 0; i++) {
                const int maker = fsim_names_get(&r->maker, p->in[i]);
                if (maker < 0) {
                    if (fsim_names_get(&r->tensor, p->in[i]) < 0 && fsim_names_get(&r->broken, p->in[i]) < 0)
                        unknown_tensor(r, p, i);
                } else if (r->op[maker].state == 0) {
                    next = maker;
                } else if (r->op[maker].state == 1) {
                    const char *path = p->out[0];
                    int k = depth - 1;
                    for (; k >= 0 && stack[k] != maker && depth - k < 8; k--)
                        if (k < depth - 1)
                            path = fsim_printf(r->arena, "%s needs %s", r->op[stack[k]].out[0], path);
                    fsim_error(r->diag, p->at, "the operators form a cycle: %s needs %s needs %s", r->op[maker].out[0],
                               path, p->in[i]);
                    for (k = 0; k < depth; k++) /* the error was reported: continue with the other operators */
                        r->op[stack[k]].state = 2;
                    depth = 0;
                }
            }
            if (depth == 0)
                break;
            if (next >= 0) {
                stack[depth++] = next;
                continue;
            }
            if (!build(r, p) && fsim_errors(r->diag) > 20)
                return;
            p->state = 2;
            depth--;
        }
    }
}
