/*
 * color_space_grad.c - see color_space_grad.h.
 *
 * Which of red, green and blue is the biggest and which the smallest says which
 * formula a pixel has; a mask of ones and zeros stands for that.  All three
 * channels have the same formulas when they are counted round: c, the next one
 * n and the one before p.
 *
 *     v   1 where c is the biggest
 *     s   smallest / c^2 where c is the biggest; -1 / biggest where it is the
 *         smallest
 *     h   (p - n) / (s v)^2 where c is the biggest; where it is the smallest
 *         (p - n) / (biggest - c)^2; else 1 / (p - n); all / 6
 */
#include "kernels/image/color_space_grad.h"

#include "kernels/core/gradient.h"

enum { RED, GREEN, BLUE, CHANNELS };

struct pixels {
    struct tfd_gradient *b;
    struct tfd_edge rgb[CHANNELS], hsv[CHANNELS], dy[CHANNELS];
    struct tfd_edge big[CHANNELS], small[CHANNELS], lit[CHANNELS];
    enum tfd_dtype dtype;
};

static struct tfd_edge times(const struct pixels *p, struct tfd_edge x,
                             struct tfd_edge y)
{
    return tfd_gradient_op2(p->b, "Mul", x, y);
}

static struct tfd_edge plus(const struct pixels *p, struct tfd_edge x,
                            struct tfd_edge y)
{
    return tfd_gradient_op2(p->b, "AddV2", x, y);
}

static struct tfd_edge minus(const struct pixels *p, struct tfd_edge x,
                             struct tfd_edge y)
{
    return tfd_gradient_op2(p->b, "Sub", x, y);
}

/* 1 / x, and 0 for 0. */
static struct tfd_edge inverse(const struct pixels *p, struct tfd_edge x)
{
    return tfd_gradient_op2(p->b, "DivNoNan", tfd_gradient_scalar(p->b, x, 1),
                            x);
}

static struct tfd_edge inverse_square(const struct pixels *p, struct tfd_edge x)
{
    return inverse(p, tfd_gradient_op1(p->b, "Square", x));
}

static void split_channels(struct tfd_gradient *b, struct tfd_edge x,
                           struct tfd_edge *out)
{
    const struct tfd_gradient_attr attrs[] = {
        {"num", 'i', CHANNELS}, {"axis", 'i', -1}, {NULL, 0, 0}};

    tfd_gradient_with(b, "Unpack", &x, 1, attrs, out, CHANNELS);
}

/* Of ties the first channel is the biggest, the last one the smallest. */
static void find_masks(struct pixels *p)
{
    static const char *const above[][2] = {{"GreaterEqual", "GreaterEqual"},
                                           {"GreaterEqual", "Greater"},
                                           {"Greater", "Greater"}};
    static const char *const below[][2] = {
        {"Less", "Less"}, {"Less", "LessEqual"}, {"LessEqual", "LessEqual"}};

    for (int c = 0; c < CHANNELS; c++) {
        struct tfd_edge x = p->rgb[c], n = p->rgb[(c + 1) % CHANNELS],
                        o = p->rgb[(c + 2) % CHANNELS];
        struct tfd_edge big = tfd_gradient_op2(
            p->b, "LogicalAnd", tfd_gradient_op2(p->b, above[c][0], x, n),
            tfd_gradient_op2(p->b, above[c][1], x, o));
        struct tfd_edge small = tfd_gradient_op2(
            p->b, "LogicalAnd", tfd_gradient_op2(p->b, below[c][0], x, n),
            tfd_gradient_op2(p->b, below[c][1], x, o));
        struct tfd_edge zero = tfd_gradient_scalar(p->b, x, 0);

        p->big[c] = tfd_gradient_cast(p->b, big, p->dtype);
        p->small[c] = tfd_gradient_cast(p->b, small, p->dtype);
        p->lit[c] = tfd_gradient_cast(
            p->b, tfd_gradient_op2(p->b, "Greater", x, zero), p->dtype);
    }
}

static struct tfd_edge of_saturation(const struct pixels *p, int c, int n,
                                     int o)
{
    struct tfd_edge smallest = plus(p, times(p, p->small[n], p->rgb[n]),
                                    times(p, p->small[o], p->rgb[o]));
    struct tfd_edge biggest =
        plus(p, times(p, p->big[n], p->rgb[n]), times(p, p->big[o], p->rgb[o]));

    smallest =
        times(p, times(p, p->big[c], smallest), inverse_square(p, p->rgb[c]));
    biggest = times(p, p->small[c], inverse(p, biggest));
    return times(p, p->lit[c], minus(p, smallest, biggest));
}

/* Where channel `at` is the biggest. */
static struct tfd_edge where_big(const struct pixels *p, int at,
                                 struct tfd_edge x)
{
    return times(p, times(p, p->lit[at], p->big[at]), x);
}

static struct tfd_edge of_hue(const struct pixels *p, int c, int n, int o)
{
    struct tfd_edge back = minus(p, p->rgb[o], p->rgb[n]), sum, one;

    sum = times(p, inverse_square(p, p->hsv[1]), inverse_square(p, p->hsv[2]));
    sum = where_big(p, c, times(p, back, sum));
    for (int i = 0; i < 2; i++) {
        int at = i == 0 ? n : o, other = i == 0 ? o : n;
        struct tfd_edge away =
            inverse_square(p, minus(p, p->rgb[at], p->rgb[c]));

        one = times(p, p->small[c], times(p, back, away));
        one = plus(p, one, times(p, p->small[other], inverse(p, back)));
        sum = plus(p, sum, where_big(p, at, one));
    }
    return tfd_gradient_op2(p->b, "RealDiv", sum,
                            tfd_gradient_scalar(p->b, sum, 6));
}

enum tfd_code tfd_color_hsv_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct tfd_gradient_attr last[] = {{"axis", 'i', -1}, {NULL, 0, 0}};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct pixels p = {.b = &b, .dtype = tfd_gradient_dtype(&b, g->x[0])};
    struct tfd_edge dx[CHANNELS];

    split_channels(&b, g->x[0], p.rgb);
    split_channels(&b, g->y[0], p.hsv);
    split_channels(&b, g->dy[0], p.dy);
    find_masks(&p);
    for (int c = 0; c < CHANNELS; c++) {
        int n = (c + 1) % CHANNELS, o = (c + 2) % CHANNELS;

        dx[c] = plus(&p, times(&p, p.dy[2], p.big[c]),
                     times(&p, p.dy[1], of_saturation(&p, c, n, o)));
        dx[c] = plus(&p, dx[c], times(&p, p.dy[0], of_hue(&p, c, n, o)));
    }
    tfd_gradient_with(&b, "Pack", dx, CHANNELS, last, &g->dx[0], 1);
    return b.code;
}
