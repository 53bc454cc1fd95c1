/*
 * test_data_scope.c - kernels/data/data_scope.c and dataset.c: what waits ends
 * when it is cancelled, and iterators are nested up to a limit.
 *
 * The test is the worker: it answers the calls of functions.
 */
#include "common/base/container.h"
#include "config/limits.h"
#include "kernels/data/dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The worker ---------------------------------------------------------- */

static struct worker {
    bool here;                /* calls run where they are made */
    struct tfd_status answer; /* of those */
    struct tfd_lock lock;     /* of what follows */
    struct tfd_cond changed;
    struct tfd_function_call *call; /* that waits for its end */
    int cancels;
    struct tfd_job ends; /* ends a call that is cancelled */
} worker;

static struct tfd_data_task task;
static struct tfd_data_scope *scope;

struct tfd_crew *tfd_rt_crew(struct tfd_rt *rt)
{
    (void)rt;
    return task.crew;
}

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    (void)rt;
    return NULL;
}

struct tfd_file_access *tfd_rt_files(struct tfd_rt *rt)
{
    (void)rt;
    return NULL;
}

bool tfd_function_run_here(struct tfd_function_call *c, struct tfd_status *st)
{
    (void)c;
    if (worker.here)
        tfd_status_copy(st, &worker.answer);
    return worker.here;
}

void tfd_function_run(struct tfd_function_call *c)
{
    tfd_lock(&worker.lock);
    worker.call = c;
    tfd_cond_broadcast(&worker.changed);
    tfd_unlock(&worker.lock);
}

static void end_cancelled(struct tfd_job *job)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)job;
    tfd_fail(&st, TFD_CANCELLED, "the call was cancelled");
    worker.call->done(worker.call, &st);
}

/* The scope's lock is held, so that the call ends on another thread. */
void tfd_function_cancel(struct tfd_function_call *c)
{
    assert_ptr_equal(c, worker.call);
    worker.cancels++;
    worker.ends.run = end_cancelled;
    assert_int_equal(tfd_crew_submit(task.crew, &worker.ends, NULL), TFD_OK);
}

static int begin(void **state)
{
    (void)state;
    memset(&worker, 0, sizeof(worker));
    tfd_lock_init(&worker.lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&worker.changed);
    task.crew = tfd_crew_new(8, NULL);
    scope = task.crew ? tfd_data_scope_new(&task, NULL) : NULL;
    return !scope;
}

/* ---- Who waits ----------------------------------------------------------- */

/* A thread that does something with the scope; over is the worker's lock's. */
struct waiter {
    struct tfd_job job;
    enum tfd_code (*wait)(struct waiter *w, struct tfd_status *st);
    struct tfd_data_iterator *it;
    struct tfd_status st;
    enum tfd_code rc;
    bool over, end;
};

static void run_waiter(struct tfd_job *job)
{
    struct waiter *w = TFD_CONTAINER_OF(job, struct waiter, job);

    w->rc = w->wait(w, &w->st);
    tfd_lock(&worker.lock);
    w->over = true;
    tfd_cond_broadcast(&worker.changed);
    tfd_unlock(&worker.lock);
}

static void start(struct waiter *w)
{
    w->job.run = run_waiter;
    assert_int_equal(tfd_crew_submit(task.crew, &w->job, NULL), TFD_OK);
}

static void join(struct waiter *w)
{
    tfd_lock(&worker.lock);
    while (!w->over)
        tfd_cond_wait(&worker.changed, &worker.lock);
    tfd_unlock(&worker.lock);
}

static void wait_for_call(void)
{
    tfd_lock(&worker.lock);
    while (!worker.call)
        tfd_cond_wait(&worker.changed, &worker.lock);
    tfd_unlock(&worker.lock);
}

static void note_idle(void *arg)
{
    tfd_lock(&worker.lock);
    *(bool *)arg = true;
    tfd_cond_broadcast(&worker.changed);
    tfd_unlock(&worker.lock);
}

static int end(void **state)
{
    bool idle = false;

    (void)state;
    if (tfd_crew_when_idle(task.crew, note_idle, &idle)) {
        tfd_lock(&worker.lock);
        while (!idle)
            tfd_cond_wait(&worker.changed, &worker.lock);
        tfd_unlock(&worker.lock);
    }
    tfd_crew_free(task.crew);
    tfd_data_scope_unref(scope);
    tfd_cond_deinit(&worker.changed);
    tfd_lock_deinit(&worker.lock);
    return 0;
}

/* ---- Calls --------------------------------------------------------------- */

static enum tfd_code call_function(struct waiter *w, struct tfd_status *st)
{
    struct tfd_tensor none = TFD_TENSOR_INIT;

    (void)w;
    return tfd_data_scope_call(scope, NULL, &none, &none, st);
}

static void a_call_that_waits_is_cancelled_once(void **state)
{
    struct waiter w = {.wait = call_function};

    (void)state;
    start(&w);
    wait_for_call();
    tfd_data_scope_cancel(scope);
    tfd_data_scope_cancel(scope);
    join(&w);
    assert_int_equal(w.rc, TFD_CANCELLED);
    assert_string_equal(w.st.text, "the call was cancelled");
    assert_int_equal(worker.cancels, 1);
}

static void a_call_in_a_cancelled_scope_ends(void **state)
{
    struct waiter w = {.wait = call_function};

    (void)state;
    tfd_data_scope_cancel(scope);
    start(&w);
    join(&w);
    assert_int_equal(w.rc, TFD_CANCELLED);
}

static void a_call_ends_as_its_function_does(void **state)
{
    struct waiter good = {.wait = call_function}, bad = good;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    start(&good);
    wait_for_call();
    worker.call->done(worker.call, &st);
    join(&good);
    assert_int_equal(good.rc, TFD_OK);
    worker.call = NULL;
    start(&bad);
    wait_for_call();
    tfd_fail(&st, TFD_DATA_LOSS, "lost");
    worker.call->done(worker.call, &st);
    join(&bad);
    assert_int_equal(bad.rc, TFD_DATA_LOSS);
    assert_string_equal(bad.st.text, "lost");
    assert_int_equal(worker.cancels, 0);
}

static void a_call_that_runs_here_waits_for_nobody(void **state)
{
    struct waiter w = {.wait = call_function};

    (void)state;
    worker.here = true;
    assert_int_equal(call_function(&w, &w.st), TFD_OK);
    tfd_fail(&worker.answer, TFD_OUT_OF_RANGE, "no more");
    assert_int_equal(call_function(&w, &w.st), TFD_OUT_OF_RANGE);
    assert_string_equal(w.st.text, "no more");
    assert_null(worker.call);
}

/* ---- Iterators ----------------------------------------------------------- */

struct counted {
    struct tfd_data_iterator iterator;
    bool begun;
};

static int iterators;
static bool is_inside; /* an iterator waits; the scope's lock's */

static enum tfd_code count_begin(struct tfd_data_iterator *it,
                                 struct tfd_status *st)
{
    (void)st;
    iterators++;
    ((struct counted *)it)->begun = true;
    return TFD_OK;
}

/* Also of an iterator whose input could not be opened. */
static void count_end(struct tfd_data_iterator *it)
{
    iterators -= ((struct counted *)it)->begun;
}

/* Waits for what never comes. */
static enum tfd_code source_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *over,
                                 struct tfd_status *st)
{
    struct tfd_data_scope *s = it->scope;

    (void)out;
    (void)over;
    tfd_lock(&s->lock);
    is_inside = true;
    tfd_cond_broadcast(&s->changed);
    while (!s->cancelled)
        tfd_cond_wait(&s->changed, &s->lock);
    is_inside = false;
    tfd_unlock(&s->lock);
    return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
}

/* As those of maps: a status on the stack while the input is asked. */
static enum tfd_code stage_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *over,
                                struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;

    if (tfd_data_next(it->input, out, over, &own) == TFD_OK)
        return TFD_OK;
    tfd_status_copy(st, &own);
    return own.code;
}

static const struct tfd_dataset_kind source_kind = {
    .name = "Source",
    .iterator_size = sizeof(struct counted),
    .begin = count_begin,
    .next = source_next,
    .end = count_end,
};

static const struct tfd_dataset_kind stage_kind = {
    .name = "Stage",
    .iterator_size = sizeof(struct counted),
    .opens_input = true,
    .begin = count_begin,
    .next = stage_next,
    .end = count_end,
};

/* So many datasets, each in the next one. */
static struct tfd_dataset *chain(int count)
{
    struct tfd_dataset *d = NULL;

    for (int i = 0; i < count; i++) {
        struct tfd_dataset *outer = calloc(1, sizeof(*outer));

        assert_non_null(outer);
        outer->object = (struct tfd_variant_object){
            .refs = 1, .depth = 1, .type = &tfd_dataset_type};
        outer->kind = d ? &stage_kind : &source_kind;
        outer->task = task;
        outer->inputs = calloc(1, sizeof(struct tfd_dataset *));
        assert_non_null(outer->inputs);
        outer->inputs[0] = d;
        outer->input_count = d != NULL;
        d = outer;
    }
    return d;
}

static enum tfd_code take_element(struct waiter *w, struct tfd_status *st)
{
    struct tfd_tensor none = TFD_TENSOR_INIT;
    enum tfd_code rc = tfd_data_next(w->it, &none, &w->end, st);

    tfd_data_close(w->it);
    return rc;
}

static void wait_inside(void)
{
    tfd_lock(&scope->lock);
    while (!is_inside)
        tfd_cond_wait(&scope->changed, &scope->lock);
    tfd_unlock(&scope->lock);
}

static void cancel_within(int depth)
{
    struct tfd_dataset *d = chain(depth);
    struct waiter w = {.wait = take_element};

    assert_int_equal(tfd_data_open(d, scope, TFD_DATA_ROOT, 0, &w.it, NULL),
                     TFD_OK);
    tfd_dataset_unref(d);
    assert_int_equal(iterators, depth);
    start(&w);
    wait_inside();
    tfd_data_scope_cancel(scope);
    join(&w);
    assert_int_equal(w.rc, TFD_CANCELLED);
    assert_int_equal(iterators, 0);
}

static void an_iterator_that_waits_is_cancelled(void **state)
{
    (void)state;
    cancel_within(1);
}

/* All of them fit on the stack of a thread of the crew. */
static void the_deepest_iterator_is_cancelled(void **state)
{
    (void)state;
    cancel_within(TFD_VARIANT_DEPTH_MAX);
}

static void deeper_iterators_are_refused(void **state)
{
    struct tfd_dataset *d = chain(TFD_VARIANT_DEPTH_MAX + 1);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_data_iterator *it = NULL;

    (void)state;
    assert_int_equal(tfd_data_open(d, scope, TFD_DATA_ROOT, 0, &it, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text,
                        "iterators within iterators are more than 1000 deep");
    assert_null(it);
    assert_int_equal(iterators, 0);
    tfd_dataset_unref(d);
}

static void a_scope_goes_on_when_it_is_told_to(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(tfd_data_scope_check(scope, &st), TFD_OK);
    tfd_data_scope_cancel(scope);
    assert_int_equal(tfd_data_scope_check(scope, &st), TFD_CANCELLED);
    tfd_data_scope_resume(scope);
    assert_int_equal(tfd_data_scope_check(scope, NULL), TFD_OK);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_call_that_waits_is_cancelled_once),
        ROW(a_call_in_a_cancelled_scope_ends),
        ROW(a_call_ends_as_its_function_does),
        ROW(a_call_that_runs_here_waits_for_nobody),
        ROW(an_iterator_that_waits_is_cancelled),
        ROW(the_deepest_iterator_is_cancelled),
        ROW(deeper_iterators_are_refused),
        ROW(a_scope_goes_on_when_it_is_told_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
