/*
 * device_name.h - "/job:ps/replica:0/task:1/device:GPU:0", whole or in part.
 *
 * Every part is optional, in any order, and "*" stands for a part that is not
 * said.  A part said twice has its last value.  Old spellings are read, the
 * full one is written:
 *
 *     /cpu:0  /gpu:*  /CPU:0       /device:CPU:0, /device:GPU:*, ...
 *     /job:x/task:0/cpu:0          /job:x/task:0/device:CPU:0
 *     /device:GPU  /device:*:1     any GPU; number 1 of any type
 *     ""  /                        any device
 *
 * The grammar, the meaning of "covers" and "merge" and the texts of failures
 * are TensorFlow's (measured on 2.21); types are case-sensitive as there, so
 * /device:cpu:0 is well formed and names no CPU.
 *
 * A name is a value of fixed size: copied by assignment, compared without
 * following a pointer.  Code on the path of a step compares device numbers,
 * not names.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_DEVICE_NAME_H
#define TFD_CONFIG_DEVICE_NAME_H

#include "common/base/str.h"
#include "config/limits.h"

/* Which parts are said; bits of tfd_device_name.has. */
enum tfd_device_part {
    TFD_DEVICE_JOB = 1 << 0,
    TFD_DEVICE_REPLICA = 1 << 1,
    TFD_DEVICE_TASK = 1 << 2,
    TFD_DEVICE_TYPE = 1 << 3,
    TFD_DEVICE_ID = 1 << 4,
};
#define TFD_DEVICE_ALL_PARTS 31u

/* A part that is not said is 0 or "". */
struct tfd_device_name {
    uint32_t has; /* enum tfd_device_part */
    int32_t replica;
    int32_t task;
    int32_t id;
    char job[TFD_JOB_NAME_SIZE_MAX + 1];
    char type[TFD_DEVICE_TYPE_SIZE_MAX + 1];
};

/* Room for the text of any name, with its terminator. */
#define TFD_DEVICE_NAME_TEXT_SIZE \
    (TFD_JOB_NAME_SIZE_MAX + TFD_DEVICE_TYPE_SIZE_MAX + 72)

/* On failure (INVALID_ARGUMENT "Malformed device specification '...'") *out
 * says nothing. */
enum tfd_code tfd_device_name_parse(struct tfd_str text,
                                    struct tfd_device_name *out,
                                    struct tfd_status *st) TFD_MUST_USE;

/* A complete name with replica 0.  job and type must be well formed. */
struct tfd_device_name tfd_device_name_of(const char *job, int32_t task,
                                          const char *type, int32_t id);

/* Writes the parts that are said: "" for none, "/device:GPU:*" without id. */
void tfd_device_name_format(const struct tfd_device_name *name,
                            char text[TFD_DEVICE_NAME_TEXT_SIZE]);

/* Writes "/job:J/replica:R/task:T" of a name that says job and task; replica
 * is 0 where it is not said. */
void tfd_device_name_task(const struct tfd_device_name *name,
                          char text[TFD_DEVICE_NAME_TEXT_SIZE]);

/* A letter, then letters, digits and "_"; not longer than the limit. */
bool tfd_device_name_job_ok(struct tfd_str job);
bool tfd_device_name_type_ok(struct tfd_str type);

bool tfd_device_name_complete(const struct tfd_device_name *name);
bool tfd_device_name_eq(const struct tfd_device_name *a,
                        const struct tfd_device_name *b);
/* Both say job, replica and task, and the same. */
bool tfd_device_name_same_task(const struct tfd_device_name *a,
                               const struct tfd_device_name *b);

/* Every part that `pattern` says, `name` says too, and the same. */
bool tfd_device_name_covers(const struct tfd_device_name *pattern,
                            const struct tfd_device_name *name);

/* No part is said differently by both: what a device filter asks of a task. */
bool tfd_device_name_intersects(const struct tfd_device_name *a,
                                const struct tfd_device_name *b);

/* Parts that `name` does not say are taken from `from`. */
void tfd_device_name_fill(struct tfd_device_name *name,
                          const struct tfd_device_name *from);

enum tfd_device_merge {
    TFD_DEVICE_MERGE_STRICT,   /* any conflict is a failure */
    TFD_DEVICE_MERGE_SOFT,     /* conflicting type or id: neither is said */
    TFD_DEVICE_MERGE_OVERRIDE, /* conflicting type or id: that of `from` */
};

/* Adds what `from` says to `into`.  Conflicting jobs, replicas and tasks fail
 * in every mode: INVALID_ARGUMENT "Cannot merge devices with incompatible
 * jobs: '...' and '...'"; `into` is then unchanged. */
enum tfd_code tfd_device_name_merge(struct tfd_device_name *into,
                                    const struct tfd_device_name *from,
                                    enum tfd_device_merge mode,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
