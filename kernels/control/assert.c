/*
 * assert.c - Assert: fails the step with the values that are to be shown.
 *
 *     assertion failed: [hello] [[0 1 2...]...]
 *
 * The text is TensorFlow's, which tests match on: at most `summarize` elements
 * of each tensor (-1: all), rows in brackets, "..." where something is left
 * out.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

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

static void summarize(struct tfd_bytes *b, const struct tfd_tensor *t,
                      int64_t max)
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

/* ---- Assert -------------------------------------------------------------- */

static enum tfd_code assert_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_node_int(p->node, "summarize", state, st);
}

static enum tfd_code assert_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_bytes b;
    struct tfd_str text;
    bool holds;

    TFD_TRY(tfd_check_bool(k, 0, &holds, st));
    if (holds)
        return TFD_OK;
    tfd_bytes_init(&b, 4 * TFD_STATUS_TEXT_MAX); /* the status cuts it */
    for (int i = 1; i < k->in_count; i++) {
        put_times(&b, i > 1 ? " [" : "[", 1);
        summarize(&b, &k->in[i], *(const int64_t *)k->state);
        put_times(&b, "]", 1);
    }
    text = tfd_bytes_view(&b);
    tfd_fail(st, TFD_INVALID_ARGUMENT, "assertion failed: %.*s", (int)text.size,
             text.data);
    tfd_bytes_deinit(&b);
    return TFD_INVALID_ARGUMENT;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Assert",
        .inputs = "condition: bool, data: T",
        .attrs = "T: list(type) >= 1; summarize: int = 3",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Assert", assert_cpu, .prepare = assert_prepare,
                   .state_size = sizeof(int64_t)),
};

const struct tfd_family tfd_family_assert = {
    .name = "assert",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
