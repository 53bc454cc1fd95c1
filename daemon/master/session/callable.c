/*
 * callable.c - see callable.h.  The one used last stands first in the list.
 */
#include "daemon/master/session/callable.h"

#include "common/base/arena.h"
#include "config/limits.h"
#include "daemon/master/session/session.h"

#include <stdlib.h>

static void free_callable(struct tfd_callable *c)
{
    tfd_arena_deinit(&c->arena);
    free(c);
}

/* Out of the list; NULL when it is not there. */
static struct tfd_callable *take_out(struct tfd_session *s, int64_t handle)
{
    struct tfd_callable **at = &s->callables, *c;

    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    c = *at;
    if (c)
        *at = c->next;
    return c;
}

static void put_first(struct tfd_session *s, struct tfd_callable *c)
{
    c->next = s->callables;
    s->callables = c;
    s->free_callables = tfd_callable_free_all;
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code copy_names(struct tfd_callable *c,
                                const struct tfd_str *from, int count,
                                const struct tfd_str **out,
                                struct tfd_status *st)
{
    struct tfd_str *names =
        tfd_arena_array(&c->arena, (size_t)count + 1, sizeof(*names));

    TFD_TRY(tfd_arena_check(names, "a callable", st));
    for (int i = 0; i < count; i++) {
        names[i] = tfd_arena_str(&c->arena, from[i]);
        TFD_TRY(tfd_arena_check(names[i].data, "a callable", st));
    }
    *out = names;
    return TFD_OK;
}

static enum tfd_code copy_signature(struct tfd_callable *c,
                                    const struct tfd_run_step *from,
                                    struct tfd_status *st)
{
    struct tfd_run_step *to = &c->names;

    to->feed_count = from->feed_count;
    to->fetch_count = from->fetch_count;
    to->target_count = from->target_count;
    to->connection_count = from->connection_count;
    TFD_TRY(
        copy_names(c, from->feed_names, from->feed_count, &to->feed_names, st));
    TFD_TRY(copy_names(c, from->fetch_names, from->fetch_count,
                       &to->fetch_names, st));
    TFD_TRY(copy_names(c, from->target_names, from->target_count,
                       &to->target_names, st));
    return copy_names(c, from->connections, 2 * from->connection_count,
                      &to->connections, st);
}

static void planned(struct tfd_run_step *run, const struct tfd_status *st,
                    struct tfd_tensor *fetches, uint32_t plan)
{
    struct tfd_callable *c = run->ctx;
    struct tfd_session *s = c->session;

    (void)fetches;
    (void)plan;
    if (st->code != TFD_OK) {
        s->callable_count--;
        c->made(c->ctx, st, 0);
        free_callable(c);
        return;
    }
    c->handle = s->next_callable++;
    put_first(s, c);
    c->made(c->ctx, st, c->handle);
}

void tfd_callable_make(struct tfd_session *s, const struct tfd_run_step *names,
                       const struct tfd_run_options *options,
                       tfd_callable_made_fn *done, void *ctx)
{
    struct tfd_callable *c = calloc(1, sizeof(*c));
    struct tfd_status st = TFD_STATUS_INIT;

    if (!c || s->callable_count >= TFD_CALLABLES_MAX) {
        free(c);
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "No memory for a callable, or session %s has %d",
                       s->handle, TFD_CALLABLES_MAX);
        done(ctx, &st, 0);
        return;
    }
    c->session = s;
    c->made = done;
    c->ctx = ctx;
    c->options = *options;
    tfd_arena_init(&c->arena, TFD_SIGNATURE_SIZE_MAX);
    if (copy_signature(c, names, &st) != TFD_OK) {
        free_callable(c);
        done(ctx, &st, 0);
        return;
    }
    s->callable_count++;
    c->names.only_plan = true;
    c->names.done = planned;
    c->names.ctx = c;
    tfd_session_run(s, &c->names);
}

/* ---- Using --------------------------------------------------------------- */

enum tfd_code tfd_callable_find(struct tfd_session *s, int64_t handle,
                                const struct tfd_callable **out,
                                struct tfd_status *st)
{
    struct tfd_callable *c = take_out(s, handle);

    if (c) {
        put_first(s, c);
        *out = c;
        return TFD_OK;
    }
    if (handle >= s->next_callable)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No such callable handle: %lld", (long long)handle);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attempted to run callable after handle was released: %lld",
                    (long long)handle);
}

void tfd_callable_release(struct tfd_session *s, int64_t handle)
{
    struct tfd_callable *c = take_out(s, handle);

    if (!c)
        return;
    s->callable_count--;
    free_callable(c);
}

void tfd_callable_free_all(struct tfd_session *s)
{
    while (s->callables)
        tfd_callable_release(s, s->callables->handle);
}
