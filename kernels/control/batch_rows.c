/*
 * batch_rows.c - see batch_rows.h.
 */
#include "kernels/control/batch_rows.h"

#include "kernels/core/element.h"

static enum tfd_code check_part(const struct tfd_tensor *first,
                                const struct tfd_tensor *t, int64_t i,
                                struct tfd_status *st)
{
    struct tfd_shape like = t->shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (t->dtype != first->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Types of inputs that are batched should match: %s and "
                        "%s",
                        tfd_dtype_name((int)first->dtype),
                        tfd_dtype_name((int)t->dtype));
    tfd_shape_text(&first->shape, one);
    tfd_shape_text(&t->shape, other);
    if (t->shape.rank != first->shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ranks of all input tensors should match: shape[0] = "
                        "%s vs. shape[%lld] = %s",
                        one, (long long)i, other);
    like.dim[0] = first->shape.dim[0];
    if (!tfd_shape_equal(&like, &first->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimensions of inputs should match: shape[0] = %s vs. "
                        "shape[%lld] = %s",
                        one, (long long)i, other);
    return TFD_OK;
}

/* The block that is filled doubles, so that this ends however many rows. */
static enum tfd_code fill_up(const struct tfd_tensor *y, int64_t from,
                             int64_t row, struct tfd_status *st)
{
    int64_t end = tfd_tensor_elements(y), done = row;
    void *data = tfd_tensor_data(y);

    if (from >= end)
        return TFD_OK;
    TFD_TRY(tfd_elements_copy(y->dtype, tfd_element_at(data, y->dtype, from),
                              data, row, st));
    while (from + done < end) {
        int64_t n = done < end - from - done ? done : end - from - done;

        TFD_TRY(tfd_elements_copy(y->dtype,
                                  tfd_element_at(data, y->dtype, from + done),
                                  tfd_element_at(data, y->dtype, from), n, st));
        done += n;
    }
    return TFD_OK;
}

enum tfd_code tfd_batch_join(struct tfd_kctx *k, int out,
                             const struct tfd_tensor *const *part,
                             int64_t count, int64_t rows, struct tfd_status *st)
{
    struct tfd_shape shape = part[0]->shape;
    struct tfd_tensor *y = &k->out[out];
    int64_t at = 0;

    for (int64_t i = 1; i < count; i++)
        TFD_TRY(check_part(part[0], part[i], i, st));
    shape.dim[0] = rows;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_kctx_output(k, out, part[0]->dtype, &shape, st));
    for (int64_t i = 0; i < count; i++) {
        int64_t n = tfd_tensor_elements(part[i]);

        if (n == 0)
            continue;
        TFD_TRY(tfd_elements_copy(
            y->dtype, tfd_element_at(tfd_tensor_data(y), y->dtype, at),
            tfd_tensor_data(part[i]), n, st));
        at += n;
    }
    return fill_up(y, at,
                   tfd_tensor_elements(part[0]) /
                       (part[0]->shape.dim[0] ? part[0]->shape.dim[0] : 1),
                   st);
}
