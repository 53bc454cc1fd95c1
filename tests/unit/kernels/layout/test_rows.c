/*
 * test_rows.c - kernels/layout/rows.h beside a plain loop: every kind of width,
 * each type of index, at any address; and which indices are bad.
 */
#include "kernels/layout/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 45 /* more than are prefetched at once, twice */
#define TABLE 30
#define SIZE_LARGEST 4099
#define GUARD 0x5a

static const enum tfd_dtype types[] = {TFD_INT16, TFD_INT32, TFD_INT64};
static const size_t long_sizes[] = {127,          128,  129,  255,  256,
                                    257,          400,  1000, 2047, 2048,
                                    SIZE_LARGEST, 2049, 4096, 97};
static const int64_t counts[] = {0, 1, 2, 11, 12, 13, 14, ROWS};

/* In pieces, the last one first. */
void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    (void)k;
    (void)cost;
    for (int64_t piece = 10007, end = n; end > 0; end -= piece) {
        piece = end % piece ? end % piece : piece;
        fn(arg, end - piece, end);
    }
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    tfd_kctx_parallel(k, n, bytes, fn, arg);
}

/* The numbers as indices of a type. */
static void put_indices(enum tfd_dtype dtype, const int64_t *number, int64_t n,
                        void *out)
{
    size_t size = tfd_dtype_size(dtype);

    for (int64_t i = 0; i < n; i++) /* little endian */
        memcpy((char *)out + (size_t)i * size, &number[i], size);
}

struct memory {
    char *from, *to, *expected;
    int64_t index[ROWS], typed[ROWS];
};

static const size_t memory_size = (size_t)ROWS * SIZE_LARGEST + 64;

static void make_memory(struct memory *m)
{
    m->from = malloc(memory_size);
    m->to = aligned_alloc(64, (memory_size + 63) / 64 * 64);
    m->expected = malloc(memory_size);
    assert_true(m->from && m->to && m->expected);
    for (size_t i = 0; i < memory_size; i++)
        m->from[i] = (char)(i * 7 + i / 251);
}

static void free_memory(struct memory *m)
{
    free(m->from);
    free(m->to);
    free(m->expected);
}

/* Bytes outside of the rows stay as they were, too. */
static void compare_once(struct memory *m, size_t size, enum tfd_dtype dtype,
                         int64_t n, size_t shift, bool scatter)
{
    char *to = m->to + shift, *expected = m->expected + shift;
    const char *from = m->from + (shift ^ 3);
    size_t touched = (size_t)ROWS * size + shift + 8;

    memset(m->to, GUARD, touched);
    memset(m->expected, GUARD, touched);
    for (int64_t i = 0; i < n; i++) {
        m->index[i] = i * 17 % TABLE;
        memcpy(expected + (size_t)(scatter ? m->index[i] : i) * size,
               from + (size_t)(scatter ? i : m->index[i]) * size, size);
    }
    put_indices(dtype, m->index, n, m->typed);
    (scatter ? tfd_rows_scatter : tfd_rows_gather)(size, dtype)(to, from, size,
                                                                m->typed, n);
    assert_memory_equal(m->to, m->expected, touched);
    if (!scatter) {
        memset(m->to, GUARD, touched);
        tfd_rows_gather_from(0, size, dtype)(to, from, size, m->typed, n);
        assert_memory_equal(m->to, m->expected, touched);
        return;
    }
    for (int far = 0; far < 2; far++) {
        memset(m->to, GUARD, touched);
        tfd_rows_scatter_into(to, far ? SIZE_MAX : 0, size,
                              dtype)(to, from, size, m->typed, n);
        assert_memory_equal(m->to, m->expected, touched);
    }
}

static void compare_size(struct memory *m, size_t size)
{
    static const size_t shifts[] = {0, 16, 5};

    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int s = 0; s < TFD_COUNT(shifts); s++)
            for (int c = 0; c < TFD_COUNT(counts); c++) {
                compare_once(m, size, types[t], counts[c], shifts[s], false);
                compare_once(m, size, types[t], counts[c], shifts[s], true);
            }
}

static void rows_of_every_width_arrive(void **unused)
{
    struct memory m;

    (void)unused;
    make_memory(&m);
    for (size_t size = 1; size <= 70; size++)
        compare_size(&m, size);
    for (int i = 0; i < TFD_COUNT(long_sizes); i++)
        compare_size(&m, long_sizes[i]);
    free_memory(&m);
}

static void of_two_scattered_to_one_place_the_last_stays(void **unused)
{
    static const int32_t index[] = {1, 0, 1, 1, 0};
    static const uint32_t from[] = {10, 11, 12, 13, 14};
    uint32_t to[] = {1, 2, 3};

    (void)unused;
    tfd_rows_scatter(4, TFD_INT32)(to, from, 4, index, 5);
    assert_int_equal(to[0], 14);
    assert_int_equal(to[1], 13);
    assert_int_equal(to[2], 3);
}

/* ---- Bad indices --------------------------------------------------------- */

#define MANY 3000 /* several blocks */

static int64_t bad_of(enum tfd_dtype dtype, const int64_t *number, int64_t n,
                      int64_t limit)
{
    static int64_t typed[MANY];

    put_indices(dtype, number, n, typed);
    return tfd_rows_bad(typed, dtype, n, limit);
}

static void good_indices_are_good(void **unused)
{
    static int64_t number[MANY];

    (void)unused;
    for (int i = 0; i < MANY; i++)
        number[i] = i % 100;
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int64_t n = 0; n <= MANY; n += n < 70 ? 1 : 977) {
            assert_int_equal(bad_of(types[t], number, n, 100), n);
            assert_int_equal(bad_of(types[t], number, n, INT16_MAX), n);
            assert_int_equal(bad_of(types[t], number, n, INT64_MAX), n);
        }
}

static void the_first_bad_index_is_named(void **unused)
{
    static const int64_t bad[] = {100, 101, -1, INT16_MIN, INT16_MAX};
    static int64_t number[MANY];

    (void)unused;
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int b = 0; b < TFD_COUNT(bad); b++)
            for (int at = 0; at < MANY; at += at < 70 ? 1 : 331) {
                number[at] = bad[b];
                number[MANY - 1] = -2;
                assert_int_equal(bad_of(types[t], number, MANY, 100), at);
                number[at] = number[MANY - 1] = 99;
            }
}

static void the_ends_of_wide_types_are_bad_too(void **unused)
{
    static const int64_t wide[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX,
                                   INT64_C(1) << 32, -(INT64_C(1) << 32)};
    static const int64_t narrow[] = {INT32_MIN, INT32_MAX};

    (void)unused;
    for (int i = 0; i < TFD_COUNT(wide); i++)
        assert_int_equal(bad_of(TFD_INT64, &wide[i], 1, INT32_MAX), 0);
    for (int i = 0; i < TFD_COUNT(narrow); i++)
        assert_int_equal(bad_of(TFD_INT32, &narrow[i], 1, INT32_MAX), 0);
    assert_int_equal(bad_of(TFD_INT64, &wide[2], 1, INT64_MAX), 0);
    assert_int_equal(bad_of(TFD_INT32, &narrow[1], 1, INT64_MAX), 1);
}

static void of_no_rows_every_index_is_bad(void **unused)
{
    static const int64_t zero[2];

    (void)unused;
    for (int t = 0; t < TFD_COUNT(types); t++) {
        assert_int_equal(bad_of(types[t], zero, 2, 0), 0);
        assert_int_equal(bad_of(types[t], zero, 2, -5), 0);
        assert_int_equal(bad_of(types[t], zero, 0, 0), 0);
    }
}

static void the_first_is_named_whoever_finds_it(void **unused)
{
    static const int64_t places[] = {0, 10006, 10007, 1000001, 1234566};
    const struct tfd_shape shape = {1, {1234567}};
    struct tfd_tensor indices = TFD_TENSOR_INIT;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};
    int32_t *index;

    (void)unused;
    assert_int_equal(tfd_tensor_new(&indices, TFD_INT32, &shape, &st), TFD_OK);
    index = tfd_tensor_data(&indices);
    memset(index, 0, (size_t)shape.dim[0] * sizeof(*index));
    assert_int_equal(tfd_rows_bad_in(&k, &indices, 1), shape.dim[0]);
    for (int i = TFD_COUNT(places) - 1; i >= 0; i--) {
        index[places[i]] = i % 2 ? -1 : 1; /* those behind it stay */
        assert_int_equal(tfd_rows_bad_in(&k, &indices, 1), places[i]);
    }
    tfd_tensor_unref(&indices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_width_arrive),
        cmocka_unit_test(of_two_scattered_to_one_place_the_last_stays),
        cmocka_unit_test(good_indices_are_good),
        cmocka_unit_test(the_first_bad_index_is_named),
        cmocka_unit_test(the_ends_of_wide_types_are_bad_too),
        cmocka_unit_test(the_first_is_named_whoever_finds_it),
        cmocka_unit_test(of_no_rows_every_index_is_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
