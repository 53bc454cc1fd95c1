/*
 * roll.c - elements moved round along axes: Roll.
 *
 * Along an axis that is moved the tensor falls into two pieces that change
 * places, so the result is a box for each choice of pieces: 2 to the power of
 * the axes that move.  Of a tensor that no cache keeps each box would bring
 * lines of the result from memory once more, so there it is made row by row,
 * along the last axis that moves.
 */
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/lines.h"

#include <string.h>

/* ---- Shifts -------------------------------------------------------------- */

static enum tfd_code check_arguments(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    static const char *const names[] = {NULL, "shift", "axis"};
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[0].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 1-D or higher");
    for (int i = 1; i < 3; i++)
        if (k->in[i].shape.rank > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar or a 1-D vector. Found: %s",
                            names[i], tfd_shape_text(&k->in[i].shape, text));
    if (!tfd_shape_equal(&k->in[1].shape, &k->in[2].shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shift and axis must have the same size");
    return TFD_OK;
}

/* How far each dimension moves, in [0, its size). */
static enum tfd_code read_shifts(const struct tfd_kctx *k, int64_t *shift,
                                 struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;

    for (int64_t i = 0; i < tfd_tensor_elements(&k->in[1]); i++) {
        int64_t axis = tfd_check_int_at(&k->in[2], i), size, by;

        axis = axis < 0 ? axis + s->rank : axis;
        if (axis < 0 || axis >= s->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "axis %lld is out of range", (long long)axis);
        size = s->dim[axis] > 0 ? s->dim[axis] : 1;
        by = tfd_check_int_at(&k->in[1], i) % size;
        by = by < 0 ? by + size : by;
        shift[axis] = by < size - shift[axis] ? shift[axis] + by
                                              : shift[axis] - (size - by);
    }
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

/* Which dimensions move, as bits. */
static unsigned moving(const struct tfd_shape *s, const int64_t *shift)
{
    unsigned mask = 0;

    for (int d = 0; d < s->rank; d++)
        mask |= shift[d] ? 1u << d : 0;
    return mask;
}

/* The box whose piece of each dimension in `front` is what comes round to its
 * beginning. */
static enum tfd_code copy_pieces(struct tfd_kctx *k, const int64_t *shift,
                                 unsigned front, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape box = x->shape;
    int64_t stride[TFD_RANK_MAX], to = 0, from = 0;

    tfd_element_strides(&x->shape, stride);
    for (int d = 0; d < box.rank; d++) {
        bool round = front >> d & 1;
        int64_t rest = x->shape.dim[d] - shift[d];

        box.dim[d] = round ? shift[d] : rest;
        to += round ? 0 : shift[d] * stride[d];
        from += round ? rest * stride[d] : 0;
    }
    return tfd_elements_box(
        k, x->dtype, &box,
        tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, to), stride,
        tfd_element_of(tfd_tensor_data(x), x->dtype, from), stride, st);
}

/* Bytes that are read before they are written, and how far ahead they are asked
 * for: with more at once memory waits for either by turns (Zen 5: 4,000,000
 * doubles 900 us, in blocks of 8192 bytes 1,900). */
#define BLOCK_SIZE 2048
#define AHEAD 4096

/* Rows along the last axis that moves, each `row` bytes, of which the last `by`
 * come to the front; and the dimensions that count them. */
struct rolling {
    const char *x;
    char *y;
    int64_t row, by;
    int rank;
    const int64_t *dim, *shift;
};

/* Which row row `i` of the result comes from; it and the ones behind it,
 * `alike` in all, come from rows in a row. */
static int64_t source_of_row(const struct rolling *r, int64_t i, int64_t *alike)
{
    int64_t source = 0, stride = 1;

    *alike = 1;
    for (int d = r->rank - 1; d >= 0; d--) {
        const int64_t size = r->dim[d], by = r->shift[d], at = i % size;
        const bool round = at < by;

        if (d == r->rank - 1)
            *alike = (round ? by : size) - at;
        source += stride * (round ? at + size - by : at - by);
        stride *= size;
        i /= size;
    }
    return source;
}

/* n rows at once: all as far as the longer piece of each goes, then the shorter
 * pieces. */
static void roll_block(const struct rolling *r, char *y, const char *x,
                       int64_t n)
{
    const int64_t rest = r->row - r->by;
    const bool front = r->by <= rest;
    const int64_t less = front ? r->by : rest, all = n * r->row - less;
    const int64_t to = front ? 0 : r->by, from = front ? rest : 0;

    memcpy(y + (front ? less : 0), x + (front ? 0 : less), (size_t)all);
    for (int64_t at = 0; at < n * r->row; at += r->row)
        memcpy(y + at + to, x + at + from, (size_t)less);
}

static void roll_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rolling *r = arg;
    _Alignas(64) char place[TFD_LINES_PLACE];

    for (int64_t i = begin, n, alike; i < end && !tfd_halted(); i += n) {
        const char *x = r->x + source_of_row(r, i, &alike) * r->row;
        char *y = r->y + i * r->row, *block = tfd_lines_block(place, y);

        n = tfd_min(tfd_min(end - i, alike), tfd_max(1, BLOCK_SIZE / r->row));
        tfd_lines_fetch(x + AHEAD, n * r->row);
        roll_block(r, block, x, n);
        tfd_lines_put(y, block, n * r->row);
    }
    tfd_lines_end();
}

/* False: it is done better in boxes. */
static bool roll_large(struct tfd_kctx *k, const int64_t *shift)
{
    const struct tfd_tensor *x = &k->in[0];
    const struct tfd_shape *s = &x->shape;
    const int64_t size = (int64_t)tfd_dtype_size(x->dtype);
    const int64_t bytes = tfd_tensor_elements(x) * size;
    struct rolling r = {.rank = s->rank - 1, .dim = s->dim, .shift = shift};

    if (!tfd_dtype_is_pod(x->dtype) || !tfd_lines_worth(bytes, bytes))
        return false;
    for (r.row = size; !shift[r.rank]; r.rank--)
        r.row *= s->dim[r.rank];
    r.by = r.row * shift[r.rank];
    r.row *= s->dim[r.rank];
    if (r.row > TFD_LINES_SIZE / 2)
        return false;
    r.x = tfd_tensor_data(x);
    r.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel_bytes(k, bytes / r.row, (int)(2 * r.row), roll_rows, &r);
    return true;
}

static enum tfd_code roll_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t shift[TFD_RANK_MAX] = {0};
    unsigned mask, front;

    TFD_TRY(check_arguments(k, st));
    TFD_TRY(read_shifts(k, shift, st));
    mask = moving(&x->shape, shift);
    if (!mask || !x->buffer) {
        tfd_kctx_output_alias(k, 0, 0, &x->shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    if (roll_large(k, shift))
        return TFD_OK;
    front = mask;
    do { /* all subsets of the mask */
        TFD_TRY(copy_pieces(k, shift, front, st));
        front = (front - 1) & mask;
    } while (front != mask);
    return TFD_OK;
}

/* ---- Shape, gradient ----------------------------------------------------- */

static enum tfd_code roll_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->in[0].rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    s->out[0] = s->in[0];
    return TFD_OK;
}

static enum tfd_code roll_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge back = tfd_gradient_op1(&b, "Neg", g->x[1]);

    g->dx[0] = tfd_gradient_op3(&b, "Roll", g->dy[0], back, g->x[2]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Roll",
        .inputs = "input: T, shift: Tshift, axis: Taxis",
        .outputs = "output: T",
        .attrs = "T: type; Tshift: {int32, int64}; Taxis: {int32, int64}",
        .shape = roll_shape,
        .grad = roll_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Roll", roll_compute),
};

const struct tfd_family tfd_family_roll = {
    .name = "roll",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
