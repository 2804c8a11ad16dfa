/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attribute.h"
#include "graph/graph.h"

#include <math.h>
#include <string.h>

static bool same_text(const char *x, const char *y) { return x == y || (x && y && strcmp(x, y) == 0); }

static bool same_tensor(const fsim_tensor *x, const fsim_tensor *y)
{
    return same_text(x->name, y->name) && x->shape.rank == y->shape.rank &&
           memcmp(x->shape.dim, y->shape.dim, (size_t)x->shape.rank * sizeof *x->shape.dim) == 0 &&
           x->dtype == y->dtype && x->role == y->role && x->storage == y->storage && x->offset == y->offset &&
           x->over == y->over && x->producer == y->producer && x->output == y->output &&
           x->materialize == y->materialize && x->mapped == y->mapped;
}

static bool same_value(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool same_node(const fsim_node *x, const fsim_node *y)
{
    bool same = x->op == y->op && same_text(x->name, y->name) && x->source == y->source && x->args == y->args &&
                x->results == y->results && x->points == y->points && x->reduced == y->reduced &&
                x->dtype == y->dtype && x->effect == y->effect;
    for (int i = 0; same && i < x->args; i++)
        same = x->arg[i].tensor == y->arg[i].tensor && x->arg[i].how == y->arg[i].how &&
               x->arg[i].distinct == y->arg[i].distinct && fsim_map_equal(&x->arg[i].map, &y->arg[i].map);
    for (int i = 0; same && i < x->results; i++)
        same = x->result[i] == y->result[i];
    for (int i = 0; same && i < FSIM_FIELD_COUNT; i++)
        same = same_value(fsim_attr_value(&x->attrs, i), fsim_attr_value(&y->attrs, i));
    return same;
}

static bool same_source(const fsim_source *x, const fsim_source *y)
{
    return x->op == y->op && same_text(x->name, y->name) && same_text(x->layer, y->layer) &&
           same_text(x->from, y->from) && x->first == y->first && x->nodes == y->nodes;
}

bool fsim_same_graph(const fsim_graph *x, const fsim_graph *y)
{
    bool same = same_text(x->name, y->name) && same_text(x->description, y->description) && x->symbols == y->symbols &&
                x->batch == y->batch && x->tensors == y->tensors && x->nodes == y->nodes && x->sources == y->sources &&
                x->fuses == y->fuses && x->separates == y->separates;
    for (int i = 0; same && i < x->symbols; i++)
        same = same_text(x->symbol[i].name, y->symbol[i].name) && x->symbol[i].value == y->symbol[i].value &&
               x->symbol[i].dtype == y->symbol[i].dtype;
    for (int i = 0; same && i < x->tensors; i++)
        same = same_tensor(&x->tensor[i], &y->tensor[i]);
    for (int i = 0; same && i < x->nodes; i++)
        same = same_node(&x->node[i], &y->node[i]);
    for (int i = 0; same && i < x->sources; i++)
        same = same_source(&x->source[i], &y->source[i]);
    return same;
}
