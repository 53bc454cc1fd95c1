/*
 * flags.h - what the operator said, turned into one checked struct.
 *
 * Four sources, the first that says something wins:
 *
 *     flags    --name=value, --name value; --x and --nox for switches
 *     TF_CONFIG    the cluster, this task and the protocol (tf_config.h)
 *     --config=FILE    a JSON object with the names of the flags as keys
 *     built-in defaults
 *
 * A flag and TF_CONFIG that say different things are an error: one of them is
 * a mistake and a guess would start another cluster.  A flag given twice has
 * its last value, a repeatable one all of them.
 *
 * Under Slurm the cluster may come from the step (--cluster_from), and then
 * from nowhere else: launcher/slurm.h.
 *
 * All options are the rows of config/options.c.
 *
 * Threads: call before any thread starts; read-only afterwards.
 */
#ifndef TFD_CONFIG_FLAGS_H
#define TFD_CONFIG_FLAGS_H

#include "config/allow.h"
#include "config/cluster.h"
#include "config/limits.h"
#include "config/report.h"

#include <stdio.h>

/* What tfd_flags_parse() returns: run the server, or end with this code. */
enum tfd_exit {
    TFD_FLAGS_RUN = -1,
    TFD_EXIT_OK = 0,
    TFD_EXIT_USAGE = 64,  /* a command line that cannot be read */
    TFD_EXIT_OS = 71,     /* out of memory while reading it */
    TFD_EXIT_CONFIG = 78, /* a value that is wrong or missing */
    TFD_EXIT_GPU_LOST =
        138, /* a GPU failed; another process may find it well */
};

enum tfd_exit_when {
    TFD_EXIT_NEVER,
    TFD_EXIT_WORKERS, /* when every worker that came has gone */
    TFD_EXIT_CHIEF,
    TFD_EXIT_IDLE, /* without session for exit_idle_ms */
};

/* Longer than the other side of a small step takes to answer. */
#define TFD_SPIN_US 50

struct tfd_device_count {
    char type[TFD_DEVICE_TYPE_SIZE_MAX + 1]; /* "CPU" */
    int32_t count;
};

/* Texts are owned and never NULL where no NULL is mentioned. */
struct tfd_config {
    struct tfd_cluster cluster; /* and which task this is */
    char *cluster_from;         /* "config", "slurm", "auto" */
    int32_t port_base;          /* of the tasks of a host, under Slurm */
    int32_t port;               /* 0: any that is free */
    char *bind;                 /* NULL: the address the cluster names */
    char *protocol;             /* "grpc" */
    char *port_file;            /* NULL: none */
    int32_t connections_per_peer;
    struct tfd_allow allow;  /* users of this host who may connect */
    int64_t peer_wait_ms;    /* 0: for ever */
    int64_t heartbeat_ms;    /* 0: no heartbeats */
    int64_t peer_timeout_ms; /* 0: a silent peer is waited for */

    struct tfd_device_count devices[TFD_DEVICE_TYPES_MAX];
    size_t device_type_count;
    int64_t gpu_memory_limit;   /* bytes of each GPU; 0: see the next */
    double gpu_memory_fraction; /* of each GPU; 0: what is free */
    bool gpu_allow_growth;
    char *gpu_graphs;  /* "auto", "on", "off" */
    char *gpu_visible; /* "1,0"; NULL: all */
    char *gpu_virtual; /* "1024,2048;4096": MiB; NULL: each GPU is one */
    int32_t threads;   /* compute threads, at least 1 */
    int32_t spin_us;   /* 0: threads without work sleep at once */
    bool fuse_elementwise;
    int64_t memory_limit; /* bytes; 0: none */

    char *file_roots[TFD_FILE_ROOTS_MAX]; /* none: see config/bind.h */
    size_t file_root_count;

    int64_t session_idle_ms; /* 0: abandoned sessions stay */
    int64_t drain_timeout_ms;
    int32_t stopped_code; /* exit code after SIGTERM or SIGINT */
    enum tfd_exit_when exit_when;
    int64_t exit_idle_ms;
    char *log_level;        /* for tfd_log_level_parse() */
    char *log_format;       /* "text", "json" */
    int64_t slow_step_ms;   /* 0: no step is slow */
    int32_t slow_factor;    /* of a plan's median; 0: the same */
    int64_t stuck_after_ms; /* 0: no step is stuck */
    char *flight_recorder;  /* NULL: none */

    char *train;          /* NULL: serve only */
    char *checkpoint_dir; /* NULL: no checkpoints */
    int64_t max_steps;    /* 0: no end */
    int64_t save_steps;   /* 0: by time only */
    char *restore;        /* "newest", "last-good" */
    int64_t save_secs_ms; /* 0: by steps only */

    char *config;      /* NULL: no --config */
    char *missing_ops; /* NULL: serve; else the file of a graph */
    bool print_config, check_config, help, version;

    struct tfd_report notes; /* read and not used; for the log */
};

/*
 * Fills *out from argv, tf_config (the text of TF_CONFIG, NULL where it is not
 * set) and the file that --config names.  Prints what was asked for to `to`
 * and errors to `err`, one line each.  Returns enum tfd_exit; *out must be
 * freed in every case.
 */
int tfd_flags_parse(struct tfd_config *out, int argc, char *const argv[],
                    const char *tf_config, FILE *to, FILE *err);

void tfd_config_deinit(struct tfd_config *c);

#endif
