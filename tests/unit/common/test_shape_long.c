/*
 * test_shape_long.c - common/base/shape_long.c: what is packed comes out again,
 * and the functions of shape.c on shapes of 9 to 254 dimensions.
 */
#include "common/base/shape_long.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 20000

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Any dimension that is left room for, ones more often than not. */
static int64_t draw_dim(uint32_t *seed, int64_t *room)
{
    int64_t n;

    if (draw(seed) % 3 || *room < 2)
        return 1;
    n = 2 + (int64_t)(draw(seed) % 5);
    if (draw(seed) % 40 == 0)
        n = 2 + (int64_t)draw(seed) * draw(seed);
    if (n > *room)
        n = *room;
    *room /= n;
    return n;
}

static void test_what_is_packed_comes_out(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t dim[TFD_RANK_LONG_MAX], out[TFD_RANK_LONG_MAX];
        int rank = 9 + (int)(draw(&seed) % 246);
        int64_t room = INT64_MAX, n = 1;
        struct tfd_shape s;

        for (int i = 0; i < rank; i++)
            n *= dim[i] = draw_dim(&seed, &room);
        assert_int_equal(tfd_shape_make_any(&s, dim, rank, NULL), TFD_OK);
        assert_true(tfd_shape_is_long(&s));
        assert_int_equal(s.rank, rank);
        tfd_shape_dims(&s, out);
        assert_memory_equal(dim, out, sizeof(*dim) * (size_t)rank);
        assert_int_equal(tfd_shape_elements(&s), n);
    }
    assert_true(tfd_shape_long_seen());
}

/* `count` times `dim`, then ones. */
static enum tfd_code make(struct tfd_shape *s, int rank, int count, int64_t dim,
                          struct tfd_status *st)
{
    int64_t all[TFD_RANK_LONG_MAX + 8];

    for (int i = 0; i < rank; i++)
        all[i] = i < count ? dim : 1;
    return tfd_shape_make_any_partial(s, all, rank, st);
}

static void test_the_fullest_shapes_fit(void **state)
{
    static const struct {
        int rank, count;
        int64_t dim;
        int64_t elements;
    } cases[] = {
        {254, 62, 2, INT64_C(1) << 62},
        {254, 39, 3, 4052555153018976267},
        {254, 31, 4, INT64_C(1) << 62},
        {254, 1, INT64_MAX, INT64_MAX},
        {254, 2, 3037000499, 9223372030926249001},
        {254, 80, 0, 0},
        {170, 170, 0, 0},
        {254, 80, -1, -1},
        {9, 9, -1, -1},
        {254, 0, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape s;

        assert_int_equal(
            make(&s, cases[i].rank, cases[i].count, cases[i].dim, NULL),
            TFD_OK);
        assert_int_equal(tfd_shape_elements(&s), cases[i].elements);
    }
}

static void test_shapes_that_are_refused(void **state)
{
    static const struct {
        int rank, count;
        int64_t dim;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {255, 0, 1, TFD_INVALID_ARGUMENT,
         "A shape has 255 dimensions; 0 to 254 are supported"},
        {-1, 0, 1, TFD_INVALID_ARGUMENT,
         "A shape has -1 dimensions; 0 to 8 are supported"},
        {20, 1, -2, TFD_INVALID_ARGUMENT, "Dimension -2 must be >= -1"},
        {9, 2, INT64_MAX, TFD_INVALID_ARGUMENT,
         "Shape [9223372036854775807,9223372036854775807,1,1,1,1,1,1,1] would "
         "have more than 2**63 - 1 elements"},
        {254, 254, 0, TFD_UNIMPLEMENTED,
         "A shape of 254 dimensions has more zero or unknown ones than are "
         "supported"},
        {254, 254, -1, TFD_UNIMPLEMENTED,
         "A shape of 254 dimensions has more zero or unknown ones than are "
         "supported"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tfd_shape s = {1, {5}};
        struct tfd_status st = TFD_STATUS_INIT;

        assert_int_equal(
            make(&s, cases[i].rank, cases[i].count, cases[i].dim, &st),
            cases[i].code);
        assert_string_equal(st.text, cases[i].text);
        assert_int_equal(s.rank, 1);
    }
}

static void test_whoever_asks_for_short_shapes_gets_none(void **state)
{
    int64_t dim[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct tfd_shape s = {1, {5}};

    (void)state;
    assert_int_equal(tfd_shape_make(&s, dim, 9, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_shape_make_partial(&s, dim, 9, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(tfd_shape_make_any(&s, dim, 8, NULL), TFD_OK);
    assert_false(tfd_shape_is_long(&s));
    assert_int_equal(s.dim[7], 1);
}

static void test_text(void **state)
{
    char text[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX] = "[";
    int64_t dim[TFD_RANK_LONG_MAX];
    struct tfd_shape s;

    (void)state;
    assert_int_equal(
        tfd_shape_make_any_partial(
            &s, (int64_t[]){1, 2, -1, 0, 5, 1, 1, 1, 300}, 9, NULL),
        TFD_OK);
    assert_string_equal(tfd_shape_text(&s, text), "[1,2,?,0,5,1,1,1,300]");

    for (int i = 0; i < TFD_RANK_LONG_MAX; i++) {
        dim[i] = i < 3 ? 2000000 : 1;
        strcat(want, i < 3 ? "2000000" : "1");
        strcat(want, i + 1 < TFD_RANK_LONG_MAX ? "," : "]");
    }
    assert_int_equal(tfd_shape_make_any(&s, dim, TFD_RANK_LONG_MAX, NULL),
                     TFD_OK);
    assert_string_equal(tfd_shape_text(&s, text), want);
}

static void test_merge(void **state)
{
    struct tfd_shape a, b, c, d, into = TFD_SHAPE_UNKNOWN;
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t dim[TFD_RANK_LONG_MAX];

    (void)state;
    assert_int_equal(make(&a, 9, 3, -1, NULL), TFD_OK);
    assert_int_equal(make(&b, 9, 2, 7, NULL), TFD_OK);
    assert_int_equal(make(&c, 10, 2, 7, NULL), TFD_OK);
    assert_int_equal(make(&d, 9, 2, 8, NULL), TFD_OK);
    assert_int_equal(tfd_shape_merge(&into, &a, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&into, &a));
    assert_int_equal(tfd_shape_merge(&into, &b, NULL), TFD_OK);
    assert_true(tfd_shape_equal(&into, &b));
    tfd_shape_dims(&into, dim);
    assert_int_equal(dim[0], 7);
    assert_int_equal(dim[2], 1);

    assert_int_equal(tfd_shape_merge(&into, &c, &st), TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "Shapes must be equal rank, but are 9 and 10");
    st = (struct tfd_status)TFD_STATUS_INIT;
    assert_int_equal(tfd_shape_merge(&into, &d, &st), TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text,
                        "Dimension 0 in both shapes must be equal, but are 7 "
                        "and 8. Shapes are [7,7,1,1,1,1,1,1,1] and "
                        "[8,8,1,1,1,1,1,1,1].");
    assert_true(tfd_shape_equal(&into, &b));
    assert_false(tfd_shape_equal(&into, &d));
    assert_false(tfd_shape_equal(&into, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_packed_comes_out),
        cmocka_unit_test(test_the_fullest_shapes_fit),
        cmocka_unit_test(test_shapes_that_are_refused),
        cmocka_unit_test(test_whoever_asks_for_short_shapes_gets_none),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_merge),
    };

    return cmocka_run_group_tests_name("shape_long", tests, NULL, NULL);
}
