/*
 * reverse_sequence.c - ReverseSequence: of each batch entry the first so many
 * slices in reverse order, the rest as they are.
 *
 * Rows, which are what lies within the later one of the two axes, go from
 * their place in the input to their place in the output.
 */
#include "kernels/array/reverse_sequence.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

/* What TensorFlow's kernel has loops for. */
#define RANK_MAX 5

enum tfd_code tfd_reverse_sequence_prepare(const struct tfd_prepare *p,
                                           void *state, struct tfd_status *st)
{
    struct tfd_reverse_sequence *a = state;

    TFD_TRY(tfd_node_int(p->node, "seq_dim", &a->sequence, st));
    return tfd_node_int(p->node, "batch_dim", &a->batch, st);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_axis(const char *name, int64_t axis, int rank,
                                struct tfd_status *st)
{
    if (axis >= 0 && axis < rank)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s must be < input rank ( %lld vs. %d)", name,
                    (long long)axis, rank);
}

static enum tfd_code check_lengths(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_reverse_sequence *a = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    const struct tfd_tensor *lengths = &k->in[1];
    int64_t count = tfd_tensor_elements(lengths);

    for (int64_t i = 0; i < count; i++) {
        int64_t length = tfd_check_int_at(lengths, i);

        if (length < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "seq_lens(%lld) < 0",
                            (long long)i);
        if (length > x->dim[a->sequence])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "seq_lens(%lld) > input.dims(%lld)", (long long)i,
                            (long long)a->sequence);
    }
    return TFD_OK;
}

enum tfd_code tfd_reverse_sequence_check(const struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_reverse_sequence *a = k->state;
    const struct tfd_shape *x = &k->in[0].shape, *lengths = &k->in[1].shape;

    if (lengths->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "seq_lengths must be 1-dim, not %d", lengths->rank);
    if (a->batch == a->sequence)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_dim == seq_dim == %lld", (long long)a->batch);
    TFD_TRY(check_axis("seq_dim", a->sequence, x->rank, st));
    TFD_TRY(check_axis("batch_dim", a->batch, x->rank, st));
    if (lengths->dim[0] != x->dim[a->batch])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Length of seq_lengths != input.dims(%lld), (%lld vs. "
                        "%lld)",
                        (long long)a->batch, (long long)lengths->dim[0],
                        (long long)x->dim[a->batch]);
    if (x->rank > RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ReverseSequenceOp : Unhandled input dimensions: %d",
                        x->rank);
    return TFD_OK;
}

/* ---- The kernel ---------------------------------------------------------- */

static int64_t product_of_dims(const struct tfd_shape *s, int64_t begin,
                               int64_t end)
{
    int64_t n = 1;

    for (int64_t d = begin; d < end; d++)
        n *= s->dim[d];
    return n;
}

static enum tfd_code compute_reverse(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_reverse_sequence *a = k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t last = (a->batch > a->sequence ? a->batch : a->sequence) + 1;
    int64_t rows, inner, sequence_stride, batch_stride;
    enum tfd_dtype dtype = k->in[0].dtype;

    TFD_TRY(tfd_reverse_sequence_check(k, st));
    TFD_TRY(check_lengths(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, x, st));
    rows = product_of_dims(x, 0, last);
    inner = product_of_dims(x, last, x->rank);
    sequence_stride = product_of_dims(x, a->sequence + 1, last);
    batch_stride = product_of_dims(x, a->batch + 1, last);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = i / sequence_stride % x->dim[a->sequence];
        int64_t entry = i / batch_stride % x->dim[a->batch];
        int64_t length = tfd_check_int_at(&k->in[1], entry), from = i;

        if (at < length)
            from += (length - 1 - 2 * at) * sequence_stride;
        TFD_TRY(tfd_elements_copy(
            dtype,
            tfd_element_at(tfd_tensor_data(&k->out[0]), dtype, i * inner),
            tfd_element_of(tfd_tensor_data(&k->in[0]), dtype, from * inner),
            inner, st));
    }
    return TFD_OK;
}

/* ---- Gradient, shape ----------------------------------------------------- */

static enum tfd_code reverse_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_attr attrs[2] = {{.name = TFD_STR("seq_dim")},
                                {.name = TFD_STR("batch_dim")}};
    struct tfd_edge in[2] = {g->dy[0], g->x[1]};

    for (int i = 0; i < 2; i++)
        if (!tfd_node_attr(g->node, attrs[i].name.data, &attrs[i].value))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ReverseSequence without %s", attrs[i].name.data);
    return tfd_grad_emit_attrs(g, "ReverseSequence", in, 2, attrs, 2, g->dx, 1,
                               st);
}

static enum tfd_code shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape lengths = {1, {TFD_DIM_UNKNOWN}};
    int64_t sequence = 0, batch = 0;

    TFD_TRY(tfd_shape_merge(&lengths, &s->in[1], st));
    s->out[0] = s->in[0];
    if (s->in[0].rank < 0 || !s->node)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "seq_dim", &sequence, st));
    TFD_TRY(tfd_node_int(s->node, "batch_dim", &batch, st));
    TFD_TRY(check_axis("seq_dim", sequence, s->in[0].rank, st));
    TFD_TRY(check_axis("batch_dim", batch, s->in[0].rank, st));
    if (s->out[0].dim[batch] == TFD_DIM_UNKNOWN)
        s->out[0].dim[batch] = lengths.dim[0];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "ReverseSequence",
        .inputs = "input: T, seq_lengths: Tlen",
        .outputs = "output: T",
        .attrs = "seq_dim: int; batch_dim: int = 0; T: type; "
                 "Tlen: {int32, int64} = DT_INT64",
        .shape = shape,
        .grad = reverse_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ReverseSequence", compute_reverse,
                   .prepare = tfd_reverse_sequence_prepare,
                   .state_size = sizeof(struct tfd_reverse_sequence)),
};

const struct tfd_family tfd_family_reverse_sequence = {
    .name = "reverse_sequence",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
