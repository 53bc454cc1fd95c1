/*
 * matrix_function.c - functions of square matrices:
 *
 *     MatrixExponential MatrixLogarithm MatrixSquareRoot
 *
 * All are computed in complex128, whatever the type.  As f(A') = f(A)', rows
 * are taken for columns.
 *
 *   exponential  A is halved until it is small, its Pade approximant of degree
 *                13 squared as often (N. Higham, "The scaling and squaring
 *                method for the matrix exponential revisited", 2005)
 *   square root  of the triangle T of A = Z T Z' column by column (A. Bjoerck,
 *                S. Hammarling, "A Schur method for the square root of a
 *                matrix", 1983)
 *   logarithm    roots of T until it is near 1, where log(1 + X) is the
 * integral of X / (1 + t X) from 0 to 1: Gauss and Legendre's rule of 7 points
 * (N. Higham, "Functions of matrices", chapter 11)
 *
 * A real matrix with a negative value has no real square root: no numbers.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/linalg_grad.h"
#include "kernels/linalg/linalg_shape.h"
#include "kernels/linalg/schur/schur.h"

#include <cblas.h>
#include <complex.h>
#include <math.h>
#include <string.h>

typedef double _Complex number;

/* ---- Matrices ------------------------------------------------------------ */

static void multiply_square(int n, const number *a, const number *b, number *c)
{
    const number one = 1, zero = 0;

    cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, &one, a, n,
                b, n, &zero, c, n);
}

static double largest_column(int n, const number *a, bool less_identity)
{
    double largest = 0;

    for (int64_t j = 0; j < n; j++) {
        double sum = 0;

        for (int64_t i = 0; i < n; i++)
            sum += cabs(a[j * n + i] - (less_identity && i == j));
        largest = sum > largest || sum != sum ? sum : largest;
    }
    return largest;
}

static void fill_square(int n, number *a, double value)
{
    for (int64_t i = 0; i < (int64_t)n * n; i++)
        a[i] = value;
}

/* ---- The exponential ----------------------------------------------------- */

#define SQUARES 7       /* matrices of work space */
#define EXP_SIZE 5.3719 /* up to which the approximant is exact */
#define HALVES_MAX 1100 /* as many as a double has exponents */

/* y = c[0] + c[1] A2 + c[2] A4 + c[3] A6, or without c[0]. */
static void even_terms(int n, const double *c, bool constant,
                       const number *powers, number *y)
{
    const int64_t size = (int64_t)n * n;

    for (int64_t i = 0; i < size; i++) {
        y[i] = c[1] * powers[i] + c[2] * powers[size + i] +
               c[3] * powers[2 * size + i];
        if (constant && i % (n + 1) == 0)
            y[i] += c[0];
    }
}

/* The sum of even powers up to 12 with every other coefficient from c[0] on. */
static void even_powers(int n, const double *c, const number *powers, number *t,
                        number *y)
{
    const int64_t size = (int64_t)n * n;
    const double high[] = {0, c[8], c[10], c[12]},
                 low[] = {c[0], c[2], c[4], c[6]};

    even_terms(n, high, false, powers, t);
    multiply_square(n, powers + 2 * size, t, y);
    even_terms(n, low, true, powers, t);
    for (int64_t i = 0; i < size; i++)
        y[i] += t[i];
}

/* a: A on entry, X on exit; w has SQUARES matrices; false: it is not regular */
static bool approximate_exp(int n, number *a, number *w, int *pivots)
{
    static const double c[] = {64764752532480000.,
                               32382376266240000.,
                               7771770303897600.,
                               1187353796428800.,
                               129060195264000.,
                               10559470521600.,
                               670442572800.,
                               33522128640.,
                               1323241920.,
                               40840800.,
                               960960.,
                               16380.,
                               182.,
                               1.};
    const int64_t size = (int64_t)n * n;
    number *t = w + 3 * size, *u = w + 4 * size, *v = w + 5 * size;
    const double odd[] = {c[1], 0,    c[3], 0,     c[5], 0,    c[7],
                          0,    c[9], 0,    c[11], 0,    c[13]};
    int info;

    multiply_square(n, a, a, w);
    multiply_square(n, w, w, w + size);
    multiply_square(n, w, w + size, w + 2 * size);
    even_powers(n, odd, w, t, v);
    multiply_square(n, a, v, u);
    even_powers(n, c, w, t, v);
    for (int64_t i = 0; i < size; i++) {
        a[i] = v[i] + u[i];
        v[i] -= u[i];
    }
    zgetrf_(&n, &n, (void *)v, &n, pivots, &info);
    if (info != 0)
        return false;
    zgetrs_("N", &n, &n, (void *)v, &n, pivots, (void *)a, &n, &info, 1);
    return true;
}

static bool exponential(int n, number *a, number *w, int *pivots)
{
    const int64_t size = (int64_t)n * n;
    const double norm = largest_column(n, a, false);
    int halves = 0;

    if (!isfinite(norm))
        return false;
    if (norm > EXP_SIZE)
        halves = (int)ceil(log2(norm / EXP_SIZE));
    for (int64_t i = 0; i < size; i++)
        a[i] = ldexp(creal(a[i]), -halves) + I * ldexp(cimag(a[i]), -halves);
    if (!approximate_exp(n, a, w, pivots))
        return false;
    for (int i = 0; i < halves && i < HALVES_MAX && !tfd_halted(); i++) {
        multiply_square(n, a, a, w);
        memcpy(a, w, sizeof(*a) * (size_t)size);
    }
    return true;
}

/* ---- By the triangle ----------------------------------------------------- */

/* The root of the upper triangle T; r may not be t. */
static void triangle_root(int64_t n, const number *t, number *r)
{
    memset(r, 0, sizeof(*r) * (size_t)(n * n));
    for (int64_t j = 0; j < n && !tfd_halted(); j++) {
        r[j * n + j] = csqrt(t[j * n + j]);
        for (int64_t i = j - 1; i >= 0; i--) {
            number rest = t[j * n + i];

            for (int64_t k = i + 1; k < j; k++)
                rest -= r[k * n + i] * r[j * n + k];
            r[j * n + i] = rest / (r[i * n + i] + r[j * n + j]);
        }
    }
}

#define LOG_SIZE 0.25 /* of X, up to which the rule is exact */
#define ROOTS_MAX 100

/* y = the sum of weight * X / (1 + point * X); w has two matrices. */
static void integrate_log(int n, const number *x, number *w, number *y)
{
    static const double points[] = {
        -0.9491079123427585, -0.7415311855993945, -0.4058451513773972, 0,
        0.4058451513773972,  0.7415311855993945,  0.9491079123427585};
    static const double weights[] = {0.1294849661688697, 0.2797053914892766,
                                     0.3818300505051189, 0.4179591836734694,
                                     0.3818300505051189, 0.2797053914892766,
                                     0.1294849661688697};
    const int64_t size = (int64_t)n * n;
    const number one = 1;
    number *term = w + size;

    memset(y, 0, sizeof(*y) * (size_t)size);
    for (int p = 0; p < 7; p++) {
        for (int64_t i = 0; i < size; i++) {
            w[i] = (i % (n + 1) == 0) + (1 + points[p]) / 2 * x[i];
            term[i] = x[i];
        }
        cblas_ztrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans,
                    CblasNonUnit, n, n, &one, w, n, term, n);
        for (int64_t i = 0; i < size; i++)
            y[i] += weights[p] / 2 * term[i];
    }
}

/* Of the triangle T, which is lost; w has three matrices. */
static bool triangle_log(int n, number *t, number *w, number *diagonal,
                         number *y)
{
    const int64_t size = (int64_t)n * n;
    int roots = 0;

    for (int64_t i = 0; i < n; i++)
        diagonal[i] = clog(t[i * n + i]);
    for (; !(largest_column(n, t, true) < LOG_SIZE); roots++) {
        if (roots == ROOTS_MAX || tfd_halted())
            return false;
        triangle_root(n, t, w);
        memcpy(t, w, sizeof(*t) * (size_t)size);
    }
    for (int64_t i = 0; i < n; i++)
        t[i * n + i] -= 1;
    integrate_log(n, t, w, y);
    for (int64_t i = 0; i < size; i++)
        y[i] = ldexp(creal(y[i]), roots) + I * ldexp(cimag(y[i]), roots);
    for (int64_t i = 0; i < n; i++)
        y[i * n + i] = diagonal[i];
    return true;
}

/* ---- One matrix ---------------------------------------------------------- */

enum function { EXPONENTIAL, LOGARITHM, ROOT };

struct functions {
    enum function function;
    enum tfd_dtype dtype;
    int n;
    const void *x;
    void *y;
};

/* Matrices and, of as many columns, LAPACK's work space. */
#define MATRICES 9
#define WORK_COLUMNS 40

/* a becomes f(A). */
static bool by_triangle(const struct functions *f, number *a, number *room)
{
    const int n = f->n, work_size = 34 * n;
    const int64_t size = (int64_t)n * n;
    const number one = 1, zero = 0;
    number *z = room, *y = room + size, *w = room + 2 * size;
    number *values = room + (MATRICES - 1) * size, *work = values + n;
    double *real_work = (double *)(work + work_size);
    int found, info;

    for (int64_t i = 0; i < size; i++)
        if (!isfinite(creal(a[i])) || !isfinite(cimag(a[i])))
            return false;
    zgees_("V", "N", NULL, &n, (void *)a, &n, &found, (void *)values, (void *)z,
           &n, (void *)work, &work_size, real_work, NULL, &info, 1, 1);
    if (info != 0)
        return false;
    if (f->function == ROOT)
        triangle_root(n, a, y);
    else if (!triangle_log(n, a, w, values, y))
        return false;
    multiply_square(n, z, y, w);
    cblas_zgemm(CblasColMajor, CblasNoTrans, CblasConjTrans, n, n, n, &one, w,
                n, z, n, &zero, a, n);
    return true;
}

/* Of a real matrix. */
static bool has_negative_value(int n, const number *a, number *room)
{
    const int64_t size = (int64_t)n * n;
    double *columns = (double *)room, *re = columns + size, *im = re + n;
    double *work = im + n, none;
    const int one = 1, work_size = 8 * n;
    int info;

    for (int64_t i = 0; i < size; i++)
        columns[i] = creal(a[i]);
    for (int64_t i = 0; i < size; i++)
        if (!isfinite(columns[i]))
            return false;
    dgeev_("N", "N", &n, columns, &n, re, im, &none, &one, &none, &one, work,
           &work_size, &info, 1, 1);
    for (int i = 0; i < n && info == 0; i++)
        if (re[i] < 0 && im[i] == 0)
            return true;
    return false;
}

static bool is_real(enum tfd_dtype dtype)
{
    return dtype == TFD_FLOAT || dtype == TFD_DOUBLE;
}

static void load_matrix(const struct functions *f, int64_t at, number *a)
{
    const int64_t size = (int64_t)f->n * f->n, from = at * size;

    for (int64_t i = 0; i < size; i++)
        switch (f->dtype) {
        case TFD_FLOAT:
            a[i] = (double)((const float *)f->x)[from + i];
            break;
        case TFD_DOUBLE:
            a[i] = ((const double *)f->x)[from + i];
            break;
        case TFD_COMPLEX64:
            a[i] = (number)((const float _Complex *)f->x)[from + i];
            break;
        default:
            a[i] = ((const number *)f->x)[from + i];
            break;
        }
}

static void store_matrix(const struct functions *f, int64_t at, const number *a)
{
    const int64_t size = (int64_t)f->n * f->n, to = at * size;

    for (int64_t i = 0; i < size; i++)
        switch (f->dtype) {
        case TFD_FLOAT:
            ((float *)f->y)[to + i] = (float)creal(a[i]);
            break;
        case TFD_DOUBLE:
            ((double *)f->y)[to + i] = creal(a[i]);
            break;
        case TFD_COMPLEX64:
            ((float _Complex *)f->y)[to + i] = (float _Complex)a[i];
            break;
        default:
            ((number *)f->y)[to + i] = a[i];
            break;
        }
}

/* ---- Small roots --------------------------------------------------------- */

/* Parts of the largest element: how far from the axis values lie that are real
 * as far as can be told, and apart those that are no pair. */
#define NEAR_AXIS 1e-10
#define APART 1e-6

enum axis { NONE_NEGATIVE, NEGATIVE, UNSURE };

/* Whether value i of a real matrix is real and negative: those that are not
 * real are two that lie side by side. */
static enum axis side_of_value(const struct tfd_schur *s, int i)
{
    const tfd_complex128 value = s->t[i * (s->stride + 1)];

    if (!(value.re < 0 && fabs(value.im) <= APART * s->size))
        return NONE_NEGATIVE;
    for (int j = 0; j < s->n; j++) {
        const tfd_complex128 other = s->t[j * (s->stride + 1)];

        if (j != i &&
            hypot(other.re - value.re, other.im - value.im) <= APART * s->size)
            return UNSURE;
    }
    return fabs(value.im) <= NEAR_AXIS * s->size && value.re < -APART * s->size
               ? NEGATIVE
               : UNSURE;
}

static enum axis find_negative(const struct functions *f,
                               const struct tfd_schur *s)
{
    enum axis found = NONE_NEGATIVE;

    for (int i = 0; i < f->n && is_real(f->dtype) && found != NEGATIVE; i++) {
        const enum axis own = side_of_value(s, i);

        found = own != NONE_NEGATIVE ? own : found;
    }
    return found;
}

/* False: it is left to LAPACK. */
static bool small_root(const struct functions *f, number *a,
                       struct tfd_schur *s)
{
    const int n = f->n;
    enum axis negative;

    tfd_schur_clear(s, n, TFD_SCHUR_FORM);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            memcpy(&s->t[j * s->stride + i], &a[i * n + j], sizeof(*a));
    if (!tfd_schur_decompose(s))
        return false;
    negative = find_negative(f, s);
    if (negative == UNSURE)
        return false;
    if (negative == NEGATIVE) {
        fill_square(n, a, NAN);
        return true;
    }
    tfd_schur_root(s);
    for (int i = 0; i < n; i++)
        memcpy(a + i * n, s->t + i * s->stride, sizeof(*a) * (size_t)n);
    return true;
}

static void function_of_one(const struct functions *f, int64_t at, number *room,
                            struct tfd_schur *s)
{
    const int64_t size = (int64_t)f->n * f->n;
    number *a = room, *rest = room + size;
    bool found;

    load_matrix(f, at, a);
    if (s && small_root(f, a, s))
        found = true;
    else if (f->function == EXPONENTIAL)
        found = exponential(f->n, a, rest, (int *)(rest + SQUARES * size));
    else if (f->function == ROOT && is_real(f->dtype) &&
             has_negative_value(f->n, a, rest))
        found = false;
    else
        found = by_triangle(f, a, rest);
    if (!found)
        fill_square(f->n, a, NAN);
    store_matrix(f, at, a);
}

static enum tfd_code run_functions(void *arg, int64_t begin, int64_t end,
                                   struct tfd_status *st)
{
    const struct functions *f = arg;
    const size_t n = (size_t)f->n;
    const size_t few = f->function == ROOT && n <= TFD_SCHUR_MAX
                           ? sizeof(struct tfd_schur)
                           : 0;
    struct tfd_buffer *room = tfd_buffer_new(
        few + sizeof(number) * n * (MATRICES * n + WORK_COLUMNS));

    if (!room)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM for a function of a matrix of %d x %d", f->n,
                        f->n);
    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        function_of_one(f, i, (number *)(void *)((char *)room->data + few),
                        few > 0 ? room->data : NULL);
    tfd_buffer_unref(room);
    return TFD_OK;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code function_compute(struct tfd_kctx *k,
                                      enum function function,
                                      struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    struct functions f = {.function = function, .dtype = k->in[0].dtype};
    double ns;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    f.n = (int)s->dim[s->rank - 1];
    TFD_TRY(tfd_kctx_output(k, 0, f.dtype, s, st));
    f.x = tfd_tensor_data(&k->in[0]);
    f.y = tfd_tensor_data(&k->out[0]);
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return TFD_OK;
    ns = 5000 + 30.0 * f.n * f.n * f.n;
    return tfd_kctx_try(k, tfd_linalg_matrices(s),
                        ns < INT32_MAX ? (int)ns : INT32_MAX, run_functions, &f,
                        st);
}

static enum tfd_code exp_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return function_compute(k, EXPONENTIAL, st);
}

static enum tfd_code log_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return function_compute(k, LOGARITHM, st);
}

static enum tfd_code root_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return function_compute(k, ROOT, st);
}

static enum tfd_code function_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    (void)p;
    (void)state;
    (void)st;
    tfd_gemm_init();
    return TFD_OK;
}

#define OP(name_, types, grad_)                                                \
    {                                                                          \
        .name = name_, .inputs = "input: T", .outputs = "output: T",           \
        .attrs = "T: " types, .shape = tfd_linalg_shape_square, .grad = grad_, \
    }
#define NUMBERS "{double, float, half, complex64, complex128}"

static const struct tfd_opdef ops[] = {
    OP("MatrixExponential", NUMBERS, NULL),
    OP("MatrixLogarithm", "{complex64, complex128}", NULL),
    OP("MatrixSquareRoot", NUMBERS, tfd_linalg_root_gradient),
};

#define KERNEL(op, type, compute)                            \
    TFD_KERNEL(op, type, compute, .flags = TFD_KERNEL_HEAVY, \
               .prepare = function_prepare)
#define KERNELS(type)                               \
    KERNEL("MatrixExponential", type, exp_compute), \
        KERNEL("MatrixSquareRoot", type, root_compute)

static const struct tfd_kernel kernels[] = {
    KERNELS(FLOAT),
    KERNELS(DOUBLE),
    KERNELS(COMPLEX64),
    KERNELS(COMPLEX128),
    KERNEL("MatrixLogarithm", COMPLEX64, log_compute),
    KERNEL("MatrixLogarithm", COMPLEX128, log_compute),
};

const struct tfd_family tfd_family_matrix_function = {
    .name = "matrix_function",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
