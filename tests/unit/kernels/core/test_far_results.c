/*
 * test_far_results.c - large results of elementwise operations, which go past
 * the caches (kernels/core/elementwise.c): sizes around where that begins,
 * pieces that end within lines, results that lie where an operand does, one
 * operand that is a scalar, elements of every size; against the same loop over
 * all elements at once.
 */
#include "common/base/alloc.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/registry.h"
#include "kernels/core/runtime.h"
#include "kernels/layout/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Of operands and result, as in elementwise.c. */
#define FAR_SIZE (28 << 20)
#define FAR_BLOCK 1024
#define NOT_ALIGNED 16 /* bytes, as of what a client sends */

/* ---- The runtime, as little of it as this needs -------------------------- */

/* Uneven pieces, the last one first. */
void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg)
{
    const int64_t at[] = {0, n / 3 - 1, n / 3 + 4, n / 2 | 1, n};

    (void)k;
    (void)s;
    for (int i = 3; i >= 0; i--)
        fn(arg, at[i], at[i + 1]);
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    (void)k;
    (void)bytes;
    fn(arg, 0, n);
}

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    (void)k;
    (void)cost;
    fn(arg, 0, n);
}

/* ---- A loop that tells how much it is given ------------------------------ */

static tfd_range_fn *real_loop;
static int64_t most; /* elements in a call */

static void spy(void *arg, int64_t begin, int64_t end)
{
    most = end - begin > most ? end - begin : most;
    real_loop(arg, begin, end);
}

/* ---- Cases --------------------------------------------------------------- */

enum scalar { NONE, LEFT, RIGHT, TWICE }; /* TWICE: x and x again */

static const struct far_case {
    const char *op;
    enum tfd_dtype from, to;
    int in_count, cost;
} cases[] = {
    {"Sub", TFD_FLOAT, TFD_FLOAT, 2, TFD_COST_MEMORY},
    {"Minimum", TFD_DOUBLE, TFD_DOUBLE, 2, TFD_COST_MEMORY},
    {"Sub", TFD_INT8, TFD_INT8, 2, TFD_COST_MEMORY},
    {"Mul", TFD_INT16, TFD_INT16, 2, TFD_COST_MEMORY},
    {"Sub", TFD_COMPLEX64, TFD_COMPLEX64, 2, TFD_COST_MEMORY},
    {"Sub", TFD_COMPLEX128, TFD_COMPLEX128, 2, TFD_COST_MEMORY},
    {"Less", TFD_INT32, TFD_BOOL, 2, TFD_COST_MEMORY},
    {"Equal", TFD_INT16, TFD_BOOL, 2, TFD_COST_MEMORY},
    {"Neg", TFD_DOUBLE, TFD_DOUBLE, 1, TFD_COST_MEMORY},
    {"Real", TFD_COMPLEX64, TFD_FLOAT, 1, TFD_COST_MEMORY},
    {"Neg", TFD_HALF, TFD_HALF, 1, TFD_COST_MEMORY},
    {"Exp", TFD_FLOAT, TFD_FLOAT, 1, 1},
};

#define PATTERN 65521 /* no multiple of a line or a block */

static void fill(uint8_t *x, size_t size, unsigned seed)
{
    static uint8_t pattern[PATTERN];

    for (int i = 0; i < PATTERN; i++) {
        seed = seed * 1103515245 + 12345;
        pattern[i] = (uint8_t)(seed >> 24 & 0x3f); /* no NaN */
    }
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < PATTERN ? size - at : PATTERN;
        memcpy(x + at, pattern, n);
    }
}

/* An operand, which begins between two lines where it is `odd`. */
static struct tfd_tensor operand(enum tfd_dtype dtype, int64_t n, bool odd,
                                 unsigned seed)
{
    const size_t size = tfd_dtype_size(dtype);
    const size_t before = odd ? NOT_ALIGNED / size : 0;
    struct tfd_tensor whole = TFD_TENSOR_INIT, t = {dtype, {1, {n}}, NULL};
    const struct tfd_shape shape = {1, {n + (int64_t)before}};

    assert_int_equal(tfd_tensor_new(&whole, dtype, &shape, NULL), TFD_OK);
    fill(tfd_tensor_data(&whole), size * (size_t)shape.dim[0], seed);
    if (!odd)
        return whole;
    t.buffer = tfd_buffer_slice(whole.buffer, before * size, (size_t)n * size);
    tfd_tensor_unref(&whole);
    return t;
}

/* What the loop makes of all at once. */
static struct tfd_tensor reference(const struct far_case *c,
                                   const struct tfd_tensor *in, int64_t n,
                                   enum scalar scalar)
{
    const struct tfd_shape shape = {1, {n}};
    struct tfd_tensor y = TFD_TENSOR_INIT;
    struct tfd_row row = {.a_step = scalar != LEFT, .b_step = scalar != RIGHT};

    assert_int_equal(tfd_tensor_new(&y, c->to, &shape, NULL), TFD_OK);
    row.a = tfd_tensor_data(&in[0]);
    row.b = c->in_count > 1 ? tfd_tensor_data(&in[1]) : NULL;
    row.y = tfd_tensor_data(&y);
    real_loop(&row, 0, n);
    return y;
}

static bool goes_far(const struct far_case *c, int64_t n, enum scalar scalar)
{
    const int64_t to = n * (int64_t)tfd_dtype_size(c->to);
    const int64_t from =
        n * (int64_t)tfd_dtype_size(c->from) * (c->in_count - (scalar != NONE));

    return c->cost == TFD_COST_MEMORY && c->from != TFD_HALF &&
           from + (scalar == TWICE ? 0 : to) >= FAR_SIZE &&
           tfd_lines_worth(to, from);
}

static void check(const struct far_case *c, int64_t n, enum scalar scalar,
                  bool odd, bool sole)
{
    const struct tfd_elementwise e = {c->to, c->cost, NULL, spy};
    struct tfd_tensor in[2], held[2], want, out = TFD_TENSOR_INIT;
    struct tfd_kctx k = {
        .in = in, .in_count = c->in_count, .out = &out, .out_count = 1};
    const int64_t block = FAR_BLOCK / (int64_t)tfd_dtype_size(c->to);
    bool in_place;

    real_loop = tfd_registry_loop(c->op, c->from);
    assert_non_null(real_loop);
    in[0] = operand(c->from, scalar == LEFT ? 1 : n, odd, 3);
    in[1] = scalar == TWICE ? tfd_tensor_ref(&in[0])
                            : operand(c->from, scalar == RIGHT ? 1 : n, odd, 7);
    want = reference(c, in, n, scalar);
    for (int i = 0; i < 2; i++)
        held[i] =
            sole ? (struct tfd_tensor)TFD_TENSOR_INIT : tfd_tensor_ref(&in[i]);
    most = 0;
    assert_int_equal(c->in_count > 1 ? tfd_elementwise_binary(&k, &e, NULL)
                                     : tfd_elementwise_unary(&k, &e, NULL),
                     TFD_OK);
    in_place = out.buffer == in[0].buffer || out.buffer == in[1].buffer;
    assert_int_equal(in_place, sole && !odd && c->from == c->to);
    assert_int_equal(most <= block, goes_far(c, n, scalar) && !in_place);
    assert_int_equal(tfd_tensor_elements(&out), n);
    if (memcmp(tfd_tensor_data(&out), tfd_tensor_data(&want),
               tfd_dtype_size(c->to) * (size_t)n) != 0)
        fail_msg("%s of %lld, scalar %d, %d, %d", c->op, (long long)n,
                 (int)scalar, odd, sole);
    for (int i = 0; i < 2; i++) {
        tfd_tensor_unref(&in[i]);
        tfd_tensor_unref(&held[i]);
    }
    tfd_tensor_unref(&want);
    tfd_tensor_unref(&out);
}

/* The fewest elements that go past the caches, or so many. */
static int64_t fewest(const struct far_case *c, enum scalar scalar)
{
    const int64_t to = (int64_t)tfd_dtype_size(c->to);
    const int64_t moved = to + (int64_t)tfd_dtype_size(c->from) *
                                   (c->in_count - (scalar != NONE));
    const int64_t n = (FAR_SIZE + moved - 1) / moved;

    return n * to < 5 << 20 ? (5 << 20) / to : n;
}

static void test_every_type(void **state)
{
    (void)state;
    for (int i = 0; i < TFD_COUNT(cases); i++)
        check(&cases[i], fewest(&cases[i], NONE) + 1021, NONE, false, false);
}

static void test_sizes_around_the_first(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int64_t more = -1; more <= 1; more++)
            check(&cases[i], fewest(&cases[i], NONE) + more, NONE, false,
                  false);
}

static void test_operands_between_lines(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check(&cases[i], fewest(&cases[i], NONE) + 7, NONE, true, false);
}

static void test_in_place(void **state)
{
    (void)state;
    check(&cases[0], fewest(&cases[0], NONE) + 7, NONE, false, true);
    check(&cases[1], fewest(&cases[1], LEFT) + 7, LEFT, false, true);
    check(&cases[1], fewest(&cases[1], RIGHT) + 7, RIGHT, false, true);
    /* Its operands may be overwritten, but hold no such result. */
    check(&cases[6], fewest(&cases[6], NONE) + 7, NONE, false, true);
}

static void test_a_scalar(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        check(&cases[i], fewest(&cases[i], LEFT) + 7, LEFT, i == 0, false);
        check(&cases[i], fewest(&cases[i], RIGHT) + 7, RIGHT, i == 0, false);
    }
}

/* It comes from memory once, and only where that alone is so much. */
static void test_an_operand_twice(void **state)
{
    const int64_t alone = FAR_SIZE / (int64_t)sizeof(int16_t);

    (void)state;
    check(&cases[3], fewest(&cases[3], TWICE) + 7, TWICE, false, false);
    for (int64_t more = -1; more <= 1; more++)
        check(&cases[3], alone + more, TWICE, more == 0, false);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_sizes_around_the_first),
        cmocka_unit_test(test_operands_between_lines),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_a_scalar),
        cmocka_unit_test(test_an_operand_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
