/*
 * fake_worker.h - a worker as a master sees it (daemon/worker_api.h), of which
 * the test is the other side.
 *
 * It answers at once, keeps the call until the test answers it, or fails, by
 * kind of call:
 *
 *     f->mode[FAKE_STATUS] = FAKE_HOLD;
 *     fake_answer(f, FAKE_STATUS, TFD_OK, "");
 */
#ifndef TFD_TESTS_SUPPORT_FAKE_WORKER_H
#define TFD_TESTS_SUPPORT_FAKE_WORKER_H

#include "common/base/str.h"
#include "daemon/worker_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum fake_kind {
    FAKE_STATUS,
    FAKE_CREATE,
    FAKE_DELETE,
    FAKE_REGISTER,
    FAKE_RUN,
    FAKE_CLEAN_ALL,
    FAKE_KINDS,
};
enum fake_mode { FAKE_NOW, FAKE_HOLD };

#define FAKE_HELD_MAX 2000
#define FAKE_GRAPHS_MAX 20000

/* A call that was not answered. */
struct fake_held {
    enum fake_kind kind;
    void (*done)(void); /* of the kind's type */
    void *ctx;          /* FAKE_RUN: the run */
    uint64_t graph;
    bool cancelled;
};

struct fake_worker {
    struct tfd_worker worker; /* first */
    enum fake_mode mode[FAKE_KINDS];
    struct tfd_status answer[FAKE_KINDS]; /* of FAKE_NOW */
    int calls[FAKE_KINDS];
    struct fake_held held[FAKE_HELD_MAX];
    int held_count;
    struct tfd_device_attributes devices[4];
    int device_count;
    bool foreign;     /* speaks gRPC */
    bool deaf;        /* cancel() does nothing */
    char trouble[64]; /* why it cannot be reached */
    int graph_count, graphs_alive, cancelled, cleaned, deregistered;
    enum tfd_session_end last_end;
    int put, taken;                   /* of partial runs */
    int fetch_count[FAKE_GRAPHS_MAX]; /* by graph */
    struct tfd_bytes last_graph;
    char last_session[TFD_SESSION_HANDLE_MAX];
    int containers;
};

/* ---- worker_api.h -------------------------------------------------------- */

static inline struct fake_worker *fake_of(struct tfd_worker *w)
{
    return (struct fake_worker *)w;
}

static inline void fake_fill(struct fake_worker *f, struct tfd_run_graph *run,
                             uint64_t graph)
{
    const struct tfd_shape scalar = {0, {0}};

    for (int i = 0; run->fetches && i < f->fetch_count[graph]; i++) {
        assert_int_equal(
            tfd_tensor_new(&run->fetches[i], TFD_FLOAT, &scalar, NULL), TFD_OK);
        *(float *)tfd_tensor_data(&run->fetches[i]) = (float)(i + 1);
    }
}

static inline void fake_end(struct fake_worker *f, const struct fake_held *h,
                            const struct tfd_status *st)
{
    struct tfd_run_graph *run = h->ctx;

    switch (h->kind) {
    case FAKE_STATUS:
        ((tfd_worker_status_fn *)h->done)(
            h->ctx, st, f->devices, st->code == TFD_OK ? f->device_count : 0);
        break;
    case FAKE_REGISTER:
        f->graphs_alive += st->code == TFD_OK;
        ((tfd_worker_registered_fn *)h->done)(
            h->ctx, st, st->code == TFD_OK ? h->graph : 0);
        break;
    case FAKE_RUN:
        if (st->code == TFD_OK)
            fake_fill(f, run, h->graph);
        run->worker = NULL;
        run->done(run, st);
        break;
    default:
        if (h->done)
            ((tfd_worker_done_fn *)h->done)(h->ctx, st);
    }
}

static inline void fake_take(struct fake_worker *f, const struct fake_held *h)
{
    f->calls[h->kind]++;
    if (f->mode[h->kind] == FAKE_NOW) {
        struct tfd_status st = f->answer[h->kind];

        fake_end(f, h, &st);
        return;
    }
    assert_true(f->held_count < FAKE_HELD_MAX);
    f->held[f->held_count++] = *h;
}

static inline bool fake_answer_at(struct fake_worker *f, int at,
                                  enum tfd_code code, const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct fake_held h = f->held[at];

    f->held_count--;
    memmove(&f->held[at], &f->held[at + 1],
            (size_t)(f->held_count - at) * sizeof(h));
    if (code != TFD_OK)
        (void)tfd_fail(&st, code, "%s", text);
    fake_end(f, &h, &st);
    return true;
}

/* Answers the oldest call of this kind; false when there is none. */
static inline bool fake_answer(struct fake_worker *f, enum fake_kind kind,
                               enum tfd_code code, const char *text)
{
    for (int i = 0; i < f->held_count; i++)
        if (f->held[i].kind == kind)
            return fake_answer_at(f, i, code, text);
    return false;
}

static inline int fake_held_count(const struct fake_worker *f,
                                  enum fake_kind kind)
{
    int count = 0;

    for (int i = 0; i < f->held_count; i++)
        count += f->held[i].kind == kind;
    return count;
}

static inline void fake_get_status(struct tfd_worker *w, uint64_t timeout_us,
                                   tfd_worker_status_fn *done, void *ctx)
{
    struct fake_held h = {FAKE_STATUS, (void (*)(void))done, ctx, 0, false};

    assert_true(timeout_us > 0);
    fake_take(fake_of(w), &h);
}

static inline void fake_cancel_call(struct tfd_worker *w, const void *ctx)
{
    struct fake_worker *f = fake_of(w);

    for (int i = 0; i < f->held_count; i++)
        if (f->held[i].ctx == ctx && f->held[i].kind != FAKE_RUN) {
            f->held[i].cancelled = true;
            if (!f->deaf)
                fake_answer_at(f, i, TFD_CANCELLED, "was cancelled");
            return;
        }
}

static inline void fake_create(struct tfd_worker *w,
                               const struct tfd_worker_session *s,
                               tfd_worker_done_fn *done, void *ctx)
{
    struct fake_held h = {FAKE_CREATE, (void (*)(void))done, ctx, 0, false};
    struct fake_worker *f = fake_of(w);

    assert_int_equal(s->handle.size, 16);
    memcpy(f->last_session, s->handle.data, s->handle.size + 1);
    fake_take(f, &h);
}

static inline void fake_delete(struct tfd_worker *w, struct tfd_str handle,
                               enum tfd_session_end end, uint64_t timeout_us,
                               tfd_worker_done_fn *done, void *ctx)
{
    struct fake_held h = {FAKE_DELETE, (void (*)(void))done, ctx, 0, false};

    assert_int_equal(handle.size, 16);
    assert_true(timeout_us > 0);
    fake_of(w)->last_end = end;
    fake_take(fake_of(w), &h);
}

static inline void fake_register(struct tfd_worker *w,
                                 const struct tfd_register_graph *r,
                                 tfd_worker_registered_fn *done, void *ctx)
{
    struct fake_worker *f = fake_of(w);
    struct fake_held h = {FAKE_REGISTER, (void (*)(void))done, ctx, 0, false};

    h.graph = (uint64_t)++f->graph_count;
    assert_true(f->graph_count < FAKE_GRAPHS_MAX);
    f->fetch_count[h.graph] = r->fetch_count;
    tfd_bytes_clear(&f->last_graph);
    tfd_bytes_add_str(&f->last_graph, r->graph_def);
    fake_take(f, &h);
}

static inline void fake_deregister(struct tfd_worker *w, struct tfd_str session,
                                   uint64_t graph)
{
    (void)session;
    assert_true(graph > 0);
    fake_of(w)->deregistered++;
    fake_of(w)->graphs_alive--;
}

static inline void fake_run(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct fake_held h = {FAKE_RUN, NULL, run, run->graph, false};

    assert_true(run->step_id > 0 && run->step_id < INT64_C(1) << 57);
    run->worker = w;
    fake_take(fake_of(w), &h);
}

static inline void fake_cancel(struct tfd_worker *w, struct tfd_run_graph *run)
{
    struct fake_worker *f = fake_of(w);

    f->cancelled++;
    for (int i = 0; !f->deaf && i < f->held_count; i++)
        if (f->held[i].ctx == run) {
            fake_answer_at(f, i, TFD_CANCELLED, "was cancelled");
            return;
        }
}

/* The client's ends of a partial run: what is put is dropped, what is taken is
 * there, a scalar. */
static inline enum tfd_code fake_put(struct tfd_worker *w, int64_t step,
                                     struct tfd_str key,
                                     struct tfd_tensor *take_value,
                                     struct tfd_status *st)
{
    (void)st;
    assert_true(step > 0 && tfd_str_starts(key, fake_of(w)->worker.task));
    fake_of(w)->put++;
    tfd_tensor_unref(take_value);
    return TFD_OK;
}

static inline void fake_take_value(struct tfd_worker *w, int64_t step,
                                   struct tfd_str key,
                                   tfd_worker_value_fn *done, void *ctx)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor value;

    assert_true(step > 0 && tfd_str_starts(key, fake_of(w)->worker.task));
    assert_int_equal(tfd_tensor_new(&value, TFD_FLOAT, &scalar, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&value) = (float)++fake_of(w)->taken;
    done(ctx, &st, &value);
}

static inline void fake_cleanup(struct tfd_worker *w, int64_t step_id)
{
    assert_true(step_id > 0);
    fake_of(w)->cleaned++;
}

static inline void fake_clean_all(struct tfd_worker *w,
                                  const struct tfd_str *containers, int count,
                                  tfd_worker_done_fn *done, void *ctx)
{
    struct fake_held h = {FAKE_CLEAN_ALL, (void (*)(void))done, ctx, 0, false};

    (void)containers;
    fake_of(w)->containers = count;
    fake_take(fake_of(w), &h);
}

static inline bool fake_is_native(const struct tfd_worker *w)
{
    return !((const struct fake_worker *)w)->foreign;
}

static inline const char *fake_trouble(const struct tfd_worker *w)
{
    return ((const struct fake_worker *)w)->trouble;
}

static const struct tfd_worker_ops fake_ops = {
    .get_status = fake_get_status,
    .cancel_call = fake_cancel_call,
    .create_session = fake_create,
    .delete_session = fake_delete,
    .register_graph = fake_register,
    .deregister_graph = fake_deregister,
    .run_graph = fake_run,
    .cancel = fake_cancel,
    .put = fake_put,
    .take = fake_take_value,
    .cleanup_graph = fake_cleanup,
    .cleanup_all = fake_clean_all,
    .is_native = fake_is_native,
    .trouble = fake_trouble,
};

/* Whether the graph registered last has this text in it. */
static inline bool fake_graph_has(const struct fake_worker *f, const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i + size <= f->last_graph.size; i++)
        if (memcmp(f->last_graph.data + i, text, size) == 0)
            return true;
    return false;
}

/* It fails each call of this kind from now on, at once. */
static inline void fake_fail(struct fake_worker *f, enum fake_kind kind,
                             enum tfd_code code, const char *text)
{
    f->mode[kind] = FAKE_NOW;
    tfd_status_clear(&f->answer[kind]);
    if (code != TFD_OK)
        (void)tfd_fail(&f->answer[kind], code, "%s", text);
}

static inline void fake_device(struct fake_worker *f, const char *task)
{
    struct tfd_device_attributes *a = &f->devices[f->device_count++];

    snprintf(a->name, sizeof(a->name), "%.200s/device:CPU:%d", task,
             f->device_count - 1);
    snprintf(a->type, sizeof(a->type), "CPU");
    a->incarnation = 1000 + (uint64_t)f->device_count;
}

#endif
