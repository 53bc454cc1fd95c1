/*
 * schur.c - reflections that leave one diagonal below the main one
 * (Hessenberg), then QR steps, each with one shift, that is chased down by
 * rotations (G. Golub, C. Van Loan, "Matrix computations", chapter 7).
 *
 * Two complex numbers are a vector: a rotation of rows goes along them, one of
 * neighbouring columns takes the pair of a row at once.
 */
#include "kernels/linalg/schur/schur.h"

#include "kernels/vector/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SIZE_LIMIT 1e40 /* products of what is smaller are finite */
#define GAP_MIN 1e-200  /* between values: what is divided by it is finite */
#define TRIES_MAX 30    /* steps for one value */
#define TRIES_ODD 10    /* each so many another shift is taken */

#define INLINE static inline __attribute__((always_inline))

typedef tfd_complex128 number;

/* Two numbers. */
typedef double lanes
    __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));

#define LANES(at) (*(lanes *)(void *)(at))
#define EVEN(i) ((i) & ~1)
#define SWAP_PARTS(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#define SWAP_NUMBERS(x) __builtin_shufflevector(x, x, 2, 3, 0, 1)

/* ---- Numbers ------------------------------------------------------------- */

INLINE double square_of(number x)
{
    return x.re * x.re + x.im * x.im;
}

INLINE double size_of(number x)
{
    return fabs(x.re) + fabs(x.im);
}

INLINE number times(number x, number y)
{
    return (number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

INLINE number over(number x, number y)
{
    /* The larger part first, so that no square of it vanishes. */
    const bool turned = fabs(y.im) > fabs(y.re);
    const double large = turned ? y.im : y.re, small = turned ? y.re : y.im;
    const double part = small / large, all = large + small * part;

    return turned ? (number){(x.re * part + x.im) / all,
                             (x.im * part - x.re) / all}
                  : (number){(x.re + x.im * part) / all,
                             (x.im - x.re * part) / all};
}

INLINE number minus(number x, number y)
{
    return (number){x.re - y.re, x.im - y.im};
}

INLINE number plus(number x, number y)
{
    return (number){x.re + y.re, x.im + y.im};
}

INLINE number root_of(number x)
{
    const double a = sqrt((sqrt(square_of(x)) + fabs(x.re)) / 2);
    const double b = a > 0 ? x.im / (2 * a) : 0;

    return x.re >= 0 ? (number){a, b} : (number){fabs(b), copysign(a, x.im)};
}

/* ---- Rows ---------------------------------------------------------------- */

/* y += factor * x in columns [from, to), from even. */
INLINE void add_row(number *y, number factor, const number *x, int from, int to)
{
    const double im = factor.im;
    const lanes turn = {-im, im, -im, im};

    for (int j = from; j < to; j += 2) {
        const lanes v = LANES(x + j);

        LANES(y + j) += factor.re * v + turn * SWAP_PARTS(v);
    }
}

INLINE number dot_rows(const number *x, const number *y, int from, int to)
{
    lanes straight = {0}, crossed = {0};

    for (int j = from; j < to; j += 2) {
        const lanes v = LANES(x + j), w = LANES(y + j);

        straight += v * w;
        crossed += v * SWAP_PARTS(w);
    }
    return (number){straight[0] - straight[1] + straight[2] - straight[3],
                    crossed[0] + crossed[1] + crossed[2] + crossed[3]};
}

/* x = c x + s y, y = c y - s' x. */
struct rotation {
    double c;
    number s;
};

INLINE void rotate_rows(struct rotation r, number *x, number *y, int from,
                        int to)
{
    const lanes turn = {-r.s.im, r.s.im, -r.s.im, r.s.im};

    for (int j = from; j < to; j += 2) {
        const lanes v = LANES(x + j), w = LANES(y + j);

        LANES(x + j) = r.c * v + r.s.re * w + turn * SWAP_PARTS(w);
        LANES(y + j) = r.c * w - r.s.re * v + turn * SWAP_PARTS(v);
    }
}

/* The adjoint, on the right: of columns k and k + 1 of rows [from, to). */
INLINE void rotate_columns(struct rotation r, number *x, int stride, int from,
                           int to)
{
    const double re = r.s.re, im = r.s.im;
    const lanes straight = {re, re, -re, -re}, turn = {im, -im, im, -im};

    for (int i = from; i < to; i++) {
        const lanes v = LANES(x + i * stride), other = SWAP_NUMBERS(v);

        LANES(x + i * stride) =
            r.c * v + straight * other + turn * SWAP_PARTS(other);
    }
}

/* That makes (x, y) to (r, 0). */
INLINE struct rotation rotation_of(number x, number y)
{
    const double xx = square_of(x), all = xx + square_of(y), both = xx * all;
    const number turned = times(x, (number){y.re, -y.im});
    double by;

    if (!(square_of(y) > 0))
        return (struct rotation){1, {0, 0}};
    if (both > DBL_MIN / DBL_EPSILON) {
        by = 1 / sqrt(both);
        return (struct rotation){xx * by, {turned.re * by, turned.im * by}};
    }
    by = 1 / sqrt(all);
    if (!(xx > 0))
        return (struct rotation){0, {y.re * by, -y.im * by}};
    by /= sqrt(xx);
    return (struct rotation){xx * by, {turned.re * by, turned.im * by}};
}

/* ---- One diagonal below -------------------------------------------------- */

/* The reflection I - scale v v' of a column; v and its conjugate. */
struct reflection {
    double scale;
    number v[TFD_SCHUR_MAX], conjugate[TFD_SCHUR_MAX], row[TFD_SCHUR_MAX];
};

/* Of what column k has below its row k; false: there is nothing to do. */
INLINE bool reflect_column(struct tfd_schur *s, int k, struct reflection *h)
{
    number *top = s->t + (k + 1) * s->stride + k;
    const double first = sqrt(square_of(*top));
    double rest = 0, all;

    memset(h->v, 0, sizeof(h->v));
    for (int i = k + 2; i < s->n; i++) {
        h->v[i] = s->t[i * s->stride + k];
        rest += square_of(h->v[i]);
    }
    if (!(rest > 0))
        return false;
    all = sqrt(first * first + rest);
    h->v[k + 1] = first > 0 ? (number){top->re * (1 + all / first),
                                       top->im * (1 + all / first)}
                            : (number){all, 0};
    h->scale = 1 / (all * (all + first));
    for (int i = 0; i < TFD_SCHUR_MAX; i++)
        h->conjugate[i] = (number){h->v[i].re, -h->v[i].im};
    return true;
}

/* Rows of x from row k + 1 on. */
INLINE void reflect_rows(const struct tfd_schur *s, struct reflection *h,
                         const number *left, const number *right, number *x,
                         int k, int from)
{
    memset(h->row, 0, sizeof(h->row));
    for (int i = k + 1; i < s->n; i++)
        add_row(h->row, left[i], x + i * s->stride, from, s->n);
    for (int i = k + 1; i < s->n; i++)
        add_row(x + i * s->stride,
                (number){-h->scale * right[i].re, -h->scale * right[i].im},
                h->row, from, s->n);
}

INLINE void make_hessenberg(struct tfd_schur *s)
{
    struct reflection h;

    for (int k = 0; k < s->n - 2; k++) {
        if (!reflect_column(s, k, &h))
            continue;
        reflect_rows(s, &h, h.conjugate, h.v, s->t, k, EVEN(k));
        for (int i = k + 2; i < s->n; i++)
            s->t[i * s->stride + k] = (number){0, 0};
        for (int i = 0; i < s->n; i++) {
            number *x = s->t + i * s->stride;
            const number dot = dot_rows(x, h.v, EVEN(k + 1), s->n);

            add_row(x, (number){-h.scale * dot.re, -h.scale * dot.im},
                    h.conjugate, EVEN(k + 1), s->n);
        }
        if (s->want != TFD_SCHUR_VALUES)
            reflect_rows(s, &h, h.v, h.conjugate, s->q, k, 0);
    }
}

/* ---- The triangle -------------------------------------------------------- */

/* The row from which on the block lies whose last row is `end`. */
INLINE int block_of(struct tfd_schur *s, int end)
{
    for (int k = end; k > 0; k--) {
        number *own = s->t + k * s->stride + k;
        const double near = size_of(own[0]) + size_of(own[-s->stride - 1]);

        if (size_of(own[-1]) <= DBL_EPSILON * (near > 0 ? near : s->size)) {
            own[-1] = (number){0, 0};
            return k;
        }
    }
    return 0;
}

/* The value of the last two rows that is nearer to the last element. */
INLINE number shift_of(const struct tfd_schur *s, int end, int tries)
{
    const number *low = s->t + end * s->stride + end;
    const number *high = low - s->stride, d = *low;
    const number product = times(high[0], low[-1]);
    number half = minus(high[-1], d), root;

    if (tries % TRIES_ODD == 0)
        return (number){d.re + size_of(low[-1]), d.im};
    half = (number){half.re / 2, half.im / 2};
    root = root_of(plus(times(half, half), product));
    if (half.re * root.re + half.im * root.im < 0)
        root = (number){-root.re, -root.im};
    half = plus(half, root);
    return square_of(half) > 0 ? minus(d, over(product, half)) : d;
}

/* One step for rows [begin, end]. */
INLINE void step_block(struct tfd_schur *s, int begin, int end, number shift)
{
    const bool whole = s->want != TFD_SCHUR_VALUES;
    const int top = whole ? 0 : begin, right = whole ? s->n : end + 1;
    const int stride = s->stride;
    number x = minus(s->t[begin * stride + begin], shift);

    for (int k = begin; k < end; k++) {
        number *own = s->t + k * stride;
        struct rotation r;

        if (k > begin)
            x = own[k - 1];
        r = rotation_of(x, own[stride + (k > begin ? k - 1 : k)]);
        rotate_rows(r, own, own + stride, EVEN(k > begin ? k - 1 : k), right);
        if (k > begin)
            own[stride + k - 1] = (number){0, 0};
        rotate_columns(r, s->t + k, stride, top, k + 2 < end ? k + 3 : end + 1);
        if (whole) {
            r.s.im = -r.s.im;
            rotate_rows(r, s->q + k * stride, s->q + (k + 1) * stride, 0, s->n);
        }
    }
}

INLINE bool make_triangle(struct tfd_schur *s)
{
    int tries = 0;

    for (int end = s->n - 1; end > 0;) {
        const int begin = block_of(s, end);

        if (begin == end) {
            end--;
            tries = 0;
        } else if (++tries > TRIES_MAX)
            return false;
        else
            step_block(s, begin, end, shift_of(s, end, tries));
    }
    return true;
}

/* ---- Vectors ------------------------------------------------------------- */

/* x: that of T for value k. */
INLINE void solve_vector(const struct tfd_schur *s, int k, number *x)
{
    const number value = s->t[k * s->stride + k];
    const double size = size_of(value) > 0 ? size_of(value) : s->size;
    const double least = fmax(DBL_EPSILON * size, GAP_MIN);

    memset(x, 0, sizeof(*x) * TFD_SCHUR_MAX);
    x[k].re = 1;
    for (int i = k - 1; i >= 0; i--) {
        const number *row = s->t + i * s->stride;
        const number dot = dot_rows(row, x, EVEN(i), EVEN(k) + 2);
        number gap = minus(value, row[i]);
        double large;

        if (size_of(gap) < least)
            gap = (number){least, 0};
        x[i] = over(dot, gap);
        large = size_of(x[i]);
        for (int j = i; j <= k && large > SIZE_LIMIT; j++)
            x[j] = (number){x[j].re / large, x[j].im / large};
    }
}

/* Row k of q becomes the vector. */
INLINE void store_vector(struct tfd_schur *s, int k, const number *x)
{
    number v[TFD_SCHUR_MAX] = {{0, 0}}, factor = {1, 0};
    double sum = 0, most = 0;

    for (int j = 0; j <= k; j++)
        add_row(v, x[j], s->q + j * s->stride, 0, s->n);
    for (int i = 0; i < s->n; i++) {
        const double size = square_of(v[i]);

        sum += size;
        if (size > most) {
            most = size;
            factor = (number){v[i].re, -v[i].im};
        }
    }
    sum = 1 / (sqrt(sum) * sqrt(square_of(factor)));
    factor = (number){factor.re * sum, factor.im * sum};
    memset(s->q + k * s->stride, 0, sizeof(*v) * (size_t)s->stride);
    add_row(s->q + k * s->stride, factor, v, 0, s->n);
}

TFD_SIMD_LOOP(decompose)
{
    struct tfd_schur *s = arg;
    number x[TFD_SCHUR_MAX];

    (void)begin;
    (void)end;
    make_hessenberg(s);
    s->done = make_triangle(s);
    if (s->done && s->want == TFD_SCHUR_VECTORS)
        for (int k = s->n - 1; k >= 0; k--) {
            solve_vector(s, k, x);
            store_vector(s, k, x);
        }
}
TFD_SIMD_AVX2_ONLY(decompose)

void tfd_schur_clear(struct tfd_schur *s, int n, enum tfd_schur_want want)
{
    const size_t size = sizeof(number) * (size_t)n * (size_t)EVEN(n + 1);

    s->n = n;
    s->stride = EVEN(n + 1);
    s->want = want;
    s->size = 0;
    memset(s->t, 0, size);
    memset(s->q, 0, size);
}

bool tfd_schur_decompose(struct tfd_schur *s)
{
    bool fine = true;

    for (int i = 0; i < s->n * s->stride; i++) {
        const double size = fmax(fabs(s->t[i].re), fabs(s->t[i].im));

        s->size = size > s->size ? size : s->size;
        fine = fine && isfinite(s->t[i].re) && isfinite(s->t[i].im);
    }
    if (!fine || !TFD_SIMD_HAS_AVX2() || s->size > SIZE_LIMIT ||
        (s->size < 1 / SIZE_LIMIT && s->size > 0))
        return false;
    for (int i = 0; i < s->n; i++)
        s->q[i * (s->stride + 1)].re = 1;
    decompose_lanes(s, 0, s->n);
    return s->done;
}

/* ---- The root ------------------------------------------------------------ */

/* Row after row from the last up (A. Bjoerck, S. Hammarling, "A Schur method
 * for the square root of a matrix", 1983). */
INLINE void root_triangle(struct tfd_schur *s)
{
    for (int i = s->n - 1; i >= 0; i--) {
        number *own = s->t + i * s->stride;
        const number root = root_of(own[i]);

        own[i] = root;
        for (int k = i + 1; k < s->n; k++) {
            const number *row = s->t + k * s->stride;
            const number x = over(own[k], plus(root, row[k]));

            add_row(own, (number){-x.re, -x.im}, row, EVEN(k + 1), s->n);
            own[k] = x;
        }
    }
}

/* R the triangle, (Q R Q')' = conj(q)' (R' q). */
TFD_SIMD_LOOP(root)
{
    struct tfd_schur *s = arg;
    const int stride = s->stride;

    root_triangle(s);
    memset(s->w, 0, sizeof(s->w));
    for (int64_t j = begin; j < end; j++)
        for (int64_t i = 0; i <= j; i++)
            add_row(s->w + j * stride, s->t[i * stride + j], s->q + i * stride,
                    0, s->n);
    memset(s->t, 0, sizeof(s->t));
    for (int64_t j = begin; j < end; j++)
        for (int64_t i = begin; i < end; i++) {
            const number x = s->q[j * stride + i];

            add_row(s->t + i * stride, (number){x.re, -x.im}, s->w + j * stride,
                    0, s->n);
        }
}
TFD_SIMD_AVX2_ONLY(root)

void tfd_schur_root(struct tfd_schur *s)
{
    root_lanes(s, 0, s->n);
}
