/*
 * batch_norm_grad.c - see batch_norm_grad.h.
 *
 * With E the mean over all axes but that of channels, d = x - E[x], r the
 * reciprocal of the deviation and s the scale, the operation makes
 *
 *     dx = s r (dy - E[dy] - r^2 E[dy d] d)   ds = r sum(dy d)   do = sum(dy)
 *
 * For what arrives at these, gx, gs and go, the chain rule gives with
 * a = E[gx d], m = E[dy d] and p = E[gx dy] - E[gx] E[dy]
 *
 *     q      r (gx - E[gx] - r^2 a d)
 *     by dy  s q + gs r d + go
 *     by s   sum(dy q)
 *     by x   gs r (dy - E[dy]) - s r^3 (m (gx - E[gx]) + a (dy - E[dy]))
 *            - r^3 d (s p - 3 s r^2 a m + gs m)
 *
 * Where it is not trained, mean and deviation are given: there is no E in it.
 */
#include "kernels/nn/batch_norm_grad.h"

#include "kernels/core/gradient.h"

#define AXES_MAX 4

struct norm {
    struct tfd_gradient *b;
    struct tfd_edge axes;      /* all but that of channels */
    struct tfd_edge shape;     /* of channels beside x; none: as they are */
    struct tfd_edge x, dy, gx; /* as floats */
    struct tfd_edge s, gs, go; /* by channel */
    float epsilon;
};

static struct tfd_edge product_with(const struct norm *n, struct tfd_edge x,
                                    struct tfd_edge y)
{
    return tfd_gradient_op2(n->b, "Mul", x, y);
}

static struct tfd_edge less(const struct norm *n, struct tfd_edge x,
                            struct tfd_edge y)
{
    return tfd_gradient_op2(n->b, "Sub", x, y);
}

static struct tfd_edge with(const struct norm *n, struct tfd_edge x,
                            struct tfd_edge y)
{
    return tfd_gradient_op2(n->b, "AddV2", x, y);
}

static struct tfd_edge mean_of(const struct norm *n, struct tfd_edge x)
{
    static const char *const keep[] = {"keep_dims", NULL};
    const struct tfd_edge in[] = {x, n->axes};

    return tfd_gradient_op_flags(n->b, "Mean", in, 2, keep);
}

static struct tfd_edge reciprocal_deviation(const struct norm *n,
                                            struct tfd_edge variance)
{
    struct tfd_edge small =
        tfd_gradient_scalar(n->b, variance, (double)n->epsilon);

    return tfd_gradient_op1(n->b, "Rsqrt", with(n, variance, small));
}

static struct tfd_edge of_channels(const struct norm *n, struct tfd_edge x)
{
    return n->shape.node < 0 ? x
                             : tfd_gradient_op2(n->b, "Reshape", x, n->shape);
}

static enum tfd_code read_layout(struct norm *n, struct tfd_status *st)
{
    int32_t axes[AXES_MAX], dims[AXES_MAX + 1] = {1, -1, 1, 1, 1};
    struct tfd_str format;
    bool first;
    int rank;

    TFD_TRY(tfd_node_str(n->b->g->node, "data_format", &format, st));
    TFD_TRY(tfd_node_float(n->b->g->node, "epsilon", &n->epsilon, st));
    rank = format.size == 5 ? 5 : 4;
    first = format.size > 1 && format.data[1] == 'C';
    for (int i = 0; i < rank - 1; i++)
        axes[i] = first && i > 0 ? i + 1 : i;
    n->axes = tfd_gradient_ints(n->b, axes, rank - 1);
    n->shape = TFD_EDGE_NONE;
    if (first)
        n->shape = tfd_gradient_ints(n->b, dims, rank);
    return n->b->code;
}

static void read_edges(struct norm *n)
{
    const struct tfd_grad *g = n->b->g;

    n->dy = tfd_gradient_cast(n->b, g->x[0], TFD_FLOAT);
    n->x = tfd_gradient_cast(n->b, g->x[1], TFD_FLOAT);
    n->gx = tfd_gradient_cast(n->b, tfd_gradient_given(n->b, 0), TFD_FLOAT);
    n->s = of_channels(n, g->x[2]);
    n->gs = of_channels(n, tfd_gradient_given(n->b, 1));
    n->go = of_channels(n, tfd_gradient_given(n->b, 2));
}

/* By dy and by s, from q and r d; x_part is that by x. */
static enum tfd_code put_derivatives(const struct norm *n, struct tfd_edge q,
                                     struct tfd_edge rd, struct tfd_edge x_part)
{
    struct tfd_grad *g = n->b->g;
    struct tfd_edge by_dy =
        with(n, product_with(n, n->s, q), product_with(n, n->gs, rd));
    enum tfd_dtype dtype;

    by_dy = with(n, by_dy, n->go);
    g->dx[2] =
        tfd_gradient_op2(n->b, "Sum", product_with(n, n->dy, q), n->axes);
    if (n->b->code != TFD_OK)
        return n->b->code;
    dtype = tfd_gradient_dtype(n->b, g->x[1]);
    g->dx[0] = tfd_gradient_cast(n->b, by_dy, dtype);
    g->dx[1] = tfd_gradient_cast(n->b, x_part, dtype);
    return n->b->code;
}

static enum tfd_code of_given(const struct norm *n)
{
    const struct tfd_grad *g = n->b->g;
    struct tfd_edge r = of_channels(n, reciprocal_deviation(n, g->x[4]));
    struct tfd_edge d = less(n, n->x, of_channels(n, g->x[3]));

    return put_derivatives(n, product_with(n, n->gx, r), product_with(n, d, r),
                           product_with(n, product_with(n, n->gs, r), n->dy));
}

static enum tfd_code of_trained(const struct norm *n)
{
    struct tfd_edge d = less(n, n->x, mean_of(n, n->x));
    struct tfd_edge r =
        reciprocal_deviation(n, mean_of(n, product_with(n, d, d)));
    struct tfd_edge r2 = product_with(n, r, r), r3 = product_with(n, r2, r);
    struct tfd_edge a = mean_of(n, product_with(n, n->gx, d));
    struct tfd_edge m = mean_of(n, product_with(n, n->dy, d));
    struct tfd_edge mean_g = mean_of(n, n->gx), mean_y = mean_of(n, n->dy);
    struct tfd_edge gx = less(n, n->gx, mean_g), dy = less(n, n->dy, mean_y);
    struct tfd_edge p = less(n, mean_of(n, product_with(n, n->gx, n->dy)),
                             product_with(n, mean_g, mean_y));
    struct tfd_edge three = tfd_gradient_scalar(n->b, r, 3);
    struct tfd_edge q = product_with(
        n, r, less(n, gx, product_with(n, product_with(n, r2, a), d)));
    struct tfd_edge along, across, by_x;

    along = product_with(n, three, product_with(n, r2, product_with(n, a, m)));
    along = with(n, product_with(n, n->s, less(n, p, along)),
                 product_with(n, n->gs, m));
    across = product_with(
        n, n->s, with(n, product_with(n, m, gx), product_with(n, a, dy)));
    by_x = product_with(n, r3, with(n, product_with(n, d, along), across));
    by_x = less(n, product_with(n, product_with(n, n->gs, r), dy), by_x);
    return put_derivatives(n, q, product_with(n, r, d), by_x);
}

enum tfd_code tfd_batch_norm_second(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct norm n = {.b = &b};
    bool training;

    TFD_TRY(tfd_node_bool(g->node, "is_training", &training, st));
    TFD_TRY(read_layout(&n, st));
    read_edges(&n);
    return training ? of_trained(&n) : of_given(&n);
}
