/*
 * conv_columns.c - see conv_columns.h.
 *
 * Pixels are walked, not looked up: dividing a pixel's number by the sizes of
 * the image costs more than copying a short window.
 */
#include "kernels/conv/conv_columns.h"

#include <string.h>

struct tfd_conv_columns tfd_conv_columns_of(const struct tfd_conv *c)
{
    struct tfd_conv_columns t = {.c = c, .item = tfd_dtype_size(c->dtype)};

    t.pixels = c->row.out * c->column.out;
    t.depth = c->in_channels / c->groups;
    t.length = c->row.size * c->column.size * t.depth;
    return t;
}

/* ---- Rows of columns ----------------------------------------------------- */

/* One output pixel: where its window lies. */
struct place {
    char *image;         /* the first channel of the group, in x */
    int64_t y, x;        /* the pixel */
    int64_t row, column; /* of the window's first element; may be outside */
    int64_t row_first, row_last, column_first, column_last; /* inside */
};

size_t tfd_conv_columns_image(const struct tfd_conv_columns *t)
{
    const struct tfd_conv *c = t->c;

    return (size_t)(c->row.in * c->column.in * c->in_channels) * t->item;
}

static void set_row(const struct tfd_conv *c, int64_t y, struct place *p)
{
    p->y = y;
    p->row = y * c->row.stride - c->row.before;
    tfd_window_inside(&c->row, y, &p->row_first, &p->row_last);
}

static void set_column(const struct tfd_conv *c, int64_t x, struct place *p)
{
    p->x = x;
    p->column = x * c->column.stride - c->column.before;
    tfd_window_inside(&c->column, x, &p->column_first, &p->column_last);
}

static struct place place_of_pixel(const struct tfd_conv_columns *t,
                                   int64_t pixel, int64_t group)
{
    const struct tfd_conv *c = t->c;
    const int64_t at = pixel % t->pixels;
    struct place p;

    p.image = (char *)c->x +
              (size_t)(pixel / t->pixels) * tfd_conv_columns_image(t) +
              (size_t)(group * t->depth) * t->item;
    set_row(c, at / c->column.out, &p);
    set_column(c, at % c->column.out, &p);
    return p;
}

/* To the pixel after it, if more are wanted. */
static void move_on(const struct tfd_conv_columns *t, struct place *p,
                    int64_t more)
{
    const struct tfd_conv *c = t->c;

    if (more == 0)
        return;
    if (p->x + 1 < c->column.out) {
        set_column(c, p->x + 1, p);
        return;
    }
    set_column(c, 0, p);
    if (p->y + 1 < c->row.out) {
        set_row(c, p->y + 1, p);
        return;
    }
    set_row(c, 0, p);
    p->image += tfd_conv_columns_image(t);
}

static char *element_of(const struct tfd_conv_columns *t, const struct place *p,
                        int64_t i, int64_t j)
{
    const struct tfd_conv *c = t->c;
    int64_t row = p->row + i * c->row.dilation;
    int64_t column = p->column + j * c->column.dilation;

    return p->image +
           (size_t)((row * c->column.in + column) * c->in_channels) * t->item;
}

/* Elements of one row of the window, together where they lie so. */
static void copy_row(const struct tfd_conv_columns *t, const struct place *p,
                     int64_t i, char *to)
{
    const size_t depth = (size_t)t->depth * t->item;
    const int64_t first = p->column_first, last = p->column_last;
    const size_t left = (size_t)first * depth;
    const size_t right = (size_t)(t->c->column.size - last) * depth;

    if (left)
        memset(to, 0, left);
    if (right)
        memset(to + (size_t)last * depth, 0, right);
    to += left;
    if (t->c->groups == 1 && t->c->column.dilation == 1) {
        memcpy(to, element_of(t, p, i, first), (size_t)(last - first) * depth);
        return;
    }
    for (int64_t j = first; j < last; j++, to += depth)
        memcpy(to, element_of(t, p, i, j), depth);
}

void tfd_conv_columns_make(const struct tfd_conv_columns *t, int64_t pixel,
                           int64_t n, int64_t group, char *to)
{
    const size_t row = (size_t)(t->c->column.size * t->depth) * t->item;
    struct place p = place_of_pixel(t, pixel, group);

    for (; n > 0; move_on(t, &p, --n))
        for (int64_t i = 0; i < t->c->row.size; i++, to += row)
            if (i < p.row_first || i >= p.row_last ||
                p.column_first == p.column_last)
                memset(to, 0, row);
            else
                copy_row(t, &p, i, to);
}

/* ---- Back to the image --------------------------------------------------- */

#define ADD_COLUMNS(T, W)                                                     \
    static void add_##T(T *to, const T *from, int64_t n)                      \
    {                                                                         \
        for (int64_t i = 0; i < n; i++)                                       \
            to[i] = (T)((W)to[i] + (W)from[i]);                               \
    }                                                                         \
                                                                              \
    static void add_columns_##T(const struct tfd_conv_columns *t,             \
                                int64_t pixel, int64_t n, int64_t group,      \
                                const void *from)                             \
    {                                                                         \
        const struct tfd_conv *c = t->c;                                      \
        const bool whole = c->groups == 1 && c->column.dilation == 1;         \
        struct place p = place_of_pixel(t, pixel, group);                     \
        const T *row = from;                                                  \
                                                                              \
        for (; n > 0; move_on(t, &p, --n), row += t->length) {                \
            int64_t run = whole ? p.column_last - p.column_first : 1;         \
                                                                              \
            for (int64_t i = p.row_first; run && i < p.row_last; i++)         \
                for (int64_t j = p.column_first; j < p.column_last; j += run) \
                    add_##T((T *)element_of(t, &p, i, j),                     \
                            row + (i * c->column.size + j) * t->depth,        \
                            run * t->depth);                                  \
        }                                                                     \
    }

ADD_COLUMNS(float, float)
ADD_COLUMNS(double, double)
ADD_COLUMNS(int32_t, uint32_t)

void tfd_conv_columns_add(const struct tfd_conv_columns *t, int64_t pixel,
                          int64_t n, int64_t group, const void *from)
{
    if (t->c->dtype == TFD_FLOAT)
        add_columns_float(t, pixel, n, group, from);
    else if (t->c->dtype == TFD_DOUBLE)
        add_columns_double(t, pixel, n, group, from);
    else
        add_columns_int32_t(t, pixel, n, group, from);
}
