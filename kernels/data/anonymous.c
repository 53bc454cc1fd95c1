/*
 * anonymous.c - see anonymous.h.
 *
 * The last reference of a resource may be dropped while the table still has it:
 * whoever finds it there takes a reference only if that is not the first again.
 */
#include "kernels/data/anonymous.h"

#include "common/base/atomic.h"
#include "common/base/variant.h"
#include "common/thread/lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tfd_lock table_lock = TFD_LOCK_INIT(TFD_LOCK_NESTED);
static struct tfd_anonymous *table_first;
static uint64_t table_number;

static void add_to_table(struct tfd_anonymous *a, struct tfd_resource *r)
{
    tfd_lock(&table_lock);
    a->resource = r;
    a->number = ++table_number;
    a->previous = NULL;
    a->next = table_first;
    if (a->next)
        a->next->previous = a;
    table_first = a;
    tfd_unlock(&table_lock);
}

void tfd_anonymous_forget(struct tfd_anonymous *a)
{
    tfd_lock(&table_lock);
    if (a->resource) {
        if (a->previous)
            a->previous->next = a->next;
        else
            table_first = a->next;
        if (a->next)
            a->next->previous = a->previous;
        a->resource = NULL;
    }
    tfd_unlock(&table_lock);
}

static bool ref_unless_freed(struct tfd_resource *r)
{
    int refs = TFD_LOAD_ACQUIRE(&r->refs);

    while (refs > 0)
        if (TFD_COMPARE_EXCHANGE(&r->refs, &refs, refs + 1))
            return true;
    return false;
}

struct tfd_resource *tfd_anonymous_find(const struct tfd_handle *h,
                                        const struct tfd_resource_type *type)
{
    struct tfd_resource *found = NULL;

    if (h->hash_code == 0)
        return NULL;
    tfd_lock(&table_lock);
    for (struct tfd_anonymous *a = table_first; a && !found; a = a->next)
        if (a->number == h->hash_code && a->resource->type == type &&
            ref_unless_freed(a->resource))
            found = a->resource;
    tfd_unlock(&table_lock);
    return found;
}

enum tfd_code tfd_anonymous_output(struct tfd_kctx *k, int out,
                                   const char *what, struct tfd_anonymous *a,
                                   struct tfd_resource *take,
                                   struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle *h;
    char name[64];

    add_to_table(a, take);
    snprintf(name, sizeof(name), "_%" PRIu64 "_%s", a->number, what);
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)),
                       tfd_str_of(tfd_rt_container(k->rt)), tfd_str_of(name),
                       tfd_str_of(take->type->name), a->number, st);
    if (!h) {
        tfd_resource_unref(take);
        return TFD_RESOURCE_EXHAUSTED;
    }
    h->cached = take;
    h->owns = true;
    if (tfd_kctx_output(k, out, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(h);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *(struct tfd_handle **)tfd_tensor_data(&k->out[out]) = h;
    return TFD_OK;
}

enum tfd_code tfd_anonymous_deleter(struct tfd_kctx *k, int out,
                                    struct tfd_status *st)
{
    struct tfd_variant *v = tfd_variant_new(TFD_VARIANT_OPTIONAL, st);

    return v ? tfd_variant_tensor(v, &k->out[out], st) : TFD_RESOURCE_EXHAUSTED;
}
