/*
 * resource.c - see resource.h.
 */
#include "common/resource/resource.h"

#include "common/base/atomic.h"

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

void tfd_resource_unref(struct tfd_resource *r)
{
    if (!r)
        return;
    if (tfd_refs_drop(&r->refs))
        r->type->free(r);
}
