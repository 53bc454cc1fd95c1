/*
 * handles.c - see handles.h.
 *
 * Values stand under a number of their operation and output, and those whose
 * numbers are the same by chance in a list.  A number needs this process's key,
 * so that nobody can choose operations for a long list.
 */
#include "daemon/eager/handles.h"

#include "common/base/container.h"
#include "common/base/hash.h"
#include "config/limits.h"
#include "daemon/eager/packed.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of a context that ends: some tens of microseconds. */
#define FREED_AT_ONCE 500

/* One value; those under the same number follow. */
struct tfd_eager_values {
    struct tfd_eager_values *next;
    int64_t op;
    int32_t output;
    struct tfd_tensor value;
    struct tfd_eager_packed *packed; /* in its place; NULL */
    struct tfd_eager_values *next_resource, *previous_resource;
};

static size_t size_of_value(const struct tfd_eager_values *v)
{
    size_t size = sizeof(*v) + tfd_tensor_size(&v->value);

    for (int i = 0; v->packed && i < v->packed->count; i++)
        size += tfd_tensor_size(&v->packed->values[i].value);
    return size;
}

/* ---- Handles of resources ------------------------------------------------ */

static void list_resource(struct tfd_eager_handles *h,
                          struct tfd_eager_values *v)
{
    v->next_resource = v->previous_resource = NULL;
    if (v->value.dtype != TFD_RESOURCE)
        return;
    v->next_resource = h->resources;
    if (h->resources)
        h->resources->previous_resource = v;
    h->resources = v;
    h->resource_count++;
}

static void unlist_resource(struct tfd_eager_handles *h,
                            struct tfd_eager_values *v)
{
    if (v->value.dtype != TFD_RESOURCE)
        return;
    if (v->previous_resource)
        v->previous_resource->next_resource = v->next_resource;
    else
        h->resources = v->next_resource;
    if (v->next_resource)
        v->next_resource->previous_resource = v->previous_resource;
    h->resource_count--;
}

void tfd_eager_handles_resources(const struct tfd_eager_handles *h, size_t max,
                                 void (*fn)(void *ctx,
                                            const struct tfd_tensor *value),
                                 void *ctx)
{
    const struct tfd_eager_values *v = h->resources;

    for (; v && max-- > 0; v = v->next_resource)
        fn(ctx, &v->value);
}

/* ---- The table ----------------------------------------------------------- */

static void free_value(struct tfd_eager_values *v)
{
    tfd_tensor_unref(&v->value);
    tfd_eager_packed_unref(v->packed);
    free(v);
}

static void free_list(struct tfd_eager_values *v)
{
    while (v) {
        struct tfd_eager_values *next = v->next;

        free_value(v);
        v = next;
    }
}

void tfd_eager_handles_deinit(struct tfd_eager_handles *h)
{
    struct tfd_eager_values *v;
    size_t at = 0;

    while ((v = tfd_id_map_next(&h->by_name, &at)))
        free_list(v);
    tfd_id_map_deinit(&h->by_name);
    *h = (struct tfd_eager_handles){.count = 0};
}

/* ---- Tables that go bit by bit ------------------------------------------- */

struct leaving {
    struct tfd_eager_waiter waiter;
    struct tfd_eager_line *line;
    struct tfd_id_map values;
    size_t at;
};

static void free_some(struct tfd_eager_waiter *w)
{
    struct leaving *x = TFD_CONTAINER_OF(w, struct leaving, waiter);
    const int64_t entered = tfd_eager_line_enter();
    struct tfd_eager_values *v;
    bool over = false;

    while (!over && (v = tfd_id_map_next(&x->values, &x->at))) {
        free_list(v);
        over = tfd_eager_line_over(x->line, entered);
    }
    tfd_eager_line_leave(x->line, entered);
    if (over) {
        tfd_eager_line_wait(x->line, w);
        return;
    }
    tfd_id_map_deinit(&x->values);
    free(x);
}

void tfd_eager_handles_leave(struct tfd_eager_handles *h,
                             struct tfd_eager_line *line)
{
    struct leaving *x = h->count > FREED_AT_ONCE ? malloc(sizeof(*x)) : NULL;

    if (!x) {
        tfd_eager_handles_deinit(h);
        return;
    }
    *x = (struct leaving){{.go = free_some}, line, h->by_name, 0};
    *h = (struct tfd_eager_handles){.count = 0};
    tfd_eager_line_wait(line, &x->waiter);
}

/* ---- Names --------------------------------------------------------------- */

static uint64_t number_of(int64_t op, int32_t output)
{
    return tfd_hash_number((uint64_t)op) + (uint32_t)output;
}

/* The place in the list of its number; it may be empty. */
static struct tfd_eager_values **find_value(struct tfd_eager_values **list,
                                            int64_t op, int32_t output)
{
    while (*list && ((*list)->op != op || (*list)->output != output))
        list = &(*list)->next;
    return list;
}

static const struct tfd_eager_values *look_up(const struct tfd_eager_handles *h,
                                              int64_t op, int32_t output)
{
    struct tfd_eager_values *first =
        tfd_id_map_get(&h->by_name, number_of(op, output));

    return *find_value(&first, op, output);
}

/* Takes what v has, also on failure. */
static enum tfd_code put_value(struct tfd_eager_handles *h,
                               struct tfd_eager_values *take_v,
                               struct tfd_status *st)
{
    const uint64_t number = number_of(take_v->op, take_v->output);

    if (h->count >= TFD_EAGER_HANDLES_MAX) {
        free_value(take_v);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a context has %zu values here, at most %d are "
                        "possible",
                        h->count, TFD_EAGER_HANDLES_MAX);
    }
    take_v->next = tfd_id_map_get(&h->by_name, number);
    if (!tfd_id_map_put(&h->by_name, number, take_v)) {
        free_value(take_v);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the handle of a value");
    }
    h->count++;
    if (take_v->op > h->made)
        h->made = take_v->op;
    h->size += size_of_value(take_v);
    list_resource(h, take_v);
    return TFD_OK;
}

enum tfd_code tfd_eager_handles_put(struct tfd_eager_handles *h, int64_t op,
                                    int32_t output,
                                    struct tfd_tensor *take_value,
                                    struct tfd_status *st)
{
    struct tfd_eager_values *v;

    if (look_up(h, op, output)) {
        tfd_tensor_unref(take_value);
        return TFD_OK;
    }
    v = calloc(1, sizeof(*v));
    if (!v) {
        tfd_tensor_unref(take_value);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the handle of a value");
    }
    v->op = op;
    v->output = output;
    v->value = *take_value;
    *take_value = (struct tfd_tensor)TFD_TENSOR_INIT;
    return put_value(h, v, st);
}

enum tfd_code tfd_eager_handles_put_packed(struct tfd_eager_handles *h,
                                           int64_t op,
                                           struct tfd_eager_packed *take_packed,
                                           struct tfd_status *st)
{
    struct tfd_eager_values *v =
        look_up(h, op, 0) ? NULL : calloc(1, sizeof(*v));

    if (!v) {
        tfd_eager_packed_unref(take_packed);
        return look_up(h, op, 0) ? TFD_OK
                                 : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                                            "no memory for a packed handle");
    }
    v->op = op;
    v->packed = take_packed;
    return put_value(h, v, st);
}

struct tfd_eager_packed *
tfd_eager_handles_packed(const struct tfd_eager_handles *h, int64_t op,
                         int32_t output)
{
    const struct tfd_eager_values *v = look_up(h, op, output);

    return v ? v->packed : NULL;
}

enum tfd_code tfd_eager_handles_get(const struct tfd_eager_handles *h,
                                    int64_t op, int32_t output,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st)
{
    const struct tfd_eager_values *v = look_up(h, op, output);

    if (!v)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Unable to find the relevant tensor remote_handle: Op ID: %" PRId64
            ", Output num: %" PRId32
            ". One possible cause is that the tensor was accessed after "
            "deallocation in a distributed worker setup.Try setting "
            "`os.environ['TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE']='False'` "
            "in your client to disable async streaming behavior to see if it "
            "fixes the problem.",
            op, output);
    if (v->packed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Resolve() is not supported on packed TensorHandles.");
    *out = tfd_tensor_ref(&v->value);
    return TFD_OK;
}

enum tfd_code tfd_eager_handles_drop(struct tfd_eager_handles *h, int64_t op,
                                     int32_t output, struct tfd_status *st)
{
    const uint64_t number = number_of(op, output);
    struct tfd_eager_values *first = tfd_id_map_get(&h->by_name, number);
    struct tfd_eager_values **at = find_value(&first, op, output);
    struct tfd_eager_values *v = *at;

    if (!v)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Unable to find the relevant tensor remote_handle: Op ID: %" PRId64
            ", Output num: %" PRId32,
            op, output);
    unlist_resource(h, v);
    h->size -= size_of_value(v);
    if (at != &first) {
        *at = v->next;
    } else if (!v->next) {
        tfd_id_map_remove(&h->by_name, number);
    } else { /* in the place of v, for which there is memory */
        (void)!tfd_id_map_put(&h->by_name, number, v->next);
    }
    h->count--;
    free_value(v);
    return TFD_OK;
}
