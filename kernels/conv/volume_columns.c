/*
 * volume_columns.c - im2col and col2im of volumes: see conv_volume.h.
 */
#include "kernels/conv/conv_volume.h"

#include <string.h>

int64_t tfd_volume_columns_length(const struct tfd_conv_volume *c)
{
    return c->plane.size * c->row.size * c->column.size * c->in_channels;
}

/* Where the window of one output pixel lies along a side: its first element in
 * x, which may be outside, and which of its elements are inside. */
struct reach {
    int64_t at, first, last;
};

static struct reach reach_of(const struct tfd_window_side *s, int64_t window)
{
    struct reach r = {.at = window * s->stride - s->before};

    tfd_window_inside(s, window, &r.first, &r.last);
    return r;
}

struct window {
    int64_t volume;
    struct reach plane, row, column;
};

static struct window window_of_pixel(const struct tfd_conv_volume *c,
                                     int64_t pixel)
{
    const int64_t row = pixel / c->column.out, plane = row / c->row.out;

    return (struct window){.volume = plane / c->plane.out,
                           .plane = reach_of(&c->plane, plane % c->plane.out),
                           .row = reach_of(&c->row, row % c->row.out),
                           .column =
                               reach_of(&c->column, pixel % c->column.out)};
}

/* The number of an element of x, by its place in the window. */
static int64_t element_at(const struct tfd_conv_volume *c,
                          const struct window *w, int64_t a, int64_t b,
                          int64_t d)
{
    const int64_t plane = w->plane.at + a * c->plane.dilation;
    const int64_t row = w->row.at + b * c->row.dilation;
    const int64_t column = w->column.at + d * c->column.dilation;

    return (((w->volume * c->plane.in + plane) * c->row.in + row) *
                c->column.in +
            column) *
           c->in_channels;
}

/* A row of the window, whose columns lie together unless there are gaps. */
static void copy_window_row(const struct tfd_conv_volume *c,
                            const struct window *w, int64_t a, int64_t b,
                            char *to)
{
    const size_t item = tfd_dtype_size(c->dtype);
    const size_t depth = (size_t)c->in_channels * item;
    const int64_t first = w->column.first, last = w->column.last;
    const int64_t run = c->column.dilation == 1 ? last - first : 1;

    memset(to, 0, (size_t)first * depth);
    for (int64_t d = first; d < last; d += run)
        memcpy(to + (size_t)d * depth,
               (const char *)c->x + (size_t)element_at(c, w, a, b, d) * item,
               (size_t)run * depth);
    memset(to + (size_t)last * depth, 0,
           (size_t)(c->column.size - last) * depth);
}

void tfd_volume_columns_make(const struct tfd_conv_volume *c, int64_t pixel,
                             int64_t n, void *to)
{
    const size_t row_size =
        (size_t)(c->column.size * c->in_channels) * tfd_dtype_size(c->dtype);
    char *at = to;

    for (const int64_t end = pixel + n; pixel < end; pixel++) {
        const struct window w = window_of_pixel(c, pixel);

        for (int64_t a = 0; a < c->plane.size; a++)
            for (int64_t b = 0; b < c->row.size; b++, at += row_size)
                if (a < w.plane.first || a >= w.plane.last || b < w.row.first ||
                    b >= w.row.last || w.column.first == w.column.last)
                    memset(at, 0, row_size);
                else
                    copy_window_row(c, &w, a, b, at);
    }
}

/* ---- Back to the volume -------------------------------------------------- */

#define ADD_COLUMNS(T)                                                        \
    static void add_run_##T(T *to, const T *from, int64_t n)                  \
    {                                                                         \
        for (int64_t i = 0; i < n; i++)                                       \
            to[i] += from[i];                                                 \
    }                                                                         \
                                                                              \
    static void add_window_##T(const struct tfd_conv_volume *c,               \
                               const struct window *w, const T *from)         \
    {                                                                         \
        const int64_t first = w->column.first, last = w->column.last;         \
        const int64_t run = c->column.dilation == 1 ? last - first : 1;       \
                                                                              \
        for (int64_t a = w->plane.first; a < w->plane.last; a++)              \
            for (int64_t b = w->row.first; b < w->row.last; b++)              \
                for (int64_t d = first; d < last; d += run)                   \
                    add_run_##T(                                              \
                        (T *)c->x + element_at(c, w, a, b, d),                \
                        from + ((a * c->row.size + b) * c->column.size + d) * \
                                   c->in_channels,                            \
                        run * c->in_channels);                                \
    }

ADD_COLUMNS(float)
ADD_COLUMNS(double)

void tfd_volume_columns_add(const struct tfd_conv_volume *c, int64_t pixel,
                            int64_t n, const void *from)
{
    const int64_t length = tfd_volume_columns_length(c);

    for (int64_t i = 0; i < n; i++) {
        const struct window w = window_of_pixel(c, pixel + i);

        if (c->dtype == TFD_FLOAT)
            add_window_float(c, &w, (const float *)from + i * length);
        else
            add_window_double(c, &w, (const double *)from + i * length);
    }
}
