/*
 * context_memory.c - see context_memory.h.
 */
#include "daemon/eager/context_memory.h"

#include "common/base/atomic.h"
#include "common/resource/handle.h"

#include <stdlib.h>

/* Handles of resources that are looked at. */
#define LOOKED_AT 1024

/* Those that were found, with repetitions. */
struct owned {
    struct tfd_resource **of;
    size_t count, room;
};

static void find_owned(void *ctx, const struct tfd_tensor *value)
{
    struct tfd_handle **handles = tfd_tensor_data(value);
    int64_t count = tfd_tensor_elements(value);
    struct owned *o = ctx;

    for (int64_t i = 0; i < count && o->count < o->room; i++) {
        struct tfd_handle *h = handles[i];
        struct tfd_resource *r =
            h && h->owns ? TFD_LOAD_ACQUIRE(&h->cached) : NULL;

        if (r)
            o->of[o->count++] = r;
    }
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (struct tfd_resource *const *)a;
    uintptr_t y = (uintptr_t) * (struct tfd_resource *const *)b;

    return (x > y) - (x < y);
}

/* Handles hold them, and the context holds the handles. */
static size_t size_of_owned(struct tfd_worker *w, struct owned *o)
{
    size_t size = 0;

    qsort(o->of, o->count, sizeof(*o->of), by_address);
    for (size_t i = 0; i < o->count; i++)
        if (i == 0 || o->of[i] != o->of[i - 1])
            size += w->ops->resource_memory(w, o->of[i]);
    return size;
}

static size_t resources_size(struct tfd_worker *w,
                             const struct tfd_eager_handles *h)
{
    size_t all = h->resource_count, size;
    struct owned o = {.room = all < LOOKED_AT ? all : LOOKED_AT};

    o.of = o.room > 0 ? calloc(o.room, sizeof(struct tfd_resource *)) : NULL;
    if (!o.of)
        return 0;
    tfd_eager_handles_resources(h, o.room, find_owned, &o);
    size = size_of_owned(w, &o);
    free(o.of);
    return all > LOOKED_AT ? size / LOOKED_AT * all : size;
}

size_t tfd_eager_context_memory(const struct tfd_eager_context *c)
{
    struct tfd_worker *w = c->eager->options.worker;

    return c->handles.size + c->functions.size + c->components.size +
           tfd_eager_failures_size(&c->failures) + (size_t)c->meter->under_way +
           resources_size(w, &c->handles) +
           w->ops->session_memory(w, tfd_str_of(c->session));
}
