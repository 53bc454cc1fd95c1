/*
 * plan_table.c - signatures and numbers to plans.
 *
 * The key of a signature is its names, each after its length, feeds before
 * fetches before targets before connections.  The order is the client's:
 * another order is another plan, which costs memory but never a sort per step.
 */
#include "daemon/master/session/plan.h"

#include "common/base/pbio.h"
#include "config/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Keys ---------------------------------------------------------------- */

static void key_names(struct tfd_bytes *key, const struct tfd_str *names,
                      int count)
{
    tfd_pb_put_varint(key, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        tfd_pb_put_varint(key, names[i].size);
        tfd_bytes_add_str(key, names[i]);
    }
}

static struct tfd_str key_of(struct tfd_session *s,
                             const struct tfd_run_step *run)
{
    tfd_bytes_clear(&s->key);
    key_names(&s->key, run->feed_names, run->feed_count);
    key_names(&s->key, run->fetch_names, run->fetch_count);
    key_names(&s->key, run->target_names, run->target_count);
    if (run->connection_count > 0)
        key_names(&s->key, run->connections, 2 * run->connection_count);
    if (run->partial)
        tfd_bytes_add(&s->key, "p", 1);
    return tfd_bytes_view(&s->key);
}

/* ---- Signatures ---------------------------------------------------------- */

static enum tfd_code copy_names(struct tfd_plan *p, const struct tfd_str *from,
                                int count, const struct tfd_str **out,
                                struct tfd_status *st)
{
    struct tfd_str *names =
        tfd_arena_array(&p->arena, (size_t)count + 1, sizeof(*names));

    TFD_TRY(tfd_arena_check(names, "a signature", st));
    for (int i = 0; i < count; i++) {
        names[i] = tfd_arena_str(&p->arena, from[i]);
        TFD_TRY(tfd_arena_check(names[i].data, "a signature", st));
    }
    *out = names;
    return TFD_OK;
}

/* Fetches that are asked for twice are two ends for the worker, which knows
 * them by name. */
static enum tfd_code label_fetches(struct tfd_plan *p, struct tfd_map *seen,
                                   struct tfd_status *st)
{
    struct tfd_signature *sig = &p->signature;
    struct tfd_str *labels = tfd_arena_array(
        &p->arena, (size_t)sig->fetch_count + 1, sizeof(*labels));
    char number[16];

    TFD_TRY(tfd_arena_check(labels, "a signature", st));
    sig->fetch_labels = labels;
    for (int i = 0; i < sig->fetch_count; i++) {
        uintptr_t unused;
        char *text;

        labels[i] = sig->fetches[i];
        if (!tfd_map_get(seen, labels[i], &unused)) {
            if (!tfd_map_put(seen, labels[i], 0))
                return tfd_arena_check(NULL, "a signature", st);
            continue;
        }
        snprintf(number, sizeof(number), "#%d", i);
        text = tfd_arena_alloc(&p->arena, labels[i].size + sizeof(number));
        TFD_TRY(tfd_arena_check(text, "a signature", st));
        memcpy(text, labels[i].data, labels[i].size);
        memcpy(text + labels[i].size, number, sizeof(number));
        labels[i] = (struct tfd_str){text, labels[i].size + strlen(number)};
    }
    return TFD_OK;
}

static enum tfd_code copy_signature(struct tfd_plan *p,
                                    const struct tfd_run_step *run,
                                    struct tfd_str key, struct tfd_status *st)
{
    struct tfd_signature *sig = &p->signature;
    struct tfd_map seen;
    enum tfd_code rc;

    sig->feed_count = run->feed_count;
    sig->fetch_count = run->fetch_count;
    sig->target_count = run->target_count;
    sig->connection_count = run->connection_count;
    TFD_TRY(copy_names(p, run->feed_names, run->feed_count, &sig->feeds, st));
    TFD_TRY(
        copy_names(p, run->fetch_names, run->fetch_count, &sig->fetches, st));
    TFD_TRY(
        copy_names(p, run->target_names, run->target_count, &sig->targets, st));
    TFD_TRY(copy_names(p, run->connections, 2 * run->connection_count,
                       &sig->connections, st));
    tfd_map_init(&seen);
    rc = label_fetches(p, &seen, st);
    tfd_map_deinit(&seen);
    TFD_TRY(rc);
    p->key = tfd_arena_str(&p->arena, key);
    return tfd_arena_check(p->key.data, "a signature", st);
}

/* ---- Slots --------------------------------------------------------------- */

static bool reserve_plan(struct tfd_session *s)
{
    uint32_t capacity = s->plan_capacity ? s->plan_capacity * 2 : 16;
    struct tfd_plan **grown;

    if (s->plan_count < s->plan_capacity)
        return true;
    grown = realloc(s->plans, capacity * sizeof(struct tfd_plan *));
    if (!grown)
        return false;
    s->plans = grown;
    s->plan_capacity = capacity;
    return true;
}

/* Its arena is what it was when it was made. */
static size_t size_of_plan(const struct tfd_plan *p)
{
    return sizeof(*p) + p->arena.used;
}

/* A slot for a new plan, and its number: one that no plan of that slot has had
 * before, so that a client's old number finds nothing. */
static enum tfd_code take_slot(struct tfd_session *s, uint32_t *slot,
                               uint32_t *number, struct tfd_status *st)
{
    uint32_t at = s->plan_count;

    if (s->plan_count < TFD_SIGNATURES_PER_SESSION_MAX) {
        if (!reserve_plan(s))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for plans");
        *slot = s->plan_count++;
        *number = *slot + 1;
        return TFD_OK;
    }
    at = tfd_plan_oldest(s, TFD_PLAN_EMPTY);
    if (at == s->plan_count)
        at = tfd_plan_oldest(s, TFD_PLAN_FAILED);
    if (at == s->plan_count)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d different combinations of feeds, fetches and "
                        "targets are running in session %s",
                        TFD_SIGNATURES_PER_SESSION_MAX, s->handle);
    *slot = at;
    *number = s->plans[at]->number + TFD_SIGNATURES_PER_SESSION_MAX;
    if (*number < TFD_SIGNATURES_PER_SESSION_MAX)
        *number = at + 1; /* after 2^32 plans */
    tfd_map_remove(&s->plan_by_key, s->plans[at]->key);
    s->plans_size -= size_of_plan(s->plans[at]);
    tfd_plan_free(s->plans[at]);
    s->plans[at] = NULL;
    return TFD_OK;
}

static struct tfd_plan *new_plan(struct tfd_session *s,
                                 const struct tfd_run_step *run,
                                 struct tfd_str key, struct tfd_status *st)
{
    struct tfd_plan *p = calloc(1, sizeof(*p));

    if (!p) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
        return NULL;
    }
    tfd_arena_init(&p->arena, TFD_GRAPH_SIZE_MAX);
    p->session = s;
    p->partial = run->partial;
    if (copy_signature(p, run, key, st) == TFD_OK)
        return p;
    tfd_plan_free(p);
    return NULL;
}

static enum tfd_code add_plan(struct tfd_session *s,
                              const struct tfd_run_step *run,
                              struct tfd_str key, struct tfd_plan **out,
                              struct tfd_status *st)
{
    struct tfd_plan *p = new_plan(s, run, key, st);
    uint32_t slot = 0;

    if (!p)
        return TFD_RESOURCE_EXHAUSTED;
    if (!tfd_map_put(&s->plan_by_key, p->key, (uintptr_t)p)) {
        tfd_plan_free(p);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a plan");
    }
    if (take_slot(s, &slot, &p->number, st) != TFD_OK) {
        tfd_map_remove(&s->plan_by_key, p->key);
        tfd_plan_free(p);
        return TFD_RESOURCE_EXHAUSTED;
    }
    s->plans[slot] = p;
    s->plans_size += size_of_plan(p);
    *out = p;
    return TFD_OK;
}

/* ---- Finding ------------------------------------------------------------- */

/* What may pass by itself, or may be cured by the nodes that came since. */
static bool may_be_built_now(const struct tfd_plan *p)
{
    static const enum tfd_code passing[] = {
        TFD_UNAVAILABLE, TFD_ABORTED, TFD_DEADLINE_EXCEEDED, TFD_CANCELLED,
        TFD_RESOURCE_EXHAUSTED};

    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        if (p->status.code == passing[i])
            return true;
    return p->version != p->session->version || p->session->growing > 0;
}

static enum tfd_code find_number(struct tfd_session *s,
                                 const struct tfd_run_step *run,
                                 struct tfd_plan **out, struct tfd_status *st)
{
    uint32_t slot = (run->plan - 1) % TFD_SIGNATURES_PER_SESSION_MAX;
    struct tfd_plan *p = slot < s->plan_count ? s->plans[slot] : NULL;

    if (!p || p->number != run->plan)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Plan %u is not known, or not any more; session %s has "
                        "%u",
                        run->plan, s->handle, s->plan_count);
    if (p->signature.feed_count != run->feed_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Plan %u takes %d feeds, %d were given", run->plan,
                        p->signature.feed_count, run->feed_count);
    *out = p;
    return TFD_OK;
}

static enum tfd_code find_names(struct tfd_session *s,
                                const struct tfd_run_step *run,
                                struct tfd_plan **out, struct tfd_status *st)
{
    struct tfd_str key = key_of(s, run);
    uintptr_t found;

    TFD_TRY(tfd_bytes_ok(&s->key, "the names of a step", st));
    if (!tfd_map_get(&s->plan_by_key, key, &found))
        return add_plan(s, run, key, out, st);
    *out = (struct tfd_plan *)found;
    return TFD_OK;
}

enum tfd_code tfd_plan_get(struct tfd_session *s,
                           const struct tfd_run_step *run,
                           struct tfd_plan **out, struct tfd_status *st)
{
    struct tfd_plan *p = NULL;

    TFD_TRY(run->plan != 0 ? find_number(s, run, &p, st)
                           : find_names(s, run, &p, st));
    p->used = ++s->plan_uses;
    if (p->state == TFD_PLAN_EMPTY ||
        (p->state == TFD_PLAN_FAILED && may_be_built_now(p))) {
        /* Later steps that want another key have this one, as TensorFlow's do.
         */
        p->asked_key = p->partial ? 0 : run->collective_key;
        tfd_plan_build(p);
    }
    *out = p;
    return TFD_OK;
}
