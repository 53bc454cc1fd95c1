/*
 * resource_sums.c - see resource_sums.h.
 */
#include "daemon/status/resource_sums.h"

#include "daemon/worker/state/resource_facts.h"
#include "kernels/state/queue_core.h"
#include "kernels/state/variable.h"

#include <stdlib.h>
#include <string.h>

/* One value of a whole number's type in host memory. */
static bool read_whole(const struct tfd_tensor *t, int64_t *out)
{
    if (!t->buffer || tfd_tensor_elements(t) != 1)
        return false;
    if (t->dtype == TFD_INT64)
        memcpy(out, tfd_tensor_data(t), sizeof(*out));
    else if (t->dtype == TFD_INT32)
        *out = *(const int32_t *)tfd_tensor_data(t);
    else
        return false;
    return true;
}

static void add_global_step(struct tfd_resource_sums *s, const char *device,
                            const struct tfd_containers_item *item)
{
    struct tfd_variable *v = (struct tfd_variable *)item->resource;
    struct tfd_tensor value;
    int64_t step;

    if (strcmp(item->name, "global_step") != 0 || !strstr(device, "CPU:") ||
        s->step_count == TFD_GLOBAL_STEPS_MAX ||
        tfd_variable_read(v, &value, NULL) != TFD_OK)
        return;
    if (read_whole(&value, &step)) {
        struct tfd_step_sum *sum = &s->steps[s->step_count++];

        memcpy(sum->container, item->container, sizeof(sum->container));
        sum->value = step;
    }
    tfd_tensor_unref(&value);
}

static void add_variable(struct tfd_resource_sums *s, const char *device,
                         const struct tfd_containers_item *item)
{
    struct tfd_resource_facts facts;

    tfd_resource_facts(item->resource, &facts);
    s->variables++;
    if (facts.bytes > 0)
        s->variable_bytes += facts.bytes;
    add_global_step(s, device, item);
}

/* A name that was cut is the name of another. */
static bool is_cut(const struct tfd_containers_item *item)
{
    return strlen(item->name) == sizeof(item->name) - 1 ||
           strlen(item->container) == sizeof(item->container) - 1;
}

/* Names in memory end at their first NUL, which a client may have put there. */
static bool is_known(const struct tfd_resource_sums *s, const char *device,
                     const struct tfd_containers_item *item)
{
    for (int i = 0; i < s->queue_count; i++)
        if (s->queues[i].device == device &&
            strcmp(s->queues[i].name, item->name) == 0 &&
            strcmp(s->queues[i].container, item->container) == 0)
            return true;
    return false;
}

static void add_queue(struct tfd_resource_sums *s, const char *device,
                      const struct tfd_containers_item *item)
{
    struct tfd_queue_sum *sum;

    if (s->queue_count == TFD_METRIC_QUEUES_MAX || is_cut(item) ||
        is_known(s, device, item)) {
        s->left_out++;
        return;
    }
    sum = &s->queues[s->queue_count++];
    sum->device = device;
    memcpy(sum->container, item->container, sizeof(sum->container));
    memcpy(sum->name, item->name, sizeof(sum->name));
    sum->elements = tfd_queue_size((struct tfd_queue *)item->resource);
}

static void add_resource(void *ctx, const char *device,
                         struct tfd_containers_item *item)
{
    const struct tfd_resource_type *type = item->resource->type;

    if (type == &tfd_variable_type || type == &tfd_variable_ref_type)
        add_variable(ctx, device, item);
    else if (type == &tfd_queue_type)
        add_queue(ctx, device, item);
}

struct tfd_resource_sums *tfd_resource_sums_new(struct tfd_worker_service *w)
{
    struct tfd_resource_sums *s = calloc(1, sizeof(*s));
    int all = tfd_worker_counts(w).resources;

    if (!s)
        return NULL;
    if (all > TFD_METRIC_RESOURCES_MAX) {
        s->left_out += (uint64_t)(all - TFD_METRIC_RESOURCES_MAX);
        all = TFD_METRIC_RESOURCES_MAX;
    }
    tfd_worker_each_resource(w, all, add_resource, s);
    return s;
}

void tfd_resource_sums_free(struct tfd_resource_sums *s)
{
    free(s);
}
