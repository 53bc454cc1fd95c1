/*
 * test_hash.c - common/base/hash.c against the reference vectors of SipHash,
 * and the tables that stand on it against keys chosen to meet in one place.
 */
#include "common/base/hash.h"
#include "common/base/id_map.h"
#include "common/base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The key of the reference vectors is 00 01 .. 0f, their inputs 00 01 .. */
static const struct tfd_hash_key reference = {0x0706050403020100u,
                                              0x0f0e0d0c0b0a0908u};

static uint64_t sip_of_first(size_t size, int word_rounds, int end_rounds)
{
    char bytes[64];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    return tfd_hash_sip(&reference, (struct tfd_str){bytes, size}, word_rounds,
                        end_rounds);
}

static void test_siphash_2_4_is_that_of_its_paper(void **state)
{
    (void)state;
    assert_true(sip_of_first(0, 2, 4) == 0x726fdb47dd0e0e31u);
    assert_true(sip_of_first(1, 2, 4) == 0x74f839c593dc67fdu);
    assert_true(sip_of_first(8, 2, 4) == 0x93f5f5799a932462u);
    assert_true(sip_of_first(15, 2, 4) == 0xa129ca6149be45e5u);
}

static void test_siphash_1_3_has_fewer_rounds(void **state)
{
    (void)state;
    assert_true(sip_of_first(0, 1, 3) == 0xabac0158050fc4dcu);
    assert_true(sip_of_first(15, 1, 3) == 0xd320d86d2a519956u);
}

static void test_one_process_has_one_key(void **state)
{
    struct tfd_hash_key key = *tfd_hash_key();

    (void)state;
    assert_true(key.low | key.high);
    assert_memory_equal(&key, tfd_hash_key(), sizeof(key));
    assert_true(tfd_hash_str(TFD_STR("w")) ==
                tfd_hash_sip(&key, TFD_STR("w"), 1, 3));
    assert_true(tfd_hash_number(7) == tfd_hash_mix(&key, 7));
}

static void test_no_bytes_may_be_null(void **state)
{
    (void)state;
    assert_true(tfd_hash_str((struct tfd_str){NULL, 0}) ==
                tfd_hash_str(TFD_STR("")));
}

/* Zeros at the end count, too. */
static void test_sizes_tell_zeros_apart(void **state)
{
    static const char zeros[32];

    (void)state;
    for (size_t n = 0; n < sizeof(zeros); n++)
        assert_false(tfd_hash_str((struct tfd_str){zeros, n}) ==
                     tfd_hash_str((struct tfd_str){zeros, n + 1}));
}

/* ---- Names that meet without a key --------------------------------------- */

#define LOW_BITS 20 /* of FNV-1a, whose low bits depend on low bits alone */
#define WORD 5
#define WORDS 14
#define NAMES (1 << WORDS)

static uint32_t fnv_low(uint32_t state, const char *s, size_t size)
{
    for (size_t i = 0; i < size; i++)
        state = ((state ^ (uint8_t)s[i]) * 0x1b3u) & ((1u << LOW_BITS) - 1);
    return state;
}

/* Two words that lead from a state to itself: any row of them does as well. */
static void find_words(uint32_t from, char words[2][WORD + 1])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    uint32_t base = sizeof(letters) - 1;
    int found = 0;

    for (uint32_t n = 0; found < 2; n++) {
        char *w = words[found];
        uint32_t rest = n;

        for (int i = 0; i < WORD; i++, rest /= base)
            w[i] = letters[rest % base];
        w[WORD] = '\0';
        assert_int_equal(rest, 0);
        found += fnv_low(from, w, WORD) == from;
    }
}

static char (*colliding_names(void))[WORD * WORDS + 1]
{
    char(*names)[WORD * WORDS + 1] = malloc(NAMES * sizeof(*names));
    uint32_t from = 0x84222325u & ((1u << LOW_BITS) - 1); /* FNV's start */
    char words[2][WORD + 1];

    assert_non_null(names);
    find_words(from, words);
    for (uint32_t n = 0; n < NAMES; n++) {
        for (int i = 0; i < WORDS; i++)
            memcpy(names[n] + i * WORD, words[n >> i & 1], WORD + 1);
        assert_int_equal(fnv_low(from, names[n], WORD * WORDS), from);
    }
    return names;
}

/* Entries behind the place where their search starts. */
static size_t longest_search(const struct tfd_map *m)
{
    size_t longest = 0;

    for (size_t at = 0; at < m->capacity; at++) {
        size_t away = (at - (size_t)m->entries[at].hash) & (m->capacity - 1);

        if (m->entries[at].key.data && away > longest)
            longest = away;
    }
    return longest;
}

static void test_names_that_meet_under_fnv_are_spread(void **state)
{
    char(*names)[WORD * WORDS + 1] = colliding_names();
    struct tfd_map m;

    (void)state;
    tfd_map_init(&m);
    for (uintptr_t n = 0; n < NAMES; n++)
        assert_true(tfd_map_put(&m, tfd_str_of(names[n]), n));
    /* At a load of 3/4 chance gives about 100; all in one place: 16,383. */
    assert_in_range(longest_search(&m), 0, 1000);
    tfd_map_deinit(&m);
    free(names);
}

/* Ids whose products with the golden ratio, the multiplier that everybody
 * takes, are the multiples of 2^40: without a key they share few places. */
static void test_numbers_that_meet_without_a_key_are_spread(void **state)
{
    const uint64_t inverse = 0xf1de83e19937733du; /* of 0x9e3779b97f4a7c15 */
    static bool taken[1 << 16];
    int places = 0;

    (void)state;
    assert_true(inverse * 0x9e3779b97f4a7c15u == 1);
    for (uint64_t n = 0; n < 1 << 14; n++) {
        uint64_t at = tfd_hash_number((n << 40) * inverse) & 0xffff;

        places += !taken[at];
        taken[at] = true;
    }
    assert_in_range(places, 1 << 13, 1 << 14);
}

static void test_ids_of_one_stride_are_found_again(void **state)
{
    struct tfd_id_map m = {0};
    int value;

    (void)state;
    for (uint64_t n = 0; n < 10000; n++)
        assert_true(tfd_id_map_put(&m, n << 40, &value));
    for (uint64_t n = 0; n < 10000; n++)
        assert_ptr_equal(tfd_id_map_remove(&m, n << 40), &value);
    assert_null(tfd_id_map_get(&m, 1));
    tfd_id_map_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash_2_4_is_that_of_its_paper),
        cmocka_unit_test(test_siphash_1_3_has_fewer_rounds),
        cmocka_unit_test(test_one_process_has_one_key),
        cmocka_unit_test(test_no_bytes_may_be_null),
        cmocka_unit_test(test_sizes_tell_zeros_apart),
        cmocka_unit_test(test_names_that_meet_under_fnv_are_spread),
        cmocka_unit_test(test_numbers_that_meet_without_a_key_are_spread),
        cmocka_unit_test(test_ids_of_one_stride_are_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
