/*
 * fft_passes.h - passes of a Fourier transform over LANES lines at once.
 *
 * A template: who includes it defines NUMBER, float or double, LANES, how many
 * of them a vector has, and TARGET, the attribute of the processor that it is
 * for.
 *
 * The mixed-radix transform is Stockham's, which needs no reordering: a pass of
 * radix p over a length n = p m, of which `stride` are done side by side, reads
 *
 *     a[j] = x[k + stride (q + m j)]              j < p, q < m, k < stride
 *
 * and writes the transform of these p, turned by roots of unity,
 *
 *     y[k + stride (p q + r)] = exp(-2 pi i q r / n) sum of a[j] w^(j r)
 *
 * so that m is the length of the next pass and p stride its stride.  The last
 * one, whose m is 1, has nothing to turn.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_PASSES_H
#define TFD_KERNELS_SIGNAL_FFT_PASSES_H

#include "common/thread/halt.h"
#include "kernels/signal/fft_lanes.h"

#include <string.h>

#define INLINE TARGET static inline __attribute__((always_inline))

typedef NUMBER number;

#if LANES > 1
typedef number lanes __attribute__((vector_size(sizeof(number) * LANES)));
#else
typedef number lanes;
#endif

/* Of unity, as a plan has them. */
struct root {
    number re, im;
};

struct cell {
    lanes re, im;
};

struct pass {
    int64_t m, stride;
    const struct root *turns; /* of this pass */
    const struct root *roots; /* of unity, as many as the radix */
    const struct cell *x;
    struct cell *y;
};

/* ---- Complex numbers ----------------------------------------------------- */

INLINE struct cell plus(struct cell a, struct cell b)
{
    return (struct cell){a.re + b.re, a.im + b.im};
}

INLINE struct cell minus(struct cell a, struct cell b)
{
    return (struct cell){a.re - b.re, a.im - b.im};
}

/* Times -i. */
INLINE struct cell quarter(struct cell a)
{
    return (struct cell){a.im, -a.re};
}

/* a - i b and a + i b. */
INLINE struct cell minus_turned(struct cell a, struct cell b)
{
    return (struct cell){a.re + b.im, a.im - b.re};
}

INLINE struct cell plus_turned(struct cell a, struct cell b)
{
    return (struct cell){a.re - b.im, a.im + b.re};
}

/* Fused where the processor can: that is nearer, too. */
INLINE struct cell turned(struct cell a, struct root w)
{
    const lanes re = SPREAD(w.re), im = SPREAD(w.im);

    return (struct cell){FUSED_MINUS(a.re, re, a.im * im),
                         FUSED(a.re, im, a.im * re)};
}

/* a + b h, h being a number. */
INLINE struct cell plus_scaled(struct cell a, struct cell b, number h)
{
    return (struct cell){FUSED(b.re, SPREAD(h), a.re),
                         FUSED(b.im, SPREAD(h), a.im)};
}

INLINE struct cell swapped(struct cell a)
{
    return (struct cell){a.im, a.re};
}

/* ---- Transforms of a few ------------------------------------------------- */

INLINE void transform_2(struct cell *a, const struct root *roots)
{
    const struct cell b = a[1];

    (void)roots;
    a[1] = minus(a[0], b);
    a[0] = plus(a[0], b);
}

INLINE void transform_4(struct cell *a, const struct root *roots)
{
    const struct cell even = plus(a[0], a[2]), odd = plus(a[1], a[3]);
    const struct cell rest = minus(a[0], a[2]), off = minus(a[1], a[3]);

    (void)roots;
    a[0] = plus(even, odd);
    a[1] = minus_turned(rest, off);
    a[2] = minus(even, odd);
    a[3] = plus_turned(rest, off);
}

INLINE void transform_8(struct cell *a, const struct root *roots)
{
    const number h = (number)0.70710678118654752440; /* the root of a half */
    struct cell even[] = {a[0], a[2], a[4], a[6]};
    struct cell odd[] = {a[1], a[3], a[5], a[7]};
    struct cell b, d;

    transform_4(even, roots);
    transform_4(odd, roots);
    b = (struct cell){odd[1].re + odd[1].im, odd[1].im - odd[1].re};
    d = (struct cell){odd[3].im - odd[3].re, -odd[3].re - odd[3].im};
    a[0] = plus(even[0], odd[0]);
    a[1] = plus_scaled(even[1], b, h);
    a[2] = minus_turned(even[2], odd[2]);
    a[3] = plus_scaled(even[3], d, h);
    a[4] = minus(even[0], odd[0]);
    a[5] = plus_scaled(even[1], b, -h);
    a[6] = plus_turned(even[2], odd[2]);
    a[7] = plus_scaled(even[3], d, -h);
}

/* Of 16 as 4 times 4: the roots are those of a 16th of a turn. */
INLINE void transform_16(struct cell *a, const struct root *roots)
{
    const number h = (number)0.70710678118654752440;
    const number c = (number)0.92387953251128675613;
    const number s = (number)0.38268343236508977173;
    const struct root w[4][4] = {{{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                                 {{1, 0}, {c, -s}, {h, -h}, {s, -c}},
                                 {{1, 0}, {h, -h}, {0, -1}, {-h, -h}},
                                 {{1, 0}, {s, -c}, {-h, -h}, {-c, s}}};
    struct cell b[4][4];

    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            b[i][j] = a[i + 4 * j];
        transform_4(b[i], roots);
        for (int j = 1; i > 0 && j < 4; j++)
            b[i][j] = turned(b[i][j], w[i][j]);
    }
    for (int j = 0; j < 4; j++) {
        struct cell d[] = {b[0][j], b[1][j], b[2][j], b[3][j]};

        transform_4(d, roots);
        for (int i = 0; i < 4; i++)
            a[4 * i + j] = d[i];
    }
}

/* Of an odd number p: sums and differences of pairs. */
INLINE void transform_odd(struct cell *a, int p, const struct root *roots)
{
    struct cell sum[TFD_FFT_RADIX_MAX / 2 + 1], off[TFD_FFT_RADIX_MAX / 2 + 1];
    const struct cell first = a[0];

    for (int j = 1; j <= p / 2; j++) {
        sum[j] = plus(a[j], a[p - j]);
        off[j] = minus(a[j], a[p - j]);
        a[0] = plus(a[0], sum[j]);
    }
    for (int r = 1; r <= p / 2; r++) {
        struct cell even = first,
                    odd = {off[1].re * -roots[r].im, off[1].im * -roots[r].im};

        for (int j = 1; j <= p / 2; j++)
            even = plus_scaled(even, sum[j], roots[j * r % p].re);
        for (int j = 2; j <= p / 2; j++)
            odd = plus_scaled(odd, off[j], -roots[j * r % p].im);
        a[r] = minus_turned(even, odd);
        a[p - r] = plus_turned(even, odd);
    }
}

#define TRANSFORM_ODD(p)                                                \
    INLINE void transform_##p(struct cell *a, const struct root *roots) \
    {                                                                   \
        transform_odd(a, p, roots);                                     \
    }

TRANSFORM_ODD(3)
TRANSFORM_ODD(5)
TRANSFORM_ODD(7)
TRANSFORM_ODD(11)
TRANSFORM_ODD(13)

/* ---- Passes -------------------------------------------------------------- */

#define PASS_LOOP(p)                                                          \
    INLINE void pass_loop_##p(const struct pass *s, bool last)                \
    {                                                                         \
        const int64_t stride = s->stride, next = stride * s->m;               \
                                                                              \
        for (int64_t q = 0; q < s->m; q++) {                                  \
            const struct root *w = s->turns + (p - 1) * q;                    \
            const struct cell *x = s->x + stride * q;                         \
            struct cell *y = s->y + stride * p * q;                           \
                                                                              \
            for (int64_t k = 0; k < stride; k++) {                            \
                struct cell a[p];                                             \
                                                                              \
                for (int j = 0; j < p; j++)                                   \
                    a[j] = x[k + j * next];                                   \
                transform_##p(a, s->roots);                                   \
                y[k] = a[0];                                                  \
                for (int r = 1; r < p; r++)                                   \
                    y[k + r * stride] = last ? a[r] : turned(a[r], w[r - 1]); \
            }                                                                 \
        }                                                                     \
    }

PASS_LOOP(2)
PASS_LOOP(3)
PASS_LOOP(4)
PASS_LOOP(5)
PASS_LOOP(7)
PASS_LOOP(8)
PASS_LOOP(11)
PASS_LOOP(13)

#define PASS(p)                                       \
    TARGET static void pass_##p(const struct pass *s) \
    {                                                 \
        if (s->m == 1)                                \
            pass_loop_##p(s, true);                   \
        else                                          \
            pass_loop_##p(s, false);                  \
    }

/* These are long: the last pass turns, too, by one. */
#define PASS_ALIKE(p)                                 \
    TARGET static void pass_##p(const struct pass *s) \
    {                                                 \
        pass_loop_##p(s, false);                      \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
PASS_ALIKE(7)
PASS_ALIKE(11)
PASS_ALIKE(13)

typedef void pass_fn(const struct pass *s);

static pass_fn *const passes[TFD_FFT_RADIX_MAX + 1] = {
    [2] = pass_2, [3] = pass_3, [4] = pass_4,   [5] = pass_5,
    [7] = pass_7, [8] = pass_8, [11] = pass_11, [13] = pass_13};

/* `count` transforms whose cells begin `gap` behind each other, a pass of all
 * after the other: what a pass of one waits for is done meanwhile.  The result
 * lies in x or in work. */
TARGET static struct cell *run_passes_of(const struct tfd_fft_plan *plan,
                                         struct cell *x, struct cell *work,
                                         int count, int64_t gap)
{
    struct pass s = {.m = plan->length, .stride = 1, .turns = plan->turns};
    struct cell *from = x, *to = work, *other;

    for (int i = 0; i < plan->count && !tfd_halted(); i++) {
        int64_t p = plan->factor[i];

        s.m /= p;
        s.roots = (const struct root *)plan->roots + p * TFD_FFT_RADIX_MAX;
        for (int j = 0; j < count; j++) {
            s.x = from + j * gap;
            s.y = to + j * gap;
            passes[p](&s);
        }
        s.turns += s.m * (p - 1);
        s.stride *= p;
        other = from;
        from = to;
        to = other;
    }
    return from;
}

TARGET static struct cell *run_passes(const struct tfd_fft_plan *plan,
                                      struct cell *x, struct cell *work)
{
    return run_passes_of(plan, x, work, 1, 0);
}

#endif
