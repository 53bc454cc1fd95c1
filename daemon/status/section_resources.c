/*
 * section_resources.c - variables, queues, tables and whatever else lasts here,
 * the largest first.
 */
#include "daemon/status/document.h"

#include "daemon/worker/service/worker.h"
#include "daemon/worker/state/containers.h"
#include "daemon/worker/state/resource_facts.h"

#include <stdlib.h>
#include <string.h>

struct found {
    struct tfd_resource_facts facts;
    const char *device; /* the worker's */
    char container[TFD_CONTAINERS_TEXT_SIZE];
    char name[TFD_CONTAINERS_TEXT_SIZE];
};

struct finds {
    struct found *of;
    int count, room;
    int64_t bytes; /* of those that were looked at */
};

static void find_one(void *ctx, const char *device,
                     struct tfd_containers_item *item)
{
    struct finds *all = ctx;
    struct found *f;

    if (all->count == all->room)
        return;
    f = &all->of[all->count++];
    f->device = device;
    memcpy(f->container, item->container, sizeof(f->container));
    memcpy(f->name, item->name, sizeof(f->name));
    tfd_resource_facts(item->resource, &f->facts);
    if (f->facts.bytes > 0)
        all->bytes += f->facts.bytes;
}

static int by_size(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int64_t p = x->facts.bytes, q = y->facts.bytes;

    return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

static void put_known(struct tfd_json_out *j, const char *key, int64_t value)
{
    if (value < 0)
        tfd_json_out_null(j, key);
    else
        tfd_json_out_number(j, key, value);
}

static void put_waiting(struct tfd_json_out *j, const char *key, int waiting)
{
    if (waiting >= 0)
        tfd_json_out_bool(j, key, waiting);
}

static void put_type(struct tfd_json_out *j, const struct tfd_resource_facts *f)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (f->dtype != TFD_DTYPE_INVALID)
        tfd_json_out_text(j, "dtype",
                          tfd_str_of(tfd_dtype_name((int)f->dtype)));
    if (f->has_shape)
        tfd_json_out_text(j, "shape",
                          tfd_str_of(tfd_shape_text(&f->shape, text)));
}

static void put_resource(struct tfd_json_out *j, const struct found *f)
{
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_text(j, "kind", tfd_str_of(f->facts.kind));
    tfd_json_out_text(j, "name", tfd_str_of(f->name));
    tfd_json_out_text(j, "container", tfd_str_of(f->container));
    tfd_json_out_text(j, "device", tfd_str_of(f->device));
    put_type(j, &f->facts);
    put_known(j, "bytes", f->facts.bytes);
    put_known(j, "count", f->facts.count);
    put_known(j, "capacity", f->facts.capacity);
    put_waiting(j, "puts_wait", f->facts.puts_wait);
    put_waiting(j, "takes_wait", f->facts.takes_wait);
    tfd_json_out_close(j, '}');
}

void tfd_section_resources(const struct tfd_document *d, struct tfd_json_out *j,
                           const char *key)
{
    int count = tfd_worker_counts(d->view->worker).resources;
    struct finds all = {.room = TFD_STATUS_LOOKED_AT_MAX};
    int shown;

    if (all.room > count)
        all.room = count;
    all.of = calloc((size_t)all.room + 1, sizeof(*all.of));
    if (!all.of)
        all.room = 0;
    if (all.room > 0)
        tfd_worker_each_resource(d->view->worker, all.room, find_one, &all);
    if (all.of)
        qsort(all.of, (size_t)all.count, sizeof(*all.of), by_size);
    shown = all.count < TFD_STATUS_RESOURCES_MAX ? all.count
                                                 : TFD_STATUS_RESOURCES_MAX;
    tfd_json_out_open(j, key, '{');
    tfd_json_out_open(j, "list", '[');
    for (int i = 0; i < shown; i++)
        put_resource(j, &all.of[i]);
    tfd_json_out_close(j, ']');
    tfd_json_out_number(j, "count", count);
    tfd_json_out_number(j, "bytes", all.bytes);
    tfd_json_out_number(j, "more", count > shown ? count - shown : 0);
    tfd_json_out_close(j, '}');
    free(all.of);
}
