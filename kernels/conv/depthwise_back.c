/*
 * depthwise_back.c - see depthwise.h.
 *
 * The gradient of x is computed pixel by pixel, each from the pixels of y that
 * its value went to, so that its sums stay in registers.  That of the filter is
 * computed tap by tap: a stretch of a row of y and what the tap meets of a row
 * of x give the sums of some channels, which stay in registers along it.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/conv/depthwise_pixel.h"
#include "kernels/vector/simd.h"

#include <string.h>

static int64_t w_of(const struct tfd_depthwise *d, int64_t i, int64_t j)
{
    return (i * d->column.size + j) * d->in;
}

/* ---- The gradient of x --------------------------------------------------- */

/* What a row or column of x went to along its side: taps, and the rows or
 * columns of y. */
struct went {
    int count;
    int tap[TFD_TAPS_MAX];
    int64_t to[TFD_TAPS_MAX];
};

static void find_side(const struct tfd_window_side *s, int64_t at,
                      struct went *went)
{
    went->count = 0;
    for (int i = 0; i < s->size; i++) {
        const int64_t ahead = at + s->before - i * s->dilation;

        if (ahead < 0)
            break;
        if (ahead % s->stride == 0 && ahead / s->stride < s->out) {
            went->tap[went->count] = i;
            went->to[went->count++] = ahead / s->stride;
        }
    }
}

/* The taps of a pixel of x, and of those after it in its row that have the
 * same ones, where that is easily seen. */
struct taps {
    int64_t pixel, first, end, same;
    struct went row, column;
    struct tfd_taps of;
};

static void find_taps(const struct tfd_depthwise *d, struct taps *t)
{
    t->of.count = 0;
    for (int i = 0; i < t->row.count; i++)
        for (int j = 0; j < t->column.count; j++) {
            t->of.x[t->of.count] =
                (t->row.to[i] * d->column.out + t->column.to[j]) * d->in;
            t->of.w[t->of.count++] = w_of(d, t->row.tap[i], t->column.tap[j]);
        }
}

static inline void begin_row(const struct tfd_depthwise *d, int64_t row,
                             struct taps *t)
{
    find_side(&d->row, row, &t->row);
    t->pixel = 0;
    t->first = t->end = -1; /* of no pixel */
}

/* Whether a pixel of the row that the taps are of has the same ones. */
static inline bool has_taps(const struct tfd_depthwise *d, int64_t column,
                            const struct taps *t)
{
    const struct tfd_window_side *s = &d->column;
    const int64_t at = column + s->before;

    return s->stride == 1 && s->dilation == 1 &&
           (at < s->out ? 0 : at - s->out + 1) == t->first &&
           (at < s->size ? at + 1 : s->size) == t->end;
}

/* Offset of what a pixel's taps meet from what those meet that are known, which
 * are made known where they differ. */
static inline int64_t move_taps(const struct tfd_depthwise *d, int64_t column,
                                struct taps *t)
{
    const struct tfd_window_side *s = &d->column;
    const int64_t at = column + s->before;

    if (has_taps(d, column, t))
        return (column - t->pixel) * d->in;
    t->pixel = column;
    t->first = at < s->out ? 0 : at - s->out + 1;
    t->end = at < s->size ? at + 1 : s->size;
    t->same = s->out - s->before < s->in ? s->out - s->before : s->in;
    find_side(s, column, &t->column);
    find_taps(d, t);
    return 0;
}

#define INPUT(name, number, T)                                                \
    /* Rows of x. */                                                          \
    TFD_SIMD_LOOP(input_##name)                                               \
    {                                                                         \
        const struct tfd_depthwise *d = arg;                                  \
        const int64_t image = d->row.out * d->column.out * d->in;             \
        struct taps taps;                                                     \
                                                                              \
        for (int64_t r = begin; r < end && !tfd_halted(); r++) {              \
            const T *dy = (const T *)d->y + r / d->row.in * image;            \
            T *dx = (T *)d->x + r * d->column.in * d->in;                     \
                                                                              \
            begin_row(d, r % d->row.in, &taps);                               \
            for (int64_t p = 0; p < d->column.in;) {                          \
                const T *from = dy + move_taps(d, p, &taps);                  \
                const int64_t last = p + TFD_TAPS_PIXELS - 1;                 \
                                                                              \
                if (last < d->column.in && has_taps(d, last, &taps)) {        \
                    const int64_t n =                                         \
                        tfd_taps_pixels(taps.same - p, TFD_TAPS_MOST_##name); \
                                                                              \
                    tfd_depthwise_pixels_##name(d, &taps.of, from, d->in, n,  \
                                                dx + p * d->in);              \
                    p += n;                                                   \
                } else {                                                      \
                    tfd_depthwise_pixel_##name(d, &taps.of, from,             \
                                               dx + p * d->in, 0);            \
                    p++;                                                      \
                }                                                             \
            }                                                                 \
        }                                                                     \
    }

TFD_FLOAT_DTYPES(INPUT)
INPUT(BFLOAT16, 14, tfd_bfloat16)
TFD_SIMD_CLONES_WIDE(input_FLOAT)
TFD_SIMD_CLONES_WIDE(input_DOUBLE)

/* ---- The gradient of the filter ------------------------------------------ */

/* Channels whose sums stay in registers. */
#define LANES(T) ((int)(64 / sizeof(T)))
#define FEW 4

/* A row of y and the row of x that a tap meets: `pixels` of both, whose steps
 * are in elements. */
struct rows {
    const void *x, *y;
    int64_t x_step, y_step, pixels;
    int64_t first; /* column of y */
};

/* Where a tap meets a row of y: columns [first, first + pixels), of which the
 * first one meets column x of the row of x. */
struct columns {
    int64_t first, pixels, x;
};

static struct columns columns_of(const struct tfd_window_side *s, int64_t tap)
{
    const int64_t back = s->before - tap * s->dilation;
    const int64_t room = s->in - 1 + back; /* of the last column of y, in x */
    const int64_t all = room < 0 ? 0 : room / s->stride + 1;
    const int64_t end = all < s->out ? all : s->out;
    const int64_t first = back <= 0 ? 0 : (back + s->stride - 1) / s->stride;

    return (struct columns){first, end > first ? end - first : 0,
                            first * s->stride - back};
}

/* The rows of y of all images in parts, each with a sum of its own: the first
 * one's is the filter, the others' lie one after the other in `more`. */
struct parts {
    const struct tfd_depthwise *d;
    void *more;
    int64_t count, rows, filter; /* a part's rows; elements of the filter */
    struct columns columns[TFD_TAPS_MAX]; /* of taps 0, 1, ... of a row */
};

/* What tap j of a row meets of a row of x and one of y. */
static inline struct rows rows_of(const struct parts *p, const void *x,
                                  const void *y, int64_t j, size_t size)
{
    const struct columns *c = &p->columns[j];
    const int64_t in = p->d->in;

    return (struct rows){
        .x = (const char *)x + (size_t)(c->x * in) * size,
        .y = (const char *)y + (size_t)(c->first * in) * size,
        .x_step = p->d->column.stride * in,
        .y_step = in,
        .pixels = c->pixels,
        .first = c->first,
    };
}

/* Columns [from, to) of y, where the tap meets them. */
static inline struct rows cut_rows(struct rows r, int64_t from, int64_t to,
                                   size_t size)
{
    const int64_t end = r.first + r.pixels;

    from = from > r.first ? from : r.first;
    to = to < end ? to : end;
    r.x = (const char *)r.x + (size_t)((from - r.first) * r.x_step) * size;
    r.y = (const char *)r.y + (size_t)((from - r.first) * r.y_step) * size;
    r.first = from;
    r.pixels = to > from ? to - from : 0;
    return r;
}

/* What is asked for pixel by pixel: what lies that many bytes behind those of
 * x, or where that is 0 of y.  A register's channels are a line of each pixel,
 * which processors do not foresee. */
struct ahead {
    size_t x, y;
};

/* Three taps that follow each other: the pixels of y that all of them meet, and
 * what each meets before and after those. */
struct three {
    struct rows inside[3], rest[3][2];
};

/* Of pixels [from, to) of y and taps from j on. */
static struct three three_of(const struct parts *p, const void *x,
                             const void *y, int64_t j, int64_t from, int64_t to,
                             size_t size)
{
    struct rows r[3];
    struct three t;
    int64_t begin, end;

    for (int i = 0; i < 3; i++)
        r[i] = cut_rows(rows_of(p, x, y, j + i, size), from, to, size);
    begin = r[0].first;
    end = r[2].first + r[2].pixels;
    end = end > begin ? end : begin;
    for (int i = 0; i < 3; i++) {
        t.inside[i] = cut_rows(r[i], begin, end, size);
        t.rest[i][0] = cut_rows(r[i], 0, begin, size);
        t.rest[i][1] = cut_rows(r[i], end, INT64_MAX, size);
    }
    return t;
}

/* Vectors of n of T, wherever they lie. */
#define VECTOR(T, n)                                               \
    typedef T T##_##n __attribute__((vector_size((n) * sizeof(T)), \
                                     aligned(sizeof(T)), may_alias))

VECTOR(float, 4);
VECTOR(float, 8);
VECTOR(double, 4);

/* Adds the products of `count` vectors of channels to dw: one pixel after the
 * other, the even and the odd ones apart. */
#define ADD_ROW(word, T, V, count)                                    \
    static inline __attribute__((always_inline)) void add_row_##word( \
        const struct rows *r, int64_t c, T *dw)                       \
    {                                                                 \
        const T *x = (const T *)r->x + c, *y = (const T *)r->y + c;   \
        V even[count] = {0}, odd[count] = {0};                        \
        int64_t p = 0;                                                \
                                                                      \
        for (; p + 2 <= r->pixels; p += 2) {                          \
            for (int v = 0; v < (count); v++) {                       \
                even[v] += ((const V *)x)[v] * ((const V *)y)[v];     \
                odd[v] += ((const V *)(x + r->x_step))[v] *           \
                          ((const V *)(y + r->y_step))[v];            \
            }                                                         \
            x += 2 * r->x_step;                                       \
            y += 2 * r->y_step;                                       \
        }                                                             \
        for (int v = 0; v < (count); v++) {                           \
            if (p < r->pixels)                                        \
                even[v] += ((const V *)x)[v] * ((const V *)y)[v];     \
            ((V *)(dw + c))[v] += even[v] + odd[v];                   \
        }                                                             \
    }

/* Adds three taps' products of two vectors of channels: those that share the
 * pixels of y, and the others. */
#define ADD_THREE(name, T, V)                                                  \
    static inline __attribute__((always_inline)) void add_inside_##name(       \
        const struct rows r[3], int64_t c, T *dw, int64_t in,                  \
        struct ahead far)                                                      \
    {                                                                          \
        const T *x0 = (const T *)r[0].x + c, *x1 = (const T *)r[1].x + c;      \
        const T *x2 = (const T *)r[2].x + c, *y = (const T *)r[0].y + c;       \
        const int64_t step = far.x ? r[1].x_step : r[0].y_step;                \
        uintptr_t ahead =                                                      \
            far.x ? (uintptr_t)x1 + far.x : (uintptr_t)y + far.y;              \
        V sum0[2] = {0}, sum1[2] = {0}, sum2[2] = {0};                         \
                                                                               \
        for (int64_t p = 0; p < r[0].pixels; p++) {                            \
            __builtin_prefetch((const void *)ahead, 0, 2);                     \
            ahead += (size_t)step * sizeof(T);                                 \
            for (int v = 0; v < 2; v++) {                                      \
                sum0[v] += ((const V *)x0)[v] * ((const V *)y)[v];             \
                sum1[v] += ((const V *)x1)[v] * ((const V *)y)[v];             \
                sum2[v] += ((const V *)x2)[v] * ((const V *)y)[v];             \
            }                                                                  \
            x0 += r[0].x_step;                                                 \
            x1 += r[1].x_step;                                                 \
            x2 += r[2].x_step;                                                 \
            y += r[0].y_step;                                                  \
        }                                                                      \
        for (int v = 0; v < 2; v++) {                                          \
            ((V *)(dw + c))[v] += sum0[v];                                     \
            ((V *)(dw + in + c))[v] += sum1[v];                                \
            ((V *)(dw + 2 * in + c))[v] += sum2[v];                            \
        }                                                                      \
    }                                                                          \
                                                                               \
    static inline __attribute__((always_inline)) void add_three_##name(        \
        const struct three *t, int64_t c, T *dw, int64_t in, struct ahead far) \
    {                                                                          \
        add_inside_##name(t->inside, c, dw, in, far);                          \
        for (int i = 0; i < 6; i++)                                            \
            if (t->rest[i / 2][i % 2].pixels)                                  \
                add_row_##name(&t->rest[i / 2][i % 2], c, dw + i / 2 * in);    \
    }

ADD_ROW(FLOAT, float, float_8, 2)
ADD_ROW(few_FLOAT, float, float_4, 1)
ADD_ROW(one_FLOAT, float, float, 1)
ADD_ROW(DOUBLE, double, double_4, 2)
ADD_ROW(few_DOUBLE, double, double_4, 1)
ADD_ROW(one_DOUBLE, double, double, 1)
ADD_THREE(FLOAT, float, float_8)
ADD_THREE(DOUBLE, double, double_4)

#define STRETCH_BYTES 8192 /* of a row of y, which stay in the first cache */
#define STRETCH_MIN 16     /* pixels */

/* The next row of y while the first row of taps is at it, and the last row of x
 * that it meets while the last one is. */
static struct ahead ahead_of(const struct tfd_depthwise *d, bool first,
                             bool last, size_t size)
{
    const size_t x = (size_t)(d->row.stride * d->column.in * d->in) * size;
    const size_t y = (size_t)(d->column.out * d->in) * size;

    return (struct ahead){last && !first ? x : 0, first ? y : 0};
}

#define FILTER(name, number, T)                                                \
    /* Channels of a tap, from c on, that are no whole register. */            \
    static inline __attribute__((always_inline)) void add_rest_##name(         \
        const struct rows *r, int64_t c, int64_t in, T *dw)                    \
    {                                                                          \
        for (; c + FEW <= in; c += FEW)                                        \
            add_row_few_##name(r, c, dw);                                      \
        for (; c < in; c++)                                                    \
            add_row_one_##name(r, c, dw);                                      \
    }                                                                          \
                                                                               \
    /* Pixels [from, to) of y. */                                              \
    static inline __attribute__((always_inline)) void add_taps_##name(         \
        const struct parts *p, const T *x, const T *y, T *dw, int64_t from,    \
        int64_t to, struct ahead ahead)                                        \
    {                                                                          \
        const int64_t in = p->d->in, whole = in - in % LANES(T);               \
        const int64_t size = p->d->column.size;                                \
        const int64_t threes = whole > 0 ? size - size % 3 : 0;                \
                                                                               \
        for (int64_t j = 0; j < threes; j += 3) {                              \
            const struct three t = three_of(p, x, y, j, from, to, sizeof(T));  \
                                                                               \
            for (int64_t c = 0; c < whole; c += LANES(T))                      \
                add_three_##name(&t, c, dw + j * in, in, ahead);               \
        }                                                                      \
        for (int64_t j = whole < in ? 0 : threes; j < size; j++) {             \
            const struct rows r =                                              \
                cut_rows(rows_of(p, x, y, j, sizeof(T)), from, to, sizeof(T)); \
                                                                               \
            for (int64_t c = 0; j >= threes && c < whole; c += LANES(T))       \
                add_row_##name(&r, c, dw + j * in);                            \
            add_rest_##name(&r, whole, in, dw + j * in);                       \
        }                                                                      \
    }                                                                          \
                                                                               \
    static inline __attribute__((always_inline)) void add_pixels_##name(       \
        const struct parts *parts, int64_t r, int64_t from, int64_t to,        \
        T *sum)                                                                \
    {                                                                          \
        const struct tfd_depthwise *d = parts->d;                              \
        const int64_t in = d->in;                                              \
        int64_t i, last;                                                       \
                                                                               \
        tfd_window_inside(&d->row, r % d->row.out, &i, &last);                 \
        for (const int64_t first = i; i < last; i++) {                         \
            const int64_t row = r / d->row.out * d->row.in +                   \
                                r % d->row.out * d->row.stride -               \
                                d->row.before + i * d->row.dilation;           \
            const T *x = (const T *)d->x + row * d->column.in * in;            \
                                                                               \
            add_taps_##name(                                                   \
                parts, x, (const T *)d->y + r * d->column.out * in,            \
                sum + w_of(d, i, 0), from, to,                                 \
                ahead_of(d, i == first, i + 1 == last, sizeof(T)));            \
        }                                                                      \
    }                                                                          \
                                                                               \
    /* Adds up the sums of the parts. */                                       \
    static void add_parts_##name(const struct parts *p)                        \
    {                                                                          \
        T *sum = p->d->w;                                                      \
                                                                               \
        for (int64_t part = 1; part < p->count; part++) {                      \
            const T *more = (const T *)p->more + (part - 1) * p->filter;       \
                                                                               \
            for (int64_t i = 0; i < p->filter; i++)                            \
                sum[i] += more[i];                                             \
        }                                                                      \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(filter_##name)                                               \
    {                                                                          \
        const struct parts *parts = arg;                                       \
        const struct tfd_depthwise *d = parts->d;                              \
        const int64_t rows = d->batch * d->row.out;                            \
        const int64_t fit = STRETCH_BYTES / (int64_t)sizeof(T) / d->in;        \
        const int64_t stretch = fit > STRETCH_MIN ? fit : STRETCH_MIN;         \
                                                                               \
        for (int64_t part = begin; part < end; part++) {                       \
            T *sum = part == 0                                                 \
                         ? (T *)d->w                                           \
                         : (T *)parts->more + (part - 1) * parts->filter;      \
            const int64_t to = (part + 1) * parts->rows;                       \
                                                                               \
            memset(sum, 0, (size_t)parts->filter * sizeof(T));                 \
            for (int64_t r = part * parts->rows;                               \
                 r < (to < rows ? to : rows) && !tfd_halted(); r++)            \
                for (int64_t at = 0; at < d->column.out; at += stretch)        \
                    add_pixels_##name(parts, r, at,                            \
                                      at + stretch < d->column.out             \
                                          ? at + stretch                       \
                                          : d->column.out,                     \
                                      sum);                                    \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES(filter_##name)

TFD_FLOAT_DTYPES(FILTER)

/* ---- Which one ----------------------------------------------------------- */

/* As many whatever the number of threads, so that the sums are the same. */
#define PARTS_MAX 16
#define ROWS_MIN 8

/* Three taps of bfloat16, from j on, of channels from c on. */
static void dot_three(const struct parts *p, const tfd_bfloat16 *x,
                      const tfd_bfloat16 *y, float *dw, int64_t c, int64_t j)
{
    const struct three t = three_of(p, x, y, j, 0, INT64_MAX, sizeof(*x));
    const int64_t in = p->d->in;
    struct tfd_dot_rows all = {.x_step = t.inside[0].x_step,
                               .y_step = t.inside[0].y_step,
                               .channels = in - c};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            struct tfd_dot_rows one = all;

            one.x[0] = (const tfd_bfloat16 *)t.rest[i][k].x + c;
            one.y = (const tfd_bfloat16 *)t.rest[i][k].y + c;
            one.pixels = t.rest[i][k].pixels;
            one.dw[0] = dw + i * in + c;
            if (one.pixels > 0)
                tfd_depthwise_dot_rows(&one, 1);
        }
        all.x[i] = (const tfd_bfloat16 *)t.inside[i].x + c;
        all.dw[i] = dw + i * in + c;
    }
    all.y = (const tfd_bfloat16 *)t.inside[0].y + c;
    all.pixels = t.inside[0].pixels;
    if (all.pixels > 0)
        tfd_depthwise_dot_rows(&all, 3);
}

/* A row of x that meets a row of y, and what that adds to a row of taps. */
static void dot_taps(const struct parts *p, const tfd_bfloat16 *x,
                     const tfd_bfloat16 *y, float *dw)
{
    const struct tfd_depthwise *d = p->d;

    for (int64_t c = 0; c < d->in; c += TFD_DOT_CHANNELS) {
        int64_t j = 0;

        for (; j + 3 <= d->column.size; j += 3)
            dot_three(p, x, y, dw + j * d->in, c, j);
        for (; j < d->column.size; j++) {
            const struct rows r = rows_of(p, x, y, j, sizeof(*x));
            const struct tfd_dot_rows one = {
                .x = {(const tfd_bfloat16 *)r.x + c},
                .y = (const tfd_bfloat16 *)r.y + c,
                .x_step = r.x_step,
                .y_step = r.y_step,
                .pixels = r.pixels,
                .channels = d->in - c,
                .dw = {dw + j * d->in + c}};

            if (r.pixels > 0)
                tfd_depthwise_dot_rows(&one, 1);
        }
    }
}

static void dot_output_row(const struct parts *p, int64_t r, float *sum)
{
    const struct tfd_depthwise *d = p->d;
    const int64_t at = r % d->row.out;
    int64_t i, last;

    for (tfd_window_inside(&d->row, at, &i, &last); i < last; i++) {
        const int64_t row = r / d->row.out * d->row.in + at * d->row.stride -
                            d->row.before + i * d->row.dilation;

        dot_taps(p, (const tfd_bfloat16 *)d->x + row * d->column.in * d->in,
                 (const tfd_bfloat16 *)d->y + r * d->column.out * d->in,
                 sum + w_of(d, i, 0));
    }
}

/* Parts, whose sums are float. */
static void filter_BFLOAT16(void *arg, int64_t begin, int64_t end)
{
    const struct parts *p = arg;
    const struct tfd_depthwise *d = p->d;
    const int64_t rows = d->batch * d->row.out;

    for (int64_t part = begin; part < end; part++) {
        const int64_t to = (part + 1) * p->rows;
        float *sum =
            part == 0 ? d->w : (float *)p->more + (part - 1) * p->filter;

        memset(sum, 0, (size_t)p->filter * sizeof(float));
        for (int64_t r = part * p->rows;
             r < (to < rows ? to : rows) && !tfd_halted(); r++)
            dot_output_row(p, r, sum);
    }
}

static tfd_range_fn *loop_of(enum tfd_dtype dtype, bool filter)
{
    if (dtype == TFD_BFLOAT16)
        return filter ? filter_BFLOAT16 : input_BFLOAT16_loop;
    if (dtype == TFD_DOUBLE)
        return filter ? filter_DOUBLE : input_DOUBLE;
    return filter ? filter_FLOAT : input_FLOAT;
}

static void run_filter(struct tfd_kctx *k, const struct tfd_depthwise *d,
                       enum tfd_dtype dtype)
{
    const int64_t rows = d->batch * d->row.out;
    const int64_t most =
        rows / ROWS_MIN < PARTS_MAX ? rows / ROWS_MIN : PARTS_MAX;
    struct parts p = {.d = d, .count = most > 1 ? most : 1};
    struct tfd_buffer *more = NULL;

    p.filter = d->row.size * d->column.size * d->in;
    if (p.count > 1)
        more = tfd_buffer_new(
            (size_t)((p.count - 1) * p.filter) *
            (dtype == TFD_DOUBLE ? sizeof(double) : sizeof(float)));
    if (!more)
        p.count = 1;
    p.more = more ? more->data : NULL;
    p.rows = (rows + p.count - 1) / p.count;
    for (int64_t j = 0; j < d->column.size; j++)
        p.columns[j] = columns_of(&d->column, j);
    tfd_kctx_parallel(k, p.count, tfd_depthwise_cost(d, p.count),
                      loop_of(dtype, true), &p);
    (dtype == TFD_DOUBLE ? add_parts_DOUBLE : add_parts_FLOAT)(&p);
    tfd_buffer_unref(more);
}

bool tfd_depthwise_back(struct tfd_kctx *k, const struct tfd_depthwise *d,
                        enum tfd_depthwise_loop loop, enum tfd_dtype dtype)
{
    const int64_t rows = d->batch * d->row.in;

    if (!tfd_taps_fit(d) || loop == TFD_DEPTHWISE_FORWARD)
        return false;
    if (loop == TFD_DEPTHWISE_INPUT)
        tfd_kctx_parallel(k, rows, tfd_depthwise_cost(d, rows),
                          loop_of(dtype, false), (void *)d);
    else
        run_filter(k, d, dtype);
    return true;
}
