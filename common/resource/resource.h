/*
 * resource.h - the head of every resource (a variable, a queue, a table): its
 * count of references, and how it is freed.  Containers find resources by name
 * (daemon/worker/state/containers.h); a handle refers to one (handle.h).
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_RESOURCE_H
#define TFD_COMMON_RESOURCE_H

#include "common/thread/lock.h"

struct tfd_resource;

struct tfd_resource_type {
    const char *name; /* "N10tensorflow3VarE": as TensorFlow names it */
    const char *what; /* for messages: "variable" */
    void (*free)(struct tfd_resource *r); /* no lock is held */
    /* Lets go of what it holds, which may be handles of itself, when nobody
     * shall find it any more; NULL: nothing like that.  No lock is held. */
    void (*empty)(struct tfd_resource *r);
};

/* First member of every resource.  Counted; `removed` is set when its
 * container let go of it, so that cached pointers are looked up again. */
struct tfd_resource {
    int refs;    /* atomic */
    int removed; /* atomic */
    const struct tfd_resource_type *type;
    struct tfd_deferred end; /* its memory goes when no lock is held */
};

void tfd_resource_init(struct tfd_resource *r,
                       const struct tfd_resource_type *type);
struct tfd_resource *tfd_resource_ref(struct tfd_resource *r);
void tfd_resource_unref(struct tfd_resource *r);

#endif
