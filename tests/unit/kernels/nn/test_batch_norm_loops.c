/*
 * test_batch_norm_loops.c - sums of gradients, and the gradients made of them,
 * to the bit, beside loops over single numbers: channels around the lengths of
 * vectors and strips, rows around those of a chunk, and so many that they are
 * read from memory.
 */
#include "kernels/nn/batch_norm_loops.h"

#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHUNK 256 /* rows that are summed in float */

static void fill(float *to, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static void check_sums(const struct tfd_batch_norm_rows *r, int64_t c)
{
    const int64_t n = r->channels;
    double sum = 0, product = 0;

    for (int64_t first = 0; first < r->count; first += CHUNK) {
        float own = 0, own_product = 0;

        for (int64_t i = first; i < r->count && i < first + CHUNK; i++) {
            own += r->dy[i * n + c];
            own_product += r->dy[i * n + c] * (r->x[i * n + c] - r->mean[c]);
        }
        sum += (double)own;
        product += (double)own_product;
    }
    assert_true(tfd_batch_norm_total(r, 0, c) == sum);
    assert_true(tfd_batch_norm_total(r, 1, c) == product);
}

static void check_slopes(const struct tfd_batch_norm_rows *r)
{
    const int64_t n = r->channels;

    for (int64_t i = 0; i < r->count * n; i++) {
        const int64_t c = i % n;
        const float want =
            (r->dy[i] - r->b[c] - (r->x[i] - r->mean[c]) * r->c[c]) * r->a[c];

        if (memcmp(&want, &r->y[i], sizeof(want)) != 0)
            fail_msg("%d of %d channels: %.9g, not %.9g", (int)i, (int)n,
                     (double)r->y[i], (double)want);
    }
}

/* shift: of data that lie nowhere in particular. */
static void check_rows(int64_t rows, int64_t channels, int shift)
{
    const int64_t size = rows * channels + 1;
    float *x = malloc((size_t)(3 * size + channels) * sizeof(*x));
    struct tfd_batch_norm_rows r = {.x = x + shift,
                                    .dy = x + size,
                                    .y = x + 2 * size + shift,
                                    .mean = x + 3 * size,
                                    .count = rows,
                                    .channels = channels};
    struct tfd_kctx k = {0};
    struct tfd_buffer *b;
    float *abc;

    assert_non_null(x);
    assert_int_equal(tfd_batch_norm_scratch(&r, &b, &abc, NULL), TFD_OK);
    fill(x, 3 * size + channels, (uint32_t)(rows + channels));
    fill(abc, 3 * channels, 5);
    r.a = abc;
    r.b = abc + channels;
    r.c = abc + 2 * channels;
    tfd_batch_norm_sum_gradients(&k, &r);
    for (int64_t c = 0; c < channels; c++)
        check_sums(&r, c);
    tfd_batch_norm_derive(&k, &r);
    check_slopes(&r);
    tfd_buffer_unref(b);
    free(x);
}

static void test_gradients(void **state)
{
    static const int rows[] = {1, 2, 255, 256, 257, 600};
    static const int channels[] = {1, 3, 8, 15, 31, 32, 33, 64, 65, 100, 127};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t j = 0; j < sizeof(channels) / sizeof(*channels); j++)
            check_rows(rows[i], channels[j], (int)(i + j) % 2);
}

static void test_large(void **state)
{
    (void)state;
    check_rows(30000, 64, 0);
    check_rows(20001, 97, 1);
    check_rows(60000, 33, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_large),
    };

    return cmocka_run_group_tests_name("batch_norm_loops", tests, NULL, NULL);
}
