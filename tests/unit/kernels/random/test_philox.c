/*
 * test_philox.c - kernels/random/philox.c against the published vectors of
 * Philox4x32-10, and kernels/random/random_fill.c against bits recorded from
 * TensorFlow 2.21.
 *
 * Recorded with seed 87654321, seed2 42, nine elements, two runs of one node.
 * Integers are from [-3, 1000) and [-2^62, 2^62 + 7).  The normals among them
 * come out the same whether the C library uses fused multiply-add or not.
 */
#include "kernels/random/philox_lanes.h"
#include "kernels/random/random_fill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RECORDED 9

/* The known answers that come with the paper's own library. */
static void test_published_vectors(void **state)
{
    static const struct {
        struct tfd_philox g;
        uint32_t out[4];
    } cases[] = {
        {{{0, 0, 0, 0}, {0, 0}},
         {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
        {{{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}},
         {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
        {{{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
          {0xa4093822u, 0x299f31d0u}},
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_philox g = cases[i].g;
        uint32_t out[4];

        tfd_philox_next(&g, out);
        assert_memory_equal(out, cases[i].out, sizeof(out));
    }
}

static void test_skip_is_the_same_as_drawing(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 20; n++) {
        struct tfd_philox drawn = tfd_philox_of(5, 7);
        struct tfd_philox skipped = drawn;
        uint32_t unused[4];

        for (uint64_t i = 0; i < n; i++)
            tfd_philox_next(&drawn, unused);
        tfd_philox_skip(&skipped, n);
        assert_memory_equal(&drawn, &skipped, sizeof(drawn));
    }
}

static void test_skip_carries_through_all_four_words(void **state)
{
    struct tfd_philox g = {{1, 0, ~0u, 3}, {0, 0}};

    (void)state;
    tfd_philox_skip(&g, UINT64_MAX);
    assert_int_equal(g.counter[0], 0);
    assert_int_equal(g.counter[1], 0);
    assert_int_equal(g.counter[2], 0);
    assert_int_equal(g.counter[3], 4);
}

/* Near and far apart, and where the counter carries. */
static void test_blocks_together_are_those_drawn_one_by_one(void **state)
{
    static const uint64_t places[] = {0, 1, UINT32_MAX - 5, UINT64_MAX - 70,
                                      UINT64_MAX - 3};
    static const uint64_t strides[] = {0, 1, 3, 64, 256, UINT64_MAX / 40};

    (void)state;
    for (size_t p = 0; p < COUNT(places); p++)
        for (size_t s = 0; s < COUNT(strides); s++) {
            struct tfd_philox g = tfd_philox_of(0x123456789abcdef0, 77);
            uint64_t skip[TFD_PHILOX_LANES];
            struct tfd_philox_lanes got;

            tfd_philox_skip(&g, places[p]);
            for (uint64_t i = 0; i < TFD_PHILOX_LANES; i++)
                skip[i] = 9 + i * strides[s];
            tfd_philox_lanes(&got, &g, skip);
            for (int i = 0; i < TFD_PHILOX_LANES; i++) {
                struct tfd_philox at = g;
                uint32_t want[4];

                tfd_philox_skip(&at, skip[i]);
                tfd_philox_next(&at, want);
                for (int j = 0; j < 4; j++)
                    assert_int_equal(
                        (uint32_t)(got.pair[j / 2][i] >> 32 * (j % 2)),
                        want[j]);
            }
        }
}

static void test_no_seed_gives_streams_of_its_own(void **state)
{
    struct tfd_philox_source a, b, seeded;

    (void)state;
    assert_int_equal(tfd_philox_source_init(&a, 0, 0, NULL), TFD_OK);
    assert_int_equal(tfd_philox_source_init(&b, 0, 0, NULL), TFD_OK);
    assert_memory_not_equal(&a.start, &b.start, sizeof(a.start));

    assert_int_equal(tfd_philox_source_init(&seeded, 0, 9, NULL), TFD_OK);
    assert_int_equal(seeded.start.key[0], 0);
    assert_int_equal(seeded.start.counter[2], 9);
}

struct recorded {
    enum tfd_random_kind kind;
    enum tfd_dtype dtype;
    size_t size; /* of an element */
    uint64_t bits[2][RECORDED];
};

static const struct recorded recorded[] = {
    {TFD_RANDOM_UNIFORM,
     TFD_HALF,
     2,
     {{0x2000u, 0x3530u, 0x33e8u, 0x35d4u, 0x2740u, 0x3460u, 0x3b08u, 0x368cu,
       0x3544u},
      {0x39b2u, 0x34d0u, 0x3480u, 0x340cu, 0x36d0u, 0x3464u, 0x346cu, 0x3a2eu,
       0x3440u}}},
    {TFD_RANDOM_UNIFORM,
     TFD_BFLOAT16,
     2,
     {{0x3d80u, 0x3f18u, 0x3f7au, 0x3f6au, 0x3e68u, 0x3e40u, 0x3d00u, 0x3e8cu,
       0x3f22u},
      {0x3f32u, 0x3ed0u, 0x3e80u, 0x3cc0u, 0x3ed0u, 0x3e48u, 0x3e58u, 0x3e38u,
       0x3e00u}}},
    {TFD_RANDOM_UNIFORM,
     TFD_FLOAT,
     4,
     {{0x3f73c810u, 0x3f2d6a98u, 0x3f4b99fau, 0x3f417aeau, 0x3ef3b074u,
       0x3f218a30u, 0x3e3e7c20u, 0x3dea1a30u, 0x3eac2544u},
      {0x3ee13b64u, 0x3e99c4d0u, 0x3f2ada40u, 0x3ebf840cu, 0x3dfc9b40u,
       0x3f2ca232u, 0x3f1eaa36u, 0x3f70ce2eu, 0x3f652220u}}},
    {TFD_RANDOM_UNIFORM,
     TFD_DOUBLE,
     8,
     {{0x3fe3c811ecad6a98ull, 0x3fd733f43b82f5d4ull, 0x3fe9d83beea18a30ull,
       0x3fdf3e10d23a868cull, 0x3fe612a272b92c7cull, 0x3fe81d7823db7a7aull,
       0x3fe2ec7362986cf8ull, 0x3f98457807e982c0ull, 0x3fa8e134c5c91140ull},
      {0x3fe09db3b84ce268ull, 0x3fd5b4808abf840cull, 0x3fef93692aaca232ull,
       0x3feeaa37daf0ce2eull, 0x3fc48882813e9ac8ull, 0x3fe553a04e1e1a5cull,
       0x3fd617a1549d4c94ull, 0x3fb2728230b42aa0ull, 0x3fdef94afc7544d0ull}}},
    {TFD_RANDOM_UNIFORM_INT,
     TFD_INT32,
     4,
     {{0x1eu, 0x5du, 0x240u, 0xfffffffdu, 0x1cau, 0x78u, 0x391u, 0x159u,
       0x18du},
      {0x150u, 0x1e8u, 0x2d1u, 0x6fu, 0x6cu, 0x86u, 0x3b9u, 0x17au, 0xb7u}}},
    {TFD_RANDOM_UNIFORM_INT,
     TFD_INT64,
     8,
     {{0x3656b54cb1f9e401ull, 0xcee0bd753765ccfdull, 0x3750c51808bcec16ull,
       0xf48ea1a33d17cf84ull, 0xf95c963e36ab0951ull, 0xd1edbd3da39c0ebcull,
       0xf14c367c06e97632ull, 0x201fa60bdf00610eull, 0xe62e488a7140c702ull},
      {0x1c26713405384ed2ull, 0xe2afe1030dd56d20ull, 0xd55651191d8fc9adull,
       0x2d786717444f5514ull, 0x1027d3598cf29110ull, 0xe70f0d2e78eaa9d0ull,
       0x15275325db4585e8ull, 0xe30b42aa7be12728ull, 0xff1d51341077be4bull}}},
    {TFD_RANDOM_NORMAL,
     TFD_HALF,
     2,
     {{0xb47eu, 0xb068u, 0xb969u, 0x264bu, 0xbb26u, 0xbaa1u, 0x3cd4u, 0x3d86u,
       0xbdd3u},
      {0x3cdfu, 0xb660u, 0x391eu, 0xb90fu, 0xbf47u, 0xbb7du, 0xb5b4u, 0x3b4au,
       0x36fcu}}},
    {TFD_RANDOM_NORMAL,
     TFD_BFLOAT16,
     2,
     {{0xbe90u, 0xbe0du, 0xbf2du, 0x3cc9u, 0xbf65u, 0xbf54u, 0x3f9au, 0x3fb1u,
       0xbfbau},
      {0x3f9cu, 0xbeccu, 0x3f24u, 0xbf22u, 0xbfe9u, 0xbf70u, 0xbeb6u, 0x3f69u,
       0x3ee0u}}},
    {TFD_RANDOM_NORMAL,
     TFD_FLOAT,
     4,
     {{0xbe8fc1c0u, 0xbe0d0ee3u, 0xbf2d23f0u, 0x3cc95cddu, 0xbf64c1f5u,
       0xbf5416d3u, 0x3f9a7b84u, 0x3fb0c51fu, 0xbfba5794u},
      {0x3f9be7bfu, 0xbecc0e4eu, 0x3f23c1a2u, 0xbf21d262u, 0xbfe8d759u,
       0xbf6fad97u, 0xbeb677fcu, 0x3f693160u, 0x3edf87afu}}},
    {TFD_RANDOM_NORMAL,
     TFD_DOUBLE,
     8,
     {{0x3fe7dc27d1298f35ull, 0xbfe463e9c2b04909ull, 0x3fa8de13bb656dffull,
       0xbfe4dbee2db10dd1ull, 0xbfeb9272b6a8ae9dull, 0x3f93f2244e52f49dull,
       0x3fc377a245427510ull, 0x3ff037f930f8009eull, 0x3ffe85b84f581833ull},
      {0x3fef09c48d5765f3ull, 0xbfe376a730c9b661ull, 0xbfa5ad1dd27e637cull,
       0x3fc43248166148d3ull, 0xbffa7d1b39fc0d89ull, 0xbfeeadd799fdaea8ull,
       0x3fe46ad0025167e1ull, 0x3ff4fc301ed1f516ull, 0xbff346c0ecf1e37aull}}},
    {TFD_RANDOM_TRUNCATED_NORMAL,
     TFD_HALF,
     2,
     {{0xb47eu, 0xb068u, 0xb969u, 0x264bu, 0xb77fu, 0x990du, 0xbbccu, 0x3950u,
       0x36fdu},
      {0x3cdfu, 0xb660u, 0x391eu, 0xb90fu, 0xb7b3u, 0xb8bbu, 0x3778u, 0x3f46u,
       0xbc53u}}},
    {TFD_RANDOM_TRUNCATED_NORMAL,
     TFD_BFLOAT16,
     2,
     {{0xbe90u, 0xbe0du, 0xbf2du, 0x3cc9u, 0xbef0u, 0xbb22u, 0xbf79u, 0x3f2au,
       0x3ee0u},
      {0x3f9cu, 0xbeccu, 0x3f24u, 0xbf22u, 0xbef6u, 0xbf17u, 0x3eefu, 0x3fe9u,
       0xbf8au}}},
    {TFD_RANDOM_TRUNCATED_NORMAL,
     TFD_FLOAT,
     4,
     {{0xbe8fc1c0u, 0xbe0d0ee3u, 0xbf2d23f0u, 0x3cc95cddu, 0xbeefd94cu,
       0xbb21a1f5u, 0xbf797ecdu, 0x3f29f205u, 0x3edfa465u},
      {0x3f9be7bfu, 0xbecc0e4eu, 0x3f23c1a2u, 0xbf21d262u, 0xbef6594du,
       0xbf1766c7u, 0x3eef0c0fu, 0x3fe8ba8du, 0xbf8a63a8u}}},
    {TFD_RANDOM_TRUNCATED_NORMAL,
     TFD_DOUBLE,
     8,
     {{0x3fe7dc27d1298f35ull, 0xbfe463e9c2b04909ull, 0x3ff09e3e85695088ull,
       0x3feb028f154f6e0bull, 0xbfb9a16ed03674aaull, 0x3ffe259d60fbc992ull,
       0xbfde95ad80eae4b8ull, 0x3fe2c39179e1a7b6ull, 0x3fec152ade157bfbull},
      {0x3fef09c48d5765f3ull, 0xbfe376a730c9b661ull, 0xbff0504b91337a28ull,
       0x3fdd83cfa6c3bd60ull, 0x3fc4b7de85f712e5ull, 0x3ff1e4b2bf622951ull,
       0x3fd7c05c5c009348ull, 0x3ff92f32dd4042bbull, 0xbffbf67b4814bcdfull}}},
};

#define BYTES_MAX (RECORDED * sizeof(uint64_t))

static void expected(const struct recorded *r, int run, uint8_t *bytes)
{
    for (size_t i = 0; i < RECORDED; i++)
        memcpy(bytes + i * r->size, &r->bits[run][i], r->size);
}

static struct tfd_random_fill fill_of(const struct recorded *r,
                                      struct tfd_philox g, void *out)
{
    struct tfd_random_fill f = {g, out, RECORDED, -3, 1000};

    if (r->dtype == TFD_INT64) {
        f.lo = -(1ll << 62);
        f.hi = (1ll << 62) + 7;
    }
    return f;
}

static void test_streams_are_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        const struct recorded *r = &recorded[i];
        const struct tfd_random_rule *rule =
            tfd_random_rule_find(r->kind, r->dtype);
        struct tfd_philox_source source;

        assert_non_null(rule);
        assert_int_equal(tfd_philox_source_init(&source, 87654321, 42, NULL),
                         TFD_OK);
        for (int run = 0; run < 2; run++) {
            uint8_t want[BYTES_MAX], got[BYTES_MAX];
            struct tfd_random_fill f =
                fill_of(r, tfd_philox_reserve(&source, RECORDED), got);

            expected(r, run, want);
            rule->fill(&f, 0, tfd_random_groups(rule, RECORDED));
            assert_memory_equal(got, want, RECORDED * r->size);
        }
    }
}

/* Threads take ranges of groups; the last group is cut. */
static void test_ranges_in_any_order_give_the_same_tensor(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        const struct recorded *r = &recorded[i];
        const struct tfd_random_rule *rule =
            tfd_random_rule_find(r->kind, r->dtype);
        uint8_t want[BYTES_MAX], got[BYTES_MAX + 1];
        struct tfd_random_fill f = fill_of(r, tfd_philox_of(87654321, 42), got);

        assert_non_null(rule);
        expected(r, 0, want);
        got[RECORDED * r->size] = 0xa5;
        for (int64_t g = tfd_random_groups(rule, RECORDED); g > 0; g--)
            rule->fill(&f, g - 1, g);
        assert_memory_equal(got, want, RECORDED * r->size);
        assert_int_equal(got[RECORDED * r->size], 0xa5);
    }
}

static void test_empty_tensor_has_no_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(recorded); i++) {
        const struct tfd_random_rule *rule =
            tfd_random_rule_find(recorded[i].kind, recorded[i].dtype);
        struct tfd_random_fill f = {tfd_philox_of(1, 1), NULL, 0, 0, 1};

        assert_non_null(rule);
        assert_int_equal(tfd_random_groups(rule, 0), 0);
        assert_int_equal(tfd_random_groups(rule, 1), 1);
        rule->fill(&f, 0, 0);
    }
}

/* The widest ranges do not fit the signed type. */
static void test_integers_stay_within_bounds(void **state)
{
    static const struct {
        enum tfd_dtype dtype;
        int64_t lo, hi;
    } cases[] = {
        {TFD_INT32, INT32_MIN, INT32_MAX},
        {TFD_INT32, 5, 6},
        {TFD_INT32, -9, -2},
        {TFD_INT64, INT64_MIN, INT64_MAX},
        {TFD_INT64, -1, 0},
        {TFD_INT64, INT64_MAX - 1, INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct tfd_random_rule *rule =
            tfd_random_rule_find(TFD_RANDOM_UNIFORM_INT, cases[i].dtype);
        union {
            int64_t wide[64];
            int32_t narrow[64];
        } out;
        struct tfd_random_fill f = {tfd_philox_of(3, 4), &out, 64, cases[i].lo,
                                    cases[i].hi};

        assert_non_null(rule);
        rule->fill(&f, 0, tfd_random_groups(rule, 64));
        for (int j = 0; j < 64; j++) {
            int64_t v =
                cases[i].dtype == TFD_INT32 ? out.narrow[j] : out.wide[j];

            assert_true(v >= cases[i].lo && v < cases[i].hi);
        }
    }
}

static void test_types_tensorflow_refuses_have_no_rule(void **state)
{
    static const struct {
        enum tfd_random_kind kind;
        enum tfd_dtype dtype;
    } cases[] = {
        {TFD_RANDOM_UNIFORM, TFD_INT32},
        {TFD_RANDOM_NORMAL, TFD_STRING},
        {TFD_RANDOM_UNIFORM_INT, TFD_FLOAT},
        {TFD_RANDOM_UNIFORM_INT, TFD_INT8},
        {TFD_RANDOM_TRUNCATED_NORMAL, TFD_BOOL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_null(tfd_random_rule_find(cases[i].kind, cases[i].dtype));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_skip_is_the_same_as_drawing),
        cmocka_unit_test(test_skip_carries_through_all_four_words),
        cmocka_unit_test(test_blocks_together_are_those_drawn_one_by_one),
        cmocka_unit_test(test_no_seed_gives_streams_of_its_own),
        cmocka_unit_test(test_streams_are_those_of_tensorflow),
        cmocka_unit_test(test_ranges_in_any_order_give_the_same_tensor),
        cmocka_unit_test(test_empty_tensor_has_no_groups),
        cmocka_unit_test(test_integers_stay_within_bounds),
        cmocka_unit_test(test_types_tensorflow_refuses_have_no_rule),
    };

    return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
