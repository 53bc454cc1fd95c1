/*
 * ensure_shape.c - EnsureShape: a value whose shape must be compatible with
 * that of an attribute.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    return tfd_node_shape(p->node, "shape", state, st);
}

static enum tfd_code ensure_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *wanted = k->state;
    struct tfd_shape both = *wanted;
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_merge(&both, &k->in[0].shape, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape of tensor " TFD_STR_FMT
                        " %s is not compatible with expected shape %s.",
                        TFD_STR_ARG(k->node->name),
                        tfd_shape_text(&k->in[0].shape, have),
                        tfd_shape_text(wanted, want));
    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    return TFD_OK;
}

static enum tfd_code ensure_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    s->out[0] = s->in[0];
    if (!s->node)
        return TFD_OK;
    TFD_TRY(tfd_node_shape(s->node, "shape", &s->out[0], st));
    return tfd_shape_merge(&s->out[0], &s->in[0], st);
}

static enum tfd_code ensure_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    (void)st;
    g->dx[0] = g->dy[0];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "EnsureShape",
        .inputs = "input: T",
        .outputs = "output: T",
        .attrs = "shape: shape; T: type",
        .shape = ensure_shape,
        .grad = ensure_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EnsureShape", ensure_compute, .prepare = prepare,
                   .state_size = sizeof(struct tfd_shape)),
};

const struct tfd_family tfd_family_ensure_shape = {
    .name = "ensure_shape",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
