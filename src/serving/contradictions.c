/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/contradictions.h"

#include "base/names.h"

#include <math.h>

/* What rows of one system share; NULL: not a time of so many requests under way. In a. */
static const char *system_of(const fsim_judged_system *s, fsim_arena *a)
{
    const fsim_system *r = s->row;
    if (r->mode != FSIM_SYSTEM_FIXED || s->answer.reason)
        return NULL;
    return fsim_printf(a, "%s|%s|%s|%s|%s|%lld|%lld|%lld|%lld|%lld|%lld|%lld|%lld|%s", r->source, r->model,
                       r->precision, r->kv_precision, r->hw, (long long)r->gpus, (long long)r->tp, (long long)r->pp,
                       (long long)r->dp, (long long)r->ep, (long long)r->batch, (long long)r->input,
                       (long long)r->output, r->notes);
}

/* Why both times can't hold; NULL: they can. */
static const char *contradiction_of(const fsim_judged_system *first, const fsim_judged_system *token, fsim_arena *a)
{
    const fsim_system *r = token->row;
    const fsim_system_answer *x = &token->answer;
    const double others_s = (double)(r->output - 1) * token->row->value, answer_s = first->row->value + others_s,
                 all = (double)r->batch, let_in = fmin(all, x->places), making = all * others_s / answer_s,
                 prompts = all * (double)r->input * token->row->value / answer_s;
    if (r->output < 2 || making >= let_in / 2 || prompts >= x->prompt_tokens / 2)
        return NULL;
    return fsim_printf(a,
                       "by its times to the first token and per token %.0f of %.0f requests make tokens and the others "
                       "wait, though %.0f have a place and a step has %.0f tokens of prompts where it may have %.0f: "
                       "one of the times is not what it is called",
                       making, all, let_in, prompts, x->prompt_tokens);
}

void fsim_find_contradictions(fsim_judged_system *s, int count, fsim_arena *a)
{
    enum { FIRST, TOKEN, TIMES };
    fsim_names waiting[TIMES] = {{0}}; /* the last row of a system that has no partner yet */
    for (int i = 0; i < count; i++) {
        const char *system = system_of(&s[i], a);
        if (!system)
            continue;
        const int time = fsim_is_first_token(s[i].row) ? FIRST : TOKEN, other = fsim_names_get(&waiting[!time], system);
        if (other < 0) {
            fsim_names_set(a, &waiting[time], system, i);
            continue;
        }
        fsim_names_set(a, &waiting[!time], system, -1);
        const char *why = time == FIRST ? contradiction_of(&s[i], &s[other], a) : contradiction_of(&s[other], &s[i], a);
        s[i].contradiction = s[other].contradiction = why;
    }
}
