/* special_grad.c - see special_grad.h. */
#include "kernels/math/special_grad.h"

#include "kernels/core/gradient.h"

/* Both slopes times dy, summed back to the shapes of x and y. */
static enum tfd_code slopes_of_two(struct tfd_gradient *b, struct tfd_edge by_x,
                                   struct tfd_edge by_y)
{
    struct tfd_grad *g = b->g;

    g->dx[0] = tfd_gradient_op2(b, "Mul", by_x, g->dy[0]);
    g->dx[1] = tfd_gradient_op2(b, "Mul", by_y, g->dy[0]);
    tfd_gradient_reduce(b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b->code;
}

/* The slope by input `at` times dy, summed back over what was broadcast
 * between inputs 0 and `at`.  The others have no gradient. */
static enum tfd_code slope_of_last(struct tfd_gradient *b, struct tfd_edge by,
                                   int at)
{
    struct tfd_grad *g = b->g;
    struct tfd_edge none = TFD_EDGE_NONE;

    g->dx[at] = tfd_gradient_op2(b, "Mul", by, g->dy[0]);
    tfd_gradient_reduce(b, g->x[0], g->x[at], &none, &g->dx[at]);
    return b->code;
}

/* x plus a number. */
static struct tfd_edge shifted(struct tfd_gradient *b, struct tfd_edge x,
                               double by)
{
    return tfd_gradient_op2(b, "AddV2", x, tfd_gradient_scalar(b, x, by));
}

/* 1 where x is not 0, else 0: of x's type. */
static struct tfd_edge not_zero(struct tfd_gradient *b, struct tfd_edge x)
{
    struct tfd_edge zero = tfd_gradient_scalar(b, x, 0);

    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    return tfd_gradient_cast(b, tfd_gradient_op2(b, "NotEqual", x, zero),
                             tfd_gradient_dtype(b, x));
}

enum tfd_code tfd_special_xlogy_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge there = not_zero(&b, g->x[0]);

    return slopes_of_two(&b, tfd_gradient_op2(&b, "Xlogy", there, g->x[1]),
                         tfd_gradient_op2(&b, "Xdivy", g->x[0], g->x[1]));
}

enum tfd_code tfd_special_xlog1py_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge there = not_zero(&b, g->x[0]);
    struct tfd_edge more = shifted(&b, g->x[1], 1);

    return slopes_of_two(&b, tfd_gradient_op2(&b, "Xlog1py", there, g->x[1]),
                         tfd_gradient_op2(&b, "Xdivy", g->x[0], more));
}

enum tfd_code tfd_special_xdivy_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge there = not_zero(&b, g->x[0]);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->x[0]);
    struct tfd_edge square = tfd_gradient_op1(&b, "Square", g->x[1]);

    return slopes_of_two(&b, tfd_gradient_op2(&b, "Xdivy", there, g->x[1]),
                         tfd_gradient_op2(&b, "Xdivy", minus, square));
}

enum tfd_code tfd_special_mul_no_nan_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = tfd_gradient_op2(&b, "MulNoNan", g->dy[0], g->x[1]);
    g->dx[1] = tfd_gradient_op2(&b, "MulNoNan", g->x[0], g->dy[0]);
    tfd_gradient_reduce(&b, g->x[0], g->x[1], &g->dx[0], &g->dx[1]);
    return b.code;
}

enum tfd_code tfd_special_next_after_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return slopes_of_two(&b, tfd_gradient_op1(&b, "OnesLike", g->x[0]),
                         tfd_gradient_op1(&b, "ZerosLike", g->x[1]));
}

/* -x zeta(x + 1, q) */
enum tfd_code tfd_special_zeta_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge next =
        tfd_gradient_op2(&b, "Zeta", shifted(&b, g->x[0], 1), g->x[1]);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->x[0]);

    return slope_of_last(&b, tfd_gradient_op2(&b, "Mul", minus, next), 1);
}

enum tfd_code tfd_special_polygamma_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    return slope_of_last(
        &b, tfd_gradient_op2(&b, "Polygamma", shifted(&b, g->x[0], 1), g->x[1]),
        1);
}

/* log(B(a, b)) */
static struct tfd_edge log_beta(struct tfd_gradient *b)
{
    struct tfd_edge p = b->g->x[0], q = b->g->x[1];
    struct tfd_edge sum = tfd_gradient_op2(b, "AddV2", p, q);

    p = tfd_gradient_op1(b, "Lgamma", p);
    q = tfd_gradient_op1(b, "Lgamma", q);
    return tfd_gradient_op2(b, "Sub", tfd_gradient_op2(b, "AddV2", p, q),
                            tfd_gradient_op1(b, "Lgamma", sum));
}

/* x^(a-1) (1-x)^(b-1) / B(a, b), by way of logarithms. */
enum tfd_code tfd_special_betainc_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge minus = tfd_gradient_op1(&b, "Neg", g->x[2]);
    struct tfd_edge right =
        tfd_gradient_op2(&b, "Xlog1py", shifted(&b, g->x[1], -1), minus);
    struct tfd_edge left =
        tfd_gradient_op2(&b, "Xlogy", shifted(&b, g->x[0], -1), g->x[2]);
    struct tfd_edge power = tfd_gradient_op2(&b, "AddV2", right, left);

    power = tfd_gradient_op2(&b, "Sub", power, log_beta(&b));
    return slope_of_last(&b, tfd_gradient_op1(&b, "Exp", power), 2);
}
