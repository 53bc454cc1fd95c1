/*
 * test_conv.c - convolutions by oneDNN (conv_dnnl.c, conv_primitive*.c), by
 * products of matrices (conv_gemm.c, conv_columns.c) and as images lie
 * (conv_direct.c); plain loops in double are the judge.
 */
#include "common/base/alloc.h"
#include "common/base/half.h"
#include "common/thread/pool.h"
#include "config/limits.h"
#include "kernels/conv/conv_dnnl.h"
#include "kernels/conv/conv_primitives.h"
#include "kernels/core/runtime.h"
#include "kernels/linalg/dnnl.h"
#include "kernels/linalg/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FEW_THREADS 3
#include "tests/unit/kernels/judge.h"
#include "tests/unit/kernels/conv/conv_rig.h"

/* oneDNN's code for SSE is products too. */
static bool has_primitives(void)
{
    return tfd_dnnl_has_primitives() && __builtin_cpu_supports("avx2");
}

/* ---- Operands ------------------------------------------------------------ */

/* in, out, size, stride, dilation, before; of rows, then of columns. */
static const struct shape {
    const char *name;
    struct tfd_window_side row, column;
    int64_t batch, in_channels, out_channels, groups;
} shapes[] = {
    {"same", {14, 14, 5, 1, 1, 2}, {14, 14, 5, 1, 1, 2}, 7, 8, 16, 1},
    {"one channel", {28, 28, 5, 1, 1, 2}, {28, 28, 5, 1, 1, 2}, 4, 1, 32, 1},
    {"odd channels", {12, 10, 3, 1, 1, 0}, {13, 11, 3, 1, 1, 0}, 5, 7, 19, 1},
    {"stride", {15, 8, 3, 2, 1, 1}, {17, 9, 3, 2, 1, 1}, 6, 16, 24, 1},
    {"strides", {16, 6, 2, 3, 1, 1}, {16, 14, 3, 1, 1, 0}, 6, 16, 16, 1},
    {"left over", {18, 8, 3, 2, 1, 0}, {18, 8, 3, 2, 1, 0}, 3, 16, 16, 1},
    {"point", {9, 9, 1, 1, 1, 0}, {9, 9, 1, 1, 1, 0}, 3, 64, 32, 1},
    {"points", {9, 5, 1, 2, 1, 0}, {9, 5, 1, 2, 1, 0}, 3, 128, 64, 1},
    {"even points", {28, 14, 1, 2, 1, 0}, {14, 7, 1, 2, 1, 0}, 3, 64, 48, 1},
    {"dilation", {14, 14, 3, 1, 2, 2}, {14, 14, 3, 1, 3, 3}, 4, 16, 16, 1},
    {"padding", {8, 12, 4, 1, 1, 3}, {8, 10, 3, 1, 1, 4}, 4, 16, 16, 1},
    {"stride, few", {15, 8, 5, 2, 1, 2}, {15, 8, 5, 2, 1, 2}, 6, 3, 32, 1},
    {"large window", {3, 3, 7, 1, 1, 3}, {3, 3, 7, 1, 1, 3}, 3, 32, 16, 1},
    {"one row", {1, 1, 1, 1, 1, 0}, {64, 64, 9, 1, 1, 4}, 3, 16, 16, 1},
    {"groups", {9, 9, 3, 1, 1, 1}, {9, 9, 3, 1, 1, 1}, 4, 12, 20, 4},
    {"groups, stride", {9, 5, 3, 2, 2, 2}, {9, 5, 3, 2, 1, 1}, 4, 6, 9, 3},
    {"tall", {61, 61, 3, 1, 1, 1}, {15, 15, 3, 1, 1, 1}, 2, 16, 32, 1},
    {"tall, stride", {91, 45, 3, 2, 1, 0}, {16, 16, 3, 1, 1, 1}, 1, 16, 48, 1},
    {"tall, steps", {91, 45, 3, 2, 1, 0}, {33, 16, 3, 2, 1, 0}, 1, 16, 48, 1},
    {"tall, strides", {91, 31, 2, 3, 1, 1}, {20, 20, 3, 1, 1, 1}, 1, 32, 64, 1},
    {"tall, valid", {64, 60, 5, 1, 1, 0}, {14, 12, 3, 1, 1, 0}, 1, 16, 32, 1},
    {"tall, dilation",
     {50, 46, 3, 1, 2, 0},
     {15, 15, 3, 1, 1, 1},
     1,
     16,
     48,
     1},
    {"tall, padding", {40, 43, 4, 1, 1, 3}, {20, 20, 3, 1, 1, 1}, 1, 16, 32, 1},
    {"small", {4, 4, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}, 9, 2, 3, 1},
    {"small, stride", {5, 3, 3, 2, 1, 1}, {4, 2, 2, 2, 1, 0}, 9, 2, 3, 1},
};

/* x, w and y as numbers, each with its length. */
struct numbers {
    int64_t count[3];
    double *value[3];
};

/* Looks random, the same in every run, and little of it is round. */
JUDGE static double noise(int64_t i)
{
    return (double)((uint64_t)i * UINT64_C(2654435761) % 2003) / 1001 - 1;
}

static struct numbers numbers_of(const struct shape *s)
{
    struct numbers n = {
        .count = {s->batch * s->row.in * s->column.in * s->in_channels,
                  s->row.size * s->column.size * s->in_channels / s->groups *
                      s->out_channels,
                  s->batch * s->row.out * s->column.out * s->out_channels}};

    for (int i = 0; i < 3; i++) {
        n.value[i] = malloc((size_t)n.count[i] * sizeof(double));
        assert_non_null(n.value[i]);
        for (int64_t j = 0; j < n.count[i]; j++)
            n.value[i][j] = noise(j + 7 * i);
    }
    return n;
}

static void forget(struct numbers *n)
{
    for (int i = 0; i < 3; i++)
        free(n->value[i]);
}

/* ---- The judge ----------------------------------------------------------- */

/* value[kind's result] from the other two, by the definition. */
static const int results[] = {
    [TFD_CONV_FORWARD] = 2, [TFD_CONV_INPUT] = 0, [TFD_CONV_FILTER] = 1};

JUDGE static void one_output(const struct shape *s, int result,
                             struct numbers *n, int64_t image, int64_t row,
                             int64_t column, int64_t out)
{
    const int64_t depth = s->in_channels / s->groups;
    const int64_t group = out / (s->out_channels / s->groups);
    const int64_t y = ((image * s->row.out + row) * s->column.out + column) *
                          s->out_channels +
                      out;

    for (int64_t i = 0; i < s->row.size * s->column.size * depth; i++) {
        int64_t a = row * s->row.stride - s->row.before +
                    i / depth / s->column.size * s->row.dilation;
        int64_t b = column * s->column.stride - s->column.before +
                    i / depth % s->column.size * s->column.dilation;
        int64_t w = i * s->out_channels + out;
        int64_t x =
            ((image * s->row.in + a) * s->column.in + b) * s->in_channels +
            group * depth + i % depth;

        if (a < 0 || a >= s->row.in || b < 0 || b >= s->column.in)
            continue;
        if (result == 0)
            n->value[0][x] += n->value[1][w] * n->value[2][y];
        else if (result == 1)
            n->value[1][w] += n->value[0][x] * n->value[2][y];
        else
            n->value[2][y] += n->value[0][x] * n->value[1][w];
    }
}

JUDGE static void judge(const struct shape *s, int result, struct numbers *n)
{
    memset(n->value[result], 0, (size_t)n->count[result] * sizeof(double));
    for (int64_t image = 0; image < s->batch; image++)
        for (int64_t row = 0; row < s->row.out; row++)
            for (int64_t column = 0; column < s->column.out; column++)
                for (int64_t out = 0; out < s->out_channels; out++)
                    one_output(s, result, n, image, row, column, out);
}

/* ---- Cases --------------------------------------------------------------- */

struct operands {
    struct tfd_conv c;
    void *bytes[3];
};

#define FILL(T)                                                    \
    static void fill_##T(const struct numbers *n, int i, void *to) \
    {                                                              \
        for (int64_t j = 0; j < n->count[i]; j++)                  \
            ((T *)to)[j] = (T)n->value[i][j];                      \
    }

FILL(float)
FILL(double)

static void fill_bfloat16(const struct numbers *n, int i, void *to)
{
    for (int64_t j = 0; j < n->count[i]; j++)
        ((tfd_bfloat16 *)to)[j] =
            tfd_bfloat16_from_float((float)n->value[i][j]);
}

/* The result is NaN until it is written. */
static struct operands operands_of(const struct shape *s, enum tfd_dtype dtype,
                                   const struct numbers *n, int result)
{
    struct operands o = {.c = {.dtype = dtype,
                               .row = s->row,
                               .column = s->column,
                               .batch = s->batch,
                               .in_channels = s->in_channels,
                               .out_channels = s->out_channels,
                               .groups = s->groups}};

    for (int i = 0; i < 3; i++) {
        size_t size = (size_t)n->count[i] * tfd_dtype_size(dtype);

        o.bytes[i] = malloc(size);
        assert_non_null(o.bytes[i]);
        if (i == result)
            memset(o.bytes[i], 0xff, size);
        else if (dtype == TFD_FLOAT)
            fill_float(n, i, o.bytes[i]);
        else if (dtype == TFD_BFLOAT16)
            fill_bfloat16(n, i, o.bytes[i]);
        else
            fill_double(n, i, o.bytes[i]);
    }
    o.c.x = o.bytes[0];
    o.c.w = o.bytes[1];
    o.c.y = o.bytes[2];
    return o;
}

static void let_go(struct operands *o)
{
    for (int i = 0; i < 3; i++)
        free(o->bytes[i]);
}

/* Relative to the sum, but for small ones. */
static void check(const char *name, const struct operands *o, int result,
                  const struct numbers *n)
{
    const enum tfd_dtype t = o->c.dtype;
    const double limit = t == TFD_BFLOAT16 ? 8e-3
                         : t == TFD_FLOAT  ? 1e-4
                                           : 1e-11;

    for (int64_t i = 0; i < n->count[result]; i++) {
        const double want = n->value[result][i];
        double have = t == TFD_BFLOAT16
                          ? (double)tfd_bfloat16_to_float(
                                ((tfd_bfloat16 *)o->bytes[result])[i])
                      : t == TFD_FLOAT ? ((float *)o->bytes[result])[i]
                                       : ((double *)o->bytes[result])[i];

        if (!(fabs(have - want) <= limit * (1 + fabs(want))))
            fail_msg("%s, result %d: element %lld is %g, not %g", name, result,
                     (long long)i, have, want);
    }
}

static tfd_conv_fn *const functions[] = {[TFD_CONV_FORWARD] = tfd_conv_forward,
                                         [TFD_CONV_INPUT] = tfd_conv_input,
                                         [TFD_CONV_FILTER] = tfd_conv_filter};

static void check_shape(const struct shape *s, int kind, enum tfd_dtype dtype)
{
    struct numbers n = numbers_of(s);

    judge(s, results[kind], &n);
    for (size_t i = 0; i < TFD_COUNT(threads); i++) {
        struct operands o = operands_of(s, dtype, &n, results[kind]);
        struct tfd_kctx k = {.rt = threads[i] ? &runtimes[i] : NULL};

        assert_int_equal(functions[kind](&k, &o.c, NULL), TFD_OK);
        check(s->name, &o, results[kind], &n);
        let_go(&o);
    }
    forget(&n);
}

static void test_results_of_loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < TFD_COUNT(shapes); i++)
        for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++) {
            check_shape(&shapes[i], kind, TFD_FLOAT);
            check_shape(&shapes[i], kind, TFD_DOUBLE);
        }
}

/* Small enough to be summed in registers where floats are: rows of every number
 * of pixels that are summed at a time, odd channels, with and without edges. */
static void test_small_images(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 19; n++)
        for (int64_t depth = 1; depth <= 7; depth++)
            for (int edge = 0; edge < 2; edge++) {
                const struct shape s = {
                    .name = "small image",
                    .row = {3, edge ? 3 : 1, 3, 1, 1, edge},
                    .column = {n + 2, edge ? n + 2 : n, 3, 1, 1, edge},
                    .batch = 1 + n % 2,
                    .in_channels = depth,
                    .out_channels = depth % 2 ? 16 : 48,
                    .groups = 1};

                check_shape(&s, TFD_CONV_FORWARD, TFD_FLOAT);
                check_shape(&s, TFD_CONV_FORWARD, TFD_DOUBLE);
            }
}

/* ---- Who computes -------------------------------------------------------- */

/* Whether oneDNN does, alone or with so many threads. */
static bool is_taken(const struct shape *s, int kind, enum tfd_dtype dtype,
                     size_t runtime)
{
    struct numbers n = numbers_of(s);
    struct operands o = operands_of(s, dtype, &n, results[kind]);
    struct tfd_kctx k = {.rt = threads[runtime] ? &runtimes[runtime] : NULL};
    bool taken = tfd_conv_dnnl(&k, (enum tfd_conv_kind)kind, &o.c);

    if (taken) {
        judge(s, results[kind], &n);
        check(s->name, &o, results[kind], &n);
    } else {
        for (int64_t i = 0; i < n.count[results[kind]]; i++)
            assert_true(dtype != TFD_FLOAT ||
                        isnan(((float *)o.bytes[results[kind]])[i]));
    }
    let_go(&o);
    forget(&n);
    return taken;
}

static const struct shape *shape(const char *name)
{
    for (size_t i = 0; i < TFD_COUNT(shapes); i++)
        if (!strcmp(shapes[i].name, name))
            return &shapes[i];
    fail_msg("no shape %s", name);
    return NULL;
}

/* The gradient by x of a band: windows leave no gaps.  oneDNN's code for AVX2
 * has the same step both ways, too. */
static bool has_input_code(const struct shape *s)
{
    return s->row.stride <= s->row.size && (s->row.stride == s->column.stride ||
                                            __builtin_cpu_supports("avx512f"));
}

/* Of more threads than images. */
static void check_bands(const struct shape *s, int kind)
{
    const bool wanted = kind != TFD_CONV_INPUT || has_input_code(s);

    if (is_taken(s, kind, TFD_FLOAT, 1) != wanted)
        fail_msg("%s, kind %d", s->name, kind);
}

static void test_what_onednn_is_given(void **state)
{
    (void)state;
    if (!has_primitives()) {
        print_message("no oneDNN of version 2, or built without its headers, "
                      "or no AVX2\n");
        skip();
    }
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++) {
        assert_true(is_taken(shape("same"), kind, TFD_FLOAT, 0));
        assert_true(is_taken(shape("same"), kind, TFD_FLOAT, 1));
        assert_true(is_taken(shape("same"), kind, TFD_FLOAT, 2));
        assert_true(is_taken(shape("one channel"), kind, TFD_FLOAT, 0));
        assert_true(is_taken(shape("stride"), kind, TFD_FLOAT, 0));
    }
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_INPUT; kind++)
        for (size_t i = 0; i < TFD_COUNT(shapes); i++)
            if (!strncmp(shapes[i].name, "tall", 4))
                check_bands(&shapes[i], kind);
}

/* bfloat16 holds these numbers as they are. */
static void round_numbers(struct numbers *n)
{
    for (int i = 0; i < 3; i++)
        for (int64_t j = 0; j < n->count[i]; j++)
            n->value[i][j] = (double)tfd_bfloat16_to_float(
                tfd_bfloat16_from_float((float)n->value[i][j]));
}

/* Whether all threads get the same of a shape, where oneDNN takes it. */
static void check_bfloat16(const struct shape *s, int kind)
{
    struct numbers n = numbers_of(s);

    round_numbers(&n);
    judge(s, results[kind], &n);
    for (size_t i = 0; i < TFD_COUNT(threads); i++) {
        struct operands o = operands_of(s, TFD_BFLOAT16, &n, results[kind]);
        struct tfd_kctx k = {.rt = threads[i] ? &runtimes[i] : NULL};

        if (tfd_conv_dnnl(&k, (enum tfd_conv_kind)kind, &o.c))
            check(s->name, &o, results[kind], &n);
        else if (!strcmp(s->name, "same"))
            fail_msg("%s, kind %d, is not taken", s->name, kind);
        let_go(&o);
    }
    forget(&n);
}

static void test_bfloat16(void **state)
{
    (void)state;
    if (!has_primitives() || !__builtin_cpu_supports("avx512bf16")) {
        print_message("no oneDNN of version 2, or no AVX512_BF16\n");
        skip();
    }
    for (size_t i = 0; i < TFD_COUNT(shapes); i++)
        for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++)
            check_bfloat16(&shapes[i], kind);
}

static void test_what_onednn_is_not_given(void **state)
{
    (void)state;
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++) {
        assert_false(is_taken(shape("same"), kind, TFD_DOUBLE, 0));
        assert_false(is_taken(shape("tall"), kind, TFD_DOUBLE, 1));
        assert_false(is_taken(shape("groups"), kind, TFD_FLOAT, 0));
        assert_false(is_taken(shape("small"), kind, TFD_FLOAT, 0));
        assert_false(is_taken(shape("large window"), kind, TFD_FLOAT, 0));
    }
    assert_false(is_taken(shape("stride, few"), TFD_CONV_INPUT, TFD_FLOAT, 0));
    assert_false(
        is_taken(shape("tall, stride"), TFD_CONV_FILTER, TFD_FLOAT, 1));
}

static void test_without_memory(void **state)
{
    const struct shape *s = shape("same");

    (void)state;
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++) {
        struct numbers n = numbers_of(s);
        struct operands o = operands_of(s, TFD_FLOAT, &n, results[kind]);
        struct tfd_kctx k = {.rt = &runtimes[0]};
        struct tfd_status st = TFD_STATUS_INIT;

        tfd_alloc_limit(1);
        assert_false(tfd_conv_dnnl(&k, (enum tfd_conv_kind)kind, &o.c));
        assert_int_equal(functions[kind](&k, &o.c, &st),
                         TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(st.text, "OOM when allocating"));
        tfd_alloc_limit(0);
        judge(s, results[kind], &n);
        assert_int_equal(functions[kind](&k, &o.c, NULL), TFD_OK);
        check(s->name, &o, results[kind], &n);
        let_go(&o);
        forget(&n);
    }
}

/* ---- The table of primitives --------------------------------------------- */

static struct tfd_conv_shape_key key_of(int64_t channels)
{
    const struct tfd_window_side side = {8, 8, 3, 1, 1, 1};

    return (struct tfd_conv_shape_key){.kind = TFD_CONV_FORWARD,
                                       .images = 1,
                                       .in_channels = 8,
                                       .out_channels = channels,
                                       .row = side,
                                       .column = side};
}

static const struct tfd_conv_primitive *acquire(int64_t channels)
{
    const struct tfd_conv_shape_key key = key_of(channels);

    return tfd_conv_primitives_acquire(&key);
}

static void test_a_shape_is_compiled_once(void **state)
{
    const struct tfd_conv_primitive *p, *q;

    (void)state;
    if (!has_primitives())
        skip();
    p = acquire(8);
    assert_non_null(p);
    q = acquire(16);
    assert_non_null(q);
    assert_ptr_not_equal(p, q);
    assert_ptr_equal(acquire(8), p);
    tfd_conv_primitives_release(p);
    tfd_conv_primitives_release(p);
    tfd_conv_primitives_release(q);
    assert_ptr_equal(acquire(8), p);
    tfd_conv_primitives_release(p);
    tfd_conv_primitives_release(NULL);
}

static void test_what_is_in_use_stays(void **state)
{
    static const struct tfd_conv_primitive *all[TFD_CONV_PRIMITIVES_MAX];
    const struct tfd_conv_primitive *one;

    (void)state;
    if (!has_primitives())
        skip();
    for (int i = 0; i < TFD_CONV_PRIMITIVES_MAX; i++) {
        all[i] = acquire(8 * (i + 1));
        assert_non_null(all[i]);
    }
    assert_null(acquire(8 * (TFD_CONV_PRIMITIVES_MAX + 1)));
    tfd_conv_primitives_release(all[5]);
    one = acquire(8 * (TFD_CONV_PRIMITIVES_MAX + 1));
    assert_non_null(one);
    assert_null(acquire(8 * 6)); /* all[5] made room */
    tfd_conv_primitives_release(one);
    all[5] = acquire(8 * 6);
    assert_non_null(all[5]);
    for (int i = 0; i < TFD_CONV_PRIMITIVES_MAX; i++)
        tfd_conv_primitives_release(all[i]);
}

/* Numbers that generated code would count with in 32 bits, and windows outside
 * the image; a refusal is remembered as one. */
static void test_shapes_without_code(void **state)
{
    struct tfd_conv_shape_key key = key_of(8);

    (void)state;
    key.row.before = -1;
    assert_null(tfd_conv_primitives_acquire(&key));
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(8);
    key.row.out = 9;
    key.row.before = INT64_C(1) << 40;
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(8);
    key.column.stride = 0;
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(-8);
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(INT64_C(1) << 40);
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(8);
    key.images = INT64_C(1) << 30;
    assert_null(tfd_conv_primitives_acquire(&key));
    /* Sides and elements in range, but a packed filter of 3 GB. */
    key = key_of(1);
    key.in_channels = 3;
    key.row = key.column = (struct tfd_window_side){4096, 29, 4068, 1, 1, 0};
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(8);
    key.column = (struct tfd_window_side){8, 1, 3, INT32_MAX, 1, 0};
    assert_null(tfd_conv_primitives_acquire(&key));
    key = key_of(8);
    key.row = (struct tfd_window_side){8, 16, 3, 1, 1, 5};
    assert_null(tfd_conv_primitives_acquire(&key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_of_loops),
        cmocka_unit_test(test_small_images),
        cmocka_unit_test(test_what_onednn_is_given),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_what_onednn_is_not_given),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_a_shape_is_compiled_once),
        cmocka_unit_test(test_what_is_in_use_stays),
        cmocka_unit_test(test_shapes_without_code),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
