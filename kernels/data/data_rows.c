/*
 * data_rows.c - see data_rows.h.
 */
#include "kernels/data/data_rows.h"

#include "common/base/alloc.h"
#include "kernels/core/element.h"

#include <string.h>

/* Rows of so many bytes are shown where they lie, if they are aligned. */
#define SHOWN_SIZE_MIN ((size_t)4096)

static struct tfd_shape row_shape(const struct tfd_tensor *t)
{
    struct tfd_shape s = t->shape;

    s.rank--;
    memmove(s.dim, s.dim + 1, sizeof(s.dim[0]) * (size_t)s.rank);
    return s;
}

enum tfd_code tfd_data_row(const struct tfd_tensor *t, int64_t row,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = row_shape(t);
    int64_t elements = tfd_shape_elements(&shape);
    size_t size = (size_t)elements * tfd_dtype_size(t->dtype);

    if (tfd_dtype_is_pod(t->dtype) && size >= SHOWN_SIZE_MIN &&
        size % TFD_BUFFER_ALIGN == 0) {
        out->buffer = tfd_buffer_slice(t->buffer, (size_t)row * size, size);
        if (!out->buffer)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a slice");
        out->dtype = t->dtype;
        out->shape = shape;
        return TFD_OK;
    }
    TFD_TRY(tfd_tensor_new(out, t->dtype, &shape, st));
    if (elements == 0)
        return TFD_OK;
    return tfd_elements_copy(
        t->dtype, tfd_tensor_data(out),
        tfd_element_of(tfd_tensor_data(t), t->dtype, row * elements), elements,
        st);
}

/* ---- Batches ------------------------------------------------------------- */

static enum tfd_code check_like_first(const struct tfd_tensor *first,
                                      const struct tfd_tensor *t,
                                      int32_t component, int64_t row,
                                      struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (first->dtype != t->dtype)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot batch tensors of types %s and %s in component "
                        "%d",
                        tfd_dtype_name((int)first->dtype),
                        tfd_dtype_name((int)t->dtype), component);
    if (tfd_shape_equal(&first->shape, &t->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot batch tensors with different shapes in component "
                    "%d. First element had shape %s and element %lld had shape "
                    "%s.",
                    component, tfd_shape_text(&first->shape, a), (long long)row,
                    tfd_shape_text(&t->shape, b));
}

static enum tfd_code batch_component(const struct tfd_tensor *elements,
                                     int64_t rows, int32_t count,
                                     int32_t component, struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *first = &elements[component];
    int64_t size = tfd_tensor_elements(first);
    int64_t dim[TFD_RANK_MAX + 1] = {rows};
    struct tfd_shape shape;

    for (int i = 0; i < first->shape.rank; i++)
        dim[i + 1] = first->shape.dim[i];
    TFD_TRY(tfd_shape_make(&shape, dim, first->shape.rank + 1, st));
    TFD_TRY(tfd_tensor_new(out, first->dtype, &shape, st));
    for (int64_t i = 0; i < rows; i++) {
        const struct tfd_tensor *t = &elements[i * count + component];

        TFD_TRY(check_like_first(first, t, component, i, st));
        if (size > 0)
            TFD_TRY(tfd_elements_copy(
                t->dtype,
                tfd_element_at(tfd_tensor_data(out), t->dtype, i * size),
                tfd_tensor_data(t), size, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_data_batch(const struct tfd_tensor *elements, int64_t rows,
                             int32_t count, struct tfd_tensor *out,
                             struct tfd_status *st)
{
    for (int32_t i = 0; i < count; i++)
        TFD_TRY(batch_component(elements, rows, count, i, &out[i], st));
    return TFD_OK;
}
