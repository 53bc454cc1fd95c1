/*
 * event_writer.h - the resource behind SummaryWriter: an event file, which
 * TensorBoard reads while it grows, or a database (summary_db.h).
 *
 *     LOGDIR/events.out.tfevents.SECONDS.HOST.PID.NUMBER.SUFFIX
 *
 * The file is a TFRecord file of Event messages, the first of which says which
 * version of them follows.  Events wait in a queue, and are written when there
 * are more than max_queue of them, when flush_millis have passed since the last
 * time, or when somebody asks.
 *
 *     struct tfd_summary s;
 *     tfd_summary_begin(&s);
 *     ... values ...
 *     return tfd_event_put_summary(k, &s, rc, st);
 *
 * Threads: any that may wait for a disk.
 */
#ifndef TFD_KERNELS_TEXT_EVENT_WRITER_H
#define TFD_KERNELS_TEXT_EVENT_WRITER_H

#include "kernels/core/runtime.h"
#include "kernels/io/file.h"
#include "kernels/text/summary.h"
#include "kernels/text/summary_db.h"

struct tfd_event_writer;

extern const struct tfd_resource_type tfd_event_writer_type;

struct tfd_event_options {
    struct tfd_str directory; /* made when it is not there */
    struct tfd_str suffix;
    int64_t max_queue, flush_ms; /* negative: without an end */
};

/* A writer without a file; arg is the struct tfd_kctx of the op that makes it.
 */
enum tfd_code tfd_event_writer_make(void *arg, struct tfd_resource **out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Makes the file; does nothing when the writer has one. */
enum tfd_code tfd_event_writer_open(struct tfd_event_writer *w,
                                    const struct tfd_event_options *options,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The same with a database, which is written by each event. */
enum tfd_code tfd_event_writer_open_db(struct tfd_event_writer *w,
                                       const struct tfd_summary_db_names *names,
                                       struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_event_writer_flush(struct tfd_event_writer *w,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Flushes; a database's run ends now. */
enum tfd_code tfd_event_writer_end(struct tfd_event_writer *w,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Whether the writer that input 0 is has a database: some values are not the
 * same there.  No writer has none. */
bool tfd_event_is_for_db(struct tfd_kctx *k);

/* Begins an Event of now and of the step that input 1 is. */
enum tfd_code tfd_event_begin(const struct tfd_kctx *k, struct tfd_bytes *event,
                              struct tfd_status *st) TFD_MUST_USE;
/* Gives the event to the writer that input 0 is, and frees it, in any case. */
enum tfd_code tfd_event_put(struct tfd_kctx *k, struct tfd_bytes *event,
                            struct tfd_status *st) TFD_MUST_USE;
/* An event that holds the summary, when rc is TFD_OK; frees the summary in any
 * case.  Returns rc or the failure. */
enum tfd_code tfd_event_put_summary(struct tfd_kctx *k, struct tfd_summary *s,
                                    enum tfd_code rc,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
