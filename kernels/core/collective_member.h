/*
 * collective_member.h - what a kernel asks of its worker to take part in a
 * collective: an exchange of values among the members of a group, each of which
 * runs an op of the same group and instance key.  daemon/worker/collective
 * implements it.
 *
 *     tfd_collective_start(k, &spec, run)   all members have come, then
 *       run(c, st)                          on a thread that may wait:
 *         tfd_collective_send(c, ...)         values for other members
 *         tfd_collective_ask(c, ...)          values of theirs that are wanted
 *         tfd_collective_wait(c, &part, ...)  until one has come
 *       and k finishes, once what was sent has been fetched
 *
 * A member is a device.  Members are ranked by the names of their devices, and
 * those of one task are neighbours.  Values are known by a key that sender and
 * receiver form alike: "GROUP:INSTANCE:FRAME:ITERATION", which the worker puts
 * in front, and what the algorithm appends.
 *
 * When the step fails, or timeout_s has passed, waiting ends with an error.
 *
 * Threads: start() on any; the rest on the thread of run().
 */
#ifndef TFD_KERNELS_COLLECTIVE_MEMBER_H
#define TFD_KERNELS_COLLECTIVE_MEMBER_H

#include "kernels/core/kernel.h"

/* TensorFlow's CollectiveType, as it is sent. */
enum tfd_collective_type {
    TFD_COLLECTIVE_REDUCE = 0,
    TFD_COLLECTIVE_BROADCAST = 1,
    TFD_COLLECTIVE_GATHER = 2,
    TFD_COLLECTIVE_ALL_TO_ALL = 4,
};

struct tfd_collective_spec {
    enum tfd_collective_type type;
    int32_t group_key, group_size, instance_key;
    enum tfd_dtype dtype;
    struct tfd_shape shape; /* of the output */
    bool is_source;         /* of a broadcast */
    float timeout_s;        /* 0: none */
};

/* One member's part in one collective. */
struct tfd_collective;

/* Ends the collective on this member: outputs are set, or st says why not. */
typedef enum tfd_code tfd_collective_run_fn(struct tfd_collective *c,
                                            struct tfd_status *st);

/* Of an asynchronous kernel: k finishes. */
void tfd_collective_start(struct tfd_kctx *k,
                          const struct tfd_collective_spec *spec,
                          tfd_collective_run_fn *run);

struct tfd_kctx *tfd_collective_kctx(struct tfd_collective *c);
const struct tfd_collective_spec *
tfd_collective_spec_of(const struct tfd_collective *c);
int tfd_collective_rank(const struct tfd_collective *c);
/* Of a broadcast: the rank that has the value. */
int tfd_collective_source(const struct tfd_collective *c);
/* The number of the task of a rank: 0, 1, ... in the order of ranks. */
int tfd_collective_task(const struct tfd_collective *c, int rank);

/* Appended to the key. */
#define TFD_COLLECTIVE_TAIL_MAX 64

/* One value that was asked for. */
struct tfd_collective_part;

/* Offers a value, which has a buffer of its own, and adds a reference. */
enum tfd_code tfd_collective_send(struct tfd_collective *c, const char *tail,
                                  const struct tfd_tensor *value,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Asks member `from` for n elements of the spec's type.  *out is good until the
 * collective ends. */
enum tfd_code tfd_collective_ask(struct tfd_collective *c, int from,
                                 const char *tail, int64_t n,
                                 struct tfd_collective_part **out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Waits for it; *out is a counted vector, to be read only. */
enum tfd_code tfd_collective_wait(struct tfd_collective *c,
                                  struct tfd_collective_part *part,
                                  struct tfd_tensor *out,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
