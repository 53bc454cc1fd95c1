/*
 * random_gamma_grad.c - see random_gamma_grad.h.
 *
 * RandomGammaGrad tells by how much each sample would move; what arrived is
 * weighed by it and summed over the samples of each alpha.
 */
#include "kernels/random/random_gamma_grad.h"

#include "kernels/core/gradient.h"

static struct tfd_edge int_of(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, -1);
}

/* How many dimensions hold samples: as many as `shape` names, less those of
 * alpha where it names these, too. */
static struct tfd_edge sample_rank(struct tfd_gradient *b,
                                   struct tfd_edge shape, struct tfd_edge alpha,
                                   bool whole)
{
    struct tfd_edge rank = tfd_gradient_op1(b, "Size", shape);

    return whole ? tfd_gradient_op2(b, "Sub", rank,
                                    tfd_gradient_op1(b, "Rank", alpha))
                 : rank;
}

/* alpha with so many dimensions of 1 in front. */
static struct tfd_edge spread_alpha(struct tfd_gradient *b,
                                    struct tfd_edge alpha, struct tfd_edge rank)
{
    const int32_t zero = 0;
    struct tfd_edge count = tfd_gradient_op2(b, "ExpandDims", rank,
                                             tfd_gradient_ints(b, &zero, -1));
    const struct tfd_edge in[] = {
        tfd_gradient_op2(b, "Fill", count, int_of(b, 1)),
        tfd_gradient_shape(b, alpha), int_of(b, 0)};

    return tfd_gradient_op2(b, "Reshape", alpha,
                            tfd_gradient_op(b, "ConcatV2", in, 3));
}

static enum tfd_code by_alpha(struct tfd_grad *g, int alpha, bool whole,
                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge rank = sample_rank(&b, g->x[0], g->x[alpha], whole);
    struct tfd_edge slope = tfd_gradient_op2(
        &b, "RandomGammaGrad", spread_alpha(&b, g->x[alpha], rank), g->y[0]);
    struct tfd_edge samples =
        tfd_gradient_op3(&b, "Range", int_of(&b, 0), rank, int_of(&b, 1));

    slope = tfd_gradient_op2(&b, "Mul", g->dy[0], slope);
    g->dx[alpha] = tfd_gradient_op2(&b, "Sum", slope, samples);
    return b.code;
}

enum tfd_code tfd_random_gamma_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    return by_alpha(g, 1, false, st);
}

enum tfd_code tfd_random_gamma_stateless_gradient(struct tfd_grad *g,
                                                  struct tfd_status *st)
{
    return by_alpha(g, g->node->in_count - 1, true, st);
}
