/*
 * groups.h - which devices make up a group of a collective, and which of them
 * has the value of a broadcast, as the group leader knows it and as the other
 * tasks remember it.
 *
 * A group is complete when as many devices have joined as its first member
 * said; whoever joined earlier is called then.  It stays, so that the next
 * collective of the group waits for nobody.  A device that comes back with
 * another incarnation, since its task was restarted, takes its old place; the
 * others notice when they ask it for a value.
 *
 * TensorFlow keeps every group for ever.  Here the number is bounded: beyond it
 * one that nobody waits for is forgotten, the one that was not used for
 * longest; incomplete ones first, whose members ask again, then those in which
 * no collective of this task has met, then those in which none has for idle_us:
 * members of a forgotten group that lives would not ask again.
 *
 * Ownership: waits are embedded by those who wait.
 * Errors: TensorFlow's texts, INTERNAL.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_GROUPS_H
#define TFD_DAEMON_WORKER_COLLECTIVE_GROUPS_H

#include "common/base/id_map.h"
#include "daemon/worker_api.h"

struct tfd_group_wait {
    /* Once: the group is complete, the source known; or st. */
    void (*ready)(struct tfd_group_wait *w, const struct tfd_status *st);
    struct tfd_group_wait **list; /* where it waits; NULL: nowhere */
    struct tfd_group_wait *next;
};

struct tfd_group {
    int32_t key, size;
    int joined; /* members so far, in the order of ranks */
    int tasks;  /* of a complete group */
    bool own;   /* a collective of this task has met in it */
    int64_t used_us;
    struct tfd_device_attributes *member; /* size of them */
    int32_t *task;                        /* number of each one's task */
    struct tfd_group_wait *waits;
};

/* One broadcast of a group. */
struct tfd_group_instance {
    int joined;
    int source;  /* a rank; -1: not known yet */
    bool *known; /* by rank: has said whether it is the source */
    int size;
    struct tfd_group_wait *waits;
};

struct tfd_groups {
    int64_t idle_us; /* see above; 0 where members ask a leader again */
    struct tfd_id_map groups, instances;
};

void tfd_groups_deinit(struct tfd_groups *g); /* nobody waits */

static inline bool tfd_group_complete(const struct tfd_group *g)
{
    return g->joined == g->size;
}
/* INVALID_ARGUMENT: a group cannot have so many members. */
enum tfd_code tfd_group_check_size(int32_t size,
                                   struct tfd_status *st) TFD_MUST_USE;
/* NULL: unknown. */
struct tfd_group *tfd_groups_find(const struct tfd_groups *g, int32_t key);
/* A rank, or -1. */
int tfd_group_rank(const struct tfd_group *g, struct tfd_str device);

/* The device is a member from now on.  `op` names the op in errors. */
enum tfd_code tfd_groups_join(struct tfd_groups *g, int32_t key, int32_t size,
                              const struct tfd_device_attributes *device,
                              struct tfd_str op, struct tfd_group **out,
                              struct tfd_status *st) TFD_MUST_USE;
/* A group as its leader has it. */
enum tfd_code tfd_groups_put(struct tfd_groups *g, int32_t key, int32_t size,
                             const struct tfd_device_attributes *members,
                             struct tfd_status *st) TFD_MUST_USE;
/* Forgets it and its broadcasts, if nobody waits: the leader is asked again. */
void tfd_groups_drop(struct tfd_groups *g, int32_t key);
/* The same of all. */
void tfd_groups_drop_all(struct tfd_groups *g);

/* Rank `rank` of the complete group takes part in a broadcast. */
enum tfd_code tfd_groups_broadcast(struct tfd_groups *g,
                                   const struct tfd_group *group,
                                   int32_t instance_key, int rank,
                                   bool is_source,
                                   struct tfd_group_instance **out,
                                   struct tfd_status *st) TFD_MUST_USE;
static inline bool tfd_group_instance_ready(const struct tfd_group_instance *i)
{
    return i->joined == i->size;
}

void tfd_group_wait_for(struct tfd_group_wait **list, struct tfd_group_wait *w);
/* Nothing where it does not wait. */
void tfd_group_wait_end(struct tfd_group_wait *w);
/* Calls all who wait. */
void tfd_group_wake(struct tfd_group_wait **list, const struct tfd_status *st);

#endif
