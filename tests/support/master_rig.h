/*
 * master_rig.h - a master whose workers, peers and clock are the test's.
 *
 * Workers are those of fake_worker.h:
 *
 *     mrig_open(&r, 3);                          worker 0 is the master's own
 *     r.worker[1].mode[FAKE_STATUS] = FAKE_HOLD;
 *     mrig_create(&r, &created, "c Const", "");
 *     fake_answer(&r.worker[1], FAKE_STATUS, TFD_OK, "");
 *     net_advance(&r.loop, 500000);              fires timers
 *
 * Included once by a test program: it stands in for rpc/core/peers.c,
 * daemon/master/remote/remote_worker.c and, by fake_net.h, the loop.
 */
#ifndef TFD_TESTS_SUPPORT_MASTER_RIG_H
#define TFD_TESTS_SUPPORT_MASTER_RIG_H

#include "common/base/log.h"
#include "daemon/master/session/master.h"
#include "daemon/master/session/plan.h"
#include "daemon/master/remote/remote_worker.h"
#include "daemon/master/session/session.h"
#include "tests/support/fake_net.h"
#include "tests/support/fake_worker.h"
#include "tests/support/nodes.h"

#define MRIG_TASKS 4

struct tfd_peers {
    int count;
    struct tfd_peers_follower *follower;
};

struct mrig {
    struct tfd_loop loop;
    struct tfd_peers peers;
    struct tfd_registry registry;
    struct fake_worker worker[MRIG_TASKS];
    struct tfd_master *master;
    int activity;
};

/* The rig of this test: what stands in for other files has no other way. */
static struct mrig *mrig_now;

/* ---- Operations ---------------------------------------------------------- */

/* The kernels of tfd would bring the worker and the real loop with them; these
 * have the same definitions and never run. */
static inline enum tfd_code mrig_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    (void)k;
    return tfd_fail(st, TFD_INTERNAL, "no kernel runs here");
}

static const struct tfd_opdef mrig_ops[] = {
    {.name = "Const",
     .outputs = "output: dtype",
     .attrs = "value: tensor; dtype: type"},
    {.name = "Placeholder", .outputs = "output: dtype", .attrs = "dtype: type"},
    {.name = "Relu", .inputs = "x: T", .outputs = "y: T", .attrs = "T: type"},
    {.name = "Identity",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type"},
    {.name = "Add",
     .inputs = "x: T, y: T",
     .outputs = "z: T",
     .attrs = "T: type"},
    {.name = "Switch",
     .inputs = "data: T, pred: bool",
     .outputs = "output_false: T, output_true: T",
     .attrs = "T: type",
     .flags = TFD_OP_SWITCH},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T, value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = TFD_OP_MERGE},
    {.name = "Enter",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type; frame_name: string",
     .flags = TFD_OP_ENTER},
    {.name = "Exit",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_EXIT},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
    {.name = "VariableV2",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type",
     .flags = TFD_OP_STATEFUL},
    {.name = "Assign",
     .inputs = "ref: Ref(T), value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type"},
    {.name = "NoOp"},
};

static const struct tfd_kernel mrig_kernels[] = {
    TFD_KERNEL_ANY("Const", mrig_compute),
    TFD_KERNEL_ANY("Placeholder", mrig_compute),
    TFD_KERNEL_ANY("Relu", mrig_compute),
    TFD_KERNEL_ANY("Identity", mrig_compute),
    TFD_KERNEL_ANY("Add", mrig_compute),
    TFD_KERNEL_ANY("Switch", mrig_compute),
    TFD_KERNEL_ANY("Merge", mrig_compute),
    TFD_KERNEL_ANY("Enter", mrig_compute),
    TFD_KERNEL_ANY("Exit", mrig_compute),
    TFD_KERNEL_ANY("NextIteration", mrig_compute),
    TFD_KERNEL_ANY("VariableV2", mrig_compute),
    TFD_KERNEL_ANY("Assign", mrig_compute),
    TFD_KERNEL_ANY("NoOp", mrig_compute),
};

static const struct tfd_family mrig_family = {
    .name = "mrig",
    .ops = mrig_ops,
    .op_count = TFD_COUNT(mrig_ops),
    .kernels = mrig_kernels,
    .kernel_count = TFD_COUNT(mrig_kernels),
};

static const struct tfd_family *const mrig_families[] = {&mrig_family};

/* ---- peers.h, remote_worker.h -------------------------------------------- */

static const char *const mrig_tasks[MRIG_TASKS] = {
    "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0",
    "/job:ps/replica:0/task:1", "/job:worker/replica:0/task:1"};

int tfd_peers_count(const struct tfd_peers *p)
{
    return p->count;
}

const char *tfd_peers_task(const struct tfd_peers *p, int i)
{
    assert_true(i >= 0 && i < p->count);
    return mrig_tasks[i];
}

const char *tfd_peers_address(const struct tfd_peers *p, int i)
{
    static const char *const addresses[MRIG_TASKS] = {"h0:1", "h1:1", "h2:1",
                                                      "h3:1"};

    assert_true(i >= 0 && i < p->count);
    return addresses[i];
}

int tfd_peers_find(const struct tfd_peers *p, struct tfd_str name)
{
    for (int i = 0; i < p->count; i++)
        if (tfd_str_starts(name, mrig_tasks[i]))
            return i;
    return -1;
}

struct tfd_peers_range tfd_peers_all(const struct tfd_peers *p)
{
    return (struct tfd_peers_range){0, p->count, 0, 0};
}

void tfd_peers_follow(struct tfd_peers *p, struct tfd_peers_follower *f)
{
    p->follower = f;
}

void tfd_peers_drop_cluster(struct tfd_peers *p, struct tfd_peers_range range)
{
    (void)p;
    assert_int_equal(range.cluster, 0);
}

enum tfd_code tfd_peers_add_cluster(struct tfd_peers *p,
                                    const struct tfd_cluster *cluster,
                                    struct tfd_peers_range *out,
                                    struct tfd_status *st)
{
    (void)p;
    (void)cluster;
    (void)out;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no clusters here");
}

int tfd_peers_find_in(const struct tfd_peers *p, struct tfd_peers_range range,
                      struct tfd_str name)
{
    (void)range;
    return tfd_peers_find(p, name);
}

int tfd_peers_self(const struct tfd_peers *p)
{
    (void)p;
    return 0;
}

struct tfd_channel *tfd_peers_channel(struct tfd_peers *p, int i)
{
    assert_true(i > 0 && i < p->count);
    return (struct tfd_channel *)&mrig_now->worker[i];
}

struct tfd_worker *tfd_remote_worker_new(struct tfd_loop *l,
                                         struct tfd_channel *ch,
                                         const char *task)
{
    struct fake_worker *f = (struct fake_worker *)ch;

    (void)l;
    assert_string_equal(f->worker.task, task);
    return &f->worker;
}

void tfd_remote_worker_free(struct tfd_worker *w)
{
    (void)w;
}

/* ---- The rig ------------------------------------------------------------- */

static inline void mrig_activity(void *ctx)
{
    ((struct mrig *)ctx)->activity++;
}

static inline void mrig_open_waiting(struct mrig *r, int tasks,
                                     uint64_t peer_wait_us)
{
    struct tfd_master_options o = {.loop = &r->loop,
                                   .peers = &r->peers,
                                   .registry = &r->registry,
                                   .local = &r->worker[0].worker,
                                   .peer_wait_us = peer_wait_us,
                                   .activity = mrig_activity,
                                   .activity_ctx = r};
    struct tfd_status st = TFD_STATUS_INIT;

    tfd_log_level_set(TFD_LOG_ERROR);
    memset(r, 0, sizeof(*r));
    mrig_now = r;
    net_open(&r->loop);
    r->peers.count = tasks;
    for (int i = 0; i < tasks; i++) {
        struct fake_worker *f = &r->worker[i];

        f->worker.ops = &fake_ops;
        snprintf(f->worker.task, sizeof(f->worker.task), "%s", mrig_tasks[i]);
        fake_device(f, mrig_tasks[i]);
        tfd_bytes_init(&f->last_graph, 64 << 20);
    }
    assert_int_equal(tfd_registry_init(&r->registry, mrig_families, 1, &st),
                     TFD_OK);
    assert_int_equal(tfd_master_new(&o, &r->master, &st), TFD_OK);
}

static inline void mrig_open(struct mrig *r, int tasks)
{
    mrig_open_waiting(r, tasks, 60 * 1000000);
}

/* What a callback has brought. */
struct mrig_result {
    int done;
    struct tfd_status status;
    struct tfd_session *session;
};

static inline void mrig_done(void *ctx, const struct tfd_status *st)
{
    struct mrig_result *result = ctx;

    result->done++;
    result->status = *st;
}

static inline void mrig_created(void *ctx, const struct tfd_status *st,
                                struct tfd_session *session)
{
    struct mrig_result *result = ctx;

    assert_true((st->code == TFD_OK) == (session != NULL));
    mrig_done(result, st);
    result->session = session;
}

static inline struct tfd_create *mrig_create(struct mrig *r,
                                             struct mrig_result *result,
                                             const char *nodes,
                                             struct tfd_str config)
{
    struct tfd_bytes graph = nodes_bytes(nodes);
    struct tfd_create_session spec = {.graph_def = tfd_bytes_view(&graph),
                                      .config = config,
                                      .done = mrig_created,
                                      .ctx = result};
    struct tfd_create *c;

    memset(result, 0, sizeof(*result));
    c = tfd_master_create_session(r->master, &spec);
    assert_true((c == NULL) == (result->done == 1));
    tfd_bytes_deinit(&graph); /* it has been read */
    return c;
}

/* A session of these nodes on workers that answer at once. */
static inline struct tfd_session *mrig_session(struct mrig *r,
                                               const char *nodes)
{
    struct mrig_result result;

    assert_null(mrig_create(r, &result, nodes, TFD_STR_EMPTY));
    if (result.status.code != TFD_OK)
        fail_msg("%s", result.status.text);
    return result.session;
}

struct mrig_extension {
    struct tfd_status *st;
    enum tfd_code code;
    int64_t *version;
    int done;
};

static inline void mrig_extended(void *ctx, const struct tfd_status *st,
                                 int64_t version)
{
    struct mrig_extension *x = ctx;

    x->done++;
    x->code = tfd_status_copy(x->st, st);
    if (st->code == TFD_OK)
        *x->version = version;
}

/* Extends a session at once; *now as it is after a failure. */
static inline enum tfd_code mrig_extend(struct tfd_session *s,
                                        struct tfd_str graph_def,
                                        int64_t version, int64_t *now,
                                        struct tfd_status *st)
{
    struct mrig_extension x = {.st = st, .version = now};
    const struct tfd_extend_session spec = {.graph_def = graph_def,
                                            .version = version,
                                            .done = mrig_extended,
                                            .ctx = &x};

    assert_null(tfd_session_extend(s, &spec));
    assert_int_equal(x.done, 1);
    return x.code;
}

/* Everything ends; nothing may be left. */
static inline void mrig_close(struct mrig *r)
{
    struct mrig_result result = {0};

    for (int i = 0; i < r->peers.count; i++)
        for (int k = 0; k < FAKE_KINDS; k++)
            r->worker[i].mode[k] = FAKE_NOW;
    tfd_master_close_all(r->master, mrig_done, &result);
    for (int i = 0; i < r->peers.count; i++)
        while (r->worker[i].held_count > 0)
            fake_answer_at(&r->worker[i], 0, TFD_UNAVAILABLE, "gone");
    assert_int_equal(result.done, 1);
    assert_int_equal(tfd_master_session_count(r->master), 0);
    assert_int_equal(tfd_master_step_count(r->master), 0);
    assert_int_equal(r->loop.timer_count, 0);
    for (int i = 0; i < r->peers.count; i++)
        tfd_bytes_deinit(&r->worker[i].last_graph);
    tfd_master_free(r->master);
    tfd_registry_deinit(&r->registry);
}

/* The connection to a task is lost, or up again. */
static inline void mrig_changed(struct mrig *r, int peer, bool up)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (!up)
        (void)tfd_fail(&why, TFD_UNAVAILABLE, "Socket closed");
    r->peers.follower->changed(r->peers.follower, peer, up, &why);
}

/* ---- Steps --------------------------------------------------------------- */

#define MRIG_ENDS_MAX 8

struct mrig_step {
    struct tfd_run_step run; /* first */
    int done;
    struct tfd_status status;
    uint32_t plan;
    float value[MRIG_ENDS_MAX];
    struct tfd_tensor feeds[MRIG_ENDS_MAX];
    struct tfd_str names[3][NODES_LIST_MAX];
    char text[512];
    void (*then)(struct mrig_step *s); /* called from done() */
    void *ctx;
};

static inline void mrig_step_done(struct tfd_run_step *run,
                                  const struct tfd_status *st,
                                  struct tfd_tensor *fetches, uint32_t plan)
{
    struct mrig_step *s = (struct mrig_step *)run;

    assert_true((st->code == TFD_OK) == (fetches != NULL));
    s->done++;
    s->status = *st;
    s->plan = plan;
    for (int i = 0; fetches && i < run->fetch_count && i < MRIG_ENDS_MAX; i++)
        s->value[i] = *(float *)tfd_tensor_data(&fetches[i]);
    if (s->then)
        s->then(s);
}

/* "feeds|fetches|targets", each separated by commas. */
static inline void mrig_step_init(struct mrig_step *s, const char *signature)
{
    char *at = s->text, *end;
    int count[3] = {0, 0, 0};

    memset(s, 0, sizeof(*s));
    snprintf(s->text, sizeof(s->text), "%s", signature);
    for (int i = 0; i < 3 && at; i++) {
        end = strchr(at, '|');
        if (end)
            *end++ = '\0';
        count[i] = nodes_split(at, s->names[i], ',');
        at = end;
    }
    s->run.feed_names = s->names[0];
    s->run.feed_count = count[0];
    s->run.feeds = s->feeds;
    s->run.fetch_names = s->names[1];
    s->run.fetch_count = count[1];
    s->run.target_names = s->names[2];
    s->run.target_count = count[2];
    s->run.done = mrig_step_done;
}

static inline void mrig_run(struct tfd_session *session, struct mrig_step *s,
                            const char *signature)
{
    mrig_step_init(s, signature);
    tfd_session_run(session, &s->run);
}

/* It has ended so, once; text is contained in the message. */
static inline void assert_ended(int done, const struct tfd_status *st,
                                enum tfd_code code, const char *text)
{
    assert_int_equal(done, 1);
    if (st->code != code || !strstr(st->text, text))
        fail_msg("%s: %s, not %s: %s", tfd_code_name(st->code), st->text,
                 tfd_code_name(code), text);
}

#endif
