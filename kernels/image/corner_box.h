/*
 * corner_box.h - boxes of images as detectors give them: two opposite corners,
 * each row and column, in either order.
 *
 * Threads: values.
 */
#ifndef TFD_KERNELS_CORNER_BOX_H
#define TFD_KERNELS_CORNER_BOX_H

struct tfd_corner_box {
    float low[2], high[2];
};

static inline struct tfd_corner_box tfd_corner_box_of(const float corners[4])
{
    struct tfd_corner_box box;

    for (int i = 0; i < 2; i++) {
        const float a = corners[i], b = corners[i + 2];

        box.low[i] = b < a ? b : a;
        box.high[i] = a < b ? b : a;
    }
    return box;
}

/* The part of two boxes' area that both have; 0 where one has no area. */
static inline float tfd_corner_box_overlap(const struct tfd_corner_box *a,
                                           const struct tfd_corner_box *b)
{
    float size[2] = {1, 1}, both = 1;

    for (int i = 0; i < 2; i++) {
        const float low = a->low[i] < b->low[i] ? b->low[i] : a->low[i];
        const float high = b->high[i] < a->high[i] ? b->high[i] : a->high[i];

        size[0] *= a->high[i] - a->low[i];
        size[1] *= b->high[i] - b->low[i];
        both *= high - low > 0 ? high - low : 0;
    }
    if (size[0] <= 0 || size[1] <= 0)
        return 0;
    return both / (size[0] + size[1] - both);
}

#endif
