/*
 * test_element_box.c - tfd_elements_box() of strings beside a plain loop,
 * however threads share it; and that it stops where it is told to.
 */
#include "common/thread/halt.h"
#include "common/base/str.h"
#include "kernels/core/element.h"
#include "tests/support/pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 4000

static struct tfd_tstring from[ROOM], to[ROOM], expected[ROOM];

/* Some are too long to lie in the element itself. */
static int set_up(void **state)
{
    char text[64];

    (void)state;
    for (int i = 0; i < ROOM; i++) {
        const int n = snprintf(text, sizeof(text), "%*d", 1 + i % 40, i);

        if (tfd_tstring_set(&from[i], (struct tfd_str){text, (size_t)n},
                            NULL) != TFD_OK)
            return -1;
    }
    return 0;
}

static void clear(struct tfd_tstring *s)
{
    for (int i = 0; i < ROOM; i++)
        tfd_tstring_deinit(&s[i]);
}

static int tear_down(void **state)
{
    (void)state;
    clear(from);
    clear(to);
    clear(expected);
    return 0;
}

struct box {
    struct tfd_shape shape;
    int64_t to_begin, to[4], from_begin, from[4];
};

static void copy_slowly(const struct box *b, int64_t there, int64_t here, int d)
{
    if (d == b->shape.rank)
        assert_int_equal(tfd_tstring_copy(&expected[there], &from[here], NULL),
                         TFD_OK);
    for (int64_t i = 0; d < b->shape.rank && i < b->shape.dim[d]; i++)
        copy_slowly(b, there + i * b->to[d], here + i * b->from[d], d + 1);
}

static void check(const struct box *b, struct tfd_kctx *k)
{
    clear(to);
    clear(expected);
    copy_slowly(b, b->to_begin, b->from_begin, 0);
    assert_int_equal(tfd_elements_box(k, TFD_STRING, &b->shape,
                                      &to[b->to_begin], b->to,
                                      &from[b->from_begin], b->from, NULL),
                     TFD_OK);
    for (int i = 0; i < ROOM; i++) {
        struct tfd_str is = tfd_tstring_view(&to[i]);
        struct tfd_str should = tfd_tstring_view(&expected[i]);

        assert_int_equal(is.size, should.size);
        assert_memory_equal(is.data, should.data, is.size);
    }
}

static const struct box boxes[] = {
    {{0, {0}}, 7, {0}, 3, {0}},
    {{1, {1}}, 0, {1}, 0, {1}},
    {{1, {900}}, 3, {1}, 1, {1}},
    {{1, {900}}, 0, {2}, 2700, {-3}},        /* backwards */
    {{2, {30, 40}}, 0, {40, 1}, 0, {1, 30}}, /* turned */
    {{2, {30, 40}}, 5, {43, 1}, 0, {40, 1}}, /* with gaps */
    {{2, {3, 1}}, 0, {1, 1}, 0, {1, 1}},
    {{3, {5, 6, 7}}, 0, {42, 7, 1}, 0, {1, 5, 30}},
    {{3, {5, 6, 7}}, 0, {42, 7, 1}, 209, {-42, -7, -1}},
    {{3, {5, 6, 7}}, 100, {42, 7, 1}, 9, {7, 0, 1}}, /* copies */
    {{4, {3, 4, 5, 6}}, 0, {120, 30, 6, 1}, 0, {6, 18, 72, 1}},
    {{4, {3, 1, 5, 6}}, 0, {120, 30, 6, 1}, 0, {1, 2, 3, 15}},
};

static void strings_are_copied_wherever_threads_begin(void **state)
{
    static const int64_t pieces[] = {1, 2, 7, 39, 40, 41, 1000};
    struct tfd_kctx k = {0};

    (void)state;
    for (int i = 0; i < TFD_COUNT(boxes); i++) {
        check(&boxes[i], NULL);
        for (int p = 0; p < TFD_COUNT(pieces); p++) {
            piece = pieces[p];
            check(&boxes[i], &k);
        }
    }
}

static void nothing_is_copied_from_empty_boxes(void **state)
{
    static const struct box empty[] = {
        {{1, {0}}, 0, {1}, 0, {1}},
        {{2, {0, 5}}, 0, {5, 1}, 0, {5, 1}},
        {{3, {4, 0, 5}}, 0, {0, 5, 1}, 0, {0, 5, 1}},
        {{2, {5, 0}}, 0, {0, 1}, 0, {0, 1}},
    };
    struct tfd_kctx k = {0};

    (void)state;
    for (int i = 0; i < TFD_COUNT(empty); i++) {
        check(&empty[i], &k);
        check(&empty[i], NULL);
    }
}

static void who_is_told_to_stop_copies_nothing(void **state)
{
    const struct box *b = &boxes[4];
    struct tfd_kctx k = {0};
    const int stop = 1;

    (void)state;
    clear(to);
    piece = 100;
    tfd_halt_at(&stop);
    assert_int_equal(tfd_elements_box(&k, TFD_STRING, &b->shape, to, b->to,
                                      from, b->from, NULL),
                     TFD_OK);
    assert_int_equal(tfd_elements_box(NULL, TFD_STRING, &b->shape, to, b->to,
                                      from, b->from, NULL),
                     TFD_OK);
    tfd_halt_at(NULL);
    for (int i = 0; i < ROOM; i++)
        assert_int_equal(tfd_tstring_view(&to[i]).size, 0);
}

static void what_nobody_can_copy_is_refused(void **state)
{
    const struct tfd_shape shape = {1, {3}};
    static const int64_t stride[] = {1};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)state;
    piece = 2;
    assert_int_equal(tfd_elements_box(&k, TFD_DTYPE_INVALID, &shape, to, stride,
                                      from, stride, &st),
                     TFD_UNIMPLEMENTED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_copied_wherever_threads_begin),
        cmocka_unit_test(nothing_is_copied_from_empty_boxes),
        cmocka_unit_test(who_is_told_to_stop_copies_nothing),
        cmocka_unit_test(what_nobody_can_copy_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
