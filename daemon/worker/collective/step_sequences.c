/*
 * step_sequences.c - see step_sequences.h.
 */
#include "daemon/worker/collective/step_sequences.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"
#include "common/base/pbio.h"
#include "common/proto/worker.pb.h"
#include "config/limits.h"

#include <stdlib.h>

#define ASKED(field) tensorflow_GetStepSequenceRequest_##field##_tag
#define TOLD(field) tensorflow_GetStepSequenceResponse_##field##_tag
#define SEQUENCE(field) tensorflow_StepSequence_##field##_tag

/* The bits that TensorFlow's ids of steps have. */
#define TOP_BIT (UINT64_C(1) << 56)
#define ID_BITS (TOP_BIT | (TOP_BIT - 1))

struct tfd_step_sequence {
    uint64_t key;
    int64_t next;
    int running; /* steps with the ids from next on */
    bool sure;   /* the last one ended well */
    bool own;    /* this task has run a step of it */
    int64_t used_us;
    struct tfd_step_list *list; /* where it is; NULL: a step runs */
    struct tfd_step_sequence *older, *newer;
};

/* A question that the leader has not answered. */
struct tfd_step_learner {
    struct tfd_step_sequences *sequences;
    uint64_t key;
    tfd_worker_done_fn *done;
    void *ctx;
    struct tfd_outcall *call;
    struct tfd_step_learner *next;
};

void tfd_step_sequences_forget(struct tfd_step_sequences *s)
{
    struct tfd_step_sequence *q;
    size_t at = 0;

    while ((q = tfd_id_map_next(&s->by_key, &at)) != NULL)
        free(q);
    tfd_id_map_deinit(&s->by_key);
    s->asked = s->own = (struct tfd_step_list){NULL, NULL};
}

void tfd_step_sequences_deinit(struct tfd_step_sequences *s)
{
    tfd_step_sequences_forget(s);
}

/* ---- Forgetting ---------------------------------------------------------- */

static void off_list(struct tfd_step_sequence *q)
{
    if (!q->list)
        return;
    *(q->older ? &q->older->newer : &q->list->oldest) = q->newer;
    *(q->newer ? &q->newer->older : &q->list->newest) = q->older;
    q->list = NULL;
}

/* It is the one that was used last. */
static void touch(struct tfd_step_sequences *s, struct tfd_step_sequence *q)
{
    off_list(q);
    q->used_us = tfd_clock_now_us();
    if (q->running > 0)
        return;
    q->list = q->own ? &s->own : &s->asked;
    q->newer = NULL;
    q->older = q->list->newest;
    *(q->older ? &q->older->newer : &q->list->oldest) = q;
    q->list->newest = q;
}

static enum tfd_code forget_one(struct tfd_step_sequences *s,
                                struct tfd_status *st)
{
    struct tfd_step_sequence *q = s->asked.oldest;

    if (!q)
        q = s->own.oldest;
    if (!q || (q->own && s->leader < 0 &&
               tfd_clock_now_us() - q->used_us < s->idle_us))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "there are %d sequences of steps in use, which is the "
                        "limit",
                        TFD_STEP_SEQUENCES_MAX);
    off_list(q);
    (void)tfd_id_map_remove(&s->by_key, q->key);
    free(q);
    return TFD_OK;
}

/* ---- One sequence -------------------------------------------------------- */

static enum tfd_code put(struct tfd_step_sequences *s, uint64_t key, int64_t id,
                         struct tfd_status *st)
{
    struct tfd_step_sequence *q = tfd_id_map_get(&s->by_key, key);

    if (q) {
        q->next = id;
        touch(s, q);
        return TFD_OK;
    }
    if (s->by_key.count >= TFD_STEP_SEQUENCES_MAX)
        TFD_TRY(forget_one(s, st));
    q = calloc(1, sizeof(*q));
    if (!q || !tfd_id_map_put(&s->by_key, key, q)) {
        free(q);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a sequence of steps");
    }
    q->key = key;
    q->next = id;
    touch(s, q);
    return TFD_OK;
}

enum tfd_code tfd_step_sequences_peek(struct tfd_step_sequences *s,
                                      uint64_t key, int64_t *id,
                                      struct tfd_status *st)
{
    struct tfd_step_sequence *q = tfd_id_map_get(&s->by_key, key);

    if (s->leader >= 0)
        return tfd_fail(st, TFD_INTERNAL,
                        "GetStepSequenceAsync called at non-group-leader");
    if (q) {
        touch(s, q);
    } else {
        uint64_t first = (tfd_entropy_id() & (TOP_BIT - 1)) | TOP_BIT;

        TFD_TRY(put(s, key, (int64_t)first, st));
        q = tfd_id_map_get(&s->by_key, key);
    }
    *id = q->next;
    return TFD_OK;
}

static int64_t later(int64_t id, int steps)
{
    return (int64_t)(((uint64_t)id + (uint64_t)steps) & ID_BITS);
}

int64_t tfd_step_sequences_begin(struct tfd_step_sequences *s, uint64_t key)
{
    struct tfd_step_sequence *q = tfd_id_map_get(&s->by_key, key);

    if (!q)
        return 0;
    q->own = true;
    q->running++;
    touch(s, q);
    return later(q->next, q->running - 1);
}

/* It may have begun before the sequence was forgotten. */
void tfd_step_sequences_end(struct tfd_step_sequences *s, uint64_t key,
                            int64_t id, bool well)
{
    struct tfd_step_sequence *q = tfd_id_map_get(&s->by_key, key);

    if (!q || id < q->next || id >= q->next + q->running)
        return;
    q->next = later(q->next, 1);
    q->running--;
    q->sure = well;
    touch(s, q);
}

/* ---- Asking the leader --------------------------------------------------- */

static void learned(struct tfd_step_learner *l, const struct tfd_status *st)
{
    struct tfd_step_learner **at = &l->sequences->learners;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->done(l->ctx, st);
    free(l);
}

static enum tfd_code keep_sequence(struct tfd_step_learner *l,
                                   struct tfd_str proto, bool *kept,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    uint64_t key = 0, id = 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == SEQUENCE(graph_key))
            key = (uint64_t)tfd_pb_int64(&r, &f);
        else if (f.tag == SEQUENCE(next_step_id))
            id = (uint64_t)tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "StepSequence", st));
    if (key != l->key || (id & ID_BITS) == 0)
        return TFD_OK;
    *kept = true;
    return put(l->sequences, key, (int64_t)(id & ID_BITS), st);
}

static enum tfd_code keep_answer(struct tfd_step_learner *l,
                                 struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    bool kept = false;

    while (tfd_pb_next(&r, &f))
        if (f.tag == TOLD(step_sequence))
            TFD_TRY(keep_sequence(l, tfd_pb_str(&r, &f), &kept, st));
    TFD_TRY(tfd_pb_end(&r, "GetStepSequenceResponse", st));
    if (kept)
        return TFD_OK;
    return tfd_fail(st, TFD_INTERNAL,
                    "the leader of collectives does not say which step of "
                    "graph key %lld is next",
                    (long long)l->key);
}

static void sequence_answered(void *ctx, const struct tfd_status *st,
                              const struct tfd_incoming *response)
{
    struct tfd_step_learner *l = ctx;
    struct tfd_status own = TFD_STATUS_INIT;

    if (st->code == TFD_OK)
        (void)!keep_answer(l, response->proto, &own);
    learned(l, st->code == TFD_OK ? &own : st);
}

static void ask(struct tfd_step_learner *l, struct tfd_channel *ch)
{
    const struct tfd_outcall_options options = {.wait_ready = true};
    struct tfd_message m;

    tfd_message_init(&m, tfd_channel_protocol(ch) == TFD_PROTO_NATIVE);
    tfd_pb_put_int_always(&m.proto, ASKED(graph_key), (int64_t)l->key);
    l->call = tfd_channel_call(ch, TFD_METHOD_GetStepSequence, &m, &options,
                               sequence_answered, l);
    tfd_message_deinit(&m);
}

static bool is_sure(const struct tfd_step_sequences *s, uint64_t key)
{
    const struct tfd_step_sequence *q = tfd_id_map_get(&s->by_key, key);

    return s->leader < 0 || (q && (q->sure || q->running > 0));
}

static void learn_here(struct tfd_step_sequences *s, uint64_t key,
                       tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_status st = TFD_STATUS_INIT;
    int64_t id;

    if (!tfd_id_map_get(&s->by_key, key))
        (void)!tfd_step_sequences_peek(s, key, &id, &st);
    done(ctx, &st);
}

void tfd_step_sequences_learn(struct tfd_step_sequences *s, uint64_t key,
                              tfd_worker_done_fn *done, void *ctx)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_step_learner *l;
    struct tfd_channel *ch;

    if (is_sure(s, key)) {
        learn_here(s, key, done, ctx);
        return;
    }
    ch = tfd_peers_channel(s->peers, s->leader);
    l = calloc(1, sizeof(*l));
    if (!ch || !l) {
        free(l);
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                 "no memory to ask the leader of collectives");
        done(ctx, &st);
        return;
    }
    *l = (struct tfd_step_learner){s, key, done, ctx, NULL, s->learners};
    s->learners = l;
    ask(l, ch);
}

void tfd_step_sequences_cancel(struct tfd_step_sequences *s, const void *ctx)
{
    struct tfd_step_learner *l = s->learners;

    while (l && l->ctx != ctx)
        l = l->next;
    if (l)
        tfd_channel_cancel(l->call); /* its answer follows */
}
