/*
 * owner.h - kernels that create a resource (a queue, an accumulator, a barrier)
 * and give out a handle to it.
 *
 * Such a node has the attributes `container` and `shared_name`.  With a shared
 * name the resource belongs to all who use the name, and outlives the session;
 * without one it is called _N_NODE and goes with the kernel.
 *
 * The output is a resource handle, or in older operations a reference to a
 * string vector [container, name].  Kernels that use the resource find it by
 * tfd_owner_find() in either case.
 *
 * The kernel's state begins with a struct tfd_owner, and the kernel is shared
 * (TFD_KERNEL_SHARED).
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_OWNER_H
#define TFD_KERNELS_OWNER_H

#include "common/thread/lock.h"
#include "kernels/state/variable.h"

struct tfd_owner {
    struct tfd_rt *rt;
    const struct tfd_resource_type *type;
    struct tfd_str container, name;
    char *own_name; /* of a resource without shared name; NULL else */
    struct tfd_lock lock;
    struct tfd_resource *resource; /* guarded, as the next two */
    struct tfd_handle *handle;
    struct tfd_variable *reference;
};

enum tfd_code tfd_owner_prepare(struct tfd_owner *o,
                                const struct tfd_prepare *p,
                                const struct tfd_resource_type *type,
                                struct tfd_status *st) TFD_MUST_USE;
/* The same for nodes that say by `use_node_name_sharing` that the resource is
 * shared by the node's name where it has no other. */
enum tfd_code tfd_owner_prepare_by_node(struct tfd_owner *o,
                                        const struct tfd_prepare *p,
                                        const struct tfd_resource_type *type,
                                        struct tfd_status *st) TFD_MUST_USE;
/* The same for nodes that give out no handle: the node's name is what they
 * share by. */
enum tfd_code tfd_owner_prepare_named(struct tfd_owner *o,
                                      const struct tfd_prepare *p,
                                      const struct tfd_resource_type *type,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_owner_release(struct tfd_owner *o);

/* Whether a resource that was there already is the one the node asks for. */
typedef enum tfd_code tfd_owner_match_fn(const struct tfd_kctx *k, void *arg,
                                         struct tfd_resource *r,
                                         struct tfd_status *st);
/* Output 0 of the node: the resource, made when there is none yet. */
enum tfd_code tfd_owner_output(struct tfd_kctx *k, struct tfd_owner *o,
                               tfd_resource_make_fn *make,
                               tfd_owner_match_fn *match, void *arg,
                               struct tfd_status *st) TFD_MUST_USE;

/* The node's resource, without a handle; counted. */
enum tfd_code tfd_owner_resource(struct tfd_owner *o,
                                 tfd_resource_make_fn *make, void *arg,
                                 struct tfd_resource **out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* The resource that input 0 names, by handle or by reference; counted. */
enum tfd_code tfd_owner_find(struct tfd_kctx *k,
                             const struct tfd_resource_type *type,
                             struct tfd_resource **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* The same of another input. */
enum tfd_code tfd_owner_find_at(struct tfd_kctx *k, int in,
                                const struct tfd_resource_type *type,
                                struct tfd_resource **out,
                                struct tfd_status *st) TFD_MUST_USE;
/* Output 0 is a reference to what the handle of input 0 names. */
enum tfd_code tfd_owner_refer(struct tfd_kctx *k,
                              const struct tfd_resource_type *type,
                              struct tfd_status *st) TFD_MUST_USE;

/* "CONTAINER NAME" of what input 0 names, for texts. */
enum tfd_code tfd_owner_add_names(struct tfd_kctx *k, struct tfd_bytes *b,
                                  struct tfd_status *st) TFD_MUST_USE;

/* The shape of a reference: a vector of two strings. */
enum tfd_code tfd_owner_shape(struct tfd_shape_ctx *s, struct tfd_status *st);

#endif
