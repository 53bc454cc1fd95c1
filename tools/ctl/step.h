/*
 * step.h - one step of a graph's file on a server: what `run` and `trace` have
 * in common.
 *
 *     --feed=NAME=FILE.npy   --fetch=NAME   --fetch=NAME=FILE.npy   --op=NAME
 *
 * A name without ":0" means the first output.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_STEP_H
#define TFD_TOOLS_CTL_STEP_H

#include "tools/ctl/server.h"

#include "daemon/graph_file.h"

struct tfd_ctl_step {
    struct tfd_ctl_server server;
    struct tfd_graph_file file;
    struct tfd_bytes names; /* of tensors, terminated */
    struct tfd_str feed_names[TFD_CTL_LIST_MAX];
    struct tfd_tensor feeds[TFD_CTL_LIST_MAX];
    int feed_count;
    struct tfd_str fetch_names[TFD_CTL_LIST_MAX];
    const char *fetch_files[TFD_CTL_LIST_MAX]; /* NULL: none */
    struct tfd_tensor fetches[TFD_CTL_LIST_MAX];
    int fetch_count;
    struct tfd_str op_names[TFD_CTL_LIST_MAX];
    int op_count;
};

/* Reads graph and feeds, opens a session.  An exit code; closed in every
 * case. */
int tfd_ctl_step_open(struct tfd_ctl *c, const char *graph,
                      struct tfd_ctl_step *s);
/* Runs it once: the fetches are those of the last run.  options: a RunOptions,
 * or empty; metadata: gets a RunMetadata, or NULL. */
int tfd_ctl_step_run(struct tfd_ctl_step *s, struct tfd_str options,
                     struct tfd_bytes *metadata);
void tfd_ctl_step_close(struct tfd_ctl_step *s);

#endif
