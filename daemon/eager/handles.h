/*
 * handles.h - the values that a context keeps for its coordinator: by the
 * number of the operation that made them, which the coordinator gives, and the
 * number of its output.
 *
 * Ownership: a table holds a reference of each value.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_HANDLES_H
#define TFD_DAEMON_EAGER_HANDLES_H

#include "common/base/id_map.h"
#include "common/base/tensor.h"
#include "daemon/eager/line.h"

struct tfd_eager_values;
struct tfd_eager_packed;

struct tfd_eager_handles {     /* all zero: none */
    struct tfd_id_map by_name; /* -> struct tfd_eager_values */
    size_t count;
    int64_t made; /* the largest number of an operation that put a value here */
    size_t size;  /* bytes: of the values, each in full, and the table's own */
    /* Those that are handles of resources, the newest first. */
    struct tfd_eager_values *resources;
    size_t resource_count;
};

void tfd_eager_handles_deinit(struct tfd_eager_handles *h);
/* The same, but many values are freed while the loop does other work, or when
 * the line ends. */
void tfd_eager_handles_leave(struct tfd_eager_handles *h,
                             struct tfd_eager_line *line);
/* Takes the value, also on failure.  The first value of a name stays: a second
 * one is dropped.  RESOURCE_EXHAUSTED beyond TFD_EAGER_HANDLES_MAX. */
enum tfd_code tfd_eager_handles_put(struct tfd_eager_handles *h, int64_t op,
                                    int32_t output,
                                    struct tfd_tensor *take_value,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The same of a packed handle, which is the operation's only output. */
enum tfd_code tfd_eager_handles_put_packed(struct tfd_eager_handles *h,
                                           int64_t op,
                                           struct tfd_eager_packed *take_packed,
                                           struct tfd_status *st) TFD_MUST_USE;
/* NULL when it is none; the table's. */
struct tfd_eager_packed *
tfd_eager_handles_packed(const struct tfd_eager_handles *h, int64_t op,
                         int32_t output);
/* A counted value.  INVALID_ARGUMENT for a packed handle, and "Unable to find
 * the relevant tensor remote_handle: ..." with the words that coordinators look
 * for. */
enum tfd_code tfd_eager_handles_get(const struct tfd_eager_handles *h,
                                    int64_t op, int32_t output,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Calls fn for `max` values of type RESOURCE at most, the newest first. */
void tfd_eager_handles_resources(const struct tfd_eager_handles *h, size_t max,
                                 void (*fn)(void *ctx,
                                            const struct tfd_tensor *value),
                                 void *ctx);
/* Lets go of it.  INVALID_ARGUMENT when there is none. */
enum tfd_code tfd_eager_handles_drop(struct tfd_eager_handles *h, int64_t op,
                                     int32_t output,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
