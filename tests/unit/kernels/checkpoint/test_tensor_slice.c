/*
 * test_tensor_slice.c - kernels/checkpoint/tensor_slice.c: the argument
 * shape_and_slices as TensorFlow 2.21 accepts and refuses it, and copying
 * between slices.
 */
#include "kernels/checkpoint/tensor_slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_what_is_accepted(void **state)
{
    static const struct {
        const char *spec, *whole, *slice, *piece;
    } cases[] = {
        {"4 3 0,2:-", "[4,3]", "0,2:-", "[2,3]"},
        {"2 3 0,1:0,3", "[2,3]", "0,1:0,3", "[1,3]"},
        {"2 3 -:-", "[2,3]", "-:-", "[2,3]"},
        {"2 3 +0,1:-", "[2,3]", "0,1:-", "[1,3]"},
        {"2 3 ::0,1::-:", "[2,3]", "0,1:-", "[1,3]"},
        {"2 3 0,,1:-", "[2,3]", "0,1:-", "[1,3]"},
        {"02 3 0,1:-", "[2,3]", "0,1:-", "[1,3]"},
        {"0 3 -:1,2", "[0,3]", "-:1,2", "[0,2]"},
        {"9223372036854775807 9223372036854775806,1", "[9223372036854775807]",
         "9223372036854775806,1", "[1]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[TFD_SLICE_TEXT_MAX];
        struct tfd_shape whole, piece;
        struct tfd_tensor_slice s;

        assert_int_equal(tfd_tensor_slice_parse(tfd_str_of(cases[i].spec),
                                                &whole, &s, &piece, NULL),
                         TFD_OK);
        assert_string_equal(tfd_shape_text(&whole, text), cases[i].whole);
        assert_string_equal(tfd_shape_text(&piece, text), cases[i].piece);
        assert_string_equal(tfd_tensor_slice_text(&s, text), cases[i].slice);
    }
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *spec;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {"2", TFD_INVALID_ARGUMENT,
         "Need least two elements in shape_and_slice specification: 2"},
        {"2 3 0,1", TFD_INTERNAL,
         "Mismatching ranks: shape = [2,3], slice = 0,1"},
        {"2 3 0,1:-:-", TFD_INTERNAL,
         "Mismatching ranks: shape = [2,3], slice = 0,1:-:-"},
        {"2 3 ", TFD_INTERNAL, "Mismatching ranks: shape = [2,3], slice = "},
        {"2 3 0,3:-", TFD_INTERNAL,
         "Extent in dimension 0 out of bounds: shape = [2,3], slice = 0,3:-"},
        {"2 3 1,2:-", TFD_INTERNAL,
         "Extent in dimension 0 out of bounds: shape = [2,3], slice = 1,2:-"},
        {"2 3 0,0:-", TFD_INVALID_ARGUMENT,
         "Expected non-negative start and positive length but got start = 0, "
         "length = 0: string = 0,0:-"},
        {"2 3 -1,1:-", TFD_INVALID_ARGUMENT,
         "Expected non-negative start and positive length but got start = -1, "
         "length = 1: string = -1,1:-"},
        {"2 3 x,1:-", TFD_INVALID_ARGUMENT,
         "Expected a pair of numbers or '-' but got 'x,1': string = x,1:-"},
        {"2 3 0,1,2:-", TFD_INVALID_ARGUMENT,
         "Expected a pair of numbers or '-' but got '0,1,2': string = "
         "0,1,2:-"},
        {"2 3 0:-", TFD_INVALID_ARGUMENT,
         "Expected a pair of numbers or '-' but got '0': string = 0:-"},
        {"2 3 9223372036854775808,1:-", TFD_INVALID_ARGUMENT,
         "Expected a pair of numbers"},
        {"2 3 9223372036854775807,1:-", TFD_INVALID_ARGUMENT,
         "Extent end exceeds the maximum possible size"},
        {"x 3 0,1:-", TFD_INVALID_ARGUMENT,
         "Non numerical dimension in shape_and_slice: x 3 0,1:-"},
        {"2 3  0,1:-", TFD_INVALID_ARGUMENT,
         "Non numerical dimension in shape_and_slice: 2 3  0,1:-"},
        {" ", TFD_INVALID_ARGUMENT,
         "Non numerical dimension in shape_and_slice:  "},
        /* TensorFlow's process ends at these. */
        {"-2 3 0,1:-", TFD_INVALID_ARGUMENT, "-2 must be >= 0"},
        {"9223372036854775807 3 0,1:-", TFD_INVALID_ARGUMENT, "2**63"},
        {"1 1 1 1 1 1 1 1 1 -", TFD_INVALID_ARGUMENT, "more than 8"},
        {"1 -:-:-:-:-:-:-:-:-", TFD_INVALID_ARGUMENT, "more than 8"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_shape whole, piece;
        struct tfd_tensor_slice s;

        assert_int_equal(tfd_tensor_slice_parse(tfd_str_of(cases[i].spec),
                                                &whole, &s, &piece, &st),
                         cases[i].code);
        assert_non_null(strstr(st.text, cases[i].text));
    }
}

static struct tfd_tensor_slice slice_of(const char *spec)
{
    struct tfd_shape whole, piece;
    struct tfd_tensor_slice s;

    assert_int_equal(
        tfd_tensor_slice_parse(tfd_str_of(spec), &whole, &s, &piece, NULL),
        TFD_OK);
    return s;
}

static void test_intersections(void **state)
{
    static const struct {
        const char *a, *b, *both; /* both NULL: none */
    } cases[] = {
        {"9 9 0,4:-", "9 9 2,4:-", "2,2:-"},
        {"9 9 0,4:1,1", "9 9 -:-", "0,4:1,1"},
        {"9 9 -:-", "9 9 -:-", "-:-"},
        {"9 9 0,9:-", "9 9 3,2:0,1", "3,2:0,1"},
        {"9 9 0,4:-", "9 9 4,4:-", NULL},
        {"9 9 0,4:0,1", "9 9 0,4:1,1", NULL},
        {"9 9 -:-", "9 -", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_tensor_slice a = slice_of(cases[i].a);
        struct tfd_tensor_slice b = slice_of(cases[i].b);

        for (int turn = 0; turn < 2; turn++) {
            char text[TFD_SLICE_TEXT_MAX];
            struct tfd_tensor_slice both;
            bool any = tfd_tensor_slice_intersect(turn ? &a : &b,
                                                  turn ? &b : &a, &both);

            assert_int_equal(any, cases[i].both != NULL);
            if (any)
                assert_string_equal(tfd_tensor_slice_text(&both, text),
                                    cases[i].both);
        }
    }
}

static void test_protos_round_trip(void **state)
{
    static const char *const specs[] = {"9 9 0,4:-", "9 9 5,4:1,1", "9 -",
                                        "9 9 9 0,9:-:8,1"};
    struct tfd_bytes b;

    (void)state;
    tfd_bytes_init(&b, 1000);
    for (size_t i = 0; i < COUNT(specs); i++) {
        struct tfd_tensor_slice s = slice_of(specs[i]), back;

        tfd_bytes_clear(&b);
        tfd_tensor_slice_put(&b, &s);
        assert_int_equal(tfd_tensor_slice_take(tfd_bytes_view(&b), &back, NULL),
                         TFD_OK);
        assert_true(tfd_tensor_slice_equal(&s, &back));
    }
    tfd_bytes_deinit(&b);
}

/* Each element of [3,4,2] has its own number, so a copy shows where it went. */
static struct tfd_tensor piece_of(const struct tfd_tensor_slice *s, bool filled)
{
    static const struct tfd_shape whole = {3, {3, 4, 2}};
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_shape shape;
    int32_t *data;
    int n = 0;

    assert_int_equal(tfd_tensor_slice_shape(s, &whole, &shape, NULL), TFD_OK);
    assert_int_equal(tfd_tensor_new(&t, TFD_INT32, &shape, NULL), TFD_OK);
    data = tfd_tensor_data(&t);
    for (int64_t i = 0; i < shape.dim[0]; i++)
        for (int64_t j = 0; j < shape.dim[1]; j++)
            for (int64_t k = 0; k < shape.dim[2]; k++)
                data[n++] =
                    filled ? (int32_t)((s->start[0] + i) * 8 +
                                       (s->start[1] + j) * 2 + s->start[2] + k)
                           : -1;
    return t;
}

static void test_copies_put_every_element_in_its_place(void **state)
{
    static const struct {
        const char *from, *to;
        int copied;
    } cases[] = {
        {"3 4 2 -:-:-", "3 4 2 -:-:-", 24},
        {"3 4 2 -:-:-", "3 4 2 1,1:1,2:1,1", 2},
        {"3 4 2 1,1:1,2:1,1", "3 4 2 -:-:-", 2},
        {"3 4 2 0,2:-:-", "3 4 2 1,2:2,2:-", 4},
        {"3 4 2 0,1:-:-", "3 4 2 1,2:-:-", 0},
        {"3 4 2 -:0,3:0,1", "3 4 2 -:2,2:-", 3},
    };
    static const struct tfd_shape whole = {3, {3, 4, 2}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_tensor_slice a = slice_of(cases[i].from);
        struct tfd_tensor_slice b = slice_of(cases[i].to);
        struct tfd_tensor from = piece_of(&a, true), to = piece_of(&b, false);
        struct tfd_tensor full = piece_of(&b, true);
        const int32_t *got = tfd_tensor_data(&to);
        const int32_t *want = tfd_tensor_data(&full);
        int copied = 0;

        assert_int_equal(
            tfd_tensor_slice_copy(&whole, &a, &from, &b, &to, NULL), TFD_OK);
        for (int64_t n = 0; n < tfd_tensor_elements(&to); n++) {
            assert_true(got[n] == -1 || got[n] == want[n]);
            copied += got[n] != -1;
        }
        assert_int_equal(copied, cases[i].copied);
        tfd_tensor_unref(&from);
        tfd_tensor_unref(&to);
        tfd_tensor_unref(&full);
    }
}

static void test_copies_of_strings_scalars_and_nothing(void **state)
{
    static const struct tfd_shape shapes[] = {{0, {0}}, {1, {2}}, {2, {0, 3}}};

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct tfd_tensor_slice all = tfd_tensor_slice_all(shapes[i].rank);
        struct tfd_tensor a = TFD_TENSOR_INIT, b = TFD_TENSOR_INIT;
        struct tfd_tstring *from, *to;

        assert_int_equal(tfd_tensor_new(&a, TFD_STRING, &shapes[i], NULL), 0);
        assert_int_equal(tfd_tensor_new(&b, TFD_STRING, &shapes[i], NULL), 0);
        from = tfd_tensor_data(&a);
        to = tfd_tensor_data(&b);
        for (int64_t n = 0; n < tfd_tensor_elements(&a); n++)
            assert_int_equal(tfd_tstring_set(&from[n], TFD_STR("text"), NULL),
                             TFD_OK);
        assert_int_equal(
            tfd_tensor_slice_copy(&shapes[i], &all, &a, &all, &b, NULL),
            TFD_OK);
        for (int64_t n = 0; n < tfd_tensor_elements(&a); n++)
            assert_true(tfd_str_is(tfd_tstring_view(&to[n]), "text"));
        tfd_tensor_unref(&a);
        tfd_tensor_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_accepted),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_intersections),
        cmocka_unit_test(test_protos_round_trip),
        cmocka_unit_test(test_copies_put_every_element_in_its_place),
        cmocka_unit_test(test_copies_of_strings_scalars_and_nothing),
    };

    return cmocka_run_group_tests_name("tensor_slice", tests, NULL, NULL);
}
