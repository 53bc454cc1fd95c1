/*
 * server.h - a whole server: master, worker, the port, signals, drain.  What
 * main() runs, what TF_NewServer() embeds, and what a session on no target
 * ("") runs in this process without a port.
 *
 *     tfd_server_new()    builds everything; listens if asked to
 *     tfd_server_run()    serves on the calling thread until stopped
 *     tfd_server_start()  the same on a thread of its own
 *     tfd_server_stop()   drains: running steps end within drain_timeout
 *     tfd_server_join()   waits until it has stopped
 *     tfd_server_free()
 *
 * The calls of tfd_local_* run a session of this server from another thread
 * without messages: they post to the loop thread and wait.
 *
 * Threads: new and free from one thread; stop and the local calls from any
 * thread but the loop's.
 */
#ifndef TFD_DAEMON_SERVER_H
#define TFD_DAEMON_SERVER_H

#include "common/base/str.h"
#include "common/base/tensor.h"
#include "config/flags.h"

struct tfd_server;
struct tfd_registry;
struct tfd_bind;

struct tfd_server_options {
    const struct tfd_config *config; /* borrowed */
    /* ConfigProto that those of its sessions are merged into; borrowed. */
    struct tfd_str session_config;
    /* Where to listen, if that is known; NULL: config and cluster say it. */
    const struct tfd_bind *bind;
    bool listen;  /* else reachable by local calls only */
    bool signals; /* SIGTERM, SIGINT stop it */
    /* With `listen`: called on the loop thread once it accepts connections. */
    void (*ready)(void *ctx, struct tfd_server *s);
    /* Called on the loop thread when it begins to stop.  May be NULL. */
    void (*stopping)(void *ctx);
    void *ctx;
};

enum tfd_code tfd_server_new(const struct tfd_server_options *o,
                             struct tfd_server **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Returns the exit code: 0 after a clean stop. */
int tfd_server_run(struct tfd_server *s);
enum tfd_code tfd_server_start(struct tfd_server *s,
                               struct tfd_status *st) TFD_MUST_USE;
void tfd_server_stop(struct tfd_server *s);
void tfd_server_join(struct tfd_server *s);
void tfd_server_free(struct tfd_server *s); /* stopped */

/* "grpc://127.0.0.1:2222"; "" when it does not listen. */
const char *tfd_server_target(const struct tfd_server *s);
int tfd_server_port(const struct tfd_server *s);
/* Ops and kernels; shared, read-only. */
const struct tfd_registry *tfd_server_registry(const struct tfd_server *s);
/* For /metrics: a training on this server tried to save a checkpoint.  From any
 * thread. */
void tfd_server_count_save(struct tfd_server *s, bool failed);

/* ---- Sessions of this process -------------------------------------------- */

struct tfd_local_session;

enum tfd_code tfd_local_open(struct tfd_server *s, struct tfd_str graph_def,
                             struct tfd_str config,
                             struct tfd_local_session **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Adds the nodes of graph_def to the session's graph. */
enum tfd_code tfd_local_extend(struct tfd_local_session *l,
                               struct tfd_str graph_def,
                               struct tfd_status *st) TFD_MUST_USE;

struct tfd_local_run {
    const struct tfd_str *feed_names;
    struct tfd_tensor *feeds; /* feed_count; taken */
    int feed_count;
    const struct tfd_str *fetch_names;
    struct tfd_tensor *fetches; /* fetch_count; the caller's afterwards */
    int fetch_count;
    const struct tfd_str *target_names;
    int target_count;
    uint64_t timeout_us;    /* 0: none */
    struct tfd_str options; /* a RunOptions, which says the same; "": none */
    struct tfd_bytes *metadata; /* gets a RunMetadata; NULL: not wanted */
    bool
        task_leaves; /* out: save and close (daemon/master/session/leaving.h) */
    uint32_t plan;   /* 0, then what the first run with these names left here */
};
enum tfd_code tfd_local_run(struct tfd_local_session *l,
                            struct tfd_local_run *run,
                            struct tfd_status *st) TFD_MUST_USE;
/* Running steps end with CANCELLED, and so do later ones; _close() follows. */
void tfd_local_cancel(struct tfd_local_session *l);
/* The same, then frees the session: no call may be under way. */
void tfd_local_close(struct tfd_local_session *l);

#endif
