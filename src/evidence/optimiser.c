/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/optimiser.h"

#include "base/arena.h"

#include <dlfcn.h>
#include <stddef.h>

/* The part of nlopt.h 2.4 to 2.10 that is used, declared here: the build needs no header, and the program needs the
 * library only for fits. */
typedef struct nlopt_opt_s *nlopt_opt;
typedef double nlopt_func(unsigned n, const double *x, double *gradient, void *with);
enum { LN_SBPLX = 29 };                 /* an algorithm */
enum { NO_MEMORY = -3, ROUNDOFF = -4 }; /* results */

#if defined(__has_include)
#if __has_include(<nlopt.h>)
#define nlopt_opt  theirs_nlopt_opt
#define nlopt_func theirs_nlopt_func
#include <nlopt.h>
#undef nlopt_opt
#undef nlopt_func
_Static_assert((int)NO_MEMORY == NLOPT_OUT_OF_MEMORY && (int)ROUNDOFF == NLOPT_ROUNDOFF_LIMITED, "and its results");
_Static_assert((int)LN_SBPLX == (int)NLOPT_LN_SBPLX, "NLopt numbers its algorithms as it did");
#endif
#endif

typedef struct {
    nlopt_opt (*create)(int algorithm, unsigned n);
    void (*destroy)(nlopt_opt o);
    int (*set_min_objective)(nlopt_opt o, nlopt_func *f, void *with);
    int (*set_lower_bounds)(nlopt_opt o, const double *low);
    int (*set_upper_bounds)(nlopt_opt o, const double *high);
    int (*set_initial_step)(nlopt_opt o, const double *step);
    int (*set_maxeval)(nlopt_opt o, int evaluations);
    int (*set_ftol_rel)(nlopt_opt o, double tolerance);
    int (*set_xtol_rel)(nlopt_opt o, double tolerance);
    int (*optimize)(nlopt_opt o, double *x, double *least);
} library;

static bool load(library *l)
{
    static const char *const names[] = {"nlopt_create",           "nlopt_destroy",          "nlopt_set_min_objective",
                                        "nlopt_set_lower_bounds", "nlopt_set_upper_bounds", "nlopt_set_initial_step",
                                        "nlopt_set_maxeval",      "nlopt_set_ftol_rel",     "nlopt_set_xtol_rel",
                                        "nlopt_optimize"};
    static const size_t place[] = {
        offsetof(library, create),           offsetof(library, destroy),          offsetof(library, set_min_objective),
        offsetof(library, set_lower_bounds), offsetof(library, set_upper_bounds), offsetof(library, set_initial_step),
        offsetof(library, set_maxeval),      offsetof(library, set_ftol_rel),     offsetof(library, set_xtol_rel),
        offsetof(library, optimize)};
    void *so = dlopen("libnlopt.so.0", RTLD_NOW | RTLD_LOCAL);
    so = so ? so : dlopen("libnlopt.so", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; so && i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(so, names[i]);
        if (!symbol)
            return false;
        *(void **)(void *)((char *)l + place[i]) = symbol;
    }
    return so != NULL;
}

static double call(unsigned n, const double *x, double *gradient, void *with)
{
    const fsim_minimum *of = with;
    (void)n;
    (void)gradient;
    return of->f(x, of->with);
}

bool fsim_minimise(const fsim_minimum *of, double *x, double *least, const char **why)
{
    library l;
    fsim_minimum own = *of;
    if (!load(&l)) {
        *why = "NLopt is not installed (Debian: libnlopt0)";
        return false;
    }
    nlopt_opt o = l.create(LN_SBPLX, (unsigned)of->n);
    if (!o)
        fsim_out_of_memory();
    l.set_min_objective(o, call, &own);
    l.set_lower_bounds(o, of->low);
    l.set_upper_bounds(o, of->high);
    l.set_initial_step(o, of->step);
    l.set_maxeval(o, of->evaluations);
    l.set_ftol_rel(o, 1e-5);
    l.set_xtol_rel(o, 1e-4);
    const int result = l.optimize(o, x, least);
    l.destroy(o);
    if (result == NO_MEMORY)
        fsim_out_of_memory();
    *why = "NLopt could not minimise"; /* where only rounding ends it, the result is good */
    return result > 0 || result == ROUNDOFF;
}
