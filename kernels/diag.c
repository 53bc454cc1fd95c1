/*
 * diag.c - Diag, DiagPart: a tensor along the diagonal of one of twice its
 * rank, and back.
 *
 * With n elements the large tensor has n * n, and element i of the small one is
 * number i * (n + 1) of the large one.
 */
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"

static enum tfd_code diag_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t dim[2 * TFD_RANK_MAX], n = tfd_tensor_elements(x);
    struct tfd_shape out;
    int rank = x->shape.rank;

    if (rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must be at least rank 1, got 0");
    for (int d = 0; d < rank; d++)
        dim[d] = dim[rank + d] = x->shape.dim[d];
    TFD_TRY(tfd_shape_make(&out, dim, 2 * rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    tfd_elements_zero(x->dtype, tfd_tensor_data(&k->out[0]), n * n);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(tfd_elements_copy(
            x->dtype,
            tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, i * (n + 1)),
            tfd_element_of(tfd_tensor_data(x), x->dtype, i), 1, st));
    return TFD_OK;
}

static enum tfd_code check_square(const struct tfd_shape *x,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int half = x->rank / 2;

    if (x->rank == 0 || x->rank % 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The rank of the tensor should be even and positive, "
                        "got shape %s",
                        tfd_shape_text(x, text));
    for (int d = 0; d < half; d++)
        if (x->dim[d] != x->dim[d + half])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid shape %s: dimensions %d and %d do not "
                            "match.",
                            tfd_shape_text(x, text), d, d + half);
    return TFD_OK;
}

static enum tfd_code part_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out = x->shape;
    int64_t n;

    /* Reached where no shape was known before: TensorFlow passes it on. */
    if (x->shape.rank == 0) {
        tfd_kctx_output_alias(k, 0, 0, &x->shape);
        return TFD_OK;
    }
    TFD_TRY(check_square(&x->shape, st));
    out.rank /= 2;
    n = tfd_shape_elements(&out);
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    return tfd_elements_gather(x->dtype, tfd_tensor_data(&k->out[0]),
                               tfd_tensor_data(x), n + 1, n, st);
}

static enum tfd_code diag_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    int64_t dim[2 * TFD_RANK_MAX];

    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    for (int d = 0; d < x->rank; d++)
        dim[d] = dim[x->rank + d] = x->dim[d];
    return tfd_shape_make_partial(&s->out[0], dim, 2 * x->rank, st);
}

static enum tfd_code part_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape first = s->in[0], second = {0, {0}};

    if (first.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (first.rank == 0 || first.rank % 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must have even and non-zero rank, input rank is "
                        "%d",
                        first.rank);
    first.rank /= 2;
    second.rank = first.rank;
    for (int d = 0; d < second.rank; d++)
        second.dim[d] = s->in[0].dim[d + first.rank];
    TFD_TRY(tfd_shape_merge(&first, &second, st));
    s->out[0] = first;
    return TFD_OK;
}

static enum tfd_code diag_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "DiagPart", &g->dy[0], 1, &g->dx[0], st);
}

static enum tfd_code part_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_grad_emit(g, "Diag", &g->dy[0], 1, &g->dx[0], st);
}

#define TYPES \
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"

static const struct tfd_opdef ops[] = {
    {
        .name = "Diag",
        .inputs = "diagonal: T",
        .outputs = "output: T",
        .attrs = TYPES,
        .shape = diag_shape,
        .grad = diag_gradient,
    },
    {
        .name = "DiagPart",
        .inputs = "input: T",
        .outputs = "diagonal: T",
        .attrs = TYPES,
        .shape = part_shape,
        .grad = part_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Diag", diag_compute),
    TFD_KERNEL_ANY("DiagPart", part_compute),
};

const struct tfd_family tfd_family_diag = {
    .name = "diag",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
