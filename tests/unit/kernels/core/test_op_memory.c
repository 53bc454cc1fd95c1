/*
 * test_op_memory.c - tfd_op_memory_copy() in host memory
 * (kernels/core/op_memory.h): numbers of every size by pieces that threads
 * take, at odd addresses, with nothing written beside them; strings, which are
 * not shared.
 */
#include "kernels/core/op_memory.h"

#include "common/base/tstring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_MAX 200
#define AROUND 64

/* In place of the runtime's: pieces of a size, the last one first. */
static int64_t piece;
static int shared, bytes_each;

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    (void)k;
    (void)cost;
    fn(arg, 0, n);
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    (void)bytes;
    tfd_kctx_parallel(k, n, 1, fn, arg);
}

void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg)
{
    (void)k;
    shared++;
    bytes_each = s->moved;
    assert_int_equal(s->held, s->moved);
    for (int64_t at = (n - 1) / piece * piece; n > 0 && at >= 0; at -= piece)
        fn(arg, at, at + piece < n ? at + piece : n);
}

static char from[COUNT_MAX * 16 + 2 * AROUND];
static char to[COUNT_MAX * 16 + 2 * AROUND], expected[sizeof(to)];

static void check(enum tfd_dtype dtype, int64_t count, int odd)
{
    const size_t size = tfd_dtype_size(dtype) * (size_t)(count > 0 ? count : 0);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    memset(to, 0x5a, sizeof(to));
    memset(expected, 0x5a, sizeof(expected));
    memcpy(expected + AROUND + odd, from + odd, size);
    assert_int_equal(tfd_op_memory_copy(&k, dtype, to + AROUND + odd,
                                        from + odd, count, &st),
                     TFD_OK);
    assert_memory_equal(to, expected, sizeof(to));
}

static void numbers_are_copied_by_pieces(void **unused)
{
    static const enum tfd_dtype types[] = {
        TFD_BOOL, TFD_HALF, TFD_FLOAT, TFD_INT32, TFD_INT64, TFD_COMPLEX128};
    static const int64_t counts[] = {-1, 0, 1, 2, 7, 64, 65, COUNT_MAX};

    (void)unused;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7 + i / 251);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (piece = 1; piece <= 256; piece *= 4)
                check(types[t], counts[n], n % 2 ? 16 : 3);
    assert_true(shared > 0);
    assert_int_equal(bytes_each, 2 * sizeof(tfd_complex128));
}

static void strings_are_copied_by_this_thread(void **unused)
{
    struct tfd_tstring a[2], b[2];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx k = {0};

    (void)unused;
    shared = 0;
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    assert_int_equal(tfd_tstring_set(&a[1], TFD_STR("words"), &st), TFD_OK);
    assert_int_equal(tfd_op_memory_copy(&k, TFD_STRING, b, a, 0, &st), TFD_OK);
    assert_int_equal(tfd_tstring_view(&b[1]).size, 0);
    assert_int_equal(tfd_op_memory_copy(&k, TFD_STRING, b, a, 2, &st), TFD_OK);
    tfd_tstring_deinit(&a[1]);
    assert_true(tfd_str_is(tfd_tstring_view(&b[1]), "words"));
    tfd_tstring_deinit(&b[1]);
    assert_int_equal(shared, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_copied_by_pieces),
        cmocka_unit_test(strings_are_copied_by_this_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
