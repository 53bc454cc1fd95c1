/*
 * test_sparse_segment_loops.c - kernels/sparse/sparse_segment_loops.h beside a
 * plain loop that adds in the order of the picks, to the bit: every width of
 * row, each way to give picks, at any address; nothing beside the row is
 * touched.
 */
#include "kernels/sparse/sparse_segment_loops.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 23  /* of the table */
#define PICKS 19 /* of which a sum may have any */
#define INNER 150
#define Y_ROWS 3
#define GUARD 0x5a

#define IDENTITY(x) (x)

#define PLAIN(name, T, A, LOAD, STORE)                                        \
    static void plain_##name(const struct tfd_picks *p, int64_t begin,        \
                             int64_t end, int64_t row, double scale)          \
    {                                                                         \
        for (int64_t c = 0; c < p->inner; c++) {                              \
            A sum = 0;                                                        \
                                                                              \
            for (int64_t i = begin; i < end; i++)                             \
                sum +=                                                        \
                    LOAD(((const T *)p->x)[p->list[i].from * p->inner + c]) * \
                    (A)p->list[i].weight;                                     \
            ((T *)p->y)[row * p->inner + c] = (T)STORE(sum * (A)scale);       \
        }                                                                     \
    }                                                                         \
    static void fill_##name(void *x, int64_t n)                               \
    {                                                                         \
        for (int64_t i = 0; i < n; i++)                                       \
            ((T *)x)[i] = (T)STORE((A)((A)((i * 37) % 101) * (A)1.1));        \
    }

PLAIN(FLOAT, float, float, IDENTITY, IDENTITY)
PLAIN(DOUBLE, double, double, IDENTITY, IDENTITY)
PLAIN(INT8, int8_t, uint32_t, (uint32_t), IDENTITY)
PLAIN(INT32, int32_t, uint32_t, (uint32_t), IDENTITY)
PLAIN(UINT64, uint64_t, uint64_t, IDENTITY, IDENTITY)
PLAIN(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float)
PLAIN(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,
      tfd_bfloat16_from_float)

static const struct {
    enum tfd_dtype dtype;
    tfd_picks_sum_fn *plain;
    void (*fill)(void *x, int64_t n);
    bool whole;
} types[] = {
#define ROW(name, whole)                             \
    {                                                \
        TFD_##name, plain_##name, fill_##name, whole \
    }
    ROW(FLOAT, false),    ROW(DOUBLE, false), ROW(HALF, false),
    ROW(BFLOAT16, false), ROW(INT8, true),    ROW(INT32, true),
    ROW(UINT64, true),
#undef ROW
};

struct memory {
    _Alignas(64) char x[ROWS * INNER * 8 + 64];
    _Alignas(64) char y[Y_ROWS * INNER * 8 + 128];
    _Alignas(64) char expected[Y_ROWS * INNER * 8 + 128];
    struct tfd_pick list[PICKS];
    int32_t narrow[PICKS];
    int64_t wide[PICKS];
};

static struct memory m;

static void make_picks(bool weighted)
{
    for (int i = 0; i < PICKS; i++) {
        m.wide[i] = i * 7 % ROWS; /* the last row too */
        m.narrow[i] = (int32_t)m.wide[i];
        m.list[i] = (struct tfd_pick){
            .from = m.wide[i], .at = i, .weight = weighted ? 1.0 / (i + 3) : 1};
    }
    m.wide[3] = m.list[3].from = ROWS - 1;
    m.narrow[3] = ROWS - 1;
}

/* by: the index type; anything else, the list. */
static void compare(int type, enum tfd_dtype by, int64_t inner, int64_t picks,
                    size_t shift)
{
    const double scale = types[type].whole ? 1 : 1.0 / 3;
    struct tfd_picks p = {.list = m.list,
                          .index_type = by,
                          .x = m.x + shift,
                          .y = m.expected + 64 + shift,
                          .inner = inner};

    memset(m.y, GUARD, sizeof(m.y));
    memset(m.expected, GUARD, sizeof(m.expected));
    types[type].plain(&p, PICKS - picks, PICKS, 1, scale);
    p.y = m.y + 64 + shift;
    if (by == TFD_INT32 || by == TFD_INT64) {
        p.list = NULL;
        p.index = by == TFD_INT32 ? (const void *)m.narrow : m.wide;
    }
    tfd_picks_sum_of(types[type].dtype, &p)(&p, PICKS - picks, PICKS, 1, scale);
    assert_memory_equal(m.y, m.expected, sizeof(m.y));
}

static void compare_all(int type, enum tfd_dtype by)
{
    static const int64_t picks[] = {0, 1, 2, 3, PICKS};
    const size_t size = tfd_dtype_size(types[type].dtype);

    for (int64_t inner = 1; inner <= INNER; inner++)
        for (int i = 0; i < TFD_COUNT(picks); i++)
            for (size_t shift = 0; shift <= size; shift += size)
                compare(type, by, inner, picks[i], shift);
}

static void rows_are_added_in_order(void **unused)
{
    (void)unused;
    make_picks(false);
    for (int t = 0; t < TFD_COUNT(types); t++) {
        types[t].fill(m.x,
                      (int64_t)(sizeof(m.x) / tfd_dtype_size(types[t].dtype)));
        compare_all(t, TFD_INT32);
        compare_all(t, TFD_INT64);
    }
}

static void rows_of_a_list_are_weighted(void **unused)
{
    (void)unused;
    for (int t = 0; t < TFD_COUNT(types); t++) {
        make_picks(!types[t].whole);
        types[t].fill(m.x,
                      (int64_t)(sizeof(m.x) / tfd_dtype_size(types[t].dtype)));
        compare_all(t, TFD_DTYPE_INVALID);
    }
}

/* ---- Backward ------------------------------------------------------------ */

#define BACK(T)                                                   \
    static void back_##T(const struct tfd_picks_back *p)          \
    {                                                             \
        for (int64_t i = 0; i < p->count; i++)                    \
            for (int64_t c = 0; c < p->inner; c++)                \
                ((T *)p->y)[m.wide[i] % Y_ROWS * p->inner + c] += \
                    ((const T *)p->x)[m.wide[i] * p->inner + c] * \
                    (p->weight ? (T)p->weight[m.wide[i]] : 1);    \
    }

BACK(float)
BACK(double)

/* Whether numbers are 32 bits wide is another matter for each input. */
static void compare_back(enum tfd_dtype dtype, int wide, int64_t inner,
                         int64_t count, bool weighted)
{
    int64_t index[PICKS];
    int32_t narrow_index[PICKS];
    double weight[ROWS];
    struct tfd_picks_back p = {.index = wide & 1 ? (const void *)index
                                                 : narrow_index,
                               .id = wide & 2 ? (const void *)m.wide : m.narrow,
                               .index_type = wide & 1 ? TFD_INT64 : TFD_INT32,
                               .id_type = wide & 2 ? TFD_INT64 : TFD_INT32,
                               .weight = weighted ? weight : NULL,
                               .x = m.x,
                               .y = m.expected + 64,
                               .count = count,
                               .inner = inner};

    for (int i = 0; i < PICKS; i++) {
        index[i] = m.wide[i] % Y_ROWS;
        narrow_index[i] = (int32_t)index[i];
    }
    for (int i = 0; i < ROWS; i++)
        weight[i] = 1.0 / (i + 3);
    memset(m.y, 0, sizeof(m.y));
    memset(m.expected, 0, sizeof(m.expected));
    (dtype == TFD_FLOAT ? back_float : back_double)(&p);
    p.y = m.y + 64;
    assert_true(tfd_picks_add(dtype, &p));
    assert_memory_equal(m.y, m.expected, sizeof(m.y));
}

static void rows_are_added_where_they_go(void **unused)
{
    (void)unused;
    make_picks(false);
    for (int t = 0; t < 2; t++) { /* float, double */
        types[t].fill(m.x,
                      (int64_t)(sizeof(m.x) / tfd_dtype_size(types[t].dtype)));
        for (int64_t inner = 1; inner <= 40; inner++)
            for (int64_t count = 0; count <= PICKS; count++)
                for (int wide = 0; wide < 4; wide++)
                    compare_back(types[t].dtype, wide, inner, count,
                                 (count + inner) % 2);
    }
}

static void what_is_added_as_something_else_is_left_alone(void **unused)
{
    static const enum tfd_dtype others[] = {TFD_HALF, TFD_BFLOAT16, TFD_INT32,
                                            TFD_STRING};
    const struct tfd_picks_back p = {.count = 1, .inner = 1}; /* of nothing */

    (void)unused;
    for (int i = 0; i < TFD_COUNT(others); i++)
        assert_false(tfd_picks_add(others[i], &p));
}

/* Many picks, all of one row that is added to one other. */
static void many_are_added_until_the_step_has_ended(void **unused)
{
    enum { MANY = 3 * 65536 + 5 };
    int32_t *zeros = calloc(MANY, sizeof(*zeros));
    float x = 1, y = 0;
    const struct tfd_picks_back p = {.index = zeros,
                                     .id = zeros,
                                     .index_type = TFD_INT32,
                                     .id_type = TFD_INT32,
                                     .x = &x,
                                     .y = &y,
                                     .count = MANY,
                                     .inner = 1};
    const int ended = 1;

    (void)unused;
    assert_non_null(zeros);
    tfd_halt_at(&ended);
    assert_true(tfd_picks_add(TFD_FLOAT, &p));
    tfd_halt_at(NULL);
    assert_true(y == 0);
    assert_true(tfd_picks_add(TFD_FLOAT, &p));
    assert_true(y == MANY);
    free(zeros);
}

static void what_is_no_number_has_no_sum(void **unused)
{
    const struct tfd_picks p = {.list = m.list, .inner = 5};

    (void)unused;
    assert_null(tfd_picks_sum_of(TFD_STRING, &p));
    assert_null(tfd_picks_sum_of(TFD_BOOL, &p));
    assert_null(tfd_picks_sum_of(TFD_COMPLEX64, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_added_in_order),
        cmocka_unit_test(rows_of_a_list_are_weighted),
        cmocka_unit_test(rows_are_added_where_they_go),
        cmocka_unit_test(what_is_added_as_something_else_is_left_alone),
        cmocka_unit_test(many_are_added_until_the_step_has_ended),
        cmocka_unit_test(what_is_no_number_has_no_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
