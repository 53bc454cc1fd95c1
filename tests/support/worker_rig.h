/*
 * worker_rig.h - a worker without a cluster, for tests of daemon/worker.
 *
 * A test writes a graph node by node, registers it and runs steps:
 *
 *     wrig_const(&w, "a", 1);
 *     wrig_node(&w, "b", "TestAdd", "a,a");
 *     wrig_fetch(&w, "b");
 *     graph = wrig_register(&w);
 *     assert_int_equal(wrig_run(&w, graph), TFD_OK);
 *     assert_true(wrig_result(&w, 0) == 2);
 *
 * Values are scalars of type float unless said otherwise; kernels of tests are
 * those of worker_kernels.h.  A test that hangs is ended by the watchdog.
 */
#ifndef TFD_TESTS_SUPPORT_WORKER_RIG_H
#define TFD_TESTS_SUPPORT_WORKER_RIG_H

#include "common/base/alloc.h"
#include "common/proto/graphdef.h"
#include "common/thread/pool.h"
#include "daemon/worker/service/worker.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "rpc/conn/loop.h"
#include "tests/support/worker_kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WRIG_WATCHDOG_US (100 * 1000 * 1000) /* sanitizers on busy cores */
#define WRIG_TASK "/job:t/replica:0/task:0"
#define WRIG_CPU0 WRIG_TASK "/device:CPU:0"
#define WRIG_CPU1 WRIG_TASK "/device:CPU:1"
#define WRIG_ENDS_MAX 64
#define WRIG_ATTRS_MAX 16

struct wrig {
    struct tfd_loop *loop;
    bool own_loop;
    struct tfd_pool *pool;
    struct tfd_registry registry;
    struct tfd_worker_service *service;
    struct tfd_worker *worker;
    struct tfd_timer watchdog;
    struct tfd_bytes graph;
    const char *device;                    /* of the next nodes */
    struct tfd_attr attrs[WRIG_ATTRS_MAX]; /* of the next node */
    int attr_count;
    struct tfd_bytes text[WRIG_ATTRS_MAX];
    char names[2][WRIG_ENDS_MAX][64]; /* feeds, fetches */
    struct tfd_str feeds[WRIG_ENDS_MAX], fetches[WRIG_ENDS_MAX];
    int feed_count, fetch_count;
    int64_t step;
    struct tfd_str session;
    struct tfd_run_graph run;
    struct tfd_tensor fed[WRIG_ENDS_MAX], fetched[WRIG_ENDS_MAX];
    struct tfd_status st;
    uint64_t registered;
    bool done, running;
};

/* ---- The rig ------------------------------------------------------------- */

void wrig_clear(struct wrig *w);

/* Another family, for tests that have kernels of their own. */
extern const struct tfd_family *wrig_own_family;

/* o: what differs from a worker that is alone. */
void wrig_init_as(struct wrig *w, int threads, struct tfd_worker_options o);

void wrig_init(struct wrig *w, int threads);

void wrig_deinit(struct wrig *w);

void wrig_stop(struct wrig *w);

/* Runs the loop until wrig_stop(). */
void wrig_wait(struct wrig *w);

/* ---- Writing a graph ----------------------------------------------------- */

struct tfd_bytes *wrig_attr(struct wrig *w, const char *name);

void wrig_attr_str(struct wrig *w, const char *name, const char *value);

void wrig_attr_type(struct wrig *w, const char *name, int value);

void wrig_attr_int(struct wrig *w, const char *name, int64_t value);

void wrig_attr_bool(struct wrig *w, const char *name, bool value);

/* inputs: "a,b:1,^c".  The attributes set before belong to this node. */
void wrig_node(struct wrig *w, const char *name, const char *op,
               const char *inputs);

struct tfd_tensor wrig_scalar(enum tfd_dtype dtype, double v);

void wrig_const_of(struct wrig *w, const char *name, enum tfd_dtype dtype,
                   double v, const char *inputs);

void wrig_const(struct wrig *w, const char *name, double v);

/* The attributes of an end of an edge. */
void wrig_ends(struct wrig *w, const char *from, const char *to,
               const char *tensor);

/* A node of this name whose value is fed. */
void wrig_feed_of(struct wrig *w, const char *name, enum tfd_dtype dtype);

void wrig_feed(struct wrig *w, const char *name);

void wrig_fetch(struct wrig *w, const char *from);

/* ---- Registering and running --------------------------------------------- */

void wrig_registered(void *ctx, const struct tfd_status *st, uint64_t graph);

/* 0 when it failed: w->st says why.  The next graph begins empty. */
uint64_t wrig_register(struct wrig *w);

void wrig_ran(struct tfd_run_graph *run, const struct tfd_status *st);

void wrig_start(struct wrig *w, uint64_t graph);

enum tfd_code wrig_run(struct wrig *w, uint64_t graph);

bool wrig_is_dead(const struct wrig *w, int at);

double wrig_result(const struct wrig *w, int at);

#endif
