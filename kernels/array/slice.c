/*
 * slice.c - boxes of a tensor: Slice, StridedSlice, StridedSliceGrad.
 *
 * StridedSlice's five masks are resolved into one begin, stride and count per
 * input dimension ("dense" form), plus the shape the result is shown in.  A
 * result that is a run of whole rows shares the input's buffer.
 */
#include "kernels/array/slice.h"

#include "common/base/alloc.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/array/slice_grad.h"

#include <string.h>

/* ---- Slice --------------------------------------------------------------- */

enum tfd_code tfd_slice_box(const struct tfd_kctx *k, int64_t *begin,
                            struct tfd_shape *size, struct tfd_status *st)
{
    const struct tfd_shape *in = &k->in[0].shape;
    const struct tfd_shape *from = &k->in[1].shape, *count = &k->in[2].shape;
    char own[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (from->rank != 1 || from->dim[0] != in->rank || count->rank != 1 ||
        count->dim[0] != in->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected begin and size arguments to be 1-D tensors "
                        "of size %d, but got shapes %s and %s instead.",
                        in->rank, tfd_shape_text(from, own),
                        tfd_shape_text(count, other));
    size->rank = in->rank;
    for (int d = 0; d < in->rank; d++) {
        int64_t b = tfd_check_int_at(&k->in[1], d);
        int64_t n = tfd_check_int_at(&k->in[2], d);

        if (b < 0 || b > in->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected begin[%d] in [0, %lld], but got %lld", d,
                            (long long)in->dim[d], (long long)b);
        if (n == -1)
            n = in->dim[d] - b;
        if (n < 0 || n > in->dim[d] - b)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected size[%d] in [0, %lld], but got %lld", d,
                            (long long)(in->dim[d] - b), (long long)n);
        begin[d] = b;
        size->dim[d] = n;
    }
    return TFD_OK;
}

static enum tfd_code copy_box(struct tfd_kctx *k, const struct tfd_tensor *x,
                              const int64_t *begin, const int64_t *step,
                              const struct tfd_shape *box,
                              struct tfd_status *st)
{
    int64_t from[TFD_RANK_MAX], to[TFD_RANK_MAX];
    int64_t offset = 0;

    if (tfd_shape_elements(box) == 0)
        return TFD_OK;
    tfd_element_strides(&x->shape, from);
    tfd_element_strides(box, to);
    for (int d = 0; d < box->rank; d++) {
        offset += begin[d] * from[d];
        from[d] *= step[d];
    }
    return tfd_elements_box(
        k, x->dtype, box, tfd_tensor_data(&k->out[0]), to,
        tfd_element_of(tfd_tensor_data(x), x->dtype, offset), from, st);
}

/* Where TensorFlow shares the memory of what a box takes: rows of all that is
 * behind the first dimension, each aligned, or with one dimension both ends. */
static bool is_aligned_rows(const struct tfd_tensor *x, const int64_t *begin,
                            const int64_t *step, const struct tfd_shape *box)
{
    int64_t item = (int64_t)tfd_dtype_size(x->dtype);

    if (box->rank == 0 || step[0] != 1)
        return false;
    for (int d = 1; d < box->rank; d++)
        if (begin[d] != 0 || step[d] != 1 || box->dim[d] != x->shape.dim[d])
            return false;
    return box->rank > 1 ? tfd_rows_aligned(x)
                         : begin[0] * item % TFD_BUFFER_ALIGN == 0 &&
                               box->dim[0] * item % TFD_BUFFER_ALIGN == 0;
}

/* Makes output 0 a part of the input's memory; false: it is to be copied. */
static bool share_box(struct tfd_kctx *k, const int64_t *begin,
                      const int64_t *step, const struct tfd_shape *box,
                      const struct tfd_shape *out)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t rows = x->shape.rank > 0 ? x->shape.dim[0] : 0;

    return rows > 0 && !k->memory && is_aligned_rows(x, begin, step, box) &&
           tfd_kctx_output_part(k, 0, 0, out,
                                begin[0] * (tfd_tensor_elements(x) / rows));
}

static const int64_t ones[TFD_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};

static enum tfd_code slice_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t begin[TFD_RANK_MAX];
    struct tfd_shape size;

    TFD_TRY(tfd_slice_box(k, begin, &size, st));
    if (tfd_shape_equal(&size, &k->in[0].shape)) {
        tfd_kctx_output_alias(k, 0, 0, &size);
        return TFD_OK;
    }
    if (share_box(k, begin, ones, &size, &size))
        return TFD_OK;
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &size, st));
    return copy_box(k, &k->in[0], begin, ones, &size, st);
}

static enum tfd_code slice_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *size = s->value ? s->value[2] : NULL;
    int rank = s->in[0].rank;

    (void)st;
    if (rank == TFD_RANK_UNKNOWN && s->in[1].rank == 1 &&
        s->in[1].dim[0] >= 0 && s->in[1].dim[0] <= TFD_RANK_MAX)
        rank = (int)s->in[1].dim[0];
    if (rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0].rank = rank;
    for (int d = 0; d < rank; d++) {
        s->out[0].dim[d] = TFD_DIM_UNKNOWN;
        if (size && tfd_tensor_elements(size) == rank &&
            tfd_check_int_at(size, d) >= 0)
            s->out[0].dim[d] = tfd_check_int_at(size, d);
    }
    return TFD_OK;
}

/* ---- StridedSlice -------------------------------------------------------- */

enum tfd_code tfd_slice_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    struct tfd_slice_masks *m = state;

    TFD_TRY(tfd_node_int(p->node, "begin_mask", &m->begin, st));
    TFD_TRY(tfd_node_int(p->node, "end_mask", &m->end, st));
    TFD_TRY(tfd_node_int(p->node, "ellipsis_mask", &m->ellipsis, st));
    TFD_TRY(tfd_node_int(p->node, "new_axis_mask", &m->new_axis, st));
    TFD_TRY(tfd_node_int(p->node, "shrink_axis_mask", &m->shrink, st));
    if (m->ellipsis & (m->ellipsis - 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Multiple ellipses in slice spec not allowed");
    return TFD_OK;
}

static int64_t index_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT16)
        return ((const int16_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

static int64_t clamp(int64_t at, int64_t low, int64_t high)
{
    return at < low ? low : at > high ? high : at;
}

static int64_t magnitude(int64_t x)
{
    if (x < -INT64_MAX)
        return INT64_MAX;
    return x < 0 ? -x : x;
}

static enum tfd_code put_out(struct tfd_slice_dense *d, int64_t dim,
                             struct tfd_status *st)
{
    if (d->out.rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "StridedSlice to more than %d dimensions",
                        TFD_RANK_MAX);
    d->out.dim[d->out.rank++] = dim;
    return TFD_OK;
}

/* One entry [begin:end:stride] over an input dimension of `size`. */
static enum tfd_code one_range(struct tfd_slice_dense *d, int at, int64_t size,
                               int64_t b, int64_t e, int64_t stride,
                               bool open_begin, bool open_end, bool shrink,
                               struct tfd_status *st)
{
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
    int64_t count;

    if (stride == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "strides[%d] must be "
                        "non-zero",
                        at);
    if (shrink) {
        int64_t i = b < 0 ? b + size : b;

        if (stride <= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "only stride 1 allowed on non-range indexing.");
        if (i < 0 || i >= size)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "slice index %lld of dimension %d out of bounds.",
                            (long long)i, at);
        d->shown[at] = -1;
        d->begin[at] = i;
        d->stride[at] = 1;
        d->box.dim[at] = 1;
        return TFD_OK;
    }
    b = open_begin ? (stride > 0 ? low : high)
                   : clamp(b < 0 ? b + size : b, low, high);
    e = open_end ? (stride > 0 ? high : low)
                 : clamp(e < 0 ? e + size : e, low, high);
    count = stride > 0 ? e - b : b - e;
    if (count <= 0)
        count = 0;
    else
        count = (count - 1) / magnitude(stride) + 1;
    d->shown[at] = d->out.rank;
    d->begin[at] = b;
    d->stride[at] = count > 1 ? stride : 1; /* else as long as one pleases */
    d->box.dim[at] = count;
    return put_out(d, count, st);
}

static enum tfd_code whole_dims(struct tfd_slice_dense *d,
                                const struct tfd_shape *in, int from, int to,
                                struct tfd_status *st)
{
    for (int at = from; at < to; at++)
        TFD_TRY(one_range(d, at, in->dim[at], 0, 0, 1, true, true, false, st));
    return TFD_OK;
}

static bool bit(int64_t mask, int64_t i)
{
    return i < 64 && (mask >> i & 1);
}

/* Input dimensions that entries after the ellipsis take. */
static int taken_after(const struct tfd_slice_masks *m, int64_t from, int64_t n)
{
    int taken = 0;

    for (int64_t i = from; i < n; i++)
        if (!bit(m->new_axis, i))
            taken++;
    return taken;
}

#define SPEC_MAX 32 /* entries of a spec; a mask has as many useful bits */

/* begin, end and strides are vectors of one length. */
static enum tfd_code check_spec(const struct tfd_tensor *const spec[3],
                                struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(spec[0]);
    char text[3][TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        if (spec[i]->shape.rank != 1 || spec[i]->shape.dim[0] != n)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected begin, end, and strides to be 1D equal "
                            "size tensors, but got shapes %s, %s, and %s "
                            "instead.",
                            tfd_shape_text(&spec[0]->shape, text[0]),
                            tfd_shape_text(&spec[1]->shape, text[1]),
                            tfd_shape_text(&spec[2]->shape, text[2]));
    return n <= SPEC_MAX
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "begin, end, and strides have %lld values, at most "
                          "%d can be used",
                          (long long)n, SPEC_MAX);
}

static enum tfd_code make_dense(const struct tfd_slice_masks *m,
                                const struct tfd_shape *in,
                                const struct tfd_tensor *const spec[3],
                                struct tfd_slice_dense *d,
                                struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(spec[0]);
    int at = 0;

    memset(d, 0, sizeof(*d));
    d->box.rank = in->rank;
    TFD_TRY(check_spec(spec, st));
    for (int64_t i = 0; i < n; i++) {
        if (bit(m->ellipsis, i)) {
            int to = in->rank - taken_after(m, i + 1, n);

            if (to > at) {
                TFD_TRY(whole_dims(d, in, at, to, st));
                at = to;
            }
            continue;
        }
        if (bit(m->new_axis, i)) {
            TFD_TRY(put_out(d, 1, st));
            continue;
        }
        if (in->rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Attempting to slice scalar input.");
        if (at >= in->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Index out of range using input dim %d; input has "
                            "only %d dims",
                            at, in->rank);
        TFD_TRY(one_range(d, at, in->dim[at], index_at(spec[0], i),
                          index_at(spec[1], i), index_at(spec[2], i),
                          bit(m->begin, i), bit(m->end, i), bit(m->shrink, i),
                          st));
        at++;
    }
    return whole_dims(d, in, at, in->rank, st);
}

enum tfd_code tfd_slice_resolve(const struct tfd_slice_masks *m,
                                const struct tfd_shape *in,
                                const struct tfd_tensor *spec,
                                struct tfd_slice_dense *d,
                                struct tfd_status *st)
{
    const struct tfd_tensor *const three[3] = {spec, spec + 1, spec + 2};

    return make_dense(m, in, three, d, st);
}

/* The result is the whole input. */
static bool is_whole(const struct tfd_shape *in,
                     const struct tfd_slice_dense *d)
{
    for (int i = 0; i < in->rank; i++)
        if (d->begin[i] != 0 || d->stride[i] != 1 ||
            d->box.dim[i] != in->dim[i])
            return false;
    return true;
}

enum tfd_code tfd_slice_begin(struct tfd_kctx *k, struct tfd_slice_dense *d,
                              bool *done, struct tfd_status *st)
{
    const struct tfd_tensor *spec[3] = {&k->in[1], &k->in[2], &k->in[3]};
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(make_dense(k->state, &x->shape, spec, d, st));
    *done = is_whole(&x->shape, d);
    if (*done) {
        tfd_kctx_output_alias(k, 0, 0, &d->out);
        return TFD_OK;
    }
    *done = share_box(k, d->begin, d->stride, &d->box, &d->out);
    if (*done)
        return TFD_OK;
    return tfd_kctx_output(k, 0, x->dtype, &d->out, st);
}

static enum tfd_code strided_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_slice_dense d;
    bool done;

    TFD_TRY(tfd_slice_begin(k, &d, &done, st));
    return done ? TFD_OK
                : copy_box(k, &k->in[0], d.begin, d.stride, &d.box, st);
}

static enum tfd_code strided_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_prepare p = {.node = s->node};
    struct tfd_slice_masks m = {0};
    struct tfd_slice_dense d;

    if (!s->node || !s->value || !s->value[1] || !s->value[2] || !s->value[3] ||
        tfd_shape_elements(&s->in[0]) < 0)
        return TFD_OK;
    TFD_TRY(tfd_slice_prepare(&p, &m, st));
    TFD_TRY(make_dense(&m, &s->in[0], &s->value[1], &d, st));
    s->out[0] = d.out;
    return TFD_OK;
}

enum tfd_code tfd_slice_grad_begin(struct tfd_kctx *k,
                                   struct tfd_slice_dense *d,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *spec[3] = {&k->in[1], &k->in[2], &k->in[3]};
    const struct tfd_tensor *dy = &k->in[4];
    char want[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    TFD_TRY(tfd_check_shape(k, 0, false, &shape, st));
    TFD_TRY(make_dense(k->state, &shape, spec, d, st));
    if (!tfd_shape_equal(&d->out, &dy->shape))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT, "shape of dy was %s instead of %s",
            tfd_shape_text(&dy->shape, have), tfd_shape_text(&d->out, want));
    return tfd_kctx_output(k, 0, dy->dtype, &shape, st);
}

static enum tfd_code strided_grad_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct tfd_tensor *dy = &k->in[4];
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], offset = 0;
    struct tfd_shape shape;
    struct tfd_slice_dense d;

    TFD_TRY(tfd_slice_grad_begin(k, &d, st));
    shape = k->out[0].shape;
    tfd_elements_zero(dy->dtype, tfd_tensor_data(&k->out[0]),
                      tfd_shape_elements(&shape));
    if (tfd_tensor_elements(dy) == 0)
        return TFD_OK;
    tfd_element_strides(&shape, to);
    tfd_element_strides(&d.box, from);
    for (int i = 0; i < shape.rank; i++) {
        offset += d.begin[i] * to[i];
        to[i] *= d.stride[i];
    }
    return tfd_elements_box(
        k, dy->dtype, &d.box,
        tfd_element_at(tfd_tensor_data(&k->out[0]), dy->dtype, offset), to,
        tfd_tensor_data(dy), from, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define MASKS                                          \
    "begin_mask: int = 0; end_mask: int = 0; "         \
    "ellipsis_mask: int = 0; new_axis_mask: int = 0; " \
    "shrink_axis_mask: int = 0"

static const struct tfd_opdef ops[] = {
    {
        .name = "Slice",
        .inputs = "input: T, begin: Index, size: Index",
        .outputs = "output: T",
        .attrs = "T: type; Index: {int32, int64}",
        .shape = slice_shape,
        .grad = tfd_slice_gradient,
    },
    {
        .name = "StridedSlice",
        .inputs = "input: T, begin: Index, end: Index, strides: Index",
        .outputs = "output: T",
        .attrs = "T: type; Index: {int16, int32, int64}; " MASKS,
        .shape = strided_shape,
        .grad = tfd_slice_strided_gradient,
    },
    {
        .name = "StridedSliceGrad",
        .inputs = "shape: Index, begin: Index, end: Index, strides: Index, "
                  "dy: T",
        .outputs = "output: T",
        .attrs = "T: type; Index: {int32, int64}; " MASKS,
        .checks = "shape: vector; begin: vector; end: vector; strides: vector",
        .grad = tfd_slice_strided_grad_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Slice", slice_compute),
    TFD_KERNEL_ANY("StridedSlice", strided_compute,
                   .prepare = tfd_slice_prepare,
                   .state_size = sizeof(struct tfd_slice_masks)),
    TFD_KERNEL_ANY("StridedSliceGrad", strided_grad_compute,
                   .prepare = tfd_slice_prepare,
                   .state_size = sizeof(struct tfd_slice_masks)),
};

const struct tfd_family tfd_family_slice = {
    .name = "slice",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
