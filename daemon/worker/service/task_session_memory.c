/*
 * task_session_memory.c - see task_session_memory.h.
 */
#include "daemon/worker/service/task_session_memory.h"

#include "common/base/atomic.h"
#include "daemon/worker/service/worker_service.h"
#include "daemon/worker/state/resource_facts.h"
#include "kernels/state/session_tensor.h"

#include <stdlib.h>

/* Resources of one device that are looked at. */
#define LOOKED_AT 100

size_t tfd_task_session_resource_memory(struct tfd_resource *r)
{
    struct tfd_resource_facts f;

    tfd_resource_facts(r, &f);
    return f.bytes > 0 ? (size_t)f.bytes : 0;
}

static size_t containers_size(struct tfd_containers *c)
{
    int all = tfd_containers_count(c);
    int some = all < LOOKED_AT ? all : LOOKED_AT, found;
    struct tfd_containers_item *items;
    size_t size = 0;

    items = some > 0 ? calloc((size_t)some, sizeof(*items)) : NULL;
    if (!items)
        return 0;
    found = tfd_containers_list(c, some, items);
    for (int i = 0; i < found; i++) {
        size += tfd_task_session_resource_memory(items[i].resource);
        tfd_resource_unref(items[i].resource);
    }
    free(items);
    return all > LOOKED_AT ? size / LOOKED_AT * (size_t)all : size;
}

size_t tfd_worker_memory(const struct tfd_worker_service *w)
{
    const struct tfd_map_entry *e;
    size_t size = 0, at = 0;

    while (tfd_map_next(&w->sessions, &at, &e))
        size += tfd_task_session_memory((struct tfd_task_session *)e->value);
    return size;
}

size_t tfd_task_session_memory(const struct tfd_task_session *s)
{
    size_t size = TFD_LOAD_RELAXED(&s->memory);

    for (int i = 0; i < s->device_count; i++) {
        size += tfd_session_tensors_size(&s->rt[i]);
        if (s->own[i])
            size += containers_size(s->own[i]);
    }
    return size;
}
