/*
 * pad.c - tensors with a border: Pad, PadV2 (of zeros, of a value).
 *
 * The result is written in its order, once: rows of the border as a whole, and
 * the others some at a time, the gaps between rows of the input and then these,
 * while they are in the first cache.
 */
#include "kernels/array/pad.h"

#include "common/thread/halt.h"
#include "kernels/layout/box.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/array/slice_grad.h"

#include <string.h>

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

/* ---- Long rows ----------------------------------------------------------- */

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

/* All of the border and of the middle are boxes (box.h). */
static enum tfd_code pad_boxes(struct tfd_kctx *k, const struct tfd_pad *p,
                               struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const struct tfd_shape *y = &k->out[0].shape;
    int64_t to[TFD_RANK_MAX], from[TFD_RANK_MAX], offset = 0;

    if (tfd_dtype_is_pod(x->dtype))
        for (int d = 0; d < y->rank; d++) {
            const int64_t end = p->before[d] + x->shape.dim[d];

            fill_border(k, p, d, 0, p->before[d]);
            fill_border(k, p, d, end, y->dim[d] - end);
        }
    tfd_element_strides(y, to);
    tfd_element_strides(&x->shape, from);
    for (int d = 0; d < y->rank; d++)
        offset += p->before[d] * to[d];
    return tfd_elements_box(
        k, x->dtype, &x->shape,
        tfd_element_at(tfd_tensor_data(&k->out[0]), x->dtype, offset), to,
        tfd_tensor_data(x), from, st);
}

/* ---- Rows ---------------------------------------------------------------- */

/* Of numbers, all in bytes but `rank` and the numbers of rows.  Dimensions are
 * joined where the inner one has no border. */
#define ROW_COST 64 /* of beginning one, in bytes */

struct padding {
    int rank; /* at least 1 */
    int64_t dim[TFD_RANK_MAX], before[TFD_RANK_MAX], after[TFD_RANK_MAX];
    int64_t size; /* of an element, as all numbers of the last dimension */
    int64_t row;  /* of the result */
    const char *x, *value;
    char *y;
    bool past;     /* the caches (lines.h) */
    bool by_lines; /* so, and no row is made elsewhere before */
};

static void join_dims(struct padding *d, const struct tfd_shape *x,
                      const struct tfd_pad *p)
{
    int64_t inner = d->size;
    int at = TFD_RANK_MAX;

    for (int i = x->rank - 1; i >= 0; i--) {
        inner *= x->dim[i];
        if (i > 0 && !p->before[i] && !p->after[i])
            continue;
        at--;
        d->dim[at] = inner;
        d->before[at] = inner / x->dim[i] * p->before[i];
        d->after[at] = inner / x->dim[i] * p->after[i];
        inner = 1;
    }
    d->rank = TFD_RANK_MAX - at;
    memmove(d->dim, d->dim + at, (size_t)d->rank * sizeof(*d->dim));
    memmove(d->before, d->before + at, (size_t)d->rank * sizeof(*d->dim));
    memmove(d->after, d->after + at, (size_t)d->rank * sizeof(*d->dim));
    d->row =
        d->before[d->rank - 1] + d->dim[d->rank - 1] + d->after[d->rank - 1];
}

/* `rows` runs of `bytes` bytes, a row of the result from each to the next: from
 * x, where they are one behind the other, or of the value. */
static void put_runs(const struct padding *d, int64_t rows, int64_t bytes,
                     char *y, const char *x)
{
    const struct tfd_box_nest n = {.rows = rows,
                                   .row_to = d->row,
                                   .row_from = x ? bytes : 0,
                                   .count = bytes / d->size};

    if (rows <= 0 || bytes == 0)
        return;
    if (x)
        tfd_box_run(&n, d->size, y, x);
    else
        tfd_box_same_of(d->size)(&n, y, d->value);
}

/* Below these bytes of a row of x all is filled first, which is quicker than a
 * gap for every row. */
#define SHORT_SIZE TFD_BOX_BETWEEN_MIN

/* Rows of the result that have rows of x, from x on. */
static void pad_some(const struct padding *d, int64_t rows, char *y,
                     const char *x)
{
    const int last = d->rank - 1;
    const int64_t before = d->before[last], dim = d->dim[last];
    const int64_t after = d->after[last], end = before + dim;

    if (dim < SHORT_SIZE) {
        const struct tfd_box_nest all = {.rows = 1,
                                         .count = rows * d->row / d->size};

        tfd_box_same_of(d->size)(&all, y, d->value);
        put_runs(d, rows, dim, y + before, x);
        return;
    }
    put_runs(d, 1, before, y, NULL);
    tfd_box_run_between(&(struct tfd_box_nest){.rows = rows,
                                               .row_to = d->row,
                                               .row_from = dim,
                                               .count = dim / d->size},
                        d->size, y + before, x, d->value);
    put_runs(d, 1, after, y + (rows - 1) * d->row + end, NULL);
}

#define FETCH_SIZE_MIN \
    512 /* bytes of a row of x; of shorter ones it costs more */

/* As pad_some(), past the caches.  Only the borders at both ends are not. */
static void pad_lines(const struct padding *d, int64_t rows, char *y,
                      const char *x)
{
    const int last = d->rank - 1;
    const int64_t before = d->before[last], dim = d->dim[last];
    struct tfd_lines_rows r = {.rows = rows, .row_to = d->row, .size = dim};

    for (int64_t i = 0; i < (int64_t)sizeof(r.gap); i += d->size)
        memcpy(r.gap + i, d->value, (size_t)d->size);
    put_runs(d, 1, before, y, NULL);
    tfd_lines_put_rows(&r, y + before, x);
    put_runs(d, 1, d->after[last], y + (rows - 1) * d->row + before + dim,
             NULL);
}

/* Rows of the result: of x, or of the border where x is NULL. */
static void put_block(const struct padding *d, int64_t rows, char *y,
                      const char *x)
{
    _Alignas(64) char place[TFD_LINES_PLACE];
    const int64_t row = d->dim[d->rank - 1];
    char *to = d->past ? tfd_lines_block(place, y) : y;

    if (x && d->by_lines) {
        pad_lines(d, rows, y, x);
        return;
    }
    if (x && d->past && row >= FETCH_SIZE_MIN)
        tfd_lines_fetch(x + rows * row, rows * row);
    if (x)
        pad_some(d, rows, to, x);
    else
        put_runs(d, rows, d->row, to, NULL);
    if (d->past)
        tfd_lines_put(y, to, rows * d->row);
}

/* How many rows from `row` on, at most `most`, are of one kind; *from: where in
 * x the first one is, or -1. */
static int64_t rows_alike(const struct padding *d, int64_t row, int64_t most,
                          int64_t *from)
{
    const int last = d->rank - 1;
    int64_t step = d->dim[last], alike = INT64_MAX;

    *from = 0;
    for (int i = last - 1; i >= 0; i--) {
        const int64_t begin = d->before[i], end = begin + d->dim[i];
        const int64_t at = row % (end + d->after[i]);

        row /= end + d->after[i];
        if (at < begin || at >= end)
            *from = -1;
        if (i == last - 1)
            alike = at < begin ? begin - at
                    : at < end ? end - at
                               : end + d->after[i] - at;
        if (*from >= 0)
            *from += (at - begin) * step;
        step *= d->dim[i];
    }
    return alike < most ? alike : most;
}

#define ONCE_SIZE (8 * TFD_LINES_SIZE) /* of what is written once, in order */

static void pad_rows(void *arg, int64_t begin, int64_t end)
{
    const struct padding *d = arg;
    const bool once = !d->past && d->dim[d->rank - 1] >= SHORT_SIZE;

    while (begin < end && !tfd_halted()) {
        int64_t from, left = rows_alike(d, begin, end - begin, &from);
        const bool in_order = once || (d->by_lines && from >= 0);
        const int64_t fit = (in_order ? ONCE_SIZE : TFD_LINES_SIZE) / d->row;
        char *y = d->y + begin * d->row;

        begin += left;
        for (int64_t n; left > 0 && !tfd_halted(); left -= n) {
            n = left < fit ? left : fit;
            put_block(d, n, y, from < 0 ? NULL : d->x + from);
            y += n * d->row;
            from += from < 0 ? 0 : n * d->dim[d->rank - 1];
        }
    }
    if (d->past)
        tfd_lines_end();
}

/* False: rows are too long for that. */
static bool pad_numbers(struct tfd_kctx *k, const struct tfd_pad *p)
{
    static const char zeros[16];
    const struct tfd_tensor *x = &k->in[0], *y = &k->out[0];
    const int64_t size = (int64_t)tfd_dtype_size(x->dtype);
    const int64_t bytes = tfd_tensor_elements(y) * size;
    struct padding d = {.size = size,
                        .x = tfd_tensor_data(x),
                        .y = tfd_tensor_data(y),
                        .value = k->in_count > 2 ? tfd_tensor_data(&k->in[2])
                                                 : zeros};

    join_dims(&d, &x->shape, p);
    if (d.row > TFD_LINES_SIZE)
        return false;
    d.past = tfd_lines_worth_shared(tfd_kctx_threads(k), bytes,
                                    tfd_tensor_elements(x) * size);
    d.by_lines = d.past && d.dim[d.rank - 1] >= TFD_LINES_ROW_MIN &&
                 tfd_lines_has_rows();
    tfd_kctx_parallel_bytes(k, bytes / d.row, 2 * (int)d.row + ROW_COST,
                            pad_rows, &d);
    return true;
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
    struct tfd_pad p;
    bool done;

    TFD_TRY(tfd_pad_begin(k, &p, &done, st));
    if (done || tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(x->dtype) || tfd_tensor_elements(x) == 0)
        TFD_TRY(fill_all(k, st));
    else if (pad_numbers(k, &p))
        return TFD_OK;
    return tfd_tensor_elements(x) ? pad_boxes(k, &p, st) : TFD_OK;
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
