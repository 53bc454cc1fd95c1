/*
 * test_step_sequences.c - the ids of steps that sessions share, as their leader
 * counts them: how they go on, and which are forgotten.
 */
#include "config/limits.h"
#include "daemon/worker/collective/step_sequences.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FOR_EVER (INT64_C(1) << 60)

static int64_t peek(struct tfd_step_sequences *s, uint64_t key)
{
    int64_t id = 0;

    assert_int_equal(TFD_OK, tfd_step_sequences_peek(s, key, &id, NULL));
    assert_true(id > 0);
    return id;
}

static enum tfd_code try_peek(struct tfd_step_sequences *s, uint64_t key)
{
    int64_t id;

    return tfd_step_sequences_peek(s, key, &id, NULL);
}

static void a_leader_counts_steps(void **state)
{
    struct tfd_step_sequences s = {.leader = -1, .idle_us = FOR_EVER};
    int64_t first, second;

    (void)state;
    assert_int_equal(0, tfd_step_sequences_begin(&s, 3));
    first = peek(&s, 3);
    assert_int_equal(first, peek(&s, 3));
    assert_int_not_equal(first, peek(&s, 4));
    assert_int_equal(first, tfd_step_sequences_begin(&s, 3));
    assert_int_equal(first, peek(&s, 3)); /* until it has ended */
    second = tfd_step_sequences_begin(&s, 3);
    assert_int_equal(first + 1, second);
    tfd_step_sequences_end(&s, 3, first, true);
    assert_int_equal(second, peek(&s, 3));
    tfd_step_sequences_end(&s, 3, first, true); /* no such one any more */
    tfd_step_sequences_end(&s, 9, first, true);
    tfd_step_sequences_end(&s, 3, second, false);
    assert_int_equal(second + 1, peek(&s, 3));
    tfd_step_sequences_deinit(&s);
}

static void who_leads_nothing_says_nothing(void **state)
{
    struct tfd_step_sequences s = {.leader = 1};

    (void)state;
    assert_int_equal(TFD_INTERNAL, try_peek(&s, 3));
    assert_int_equal(0, s.by_key.count);
    tfd_step_sequences_deinit(&s);
}

/* A peer that asks for ever more keys: what it asked for first is forgotten,
 * and nothing that has steps here. */
static void what_was_only_asked_for_goes(void **state)
{
    struct tfd_step_sequences s = {.leader = -1, .idle_us = FOR_EVER};
    int64_t own = peek(&s, 1), running = peek(&s, 2), asked = peek(&s, 3);

    (void)state;
    assert_int_equal(own, tfd_step_sequences_begin(&s, 1));
    tfd_step_sequences_end(&s, 1, own, true);
    assert_int_equal(running, tfd_step_sequences_begin(&s, 2));
    for (uint64_t i = 0; i < 3 * TFD_STEP_SEQUENCES_MAX; i++) {
        peek(&s, 1000 + i);
        assert_true(s.by_key.count <= TFD_STEP_SEQUENCES_MAX);
        if (i % 1000 == 0)
            assert_int_equal(asked, peek(&s, 3)); /* asked again in time */
    }
    assert_int_equal(own + 1, peek(&s, 1));
    assert_int_equal(running, peek(&s, 2));
    assert_null(tfd_id_map_get(&s.by_key, 1000));
    tfd_step_sequences_end(&s, 2, running, true);
    assert_int_equal(running + 1, peek(&s, 2));
    tfd_step_sequences_deinit(&s);
}

static void use_all(struct tfd_step_sequences *s)
{
    for (uint64_t key = 1; key <= TFD_STEP_SEQUENCES_MAX; key++) {
        int64_t id = peek(s, key);

        assert_int_equal(id, tfd_step_sequences_begin(s, key));
        if (key != 1)
            tfd_step_sequences_end(s, key, id, true);
    }
}

/* The first one's step still runs. */
static void what_has_steps_here_goes_last(void **state)
{
    struct tfd_step_sequences s = {.leader = -1, .idle_us = FOR_EVER};

    (void)state;
    use_all(&s);
    assert_int_equal(TFD_RESOURCE_EXHAUSTED, try_peek(&s, 5000));
    s.idle_us = 0;
    assert_int_equal(TFD_OK, try_peek(&s, 5000));
    assert_non_null(tfd_id_map_get(&s.by_key, 1));
    assert_null(tfd_id_map_get(&s.by_key, 2));
    assert_non_null(tfd_id_map_get(&s.by_key, 3));
    tfd_step_sequences_forget(&s);
    assert_int_equal(0, s.by_key.count);
    assert_int_equal(TFD_OK, try_peek(&s, 1));
    tfd_step_sequences_deinit(&s);
}

static void running_ones_stay(void **state)
{
    struct tfd_step_sequences s = {.leader = -1, .idle_us = 0};
    int64_t id = 0;

    (void)state;
    for (uint64_t key = 1; key <= TFD_STEP_SEQUENCES_MAX; key++) {
        id = peek(&s, key);
        assert_int_equal(id, tfd_step_sequences_begin(&s, key));
    }
    assert_int_equal(TFD_RESOURCE_EXHAUSTED, try_peek(&s, 5000));
    tfd_step_sequences_end(&s, TFD_STEP_SEQUENCES_MAX, id, true);
    assert_int_equal(TFD_OK, try_peek(&s, 5000));
    assert_null(tfd_id_map_get(&s.by_key, TFD_STEP_SEQUENCES_MAX));
    tfd_step_sequences_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_counts_steps),
        cmocka_unit_test(who_leads_nothing_says_nothing),
        cmocka_unit_test(what_was_only_asked_for_goes),
        cmocka_unit_test(what_has_steps_here_goes_last),
        cmocka_unit_test(running_ones_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
