/*
 * window.c - see window.h.
 *
 * Numbers of attributes are 32 bits in TensorFlow, and refused beyond; so no
 * product below overflows.
 */
#include "kernels/conv/window.h"

#include <string.h>

#include "common/base/str.h"

/* ---- Attributes ---------------------------------------------------------- */

/* By meaning: the dimension's place in NHWC, in NCHW. */
static const int places[2][TFD_WINDOW_DIMS] = {{0, 1, 2, 3}, {0, 2, 3, 1}};

int tfd_window_at(const struct tfd_window *w, enum tfd_window_dim d)
{
    return places[w->channels_second][d];
}

static enum tfd_code check_number(const char *what, int64_t value, int64_t min,
                                  struct tfd_status *st)
{
    if (value < min && strcmp(what, "ksize") == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sliding window ksize must be positive.");
    if (value < min && strncmp(what, "stride", 6) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Stride must be > 0, but got %lld", (long long)value);
    if (value < min || value > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sliding window %s must be between %lld and %d, but "
                        "one is %lld",
                        what, (long long)min, INT32_MAX, (long long)value);
    return TFD_OK;
}

static enum tfd_code four(const char *what, int count, struct tfd_status *st)
{
    if (count != TFD_WINDOW_DIMS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sliding window %s field must specify 4 dimensions",
                        what);
    return TFD_OK;
}

static enum tfd_code read_numbers(const struct tfd_node *n, const char *name,
                                  const struct tfd_window *w, int64_t *out,
                                  struct tfd_status *st)
{
    int64_t values[TFD_WINDOW_DIMS * 2];
    struct tfd_str ignored;
    int count;

    for (int d = 0; d < TFD_WINDOW_DIMS; d++)
        out[d] = 1;
    if (!tfd_node_attr(n, name, &ignored))
        return TFD_OK;
    TFD_TRY(tfd_node_ints(n, name, values, TFD_WINDOW_DIMS * 2, &count, st));
    TFD_TRY(four(name, count, st));
    for (int d = 0; d < TFD_WINDOW_DIMS; d++) {
        out[d] = values[tfd_window_at(w, d)];
        TFD_TRY(check_number(name, out[d], 1, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_window_values(const struct tfd_tensor *t, const char *what,
                                const struct tfd_window *w, int64_t *out,
                                struct tfd_status *st)
{
    const int32_t *values = tfd_tensor_data(t);
    int64_t count = tfd_tensor_elements(t);

    if (t->shape.rank != 1 || count != TFD_WINDOW_DIMS)
        return four(what, count < 100 && t->shape.rank == 1 ? (int)count : 0,
                    st);
    for (int d = 0; d < TFD_WINDOW_DIMS; d++) {
        out[d] = values[tfd_window_at(w, d)];
        TFD_TRY(check_number(what, out[d], 1, st));
    }
    return TFD_OK;
}

/* Before and after of each dimension; none but with EXPLICIT. */
static enum tfd_code read_explicit(const struct tfd_node *n,
                                   struct tfd_window *w, struct tfd_status *st)
{
    const bool wanted = w->padding == TFD_WINDOW_EXPLICIT;
    int64_t values[TFD_WINDOW_DIMS * 2] = {0};
    struct tfd_str ignored;
    int count = 0;

    if (tfd_node_attr(n, "explicit_paddings", &ignored))
        TFD_TRY(tfd_node_ints(n, "explicit_paddings", values,
                              TFD_WINDOW_DIMS * 2, &count, st));
    if (count != (wanted ? TFD_WINDOW_DIMS * 2 : 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "explicit_paddings attribute must contain %d values, "
                        "but got: %d",
                        wanted ? TFD_WINDOW_DIMS * 2 : 0, count);
    for (int d = 0; d < TFD_WINDOW_DIMS; d++) {
        w->before[d] = values[2 * tfd_window_at(w, d)];
        w->after[d] = values[2 * tfd_window_at(w, d) + 1];
        TFD_TRY(check_number("explicit_paddings", w->before[d], 0, st));
        TFD_TRY(check_number("explicit_paddings", w->after[d], 0, st));
    }
    if (w->before[TFD_WINDOW_BATCH] || w->after[TFD_WINDOW_BATCH] ||
        w->before[TFD_WINDOW_CHANNEL] || w->after[TFD_WINDOW_CHANNEL])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Nonzero explicit padding in the batch or depth "
                        "dimensions is not supported");
    return TFD_OK;
}

enum tfd_code tfd_window_read(const struct tfd_node *n, struct tfd_window *w,
                              struct tfd_status *st)
{
    struct tfd_str text;

    *w = (struct tfd_window){.padding = TFD_WINDOW_VALID};
    if (tfd_node_attr(n, "data_format", &text)) {
        TFD_TRY(tfd_node_str(n, "data_format", &text, st));
        w->channels_second = tfd_str_is(text, "NCHW");
    }
    TFD_TRY(tfd_node_str(n, "padding", &text, st));
    if (tfd_str_is(text, "SAME"))
        w->padding = TFD_WINDOW_SAME;
    else if (tfd_str_is(text, "EXPLICIT"))
        w->padding = TFD_WINDOW_EXPLICIT;
    TFD_TRY(read_numbers(n, "strides", w, w->stride, st));
    TFD_TRY(read_numbers(n, "dilations", w, w->dilation, st));
    TFD_TRY(read_numbers(n, "ksize", w, w->size, st));
    return read_explicit(n, w, st);
}

/* ---- Sizes --------------------------------------------------------------- */

enum tfd_code tfd_window_side(const struct tfd_window *w, enum tfd_window_dim d,
                              int64_t in, int64_t size,
                              struct tfd_window_side *side,
                              struct tfd_status *st)
{
    const int64_t stride = w->stride[d];
    int64_t extent, room, need;

    if (in > INT32_MAX || size > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input (%lld) or window (%lld) too large",
                        (long long)in, (long long)size);
    extent = (size - 1) * w->dilation[d] + 1;
    room = in + w->before[d] + w->after[d] - extent + stride;
    *side = (struct tfd_window_side){.in = in,
                                     .size = size,
                                     .stride = stride,
                                     .dilation = w->dilation[d],
                                     .before = w->before[d]};
    if (w->padding == TFD_WINDOW_SAME) {
        side->out = (in + stride - 1) / stride;
        need = (side->out - 1) * stride + extent - in;
        side->before = need > 0 ? need / 2 : 0;
        return TFD_OK;
    }
    if (room / stride < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Computed output size would be negative: %lld "
                        "[input_size: %lld, effective_filter_size: %lld, "
                        "stride: %lld]",
                        (long long)(room / stride), (long long)in,
                        (long long)extent, (long long)stride);
    side->out = room / stride;
    return TFD_OK;
}

enum tfd_code tfd_window_out(const struct tfd_window *w, enum tfd_window_dim d,
                             int64_t in, int64_t size, int64_t *out,
                             struct tfd_status *st)
{
    struct tfd_window_side side;

    *out = TFD_DIM_UNKNOWN;
    if (in == TFD_DIM_UNKNOWN || size == TFD_DIM_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_window_side(w, d, in, size, &side, st));
    *out = side.out;
    return TFD_OK;
}

enum tfd_code tfd_window_check_shape(const char *what,
                                     const struct tfd_shape *have,
                                     const struct tfd_shape *want,
                                     struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(have, want))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s",
            what, tfd_shape_text(want, wanted), tfd_shape_text(have, text));
    return TFD_OK;
}

/* Steps of a window's elements that pass n; most windows have no gaps, and
 * division is slow. */
static int64_t steps(int64_t n, int64_t dilation)
{
    return dilation == 1 ? n : (n + dilation - 1) / dilation;
}

void tfd_window_inside(const struct tfd_window_side *side, int64_t at,
                       int64_t *first, int64_t *last)
{
    const int64_t start = at * side->stride - side->before;
    int64_t end = steps(side->in - start, side->dilation);

    *first = start < 0 ? steps(-start, side->dilation) : 0;
    if (end > side->size)
        end = side->size;
    *last = start >= side->in || end < *first ? *first : end;
}

void tfd_window_over(const struct tfd_window_side *side, int64_t at,
                     int64_t *first, int64_t *last)
{
    const int64_t from = at + side->before - side->size; /* the last before */

    *first = from < 0 ? 0 : from / side->stride + 1;
    *last = (at + side->before) / side->stride + 1;
    if (*last > side->out)
        *last = side->out;
}
