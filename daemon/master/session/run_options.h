/*
 * run_options.h - reads the RunOptions of a step and writes the RunMetadata
 * that it asks for.
 *
 * As in TensorFlow's master only FULL_TRACE traces; the other levels of
 * trace_level change nothing.  A run that is not traced allocates nothing here.
 *
 * Ownership: a struct tfd_run_trace belongs to whoever began it, who ends it
 * with tfd_run_trace_free().  Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_RUN_OPTIONS_H
#define TFD_DAEMON_MASTER_RUN_OPTIONS_H

#include "daemon/master/session/master.h"

struct tfd_run_options {
    uint64_t timeout_us; /* 0: none */
    int64_t trace_level; /* as it came */
    bool timeline;       /* FULL_TRACE */
    bool partition_graphs;
    uint64_t collective_key; /* experimental.collective_graph_key; 0: none */
    bool costs; /* not of RunOptions: its session wants those of some steps */
};

/* Reads RunOptions ("" is all defaults).  What is set and not honoured is named
 * in the log, once for each master; UNIMPLEMENTED for tensors to be watched by
 * TensorFlow's debugger. */
enum tfd_code tfd_run_options_read(struct tfd_master *m, struct tfd_str bytes,
                                   struct tfd_run_options *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* *out is NULL when nothing is to be traced. */
enum tfd_code tfd_run_trace_new(const struct tfd_run_options *o,
                                struct tfd_run_trace **out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_run_trace_free(struct tfd_run_trace *t); /* NULL is allowed */

/* Whether step number `count` of its plan, from 0, is one whose costs the
 * session wants; then whatever they are made of is traced.  NULL is allowed. */
void tfd_run_trace_begin(struct tfd_run_trace *t, const struct tfd_session *s,
                         uint64_t count);

/* The fields of a RunMetadata.  NULL is allowed: none. */
void tfd_run_trace_write(struct tfd_bytes *b, const struct tfd_run_trace *t);
/* The field `tag` with a RunMetadata. */
void tfd_run_trace_put(struct tfd_bytes *b, uint32_t tag,
                       const struct tfd_run_trace *t);

#endif
