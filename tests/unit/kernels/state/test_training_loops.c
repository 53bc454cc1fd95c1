/*
 * test_training_loops.c - training_loops.c: Ftrl's two loops, for roots and for
 * powers, beside the formula written out, for lengths around those of vectors;
 * Adagrad's, with accumulators of which the root is rare.
 */
#include "kernels/state/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define LONGEST 70

struct row {
    float var[LONGEST], accum[LONGEST], linear[LONGEST], grad[LONGEST];
};

static struct row row_of(uint32_t seed)
{
    struct row r;
    float *all = r.var;

    for (size_t i = 0; i < sizeof(r) / sizeof(float); i++) {
        seed = seed * 1664525u + 1013904223u;
        all[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    for (int i = 0; i < LONGEST; i++)
        r.accum[i] = fabsf(r.accum[i]);
    return r;
}

/* s: lr l1 l2 lr_power */
static void update(struct row *r, int i, const float *s, bool multiply)
{
    float g = r->grad[i], accum = r->accum[i] + g * g, l1 = s[1], quadratic;
    float root = s[3] == -0.5f ? sqrtf(accum) : powf(accum, -s[3]);
    float old = s[3] == -0.5f ? sqrtf(r->accum[i]) : powf(r->accum[i], -s[3]);

    if (multiply) {
        r->linear[i] += g * s[0] - (root - old) * r->var[i];
        l1 *= s[0];
        quadratic = root + 2 * s[2] * s[0];
    } else {
        r->linear[i] += g - (root - old) / s[0] * r->var[i];
        quadratic = root / s[0] + 2 * s[2];
    }
    r->var[i] = fabsf(r->linear[i]) > l1
                    ? (copysignf(l1, r->linear[i]) - r->linear[i]) / quadratic
                    : 0;
    r->accum[i] = accum;
}

static void check(float power, bool multiply, int begin, int count)
{
    const float s[] = {0.5f, 0.25f, 0.125f, power};
    struct row got = row_of((uint32_t)count + 7), want = got;
    struct tfd_training_job job = {
        .var = {got.var, got.accum, got.linear},
        .grad = got.grad,
        .scalar = {&s[0], &s[1], &s[2], &s[3]},
        .option = multiply,
    };

    for (int i = begin; i < begin + count; i++)
        update(&want, i, s, multiply);
    tfd_training_FTRL_float(&job, begin, begin + count);
    for (int i = 0; i < LONGEST; i++) {
        assert_true(fabsf(got.var[i] - want.var[i]) < 1e-5f);
        assert_true(fabsf(got.linear[i] - want.linear[i]) < 1e-5f);
        assert_true(got.accum[i] == want.accum[i]);
    }
}

static void test_ftrl_of_all_lengths(void **state)
{
    static const float powers[] = {-0.5f, -0.25f, -1, 0};

    (void)state;
    for (int p = 0; p < TFD_COUNT(powers); p++)
        for (int count = 0; count < LONGEST - 3; count++)
            for (int begin = 0; begin < 3; begin++) {
                check(powers[p], false, begin, count);
                check(powers[p], true, begin, count);
            }
}

enum { MANY = 2500, ODD = 1500 }; /* ODD: in the second block */

static float weight[MANY], sum[MANY], gradient[MANY];

static void train(float odd, bool adds, int begin, int end)
{
    const float lr = 0.5f;
    struct tfd_training_job job = {.var = {weight, sum},
                                   .grad = gradient,
                                   .scalar = {&lr},
                                   .option = adds};

    for (int i = 0; i < MANY; i++) {
        weight[i] = (float)(i % 17);
        sum[i] = 0.1f + (float)(i % 29);
        gradient[i] = (float)(i % 23) - 11;
    }
    sum[ODD] = odd;
    tfd_training_ADAGRAD_float(&job, begin, end);
}

static void test_adagrad_with_rare_accumulators(void **state)
{
    static const float rare[] = {1, 0, 1e-40f, -1, INFINITY, NAN, 3e38f};
    static float usual[MANY];

    (void)state;
    for (int adds = 0; adds < 2; adds++)
        for (int v = 0; v < TFD_COUNT(rare); v++) {
            double g = ODD % 23 - 11, want;

            train(rare[v], adds, 3, MANY - 3);
            want = rare[v] + (adds ? (float)(g * g) : 0);
            want = ODD % 17 - g * 0.5 / sqrt(want);
            if (v == 0)
                memcpy(usual, weight, sizeof(usual));
            for (int i = 0; i < MANY; i++)
                assert_true(i == ODD || weight[i] == usual[i]);
            assert_true(isnan(want) ? isnan(weight[ODD])
                                    : weight[ODD] == (float)want ||
                                          fabs(weight[ODD] / want - 1) < 1e-6);
            assert_true(weight[2] == 2 && weight[3] != 3);
            assert_true(weight[MANY - 3] == (MANY - 3) % 17);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ftrl_of_all_lengths),
        cmocka_unit_test(test_adagrad_with_rare_accumulators),
    };

    return cmocka_run_group_tests_name("training_loops", tests, NULL, NULL);
}
