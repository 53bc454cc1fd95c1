/*
 * view.h - what the pages may see of a server: its parts, its configuration,
 * and what it counts itself.  The server fills one in when its parts are there
 * and hands it to status_page.h, so that no page calls back into the server.
 *
 * Ownership: all is borrowed; the server's parts outlive its port, and with it
 * the last request.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_VIEW_H
#define TFD_DAEMON_STATUS_VIEW_H

#include "config/flags.h"
#include "rpc/core/service.h"

struct tfd_cuda_device;
struct tfd_eager;
struct tfd_listener;
struct tfd_master;
struct tfd_peers;
struct tfd_pool;
struct tfd_registry;
struct tfd_worker_service;

struct tfd_view {
    const struct tfd_config *config;
    struct tfd_loop *loop;
    struct tfd_service *service;
    struct tfd_peers *peers;
    struct tfd_master *master;
    struct tfd_worker_service *worker;
    struct tfd_eager *eager;
    struct tfd_pool *pool;
    const struct tfd_registry *registry;
    struct tfd_cuda_device *gpus; /* gpu_count of them */
    int gpu_count;
    struct tfd_listener *listener; /* NULL: it does not listen */
    uint64_t start_us;             /* by tfd_loop_now_us() */
    uint64_t incarnation;          /* of this run of the process */
    /* Tries of this process to save a checkpoint, and failed ones: atomic. */
    const uint64_t *saves, *save_failures;
};

/* Open connections, and those closed at once, being too many. */
int tfd_view_connections(const struct tfd_view *v);
uint64_t tfd_view_refused(const struct tfd_view *v);

#endif
