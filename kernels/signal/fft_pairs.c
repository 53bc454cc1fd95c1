/*
 * fft_pairs.c - see fft_pairs.h.
 *
 * A vector holds two complex numbers.  Where the stride is even they lie side
 * by side and are turned alike.  In a first pass, whose stride is 1, they are
 * those of two q, each with turns of its own, and are sorted when they are
 * written.
 */
#include "kernels/signal/fft_pairs.h"

#if defined(__x86_64__)

#include <string.h>

#define AVX2 __attribute__((target("avx2")))

typedef double pair __attribute__((vector_size(32)));

/* What a pair is multiplied with: re, re, re, re and -im, im, -im, im. */
struct turn {
    pair re, im;
};

AVX2 static inline pair load_pair(const struct tfd_complex *x)
{
    pair v;

    memcpy(&v, x, sizeof(v));
    return v;
}

AVX2 static inline void store_pair(struct tfd_complex *y, pair v)
{
    memcpy(y, &v, sizeof(v));
}

AVX2 static inline struct turn turn_of(struct tfd_complex a,
                                       struct tfd_complex b)
{
    return (struct turn){{a.re, a.re, b.re, b.re}, {-a.im, a.im, -b.im, b.im}};
}

AVX2 static inline pair turn_pair(pair a, struct turn by)
{
    return a * by.re + __builtin_shufflevector(a, a, 1, 0, 3, 2) * by.im;
}

/* Times -i. */
AVX2 static inline pair quarter(pair a)
{
    const pair signs = {1, -1, 1, -1};

    return __builtin_shufflevector(a, a, 1, 0, 3, 2) * signs;
}

/* The transform of four, turned, in place. */
AVX2 static inline void transform_4(pair *a, const struct turn *w)
{
    pair even = a[0] + a[2], odd = a[1] + a[3];
    pair rest = a[0] - a[2], off = quarter(a[1] - a[3]);

    a[0] = even + odd;
    a[1] = turn_pair(rest + off, w[0]);
    a[2] = turn_pair(even - odd, w[1]);
    a[3] = turn_pair(rest - off, w[2]);
}

AVX2 static void even_4(const struct tfd_fft_pass *s)
{
    const int64_t next = s->stride * s->m;

    for (int64_t q = 0; q < s->m; q++) {
        const struct tfd_complex *x = s->x + s->stride * q;
        struct tfd_complex *y = s->y + s->stride * 4 * q;
        const struct tfd_complex *by = s->turns + 3 * q;
        const struct turn w[] = {turn_of(by[0], by[0]), turn_of(by[1], by[1]),
                                 turn_of(by[2], by[2])};

        for (int64_t k = 0; k < s->stride; k += 2) {
            pair a[] = {load_pair(x + k), load_pair(x + k + next),
                        load_pair(x + k + 2 * next),
                        load_pair(x + k + 3 * next)};

            transform_4(a, w);
            for (int r = 0; r < 4; r++)
                store_pair(y + k + r * s->stride, a[r]);
        }
    }
}

AVX2 static void first_4(const struct tfd_fft_pass *s)
{
    for (int64_t q = 0; q < s->m; q += 2) {
        const struct tfd_complex *x = s->x + q, *by = s->turns + 3 * q;
        struct tfd_complex *y = s->y + 4 * q;
        const struct turn w[] = {turn_of(by[0], by[3]), turn_of(by[1], by[4]),
                                 turn_of(by[2], by[5])};
        pair a[] = {load_pair(x), load_pair(x + s->m), load_pair(x + 2 * s->m),
                    load_pair(x + 3 * s->m)};

        transform_4(a, w);
        store_pair(y, __builtin_shufflevector(a[0], a[1], 0, 1, 4, 5));
        store_pair(y + 2, __builtin_shufflevector(a[2], a[3], 0, 1, 4, 5));
        store_pair(y + 4, __builtin_shufflevector(a[0], a[1], 2, 3, 6, 7));
        store_pair(y + 6, __builtin_shufflevector(a[2], a[3], 2, 3, 6, 7));
    }
}

AVX2 static void even_2(const struct tfd_fft_pass *s)
{
    const int64_t next = s->stride * s->m;

    for (int64_t q = 0; q < s->m; q++) {
        const struct tfd_complex *x = s->x + s->stride * q;
        struct tfd_complex *y = s->y + s->stride * 2 * q;
        const struct turn w = turn_of(s->turns[q], s->turns[q]);

        for (int64_t k = 0; k < s->stride; k += 2) {
            pair a = load_pair(x + k), b = load_pair(x + k + next);

            store_pair(y + k, a + b);
            store_pair(y + k + s->stride, turn_pair(a - b, w));
        }
    }
}

bool tfd_fft_pass_pairs(const struct tfd_fft_pass *s)
{
    bool even = s->stride % 2 == 0;

    if (!__builtin_cpu_supports("avx2"))
        return false;
    if (s->p == 4 && even)
        even_4(s);
    else if (s->p == 4 && s->stride == 1 && s->m % 2 == 0)
        first_4(s);
    else if (s->p == 2 && even)
        even_2(s);
    else
        return false;
    return true;
}

#else

bool tfd_fft_pass_pairs(const struct tfd_fft_pass *s)
{
    (void)s;
    return false;
}

#endif
