/*
 * test_lstm_cell.c - gradients of an LSTM cell, to the bit, beside a loop over
 * single units: rows of all lengths around a vector and around a tile, data
 * that lie nowhere in particular, and numbers that are none; and sums of many
 * rows, of numbers whose sums are exact in any order.
 */
#include "kernels/nn/recurrent.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BATCH 3
#define BATCH_MAX 150
#define CELL_MAX 300
#define ROOM (BATCH_MAX * CELL_MAX + 1)

enum { I, F, O, CI, CO, CS, CS_PREV, CS_GRAD, H_GRAD, H_CARRY, INPUTS };

static float in[INPUTS][ROOM], peephole[3][CELL_MAX + 1];
static float gates[4 * ROOM], carry[ROOM], want_gates[4 * ROOM],
    want_carry[ROOM];
static float sum[7 * CELL_MAX], want_sum[7 * CELL_MAX], room[64 * 7 * CELL_MAX];

static float next_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) * 0x1p-23f - 1;
}

static void fill(float *to, int64_t n, uint32_t *seed)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = next_number(seed);
}

static void fill_all(uint32_t seed)
{
    for (int i = 0; i < INPUTS; i++)
        fill(in[i], ROOM, &seed);
    for (int i = 0; i < 3; i++)
        fill(peephole[i], CELL_MAX + 1, &seed);
    fill(carry, ROOM, &seed);
    fill(sum, 7 * CELL_MAX, &seed);
    memcpy(want_carry, carry, sizeof(carry));
    memcpy(want_sum, sum, sizeof(sum));
}

static void put_rare(void)
{
    static const float rare[] = {NAN,   INFINITY, -INFINITY,
                                 -0.0f, 1e-40f,   3e38f};

    for (int i = 0; i < 6; i++)
        in[i + 3][17 * i + 1] = rare[i];
}

/* Halves, so that no sum of some products is rounded. */
static void make_short(float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = rintf(to[i] * 2) / 2;
}

static void make_all_short(void)
{
    for (int i = 0; i < INPUTS; i++)
        make_short(in[i], ROOM);
    for (int i = 0; i < 3; i++)
        make_short(peephole[i], CELL_MAX + 1);
    make_short(carry, ROOM);
    make_short(sum, 7 * CELL_MAX);
    memcpy(want_carry, carry, sizeof(carry));
    memcpy(want_sum, sum, sizeof(sum));
}

/* As lstm_cell.c says it, of one unit. */
static void expect_unit(const struct tfd_lstm *l, const struct tfd_lstm_step *s,
                        int64_t at, int64_t c, float *di, float *last)
{
    const int64_t n = l->cell;
    const float i = s->i[at], f = s->f[at], o = s->o[at];
    const float ci = s->ci[at], co = s->co[at];
    const float dh = s->h_grad[at] + (s->h_carry ? s->h_carry[at] : 0);
    const float up = o * (1 - o) * dh * co;
    const float behind = s->h_carry ? *last : 0;
    const float dcs = (1 - co * co) * dh * o + s->cs_grad[at] + behind +
                      (l->peephole ? up * l->wco[c] : 0);
    const float give = i * (1 - i) * dcs * ci;
    const float kept = f * (1 - f) * dcs * s->cs_prev[at];

    di[3 * n] = up;
    di[0] = give;
    di[l->at_f * n] = kept;
    di[l->at_c * n] = (1 - ci * ci) * dcs * i;
    *last = dcs * f + (l->peephole ? give * l->wci[c] + kept * l->wcf[c] : 0);
}

static void check_same(const float *have, const float *want, int64_t n,
                       const char *what, int64_t cell)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&have[i], &want[i], sizeof(float)) != 0 &&
            !(isnan(have[i]) && isnan(want[i])))
            fail_msg("%s %d of cells of %d: %.9g, not %.9g", what, (int)i,
                     (int)cell, (double)have[i], (double)want[i]);
}

static void expect_sums(const struct tfd_lstm *l, const struct tfd_lstm_step *s)
{
    const int64_t n = l->cell;

    for (int64_t at = 0; at < l->batch * n; at++) {
        const float *d = want_gates + at / n * 4 * n + at % n;
        float *to = want_sum + at % n;

        if (l->peephole) {
            to[0] += d[0] * s->cs_prev[at];
            to[n] += d[l->at_f * n] * s->cs_prev[at];
            to[2 * n] += d[3 * n] * s->cs[at];
        }
        for (int gate = 0; gate < 4; gate++)
            to[(3 + gate) * n] += d[gate * n];
    }
}

static void check_cell(int64_t batch, int64_t n, int shift, bool peep,
                       bool carried)
{
    struct tfd_lstm l = {.batch = batch,
                         .cell = n,
                         .peephole = peep,
                         .at_c = carried ? 2 : 1,
                         .at_f = carried ? 1 : 2,
                         .wci = peephole[0] + shift,
                         .wcf = peephole[1] + shift,
                         .wco = peephole[2] + shift,
                         .gates = gates + shift};
    struct tfd_lstm_step s = {.i = in[I] + shift,
                              .f = in[F] + shift,
                              .o = in[O],
                              .ci = in[CI] + shift,
                              .co = in[CO],
                              .cs = in[CS] + shift,
                              .cs_prev = in[CS_PREV],
                              .cs_grad = in[CS_GRAD] + shift,
                              .h_grad = in[H_GRAD],
                              .h_carry = carried ? in[H_CARRY] : NULL,
                              .cs_carry = carry + shift};
    const struct tfd_lstm_sums sums = {sum, sum + n, sum + 2 * n, sum + 3 * n,
                                       room};
    struct tfd_kctx k = {0};

    if (!peep)
        l.wci = l.wcf = l.wco = NULL;
    assert_true((size_t)tfd_lstm_room(&l) <= sizeof(room) / sizeof(*room));
    tfd_lstm_backward(&k, &l, &s, &sums);
    for (int64_t at = 0; at < batch * n; at++)
        expect_unit(&l, &s, at, at % n, want_gates + at / n * 4 * n + at % n,
                    want_carry + shift + at);
    check_same(l.gates, want_gates, 4 * batch * n, "gate", n);
    check_same(carry, want_carry, ROOM, "carry", n);
    expect_sums(&l, &s);
    check_same(sum, want_sum, 7 * n, "sum", n);
}

static void test_gradients(void **state)
{
    static const int cells[] = {1,  2,  3,  7,  8,   9,   15,  16,
                                17, 31, 33, 64, 127, 128, 129, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
        for (int ways = 0; ways < 8; ways++) {
            fill_all((uint32_t)(ways + 1));
            put_rare();
            check_cell(BATCH, cells[i], ways & 1, ways & 2, ways & 4);
        }
}

/* Rows that are added up by themselves, some at a time. */
static void test_many_rows(void **state)
{
    static const int cells[] = {17, 64, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
        for (int64_t batch = 15; batch <= BATCH_MAX; batch += 9) {
            fill_all((uint32_t)batch);
            make_all_short();
            check_cell(batch, cells[i], batch & 1, batch & 2, batch & 4);
        }
}

/* No rows, or rows of no units: nothing is read or written. */
static void test_no_units(void **state)
{
    const struct tfd_lstm l = {.at_c = 1, .at_f = 2, .peephole = true};
    const struct tfd_lstm rows = {.batch = 2, .at_c = 1, .at_f = 2};
    const struct tfd_lstm_step s = {0};
    const struct tfd_lstm_sums sums = {0};
    struct tfd_kctx k = {0};

    (void)state;
    tfd_lstm_backward(&k, &l, &s, &sums);
    tfd_lstm_backward(&k, &rows, &s, &sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_no_units),
    };

    return cmocka_run_group_tests_name("lstm_cell", tests, NULL, NULL);
}
