/*
 * summarize.c - see summarize.h.
 */
#include "kernels/core/summarize.h"

#include "common/base/half.h"
#include "common/base/min.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- One element --------------------------------------------------------- */

typedef void print_fn(struct tfd_bytes *b, const void *data, int64_t i);

/* The shorter of two precisions that gives the same number when read. */
static void print_real(struct tfd_bytes *b, double v, bool is_float)
{
    char text[40];
    bool same;

    snprintf(text, sizeof(text), "%.*g", is_float ? 6 : 15, v);
    same = is_float ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
    if (!same && !isnan(v))
        snprintf(text, sizeof(text), "%.*g", is_float ? 9 : 17, v);
    tfd_bytes_add_str(b, tfd_str_of(isnan(v) ? "nan" : text));
}

static void print_float(struct tfd_bytes *b, const void *data, int64_t i)
{
    print_real(b, (double)((const float *)data)[i], true);
}

static void print_double(struct tfd_bytes *b, const void *data, int64_t i)
{
    print_real(b, ((const double *)data)[i], false);
}

static void print_half(struct tfd_bytes *b, const void *data, int64_t i)
{
    print_real(b, (double)tfd_half_to_float(((const uint16_t *)data)[i]), true);
}

static void print_bfloat16(struct tfd_bytes *b, const void *data, int64_t i)
{
    print_real(b, (double)tfd_bfloat16_to_float(((const uint16_t *)data)[i]),
               true);
}

static void print_bool(struct tfd_bytes *b, const void *data, int64_t i)
{
    tfd_bytes_add(b, ((const tfd_bool *)data)[i] ? "1" : "0", 1);
}

static void print_escaped(struct tfd_bytes *b, unsigned char c)
{
    static const char plain[] = "\"\\'", letter[] = "\n\r\t", name[] = "nrt";

    for (size_t i = 0; i < sizeof(letter) - 1; i++)
        if (c == (unsigned char)letter[i]) {
            tfd_bytes_printf(b, "\\%c", name[i]);
            return;
        }
    for (size_t i = 0; i < sizeof(plain) - 1; i++)
        if (c == (unsigned char)plain[i]) {
            tfd_bytes_printf(b, "\\%c", c);
            return;
        }
    tfd_bytes_printf(b, c < 0x20 || c >= 0x7f ? "\\%03o" : "%c", c);
}

static void print_string(struct tfd_bytes *b, const void *data, int64_t i)
{
    struct tfd_str s = tfd_tstring_view(&((const struct tfd_tstring *)data)[i]);

    for (size_t j = 0; j < s.size && !b->failed; j++)
        print_escaped(b, (unsigned char)s.data[j]);
}

static void print_other(struct tfd_bytes *b, const void *data, int64_t i)
{
    (void)data;
    (void)i;
    tfd_bytes_add(b, "?", 1);
}

#define PRINT_INT(name, number, T)                                             \
    static void print_##name(struct tfd_bytes *b, const void *data, int64_t i) \
    {                                                                          \
        tfd_bytes_printf(b,                                                    \
                         _Generic((T)0, uint64_t                               \
                                  : "%" PRIu64, uint32_t                       \
                                  : "%" PRIu32, int64_t                        \
                                  : "%" PRId64, default                        \
                                  : "%d"),                                     \
                         ((const T *)data)[i]);                                \
    }
TFD_INT_DTYPES(PRINT_INT)

static print_fn *const printers[TFD_DTYPE_END] = {
#define X(name, number, T) [number] = print_##name,
    TFD_INT_DTYPES(X)
#undef X
        [TFD_FLOAT] = print_float,
    [TFD_DOUBLE] = print_double,
    [TFD_HALF] = print_half,
    [TFD_BFLOAT16] = print_bfloat16,
    [TFD_BOOL] = print_bool,
    [TFD_STRING] = print_string,
};

/* ---- One tensor ---------------------------------------------------------- */

/* How many dimensions but the last begin (or end) at element i. */
static int boundaries(const struct tfd_shape *s, int64_t i)
{
    int64_t stride = 1;
    int count = 0;

    for (int d = s->rank - 1; d > 0; d--) {
        stride *= s->dim[d];
        count += i % stride == 0;
    }
    return count;
}

static void put_times(struct tfd_bytes *b, const char *text, int times)
{
    while (times-- > 0)
        tfd_bytes_add_str(b, tfd_str_of(text));
}

void tfd_summarize(struct tfd_bytes *b, const struct tfd_tensor *t, int64_t max)
{
    print_fn *print = printers[t->dtype] ? printers[t->dtype] : print_other;
    int64_t count = tfd_tensor_elements(t);
    int64_t shown = max < 0 || max > count ? count : max;
    int64_t row = t->shape.rank > 0 ? t->shape.dim[t->shape.rank - 1] : 1;

    for (int64_t i = 0; i < shown && !b->failed; i++) {
        put_times(b, "[", boundaries(&t->shape, i));
        if (t->shape.rank > 0 && i % row != 0)
            tfd_bytes_add(b, " ", 1);
        print(b, tfd_tensor_data(t), i);
        put_times(b, "]", boundaries(&t->shape, i + 1));
    }
    if (shown == count)
        return;
    if (shown > 0 && t->shape.rank > 1) {
        int closed = boundaries(&t->shape, shown);

        put_times(b, "...", shown % row != 0);
        put_times(b, "]", t->shape.rank - 1 - closed);
    }
    tfd_bytes_add(b, "...", 3);
}

/* ---- The second form ----------------------------------------------------- */

struct second {
    struct tfd_bytes *out;
    const struct tfd_tensor *t;
    print_fn *print;
    int64_t ends; /* elements shown at each end of a dimension */
};

/* Strings stand in quotes, and what is not ASCII stays. */
static void print_quoted(struct tfd_bytes *b, const void *data, int64_t i)
{
    struct tfd_str s = tfd_tstring_view(&((const struct tfd_tstring *)data)[i]);

    tfd_bytes_add(b, "\"", 1);
    for (size_t j = 0; j < s.size && !b->failed; j++)
        if ((unsigned char)s.data[j] >= 0x80)
            tfd_bytes_add(b, &s.data[j], 1);
        else
            print_escaped(b, (unsigned char)s.data[j]);
    tfd_bytes_add(b, "\"", 1);
}

/* Between two parts of dimension d. */
static void put_space(const struct second *s, int d)
{
    int inner = s->t->shape.rank - 1 - d;

    if (inner == 0) {
        put_times(s->out, " ", 1);
        return;
    }
    put_times(s->out, "\n", inner);
    put_times(s->out, " ", d + 1);
}

/* Dimension d and those within it, from element `first` on; it is as deep as a
 * shape has dimensions. */
static void put_dimension(const struct second *s, int d, int64_t first)
{
    const struct tfd_shape *shape = &s->t->shape;
    int64_t count, stride = 1, tail;

    if (d == shape->rank) {
        s->print(s->out, tfd_tensor_data(s->t), first);
        return;
    }
    count = shape->dim[d];
    tail = tfd_max(s->ends, count - s->ends);
    for (int i = d + 1; i < shape->rank; i++)
        stride *= shape->dim[i];
    put_times(s->out, "[", 1);
    for (int64_t i = 0; i < count && !s->out->failed; i++) {
        if (i == s->ends && i < tail) { /* steps over what is not shown */
            put_space(s, d);
            put_times(s->out, "...", 1);
            i = tail;
            if (i == count)
                break;
        }
        if (i > 0)
            put_space(s, d);
        put_dimension(s, d + 1, first + i * stride);
    }
    put_times(s->out, "]", 1);
}

/* Types that have no text are a question mark each, in no dimension. */
static void put_unknown(const struct second *s, int64_t count)
{
    bool brackets = s->t->shape.rank > 0;

    put_times(s->out, "[", brackets);
    for (int64_t i = 0; i < tfd_min(s->ends, count) && !s->out->failed; i++)
        tfd_bytes_add_str(s->out, tfd_str_of(i ? " ?" : "?"));
    put_times(s->out, "...", s->ends < count);
    put_times(s->out, "]", brackets);
}

void tfd_summarize_v2(struct tfd_bytes *b, const struct tfd_tensor *t,
                      int64_t ends)
{
    int64_t count = tfd_tensor_elements(t);
    struct second s = {b, t, printers[t->dtype], ends < 0 ? count : ends};

    s.ends = tfd_min(s.ends, count);
    if (t->dtype == TFD_STRING)
        s.print = print_quoted;
    if (!s.print)
        put_unknown(&s, count);
    else if (t->shape.rank == 0 && s.ends == 0)
        put_times(b, "...", t->dtype != TFD_BOOL); /* that is TensorFlow's */
    else
        put_dimension(&s, 0, 0);
}
