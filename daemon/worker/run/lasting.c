/*
 * lasting.c - see lasting.h.
 */
#include "daemon/worker/run/lasting.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>

/* Step ids of masters are random numbers from 0 on, those of calls negative. */
#define FIRST_STEP_ID INT64_MIN

/* ---- Worlds -------------------------------------------------------------- */

static enum tfd_code world_state(void *session, const struct tfd_kernel *kernel,
                                 const struct tfd_prepare *p,
                                 struct tfd_graph *graph, void **state,
                                 struct tfd_status *st)
{
    struct tfd_lasting_world *w = session;

    return tfd_shared_states_get(&w->states, kernel, p, graph, state, st);
}

static void free_world(struct tfd_post *p)
{
    struct tfd_lasting_world *w =
        TFD_CONTAINER_OF(p, struct tfd_lasting_world, freed);
    struct tfd_lasting_host *h = w->host;

    tfd_function_table_free(w->table);
    tfd_shared_states_deinit(&w->states);
    h->let_go(w->session);
    free(w);
    (void)TFD_PENDING_SUB(&h->worlds, 1);
    h->less(h);
}

void tfd_lasting_world_let_go(struct tfd_lasting_world *w)
{
    if (tfd_refs_drop(&w->refs))
        tfd_loop_post(w->host->loop, &w->freed);
}

static struct tfd_function_table *new_table(struct tfd_lasting_world *w,
                                            const struct tfd_function_table *of,
                                            struct tfd_graph *library,
                                            struct tfd_status *st)
{
    struct tfd_compile_env env = of->env;
    struct tfd_function_table *t;

    env.shared = world_state;
    env.session = w;
    t = tfd_function_table_new(library, &env, st);
    if (!t)
        return NULL;
    t->loop = of->loop;
    t->pool = of->pool;
    t->transfer = of->transfer;
    t->host = of->host;
    t->world = w;
    return t;
}

struct tfd_lasting_world *
tfd_lasting_world_new(const struct tfd_function_table *of,
                      struct tfd_graph *library, struct tfd_status *st)
{
    struct tfd_lasting_world *w = calloc(1, sizeof(*w));

    if (!w) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
        return NULL;
    }
    w->table = new_table(w, of, library, st);
    if (!w->table) {
        free(w);
        return NULL;
    }
    w->refs = 1;
    w->host = of->host;
    w->session = of->world ? of->world->session : of->env.session;
    w->freed.run = free_world;
    tfd_shared_states_init(&w->states);
    w->host->hold(w->session);
    w->calls = w->host->calls_of(w->session);
    TFD_COUNTER_ADD(&w->host->worlds, 1);
    return w;
}

/* Of two threads that make one at once the first one's stays. */
static struct tfd_lasting_world *world_of(struct tfd_function_table *t,
                                          struct tfd_status *st)
{
    struct tfd_lasting_world *w = TFD_LOAD_ACQUIRE(&t->lasting), *none = NULL;

    if (w)
        return w;
    w = tfd_lasting_world_new(t, t->graph, st);
    if (!w || TFD_COMPARE_EXCHANGE(&t->lasting, &none, w))
        return w;
    tfd_lasting_world_let_go(w);
    return none;
}

/* ---- Functions ----------------------------------------------------------- */

bool tfd_rt_is_lasting(const struct tfd_prepare *p)
{
    const struct tfd_function_table *t = tfd_compile_functions(p);

    return t && t->world;
}

enum tfd_code tfd_rt_lasting_function(const struct tfd_prepare *p,
                                      const struct tfd_func *f,
                                      struct tfd_rt_function **out,
                                      struct tfd_status *st)
{
    struct tfd_function_table *t = tfd_compile_functions(p);
    struct tfd_lasting_world *w;

    if (!t || !t->host || !tfd_function_find(t->graph, f->name))
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Function " TFD_STR_FMT " is not defined.",
                        TFD_STR_ARG(f->name));
    w = t->world ? t->world : world_of(t, st);
    if (!w)
        return TFD_RESOURCE_EXHAUSTED;
    return tfd_function_table_get(w->table, f, TFD_FUNCTION_BODY, p->rt, out,
                                  st);
}

void tfd_rt_function_hold(struct tfd_rt_function *f)
{
    tfd_refs_add(&f->table->world->refs, 1);
}

void tfd_rt_function_let_go(struct tfd_rt_function *f)
{
    tfd_lasting_world_let_go(f->table->world);
}

const struct tfd_graph *tfd_rt_function_library(const struct tfd_rt_function *f)
{
    return f->table->graph;
}

/* ---- Calls --------------------------------------------------------------- */

enum tfd_code tfd_lasting_begin(struct tfd_rt_function *f,
                                struct tfd_status *st)
{
    struct tfd_lasting_host *h = f->table->host;

    if (TFD_LOAD_ACQUIRE(&h->stopping))
        return tfd_fail(st, TFD_UNAVAILABLE,
                        "Function " TFD_STR_FMT
                        " is not called: its task is shutting down",
                        TFD_STR_ARG(f->func.name));
    tfd_rt_function_hold(f);
    TFD_COUNTER_ADD(&h->calls, 1);
    return TFD_OK;
}

void tfd_lasting_end(struct tfd_rt_function *f)
{
    struct tfd_lasting_host *h = f->table->host;

    tfd_rt_function_let_go(f);
    (void)TFD_PENDING_SUB(&h->calls, 1);
    h->less(h);
}

int64_t tfd_lasting_step_id(struct tfd_rt_function *f)
{
    TFD_COUNTER_ADD(f->table->world->calls, 1);
    return FIRST_STEP_ID +
           (int64_t)TFD_COUNTER_ADD(&f->table->host->step_id, 1);
}
