/*
 * test_variant.c - common/proto/variant_proto.c: lists that are shared and
 * changed, and lists that travel.
 */
#include "common/base/variant.h"

#include "common/base/alloc.h"
#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tfd_tensor number(float value)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &scalar, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = value;
    return t;
}

static struct tfd_variant *list_of(int count)
{
    struct tfd_variant *l = tfd_variant_new(TFD_VARIANT_LIST, NULL);

    assert_non_null(l);
    l->dtype = TFD_FLOAT;
    for (int i = 0; i < count; i++) {
        struct tfd_tensor t = number((float)i);

        assert_int_equal(tfd_variant_set(l, i, &t, NULL), TFD_OK);
        assert_null(t.buffer);
    }
    return l;
}

static bool is_number(const struct tfd_tensor *t, float value)
{
    return t->dtype == TFD_FLOAT && *(float *)tfd_tensor_data(t) == value;
}

static void a_copy_shares_tensors_and_not_slots(void **state)
{
    struct tfd_variant *l = list_of(3), *copy = tfd_variant_copy(l, NULL);
    struct tfd_tensor t = number(9);

    (void)state;
    assert_non_null(copy);
    assert_ptr_equal(copy->tensors[1].buffer, l->tensors[1].buffer);
    assert_int_equal(tfd_variant_set(copy, 1, &t, NULL), TFD_OK);
    assert_true(is_number(&l->tensors[1], 1));
    assert_true(is_number(&copy->tensors[1], 9));
    tfd_variant_unref(l);
    tfd_variant_unref(copy);
}

static void lists_shrink_and_grow(void **state)
{
    struct tfd_variant *l = list_of(3);

    (void)state;
    assert_int_equal(tfd_variant_resize(l, 1, NULL), TFD_OK);
    assert_int_equal(tfd_variant_resize(l, 4, NULL), TFD_OK);
    assert_int_equal(l->count, 4);
    assert_true(is_number(&l->tensors[0], 0));
    assert_int_equal(l->tensors[3].dtype, TFD_DTYPE_INVALID);
    assert_int_equal(tfd_variant_resize(l, -1, NULL), TFD_INVALID_ARGUMENT);
    assert_int_equal(
        tfd_variant_resize(l, (int64_t)TFD_VARIANT_TENSORS_MAX + 1, NULL),
        TFD_INVALID_ARGUMENT);
    assert_int_equal(l->count, 4);
    tfd_variant_unref(l);
}

static void slots_beyond_those_used_are_empty(void **state)
{
    struct tfd_variant *l = list_of(3), *copy;

    (void)state;
    assert_int_equal(tfd_variant_resize(l, 1000000, NULL), TFD_OK);
    assert_int_equal(l->used, 3);
    assert_int_equal(tfd_variant_resize(l, 1, NULL), TFD_OK);
    assert_int_equal(l->used, 1);
    assert_int_equal(tfd_variant_resize(l, 2000000, NULL), TFD_OK);
    copy = tfd_variant_copy(l, NULL);
    assert_int_equal(copy->count, 2000000);
    assert_int_equal(copy->used, 1);
    assert_true(is_number(&copy->tensors[0], 0));
    for (int i = 1; i < 5; i++)
        assert_int_equal(copy->tensors[i].dtype, TFD_DTYPE_INVALID);
    assert_int_equal(copy->tensors[1999999].dtype, TFD_DTYPE_INVALID);
    tfd_variant_unref(copy);
    tfd_variant_unref(l);
}

static void lists_in_lists_end_at_the_limit(void **state)
{
    struct tfd_variant *l = list_of(1);
    enum tfd_code rc = TFD_OK;
    int depth = 1;

    (void)state;
    while (rc == TFD_OK) {
        struct tfd_variant *outer = tfd_variant_new(TFD_VARIANT_LIST, NULL);
        struct tfd_tensor t;

        outer->dtype = TFD_VARIANT;
        assert_int_equal(tfd_variant_tensor(l, &t, NULL), TFD_OK);
        rc = tfd_variant_set(outer, 0, &t, NULL);
        l = outer;
        depth += rc == TFD_OK;
    }
    assert_int_equal(rc, TFD_INVALID_ARGUMENT);
    assert_int_equal(depth, TFD_VARIANT_DEPTH_MAX);
    tfd_variant_unref(l);
}

static void a_tensor_holds_its_variant(void **state)
{
    struct tfd_variant *l = list_of(2);
    struct tfd_tensor t, copy;

    (void)state;
    assert_int_equal(tfd_variant_tensor(tfd_variant_ref(l), &t, NULL), TFD_OK);
    copy = tfd_tensor_ref(&t);
    assert_ptr_equal(tfd_variant_of(&copy), l);
    assert_false(tfd_variant_sole(l));
    tfd_tensor_unref(&t);
    tfd_tensor_unref(&copy);
    assert_true(tfd_variant_sole(l));
    t = number(1);
    assert_null(tfd_variant_of(&t));
    tfd_tensor_unref(&t);
    tfd_variant_unref(l);
}

/* ---- Travelling ---------------------------------------------------------- */

static struct tfd_bytes written(const struct tfd_variant *v)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 1 << 20);
    tfd_variant_encode(&b, v, NULL);
    return b;
}

static void a_list_with_holes_comes_back(void **state)
{
    struct tfd_variant *l = list_of(5), *back = NULL;
    struct tfd_bytes b;

    (void)state;
    tfd_tensor_unref(&l->tensors[0]);
    tfd_tensor_unref(&l->tensors[3]);
    l->max_elements = 7;
    l->element_shape = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    b = written(l);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_OK);
    assert_int_equal(back->count, 5);
    assert_int_equal(back->dtype, TFD_FLOAT);
    assert_int_equal(back->max_elements, 7);
    assert_true(tfd_shape_equal(&back->element_shape, &l->element_shape));
    for (int i = 0; i < 5; i++)
        if (i == 0 || i == 3)
            assert_int_equal(back->tensors[i].dtype, TFD_DTYPE_INVALID);
        else
            assert_true(is_number(&back->tensors[i], (float)i));
    tfd_variant_unref(back);
    tfd_variant_unref(l);
    tfd_bytes_deinit(&b);
}

static void an_optional_comes_back(void **state)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, NULL), *back;
    struct tfd_tensor t = number(4);
    struct tfd_bytes b;

    (void)state;
    v->has_value = true;
    assert_int_equal(tfd_variant_set(v, 0, &t, NULL), TFD_OK);
    b = written(v);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_OK);
    assert_int_equal(back->kind, TFD_VARIANT_OPTIONAL);
    assert_true(back->has_value);
    assert_true(is_number(&back->tensors[0], 4));
    tfd_variant_unref(back);
    tfd_variant_unref(v);
    tfd_bytes_deinit(&b);
}

static void one_tensor_comes_back(void **state)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_TENSOR, NULL), *back;
    struct tfd_tensor t = number(4), more = number(5);
    struct tfd_bytes b;

    (void)state;
    assert_int_equal(tfd_variant_set(v, 0, &t, NULL), TFD_OK);
    b = written(v);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_OK);
    assert_int_equal(back->kind, TFD_VARIANT_TENSOR);
    assert_int_equal(back->count, 1);
    assert_true(is_number(&back->tensors[0], 4));
    tfd_variant_unref(back);
    tfd_bytes_deinit(&b);

    assert_int_equal(tfd_variant_set(v, 1, &more, NULL), TFD_OK);
    b = written(v);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_INVALID_ARGUMENT);
    tfd_variant_unref(v);
    tfd_bytes_deinit(&b);
}

/* Pairs i -> -i of a map, without every third. */
static struct tfd_variant *map_of(int count)
{
    struct tfd_variant *m = tfd_variant_new(TFD_VARIANT_MAP, NULL);

    assert_non_null(m);
    for (int i = 0; i < count; i++) {
        struct tfd_tensor key = number((float)i), value = number((float)-i);

        assert_int_equal(tfd_variant_map_put(m, &key, &value, NULL), TFD_OK);
        tfd_tensor_unref(&key);
    }
    for (int i = 0; i < count; i += 3) {
        struct tfd_tensor key = number((float)i);

        tfd_variant_map_remove(m, tfd_variant_map_find(m, &key));
        tfd_tensor_unref(&key);
    }
    return m;
}

static void check_map(const struct tfd_variant *m, int count)
{
    assert_int_equal(m->kind, TFD_VARIANT_MAP);
    assert_int_equal(m->pairs, count - (count + 2) / 3);
    for (int i = 0; i < count + 5; i++) {
        struct tfd_tensor key = number((float)i);
        int32_t at = tfd_variant_map_find(m, &key);

        assert_int_equal(at >= 0, i < count && i % 3 != 0);
        if (at >= 0)
            assert_true(is_number(&m->tensors[at + 1], (float)-i));
        tfd_tensor_unref(&key);
    }
}

static void a_map_finds_and_comes_back(void **state)
{
    static const int counts[] = {0, 1, 2, 7, 8, 9, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct tfd_variant *m = map_of(counts[i]), *back;
        struct tfd_variant *copy = tfd_variant_copy(m, NULL);
        struct tfd_bytes b = written(m);

        check_map(m, counts[i]);
        tfd_variant_unref(m);
        check_map(copy, counts[i]);
        tfd_variant_unref(copy);
        assert_int_equal(
            tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL), TFD_OK);
        check_map(back, counts[i]);
        tfd_variant_unref(back);
        tfd_bytes_deinit(&b);
    }
}

static void half_a_pair_is_no_map(void **state)
{
    struct tfd_variant *m = tfd_variant_new(TFD_VARIANT_MAP, NULL), *back;
    struct tfd_tensor t = number(4);
    struct tfd_bytes b;

    (void)state;
    assert_int_equal(tfd_variant_set(m, 0, &t, NULL), TFD_OK);
    b = written(m);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_INVALID_ARGUMENT);
    tfd_variant_unref(m);
    tfd_bytes_deinit(&b);
}

static void a_map_is_no_key(void **state)
{
    struct tfd_variant *m = map_of(0), *inner = map_of(4);
    struct tfd_tensor key, value = number(1);

    (void)state;
    assert_int_equal(tfd_variant_tensor(inner, &key, NULL), TFD_OK);
    assert_int_equal(tfd_variant_map_put(m, &key, &value, NULL),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(m->pairs, 0);
    tfd_tensor_unref(&key);
    tfd_variant_unref(m);
}

static void a_compressed_element_comes_back(void **state)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_COMPRESSED, NULL);
    struct tfd_tensor t = TFD_TENSOR_INIT;
    struct tfd_variant *back;
    struct tfd_bytes b;

    (void)state;
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &scalar, NULL), TFD_OK);
    assert_int_equal(
        tfd_tstring_set(tfd_tensor_data(&t), TFD_STR("\0bytes"), NULL), TFD_OK);
    assert_int_equal(tfd_variant_set(v, 0, &t, NULL), TFD_OK);
    b = written(v);
    assert_int_equal(tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL),
                     TFD_OK);
    assert_int_equal(back->kind, TFD_VARIANT_COMPRESSED);
    assert_int_equal(back->count, 1);
    assert_true(tfd_str_eq(tfd_tstring_view(tfd_tensor_data(&back->tensors[0])),
                           TFD_STR("\0bytes")));
    tfd_variant_unref(back);
    tfd_variant_unref(v);
    tfd_bytes_deinit(&b);
}

static void every_cut_and_every_changed_byte_is_survived(void **state)
{
    struct tfd_variant *l = list_of(3), *back;
    struct tfd_bytes b;

    (void)state;
    tfd_tensor_unref(&l->tensors[1]);
    b = written(l);
    for (size_t cut = 0; cut < b.size; cut++) {
        char *copy = malloc(cut ? cut : 1);

        memcpy(copy, b.data, cut);
        if (tfd_variant_decode((struct tfd_str){copy, cut}, NULL, &back,
                               NULL) == TFD_OK)
            tfd_variant_unref(back);
        free(copy);
    }
    for (size_t at = 0; at < b.size; at++)
        for (int bit = 0; bit < 8; bit++) {
            b.data[at] = (char)(b.data[at] ^ 1 << bit);
            if (tfd_variant_decode(tfd_bytes_view(&b), NULL, &back, NULL) ==
                TFD_OK)
                tfd_variant_unref(back);
            b.data[at] = (char)(b.data[at] ^ 1 << bit);
        }
    tfd_variant_unref(l);
    tfd_bytes_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_shares_tensors_and_not_slots),
        cmocka_unit_test(lists_shrink_and_grow),
        cmocka_unit_test(slots_beyond_those_used_are_empty),
        cmocka_unit_test(lists_in_lists_end_at_the_limit),
        cmocka_unit_test(a_tensor_holds_its_variant),
        cmocka_unit_test(a_list_with_holes_comes_back),
        cmocka_unit_test(an_optional_comes_back),
        cmocka_unit_test(one_tensor_comes_back),
        cmocka_unit_test(a_map_finds_and_comes_back),
        cmocka_unit_test(half_a_pair_is_no_map),
        cmocka_unit_test(a_map_is_no_key),
        cmocka_unit_test(a_compressed_element_comes_back),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
