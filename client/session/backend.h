/*
 * backend.h - the two ways in which a TF_Session runs its graph, as one table
 * of functions: a server in this process (local_session.c), or one behind a
 * connection (remote_session.c).
 *
 *     TF_SessionRun() --> signature --> tfd_backend_ops.run
 *                                         |-- local:  tfd_local_run()
 *                                         +-- remote: RunStep to "grpc://..."
 *
 * Threads: run() and cancel() on any; open() and extend() one at a time,
 * before or beside runs; free() when nothing else is going on.
 */
#ifndef TFD_CLIENT_BACKEND_H
#define TFD_CLIENT_BACKEND_H

#include "client/c_api/capi.h"
#include "daemon/server.h"

struct tfd_backend;

struct tfd_backend_ops {
    /* The first nodes of the graph; may wait for tasks. */
    enum tfd_code (*open)(struct tfd_backend *b, struct tfd_str graph_def,
                          struct tfd_status *st);
    enum tfd_code (*extend)(struct tfd_backend *b, struct tfd_str graph_def,
                            struct tfd_status *st);
    /* Waits.  Feeds are taken, fetches are the caller's on success. */
    enum tfd_code (*run)(struct tfd_backend *b, struct tfd_local_run *run,
                         struct tfd_status *st);
    /* Ends running steps with CANCELLED, and later ones at once. */
    void (*cancel)(struct tfd_backend *b);
    void (*free)(struct tfd_backend *b);
};

struct tfd_backend {
    const struct tfd_backend_ops *ops;
};

/* config is a ConfigProto.  server NULL: one of its own, made by open(). */
struct tfd_backend *tfd_local_backend(struct tfd_server *server,
                                      struct tfd_str config,
                                      struct tfd_status *st);
/* "tfd://host:port", "grpc://host:port". */
struct tfd_backend *tfd_remote_backend(const char *target,
                                       struct tfd_str config,
                                       struct tfd_status *st);

/* A session on a server of this process, for the daemon's trainer; target NULL
 * or "" with no server: one of its own.  NULL on failure. */
TF_Session *tfd_c_api_session_open(TF_Graph *g, struct tfd_server *server,
                                   const char *target, struct tfd_str config,
                                   struct tfd_status *st);

/* A step's response said that a task is about to stop; for sessions whose
 * config has saves_before_tasks_leave, which are to save and to close. */
bool tfd_c_api_session_task_leaves(const TF_Session *s);

/* ---- Signatures: session_signature.c ------------------------------------- */

/* The operations and outputs of one call of TF_SessionRun(). */
struct tfd_call_shape {
    const TF_Output *inputs;
    int input_count;
    const TF_Output *outputs;
    int output_count;
    const TF_Operation *const *targets;
    int target_count;
};

/* The same as names, once per session; and the number under which the server
 * knows them. */
struct tfd_signature_names {
    uint64_t hash;
    struct tfd_edge *edges; /* inputs, outputs, then targets with output 0 */
    int input_count, output_count, target_count;
    struct tfd_str *feeds, *fetches, *targets;
    uint8_t *feed_types; /* enum tfd_dtype, by input */
    int fetch_count;     /* without repetitions */
    int *fetch_of;       /* by output */
    uint32_t plan;       /* atomic; 0: not known yet */
    bool kept;           /* else free it after the run */
};

struct tfd_signatures {
    struct tfd_signature_names **slots; /* hash table; NULL until needed */
    int count;
};

void tfd_signatures_deinit(struct tfd_signatures *s);
/* Finds or makes it.  INVALID_ARGUMENT when something is not of the graph. */
enum tfd_code tfd_signatures_find(struct tfd_signatures *s, const TF_Graph *g,
                                  const struct tfd_call_shape *call,
                                  struct tfd_signature_names **out,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_signature_names_free(struct tfd_signature_names *n);

#endif
