/*
 * batch_rows.c - see batch_rows.h.
 */
#include "kernels/control/batch_rows.h"

#include "common/base/alloc.h"
#include "kernels/core/element.h"

/* A part that is smaller than this fraction of its tensor is copied, so that it
 * does not keep all of it. */
#define PART_MIN 16

static enum tfd_code check_type(enum tfd_dtype dtype, struct tfd_status *st)
{
    static const uint32_t quantized =
#define X(name, number, ctype) UINT32_C(1) << (number) |
        TFD_QUANT_DTYPES(X)
#undef X
            0;

    if (!(quantized >> dtype & 1))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unsupported data type: %d",
                    (int)dtype);
}

/* As it would be alone. */
static struct tfd_shape shape_alone(const struct tfd_batch_rows *r)
{
    struct tfd_shape s = r->tensor->shape;

    s.dim[0] = r->count;
    return s;
}

static int64_t row_elements(const struct tfd_tensor *t)
{
    return t->shape.dim[0] ? tfd_tensor_elements(t) / t->shape.dim[0] : 0;
}

/* ---- Joining ------------------------------------------------------------- */

static enum tfd_code check_part(const struct tfd_batch_rows *first,
                                const struct tfd_batch_rows *part, int64_t i,
                                struct tfd_status *st)
{
    struct tfd_shape a = shape_alone(first), b = shape_alone(part), like = b;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (part->tensor->dtype != first->tensor->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Types of inputs that are batched should match: %s and "
                        "%s",
                        tfd_dtype_name((int)first->tensor->dtype),
                        tfd_dtype_name((int)part->tensor->dtype));
    tfd_shape_text(&a, one);
    tfd_shape_text(&b, other);
    if (b.rank != a.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Ranks of all input tensors should match: shape[0] = "
                        "%s vs. shape[%lld] = %s",
                        one, (long long)i, other);
    like.dim[0] = a.dim[0];
    if (!tfd_shape_equal(&like, &a))
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

    if (from >= end || row == 0)
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

static enum tfd_code copy_rows(const struct tfd_tensor *y, int64_t *at,
                               const struct tfd_batch_rows *r,
                               struct tfd_status *st)
{
    int64_t row = row_elements(r->tensor), n = row * r->count;
    const void *from = tfd_element_of(tfd_tensor_data(r->tensor),
                                      r->tensor->dtype, row * r->first);
    void *to = tfd_element_at(tfd_tensor_data(y), y->dtype, *at);

    *at += n;
    return n ? tfd_elements_copy(y->dtype, to, from, n, st) : TFD_OK;
}

enum tfd_code tfd_batch_join(struct tfd_tensor *out,
                             const struct tfd_batch_rows *part, int64_t count,
                             int64_t rows, struct tfd_status *st)
{
    const struct tfd_tensor *first = part[0].tensor;
    struct tfd_shape shape = first->shape;
    enum tfd_code rc = TFD_OK;
    int64_t at = 0;

    TFD_TRY(check_type(first->dtype, st));
    for (int64_t i = 1; i < count; i++)
        TFD_TRY(check_part(&part[0], &part[i], i, st));
    if (count == 1 && part[0].count == rows)
        return tfd_batch_cut(out, &part[0], st);
    shape.dim[0] = rows;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_tensor_new(out, first->dtype, &shape, st));
    for (int64_t i = 0; rc == TFD_OK && i < count; i++)
        rc = copy_rows(out, &at, &part[i], st);
    if (rc == TFD_OK)
        rc = fill_up(out, at, row_elements(first), st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

/* ---- Cutting ------------------------------------------------------------- */

static bool show_rows(struct tfd_tensor *out, const struct tfd_batch_rows *r,
                      const struct tfd_shape *shape)
{
    const struct tfd_tensor *t = r->tensor;
    size_t item = tfd_dtype_size(t->dtype);
    size_t size = (size_t)tfd_shape_elements(shape) * item;
    struct tfd_buffer *part;

    if (size == 0 || !tfd_dtype_is_pod(t->dtype) || !tfd_rows_aligned(t) ||
        size < tfd_tensor_size(t) / PART_MIN)
        return false;
    part = tfd_buffer_slice(t->buffer,
                            (size_t)(row_elements(t) * r->first) * item, size);
    if (part)
        *out = (struct tfd_tensor){t->dtype, *shape, part};
    return part != NULL;
}

enum tfd_code tfd_batch_cut(struct tfd_tensor *out,
                            const struct tfd_batch_rows *rows,
                            struct tfd_status *st)
{
    struct tfd_shape shape = shape_alone(rows);
    enum tfd_code rc;
    int64_t at = 0;

    TFD_TRY(check_type(rows->tensor->dtype, st));
    if (rows->first == 0 && rows->count == rows->tensor->shape.dim[0]) {
        *out = tfd_tensor_ref(rows->tensor);
        return TFD_OK;
    }
    if (show_rows(out, rows, &shape))
        return TFD_OK;
    TFD_TRY(tfd_tensor_new(out, rows->tensor->dtype, &shape, st));
    rc = copy_rows(out, &at, rows, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}
