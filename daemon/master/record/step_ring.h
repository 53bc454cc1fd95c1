/*
 * step_ring.h - the last steps of a master, with their times by phase, in fixed
 * memory: what /steps shows, and what the flight recorder writes.
 *
 *     begun                                                      answered
 *       |-- plan --|-- start --|------- others -------|-- answer --|
 *                  |------ here ------|
 *
 *     plan     until its plan was compiled; 0: it was known
 *     start    until every part was asked to run
 *     here     until this task's part had ended
 *     others   until the slowest part of another task had, which is named
 *     answer   the answer made from the fetches; 0: of less than 4 KiB
 *
 * A step takes its record when it begins, so that those under way are seen too;
 * one that outlives the ring takes another when it ends.  A record is written
 * by the loop thread and may be read in the middle of that by a signal handler,
 * which then reads a mixture, and nothing that is not its.
 *
 * As JSON, newest first; durations in microseconds:
 *
 *     {"version": 1, "task": "/job:worker/replica:0/task:0", "steps": 812,
 *      "kept": [{"step": "72057594037927936", "session": "0123456789abcdef",
 *      "plan": 3, "name": "loss:0", "begun_us": 1795780800000000,
 *      "plan_us": 0, "start_us": 12, "here_us": 310, "others_us": 290,
 *      "answer_us": 4, "total_us": 318, "parts": 2,
 *      "slowest": "/job:ps/replica:0/task:0", "fed_bytes": 12,
 *      "fetched_bytes": 4, "partial": false, "outcome": "OK", "error": ""}]}
 *
 * A step's number has more bits than readers of JSON take for a number, so it
 * is a string.  begun_us is since 1970.  `outcome` is a status code's name, or
 * RUNNING, whose phases are those that are over.  `name` is the first fetch or
 * target; texts that are too long are cut, and what is no text of one line is a
 * '?' in them.
 *
 * Threads: loop thread; tfd_step_ring_write() any, also a signal handler.
 */
#ifndef TFD_DAEMON_MASTER_RECORD_STEP_RING_H
#define TFD_DAEMON_MASTER_RECORD_STEP_RING_H

#include "common/base/str.h"

#define TFD_STEP_NAME_SIZE 48
#define TFD_STEP_TASK_SIZE 40
#define TFD_STEP_ERROR_SIZE 200

#define TFD_STEP_RUNNING (-1)

/* Texts are terminated. */
struct tfd_step_record {
    uint64_t number; /* of the master's steps; 0: nothing is here */
    int64_t id;
    uint64_t begun_us; /* by tfd_loop_now_us() */
    uint64_t fed, fetched;
    uint32_t plan_us, start_us, here_us, others_us, answer_us, total_us;
    uint32_t plan;
    int32_t parts;
    int32_t code; /* an enum tfd_code, or TFD_STEP_RUNNING */
    bool partial;
    char session[24];
    char name[TFD_STEP_NAME_SIZE];
    char slowest[TFD_STEP_TASK_SIZE]; /* "": no other task had a part */
    char error[TFD_STEP_ERROR_SIZE];
};

struct tfd_step_ring {
    struct tfd_step_record *records; /* TFD_STEPS_KEPT_MAX; NULL: no memory */
    uint64_t taken;                  /* records, ever */
};

/* A ring without memory keeps nothing. */
void tfd_step_ring_init(struct tfd_step_ring *r);
void tfd_step_ring_deinit(struct tfd_step_ring *r);

/* The oldest record, emptied; NULL where there is no memory. */
struct tfd_step_record *tfd_step_ring_take(struct tfd_step_ring *r);
int tfd_step_ring_count(const struct tfd_step_ring *r);
/* The one taken `age` before the last; age is below the count. */
const struct tfd_step_record *tfd_step_ring_at(const struct tfd_step_ring *r,
                                               int age);
/* A copy in memory of its own, for another thread; false without memory. */
bool tfd_step_ring_copy(const struct tfd_step_ring *r,
                        struct tfd_step_ring *out) TFD_MUST_USE;

/* Copies a text, cut to size - 1 bytes. */
void tfd_step_ring_text(char *out, size_t size, struct tfd_str text);

/* ---- step_ring_json.c ---------------------------------------------------- */

struct tfd_step_sink {
    /* False ends it. */
    bool (*put)(void *ctx, const char *data, size_t size);
    void *ctx;
};

struct tfd_step_origin {
    const char *task;
    uint64_t steps;   /* ended, ever */
    uint64_t now_us;  /* by the clock of begun_us ... */
    uint64_t wall_us; /* ... and at the same time since 1970 */
};

/* False when the sink said so. */
bool tfd_step_ring_write(const struct tfd_step_ring *r,
                         const struct tfd_step_origin *o,
                         const struct tfd_step_sink *sink);

#endif
