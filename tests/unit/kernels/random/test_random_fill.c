/*
 * test_random_fill.c - kernels/random/random_fill.c: what vector lanes make is
 * what is made one by one, to the bit.  (The bits themselves are TensorFlow's:
 * test_philox.c.)
 */
#define _GNU_SOURCE /* random_make.h */
#include "kernels/random/random_fill.h"

#include "kernels/random/random_make.h"
#include "kernels/vector/vector_normal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Each has a carry of its own on the way. */
static const struct tfd_philox generators[] = {
    {{0, 0, 0, 0}, {0, 0}},           {{1, 2, 3, 4}, {5, 6}},
    {{~0u - 9, 0, 7, 8}, {~0u, 1}},   {{~0u - 9, ~0u, 7, 8}, {1, ~0u}},
    {{~0u - 9, ~0u, ~0u, 8}, {9, 9}}, {{~0u - 9, ~0u, ~0u, ~0u}, {~0u, ~0u}},
};

/* A number is 23 bits: u1 of the first, an angle of the second. */
static void test_normals_are_those_of_the_c_library(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1u << 23; i++) {
        uint32_t other = i * 0x9e3779b1u;
        float want[2], got[2];

        tfd_random_make_normals_float(i, other, want);
        tfd_normal_pair(i | (uint64_t)other << 32, &got[0], &got[1]);
        if (memcmp(got, want, sizeof(got)) != 0)
            fail_msg("number %u", i);
    }
}

static const struct rule {
    enum tfd_random_kind kind;
    enum tfd_dtype dtype;
    size_t size; /* of an element */
    int64_t lo, hi;
} rules[] = {
    {TFD_RANDOM_UNIFORM, TFD_HALF, 2, 0, 0},
    {TFD_RANDOM_UNIFORM, TFD_BFLOAT16, 2, 0, 0},
    {TFD_RANDOM_UNIFORM, TFD_FLOAT, 4, 0, 0},
    {TFD_RANDOM_UNIFORM, TFD_DOUBLE, 8, 0, 0},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT32, 4, 0, 1},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT32, 4, -3, 1000},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT32, 4, 0, 1 << 30},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT32, 4, INT32_MIN, INT32_MAX},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT32, 4, INT32_MIN, 0},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT64, 8, -5, 1000003},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT64, 8, 0, 1},
    {TFD_RANDOM_UNIFORM_INT, TFD_INT64, 8, INT64_MIN, INT64_MAX},
    {TFD_RANDOM_FULL_INT, TFD_INT32, 4, 0, 0},
    {TFD_RANDOM_FULL_INT, TFD_UINT32, 4, 0, 0},
    {TFD_RANDOM_FULL_INT, TFD_INT64, 8, 0, 0},
    {TFD_RANDOM_FULL_INT, TFD_UINT64, 8, 0, 0},
    {TFD_RANDOM_NORMAL, TFD_HALF, 2, 0, 0},
    {TFD_RANDOM_NORMAL, TFD_BFLOAT16, 2, 0, 0},
    {TFD_RANDOM_NORMAL, TFD_FLOAT, 4, 0, 0},
    {TFD_RANDOM_NORMAL, TFD_DOUBLE, 8, 0, 0},
    {TFD_RANDOM_TRUNCATED_NORMAL, TFD_HALF, 2, 0, 0},
    {TFD_RANDOM_TRUNCATED_NORMAL, TFD_BFLOAT16, 2, 0, 0},
    {TFD_RANDOM_TRUNCATED_NORMAL, TFD_FLOAT, 4, 0, 0},
    {TFD_RANDOM_TRUNCATED_NORMAL, TFD_DOUBLE, 8, 0, 0},
};

#define ELEMENTS_MAX 600
#define GUARD 64

static uint8_t reference[ELEMENTS_MAX * 8];
static uint8_t made[ELEMENTS_MAX * 8 + GUARD];

static const struct tfd_random_rule *rule_of(const struct rule *r)
{
    const struct tfd_random_rule *rule =
        tfd_random_rule_find(r->kind, r->dtype);

    assert_non_null(rule);
    return rule;
}

/* Group by group: a single one is never made in lanes. */
static void make_reference(const struct rule *r, const struct tfd_philox *g,
                           int64_t size)
{
    const struct tfd_random_rule *rule = rule_of(r);
    struct tfd_random_fill f = {*g, reference, size, r->lo, r->hi};

    for (int64_t i = 0; i < tfd_random_groups(rule, size); i++)
        rule->fill(&f, i, i + 1);
}

/* In pieces of `step` groups, `shift` elements behind a 64-byte line. */
static void compare_made(const struct rule *r, const struct tfd_philox *g,
                         int64_t size, int64_t step, size_t shift)
{
    const struct tfd_random_rule *rule = rule_of(r);
    int64_t groups = tfd_random_groups(rule, size);
    uint8_t *out = made + shift * r->size;
    struct tfd_random_fill f = {*g, out, size, r->lo, r->hi};

    memset(made, 0xa5, sizeof(made));
    for (int64_t i = 0; i < groups; i += step)
        rule->fill(&f, i, i + step < groups ? i + step : groups);
    assert_memory_equal(out, reference, (size_t)size * r->size);
    for (size_t i = 0; i < shift * r->size; i++)
        assert_int_equal(made[i], 0xa5);
    for (const uint8_t *p = out + (size_t)size * r->size;
         p < made + sizeof(made); p++)
        assert_int_equal(*p, 0xa5);
}

/* Around multiples of the lanes, and below what is worth their work. */
static const int64_t sizes[] = {
    0,  1,  2,   3,   4,   5,   15,  16,  17,  29,  31,  32,  33,  61,  63, 64,
    65, 66, 126, 127, 128, 129, 130, 133, 191, 255, 256, 257, 400, 511, 590};

static void test_any_size_is_what_single_groups_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rules); i++)
        for (size_t j = 0; j < COUNT(sizes); j++) {
            const struct tfd_philox *g = &generators[j % COUNT(generators)];

            make_reference(&rules[i], g, sizes[j]);
            compare_made(&rules[i], g, sizes[j], ELEMENTS_MAX, 0);
        }
}

static void test_ranges_of_any_length_are_the_same(void **state)
{
    static const int64_t steps[] = {1, 2, 7, 8, 9, 31, 32, 33, 40, 71};

    (void)state;
    for (size_t i = 0; i < COUNT(rules); i++) {
        make_reference(&rules[i], &generators[1], 590);
        for (size_t j = 0; j < COUNT(steps); j++)
            compare_made(&rules[i], &generators[1], 590, steps[j], 0);
    }
}

static void test_output_need_not_be_aligned(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rules); i++) {
        make_reference(&rules[i], &generators[2], 333);
        for (size_t shift = 0; shift < 8; shift++)
            compare_made(&rules[i], &generators[2], 333, ELEMENTS_MAX, shift);
    }
}

/* Counters run over while a tensor is filled. */
static void test_carries_within_a_tensor(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rules); i++)
        for (size_t j = 0; j < COUNT(generators); j++) {
            make_reference(&rules[i], &generators[j], 300);
            compare_made(&rules[i], &generators[j], 300, ELEMENTS_MAX, 0);
        }
}

/* Others are drawn again, in every lane. */
static void test_truncated_normals_are_below_two(void **state)
{
    static float out[100000];
    const struct tfd_random_rule *rule =
        tfd_random_rule_find(TFD_RANDOM_TRUNCATED_NORMAL, TFD_FLOAT);
    struct tfd_random_fill f = {tfd_philox_of(3, 4), out, COUNT(out), 0, 0};

    (void)state;
    assert_non_null(rule);
    rule->fill(&f, 0, tfd_random_groups(rule, f.size));
    for (size_t i = 0; i < COUNT(out); i++)
        assert_true(out[i] > -2 && out[i] < 2 && out[i] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normals_are_those_of_the_c_library),
        cmocka_unit_test(test_any_size_is_what_single_groups_are),
        cmocka_unit_test(test_ranges_of_any_length_are_the_same),
        cmocka_unit_test(test_output_need_not_be_aligned),
        cmocka_unit_test(test_carries_within_a_tensor),
        cmocka_unit_test(test_truncated_normals_are_below_two),
    };

    return cmocka_run_group_tests_name("random_fill", tests, NULL, NULL);
}
