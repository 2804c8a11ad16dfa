/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h: the rule of each operator, as its row in op.def names it: checks a call's arguments and adds what the
 * operator means to the graph. False after an error. */
#ifndef FUSESIM_GRAPH_RULE_H
#define FUSESIM_GRAPH_RULE_H

#include <stdbool.h>

struct fsim_call; /* graph/build.h */
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    bool fsim_rule_##rule(struct fsim_call *call);
#include "graph/op.def"
#undef FSIM_OP

#endif
