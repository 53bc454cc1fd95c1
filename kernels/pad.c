/*
 * pad.c - tensors with a border: Pad, PadV2 (of zeros, of a value).
 *
 * The result is filled and the input copied into its middle as a box.
 */
#include "kernels/pad.h"

#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/slice_grad.h"

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

static enum tfd_code fill(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor *out = &k->out[0];
    int64_t n = tfd_tensor_elements(out);

    if (k->in_count > 2)
        return tfd_elements_fill(out->dtype, tfd_tensor_data(out),
                                 tfd_tensor_data(&k->in[2]), n, st);
    tfd_elements_zero(out->dtype, tfd_tensor_data(out), n);
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
    TFD_TRY(fill(k, st));
    if (tfd_tensor_elements(x) == 0)
        return TFD_OK;
    tfd_shape_strides(&out, to);
    tfd_shape_strides(&x->shape, from);
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
