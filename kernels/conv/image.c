/*
 * image.c - see image.h.
 */
#include "kernels/conv/image.h"

#include "kernels/core/element.h"
#include "kernels/vector/narrow.h"

#include <assert.h>

struct tfd_image tfd_image_operand(const struct tfd_tensor *from, bool second)
{
    return (struct tfd_image){from, 0, second, TFD_TENSOR_INIT};
}

struct tfd_image tfd_image_result(int out, bool second)
{
    return (struct tfd_image){NULL, out, second, TFD_TENSOR_INIT};
}

/* ---- Layout -------------------------------------------------------------- */

/* Copies `in` to `out`, a tensor of the same elements in which the dimensions
 * from the second on are turned round by one place; to the left or right. */
static enum tfd_code turn(struct tfd_kctx *k, const struct tfd_tensor *in,
                          bool left, struct tfd_tensor *out,
                          struct tfd_status *st)
{
    const int rank = in->shape.rank;
    int64_t from[TFD_RANK_MAX], to[TFD_RANK_MAX], read[TFD_RANK_MAX];

    if (tfd_tensor_elements(in) == 0)
        return TFD_OK;
    tfd_element_strides(&in->shape, from);
    tfd_element_strides(&out->shape, to);
    read[0] = from[0];
    for (int i = 1; i < rank; i++)
        read[i] = from[left ? 1 + i % (rank - 1)
                            : 1 + (i - 1 + rank - 2) % (rank - 1)];
    return tfd_elements_box(k, in->dtype, &out->shape, tfd_tensor_data(out), to,
                            tfd_tensor_data(in), read, st);
}

static struct tfd_shape channels_last(const struct tfd_shape *s)
{
    struct tfd_shape last = *s;

    assert(s->rank >= 3);
    for (int i = 1; i < s->rank; i++)
        last.dim[i] = s->dim[1 + i % (s->rank - 1)];
    return last;
}

/* ---- Operands ------------------------------------------------------------ */

static enum tfd_code load_image(struct tfd_kctx *k, struct tfd_image *o,
                                struct tfd_status *st)
{
    struct tfd_tensor last = TFD_TENSOR_INIT;
    struct tfd_shape shape = o->from->shape;
    enum tfd_code rc = TFD_OK;

    if (o->second) {
        shape = channels_last(&shape);
        TFD_TRY(tfd_tensor_new(&last, o->from->dtype, &shape, st));
        rc = turn(k, o->from, true, &last, st);
    } else {
        last = tfd_tensor_ref(o->from);
    }
    if (rc == TFD_OK && !tfd_dtype_is_narrow(last.dtype)) {
        o->work = last;
        return TFD_OK;
    }
    if (rc == TFD_OK)
        rc = tfd_tensor_new(&o->work, TFD_FLOAT, &last.shape, st);
    if (rc == TFD_OK)
        tfd_narrow_widen_shared(k, last.dtype, tfd_tensor_data(&last),
                                tfd_tensor_data(&o->work),
                                tfd_tensor_elements(&last));
    tfd_tensor_unref(&last);
    return rc;
}

/* ---- Results ------------------------------------------------------------- */

/* The output itself where the loops can write it. */
static enum tfd_code prepare_image(struct tfd_kctx *k, struct tfd_image *o,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *out = &k->out[o->out];
    struct tfd_shape shape = out->shape;
    enum tfd_dtype dtype = out->dtype;

    if (!o->second && !tfd_dtype_is_narrow(dtype)) {
        o->work = tfd_tensor_ref(out);
        return TFD_OK;
    }
    if (o->second)
        shape = channels_last(&shape);
    if (tfd_dtype_is_narrow(dtype))
        dtype = TFD_FLOAT;
    return tfd_tensor_new(&o->work, dtype, &shape, st);
}

static enum tfd_code store_image(struct tfd_kctx *k, const struct tfd_image *o,
                                 struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[o->out], narrow = TFD_TENSOR_INIT;
    const int64_t n = tfd_tensor_elements(out);
    enum tfd_code rc;

    if (n == 0 || o->work.buffer == out->buffer)
        return TFD_OK;
    if (!tfd_dtype_is_narrow(out->dtype))
        return turn(k, &o->work, false, out, st);
    if (!o->second) {
        tfd_narrow_round_shared(k, out->dtype, tfd_tensor_data(&o->work),
                                tfd_tensor_data(out), n);
        return TFD_OK;
    }
    TFD_TRY(tfd_tensor_new(&narrow, out->dtype, &o->work.shape, st));
    tfd_narrow_round_shared(k, out->dtype, tfd_tensor_data(&o->work),
                            tfd_tensor_data(&narrow), n);
    rc = turn(k, &narrow, false, out, st);
    tfd_tensor_unref(&narrow);
    return rc;
}

/* ---- All of a kernel's --------------------------------------------------- */

enum tfd_code tfd_image_begin(struct tfd_kctx *k, struct tfd_image *o, int n,
                              struct tfd_status *st)
{
    for (int i = 0; i < n; i++) {
        enum tfd_code rc =
            o[i].from ? load_image(k, &o[i], st) : prepare_image(k, &o[i], st);

        if (rc != TFD_OK)
            return rc;
    }
    return TFD_OK;
}

bool tfd_image_empty(const struct tfd_image *o, int n)
{
    for (int i = 0; i < n; i++)
        if (!o[i].work.buffer)
            return true;
    return false;
}

void tfd_image_zero(const struct tfd_image *o, int n)
{
    for (int i = 0; i < n; i++)
        if (!o[i].from)
            tfd_elements_zero(o[i].work.dtype, tfd_tensor_data(&o[i].work),
                              tfd_tensor_elements(&o[i].work));
}

enum tfd_code tfd_image_end(struct tfd_kctx *k, struct tfd_image *o, int n,
                            enum tfd_code rc, struct tfd_status *st)
{
    for (int i = 0; rc == TFD_OK && i < n; i++)
        if (!o[i].from)
            rc = store_image(k, &o[i], st);
    for (int i = 0; i < n; i++)
        tfd_tensor_unref(&o[i].work);
    return rc;
}
