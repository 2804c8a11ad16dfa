/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/template.h"

/* No contraction, no window, and nothing that is a kernel of its own. */
static bool is_free(const fsim_template_facts *f) { return f->alone == FSIM_CLASS_COUNT && !f->contracts && !f->pools; }

/* The predicates of template.def. */
static bool streams(const fsim_template_facts *f) { return is_free(f) && !f->reduces && f->computes; }
static bool copies(const fsim_template_facts *f) { return is_free(f) && !f->reduces && !f->computes; }
static bool reduces_rows(const fsim_template_facts *f)
{
    return is_free(f) && f->reduces && !f->splits_rows && !f->strided_rows && !f->mixes;
}
static bool reduces_columns(const fsim_template_facts *f)
{
    return is_free(f) && f->reduces && !f->splits_rows && f->strided_rows;
}
static bool reduces_all(const fsim_template_facts *f) { return is_free(f) && f->reduces && f->splits_rows; }
static bool reduces_both(const fsim_template_facts *f) { return is_free(f) && f->reduces && f->mixes; }
static bool pools(const fsim_template_facts *f) { return f->pools; }
static bool contracts(const fsim_template_facts *f) { return f->contracts && !f->chains; }
static bool chains(const fsim_template_facts *f) { return f->contracts && f->chains; }
static bool scans(const fsim_template_facts *f) { return f->alone == FSIM_SCAN; }
static bool is_opaque(const fsim_template_facts *f) { return f->alone == FSIM_OPAQUE || f->alone == FSIM_SCATTER; }
static bool communicates(const fsim_template_facts *f) { return f->alone == FSIM_COMMUNICATION; }
static bool transfers(const fsim_template_facts *f) { return f->alone == FSIM_TRANSFER; }
/* The price takes the library's call where it can do a contraction: vendor/vendor.h. */
static bool never(const fsim_template_facts *f)
{
    (void)f;
    return false;
}

fsim_template fsim_template_for(const fsim_template_facts *f)
{
    static bool (*const holds[FSIM_TEMPLATE_COUNT])(const fsim_template_facts *) = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = has,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    };
    int t = 0;
    while (t < FSIM_TEMPLATE_COUNT - 1 && !holds[t](f))
        t++;
    return (fsim_template)t;
}
