/*
 * test_kctx.c - kernels/core/kctx*.c: whose buffer an output gets, and how
 * loops are split.
 */
#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/thread/pool.h"
#include "kernels/core/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- The runtime, as little of it as this needs -------------------------- */

struct tfd_rt {
    struct tfd_pool *pool;
};

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    return rt->pool;
}

static struct tfd_tensor vector(enum tfd_dtype dtype, int64_t n)
{
    struct tfd_shape shape = {1, {n}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, dtype, &shape, NULL), TFD_OK);
    return t;
}

/* ---- Outputs ------------------------------------------------------------- */

static void test_the_last_reader_gives_its_buffer(void **state)
{
    struct tfd_tensor in[] = {vector(TFD_FLOAT, 8)}, out[2];
    struct tfd_kctx k = {.in = in, .in_count = 1, .out = out, .out_count = 2};
    struct tfd_buffer *buffer = in[0].buffer;

    (void)state;
    assert_int_equal(tfd_kctx_output_like(&k, 0, 0, NULL), TFD_OK);
    assert_ptr_equal(out[0].buffer, buffer);
    assert_ptr_equal(in[0].buffer, buffer); /* may be read on */
    /* Only one output gets it. */
    assert_int_equal(tfd_kctx_output_like(&k, 0, 1, NULL), TFD_OK);
    assert_ptr_not_equal(out[1].buffer, buffer);
    tfd_tensor_unref(&in[0]);
    assert_true(tfd_buffer_sole(out[0].buffer));
    tfd_tensor_unref(&out[0]);
    tfd_tensor_unref(&out[1]);
}

static void test_a_buffer_with_other_readers_is_left_alone(void **state)
{
    struct tfd_tensor in[] = {vector(TFD_FLOAT, 8)}, out;
    struct tfd_tensor reader = tfd_tensor_ref(&in[0]);
    struct tfd_kctx k = {.in = in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    assert_int_equal(tfd_kctx_output_like(&k, 0, 0, NULL), TFD_OK);
    assert_ptr_not_equal(out.buffer, in[0].buffer);
    tfd_tensor_unref(&reader);
    tfd_tensor_unref(&in[0]);
    tfd_tensor_unref(&out);
}

static void test_a_slice_is_left_alone(void **state)
{
    struct tfd_tensor whole = vector(TFD_FLOAT, 16), out;
    struct tfd_tensor in = {TFD_FLOAT, {1, {8}}, NULL};
    struct tfd_kctx k = {.in = &in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    in.buffer = tfd_buffer_slice(whole.buffer, 0, 32);
    assert_int_equal(tfd_kctx_output_like(&k, 0, 0, NULL), TFD_OK);
    assert_ptr_not_equal(out.buffer, in.buffer);
    tfd_tensor_unref(&in);
    tfd_tensor_unref(&out);
    tfd_tensor_unref(&whole);
}

static void test_strings_are_never_taken_over(void **state)
{
    struct tfd_tensor in = vector(TFD_STRING, 2), out;
    struct tfd_kctx k = {.in = &in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    assert_int_equal(tfd_kctx_output_like(&k, 0, 0, NULL), TFD_OK);
    assert_ptr_not_equal(out.buffer, in.buffer);
    tfd_tensor_unref(&in);
    tfd_tensor_unref(&out);
}

static void test_candidates_are_tried_in_turn(void **state)
{
    static const struct {
        uint32_t candidates;
        enum tfd_dtype dtype;
        int64_t elements;
        int expected; /* -1: new */
    } cases[] = {
        {1, TFD_FLOAT, 8, -1}, /* has another reader */
        {7, TFD_FLOAT, 8, 2},          {7, TFD_INT32, 8, 2},
        {7, TFD_DOUBLE, 4, -1}, /* as many bytes, fewer elements */
        {7, TFD_FLOAT, 4, 1},          {5, TFD_FLOAT, 4, -1},
        {0, TFD_FLOAT, 8, -1},         {7, TFD_FLOAT, 0, -1},
        {UINT32_MAX, TFD_FLOAT, 8, 2}, {7, TFD_STRING, 1, -1},
        {7, TFD_FLOAT, 6, -1}, /* a reference's */
    };
    struct tfd_tensor in[] = {vector(TFD_FLOAT, 8), vector(TFD_FLOAT, 4),
                              vector(TFD_FLOAT, 8), vector(TFD_FLOAT, 6)};
    struct tfd_tensor reader = tfd_tensor_ref(&in[0]), out;
    struct tfd_variable *const ref[] = {NULL, NULL, NULL,
                                        (struct tfd_variable *)in};
    struct tfd_kctx k = {
        .in = in, .in_count = 4, .out = &out, .out_count = 1, .ref = ref};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape shape = {1, {cases[i].elements}};
        int taken = -1;

        assert_int_equal(tfd_kctx_output_reuse(&k, cases[i].candidates, 0,
                                               cases[i].dtype, &shape, NULL),
                         TFD_OK);
        for (int j = 0; j < 4; j++)
            if (out.buffer && out.buffer == in[j].buffer)
                taken = j;
        assert_int_equal(taken, cases[i].expected);
        assert_int_equal(out.dtype, cases[i].dtype);
        assert_int_equal(out.shape.dim[0], cases[i].elements);
        tfd_tensor_unref(&out);
    }
    tfd_tensor_unref(&reader);
    for (int i = 0; i < 4; i++)
        tfd_tensor_unref(&in[i]);
}

static void test_an_alias_has_another_shape(void **state)
{
    struct tfd_tensor in = vector(TFD_FLOAT, 8), out;
    struct tfd_shape shape = {2, {2, 4}}, empty = {1, {0}};
    struct tfd_kctx k = {.in = &in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    tfd_kctx_output_alias(&k, 0, 0, &shape);
    assert_ptr_equal(out.buffer, in.buffer);
    assert_int_equal(out.shape.rank, 2);
    tfd_tensor_unref(&out);
    tfd_kctx_output_alias(&k, 0, 0, &empty);
    assert_null(out.buffer);
    tfd_tensor_unref(&in);
}

static void test_a_part_shows_the_elements_of_its_input(void **state)
{
    struct tfd_tensor in = vector(TFD_DOUBLE, 64), out;
    const struct tfd_shape shape = {2, {2, 8}};
    struct tfd_kctx k = {.in = &in, .in_count = 1, .out = &out, .out_count = 1};

    (void)state;
    assert_true(tfd_kctx_output_part(&k, 0, 0, &shape, 24));
    assert_ptr_equal(tfd_tensor_data(&out),
                     (double *)tfd_tensor_data(&in) + 24);
    assert_int_equal(out.buffer->size, 128);
    assert_int_equal(out.shape.rank, 2);
    tfd_tensor_unref(&in);
    memset(tfd_tensor_data(&out), 0, tfd_tensor_size(&out));
    tfd_tensor_unref(&out);
}

static void test_not_everything_is_shown_in_part(void **state)
{
    static const struct {
        enum tfd_dtype dtype;
        int64_t n, part;
    } bad[] = {
        {TFD_FLOAT, 64, 0},  /* nothing */
        {TFD_STRING, 64, 8}, /* what elements own */
        {TFD_FLOAT, 64, 3},  /* little, which would keep much */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct tfd_tensor in = vector(bad[i].dtype, bad[i].n);
        struct tfd_tensor out = TFD_TENSOR_INIT;
        const struct tfd_shape shape = {1, {bad[i].part}};
        struct tfd_kctx k = {
            .in = &in, .in_count = 1, .out = &out, .out_count = 1};

        assert_false(tfd_kctx_output_part(&k, 0, 0, &shape, 0));
        assert_null(out.buffer);
        tfd_tensor_unref(&in);
    }
}

/* A reference variable's is shown however small it is. */
static void test_little_of_a_reference_is_shown(void **state)
{
    struct tfd_tensor in = vector(TFD_FLOAT, 64), out;
    struct tfd_variable *ref = (struct tfd_variable *)&in;
    const struct tfd_shape one = {0, {0}};
    struct tfd_kctx k = {
        .in = &in, .in_count = 1, .ref = &ref, .out = &out, .out_count = 1};

    (void)state;
    assert_true(tfd_kctx_output_part(&k, 0, 0, &one, 63));
    assert_ptr_equal(tfd_tensor_data(&out), (float *)tfd_tensor_data(&in) + 63);
    tfd_tensor_unref(&in);
    tfd_tensor_unref(&out);
}

static void test_rows_are_aligned_by_their_size(void **state)
{
    static const struct {
        struct tfd_shape shape;
        bool is;
    } rows[] = {
        {{2, {4, 16}}, true},   {{2, {4, 15}}, false}, {{1, {64}}, false},
        {{3, {3, 4, 4}}, true}, {{0, {0}}, false},     {{2, {0, 16}}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct tfd_tensor t = {TFD_FLOAT, rows[i].shape, NULL};

        assert_int_equal(tfd_rows_aligned(&t), rows[i].is);
    }
}

/* ---- Loops --------------------------------------------------------------- */

struct count {
    int calls;
    long long sum;
};

static void add_range(void *arg, int64_t begin, int64_t end)
{
    struct count *c = arg;

    TFD_COUNTER_ADD(&c->calls, 1);
    for (int64_t i = begin; i < end; i++)
        TFD_COUNTER_ADD(&c->sum, i);
}

static void test_small_loops_stay_on_the_caller(void **state)
{
    static const struct {
        int64_t n;
        int cost, calls; /* 0: several */
    } cases[] = {
        {0, 1, -1},     {-5, 1, -1},   {1, 1, 1},
        {20000, 1, 1},  {20001, 1, 0}, {200, 100, 1},
        {1000, 100, 0}, {5, 0, 1},     {1, INT32_MAX, 0},
    };
    struct tfd_rt rt = {.pool = tfd_pool_new(2, NULL)};
    struct tfd_kctx k = {.rt = &rt};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct count c = {0};
        int64_t n = cases[i].n;

        tfd_kctx_parallel(&k, n, cases[i].cost, add_range, &c);
        if (cases[i].calls < 0)
            assert_int_equal(c.calls, 0);
        else if (cases[i].calls)
            assert_int_equal(c.calls, cases[i].calls);
        assert_int_equal(c.sum, n > 0 ? n * (n - 1) / 2 : 0);
    }
    tfd_pool_free(rt.pool);
}

/* 64000 floats read and written stay in a core's cache; many do not. */
static void test_bytes_tell_whether_a_loop_is_shared(void **state)
{
    static const struct {
        int64_t n;
        int bytes, calls; /* 0: several */
    } cases[] = {
        {0, 8, -1},      {-1, 8, -1},       {1, 8, 1},       {64000, 8, 1},
        {64000, 12, 1},  {64000, 16, 1},    {1 << 20, 1, 1}, {131072, 8, 1},
        {131073, 8, 0},  {1000000, 8, 0},   {500000, 0, 1},  {500000, -3, 1},
        {3, 1 << 30, 0}, {1, INT32_MAX, 0},
    };
    struct tfd_rt rt = {.pool = tfd_pool_new(2, NULL)};
    struct tfd_kctx k = {.rt = &rt};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct count c = {0};
        int64_t n = cases[i].n;

        tfd_kctx_parallel_bytes(&k, n, cases[i].bytes, add_range, &c);
        if (cases[i].calls < 0)
            assert_int_equal(c.calls, 0);
        else if (cases[i].calls)
            assert_int_equal(c.calls, cases[i].calls);
        assert_int_equal(c.sum, n > 0 ? n * (n - 1) / 2 : 0);
    }
    tfd_pool_free(rt.pool);
}

/* Where the pieces of a loop began, and that they are all of it. */
struct trail {
    int64_t n, sum;
    int calls,
        down; /* down: pieces that began before the one they came after */
    int64_t last;
    bool aligned; /* pieces begin at whole lines */
};

static void follow(void *arg, int64_t begin, int64_t end)
{
    struct trail *t = arg;

    assert_true(begin >= 0 && begin < end && end <= t->n);
    if (t->calls > 0 && begin < t->last)
        t->down++;
    t->last = begin;
    t->calls++;
    t->sum += (end - begin) * (begin + end - 1) / 2;
    if (t->aligned)
        assert_int_equal(begin % 64, 0);
}

static struct trail followed(int64_t n, const struct tfd_stream *s)
{
    struct tfd_kctx k = {.rt = NULL};
    struct trail t = {.n = n, .aligned = s->held <= 1024};

    tfd_kctx_parallel_turns(&k, n, s, follow, &t);
    assert_int_equal(t.sum, n > 0 ? n * (n - 1) / 2 : 0);
    return t;
}

/* Every second of them, if they are too large for the one cache and small
 * enough for the other. */
static void test_large_loops_turn(void **state)
{
    static const struct {
        int64_t n;
        struct tfd_stream s;
        bool turns;
    } cases[] = {
        {0, {0, 12, 12}, false},
        {-5, {0, 12, 12}, false},
        {1, {0, 12, 12}, false},
        {1000, {0, 12, 12}, false},
        {64000, {0, 12, 8}, false},
        {42666, {0, 12, 12}, false},
        {42667, {0, 12, 12}, true},
        {64000, {0, 12, 12}, true},
        {64001, {0, 24, 24}, true},
        {128000, {0, 4, 4}, false},
        {128001, {0, 4, 4}, true},
        {70063, {7, 12, 12}, true},
        {1572864, {0, 4, 4}, true},
        {1572865, {0, 4, 4}, false},
        {4000000, {0, 12, 12}, false},
        {900000, {0, 1, 1}, true},
        {900000, {0, 0, -1}, true},
        {900001, {1, 0, 0}, true},
        {100, {0, 1 << 14, 1 << 14}, true},
        {3, {0, 1 << 20, 1 << 20}, true},
        {1, {0, 1 << 20, 1 << 20}, true},
        {1, {0, INT32_MAX, INT32_MAX}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct tfd_stream *s = &cases[i].s;
        const struct trail one = followed(cases[i].n, s);
        const struct trail two = followed(cases[i].n, s);
        const struct trail back = one.calls > two.calls ? one : two;

        assert_int_equal(one.calls > 1 || two.calls > 1,
                         cases[i].turns && cases[i].n > 1);
        assert_int_equal(back.down, back.calls > 0 ? back.calls - 1 : 0);
    }
}

static void test_threads_share_loops_that_turn(void **state)
{
    static const struct tfd_stream s = {0, 24, 24};
    struct tfd_rt rt = {.pool = tfd_pool_new(2, NULL)};
    struct tfd_kctx k = {.rt = &rt};

    (void)state;
    for (int64_t n = 64000; n < 64200; n += 7) {
        struct count c = {0};

        tfd_kctx_parallel_turns(&k, n, &s, add_range, &c);
        assert_int_equal(c.sum, n * (n - 1) / 2);
    }
    tfd_pool_free(rt.pool);
}

static void add_length(void *arg, int64_t begin, int64_t end)
{
    struct count *c = arg;

    TFD_COUNTER_ADD(&c->calls, 1);
    TFD_COUNTER_ADD(&c->sum, end - begin);
}

/* How many of 200 in a row had more than one part. */
static int cut_of_many(struct tfd_kctx *k, int64_t n,
                       const struct tfd_stream *s)
{
    int cut = 0;

    for (int i = 0; i < 200; i++) {
        struct count c = {0};

        tfd_kctx_parallel_turns(k, n, s, add_length, &c);
        assert_int_equal(c.sum, n);
        assert_in_range(c.calls, 1, 2);
        cut += c.calls == 2;
    }
    return cut;
}

/* They are too small to be shared otherwise; and seldom, if nobody comes. */
static void test_streams_in_a_row_are_shared_in_halves(void **state)
{
    static const struct tfd_stream s = {0, 8, 1}, large = {0, 524288, 524288};
    static const int64_t sizes[] = {104167, 110003, 131072};
    int cut = 0;

    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct tfd_rt rt = {.pool = tfd_pool_new(threads, NULL)};
        struct tfd_kctx k = {.rt = &rt};

        assert_int_equal(cut_of_many(&k, 1, &s), 0);
        assert_int_equal(cut_of_many(&k, 104166, &s), 0);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            cut += cut_of_many(&k, sizes[i], &s);
        assert_true(threads > 1 || cut == 0);
        assert_true(cut_of_many(&k, 2, &large) > 0); /* turns */
        tfd_pool_free(rt.pool);
    }
    assert_true(cut > 0);
}

static void test_without_a_runtime_loops_are_whole(void **state)
{
    struct tfd_kctx k = {.rt = NULL};
    struct count c = {0};

    (void)state;
    tfd_kctx_parallel(&k, 100000, 100, add_range, &c);
    assert_int_equal(c.calls, 1);
    tfd_kctx_parallel_bytes(&k, 1000000, 100, add_range, &c);
    assert_int_equal(c.calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_reader_gives_its_buffer),
        cmocka_unit_test(test_a_buffer_with_other_readers_is_left_alone),
        cmocka_unit_test(test_a_slice_is_left_alone),
        cmocka_unit_test(test_strings_are_never_taken_over),
        cmocka_unit_test(test_candidates_are_tried_in_turn),
        cmocka_unit_test(test_an_alias_has_another_shape),
        cmocka_unit_test(test_a_part_shows_the_elements_of_its_input),
        cmocka_unit_test(test_not_everything_is_shown_in_part),
        cmocka_unit_test(test_little_of_a_reference_is_shown),
        cmocka_unit_test(test_rows_are_aligned_by_their_size),
        cmocka_unit_test(test_small_loops_stay_on_the_caller),
        cmocka_unit_test(test_bytes_tell_whether_a_loop_is_shared),
        cmocka_unit_test(test_large_loops_turn),
        cmocka_unit_test(test_threads_share_loops_that_turn),
        cmocka_unit_test(test_streams_in_a_row_are_shared_in_halves),
        cmocka_unit_test(test_without_a_runtime_loops_are_whole),
    };

    return cmocka_run_group_tests_name("kctx", tests, NULL, NULL);
}
