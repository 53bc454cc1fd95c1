/*
 * test_lasting.c - daemon/worker/run/lasting.c: how long a world lives, and
 * what its calls count as.
 */
#include "daemon/worker/run/lasting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct session {
    int held;
    uint64_t calls;
};

static struct session session;
static struct tfd_lasting_host host;
static struct tfd_function_table *graphs; /* of a graph without functions */
static struct tfd_graph *graph;
static int told; /* host.less */

static void hold_session(void *s)
{
    ((struct session *)s)->held++;
}

static void let_go_session(void *s)
{
    ((struct session *)s)->held--;
}

static uint64_t *calls_of_session(void *s)
{
    return &((struct session *)s)->calls;
}

static void count_less(struct tfd_lasting_host *h)
{
    (void)h;
    told++;
}

static int begin(void **state)
{
    const struct tfd_compile_env env = {.session = &session};

    (void)state;
    session = (struct session){0};
    told = 0;
    host = (struct tfd_lasting_host){
        .loop = tfd_loop_new(NULL),
        .drop = tfd_lasting_world_let_go,
        .hold = hold_session,
        .let_go = let_go_session,
        .calls_of = calls_of_session,
        .less = count_less,
    };
    graph = tfd_graph_new(NULL, NULL);
    graphs =
        host.loop && graph ? tfd_function_table_new(graph, &env, NULL) : NULL;
    if (graphs) {
        graphs->loop = host.loop;
        graphs->host = &host;
    }
    return !graphs;
}

static int end(void **state)
{
    (void)state;
    tfd_function_table_free(graphs);
    tfd_graph_unref(graph);
    tfd_loop_free(host.loop);
    return 0;
}

static struct tfd_lasting_world *new_world(const struct tfd_function_table *of)
{
    struct tfd_lasting_world *w = tfd_lasting_world_new(of, graph, NULL);

    assert_non_null(w);
    return w;
}

static struct tfd_rt_function function_of(struct tfd_lasting_world *w)
{
    return (struct tfd_rt_function){
        .table = w->table,
        .func.name = TFD_STR("f"),
    };
}

/* ---- Worlds -------------------------------------------------------------- */

static void a_world_holds_its_session(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs);

    (void)state;
    assert_int_equal(host.worlds, 1);
    assert_int_equal(session.held, 1);
    assert_ptr_equal(w->table->world, w);
    assert_ptr_equal(w->table->host, &host);
    tfd_lasting_world_let_go(w);
    assert_int_equal(host.worlds, 1); /* the loop thread frees it */
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 0);
    assert_int_equal(session.held, 0);
    assert_int_equal(told, 1);
}

static void a_function_that_is_held_keeps_its_world(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs);
    struct tfd_rt_function f = function_of(w);

    (void)state;
    tfd_rt_function_hold(&f);
    tfd_lasting_world_let_go(w);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 1);
    assert_int_equal(session.held, 1);
    tfd_rt_function_let_go(&f);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 0);
    assert_int_equal(session.held, 0);
}

static void a_world_outlives_its_graphs_table(void **state)
{
    struct tfd_rt_function f;

    (void)state;
    graphs->lasting = new_world(graphs);
    f = function_of(graphs->lasting);
    tfd_rt_function_hold(&f);
    tfd_function_table_free(graphs);
    graphs = NULL;
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 1);
    tfd_rt_function_let_go(&f);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 0);
}

/* A graph that arrives within a world has the session of the first one. */
static void a_world_within_a_world_has_its_session(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs), *inner;

    (void)state;
    inner = new_world(w->table);
    assert_ptr_equal(inner->session, &session);
    assert_int_equal(session.held, 2);
    tfd_lasting_world_let_go(w);
    tfd_loop_settle(host.loop);
    assert_int_equal(session.held, 1);
    tfd_lasting_world_let_go(inner);
    tfd_loop_settle(host.loop);
    assert_int_equal(session.held, 0);
    assert_int_equal(told, 2);
}

/* ---- Calls --------------------------------------------------------------- */

static void a_call_keeps_its_world(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs);
    struct tfd_rt_function f = function_of(w);

    (void)state;
    assert_int_equal(tfd_lasting_begin(&f, NULL), TFD_OK);
    assert_int_equal(host.calls, 1);
    tfd_lasting_world_let_go(w);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 1);
    tfd_lasting_end(&f);
    assert_int_equal(host.calls, 0);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 0);
    assert_int_equal(told, 2);
}

static void a_worker_that_stops_refuses_calls(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs);
    struct tfd_rt_function f = function_of(w);
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    host.stopping = 1;
    assert_int_equal(tfd_lasting_begin(&f, &st), TFD_UNAVAILABLE);
    assert_string_equal(st.text,
                        "Function f is not called: its task is shutting down");
    assert_int_equal(host.calls, 0);
    tfd_lasting_world_let_go(w);
    tfd_loop_settle(host.loop);
    assert_int_equal(host.worlds, 0);
}

/* Those of masters are not negative. */
static void calls_are_steps_of_their_own(void **state)
{
    struct tfd_lasting_world *w = new_world(graphs);
    struct tfd_rt_function f = function_of(w);
    int64_t first = tfd_lasting_step_id(&f), second = tfd_lasting_step_id(&f);

    (void)state;
    assert_true(first < 0 && second < 0);
    assert_true(first != second);
    assert_int_equal(session.calls, 2);
    tfd_lasting_world_let_go(w);
    tfd_loop_settle(host.loop);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_world_holds_its_session),
        ROW(a_function_that_is_held_keeps_its_world),
        ROW(a_world_outlives_its_graphs_table),
        ROW(a_world_within_a_world_has_its_session),
        ROW(a_call_keeps_its_world),
        ROW(a_worker_that_stops_refuses_calls),
        ROW(calls_are_steps_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
