/*
 * test_gather_nd.c - GatherNd against a plain loop: every size of an element
 * and type of index, rows of odd sizes at odd addresses, counts around those of
 * its blocks, whole and in pieces; tuples that are outside.
 */
#include "tests/support/kernel_bytes.h"

#define DEPTH_MAX 5
#define TUPLES_MAX 1700

struct plain {
    enum tfd_dtype type, index_type;
    int64_t depth, count, inner;
    int odd;
};

static const int64_t sizes[DEPTH_MAX] = {7, 3, 5, 2, 4};

/* No order that a loop would follow by chance. */
static int64_t index_of(int64_t tuple, int64_t d)
{
    return (tuple * 31 + d * 17 + tuple / 9) % sizes[d];
}

static struct tfd_tensor indices_of(const struct plain *p)
{
    static int64_t values[TUPLES_MAX * DEPTH_MAX];

    for (int64_t i = 0; i < p->count; i++)
        for (int64_t d = 0; d < p->depth; d++)
            values[i * p->depth + d] = index_of(i, d);
    return krig_ints(p->index_type, 2, (int64_t[]){p->count, p->depth}, values);
}

static void expect(const struct plain *p, const char *x)
{
    const size_t size = (size_t)p->inner * tfd_dtype_size(p->type);
    const struct tfd_shape shape = {2, {p->count, p->inner}};
    char *want = malloc((size_t)p->count * size + 1);

    assert_non_null(want);
    for (int64_t i = 0; i < p->count; i++) {
        int64_t row = 0;

        for (int64_t d = 0; d < p->depth; d++)
            row = row * sizes[d] + index_of(i, d);
        memcpy(want + (size_t)i * size, x + (size_t)row * size, size);
    }
    krig_expect_bytes(&shape, want);
    free(want);
}

static void check(struct plain p)
{
    static const struct krig_case c = {.op = "GatherNd", .attrs = ""};
    int64_t dim[DEPTH_MAX + 1];

    memcpy(dim, sizes, sizeof(sizes));
    dim[p.depth] = p.inner;
    for (int mode = 0; mode < KRIG_ALL; mode++) {
        krig.in[0] = krig_bytes(p.type, (int)p.depth + 1, dim, p.odd);
        krig.in[1] = indices_of(&p);
        krig.in_count = 2;
        krig_run_well(&c, mode);
        expect(&p, tfd_tensor_data(&krig.in[0]));
        krig_end();
    }
}

static const enum tfd_dtype index_types[] = {TFD_INT16, TFD_INT32, TFD_INT64};
static const enum tfd_dtype types[] = {TFD_BOOL,  TFD_INT8,   TFD_HALF,
                                       TFD_FLOAT, TFD_DOUBLE, TFD_COMPLEX128};

static void test_sizes_of_rows(void **state)
{
    static const int64_t inners[] = {1, 2, 3, 5, 7, 16, 17, 33, 64, 100};
    static const int odds[] = {0, 16, 1, 7};
    int at = 0;

    (void)state;
    for (size_t t = 0; t < TFD_COUNT(types); t++)
        for (size_t i = 0; i < TFD_COUNT(inners); i++)
            for (int64_t depth = 1; depth < DEPTH_MAX; depth++, at++)
                check((struct plain){types[t], index_types[at % 3], depth, 37,
                                     inners[i], odds[at % 4]});
}

static void test_counts_around_blocks(void **state)
{
    static const int64_t counts[] = {0,   1,   2,   3,    511,  512,
                                     513, 514, 767, 1024, 1025, 1536};

    (void)state;
    for (size_t n = 0; n < TFD_COUNT(counts); n++)
        for (size_t i = 0; i < TFD_COUNT(index_types); i++)
            for (int64_t depth = 1; depth <= DEPTH_MAX; depth++)
                check((struct plain){TFD_FLOAT, index_types[i], depth,
                                     counts[n], 1, 3});
}

static void test_rows_of_nothing_and_tuples_of_nothing(void **state)
{
    (void)state;
    check((struct plain){TFD_FLOAT, TFD_INT64, 2, 0, 0, 0});
    check((struct plain){TFD_FLOAT, TFD_INT32, 0, 1, 5, 0});
    check((struct plain){TFD_DOUBLE, TFD_INT16, 0, 600, 3, 1});
}

/* One tuple of 600 is outside, wherever it is and whichever number of it. */
static void check_outside(enum tfd_dtype index_type, int64_t depth, int64_t at,
                          int64_t number)
{
    static const struct krig_case c = {.op = "GatherNd", .attrs = ""};
    struct plain p = {TFD_FLOAT, index_type, depth, 600, 3, 0};
    const int64_t d = at % depth;
    char want[64];

    for (int mode = 0; mode < KRIG_ALL; mode++) {
        int64_t dim[DEPTH_MAX + 1];

        memcpy(dim, sizes, sizeof(sizes));
        dim[depth] = p.inner;
        krig.in[0] = krig_bytes(p.type, (int)depth + 1, dim, 0);
        krig.in[1] = indices_of(&p);
        krig_put_number(index_type, tfd_tensor_data(&krig.in[1]),
                        at * depth + d, 0, 0, number);
        krig.in_count = 2;
        assert_int_equal(krig_run(&c, mode), TFD_INVALID_ARGUMENT);
        sprintf(want, "indices[%lld] = [", (long long)at);
        assert_non_null(strstr(krig.st.text, want));
        assert_non_null(
            strstr(krig.st.text, "does not index into param shape"));
        krig_end();
    }
}

static void test_one_tuple_outside(void **state)
{
    static const int64_t places[] = {0, 1, 199, 511, 512, 599};

    (void)state;
    for (size_t i = 0; i < TFD_COUNT(index_types); i++)
        for (size_t p = 0; p < TFD_COUNT(places); p++)
            for (int64_t depth = 1; depth < DEPTH_MAX; depth++) {
                check_outside(index_types[i], depth, places[p], -1);
                check_outside(index_types[i], depth, places[p],
                              sizes[places[p] % depth]);
                check_outside(index_types[i], depth, places[p], INT16_MIN);
            }
    /* Its product with a dimension would be inside again. */
    check_outside(TFD_INT64, 2, 4, INT64_MIN);
    check_outside(TFD_INT32, 3, 4, INT32_MAX);
}

static void test_outside_may_be_zeros(void **state)
{
    static const struct krig_case cases[] = {
        {"GatherNd",
         "bad_indices_policy=IGNORE",
         {"float[2,2] 1 2 3 4", "int32[3,2] 1 1 0 2 -1 0"},
         {"float[3] 4 0 0"}},
        {"GatherNd",
         "bad_indices_policy=IGNORE",
         {"int8[3,2] 1 2 3 4 5 6", "int64[3,1] 3 2 0"},
         {"int8[3,2] 0 0 5 6 1 2"}},
        {"GatherNd",
         "bad_indices_policy=IGNORE",
         {"string[3] a b c", "int16[4,1] 2 3 -1 0"},
         {"string[4] c   a"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"GatherNd",
         "",
         {"float[2,2] 1 2 3 4", "int32[2,2] 1 1 0 2"},
         {"!INVALID_ARGUMENT indices[1] = [0, 2] does not index into param "
          "shape [2,2], node name: node"}},
        {"GatherNd",
         "",
         {"float[] 1", "int32[1,1] 0"},
         {"!INVALID_ARGUMENT params must be at least a vector"}},
        {"GatherNd", "", {"float[2] 1", "int32[1,2] 0"}, {"!INVALID_ARGUMENT"}},
        {"GatherNd", "", {"float[2] 1", "int32[] 0"}, {"!INVALID_ARGUMENT"}},
        {"GatherNd",
         "",
         {"float[0,2]", "int32[1,1] 0"},
         {"!INVALID_ARGUMENT Requested more than 0 entries, but params is "
          "empty.  Params shape: [0,2]"}},
        {"GatherNd",
         "bad_indices_policy=ZERO",
         {"float[2] 1", "int32[1,1] 0"},
         {"!INVALID_ARGUMENT Unknown bad indices handling attribute: ZERO"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_rows),
        cmocka_unit_test(test_counts_around_blocks),
        cmocka_unit_test(test_rows_of_nothing_and_tuples_of_nothing),
        cmocka_unit_test(test_one_tuple_outside),
        cmocka_unit_test(test_outside_may_be_zeros),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("gather_nd", tests, krig_setup,
                                       krig_teardown);
}
