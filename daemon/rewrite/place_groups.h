/*
 * place_groups.h - the nodes that must be on one device, and what they ask for
 * together: the first half of a placement, as place.c and place_groups.c see
 * it; nobody else includes this.
 *
 * Threads: one at a time.
 */
#ifndef TFD_DAEMON_REWRITE_PLACE_GROUPS_H
#define TFD_DAEMON_REWRITE_PLACE_GROUPS_H

#include "daemon/rewrite/place.h"
#include "daemon/rewrite/specs.h"

struct tfd_place_group {
    int32_t parent;
    int32_t rank;
    int32_t device; /* of the group once known, or -1 */
    uint32_t kinds; /* bit enum tfd_device_kind: every member has a kernel */
    int32_t assigned, owner, requested; /* in specs */
};

struct tfd_placer {
    const struct tfd_place_request *r;
    struct tfd_specs specs;
    struct tfd_place_group *groups; /* by node */
    int32_t *device_of;
    struct tfd_status *st;
    int32_t *consumer; /* by node: of the second pass */
};

/* A group for every node, then one for all that reference and resource edges
 * and colocation by name join.  Needs p->r, specs and room for the groups;
 * device_of is -1 everywhere afterwards. */
enum tfd_code tfd_place_groups_make(struct tfd_placer *p) TFD_MUST_USE;
/* The node whose group is that of `node`. */
int32_t tfd_place_groups_find(struct tfd_placer *p, int32_t node);

#endif
