/*
 * reader.h - readers: keys and values out of files whose names come from a
 * queue, one file after the other, by whichever step asks.
 *
 *     queue of names -> work (a name) -> key and value, key and value, ...
 *
 * Whoever asks a reader for anything stands in its line, since TensorFlow's
 * holds a lock while it waits for a name.  The first of the line is served by a
 * job of the compute pool; while it waits for the queue no job runs.  Who is
 * cancelled leaves the line.
 *
 *     idle --a request--> job --no name yet--> the queue is asked
 *                          ^                          |
 *                          +------ a row, or failure -+
 *
 * What is in a file is a kind's: reader_lines.c, reader_fixed.c and so on.
 *
 * Ownership: a reader is a counted resource; while its line is not empty it
 * holds a reference to itself.  Threads: any; what is marked so is that of the
 * job that serves the line.
 */
#ifndef TFD_KERNELS_READERS_READER_H
#define TFD_KERNELS_READERS_READER_H

#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "kernels/core/runtime.h"
#include "kernels/data_sources/record_file.h"
#include "kernels/io/lmdb_file.h"

struct tfd_reader;

/* A key and a value; both strings are whoever's holds it. */
struct tfd_reader_pair {
    struct tfd_tstring key, value;
};

/* What came of one look for a pair. */
struct tfd_reader_found {
    bool is_pair; /* *out has been filled in */
    bool at_end;  /* the work is done */
};

struct tfd_reader_kind {
    const char *name;
    bool has_state; /* it can be saved between two works */
    bool repeats;   /* a failure stays until the reader is reset */
    /* A name has come; NULL: nothing to do. */
    enum tfd_code (*begin)(struct tfd_reader *r, struct tfd_status *st);
    enum tfd_code (*next)(struct tfd_reader *r, struct tfd_reader_pair *out,
                          struct tfd_reader_found *found,
                          struct tfd_status *st);
    void (*end)(struct tfd_reader *r); /* of a work, also of none; or NULL */
};

extern const struct tfd_reader_kind tfd_reader_lines, tfd_reader_records,
    tfd_reader_fixed, tfd_reader_whole, tfd_reader_identity, tfd_reader_lmdb;

/* What the attributes of its node say. */
struct tfd_reader_options {
    const struct tfd_reader_kind *kind;
    int64_t skip_lines;
    int64_t header, record, footer, hop; /* bytes */
    enum tfd_data_compression compression;
};

struct tfd_reader_line {
    struct tfd_reader_request *first, **last;
};

struct tfd_reader {
    struct tfd_resource resource;
    struct tfd_reader_options options;
    char *name; /* "TextLineReader 'node'" */
    struct tfd_job job;
    struct tfd_lock lock; /* of the line */
    struct tfd_reader_line line;
    struct tfd_reader_request *current;
    bool is_served;
    /* From here on the job's. */
    struct tfd_file_access *files; /* of the request; may be NULL */
    int64_t started, finished, produced;
    struct tfd_bytes work;          /* the name */
    struct tfd_status broken;       /* of a kind that repeats its failures */
    struct tfd_record_file records; /* others than records: only its file */
    struct tfd_lmdb_file lmdb;
    struct tfd_bytes text; /* of a line; what was read ahead */
    int64_t number;        /* of the line or of the record */
};

extern const struct tfd_resource_type tfd_reader_type;

struct tfd_reader_order {
    const struct tfd_reader_options *options;
    struct tfd_str node;
};
/* A tfd_resource_make_fn; arg is a struct tfd_reader_order. */
enum tfd_code tfd_reader_make(void *arg, struct tfd_resource **out,
                              struct tfd_status *st) TFD_MUST_USE;

/* Forgets the work and all counts; by the job, or by who has it alone. */
void tfd_reader_clear(struct tfd_reader *r);

/* The key "NAME:NUMBER" and a value. */
enum tfd_code tfd_reader_put(struct tfd_reader_pair *out,
                             const struct tfd_reader *r, int64_t number,
                             struct tfd_str value,
                             struct tfd_status *st) TFD_MUST_USE;
/* Opens r->records.file at its beginning.  TensorFlow opens a directory, too,
 * and then cannot read it: that failure is kept in r->broken. */
enum tfd_code tfd_reader_open(struct tfd_reader *r,
                              struct tfd_status *st) TFD_MUST_USE;
void tfd_reader_close(struct tfd_reader *r);

/* ---- reader_state.c: the state as a string, and back --------------------- */

enum tfd_code tfd_reader_save(const struct tfd_reader *r, struct tfd_bytes *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* After a failure the reader is cleared. */
enum tfd_code tfd_reader_restore(struct tfd_reader *r, struct tfd_str state,
                                 struct tfd_status *st) TFD_MUST_USE;

/* ---- reader_line.c: who asks --------------------------------------------- */

/* What can be asked without a name; fills in the outputs of k. */
typedef enum tfd_code tfd_reader_ask_fn(struct tfd_reader *r,
                                        struct tfd_kctx *k,
                                        struct tfd_status *st);
/* Each takes over k and finishes it, sooner or later, and drops the references
 * to the reader and to the queue. */
void tfd_reader_ask(struct tfd_reader *take_r, struct tfd_kctx *k,
                    tfd_reader_ask_fn *ask);
/* max < 0: one pair, as scalars; else up to so many. */
void tfd_reader_read(struct tfd_reader *take_r, struct tfd_resource *take_queue,
                     struct tfd_kctx *k, int64_t max);

#endif
