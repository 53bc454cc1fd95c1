/*
 * event_writer.c - see event_writer.h.
 *
 * The file is written by one thread at a time, which has set `busy` and holds
 * no lock meanwhile; others wait for `idle`.  Events may join the queue while
 * it is written.  What is in the queue when the last reference goes is written
 * by a thread of the crew, since that may be on the loop thread.
 */
#define _GNU_SOURCE 1 /* gethostname() */
#include "kernels/text/event_writer.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/crc32c.h"
#include "common/proto/summary.pb.h"
#include "common/thread/crew.h"
#include "common/thread/lock.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/io/file_check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENT_TAG(name) tensorflow_Event_##name##_tag
#define SOURCE_TAG(name) tensorflow_SourceMetadata_##name##_tag

struct tfd_event_writer {
    struct tfd_resource resource;
    struct tfd_file_access *files;
    struct tfd_crew *crew; /* NULL in some tests */
    struct tfd_job last_write;
    struct tfd_lock lock;
    struct tfd_cond idle;
    bool busy; /* the lock's, as the next ones */
    struct tfd_bytes queue;
    int64_t queue_count;
    int64_t flushed_us; /* when; tfd_clock_now_us() */
    /* Who is busy has these; they stay as they are once the file is there. */
    bool is_open;
    struct tfd_summary_db *db; /* NULL: it has a file */
    struct tfd_file file;
    struct tfd_bytes name;
    int64_t max_queue, flush_ms;
};

/* ---- The end ------------------------------------------------------------- */

static void writer_free(struct tfd_event_writer *w)
{
    tfd_bytes_deinit(&w->queue);
    tfd_bytes_deinit(&w->name);
    tfd_cond_deinit(&w->idle);
    tfd_lock_deinit(&w->lock);
    free(w);
}

/* Nobody is left who could hear of a failure. */
static void write_last(struct tfd_job *job)
{
    struct tfd_event_writer *w =
        (struct tfd_event_writer *)((char *)job -
                                    offsetof(struct tfd_event_writer,
                                             last_write));

    if (w->queue.size > 0)
        (void)!w->files->write(w->files, &w->file, w->queue.data, w->queue.size,
                               NULL);
    if (w->db) {
        (void)!tfd_summary_db_finish(w->db, NULL);
        tfd_summary_db_close(w->db);
    } else {
        w->files->close(w->files, &w->file);
    }
    writer_free(w);
}

static void resource_free(struct tfd_resource *r)
{
    struct tfd_event_writer *w = (struct tfd_event_writer *)r;

    w->last_write.run = write_last;
    if (!w->is_open)
        writer_free(w);
    else if (!w->crew ||
             tfd_crew_submit(w->crew, &w->last_write, NULL) != TFD_OK)
        write_last(&w->last_write);
}

const struct tfd_resource_type tfd_event_writer_type = {
    .name = "N10tensorflow22SummaryWriterInterfaceE",
    .what = "summary writer",
    .free = resource_free,
};

enum tfd_code tfd_event_writer_make(void *arg, struct tfd_resource **out,
                                    struct tfd_status *st)
{
    const struct tfd_kctx *k = arg;
    struct tfd_event_writer *w;
    struct tfd_file_access *files;

    TFD_TRY(tfd_file_check(k, &files, st));
    w = calloc(1, sizeof(*w));
    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a summary writer");
    tfd_resource_init(&w->resource, &tfd_event_writer_type);
    w->files = files;
    w->crew = tfd_rt_crew(k->rt);
    w->file = (struct tfd_file)TFD_FILE_INIT;
    tfd_lock_init(&w->lock, TFD_LOCK_RESOURCE);
    tfd_cond_init(&w->idle);
    tfd_bytes_init(&w->queue, (size_t)TFD_EVENT_QUEUE_SIZE_MAX);
    tfd_bytes_init(&w->name, TFD_FILE_NAME_SIZE_MAX);
    *out = &w->resource;
    return TFD_OK;
}

/* ---- One at a time ------------------------------------------------------- */

/* With the lock. */
static void become_busy(struct tfd_event_writer *w)
{
    while (w->busy)
        tfd_cond_wait(&w->idle, &w->lock);
    w->busy = true;
}

static void end_busy(struct tfd_event_writer *w)
{
    w->busy = false;
    tfd_cond_broadcast(&w->idle);
}

/* ---- Records ------------------------------------------------------------- */

static void put_little(struct tfd_bytes *b, uint64_t value, int count)
{
    char at[8];

    for (int i = 0; i < count; i++)
        at[i] = (char)(uint8_t)(value >> 8 * i);
    tfd_bytes_add(b, at, (size_t)count);
}

static uint32_t masked_crc(const void *data, size_t size)
{
    return tfd_crc32c_mask(tfd_crc32c(data, size));
}

/* Appends a record of a TFRecord file. */
static void put_record(struct tfd_bytes *b, struct tfd_str record)
{
    size_t begin = b->size;

    put_little(b, record.size, 8);
    if (b->size == begin + 8) /* else it did not fit, and b says so */
        put_little(b, masked_crc(b->data + begin, 8), 4);
    tfd_bytes_add_str(b, record);
    put_little(b, masked_crc(record.data, record.size), 4);
}

/* ---- The file ------------------------------------------------------------ */

static enum tfd_code name_file(struct tfd_event_writer *w,
                               const struct tfd_event_options *o,
                               struct tfd_status *st)
{
    static unsigned count; /* atomic: files of this process so far */
    char host[TFD_HOST_SIZE_MAX + 1] = "";
    const char *dot = tfd_str_starts(o->suffix, ".") ? "" : ".";

    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = 0;
    tfd_bytes_clear(&w->name);
    tfd_bytes_add_str(&w->name, o->directory);
    if (o->directory.size > 0 &&
        o->directory.data[o->directory.size - 1] != '/')
        tfd_bytes_add(&w->name, "/", 1);
    tfd_bytes_printf(&w->name, "events.out.tfevents.%010lld.%s.%d.%u%s",
                     (long long)(tfd_clock_wall_us() / 1000000), host,
                     (int)getpid(), TFD_COUNTER_TAKE(&count, 1), dot);
    tfd_bytes_add_str(&w->name, o->suffix);
    return tfd_bytes_ok(&w->name, "name of an event file", st);
}

static enum tfd_code make_directory(struct tfd_file_access *files,
                                    struct tfd_str directory,
                                    struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    bool is_dir = false;
    enum tfd_code rc;

    if (directory.size == 0)
        return TFD_OK;
    rc = files->look(files, directory, &is_dir, &why);
    if (rc == TFD_NOT_FOUND)
        return tfd_file_make_dirs(files, directory, st);
    if (rc == TFD_OK && !is_dir)
        return tfd_fail(st, TFD_FAILED_PRECONDITION, "Not a directory");
    return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &why);
}

/* The first record: which version of events follows, and whose. */
static enum tfd_code write_head(struct tfd_event_writer *w,
                                struct tfd_status *st)
{
    struct tfd_bytes event, record;
    enum tfd_code rc;
    size_t mark;

    tfd_bytes_init(&event, 4096);
    tfd_bytes_init(&record, 4096);
    tfd_pb_put_double(&event, EVENT_TAG(wall_time),
                      (double)(tfd_clock_wall_us() / 1000000));
    tfd_pb_put_str(&event, EVENT_TAG(file_version), TFD_STR("brain.Event:2"));
    mark = tfd_pb_begin(&event, EVENT_TAG(source_metadata));
    tfd_pb_put_str(&event, SOURCE_TAG(writer),
                   TFD_STR("tensorflow.core.util.events_writer"));
    tfd_pb_finish(&event, mark);
    put_record(&record, tfd_bytes_view(&event));
    rc = tfd_bytes_ok(&event, "an event", st);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&record, "an event", st);
    if (rc == TFD_OK)
        rc = w->files->write(w->files, &w->file, record.data, record.size, st);
    tfd_bytes_deinit(&event);
    tfd_bytes_deinit(&record);
    return rc;
}

typedef enum tfd_code open_fn(struct tfd_event_writer *w, const void *how,
                              struct tfd_status *st);

static enum tfd_code open_file(struct tfd_event_writer *w, const void *how,
                               struct tfd_status *st)
{
    const struct tfd_event_options *o = how;
    enum tfd_code rc;

    w->max_queue = o->max_queue < 0 ? INT64_MAX : o->max_queue;
    w->flush_ms = o->flush_ms < 0 ? INT32_MAX : o->flush_ms;
    TFD_TRY(name_file(w, o, st));
    TFD_TRY(make_directory(w->files, o->directory, st));
    TFD_TRY(
        w->files->open_new(w->files, tfd_bytes_view(&w->name), &w->file, st));
    rc = write_head(w, st);
    if (rc != TFD_OK)
        w->files->close(w->files, &w->file);
    return rc;
}

static enum tfd_code open_db(struct tfd_event_writer *w, const void *how,
                             struct tfd_status *st)
{
    return tfd_summary_db_open(&w->db, w->files, how, st);
}

static enum tfd_code open_once(struct tfd_event_writer *w, open_fn *open,
                               const void *how, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    bool opened = false;

    tfd_lock(&w->lock);
    become_busy(w);
    tfd_unlock(&w->lock);
    if (!w->is_open) {
        rc = open(w, how, st);
        opened = rc == TFD_OK;
    }
    tfd_lock(&w->lock);
    w->is_open = w->is_open || opened;
    if (opened)
        w->flushed_us = tfd_clock_now_us();
    end_busy(w);
    tfd_unlock(&w->lock);
    return rc;
}

enum tfd_code tfd_event_writer_open(struct tfd_event_writer *w,
                                    const struct tfd_event_options *options,
                                    struct tfd_status *st)
{
    return open_once(w, open_file, options, st);
}

enum tfd_code tfd_event_writer_open_db(struct tfd_event_writer *w,
                                       const struct tfd_summary_db_names *names,
                                       struct tfd_status *st)
{
    return open_once(w, open_db, names, st);
}

/* ---- The queue ----------------------------------------------------------- */

/* A file that somebody has removed takes what is written and shows nothing. */
static enum tfd_code write_records(struct tfd_event_writer *w,
                                   const struct tfd_bytes *records,
                                   struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_str name = tfd_bytes_view(&w->name);
    enum tfd_code rc;
    bool is_dir;

    rc =
        w->files->write(w->files, &w->file, records->data, records->size, &why);
    if (rc != TFD_OK)
        return tfd_fail(st, rc,
                        "Could not flush events file. " TFD_STR_FMT "; %s",
                        TFD_STR_ARG(name), why.text);
    if (w->files->look(w->files, name, &is_dir, NULL) == TFD_NOT_FOUND)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "The events file " TFD_STR_FMT " has disappeared.",
                        TFD_STR_ARG(name));
    return TFD_OK;
}

/* With the lock, which it lets go of meanwhile.  What could not be written is
 * lost, as in TensorFlow: a half of it may be in the file. */
static enum tfd_code write_queue(struct tfd_event_writer *w,
                                 struct tfd_status *st)
{
    struct tfd_bytes records;
    enum tfd_code rc = TFD_OK;

    become_busy(w);
    records = w->queue;
    tfd_bytes_init(&w->queue, (size_t)TFD_EVENT_QUEUE_SIZE_MAX);
    w->queue_count = 0;
    w->flushed_us = tfd_clock_now_us();
    tfd_unlock(&w->lock);
    if (records.size > 0)
        rc = write_records(w, &records, st);
    tfd_bytes_deinit(&records);
    tfd_lock(&w->lock);
    end_busy(w);
    return rc;
}

static bool is_due(const struct tfd_event_writer *w)
{
    return w->queue_count > w->max_queue ||
           w->queue.size > TFD_EVENT_QUEUE_KEPT_SIZE_MAX ||
           tfd_clock_now_us() - w->flushed_us > 1000 * w->flush_ms;
}

/* With the lock.  One that does not fit leaves the others as they were. */
static enum tfd_code add_record(struct tfd_event_writer *w,
                                struct tfd_str event, struct tfd_status *st)
{
    size_t size = w->queue.size;
    enum tfd_code rc;

    put_record(&w->queue, event);
    rc = tfd_bytes_ok(&w->queue, "events that wait to be written", st);
    if (rc == TFD_OK) {
        w->queue_count++;
    } else {
        w->queue.size = size;
        w->queue.failed = false;
    }
    return rc;
}

/* With the lock, which it lets go of meanwhile. */
static enum tfd_code put_in_db(struct tfd_event_writer *w, struct tfd_str event,
                               struct tfd_status *st)
{
    enum tfd_code rc;

    become_busy(w);
    tfd_unlock(&w->lock);
    rc = tfd_summary_db_put(w->db, event, st);
    tfd_lock(&w->lock);
    end_busy(w);
    return rc;
}

static enum tfd_code add_event(struct tfd_event_writer *w, struct tfd_str event,
                               struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&w->lock);
    if (!w->is_open)
        rc = tfd_fail(st, TFD_FAILED_PRECONDITION,
                      "this summary writer has no file yet");
    else if (w->db)
        rc = put_in_db(w, event, st);
    else
        rc = add_record(w, event, st);
    if (rc == TFD_OK && !w->db && is_due(w))
        rc = write_queue(w, st);
    tfd_unlock(&w->lock);
    return rc;
}

enum tfd_code tfd_event_writer_flush(struct tfd_event_writer *w,
                                     struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&w->lock);
    rc = write_queue(w, st);
    tfd_unlock(&w->lock);
    return rc;
}

enum tfd_code tfd_event_writer_end(struct tfd_event_writer *w,
                                   struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&w->lock);
    rc = write_queue(w, st);
    if (rc == TFD_OK && w->db) {
        become_busy(w);
        tfd_unlock(&w->lock);
        rc = tfd_summary_db_finish(w->db, st);
        tfd_lock(&w->lock);
        end_busy(w);
    }
    tfd_unlock(&w->lock);
    return rc;
}

/* ---- Events -------------------------------------------------------------- */

enum tfd_code tfd_event_begin(const struct tfd_kctx *k, struct tfd_bytes *event,
                              struct tfd_status *st)
{
    int64_t step;

    TFD_TRY(tfd_check_int(k, 1, &step, st));
    tfd_bytes_init(event, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    tfd_pb_put_double(event, EVENT_TAG(wall_time),
                      (double)tfd_clock_wall_us() / 1e6);
    tfd_pb_put_int(event, EVENT_TAG(step), step);
    return TFD_OK;
}

bool tfd_event_is_for_db(struct tfd_kctx *k)
{
    struct tfd_event_writer *w;
    struct tfd_resource *r;
    bool is;

    if (tfd_kctx_resource(k, 0, &tfd_event_writer_type, &r, NULL) != TFD_OK)
        return false;
    w = (struct tfd_event_writer *)r;
    tfd_lock(&w->lock);
    is = w->is_open && w->db;
    tfd_unlock(&w->lock);
    tfd_resource_unref(r);
    return is;
}

enum tfd_code tfd_event_put(struct tfd_kctx *k, struct tfd_bytes *event,
                            struct tfd_status *st)
{
    enum tfd_code rc = tfd_bytes_ok(event, "an event", st);
    struct tfd_resource *r;

    if (rc == TFD_OK)
        rc = tfd_kctx_resource(k, 0, &tfd_event_writer_type, &r, st);
    if (rc == TFD_OK) {
        rc = add_event((struct tfd_event_writer *)r, tfd_bytes_view(event), st);
        tfd_resource_unref(r);
    }
    tfd_bytes_deinit(event);
    return rc;
}

enum tfd_code tfd_event_put_summary(struct tfd_kctx *k, struct tfd_summary *s,
                                    enum tfd_code rc, struct tfd_status *st)
{
    struct tfd_bytes event;

    if (rc == TFD_OK)
        rc = tfd_bytes_ok(&s->bytes, "a summary", st);
    if (rc == TFD_OK)
        rc = tfd_event_begin(k, &event, st);
    if (rc == TFD_OK) {
        tfd_pb_put_str_always(&event, EVENT_TAG(summary),
                              tfd_bytes_view(&s->bytes));
        rc = tfd_event_put(k, &event, st);
    }
    tfd_bytes_deinit(&s->bytes);
    return rc;
}
