/*
 * resource.c - see resource.h.
 */
#include "common/resource/resource.h"

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
    int before = __atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);

    assert(before > 0);
    (void)before;
    return r;
}

void tfd_resource_unref(struct tfd_resource *r)
{
    if (!r)
        return;
    if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0)
        r->type->free(r);
}
