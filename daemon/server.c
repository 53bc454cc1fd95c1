/*
 * server.c - builds the parts in the order they depend on each other, serves,
 * and takes them down again once server_stop.c has ended the loop.
 */
#include "daemon/server_state.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"
#include "common/base/container.h"
#include "common/base/denormals.h"
#include "common/base/entropy.h"
#include "common/base/log.h"
#include "common/thread/pool.h"
#include "config/environment.h"
#include "cuda/device/cuda.h"
#include "cuda/device/kernel_settings.h"
#include "daemon/eager/eager.h"
#include "daemon/exit_rule.h"
#include "daemon/gpu.h"
#include "daemon/master/service/master_service.h"
#include "daemon/status/status_page.h"
#include "daemon/worker/service/worker.h"
#include "kernels/core/runtime.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfd_loop *tfd_server_loop(const struct tfd_server *s)
{
    return s->loop;
}

struct tfd_pool *tfd_server_pool(const struct tfd_server *s)
{
    return s->pool;
}

struct tfd_master *tfd_server_master(const struct tfd_server *s)
{
    return s->master;
}

struct tfd_worker_service *tfd_server_worker(const struct tfd_server *s)
{
    return s->worker;
}

struct tfd_service *tfd_server_service(const struct tfd_server *s)
{
    return s->service;
}

struct tfd_peers *tfd_server_peers(const struct tfd_server *s)
{
    return s->peers;
}

const struct tfd_config *tfd_server_config(const struct tfd_server *s)
{
    return s->o.config;
}

void tfd_server_count_save(struct tfd_server *s, bool failed)
{
    TFD_COUNTER_ADD(&s->saves, 1);
    if (failed)
        TFD_COUNTER_ADD(&s->save_failures, 1);
}

const char *tfd_server_target(const struct tfd_server *s)
{
    return s->target;
}

int tfd_server_port(const struct tfd_server *s)
{
    return s->listener ? tfd_listener_port(s->listener) : 0;
}

const struct tfd_registry *tfd_server_registry(const struct tfd_server *s)
{
    return &s->registry;
}

/* ---- GPUs ---------------------------------------------------------------- */

/* Steps end with the error that their kernels got; after the drain the process
 * ends, since CUDA answers nothing else in it any more. */
static void gpu_lost_on_loop(struct tfd_post *p)
{
    struct tfd_server *s = TFD_CONTAINER_OF(p, struct tfd_server, lost_post);

    s->exit_code = TFD_EXIT_GPU_LOST;
    tfd_flight_recorder_write(s->flight_recorder, "a GPU is lost");
    tfd_server_drain(s, "a GPU is lost");
}

static void gpu_lost(void *ctx, const struct tfd_cuda_device *d)
{
    static void (*const posted)(struct tfd_post *) = gpu_lost_on_loop;
    struct tfd_server *s = ctx;

    tfd_log(TFD_LOG_ERROR, "gpu_lost", "device=%s name=\"%s\" error=\"%s\"",
            d->name, d->properties.name,
            d->driver->error_text(TFD_LOAD_ACQUIRE(&d->lost)));
    if (!TFD_EXCHANGE(&s->lost_post.run, posted))
        tfd_loop_post(s->loop, &s->lost_post);
}

static enum tfd_code open_gpus(struct tfd_server *s, struct tfd_status *st)
{
    struct tfd_cuda_options o;

    tfd_gpus_options(s->o.config,
                     tfd_environment_get(TFD_ENVIRONMENT_CUDA_VISIBLE_DEVICES),
                     &o);
    o.processors_min =
        tfd_environment_get(TFD_ENVIRONMENT_TF_MIN_GPU_MULTIPROCESSOR_COUNT);
    tfd_cuda_kernel_settings_set(
        tfd_environment_is_on(TFD_ENVIRONMENT_TF_DETERMINISTIC_OPS),
        tfd_environment_is_on(TFD_ENVIRONMENT_TF_CUDNN_DETERMINISTIC),
        tfd_environment_get(TFD_ENVIRONMENT_TF_CUDNN_WORKSPACE_LIMIT_IN_MB));
    return tfd_gpus_new(tfd_cuda_driver(), &o, gpu_lost, s, &s->gpus, st);
}

struct tfd_gpus *tfd_server_gpus(const struct tfd_server *s)
{
    return s->gpus;
}

/* ---- Building ------------------------------------------------------------ */

static void make_identity(struct tfd_server *s)
{
    const struct tfd_cluster *c = &s->o.config->cluster;

    snprintf(s->self.task, sizeof(s->self.task), "/job:%s/replica:0/task:%d",
             c->job_name, c->task_index);
    s->self.incarnation = tfd_entropy_id();
}

static enum tfd_code open_port(struct tfd_server *s, struct tfd_status *st)
{
    const struct tfd_config *c = s->o.config;
    const char *own = tfd_cluster_own_address(&c->cluster);
    struct tfd_bind bind;

    *tfd_loop_allow(s->loop) = c->allow;
    if (!s->o.listen)
        return tfd_server_open_roots(s, "/", st);
    if (s->o.bind)
        bind = *s->o.bind;
    else
        TFD_TRY(tfd_bind_resolve(c->bind, own, c->port, &bind, st));
    if (bind.loopback_by_name)
        tfd_log(TFD_LOG_WARN, "loopback_only",
                "address=%s host=%s hint=\"peers on other hosts cannot "
                "connect; --bind=ADDR helps\"",
                own, bind.host);
    TFD_TRY(tfd_server_open_roots(s, tfd_bind_file_root(&bind, &c->allow), st));
    s->sniff = (struct tfd_sniff){s->service, &s->self};
    TFD_TRY(tfd_listener_new(s->loop, bind.host, bind.port, TFD_CONNECTIONS_MAX,
                             tfd_sniff_accept, &s->sniff, &s->listener, st));
    tfd_listener_per_peer(s->listener, c->connections_per_peer);
    snprintf(s->target, sizeof(s->target),
             strchr(bind.host, ':') ? "grpc://[%s]:%d" : "grpc://%s:%d",
             bind.any ? "127.0.0.1" : bind.host,
             tfd_listener_port(s->listener));
    tfd_server_tell_open(s, &bind);
    return TFD_OK;
}

/* A session of ours began or ended, or one of another master on our worker. */
static void activity(void *ctx)
{
    struct tfd_server *s = ctx;

    if (s->exit_rule)
        tfd_exit_rule_busy(s->exit_rule,
                           tfd_master_session_count(s->master) > 0 ||
                               tfd_worker_session_count(s->worker) > 0);
}

/* Our own master's sessions are not a trainer's that can leave us. */
static bool is_trainers(const struct tfd_server *s, const char *master_task)
{
    return s->exit_rule && strcmp(master_task, s->self.task) != 0;
}

static void session_opened(void *ctx, const char *master_task, uint64_t number,
                           const uint64_t *stepped_us)
{
    struct tfd_server *s = ctx;

    if (is_trainers(s, master_task))
        tfd_exit_rule_opened(s->exit_rule, tfd_str_of(master_task), number,
                             stepped_us);
}

static void session_ended(void *ctx, const char *master_task, uint64_t number,
                          enum tfd_session_end end)
{
    struct tfd_server *s = ctx;

    if (is_trainers(s, master_task))
        tfd_exit_rule_ended(s->exit_rule, tfd_str_of(master_task), number, end);
}

static void step_timed_out(void *ctx)
{
    struct tfd_server *s = ctx;

    tfd_flight_recorder_write(s->flight_recorder, "a step has timed out");
}

static enum tfd_code open_flight_recorder(struct tfd_server *s,
                                          struct tfd_status *st)
{
    struct tfd_flight_recorder_options o = {
        .loop = s->loop,
        .master = s->master,
        .task = s->self.task,
        .path = s->o.config->flight_recorder,
        .crashes = s->o.signals,
    };

    return tfd_flight_recorder_new(&o, &s->flight_recorder, st);
}

static enum tfd_code watch_for_stuck(struct tfd_server *s,
                                     struct tfd_status *st)
{
    const struct tfd_stuck_watch_options o = {
        .loop = s->loop,
        .master = s->master,
        .worker = s->worker,
        .peers = s->peers,
        .stuck_after_us = (uint64_t)s->o.config->stuck_after_ms * 1000,
    };

    return tfd_stuck_watch_new(&o, &s->stuck_watch, st);
}

static int cpu_count(const struct tfd_config *c)
{
    for (size_t i = 0; i < c->device_type_count; i++)
        if (strcmp(c->devices[i].type, "CPU") == 0)
            return c->devices[i].count;
    return 1;
}

static struct tfd_traffic *traffic_of(void *ctx, struct tfd_str task)
{
    const struct tfd_server *s = ctx;

    return tfd_peers_traffic(s->peers, tfd_peers_find(s->peers, task));
}

static void stop_by_rule(void *ctx, const char *why)
{
    tfd_server_drain(ctx, why);
}

/* What the pages see: called when all of it is there. */
static const struct tfd_view *fill_view(struct tfd_server *s)
{
    s->view = (struct tfd_view){
        .config = s->o.config,
        .loop = s->loop,
        .service = s->service,
        .peers = s->peers,
        .master = s->master,
        .worker = s->worker,
        .eager = s->eager,
        .pool = s->pool,
        .registry = &s->registry,
        .gpus = tfd_gpus_at(s->gpus, 0),
        .gpu_count = tfd_gpus_count(s->gpus),
        .listener = s->listener,
        .start_us = s->start_us,
        .incarnation = s->self.incarnation,
        .saves = &s->saves,
        .save_failures = &s->save_failures,
    };
    return &s->view;
}

static enum tfd_code make_services(struct tfd_server *s, struct tfd_status *st)
{
    const struct tfd_config *c = s->o.config;
    struct tfd_worker_options worker = {
        .loop = s->loop,
        .service = s->service,
        .peers = s->peers,
        .registry = &s->registry,
        .pool = s->pool,
        .files = &s->roots.access,
        .task = s->self.task,
        .container = c->cluster.job_name,
        .cpu_count = cpu_count(c),
        .devices = tfd_gpus_rows(s->gpus),
        .device_count = tfd_gpus_count(s->gpus),
        .peer_wait_us = (uint64_t)c->peer_wait_ms * 1000,
        .chains = c->fuse_elementwise,
        .session_idle_us = (uint64_t)c->session_idle_ms * 1000,
        .stuck_after_us = (uint64_t)c->stuck_after_ms * 1000,
        .session_opened = session_opened,
        .session_ended = session_ended,
        .activity = activity,
        .ctx = s,
    };
    struct tfd_master_options master = {
        .loop = s->loop,
        .peers = s->peers,
        .registry = &s->registry,
        .build_threads = TFD_BUILD_THREADS,
        .peer_wait_us = (uint64_t)c->peer_wait_ms * 1000,
        .session_idle_us = (uint64_t)c->session_idle_ms * 1000,
        .slow_step_us = (uint64_t)c->slow_step_ms * 1000,
        .slow_factor = (uint64_t)c->slow_factor,
        .links = tfd_service_links(s->service),
        .quiet = !s->o.listen,
        .activity = activity,
        .timed_out = step_timed_out,
        .session_config = s->o.session_config,
        .activity_ctx = s,
    };
    struct tfd_eager_options eager = {
        .loop = s->loop,
        .service = s->service,
        .peers = s->peers,
        .registry = &s->registry,
    };

    TFD_TRY(tfd_worker_service_new(&worker, &s->worker, st));
    master.local = tfd_worker_local(s->worker);
    TFD_TRY(tfd_master_new(&master, &s->master, st));
    TFD_TRY(open_flight_recorder(s, st));
    TFD_TRY(watch_for_stuck(s, st));
    TFD_TRY(
        tfd_master_service_new(s->master, s->service, &s->master_service, st));
    eager.worker = tfd_worker_local(s->worker);
    eager.tracer = tfd_master_tracer(s->master);
    TFD_TRY(tfd_eager_new(&eager, &s->eager, st));
    tfd_service_on_hello(s->service, traffic_of, s);
    tfd_server_bind_notices(s);
    tfd_server_bind_operate(s);
    tfd_health_bind(&s->health, s->service);
    TFD_TRY(tfd_status_page_new(fill_view(s), &s->pages, st));
    return tfd_exit_rule_new(s->loop, c, s->service, stop_by_rule, s,
                             &s->exit_rule, st);
}

static void release_handle(void *handle)
{
    tfd_handle_unref(handle);
}

static bool is_computing(void *ctx)
{
    const struct tfd_server *s = ctx;

    return tfd_pool_busy(s->pool);
}

static enum tfd_code make_registry(struct tfd_server *s, struct tfd_status *st)
{
    int host = tfd_family_count, gpu = tfd_cuda_family_count;

    s->families = calloc((size_t)(host + gpu), sizeof(*s->families));
    if (!s->families)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for kernels");
    memcpy(s->families, tfd_families, (size_t)host * sizeof(*s->families));
    memcpy(s->families + host, tfd_cuda_families,
           (size_t)gpu * sizeof(*s->families));
    TFD_TRY(tfd_registry_init(&s->registry, s->families, host + gpu, st));
    s->has_registry = true;
    return TFD_OK;
}

static enum tfd_code make_basis(struct tfd_server *s, struct tfd_status *st)
{
    const struct tfd_config *c = s->o.config;
    struct tfd_heartbeat_options heartbeat;

    tfd_tensor_handle_release(release_handle);
    TFD_TRY(make_registry(s, st));
    make_identity(s);
    if (c->memory_limit > 0)
        tfd_alloc_limit((size_t)c->memory_limit);
    s->pool = tfd_pool_new(c->threads, st);
    if (!s->pool)
        return st->code;
    tfd_pool_spin(s->pool, c->spin_us);
    s->loop = tfd_loop_new(st);
    if (!s->loop)
        return st->code;
    tfd_loop_spin(s->loop, c->spin_us);
    tfd_timer_init(&s->timer, s->loop, tfd_server_stage_over);
    s->start_us = tfd_loop_now_us(s->loop);
    s->service = tfd_service_new(s->loop, st);
    if (!s->service)
        return st->code;
    TFD_TRY(tfd_peers_new(s->loop, &c->cluster, &s->self, &s->peers, st));
    heartbeat.interval_us = (uint64_t)c->heartbeat_ms * 1000;
    heartbeat.timeout_us = (uint64_t)c->peer_timeout_ms * 1000;
    tfd_service_watch(s->service, &heartbeat);
    tfd_admission_limit(tfd_service_admission(s->service),
                        (uint64_t)c->memory_limit, is_computing, s);
    tfd_peers_watch(s->peers, &heartbeat);
    return TFD_OK;
}

enum tfd_code tfd_server_new(const struct tfd_server_options *o,
                             struct tfd_server **out, struct tfd_status *st)
{
    struct tfd_server *s = calloc(1, sizeof(*s));
    struct tfd_status own = TFD_STATUS_INIT;
    enum tfd_code rc;

    if (!s)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for a server");
    s->o = *o;
    rc = make_basis(s, &own);
    if (rc == TFD_OK) /* who can connect may stop us, too */
        rc = tfd_server_watch_signals(s, &own);
    if (rc == TFD_OK)
        rc = open_gpus(s, &own); /* before anybody hears of us */
    if (rc == TFD_OK)
        rc = open_port(s, &own);
    if (rc == TFD_OK)
        rc = make_services(s, &own);
    if (rc != TFD_OK) {
        tfd_server_free(s);
        return tfd_status_copy(st, &own);
    }
    *out = s;
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

static void begin_serving(struct tfd_post *p)
{
    struct tfd_server *s = TFD_CONTAINER_OF(p, struct tfd_server, begin_post);

    tfd_log(s->o.listen ? TFD_LOG_INFO : TFD_LOG_DEBUG, "serving",
            "task=%s target=%s", s->self.task, s->target);
    if (s->o.ready && s->stage == TFD_SERVER_SERVING)
        s->o.ready(s->o.ctx, s);
}

/* Short steps compute on the loop thread, as others do on those of the pool. */
int tfd_server_run(struct tfd_server *s)
{
    uint64_t before = tfd_denormals_flush();

    s->begin_post.run = begin_serving;
    tfd_loop_post(s->loop, &s->begin_post);
    tfd_loop_run(s->loop);
    tfd_denormals_set(before);
    return s->exit_code;
}

static void *run_thread(void *arg)
{
    tfd_server_run(arg);
    return NULL;
}

enum tfd_code tfd_server_start(struct tfd_server *s, struct tfd_status *st)
{
    int rc = pthread_create(&s->thread, NULL, run_thread, s);

    if (rc != 0)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "Cannot start a thread for the server: %s",
                        strerror(rc));
    s->has_thread = true;
    return TFD_OK;
}

void tfd_server_join(struct tfd_server *s)
{
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
}

/* No call is answered any more and nobody dials: what still runs ends, and with
 * it what waited for that. */
static void end_everything(struct tfd_server *s)
{
    if (s->listener)
        tfd_listener_close(s->listener);
    if (s->peers)
        tfd_peers_stop(s->peers);
    if (s->eager)
        tfd_eager_stop(s->eager);
    if (s->loop) {
        tfd_timer_stop(&s->timer);
        tfd_conn_close_all(s->loop);
    }
    if (s->exit_rule)
        tfd_exit_rule_free(s->exit_rule);
    s->exit_rule = NULL;
    if (s->master)
        tfd_master_stop_building(s->master);
    if (s->worker)
        tfd_worker_finish(s->worker);
    if (s->loop)
        tfd_loop_settle(s->loop); /* sessions that were closing are closed */
}

void tfd_server_free(struct tfd_server *s)
{
    end_everything(s);
    tfd_stuck_watch_free(s->stuck_watch);
    tfd_flight_recorder_free(s->flight_recorder);
    if (s->master_service)
        tfd_master_service_free(s->master_service);
    if (s->master)
        tfd_master_free(s->master);
    tfd_eager_free(s->eager);
    if (s->worker)
        tfd_worker_service_free(s->worker);
    if (s->peers)
        tfd_peers_free(s->peers);
    tfd_status_page_free(s->pages); /* the peers' calls have ended */
    if (s->service)
        tfd_service_free(s->service);
    tfd_gpus_free(s->gpus);
    if (s->loop)
        tfd_loop_free(s->loop);
    if (s->pool)
        tfd_pool_free(s->pool);
    if (s->has_roots)
        tfd_file_roots_deinit(&s->roots);
    if (s->has_registry)
        tfd_registry_deinit(&s->registry);
    free(s->families);
    tfd_alloc_trim();
    free(s);
}
