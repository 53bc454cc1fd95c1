/*
 * resource.c - see resource.h.
 */
#include "common/resource/resource.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <assert.h>
#include <stddef.h>

void tfd_resource_init(struct tfd_resource *r,
                       const struct tfd_resource_type *type)
{
    r->refs = 1;
    r->removed = 0;
    r->type = type;
}

struct tfd_resource *tfd_resource_ref(struct tfd_resource *r)
{
    tfd_refs_add(&r->refs, 1);
    return r;
}

static void end_resource(struct tfd_deferred *u)
{
    struct tfd_resource *r = TFD_CONTAINER_OF(u, struct tfd_resource, end);

    r->type->free(r);
}

void tfd_resource_unref(struct tfd_resource *r)
{
    if (!r || !tfd_refs_drop(&r->refs))
        return;
    r->end.run = end_resource;
    tfd_lock_defer(&r->end);
}
