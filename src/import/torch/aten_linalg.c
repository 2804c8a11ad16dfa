/* SPDX-License-Identifier: Apache-2.0 */
/* aten_linalg.c: factorisations of matrices, by what they compute: a kernel each that reads its matrices and writes its
 * results. */
#include "import/torch/work.h"

#include <string.h>

/* A matrix of q by p, p the shorter side, and k right sides. In what is said, q is m and p is n. */
typedef struct {
    double q, p, k;
} sides;

static double lu(sides s) { return s.q * s.p * s.p - s.p * s.p * s.p / 3; }
static double inverse(sides s) { return 2 * s.p * s.p * s.p; }
static double solve(sides s) { return lu(s) + 2 * s.p * s.p * s.k; }
static double solve_twice(sides s) { return 2 * s.p * s.p * s.k; }
static double triangular(sides s) { return s.p * s.p * s.k; }
static double cholesky(sides s) { return s.p * s.p * s.p / 3; }
static double cholesky_inverse(sides s) { return 2 * s.p * s.p * s.p / 3; }
static double only_r(sides s) { return 2 * (s.q * s.p * s.p - s.p * s.p * s.p / 3); }
static double qr(sides s) { return 2 * only_r(s); }
static double qr_wide(sides s) { return 2 * s.q * s.p * s.p + 2 * s.p * s.p * s.p / 3; }
static double qr_full(sides s) { return 4 * s.q * s.q * s.p - 2 * s.q * s.p * s.p + 2 * s.p * s.p * s.p / 3; }
static double squares(sides s) { return only_r(s) + 4 * s.q * s.p * s.k - s.p * s.p * s.k; }
static double eigh(sides s) { return 9 * s.p * s.p * s.p; }
static double eigvalsh(sides s) { return 4 * s.p * s.p * s.p / 3; }
static double eig(sides s) { return 25 * s.p * s.p * s.p; }
static double eigvals(sides s) { return 10 * s.p * s.p * s.p; }
static double svd(sides s) { return 14 * s.q * s.p * s.p + 8 * s.p * s.p * s.p; }
static double svd_full(sides s) { return 4 * s.q * s.q * s.p + 8 * s.q * s.p * s.p + 9 * s.p * s.p * s.p; }
static double svdvals(sides s) { return 4 * s.q * s.p * s.p - 4 * s.p * s.p * s.p / 3; }
static double pinv(sides s) { return svd(s) + 2 * s.q * s.p * s.p; }

/* FLOPs of LAPACK's algorithms: LAPACK Working Note 41, table of operation counts (getrf, getri, getrs, potrf, potri,
 * trtrs, geqrf, orgqr); eigenvalues and singular values: Golub and Van Loan, Matrix Computations, 4th edition, 7.5.6,
 * 8.3.3 and 8.6.3. */
static const struct {
    const char *word, *text;
    double (*flops)(sides s);
} rows[] = {{"lu", "m n^2 - n^3 / 3", lu},
            {"inverse", "2 n^3", inverse},
            {"solve", "2/3 n^3 + 2 n^2 k", solve},
            {"solve_twice", "2 n^2 k", solve_twice},
            {"triangular", "n^2 k", triangular},
            {"cholesky", "n^3 / 3", cholesky},
            {"cholesky_inverse", "2/3 n^3", cholesky_inverse},
            {"only_r", "2 (m n^2 - n^3 / 3)", only_r},
            {"qr", "4 (m n^2 - n^3 / 3)", qr},
            {"qr_wide", "2 m n^2 + 2/3 n^3", qr_wide},
            {"qr_full", "4 m^2 n - 2 m n^2 + 2/3 n^3", qr_full},
            {"squares", "2 (m n^2 - n^3 / 3) + 4 m n k - n^2 k", squares},
            {"eigh", "9 n^3", eigh},
            {"eigvalsh", "4/3 n^3", eigvalsh},
            {"eig", "25 n^3", eig},
            {"eigvals", "10 n^3", eigvals},
            {"svd", "14 m n^2 + 8 n^3", svd},
            {"svd_full", "4 m^2 n + 8 m n^2 + 9 n^3", svd_full},
            {"svdvals", "4 m n^2 - 4/3 n^3", svdvals},
            {"pinv", "16 m n^2 + 8 n^3", pinv}};

/* What the operator's arguments leave of its word: without vectors, only R, or vectors of all the longer side. */
static const char *as_asked(fsim_aten *c, const char *word, double m, double n)
{
    if (strcmp(word, "qr") == 0) {
        const char *mode = fsim_aten_text(c, "mode", "reduced");
        const bool full = strcmp(mode, "complete") == 0 || !fsim_aten_flag(c, "some", true);
        return strcmp(mode, "r") == 0 ? "only_r" : m < n ? "qr_wide" : full && m > n ? "qr_full" : word;
    }
    if (strcmp(word, "svd") == 0) {
        const bool full = strcmp(c->op, "svd") == 0 ? !fsim_aten_flag(c, "some", true)
                                                    : fsim_aten_flag(c, "full_matrices", c->op[0] != '_');
        return !fsim_aten_flag(c, "compute_uv", true) ? "svdvals" : full && m != n ? "svd_full" : word;
    }
    return strcmp(word, "eigh") == 0 && !fsim_aten_flag(c, "compute_v", true) ? "eigvalsh" : word;
}

bool fsim_aten_op_linalg(fsim_aten *c, const char *word)
{
    const bool second = strcmp(c->op, "cholesky_solve") == 0; /* its first argument is the right side */
    fsim_torch_value *x = second ? fsim_aten_tensor(c, "input2") : fsim_aten_self(c),
                     *right = second ? fsim_aten_self(c) : fsim_aten_tensor(c, "B|b");
    if (!x || x->complex || x->shape.rank < 2 || fsim_aten_elems(&x->shape) == 0)
        return false;
    const fsim_shape *s = &x->shape;
    const double m = (double)s->dim[s->rank - 2], n = (double)s->dim[s->rank - 1],
                 batch = (double)fsim_aten_elems(s) / (m * n);
    const sides of = {m > n ? m : n, m > n ? n : m, right ? (double)fsim_aten_elems(&right->shape) / (batch * m) : 0};
    word = as_asked(c, word, m, n);
    size_t i = 0;
    while (strcmp(rows[i].word, word) != 0)
        i++;
    fsim_aten_assume(c, fsim_printf(c->a,
                                    "its steps depend on each other; assumed: %s floating-point operations, at the "
                                    "full rate",
                                    rows[i].text));
    const double flops = rows[i].flops(of) * batch;
    return fsim_aten_whole_kernel(c, (fsim_aten_work){flops, flops / 2}); /* a product and a sum are one instruction */
}
