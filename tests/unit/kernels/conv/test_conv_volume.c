/*
 * test_conv_volume.c - convolutions of volumes by oneDNN (conv_dnnl.c), by
 * products of matrices (conv_volume_gemm.c) and as volumes lie (conv_direct.c);
 * plain loops in double are the judge.
 */
#define _GNU_SOURCE 1

#include "common/thread/pool.h"
#include "kernels/conv/conv_dnnl.h"
#include "kernels/conv/conv_volume.h"
#include "kernels/core/runtime.h"
#include "kernels/linalg/dnnl.h"
#include "kernels/linalg/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define FEW_THREADS 2
#include "tests/unit/kernels/judge.h"
#include "tests/unit/kernels/conv/conv_rig.h"

/* in, out, size, stride, dilation, before; of planes, rows, columns. */
static const struct shape {
    const char *name;
    struct tfd_window_side side[3];
    int64_t batch, in_channels, out_channels;
} shapes[] = {
    {"same",
     {{6, 6, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}, {8, 8, 3, 1, 1, 1}},
     3,
     8,
     16},
    {"valid",
     {{7, 5, 3, 1, 1, 0}, {8, 7, 2, 1, 1, 0}, {9, 7, 3, 1, 1, 0}},
     2,
     16,
     32},
    {"odd channels",
     {{5, 5, 3, 1, 1, 1}, {9, 7, 3, 1, 1, 0}, {8, 8, 3, 1, 1, 1}},
     2,
     7,
     19},
    {"one channel",
     {{8, 8, 3, 1, 1, 1}, {9, 9, 3, 1, 1, 1}, {10, 10, 3, 1, 1, 1}},
     2,
     1,
     16},
    {"stride",
     {{9, 5, 3, 2, 1, 1}, {9, 5, 3, 2, 1, 1}, {9, 5, 3, 2, 1, 1}},
     2,
     16,
     16},
    {"strides",
     {{9, 5, 2, 2, 1, 1}, {8, 8, 3, 1, 1, 1}, {10, 3, 3, 3, 1, 0}},
     2,
     16,
     24},
    {"dilation",
     {{9, 9, 3, 1, 2, 2}, {7, 7, 3, 1, 1, 1}, {9, 9, 3, 1, 3, 3}},
     2,
     16,
     16},
    {"padding",
     {{5, 8, 4, 1, 1, 3}, {6, 6, 3, 1, 1, 1}, {7, 9, 3, 1, 1, 4}},
     2,
     16,
     16},
    {"long",
     {{40, 40, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}, {8, 8, 3, 1, 1, 1}},
     1,
     16,
     16},
    {"long, stride",
     {{61, 30, 3, 2, 1, 0}, {9, 5, 3, 2, 1, 1}, {17, 9, 3, 2, 1, 1}},
     1,
     16,
     48},
    {"few planes",
     {{4, 4, 3, 1, 1, 1}, {20, 20, 3, 1, 1, 1}, {21, 21, 3, 1, 1, 1}},
     1,
     16,
     16},
    {"few planes, stride",
     {{9, 5, 4, 2, 1, 2}, {20, 20, 3, 1, 1, 1}, {43, 21, 3, 2, 1, 0}},
     1,
     16,
     32},
    {"point",
     {{5, 5, 1, 1, 1, 0}, {6, 6, 1, 1, 1, 0}, {7, 7, 1, 1, 1, 0}},
     2,
     64,
     32},
    {"one plane",
     {{1, 1, 1, 1, 1, 0}, {14, 14, 3, 1, 1, 1}, {15, 15, 3, 1, 1, 1}},
     2,
     16,
     16},
    {"large window",
     {{3, 3, 7, 1, 1, 3}, {4, 4, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}},
     2,
     32,
     16},
    {"small",
     {{2, 2, 3, 1, 1, 1}, {3, 3, 2, 1, 1, 0}, {4, 4, 3, 1, 1, 1}},
     3,
     2,
     3},
};

static int64_t in_elements(const struct shape *s)
{
    return s->batch * s->side[0].in * s->side[1].in * s->side[2].in *
           s->in_channels;
}

static int64_t filter_elements(const struct shape *s)
{
    return s->side[0].size * s->side[1].size * s->side[2].size *
           s->in_channels * s->out_channels;
}

static int64_t out_elements(const struct shape *s)
{
    return s->batch * s->side[0].out * s->side[1].out * s->side[2].out *
           s->out_channels;
}

/* ---- The judge ----------------------------------------------------------- */

struct numbers {
    int64_t count[3];
    double *value[3]; /* x, w, y */
};

/* Looks random, the same in every run, and little of it is round. */
JUDGE static double noise(int64_t i)
{
    return (double)((uint64_t)i * UINT64_C(2654435761) % 2003) / 1001 - 1;
}

static struct numbers numbers_of(const struct shape *s)
{
    struct numbers n = {
        .count = {in_elements(s), filter_elements(s), out_elements(s)}};

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

/* By kind. */
static const int results[] = {
    [TFD_CONV_FORWARD] = 2, [TFD_CONV_INPUT] = 0, [TFD_CONV_FILTER] = 1};

/* Of one pixel of y and one of the window, by the definition. */
JUDGE static void one_pair(const struct shape *s, int result, struct numbers *n,
                           const int64_t *at, int64_t y, int64_t window)
{
    int64_t pixel = y / (s->side[0].out * s->side[1].out * s->side[2].out);
    int64_t left = window;
    int64_t from[3];

    for (int i = 2; i >= 0; i--) {
        const struct tfd_window_side *side = &s->side[i];

        from[i] = at[i] * side->stride - side->before +
                  left % side->size * side->dilation;
        left /= side->size;
        if (from[i] < 0 || from[i] >= side->in)
            return;
    }
    for (int i = 0; i < 3; i++)
        pixel = pixel * s->side[i].in + from[i];
    for (int64_t in = 0; in < s->in_channels; in++)
        for (int64_t out = 0; out < s->out_channels; out++) {
            double *a = &n->value[0][pixel * s->in_channels + in];
            double *w =
                &n->value[1][(window * s->in_channels + in) * s->out_channels +
                             out];
            double *b = &n->value[2][y * s->out_channels + out];

            if (result == 0)
                *a += *w * *b;
            else if (result == 1)
                *w += *a * *b;
            else
                *b += *a * *w;
        }
}

JUDGE static void judge(const struct shape *s, int result, struct numbers *n)
{
    const int64_t windows = s->side[0].size * s->side[1].size * s->side[2].size;

    memset(n->value[result], 0, (size_t)n->count[result] * sizeof(double));
    for (int64_t y = 0; y < n->count[2] / s->out_channels; y++) {
        const int64_t row = y / s->side[2].out;
        const int64_t at[] = {row / s->side[1].out % s->side[0].out,
                              row % s->side[1].out, y % s->side[2].out};

        for (int64_t window = 0; window < windows; window++)
            one_pair(s, result, n, at, y, window);
    }
}

/* ---- Cases --------------------------------------------------------------- */

struct operands {
    struct tfd_conv_volume c;
    void *bytes[3];
    size_t size[3];
};

/* Pages of which the last may not be touched; the bytes end before it. */
static size_t pages(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + 2 * page - 1) / page * page;
}

static void *new_bytes(size_t size)
{
    const size_t all = pages(size), page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, all, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + all - page, page, PROT_NONE), 0);
    return p + all - page - size;
}

static void free_bytes(void *bytes, size_t size)
{
    const size_t all = pages(size), page = (size_t)sysconf(_SC_PAGESIZE);

    munmap((char *)bytes + size + page - all, all);
}

static void fill(void *to, const double *from, int64_t n, bool narrow)
{
    for (int64_t i = 0; i < n; i++)
        if (narrow)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
}

/* The result is NaN until it is written; nothing may be read, or written,
 * behind an operand. */
static struct operands operands_of(const struct shape *s, enum tfd_dtype dtype,
                                   const struct numbers *n, int result)
{
    struct operands o = {.c = {.dtype = dtype,
                               .plane = s->side[0],
                               .row = s->side[1],
                               .column = s->side[2],
                               .batch = s->batch,
                               .in_channels = s->in_channels,
                               .out_channels = s->out_channels}};

    for (int i = 0; i < 3; i++) {
        const size_t size = (size_t)n->count[i] * tfd_dtype_size(dtype);

        o.size[i] = size;
        o.bytes[i] = new_bytes(size);
        if (i == result)
            memset(o.bytes[i], 0xff, size);
        else
            fill(o.bytes[i], n->value[i], n->count[i], dtype == TFD_FLOAT);
    }
    o.c.x = o.bytes[0];
    o.c.w = o.bytes[1];
    o.c.y = o.bytes[2];
    return o;
}

static void let_go(struct operands *o)
{
    for (int i = 0; i < 3; i++)
        free_bytes(o->bytes[i], o->size[i]);
}

static void check(const char *name, const struct operands *o, int result,
                  const struct numbers *n)
{
    const bool narrow = o->c.dtype == TFD_FLOAT;
    const double limit = narrow ? 1e-4 : 1e-11;

    for (int64_t i = 0; i < n->count[result]; i++) {
        const double want = n->value[result][i];
        const double have = narrow ? (double)((float *)o->bytes[result])[i]
                                   : ((double *)o->bytes[result])[i];

        if (!(fabs(have - want) <= limit * (1 + fabs(want))))
            fail_msg("%s, result %d: element %lld is %g, not %g", name, result,
                     (long long)i, have, want);
    }
}

static tfd_conv_volume_fn *const functions[] = {
    [TFD_CONV_FORWARD] = tfd_conv_volume_forward,
    [TFD_CONV_INPUT] = tfd_conv_volume_input,
    [TFD_CONV_FILTER] = tfd_conv_volume_filter};

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

/* ---- Who computes -------------------------------------------------------- */

static const struct shape *shape_of(const char *name)
{
    const struct shape *s = shapes;

    while (strcmp(s->name, name) != 0)
        s++;
    return s;
}

/* Whether oneDNN does, and what. */
static bool is_taken(const char *name, int kind, size_t runtime)
{
    const struct shape *s = shape_of(name);
    struct tfd_kctx k = {.rt = threads[runtime] ? &runtimes[runtime] : NULL};
    struct operands o;
    struct tfd_conv c;
    struct numbers n;
    bool taken;

    n = numbers_of(s);
    o = operands_of(s, TFD_FLOAT, &n, results[kind]);
    c = (struct tfd_conv){TFD_FLOAT,       s->side[0], s->side[1],
                          s->side[2],      s->batch,   s->in_channels,
                          s->out_channels, 1,          o.c.x,
                          o.c.w,           o.c.y};
    taken = tfd_conv_dnnl(&k, (enum tfd_conv_kind)kind, &c);
    if (taken) {
        judge(s, results[kind], &n);
        check(s->name, &o, results[kind], &n);
    }
    let_go(&o);
    forget(&n);
    return taken;
}

static void test_what_onednn_is_given(void **state)
{
    (void)state;
    if (!tfd_dnnl_has_primitives() || !__builtin_cpu_supports("avx512f")) {
        print_message("no oneDNN of version 2, or built without its headers, "
                      "or no AVX-512\n");
        skip();
    }
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++) {
        assert_true(is_taken("same", kind, 0));
        assert_true(is_taken("same", kind, 2));
        assert_true(is_taken("stride", kind, 0));
        assert_true(is_taken("long", kind, 2));
        assert_false(is_taken("small", kind, 0));
        assert_false(is_taken("large window", kind, 0));
    }
    assert_true(is_taken("long", TFD_CONV_FORWARD, 1));
    assert_true(is_taken("long", TFD_CONV_INPUT, 1));
    assert_true(is_taken("long, stride", TFD_CONV_FORWARD, 1));
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_FILTER; kind++)
        assert_true(is_taken("few planes", kind, 0));
    assert_true(is_taken("few planes", TFD_CONV_FORWARD, 1));
    assert_false(is_taken("few planes", TFD_CONV_INPUT, 1));
    assert_true(is_taken("few planes", TFD_CONV_FILTER, 1));
}

/* Of bfloat16 steps over planes are too much for the library: it reads what is
 * not there. */
static void test_what_onednn_gets_wrong(void **state)
{
    static const struct tfd_window_side side[] = {
        {3, 2, 3, 2, 1, 1}, {12, 6, 3, 2, 1, 0}, {20, 10, 1, 2, 1, 0}};
    const struct tfd_conv c = {TFD_BFLOAT16, side[0], side[1], side[2], 4,   16,
                               16,           1,       NULL,    NULL,    NULL};
    struct tfd_kctx k = {.rt = NULL};

    (void)state;
    assert_false(tfd_conv_dnnl(&k, TFD_CONV_FILTER, &c));
}

/* However many share it, but for the gradient by w, whose sums are parted. */
static void check_bits(const struct shape *s, int kind)
{
    const int result = results[kind];
    struct numbers n = numbers_of(s);
    struct operands one = operands_of(s, TFD_FLOAT, &n, result);
    struct operands two = operands_of(s, TFD_FLOAT, &n, result);
    struct tfd_kctx alone = {0}, shared = {.rt = &runtimes[0]};

    assert_int_equal(functions[kind](&alone, &one.c, NULL), TFD_OK);
    assert_int_equal(functions[kind](&shared, &two.c, NULL), TFD_OK);
    if (memcmp(one.bytes[result], two.bytes[result], one.size[result]) != 0)
        fail_msg("%s, kind %d", s->name, kind);
    let_go(&one);
    let_go(&two);
    forget(&n);
}

static void test_same_bits(void **state)
{
    (void)state;
    if (!tfd_dnnl_has_primitives())
        skip();
    for (int kind = TFD_CONV_FORWARD; kind <= TFD_CONV_INPUT; kind++) {
        check_bits(shape_of("long"), kind);
        check_bits(shape_of("few planes"), kind);
        check_bits(shape_of("few planes, stride"), kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_of_loops),
        cmocka_unit_test(test_what_onednn_is_given),
        cmocka_unit_test(test_what_onednn_gets_wrong),
        cmocka_unit_test(test_same_bits),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
