/*
 * step_names.c - resources that a step has by name (kernels/core/runtime.h):
 * what older ops name by strings, and temporary variables.
 *
 * The key of one is its name with its type's behind it.  A function's call
 * shares those of the step that it is within.  The lock is the cancellation's.
 */
#include "daemon/worker/run/step.h"

#include "common/base/atomic.h"
#include "common/resource/resource.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    struct tfd_resource *resource; /* counted */
    size_t size;
    char key[];
};

static struct tfd_step *holder_of(struct tfd_step *s)
{
    return s->outermost ? s->outermost : s;
}

static struct kept *kept_new(struct tfd_str name,
                             const struct tfd_resource_type *type)
{
    size_t type_size = strlen(type->name);
    struct kept *x = malloc(sizeof(*x) + name.size + type_size + 1);

    if (!x)
        return NULL;
    if (name.size)
        memcpy(x->key, name.data, name.size);
    memcpy(x->key + name.size, type->name, type_size + 1);
    x->size = name.size + type_size;
    x->resource = NULL;
    return x;
}

static void kept_free(struct kept *x)
{
    if (x && x->resource)
        tfd_resource_unref(x->resource);
    free(x);
}

static struct tfd_str kept_key(const struct kept *x)
{
    return (struct tfd_str){x->key, x->size};
}

enum tfd_code tfd_step_keep(struct tfd_step *s, struct tfd_str name,
                            struct tfd_resource *r, struct tfd_status *st)
{
    struct kept *made = kept_new(name, r->type);
    struct tfd_step *holder = holder_of(s);
    bool exists = false, done = false;
    uintptr_t value;

    if (made) {
        made->resource = tfd_resource_ref(r);
        tfd_lock(&holder->cancel_lock);
        exists = tfd_map_get(&holder->names, kept_key(made), &value);
        done = !exists &&
               tfd_map_put(&holder->names, kept_key(made), (uintptr_t)made);
        tfd_unlock(&holder->cancel_lock);
    }
    if (done)
        return TFD_OK;
    kept_free(made);
    if (exists)
        return tfd_fail(st, TFD_ALREADY_EXISTS,
                        "Resource __per_step_%lld/" TFD_STR_FMT "/%s",
                        (long long)s->id, TFD_STR_ARG(name), r->type->name);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a name of step %lld", (long long)s->id);
}

struct tfd_resource *tfd_step_kept(struct tfd_step *s, struct tfd_str name,
                                   const struct tfd_resource_type *type,
                                   bool take)
{
    struct kept *asked = kept_new(name, type), *found = NULL;
    struct tfd_step *holder = holder_of(s);
    struct tfd_resource *r = NULL;
    uintptr_t value;

    if (!asked)
        return NULL;
    tfd_lock(&holder->cancel_lock);
    if (tfd_map_get(&holder->names, kept_key(asked), &value)) {
        found = (struct kept *)value;
        r = tfd_resource_ref(found->resource);
        if (take)
            (void)tfd_map_remove(&holder->names, kept_key(asked));
    }
    tfd_unlock(&holder->cancel_lock);
    if (take)
        kept_free(found);
    kept_free(asked);
    return r;
}

/* What outlives the step, as a handle that a queue holds may, is not found by
 * it any more. */
void tfd_step_drop_names(struct tfd_step *s)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&s->names, &at, &e)) {
        struct kept *x = (struct kept *)e->value;

        TFD_STORE_RELEASE(&x->resource->removed, 1);
        if (x->resource->type->empty)
            x->resource->type->empty(x->resource);
        kept_free(x);
    }
    tfd_map_deinit(&s->names);
    tfd_map_init(&s->names);
}
