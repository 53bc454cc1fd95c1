/*
 * test_shares.c - common/thread/shares.c: every piece is taken once, and a
 * thread that comes in time has the same ones each time.
 */
#include "common/base/atomic.h"
#include "common/thread/shares.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PIECES_MAX 5000

static int times[PIECES_MAX]; /* that a piece was taken */

static void clear(void)
{
    memset(times, 0, sizeof(times));
}

static void assert_each_once(int64_t pieces)
{
    for (int64_t i = 0; i < PIECES_MAX; i++)
        assert_int_equal(times[i], i < pieces);
}

/* All that is left, for who is there. */
static void take_all(struct tfd_shares *s, struct tfd_shares_place place)
{
    int64_t piece;

    while ((piece = tfd_shares_take(s, &place)) >= 0) {
        assert_in_range(piece, 0, PIECES_MAX - 1);
        TFD_COUNTER_ADD(&times[piece], 1);
    }
    assert_int_equal(place.empty, s->count);
}

/* ---- One thread ---------------------------------------------------------- */

static void test_one_thread_takes_each_piece(void **state)
{
    static const int counts[] = {1, 2, 3, 7, 12, 31, 32, 33, 68, 4100};
    static const int threads[] = {0, 1, 2, 3, 5, 16, 31, 32, 33, 1024};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (size_t j = 0; j < 4 * sizeof(threads) / sizeof(threads[0]); j++) {
            struct tfd_shares s;
            const int of = threads[j / 4];

            tfd_shares_init(&s, counts[i], of, of - 1, j % 2);
            assert_in_range(s.count, 1, TFD_SHARES_MAX);
            assert_int_equal(tfd_shares_left(&s), counts[i]);
            clear();
            take_all(&s, j % 4 < 2 ? tfd_shares_host(&s)
                                   : tfd_shares_guest(&s, of / 2));
            assert_each_once(counts[i]);
            assert_int_equal(tfd_shares_left(&s), 0);
        }
    }
}

static void test_threads_own_shares_of_all(void **state)
{
    struct tfd_shares s;

    (void)state;
    tfd_shares_init(&s, 5000, 1024, 100, false);
    assert_int_equal(tfd_shares_host(&s).own, 3);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(tfd_shares_guest(&s, i).own, i / 32 == 3 ? 4 : i / 32);
    tfd_shares_init(&s, 3, 8, 7, false);
    assert_int_equal(s.count, 3);
    assert_int_equal(tfd_shares_host(&s).own, 2);
    assert_int_equal(tfd_shares_guest(&s, 0).own, 0);
    assert_int_equal(tfd_shares_guest(&s, 6).own, 0);
}

static void test_threads_of_elsewhere_are_as_the_first(void **state)
{
    static const int others[] = {8, 1000, INT32_MAX, -1, INT32_MIN};
    struct tfd_shares s;

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        tfd_shares_init(&s, 100, 8, others[i], false);
        assert_int_equal(tfd_shares_host(&s).own, 0);
        assert_int_equal(tfd_shares_guest(&s, others[i]).own, 1);
        assert_int_equal(tfd_shares_guest(&s, 7).own, 7);
    }
    tfd_shares_init(&s, 100, INT32_MIN, 3, false);
    assert_int_equal(s.count, 1);
    assert_int_equal(tfd_shares_host(&s).own, 0);
    assert_true(tfd_shares_guest(&s, 3).guest);
}

/* What who is there takes, one after the other. */
static void assert_order(struct tfd_shares *s, struct tfd_shares_place place,
                         const int *pieces, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(tfd_shares_take(s, &place), pieces[i]);
}

static void test_others_begin_where_the_owner_ends(void **state)
{
    static const int first[] = {0, 1, 2, 3, 7, 6, 5, 4, -1, -1};
    static const int second[] = {4, 5, 6, 7, 3, 2, 1, 0, -1, -1};
    static const int middle[] = {3, 4, 5, 8, 7, 6, 2, 1, 0, -1};
    struct tfd_shares s;

    (void)state;
    tfd_shares_init(&s, 8, 2, 0, false);
    assert_order(&s, tfd_shares_host(&s), first, 10);
    tfd_shares_init(&s, 8, 2, 0, false);
    assert_order(&s, tfd_shares_guest(&s, 1), second, 10);
    tfd_shares_init(&s, 8, 2, 1, false);
    assert_order(&s, tfd_shares_host(&s), second, 10);
    tfd_shares_init(&s, 9, 3, 0, false);
    assert_order(&s, tfd_shares_guest(&s, 1), middle, 10);
}

static void test_back_each_begins_at_its_end(void **state)
{
    static const int first[] = {3, 2, 1, 0, 4, 5, 6, 7, -1, -1};
    static const int second[] = {7, 6, 5, 4, 0, 1, 2, 3, -1, -1};
    struct tfd_shares s;

    (void)state;
    tfd_shares_init(&s, 8, 2, 0, true);
    assert_order(&s, tfd_shares_host(&s), first, 10);
    tfd_shares_init(&s, 8, 2, 0, true);
    assert_order(&s, tfd_shares_guest(&s, 0), second, 10);
}

/* A host goes through all of it, and a guest comes from the other end. */
static void test_one_share_has_two_ends(void **state)
{
    static const int up[] = {0, 1, 2, 3, -1, -1};
    static const int down[] = {3, 2, 1, 0, -1, -1};
    struct tfd_shares s;

    (void)state;
    for (int back = 0; back < 2; back++) {
        tfd_shares_init_alone(&s, 4, back);
        assert_order(&s, tfd_shares_host(&s), back ? down : up, 6);
        tfd_shares_init_alone(&s, 4, back);
        assert_order(&s, tfd_shares_guest(&s, 5), back ? up : down, 6);
    }
}

/* They keep their parts: nobody takes what another comes to first. */
static void test_threads_in_step_keep_to_their_own(void **state)
{
    struct tfd_shares s;
    struct tfd_shares_place host, guest;

    (void)state;
    tfd_shares_init(&s, 12, 2, 0, false);
    host = tfd_shares_host(&s);
    guest = tfd_shares_guest(&s, 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(tfd_shares_take(&s, &guest), 6 + i);
        assert_int_equal(tfd_shares_take(&s, &host), i);
        assert_int_equal(tfd_shares_left(&s), 10 - 2 * i);
    }
    assert_int_equal(tfd_shares_take(&s, &host), -1);
    assert_int_equal(tfd_shares_take(&s, &guest), -1);
}

/* ---- Many threads -------------------------------------------------------- */

struct taker {
    pthread_t thread;
    struct tfd_shares *shares;
    int index; /* 0: the host */
};

static void *run_taker(void *arg)
{
    struct taker *t = arg;

    take_all(t->shares, t->index ? tfd_shares_guest(t->shares, t->index)
                                 : tfd_shares_host(t->shares));
    return NULL;
}

static void test_threads_at_once_take_each_piece_once(void **state)
{
    struct taker takers[4];

    (void)state;
    for (int round = 0; round < 40; round++) {
        struct tfd_shares s;

        clear();
        tfd_shares_init(&s, PIECES_MAX, 1 + round % 4, 0, round % 2);
        for (int i = 0; i < 4; i++) {
            takers[i] = (struct taker){.shares = &s, .index = i};
            assert_int_equal(
                pthread_create(&takers[i].thread, NULL, run_taker, &takers[i]),
                0);
        }
        for (int i = 0; i < 4; i++)
            pthread_join(takers[i].thread, NULL);
        assert_each_once(PIECES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_takes_each_piece),
        cmocka_unit_test(test_threads_own_shares_of_all),
        cmocka_unit_test(test_threads_of_elsewhere_are_as_the_first),
        cmocka_unit_test(test_others_begin_where_the_owner_ends),
        cmocka_unit_test(test_back_each_begins_at_its_end),
        cmocka_unit_test(test_one_share_has_two_ends),
        cmocka_unit_test(test_threads_in_step_keep_to_their_own),
        cmocka_unit_test(test_threads_at_once_take_each_piece_once),
    };

    return cmocka_run_group_tests_name("shares", tests, NULL, NULL);
}
