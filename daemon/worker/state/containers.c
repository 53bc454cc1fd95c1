/*
 * containers.c - see containers.h and the first part of kernels/core/runtime.h.
 *
 *     containers: name -> container: name -> entry -> entry of another type
 *
 * One lock guards both levels; it is never held while a resource is made or
 * freed, since both may take long or take locks of their own.  So two threads
 * may make the same resource; the second one finds the first's and drops its
 * own.
 */
#include "daemon/worker/state/containers.h"

#include "common/base/atomic.h"
#include "common/thread/lock.h"
#include "common/base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next; /* same name, another type */
    struct tfd_resource *resource;
    char name[]; /* terminated */
};

struct container {
    struct tfd_map entries; /* name -> struct entry */
    char name[];
};

struct tfd_containers {
    struct tfd_lock lock;
    struct tfd_map by_name; /* -> struct container */
    int count;
    uint64_t unique; /* atomic: the next number to give out */
};

/* ---- Containers ---------------------------------------------------------- */

struct tfd_containers *tfd_containers_new(struct tfd_status *st)
{
    struct tfd_containers *c = calloc(1, sizeof(*c));

    if (!c) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for containers");
        return NULL;
    }
    tfd_lock_init(&c->lock, TFD_LOCK_CONTAINER);
    tfd_map_init(&c->by_name);
    return c;
}

/* The chain of one name is let go and freed. */
static void drop_entries(struct entry *e)
{
    while (e) {
        struct entry *next = e->next;

        TFD_STORE_RELEASE(&e->resource->removed, 1);
        tfd_resource_unref(e->resource);
        free(e);
        e = next;
    }
}

static void free_container(struct container *c)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&c->entries, &at, &e))
        drop_entries((struct entry *)e->value);
    tfd_map_deinit(&c->entries);
    free(c);
}

void tfd_containers_clear_all(struct tfd_containers *c)
{
    const struct tfd_map_entry *e;
    struct tfd_map all;
    size_t at = 0;

    tfd_lock(&c->lock);
    all = c->by_name;
    tfd_map_init(&c->by_name);
    c->count = 0;
    tfd_unlock(&c->lock);
    while (tfd_map_next(&all, &at, &e))
        free_container((struct container *)e->value);
    tfd_map_deinit(&all);
}

void tfd_containers_free(struct tfd_containers *c)
{
    if (!c)
        return;
    tfd_containers_clear_all(c);
    tfd_map_deinit(&c->by_name);
    tfd_lock_deinit(&c->lock);
    free(c);
}

static struct container *find_container(const struct tfd_containers *c,
                                        struct tfd_str name)
{
    uintptr_t value;

    return tfd_map_get(&c->by_name, name, &value) ? (struct container *)value
                                                  : NULL;
}

static int count_entries(const struct container *c)
{
    const struct tfd_map_entry *e;
    size_t at = 0;
    int count = 0;

    while (tfd_map_next(&c->entries, &at, &e))
        for (const struct entry *x = (struct entry *)e->value; x; x = x->next)
            count++;
    return count;
}

void tfd_containers_clear(struct tfd_containers *c, struct tfd_str name)
{
    struct container *found;

    tfd_lock(&c->lock);
    found = find_container(c, name);
    if (found) {
        tfd_map_remove(&c->by_name, name);
        c->count -= count_entries(found);
    }
    tfd_unlock(&c->lock);
    if (found)
        free_container(found);
}

int tfd_containers_count(struct tfd_containers *c)
{
    int count;

    tfd_lock(&c->lock);
    count = c->count;
    tfd_unlock(&c->lock);
    return count;
}

static void copy_name(char *to, const char *name)
{
    size_t size = strlen(name);

    if (size >= TFD_CONTAINERS_TEXT_SIZE)
        size = TFD_CONTAINERS_TEXT_SIZE - 1;
    memcpy(to, name, size);
    to[size] = '\0';
}

static int list_entries(const struct container *from, int max,
                        struct tfd_containers_item *out)
{
    const struct tfd_map_entry *e;
    size_t at = 0;
    int count = 0;

    while (count < max && tfd_map_next(&from->entries, &at, &e))
        for (const struct entry *x = (struct entry *)e->value; x && count < max;
             x = x->next) {
            out[count].resource = tfd_resource_ref(x->resource);
            copy_name(out[count].container, from->name);
            copy_name(out[count].name, x->name);
            count++;
        }
    return count;
}

int tfd_containers_list(struct tfd_containers *c, int max,
                        struct tfd_containers_item *out)
{
    const struct tfd_map_entry *e;
    size_t at = 0;
    int count = 0;

    tfd_lock(&c->lock);
    while (count < max && tfd_map_next(&c->by_name, &at, &e))
        count += list_entries((struct container *)e->value, max - count,
                              out + count);
    tfd_unlock(&c->lock);
    return count;
}

/* ---- Names --------------------------------------------------------------- */

/* [A-Za-z0-9.][A-Za-z0-9_./-]* */
static bool name_ok(struct tfd_str name)
{
    static const char more[] = "_/-";

    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c >= '0' && c <= '9') || c == '.';

        if (!plain && (i == 0 || !memchr(more, c, sizeof(more) - 1)))
            return false;
    }
    return name.size > 0;
}

static struct tfd_str container_of_name(const struct tfd_rt *rt,
                                        struct tfd_str container)
{
    return container.size ? container : tfd_str_of(rt->container);
}

static struct entry *find_typed(const struct container *c, struct tfd_str name,
                                const struct tfd_resource_type *type)
{
    struct entry *e;
    uintptr_t value;

    if (!tfd_map_get(&c->entries, name, &value))
        return NULL;
    e = (struct entry *)value;
    while (e && e->resource->type != type)
        e = e->next;
    return e;
}

static enum tfd_code missing(const struct container *c,
                             struct tfd_str container, struct tfd_str name,
                             const struct tfd_resource_type *type,
                             struct tfd_status *st)
{
    if (!c)
        return tfd_fail(
            st, TFD_NOT_FOUND,
            "Container " TFD_STR_FMT
            " does not exist. (Could not find resource: " TFD_STR_FMT
            "/" TFD_STR_FMT ")",
            TFD_STR_ARG(container), TFD_STR_ARG(container), TFD_STR_ARG(name));
    return tfd_fail(
        st, TFD_NOT_FOUND,
        "Resource " TFD_STR_FMT "/" TFD_STR_FMT "/%s does not exist.",
        TFD_STR_ARG(container), TFD_STR_ARG(name), type ? type->name : "");
}

enum tfd_code tfd_rt_find(struct tfd_rt *rt, struct tfd_str container,
                          struct tfd_str name,
                          const struct tfd_resource_type *type,
                          struct tfd_resource **out, struct tfd_status *st)
{
    struct tfd_str where = container_of_name(rt, container);
    struct container *c;
    struct entry *e = NULL;

    tfd_lock(&rt->containers->lock);
    c = find_container(rt->containers, where);
    if (c)
        e = find_typed(c, name, type);
    if (e)
        *out = tfd_resource_ref(e->resource);
    tfd_unlock(&rt->containers->lock);
    return e ? TFD_OK : missing(c, where, name, type, st);
}

/* ---- Making -------------------------------------------------------------- */

static struct container *new_container(struct tfd_containers *cs,
                                       struct tfd_str name)
{
    struct container *c = calloc(1, sizeof(*c) + name.size + 1);

    if (!c)
        return NULL;
    memcpy(c->name, name.data, name.size);
    if (!tfd_map_put(&cs->by_name, (struct tfd_str){c->name, name.size},
                     (uintptr_t)c)) {
        free(c);
        return NULL;
    }
    tfd_map_init(&c->entries);
    return c;
}

static struct entry *new_entry(struct container *c, struct tfd_str name,
                               struct tfd_resource *r)
{
    struct entry *e = calloc(1, sizeof(*e) + name.size + 1);
    uintptr_t first;

    if (!e)
        return NULL;
    if (name.size)
        memcpy(e->name, name.data, name.size);
    e->resource = r;
    if (tfd_map_get(&c->entries, name, &first)) {
        /* The map's key is the first entry's, so that one stays first. */
        e->next = ((struct entry *)first)->next;
        ((struct entry *)first)->next = e;
        return e;
    }
    if (!tfd_map_put(&c->entries, (struct tfd_str){e->name, name.size},
                     (uintptr_t)e)) {
        free(e);
        return NULL;
    }
    return e;
}

/* Takes the resource, unless somebody else's is there by now. */
static struct entry *insert(struct tfd_containers *cs, struct tfd_str where,
                            struct tfd_str name,
                            const struct tfd_resource_type *type,
                            struct tfd_resource **take)
{
    struct container *c = find_container(cs, where);
    struct entry *e;

    if (!c)
        c = new_container(cs, where);
    if (!c)
        return NULL;
    e = find_typed(c, name, type);
    if (e)
        return e;
    e = new_entry(c, name, *take);
    if (e) {
        *take = NULL;
        cs->count++;
    }
    return e;
}

enum tfd_code tfd_rt_find_or_make(struct tfd_rt *rt, struct tfd_str container,
                                  struct tfd_str name,
                                  const struct tfd_resource_type *type,
                                  tfd_resource_make_fn *make, void *arg,
                                  struct tfd_resource **out,
                                  struct tfd_status *st)
{
    struct tfd_str where = container_of_name(rt, container);
    struct tfd_resource *made = NULL;
    struct entry *e;

    if (tfd_rt_find(rt, where, name, type, out, NULL) == TFD_OK)
        return TFD_OK;
    if (!name_ok(where))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "container contains invalid characters: " TFD_STR_FMT,
                        TFD_STR_ARG(where));
    TFD_TRY(make(arg, &made, st));

    tfd_lock(&rt->containers->lock);
    e = insert(rt->containers, where, name, type, &made);
    if (e)
        *out = tfd_resource_ref(e->resource);
    tfd_unlock(&rt->containers->lock);

    tfd_resource_unref(made);
    if (!e)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for resource " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    return TFD_OK;
}

/* A handle says no type here, so every resource of that name goes. */
enum tfd_code tfd_rt_destroy(struct tfd_rt *rt, struct tfd_str container,
                             struct tfd_str name, bool ignore_missing,
                             struct tfd_status *st)
{
    struct tfd_str where = container_of_name(rt, container);
    struct container *c;
    uintptr_t value = 0;

    tfd_lock(&rt->containers->lock);
    c = find_container(rt->containers, where);
    if (c && tfd_map_get(&c->entries, name, &value)) {
        tfd_map_remove(&c->entries, name);
        for (struct entry *e = (struct entry *)value; e; e = e->next)
            rt->containers->count--;
    }
    tfd_unlock(&rt->containers->lock);

    drop_entries((struct entry *)value);
    if (!value && !ignore_missing)
        return missing(c, where, name, NULL, st);
    return TFD_OK;
}

uint64_t tfd_rt_unique(struct tfd_rt *rt)
{
    return TFD_COUNTER_TAKE(&rt->containers->unique, 1);
}

/* ---- The device ---------------------------------------------------------- */

const char *tfd_rt_device(const struct tfd_rt *rt)
{
    return rt->device;
}

const char *tfd_rt_container(const struct tfd_rt *rt)
{
    return rt->container;
}

struct tfd_file_access *tfd_rt_files(struct tfd_rt *rt)
{
    return rt->files;
}

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    return rt->pool;
}

struct tfd_crew *tfd_rt_crew(struct tfd_rt *rt)
{
    return rt->crew;
}
