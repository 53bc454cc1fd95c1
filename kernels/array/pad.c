/*
 * pad.c - tensors with a border: Pad, PadV2 (of zeros, of a value).
 *
 * The borders of the result and its middle, which is the input, are boxes
 * (box.h), so that long rows are written once.
 */
#include "kernels/array/pad.h"

#include "kernels/layout/box.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/array/slice_grad.h"

/* ---- Paddings ------------------------------------------------------------ */

enum tfd_code tfd_pad_paddings(const struct tfd_kctx *k,
                               const struct tfd_pad_words *words,
                               struct tfd_pad *p, struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    char text[TFD_SHAPE_TEXT_MAX], input[TFD_SHAPE_TEXT_MAX];
    int rank = k->in[0].shape.rank;

    if (t->shape.rank != 2 || t->shape.dim[1] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "paddings must be a matrix with 2 columns: %s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The first dimension of paddings must be the rank of "
                        "inputs%s%s %s",
                        tfd_shape_text(&t->shape, text), words->between,
                        tfd_shape_text(&k->in[0].shape, input));
    for (int d = 0; d < rank; d++) {
        p->before[d] = tfd_check_int_at(t, 2 * d);
        p->after[d] = tfd_check_int_at(t, 2 * d + 1);
        if (p->before[d] < 0 || p->after[d] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be non-negative: %lld%s %lld",
                            words->paddings, (long long)p->before[d],
                            words->comma, (long long)p->after[d]);
    }
    return TFD_OK;
}

enum tfd_code tfd_pad_shape_out(const struct tfd_shape *in,
                                const struct tfd_pad *p, struct tfd_shape *out,
                                struct tfd_status *st)
{
    *out = *in;
    for (int d = 0; d < in->rank; d++)
        if (__builtin_add_overflow(out->dim[d], p->before[d], &out->dim[d]) ||
            __builtin_add_overflow(out->dim[d], p->after[d], &out->dim[d]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Paddings of %lld and %lld are too large",
                            (long long)p->before[d], (long long)p->after[d]);
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* ---- Kernel -------------------------------------------------------------- */

/* Elements that are counted: all of the output, borders and what x goes to. */
static enum tfd_code fill_all(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[0];
    int64_t n = tfd_tensor_elements(out);

    if (k->in_count > 2)
        return tfd_elements_fill(out->dtype, tfd_tensor_data(out),
                                 tfd_tensor_data(&k->in[2]), n, st);
    tfd_elements_zero(out->dtype, tfd_tensor_data(out), n);
    return TFD_OK;
}

/* `width` places of dimension d from `at` on: wide as the output in the
 * dimensions behind, and as the input in those before. */
static void fill_border(struct tfd_kctx *k, const struct tfd_pad *p, int d,
                        int64_t at, int64_t width)
{
    static const char zeros[16];
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->out[0].shape;
    const enum tfd_dtype dtype = k->out[0].dtype;
    const int64_t size = (int64_t)tfd_dtype_size(dtype);
    int64_t to[TFD_RANK_MAX], offset;
    struct tfd_box box;

    tfd_element_strides(y, to);
    offset = at * to[d];
    tfd_box_init(&box, (size_t)size);
    for (int e = 0; e < y->rank; e++) {
        if (e < d)
            offset += p->before[e] * to[e];
        tfd_box_add(&box,
                    e < d    ? x->dim[e]
                    : e == d ? width
                             : y->dim[e],
                    to[e] * size, 0);
    }
    tfd_box_copy(k, &box,
                 tfd_element_at(tfd_tensor_data(&k->out[0]), dtype, offset),
                 k->in_count > 2 ? tfd_tensor_data(&k->in[2]) : zeros);
}

/* Bytes of a row of the input, below which all of the result is filled, which
 * is quicker than a border for every row. */
#define SHORT_ROW_SIZE 64

static bool rows_are_short(const struct tfd_tensor *x)
{
    const int last = x->shape.rank - 1;

    return last > 0 && x->shape.dim[last] * (int64_t)tfd_dtype_size(x->dtype) <
                           SHORT_ROW_SIZE;
}

static enum tfd_code fill_padding(struct tfd_kctx *k, const struct tfd_pad *p,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->out[0].shape;

    if (!tfd_dtype_is_pod(k->out[0].dtype))
        return fill_all(k, st);
    if (rows_are_short(&k->in[0])) {
        fill_border(k, p, 0, 0, y->dim[0]);
        return TFD_OK;
    }
    for (int d = 0; d < y->rank; d++) {
        const int64_t end = p->before[d] + x->dim[d];

        fill_border(k, p, d, 0, p->before[d]);
        fill_border(k, p, d, end, y->dim[d] - end);
    }
    return TFD_OK;
}

enum tfd_code tfd_pad_begin(struct tfd_kctx *k, struct tfd_pad *p, bool *done,
                            struct tfd_status *st)
{
    static const struct tfd_pad_words words = {"Paddings", "", ""};
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out;

    TFD_TRY(tfd_pad_paddings(k, &words, p, st));
    TFD_TRY(tfd_pad_shape_out(&x->shape, p, &out, st));
    *done = tfd_shape_equal(&x->shape, &out);
    if (*done) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    return tfd_kctx_output(k, 0, x->dtype, &out, st);
}

static enum tfd_code pad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], offset = 0;
    struct tfd_shape out;
    struct tfd_pad p;
    bool done;

    TFD_TRY(tfd_pad_begin(k, &p, &done, st));
    out = k->out[0].shape;
    if (done || tfd_shape_elements(&out) == 0)
        return TFD_OK;
    TFD_TRY(fill_padding(k, &p, st));
    if (tfd_tensor_elements(x) == 0)
        return TFD_OK;
    tfd_element_strides(&out, to);
    tfd_element_strides(&x->shape, from);
    for (int d = 0; d < out.rank; d++)
        offset += p.before[d] * to[d];
    return tfd_elements_box(
        k, x->dtype, &x->shape,
        tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, offset), to,
        tfd_tensor_data(x), from, st);
}

/* ---- Shape --------------------------------------------------------------- */

/* sign: 1 for what pads, -1 for what takes the border off. */
static enum tfd_code infer(struct tfd_shape_ctx *s, int sign,
                           struct tfd_status *st)
{
    const struct tfd_shape *in = &s->in[0], *rows = &s->in[1];
    const struct tfd_tensor *p = s->value ? s->value[1] : NULL;
    bool known = p && in->rank >= 0 && tfd_tensor_elements(p) == 2 * in->rank;

    if (rows->rank != TFD_RANK_UNKNOWN && rows->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 2 but is rank %d", rows->rank);
    if (rows->rank == 2 && in->rank != TFD_RANK_UNKNOWN &&
        rows->dim[0] != TFD_DIM_UNKNOWN && rows->dim[0] != in->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank %lld but is rank %d",
                        (long long)rows->dim[0], in->rank);
    if (in->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0] = *in;
    for (int d = 0; d < in->rank; d++) {
        int64_t *dim = &s->out[0].dim[d], both;

        if (!known || *dim == TFD_DIM_UNKNOWN ||
            __builtin_add_overflow(tfd_check_int_at(p, 2 * d),
                                   tfd_check_int_at(p, 2 * d + 1), &both) ||
            __builtin_add_overflow(*dim, sign * both, dim) || *dim < 0)
            *dim = TFD_DIM_UNKNOWN;
    }
    return TFD_OK;
}

enum tfd_code tfd_pad_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return infer(s, 1, st);
}

enum tfd_code tfd_pad_infer_back(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return infer(s, -1, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS "T: type; Tpaddings: {int32, int64} = DT_INT32"

static const struct tfd_opdef ops[] = {
    {
        .name = "Pad",
        .inputs = "input: T, paddings: Tpaddings",
        .outputs = "output: T",
        .attrs = ATTRS,
        .shape = tfd_pad_infer,
        .grad = tfd_pad_gradient,
    },
    {
        .name = "PadV2",
        .inputs = "input: T, paddings: Tpaddings, constant_values: T",
        .outputs = "output: T",
        .attrs = ATTRS,
        .checks = "constant_values: scalar 'constant_values must be a scalar. "
                  "Found: %s'",
        .shape = tfd_pad_infer,
        .grad = tfd_pad_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Pad", pad_compute),
    TFD_KERNEL_ANY("PadV2", pad_compute),
};

const struct tfd_family tfd_family_pad = {
    .name = "pad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
