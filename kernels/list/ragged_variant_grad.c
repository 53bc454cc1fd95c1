/*
 * ragged_variant_grad.c - RaggedTensorToVariantGradient: the values behind the
 * gradients of a ragged tensor's rows, one behind the other.  A row without a
 * gradient has zeros.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

#include "common/base/variant.h"
#include "common/thread/halt.h"

#include <inttypes.h>

struct rows {
    struct tfd_variant *const *at;
    int64_t count;
    const struct tfd_tensor *splits;
    struct tfd_shape shape; /* of the values of all */
    enum tfd_dtype dtype;
};

/* The values of row i; NULL: it has none. */
static enum tfd_code values_of_row(const struct rows *r, int64_t i,
                                   const struct tfd_tensor **out,
                                   struct tfd_status *st)
{
    const struct tfd_variant *v = r->at[i];

    *out = NULL;
    if (!v || v->kind != TFD_VARIANT_RAGGED)
        return TFD_OK;
    *out = &v->tensors[v->count - 1];
    if ((*out)->dtype == r->dtype)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT, "Expected values Tensor dtype: %s, found: %s",
        tfd_dtype_name((int)r->dtype), tfd_dtype_name((int)(*out)->dtype));
}

/* How many rows of values a row without a gradient has. */
static enum tfd_code missing_rows(const struct rows *r, int64_t i, int64_t *n,
                                  struct tfd_status *st)
{
    int64_t first, last;

    if (i + 1 >= tfd_tensor_elements(r->splits))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "row_splits has %" PRId64 " elements, which do not say "
                        "how long row %" PRId64 " is",
                        tfd_tensor_elements(r->splits), i);
    first = tfd_check_int_at(r->splits, i);
    last = tfd_check_int_at(r->splits, i + 1);
    if (__builtin_sub_overflow(last, first, n))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "row %" PRId64 " of values from %" PRId64 " to %" PRId64
                        " is longer than can be counted",
                        i, first, last);
    if (*n >= 0 && r->shape.rank > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "row %" PRId64 " of values of rank %d would have %" PRId64
                    " of them",
                    i, r->shape.rank, *n);
}

/* Elements of row i. */
static enum tfd_code count_row(const struct rows *r, int64_t i, int64_t *n,
                               struct tfd_status *st)
{
    const struct tfd_tensor *values;

    TFD_TRY(values_of_row(r, i, &values, st));
    if (values) {
        *n = tfd_tensor_elements(values);
        return TFD_OK;
    }
    TFD_TRY(missing_rows(r, i, n, st));
    for (int d = 1; d < r->shape.rank; d++)
        if (__builtin_mul_overflow(*n, r->shape.dim[d], n))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "row %" PRId64 " has more values than can be "
                            "counted",
                            i);
    return TFD_OK;
}

static enum tfd_code put_only_row(struct tfd_kctx *k, const struct rows *r,
                                  struct tfd_status *st)
{
    const struct tfd_tensor *values;
    struct tfd_shape shape = r->shape;

    TFD_TRY(values_of_row(r, 0, &values, st));
    if (values) {
        k->out[0] = tfd_tensor_ref(values);
        return TFD_OK;
    }
    TFD_TRY(missing_rows(r, 0, &shape.dim[0], st));
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, r->dtype, &shape, st));
    tfd_elements_clear(&k->out[0]);
    return TFD_OK;
}

static enum tfd_code check_total(const struct rows *r, struct tfd_status *st)
{
    int64_t total = 0, n;

    for (int64_t i = 0; i < r->count; i++) {
        TFD_TRY(count_row(r, i, &n, st));
        if (__builtin_add_overflow(total, n, &total))
            break;
    }
    if (total == tfd_shape_elements(&r->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "the rows have %" PRId64 " values together, and "
                    "dense_values_shape wants %" PRId64,
                    total, tfd_shape_elements(&r->shape));
}

static enum tfd_code join_rows(struct tfd_kctx *k, const struct rows *r,
                               struct tfd_status *st)
{
    void *to;
    int64_t at = 0, n = 0;

    TFD_TRY(tfd_kctx_output(k, 0, r->dtype, &r->shape, st));
    if (tfd_shape_elements(&r->shape) == 0)
        return TFD_OK;
    TFD_TRY(check_total(r, st));
    to = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < r->count; i++, at += n) {
        const struct tfd_tensor *values;

        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(values_of_row(r, i, &values, st));
        TFD_TRY(count_row(r, i, &n, st));
        if (n > 0 && values)
            TFD_TRY(tfd_elements_copy(r->dtype,
                                      tfd_element_at(to, r->dtype, at),
                                      tfd_tensor_data(values), n, st));
        else if (n > 0)
            tfd_elements_zero(r->dtype, tfd_element_at(to, r->dtype, at), n);
    }
    return TFD_OK;
}

static enum tfd_code grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct rows r = {.at = tfd_tensor_data(&k->in[0]),
                     .count = tfd_tensor_elements(&k->in[0]),
                     .splits = &k->in[1]};

    TFD_TRY(tfd_node_type(k->node, "Tvalues", &r.dtype, st));
    TFD_TRY(tfd_check_shape(k, 2, false, &r.shape, st));
    return r.count == 1 ? put_only_row(k, &r, st) : join_rows(k, &r, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RaggedTensorToVariantGradient",
        .inputs = "encoded_ragged_grad: variant, row_splits: Tsplits, "
                  "dense_values_shape: int32",
        .outputs = "dense_values_grad: Tvalues",
        .attrs = "Tvalues: type; Tsplits: {int32, int64} = DT_INT64",
        .key = "Tvalues",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RaggedTensorToVariantGradient", grad_compute),
};

const struct tfd_family tfd_family_ragged_variant_grad = {
    .name = "ragged_variant_grad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
