/*
 * test_crc32c.c - common/base/crc32c.c against the vectors of RFC 3720, and the
 * two implementations against each other.
 */
#include "common/base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* RFC 3720, appendix B.4, and the check value of the catalogues of CRCs. */
static void test_published_vectors(void **state)
{
    uint8_t zeros[32], ones[32], up[32], down[32];

    (void)state;
    for (int i = 0; i < 32; i++) {
        zeros[i] = 0;
        ones[i] = 0xff;
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(tfd_crc32c(zeros, 32), 0x8a9136aau);
    assert_int_equal(tfd_crc32c(ones, 32), 0x62a8ab43u);
    assert_int_equal(tfd_crc32c(up, 32), 0x46dd794eu);
    assert_int_equal(tfd_crc32c(down, 32), 0x113fdb5cu);
    assert_int_equal(tfd_crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(tfd_crc32c("", 0), 0);
}

static void test_both_ways_agree_at_every_length_and_alignment(void **state)
{
    uint8_t data[96];
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; from + n <= sizeof(data); n++)
            assert_int_equal(tfd_crc32c_extend(x, data + from, n),
                             tfd_crc32c_extend_portable(x, data + from, n));
}

/* Long enough for three streams at once, at each way to end them. */
static void test_both_ways_agree_on_long_pieces(void **state)
{
    enum { MOST = 40000 };
    static const size_t sizes[] = {12287, 12288, 12289, 12295, 24576, 36871};
    uint8_t *data = malloc(MOST);
    uint32_t x = 1;

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < MOST; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t from = 0; from < 9; from++)
            assert_int_equal(
                tfd_crc32c_extend(x, data + from, sizes[i]),
                tfd_crc32c_extend_portable(x, data + from, sizes[i]));
    free(data);
}

static void test_sum_of_parts_is_sum_of_whole(void **state)
{
    const char text[] = "the quick brown fox jumps over the lazy dog";
    size_t n = strlen(text);

    (void)state;
    for (size_t cut = 0; cut <= n; cut++) {
        uint32_t crc = tfd_crc32c(text, cut);

        crc = tfd_crc32c_extend(crc, text + cut, n - cut);
        assert_int_equal(crc, tfd_crc32c(text, n));
    }
}

static void test_mask_and_back(void **state)
{
    static const uint32_t some[] = {0, 1, 0x7fff, 0x8000, 0xffffffffu, 0x1234};

    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        uint32_t masked = tfd_crc32c_mask(some[i]);

        assert_int_not_equal(masked, some[i]);
        assert_int_equal(tfd_crc32c_unmask(masked), some[i]);
    }
    assert_int_equal(tfd_crc32c_mask(0), 0xa282ead8u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_both_ways_agree_at_every_length_and_alignment),
        cmocka_unit_test(test_both_ways_agree_on_long_pieces),
        cmocka_unit_test(test_sum_of_parts_is_sum_of_whole),
        cmocka_unit_test(test_mask_and_back),
    };

    return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
