/*
 * test_session_idle.c - daemon/master/session/session_idle.c and master.c:
 * sessions whose client has left, and how many there may be.
 */
#include "tests/support/master_rig.h"

#include "config/limits.h"
#include "daemon/master/session/session_idle.h"
#include "rpc/core/links.h"

static struct mrig rig;

/* "c" on the master, "d" on ps 0. */
#define TWO_TASKS "c Const; d Const - /job:ps; i Relu d /job:ps; n NoOp"

/* ---- Abandoned sessions -------------------------------------------------- */

#define IDLE_US (10 * UINT64_C(1000000))

static void open_watched(struct tfd_links *links)
{
    mrig_open(&rig, 2);
    rig.master->o.links = links;
    rig.master->o.session_idle_us = IDLE_US;
    tfd_master_watch_idle(rig.master);
}

static void close_watched(struct tfd_links *links)
{
    tfd_master_stop_watching(rig.master);
    mrig_close(&rig);
    tfd_links_deinit(links);
}

static void test_a_session_whose_client_has_left_is_closed(void **state)
{
    struct tfd_links links = {0};
    struct tfd_session *s;
    uint64_t link;

    (void)state;
    open_watched(&links);
    link = tfd_links_add(&links);
    s = mrig_session(&rig, TWO_TASKS);
    tfd_session_use(s, link);
    assert_true(tfd_links_held(&links, link));
    net_advance(&rig.loop, 10 * IDLE_US); /* the client thinks */
    assert_int_equal(tfd_master_session_count(rig.master), 1);
    tfd_session_use(s, link);
    tfd_links_remove(&links, link);
    net_advance(&rig.loop, IDLE_US - 1);
    assert_int_equal(tfd_master_session_count(rig.master), 1);
    net_advance(&rig.loop, IDLE_US / 2);
    assert_int_equal(tfd_master_session_count(rig.master), 0);
    assert_int_equal(tfd_master_abandoned(rig.master), 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig.worker[i].calls[FAKE_DELETE], 1);
    close_watched(&links);
}

static void test_a_session_moves_to_the_connection_it_is_used_over(void **state)
{
    struct mrig_result result = {0};
    struct tfd_links links = {0};
    struct tfd_session *s;
    uint64_t first, second;

    (void)state;
    open_watched(&links);
    first = tfd_links_add(&links);
    second = tfd_links_add(&links);
    s = mrig_session(&rig, TWO_TASKS);
    tfd_session_use(s, first);
    tfd_session_use(s, second);
    assert_false(tfd_links_held(&links, first));
    tfd_links_remove(&links, first);
    net_advance(&rig.loop, 5 * IDLE_US);
    assert_int_equal(tfd_master_session_count(rig.master), 1);
    tfd_session_close(s, mrig_done, &result);
    assert_false(tfd_links_held(&links, second));
    close_watched(&links);
}

static void test_sessions_of_this_process_are_not_abandoned(void **state)
{
    struct tfd_links links = {0};

    (void)state;
    open_watched(&links);
    (void)mrig_session(&rig, TWO_TASKS);
    net_advance(&rig.loop, 100 * IDLE_US);
    assert_int_equal(tfd_master_session_count(rig.master), 1);
    close_watched(&links);
}

/* ---- Limits -------------------------------------------------------------- */

/* A session that a peer opens over a connection. */
static enum tfd_code open_for(const char *peer, uint64_t link,
                              struct mrig_result *result)
{
    struct tfd_create_session spec = {.graph_def = TFD_STR_EMPTY,
                                      .peer = peer,
                                      .done = mrig_created,
                                      .ctx = result};

    memset(result, 0, sizeof(*result));
    assert_null(tfd_master_create_session(rig.master, &spec));
    if (result->session)
        tfd_session_use(result->session, link);
    net_advance(&rig.loop, 1); /* each is a little younger */
    return result->status.code;
}

static void fill(const char *peer, uint64_t link)
{
    struct mrig_result result;

    for (int i = 0; i < TFD_SESSIONS_PER_PEER_MAX; i++)
        assert_int_equal(open_for(peer, link, &result), TFD_OK);
}

static void test_a_peer_has_so_many_sessions(void **state)
{
    struct tfd_links links = {0};
    struct mrig_result result;
    uint64_t greedy, other;

    (void)state;
    open_watched(&links);
    greedy = tfd_links_add(&links);
    other = tfd_links_add(&links);
    fill("10.0.0.1", greedy);
    for (int i = 0; i < 3; i++)
        assert_int_equal(open_for("10.0.0.1", greedy, &result),
                         TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(result.status.text,
                        "1000 sessions of peer 10.0.0.1 are open, at most 1000 "
                        "of one peer may be");
    assert_int_equal(open_for("10.0.0.2", other, &result), TFD_OK);
    assert_int_equal(open_for(NULL, 0, &result), TFD_OK);
    assert_int_equal(tfd_master_session_count(rig.master), 1002);
    tfd_links_remove(&links, greedy);
    greedy = tfd_links_add(&links);
    assert_int_equal(open_for("10.0.0.1", greedy, &result), TFD_OK);
    assert_int_equal(tfd_master_session_count(rig.master),
                     1003 - TFD_SESSIONS_EVICTED_MAX);
    assert_int_equal(tfd_master_abandoned(rig.master),
                     TFD_SESSIONS_EVICTED_MAX);
    close_watched(&links);
}

/* What a trainer that crashes again and again does. */
static void test_abandoned_sessions_make_room_for_all(void **state)
{
    struct mrig_result result, kept, closed = {0};
    struct tfd_links links = {0};
    uint64_t link[3];

    (void)state;
    open_watched(&links);
    for (int i = 0; i < 3; i++)
        link[i] = tfd_links_add(&links);
    fill("10.0.0.1", link[0]);
    kept.session = rig.master->sessions; /* of the same client, used last */
    fill("10.0.0.2", link[1]);
    assert_int_equal(open_for("10.0.0.3", link[2], &result),
                     TFD_RESOURCE_EXHAUSTED);
    assert_string_equal(result.status.text,
                        "2000 sessions are open, at most 2000 may be");
    tfd_links_remove(&links, link[0]);
    for (int i = 0; i < 900; i++)
        assert_int_equal(open_for("10.0.0.3", link[2], &result), TFD_OK);
    tfd_session_close(kept.session, mrig_done, &closed); /* still there */
    assert_int_equal(closed.done, 1);
    assert_true(tfd_master_session_count(rig.master) <= TFD_SESSIONS_MAX);
    close_watched(&links);
}

/* Of whom something runs, or who is connected, or who is in this process. */
static void test_others_make_no_room(void **state)
{
    struct tfd_links links = {0};
    struct tfd_session *running;
    struct mrig_result result;
    struct mrig_step step;
    uint64_t gone, here;

    (void)state;
    open_watched(&links);
    gone = tfd_links_add(&links);
    here = tfd_links_add(&links);
    running = mrig_session(&rig, TWO_TASKS);
    snprintf(running->peer, sizeof(running->peer), "10.0.0.1");
    tfd_session_use(running, gone);
    rig.worker[0].mode[FAKE_RUN] = FAKE_HOLD;
    mrig_run(running, &step, "|c:0|");
    for (int i = 1; i < TFD_SESSIONS_PER_PEER_MAX; i++)
        assert_int_equal(open_for("10.0.0.1", here, &result), TFD_OK);
    tfd_links_remove(&links, gone);
    assert_int_equal(open_for("10.0.0.1", here, &result),
                     TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(step.done, 0);
    for (int i = 0; i < TFD_SESSIONS_PER_PEER_MAX; i++)
        assert_int_equal(open_for(NULL, 0, &result), TFD_OK);
    assert_int_equal(open_for(NULL, 0, &result), TFD_RESOURCE_EXHAUSTED);
    assert_int_equal(tfd_master_abandoned(rig.master), 0);
    fake_answer(&rig.worker[0], FAKE_RUN, TFD_OK, "");
    assert_int_equal(open_for("10.0.0.1", here, &result), TFD_OK);
    assert_int_equal(tfd_master_abandoned(rig.master), 1);
    close_watched(&links);
}

/* A worker says nothing when it is told that sessions are over. */
static void test_room_is_made_without_the_workers(void **state)
{
    struct tfd_links links = {0};
    struct mrig_result result;
    uint64_t gone, here;

    (void)state;
    open_watched(&links);
    gone = tfd_links_add(&links);
    here = tfd_links_add(&links);
    fill("10.0.0.1", gone);
    tfd_links_remove(&links, gone);
    rig.worker[1].mode[FAKE_DELETE] = FAKE_HOLD;
    for (int i = 0; i < 2 * TFD_SESSIONS_EVICTED_MAX; i++)
        assert_int_equal(open_for("10.0.0.1", here, &result), TFD_OK);
    assert_int_equal(fake_held_count(&rig.worker[1], FAKE_DELETE),
                     2 * TFD_SESSIONS_EVICTED_MAX);
    while (fake_answer(&rig.worker[1], FAKE_DELETE, TFD_OK, ""))
        ;
    assert_int_equal(tfd_master_session_count(rig.master),
                     TFD_SESSIONS_PER_PEER_MAX);
    close_watched(&links);
}

/* Those that wait for a task that does not come. */
static void test_creations_count_too(void **state)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_create_session spec = {.peer = "10.0.0.1", .done = mrig_created};
    static struct mrig_result result[TFD_SESSIONS_PER_PEER_MAX + 1];

    (void)state;
    mrig_open(&rig, 2);
    for (int i = 0; i < 2; i++)
        rig.worker[i].mode[FAKE_STATUS] = FAKE_HOLD;
    for (int i = 0; i <= TFD_SESSIONS_PER_PEER_MAX; i++) {
        result[i] = (struct mrig_result){0};
        spec.ctx = &result[i];
        (void)tfd_master_create_session(rig.master, &spec);
        assert_int_equal(result[i].done, i == TFD_SESSIONS_PER_PEER_MAX);
    }
    assert_int_equal(result[TFD_SESSIONS_PER_PEER_MAX].status.code,
                     TFD_RESOURCE_EXHAUSTED);
    (void)tfd_fail(&why, TFD_CANCELLED, "enough");
    tfd_master_cancel_creates(rig.master, &why);
    mrig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session_whose_client_has_left_is_closed),
        cmocka_unit_test(
            test_a_session_moves_to_the_connection_it_is_used_over),
        cmocka_unit_test(test_sessions_of_this_process_are_not_abandoned),
        cmocka_unit_test(test_a_peer_has_so_many_sessions),
        cmocka_unit_test(test_abandoned_sessions_make_room_for_all),
        cmocka_unit_test(test_others_make_no_room),
        cmocka_unit_test(test_room_is_made_without_the_workers),
        cmocka_unit_test(test_creations_count_too),
    };

    return cmocka_run_group_tests_name("session_idle", tests, NULL, NULL);
}
