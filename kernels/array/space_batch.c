/*
 * space_batch.c - blocks of space to the batch and back:
 *
 *     SpaceToBatchND BatchToSpaceND SpaceToBatch BatchToSpace
 *
 * The last two, of images alone, have square blocks whose side is an attribute.
 * The wide tensor is [batch, space..., rest...]; the folded one has each block
 * of the padded space taken apart, [block offsets * batch, space / block...,
 * rest...].  For each offset in a block the elements are one box in both, whose
 * steps in the wide tensor are the block.
 */
#include "common/thread/halt.h"
#include "kernels/array/space_batch.h"

#include "kernels/layout/box.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#define IMAGE_DIMS 4

/* ---- Blocks -------------------------------------------------------------- */

static enum tfd_code read_blocks(const struct tfd_tensor *block, int rank,
                                 struct tfd_space_batch *f,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (block->shape.rank != 1 || block->shape.dim[0] > rank - 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "block_shape must be one-dimensional with fewer "
                        "elements than the input has dimensions (%d), but its "
                        "shape is %s",
                        rank, tfd_shape_text(&block->shape, text));
    f->dims = (int)block->shape.dim[0];
    for (int i = 0; i < f->dims; i++)
        f->block[i] = tfd_check_int_at(block, i);
    return TFD_OK;
}

/* The blocks of an image, whose side the attribute says. */
static enum tfd_code read_squares(const struct tfd_node *n, int rank,
                                  struct tfd_space_batch *f,
                                  struct tfd_status *st)
{
    int64_t side;

    TFD_TRY(tfd_node_int(n, "block_size", &side, st));
    if (rank != IMAGE_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input rank should be: %dinstead of: %d", IMAGE_DIMS,
                        rank);
    f->dims = 2;
    f->block[0] = f->block[1] = side;
    return TFD_OK;
}

/* Borders, and whether the blocks are any. */
static enum tfd_code read_borders(const struct tfd_tensor *pads,
                                  struct tfd_space_batch *f,
                                  struct tfd_status *st)
{
    struct tfd_shape all;
    char text[TFD_SHAPE_TEXT_MAX];

    if (pads->shape.rank != 2 || pads->shape.dim[0] != f->dims ||
        pads->shape.dim[1] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "paddings or crops should have shape [%d,2] instead of "
                        "%s",
                        f->dims, tfd_shape_text(&pads->shape, text));
    for (int i = 0; i < f->dims; i++) {
        f->before[i] = tfd_check_int_at(pads, 2 * i);
        f->after[i] = tfd_check_int_at(pads, 2 * i + 1);
        if (f->block[i] < 1 || f->before[i] < 0 || f->after[i] < 0 ||
            f->before[i] > INT32_MAX || f->after[i] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "block_shape[%d] = %lld must be positive, and its "
                            "paddings or crops (%lld, %lld) between 0 and %d",
                            i, (long long)f->block[i], (long long)f->before[i],
                            (long long)f->after[i], INT32_MAX);
    }
    TFD_TRY(tfd_shape_make(&all, f->block, f->dims, st));
    f->offsets = tfd_shape_elements(&all);
    return TFD_OK;
}

/* Of an op whose inputs these are: two or three. */
static enum tfd_code read_fold(const struct tfd_node *n,
                               const struct tfd_tensor *const *in, int in_count,
                               int rank, struct tfd_space_batch *f,
                               struct tfd_status *st)
{
    if (in_count == 2)
        TFD_TRY(read_squares(n, rank, f, st));
    else
        TFD_TRY(read_blocks(in[1], rank, f, st));
    return read_borders(in[in_count - 1], f, st);
}

static enum tfd_code folded_shape(const struct tfd_space_batch *f,
                                  const struct tfd_shape *wide,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    int64_t batch;

    *out = *wide;
    if (__builtin_mul_overflow(wide->dim[0], f->offsets, &batch))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld blocks of a batch of %lld are too many",
                        (long long)f->offsets, (long long)wide->dim[0]);
    out->dim[0] = batch;
    for (int i = 0; i < f->dims; i++) {
        int64_t padded = wide->dim[i + 1], size = f->block[i];

        if (__builtin_add_overflow(padded, f->before[i] + f->after[i],
                                   &padded) ||
            padded % size)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "padded_shape[%d]=%lld is not divisible by "
                            "block_shape[%d]=%lld",
                            i, (long long)padded, i, (long long)size);
        out->dim[i + 1] = padded / size;
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

static enum tfd_code wide_shape(const struct tfd_space_batch *f,
                                const struct tfd_shape *folded,
                                struct tfd_shape *out, struct tfd_status *st)
{
    *out = *folded;
    if (f->offsets == 0 || folded->dim[0] % f->offsets)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input batch dimension (%lld) is not divisible by "
                        "product of block sizes (%lld)",
                        (long long)folded->dim[0], (long long)f->offsets);
    out->dim[0] = folded->dim[0] / f->offsets;
    for (int i = 0; i < f->dims; i++) {
        int64_t whole;

        if (__builtin_mul_overflow(folded->dim[i + 1], f->block[i], &whole) ||
            whole < f->before[i] + f->after[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "cropped_shape[%d] must be non-negative: %lld * "
                            "%lld less %lld",
                            i, (long long)folded->dim[i + 1],
                            (long long)f->block[i],
                            (long long)(f->before[i] + f->after[i]));
        out->dim[i + 1] = whole - f->before[i] - f->after[i];
    }
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* ---- One offset ---------------------------------------------------------- */

struct box {
    struct tfd_shape shape;
    int64_t wide_at, folded_at; /* first elements */
    int64_t wide_stride[TFD_RANK_MAX], folded_stride[TFD_RANK_MAX];
};

/* False when the wide tensor has no element with this offset. */
static bool box_of(const struct tfd_space_batch *f,
                   const struct tfd_shape *wide, const struct tfd_shape *folded,
                   int64_t offset, struct box *b)
{
    b->shape = *folded;
    b->shape.dim[0] = wide->dim[0];
    tfd_element_strides(wide, b->wide_stride);
    tfd_element_strides(folded, b->folded_stride);
    b->wide_at = 0;
    b->folded_at = offset * wide->dim[0] * b->folded_stride[0];
    for (int i = f->dims - 1; i >= 0; i--) {
        const int64_t size = f->block[i];
        /* Where this offset is in the wide tensor, for place 0. */
        const int64_t at = offset % size - f->before[i];
        const int64_t first = at < 0 ? (size - 1 - at) / size : 0;
        int64_t end = (wide->dim[i + 1] - at + size - 1) / size;

        offset /= size;
        end = end < folded->dim[i + 1] ? end : folded->dim[i + 1];
        if (end <= first)
            return false;
        b->shape.dim[i + 1] = end - first;
        b->wide_at += (at + first * size) * b->wide_stride[i + 1];
        b->folded_at += first * b->folded_stride[i + 1];
        b->wide_stride[i + 1] *= size;
    }
    return true;
}

static enum tfd_code move_blocks(struct tfd_kctx *k,
                                 const struct tfd_space_batch *f,
                                 const struct tfd_shape *wide,
                                 const struct tfd_shape *folded, bool fold_it,
                                 struct tfd_status *st)
{
    const enum tfd_dtype t = k->in[0].dtype;
    const void *from = tfd_tensor_data(&k->in[0]);
    void *to = tfd_tensor_data(&k->out[0]);
    struct box b;

    for (int64_t i = 0; from && to && i < f->offsets && !tfd_halted(); i++) {
        if (!box_of(f, wide, folded, i, &b))
            continue;
        if (fold_it)
            TFD_TRY(tfd_elements_box(
                k, t, &b.shape, tfd_element_at(to, t, b.folded_at),
                b.folded_stride, tfd_element_of(from, t, b.wide_at),
                b.wide_stride, st));
        else
            TFD_TRY(tfd_elements_box(
                k, t, &b.shape, tfd_element_at(to, t, b.wide_at), b.wide_stride,
                tfd_element_of(from, t, b.folded_at), b.folded_stride, st));
    }
    return TFD_OK;
}

/* ---- All offsets at once ------------------------------------------------- */

/* Without a border every element goes somewhere, and a dimension of the wide
 * tensor is two: the places, and the offsets in each. */
static bool has_border(const struct tfd_space_batch *f)
{
    for (int i = 0; i < f->dims; i++)
        if (f->before[i] || f->after[i])
            return true;
    return false;
}

/* A dimension of the box, in elements of the wide and of the folded tensor. */
static void add_block_dim(struct tfd_box *b, bool fold_it, int64_t dim,
                          int64_t wide, int64_t folded)
{
    tfd_box_add(b, dim, (fold_it ? folded : wide) * b->size,
                (fold_it ? wide : folded) * b->size);
}

/* The box has its dimensions in the order of what is written: offsets come
 * first in the folded tensor, and each behind its places in the wide one. */
static void move_all(struct tfd_kctx *k, const struct tfd_space_batch *f,
                     const struct tfd_shape *wide,
                     const struct tfd_shape *folded, bool fold_it)
{
    int64_t ws[TFD_RANK_MAX], fs[TFD_RANK_MAX], step[TFD_RANK_MAX];
    int64_t offset = wide->dim[0];
    struct tfd_box b;

    tfd_element_strides(wide, ws);
    tfd_element_strides(folded, fs);
    tfd_box_init(&b, tfd_dtype_size(k->in[0].dtype));
    for (int i = f->dims - 1; i >= 0; i--) {
        step[i] = offset * fs[0];
        offset *= f->block[i];
    }
    for (int i = 0; fold_it && i < f->dims; i++)
        add_block_dim(&b, fold_it, f->block[i], ws[i + 1], step[i]);
    add_block_dim(&b, fold_it, wide->dim[0], ws[0], fs[0]);
    for (int i = 0; i < f->dims; i++) {
        add_block_dim(&b, fold_it, folded->dim[i + 1], ws[i + 1] * f->block[i],
                      fs[i + 1]);
        if (!fold_it)
            add_block_dim(&b, fold_it, f->block[i], ws[i + 1], step[i]);
    }
    for (int d = f->dims + 1; d < wide->rank; d++)
        add_block_dim(&b, fold_it, wide->dim[d], ws[d], fs[d]);
    tfd_box_copy(k, &b, tfd_tensor_data(&k->out[0]),
                 tfd_tensor_data(&k->in[0]));
}

/* ---- Kernels ------------------------------------------------------------- */

enum tfd_code tfd_space_batch_begin(struct tfd_kctx *k, bool fold_it,
                                    struct tfd_space_batch *f, bool *done,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *in[] = {&k->in[0], &k->in[1],
                                     &k->in[k->in_count - 1]};
    const struct tfd_shape *x = &k->in[0].shape;
    struct tfd_shape y;

    TFD_TRY(read_fold(k->node, in, k->in_count, x->rank, f, st));
    if (fold_it)
        TFD_TRY(folded_shape(f, x, &y, st));
    else
        TFD_TRY(wide_shape(f, x, &y, st));
    *done = f->offsets == 1 && tfd_shape_equal(x, &y);
    if (*done) {
        tfd_kctx_output_alias(k, 0, 0, &y);
        return TFD_OK;
    }
    return tfd_kctx_output(k, 0, k->in[0].dtype, &y, st);
}

static enum tfd_code fold_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_space_batch f;
    bool done;

    TFD_TRY(tfd_space_batch_begin(k, true, &f, &done, st));
    if (done)
        return TFD_OK;
    if (!has_border(&f)) {
        move_all(k, &f, &k->in[0].shape, &k->out[0].shape, true);
        return TFD_OK;
    }
    tfd_elements_zero(k->in[0].dtype, tfd_tensor_data(&k->out[0]),
                      tfd_tensor_elements(&k->out[0]));
    return move_blocks(k, &f, &k->in[0].shape, &k->out[0].shape, true, st);
}

static enum tfd_code unfold_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_space_batch f;
    bool done;

    TFD_TRY(tfd_space_batch_begin(k, false, &f, &done, st));
    if (done)
        return TFD_OK;
    if (!has_border(&f)) {
        move_all(k, &f, &k->out[0].shape, &k->in[0].shape, false);
        return TFD_OK;
    }
    return move_blocks(k, &f, &k->out[0].shape, &k->in[0].shape, false, st);
}

/* ---- Shapes, gradients --------------------------------------------------- */

static enum tfd_code infer(struct tfd_shape_ctx *s, bool fold_it,
                           struct tfd_status *st)
{
    struct tfd_space_batch f;

    if (tfd_shape_elements(&s->in[0]) < 0 || !s->value || !s->value[1] ||
        !s->value[s->in_count - 1] || (s->in_count == 2 && !s->node))
        return TFD_OK;
    TFD_TRY(read_fold(s->node, s->value, s->in_count, s->in[0].rank, &f, st));
    return fold_it ? folded_shape(&f, &s->in[0], &s->out[0], st)
                   : wide_shape(&f, &s->in[0], &s->out[0], st);
}

static enum tfd_code fold_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return infer(s, true, st);
}

static enum tfd_code unfold_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return infer(s, false, st);
}

static enum tfd_code fold_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        tfd_gradient_op3(&b, "BatchToSpaceND", g->dy[0], g->x[1], g->x[2]);
    return b.code;
}

static enum tfd_code unfold_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        tfd_gradient_op3(&b, "SpaceToBatchND", g->dy[0], g->x[1], g->x[2]);
    return b.code;
}

static const char *const attributes[] = {"block_size", NULL};

static enum tfd_code fold_squares_gradient(struct tfd_grad *g,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    tfd_gradient_copying(&b, "BatchToSpace", in, 2, attributes, &g->dx[0], 1);
    return b.code;
}

static enum tfd_code unfold_squares_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    tfd_gradient_copying(&b, "SpaceToBatch", in, 2, attributes, &g->dx[0], 1);
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SpaceToBatchND",
        .inputs = "input: T, block_shape: Tblock_shape, paddings: Tpaddings",
        .outputs = "output: T",
        .attrs = "T: type; Tblock_shape: {int32, int64} = DT_INT32; "
                 "Tpaddings: {int32, int64} = DT_INT32",
        .checks = "input: rank>=1",
        .shape = fold_shape,
        .grad = fold_gradient,
    },
    {
        .name = "BatchToSpaceND",
        .inputs = "input: T, block_shape: Tblock_shape, crops: Tcrops",
        .outputs = "output: T",
        .attrs = "T: type; Tblock_shape: {int32, int64} = DT_INT32; "
                 "Tcrops: {int32, int64} = DT_INT32",
        .checks = "input: rank>=1",
        .shape = unfold_shape,
        .grad = unfold_gradient,
    },
    {
        .name = "SpaceToBatch",
        .inputs = "input: T, paddings: Tpaddings",
        .outputs = "output: T",
        .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32; "
                 "block_size: int >= 2",
        .shape = fold_shape,
        .grad = fold_squares_gradient,
    },
    {
        .name = "BatchToSpace",
        .inputs = "input: T, crops: Tidx",
        .outputs = "output: T",
        .attrs = "T: type; block_size: int >= 2; "
                 "Tidx: {int32, int64} = DT_INT32",
        .shape = unfold_shape,
        .grad = unfold_squares_gradient,
    },
};

#define ROWS(name, number, T)                               \
    TFD_KERNEL("SpaceToBatchND", name, fold_compute),       \
        TFD_KERNEL("BatchToSpaceND", name, unfold_compute), \
        TFD_KERNEL("SpaceToBatch", name, fold_compute),     \
        TFD_KERNEL("BatchToSpace", name, unfold_compute),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(ROWS)
                                                TFD_HALF_DTYPES(ROWS)};

const struct tfd_family tfd_family_space_batch = {
    .name = "space_batch",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
