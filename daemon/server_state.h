/*
 * server_state.h - a server as server.c, which builds and frees it,
 * server_stop.c, which stops it, and drain_notice.c, which tells of that, see
 * it; nobody else includes this.
 *
 * Threads: the loop thread, but for what server.h says of its functions.
 */
#ifndef TFD_DAEMON_SERVER_STATE_H
#define TFD_DAEMON_SERVER_STATE_H

#include "daemon/server_impl.h"

#include "config/bind.h"
#include "daemon/flight_recorder.h"
#include "daemon/stuck_watch.h"
#include "daemon/master/session/leaving.h"
#include "daemon/status/view.h"
#include "kernels/io/file_roots.h"
#include "kernels/core/registry.h"
#include "rpc/core/health.h"
#include "rpc/core/peers.h"
#include "rpc/core/sniff.h"

#include <pthread.h>

/* What each means is said in server_stop.c. */
enum tfd_server_stage {
    TFD_SERVER_SERVING,
    TFD_SERVER_DRAINING,
    TFD_SERVER_CLOSING,
    TFD_SERVER_STOPPED,
};

struct tfd_server {
    struct tfd_server_options o;
    struct tfd_registry registry;
    bool has_registry;
    struct tfd_file_roots roots;
    bool has_roots;
    const struct tfd_family **families; /* of the host, then of GPUs */
    struct tfd_gpus *gpus;
    struct tfd_post lost_post;
    struct tfd_pool *pool;
    struct tfd_loop *loop;
    struct tfd_service *service;
    struct tfd_peer_info self;
    struct tfd_peers *peers;
    struct tfd_worker_service *worker;
    struct tfd_master *master;
    struct tfd_eager *eager;
    struct tfd_master_service *master_service;
    struct tfd_exit_rule *exit_rule;
    struct tfd_flight_recorder *flight_recorder;
    struct tfd_stuck_watch *stuck_watch;
    struct tfd_health health;
    struct tfd_view view;
    struct tfd_status_page *pages;
    struct tfd_sniff sniff;
    struct tfd_listener *listener;
    char target[TFD_ADDRESS_SIZE_MAX + 16];
    uint64_t start_us;
    uint64_t saves, save_failures; /* atomic */
    enum tfd_server_stage stage;
    struct tfd_post stop_post;
    struct tfd_post begin_post;
    struct tfd_timer timer; /* of the stage */
    int goodbyes;           /* not yet answered */
    int notices;            /* of the drain, not yet answered */
    struct tfd_leaving own_leaving;
    int holds; /* threads that use us */
    bool service_drained;
    bool said_goodbye;
    bool cut_off; /* the drain ended with calls that ran */
    bool lingered;
    bool signalled; /* by SIGTERM or SIGINT, once */
    bool by_signal; /* and that was why it stops */
    pthread_t thread;
    bool has_thread;
    int exit_code;
};

/* The directories of --file_root, the fallback (NULL: none) where there are
 * none, and the one that our training saves to. */
enum tfd_code tfd_server_open_roots(struct tfd_server *s, const char *fallback,
                                    struct tfd_status *st) TFD_MUST_USE;
/* One line for the log where anybody but our user and root can connect. */
void tfd_server_tell_open(const struct tfd_server *s,
                          const struct tfd_bind *bind);
/* Leaves SERVING, or does nothing if it has; `why` is for the log. */
void tfd_server_drain(struct tfd_server *s, const char *why);
/* drain_notice.c: tells who may want to save, and whom that is asked of us.
 * s->notices is 0 when all have. */
void tfd_server_tell_of_drain(struct tfd_server *s);
void tfd_server_bind_notices(struct tfd_server *s);
/* operator.c: what an operator asks of a task. */
void tfd_server_bind_operate(struct tfd_server *s);
/* One notice was answered. */
void tfd_server_noticed(struct tfd_server *s);
/* Of s->timer: the stage has lasted as long as it may. */
void tfd_server_stage_over(struct tfd_timer *t);
/* SIGTERM and SIGINT drain and SIGHUP is logged, if the options say so. */
enum tfd_code tfd_server_watch_signals(struct tfd_server *s,
                                       struct tfd_status *st) TFD_MUST_USE;

#endif
