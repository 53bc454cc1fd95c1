/*
 * pixels.h - loops over pixels of three floats that are vectorised: a block of
 * them is taken apart into its channels, computed, and put together again.
 *
 *     x  r g b r g b r g b ...   ->   a[]  r r r ...
 *                                     b[]  g g g ...
 *                                     c[]  b b b ...
 *
 * tfd_pixels_each() is inlined into a loop of simd.h, and its functions,
 * which have selections instead of branches, into that.  y may be where x is.
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_PIXELS_H
#define TFD_KERNELS_PIXELS_H

#include "kernels/vector/simd.h"

#define TFD_PIXELS_INLINE static inline __attribute__((always_inline))
#define TFD_PIXELS_BLOCK 128

struct tfd_pixel {
    float a, b, c;
};

typedef struct tfd_pixel tfd_pixel_fn(struct tfd_pixel p, float by);

struct tfd_pixels {
    float a[TFD_PIXELS_BLOCK], b[TFD_PIXELS_BLOCK], c[TFD_PIXELS_BLOCK];
};

TFD_PIXELS_INLINE void tfd_pixels_apply(struct tfd_pixels *s, int n, float by,
                                        tfd_pixel_fn *each)
{
    for (int i = 0; i < n; i++) {
        struct tfd_pixel p = {s->a[i], s->b[i], s->c[i]};

        p = each(p, by);
        s->a[i] = p.a;
        s->b[i] = p.b;
        s->c[i] = p.c;
    }
}

TFD_PIXELS_INLINE void tfd_pixels_block(const float *x, float *y, int n,
                                        float by, tfd_pixel_fn *each,
                                        tfd_pixel_fn *then)
{
    struct tfd_pixels s;

    for (int i = 0; i < n; i++) {
        s.a[i] = x[3 * i];
        s.b[i] = x[3 * i + 1];
        s.c[i] = x[3 * i + 2];
    }
    tfd_pixels_apply(&s, n, by, each);
    if (then)
        tfd_pixels_apply(&s, n, by, then);
    for (int i = 0; i < n; i++) {
        y[3 * i] = s.a[i];
        y[3 * i + 1] = s.b[i];
        y[3 * i + 2] = s.c[i];
    }
}

/* Pixels [begin, end) of x to y, each by the one function and, unless it is
 * NULL, the other: compilers do not vectorise what has too many selections.
 * by: what they are given beside a pixel. */
TFD_PIXELS_INLINE void tfd_pixels_each(const float *x, float *y, int64_t begin,
                                       int64_t end, float by,
                                       tfd_pixel_fn *each, tfd_pixel_fn *then)
{
    for (int64_t i = begin; i < end; i += TFD_PIXELS_BLOCK) {
        const int64_t left = end - i;

        tfd_pixels_block(x + 3 * i, y + 3 * i,
                         left < TFD_PIXELS_BLOCK ? (int)left : TFD_PIXELS_BLOCK,
                         by, each, then);
    }
}

#endif
