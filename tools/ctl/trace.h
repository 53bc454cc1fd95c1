/*
 * trace.h - what `trace` does with a graph of its own (trace.c) and with the
 * steps of a server's clients (trace_clients.c) alike: the file (trace_out.c).
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_TRACE_H
#define TFD_TOOLS_CTL_TRACE_H

#include "tools/ctl/report.h"
#include "tools/ctl/timeline.h"

/* Whether there is an --out that can be written; else an exit code, after a
 * line.  Asked before there is a trace that would be lost; nothing is changed.
 */
int tfd_ctl_trace_check(const struct tfd_ctl *c);
/* An exit code. */
int tfd_ctl_trace_write(const struct tfd_ctl *c, struct tfd_ctl_timeline *t);
/* What was written; returns code.  take_more: further members for --json, or
 * NULL. */
int tfd_ctl_trace_tell(const struct tfd_ctl *c,
                       const struct tfd_ctl_timeline *t, json_t *take_more,
                       int code);

/* The next steps of the server's clients. */
int tfd_ctl_trace_clients(struct tfd_ctl *c);

#endif
