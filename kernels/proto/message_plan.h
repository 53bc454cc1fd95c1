/*
 * message_plan.h - what DecodeProtoV2 and EncodeProto know of their message
 * once its descriptors have been read: the fields that are named, in the order
 * of their numbers, too.
 *
 * Where the descriptors are (attribute descriptor_source):
 *
 *     "local://", ""    in this program: kernels/proto/local.proto
 *     "bytes://..."     a FileDescriptorSet, which follows
 *     "/a/file"         in a file below a root that the operator has allowed
 *
 * The first step that needs a plan makes it, as that may read a file; what
 * fails is tried again by the next one.  The kernel's state is a struct
 * tfd_proto_plans.
 *
 * Threads: any; a plan is read-only.
 */
#ifndef TFD_KERNELS_PROTO_MESSAGE_PLAN_H
#define TFD_KERNELS_PROTO_MESSAGE_PLAN_H

#include "common/thread/lock.h"
#include "kernels/core/kernel.h"
#include "kernels/proto/descriptor.h"

struct tfd_proto_plan {
    struct tfd_proto_pool pool;
    const struct tfd_proto_message *message;
    struct tfd_str *names;                 /* as the node has them */
    const struct tfd_proto_field **fields; /* the same */
    int *order;                            /* places in fields, by number */
    int count;
};

struct tfd_proto_plans {
    struct tfd_lock lock;
    struct tfd_proto_plan *plan; /* guarded; NULL until it is made */
};

/* Looks at field `at` of a plan that is made; NULL: at none. */
typedef enum tfd_code tfd_proto_check_fn(const struct tfd_kctx *k,
                                         const struct tfd_proto_plan *p, int at,
                                         struct tfd_status *st);

enum tfd_code tfd_proto_plans_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st);
void tfd_proto_plans_release(void *state);

/* The node's plan.  `fields` is how many it has to have; extensions are found
 * where there is a check, by their full names. */
enum tfd_code tfd_proto_plan_get(struct tfd_kctx *k, int fields,
                                 tfd_proto_check_fn *check,
                                 const struct tfd_proto_plan **out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Whether a field of this type can be in a tensor of that one. */
bool tfd_proto_plan_fits(enum tfd_proto_type type, enum tfd_dtype dtype);

#endif
