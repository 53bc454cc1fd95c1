/*
 * groups.c - see groups.h.
 */
#include "daemon/worker/collective/groups.h"

#include "common/base/clock.h"
#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Waiting ------------------------------------------------------------- */

void tfd_group_wait_for(struct tfd_group_wait **list, struct tfd_group_wait *w)
{
    w->list = list;
    w->next = *list;
    *list = w;
}

void tfd_group_wait_end(struct tfd_group_wait *w)
{
    struct tfd_group_wait **at = w->list;

    if (!at)
        return;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->list = NULL;
}

void tfd_group_wake(struct tfd_group_wait **list, const struct tfd_status *st)
{
    while (*list) {
        struct tfd_group_wait *w = *list;

        tfd_group_wait_end(w);
        w->ready(w, st);
    }
}

/* ---- Groups -------------------------------------------------------------- */

static void group_free(struct tfd_group *g)
{
    assert(!g->waits);
    free(g->member);
    free(g->task);
    free(g);
}

static void instance_free(struct tfd_group_instance *i)
{
    assert(!i->waits);
    free(i->known);
    free(i);
}

void tfd_groups_deinit(struct tfd_groups *g)
{
    struct tfd_group_instance *i;
    struct tfd_group *group;
    size_t at = 0;

    while ((group = tfd_id_map_next(&g->groups, &at)))
        group_free(group);
    at = 0;
    while ((i = tfd_id_map_next(&g->instances, &at)))
        instance_free(i);
    tfd_id_map_deinit(&g->groups);
    tfd_id_map_deinit(&g->instances);
}

struct tfd_group *tfd_groups_find(const struct tfd_groups *g, int32_t key)
{
    return tfd_id_map_get(&g->groups, (uint32_t)key);
}

int tfd_group_rank(const struct tfd_group *g, struct tfd_str device)
{
    for (int i = 0; i < g->joined; i++)
        if (tfd_str_is(device, g->member[i].name))
            return i;
    return -1;
}

/* ---- Forgetting ---------------------------------------------------------- */

static uint64_t instance_id(int32_t group_key, int32_t instance_key)
{
    return (uint64_t)(uint32_t)group_key << 32 | (uint32_t)instance_key;
}

/* Drops those of a group; -1: of every group.  Those that are waited for stay.
 */
static void drop_instances(struct tfd_groups *g, int64_t group_key)
{
    for (size_t i = 0; i < g->instances.capacity; i++) {
        struct tfd_id_entry e = g->instances.entries[i];
        struct tfd_group_instance *n = e.value;

        if (!n || n->waits ||
            (group_key >= 0 && e.id >> 32 != (uint64_t)group_key))
            continue;
        (void)tfd_id_map_remove(&g->instances, e.id);
        instance_free(n);
        i--; /* removing may have moved another one here */
    }
}

void tfd_groups_drop(struct tfd_groups *g, int32_t key)
{
    struct tfd_group *group = tfd_groups_find(g, key);

    if (!group || group->waits)
        return;
    drop_instances(g, (uint32_t)key);
    group_free(tfd_id_map_remove(&g->groups, (uint32_t)key));
}

void tfd_groups_drop_all(struct tfd_groups *g)
{
    struct tfd_group *group;
    size_t at = 0;

    while ((group = tfd_id_map_next(&g->groups, &at))) {
        if (group->waits)
            continue;
        tfd_groups_drop(g, group->key);
        at = 0; /* removing may have moved others */
    }
}

static bool is_waited_for(const struct tfd_groups *g,
                          const struct tfd_group *group)
{
    const struct tfd_group_instance *n;

    if (group->waits)
        return true;
    for (size_t i = 0; i < g->instances.capacity; i++) {
        n = g->instances.entries[i].value;
        if (n && n->waits &&
            g->instances.entries[i].id >> 32 == (uint32_t)group->key)
            return true;
    }
    return false;
}

/* The lower, the less is lost with it. */
static int worth(const struct tfd_group *g)
{
    return !tfd_group_complete(g) ? 0 : !g->own ? 1 : 2;
}

static bool goes_before(const struct tfd_group *a, const struct tfd_group *b)
{
    return worth(a) != worth(b) ? worth(a) < worth(b) : a->used_us < b->used_us;
}

static bool is_in_use(const struct tfd_groups *g, const struct tfd_group *group)
{
    return worth(group) == 2 &&
           tfd_clock_now_us() - group->used_us < g->idle_us;
}

static enum tfd_code forget_one(struct tfd_groups *g, int32_t for_key,
                                struct tfd_status *st)
{
    struct tfd_group *group, *least = NULL;
    size_t at = 0;

    while ((group = tfd_id_map_next(&g->groups, &at)))
        if ((!least || goes_before(group, least)) && !is_in_use(g, group) &&
            !is_waited_for(g, group))
            least = group;
    if (!least)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "group %d: there are %d groups of collectives in use, "
                        "which is the limit",
                        (int)for_key, TFD_COLLECTIVE_GROUPS_MAX);
    tfd_groups_drop(g, least->key);
    return TFD_OK;
}

/* ---- A new one ----------------------------------------------------------- */

enum tfd_code tfd_group_check_size(int32_t size, struct tfd_status *st)
{
    if (size >= 1 && size <= TFD_COLLECTIVE_GROUP_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "group_size must be positive integer but got %d (at most "
                    "%d)",
                    (int)size, TFD_COLLECTIVE_GROUP_MAX);
}

static enum tfd_code group_new(struct tfd_groups *g, int32_t key, int32_t size,
                               struct tfd_group **out, struct tfd_status *st)
{
    struct tfd_group *n;

    TFD_TRY(tfd_group_check_size(size, st));
    if (g->groups.count >= TFD_COLLECTIVE_GROUPS_MAX)
        TFD_TRY(forget_one(g, key, st));
    n = calloc(1, sizeof(*n));
    if (n) {
        n->key = key;
        n->size = size;
        n->member = calloc((size_t)size, sizeof(*n->member));
        n->task = calloc((size_t)size, sizeof(*n->task));
    }
    if (n && n->member && n->task &&
        tfd_id_map_put(&g->groups, (uint32_t)key, n)) {
        *out = n;
        return TFD_OK;
    }
    if (n)
        group_free(n);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a group of %d",
                    (int)size);
}

/* ---- Ranks --------------------------------------------------------------- */

/* Compares names part by part, where a part is a number or the text between
 * two: task:2 is before task:10. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");

        if (n && m) {
            int order = n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);

            if (order != 0)
                return order;
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != '\0') - (*b != '\0');
}

static int compare_members(const void *a, const void *b)
{
    return compare_names(((const struct tfd_device_attributes *)a)->name,
                         ((const struct tfd_device_attributes *)b)->name);
}

/* "/job:worker/replica:0/task:1" of a device's name. */
static size_t task_size(const char *device)
{
    const char *at = strstr(device, "/device:");

    return at ? (size_t)(at - device) : strlen(device);
}

static bool same_task(const char *a, const char *b)
{
    size_t n = task_size(a);

    return n == task_size(b) && memcmp(a, b, n) == 0;
}

static void rank_members(struct tfd_group *g)
{
    qsort(g->member, (size_t)g->joined, sizeof(*g->member), compare_members);
    g->tasks = 0;
    for (int i = 0; i < g->joined; i++) {
        if (i == 0 || !same_task(g->member[i - 1].name, g->member[i].name))
            g->tasks++;
        g->task[i] = g->tasks - 1;
    }
}

/* ---- Joining ------------------------------------------------------------- */

static enum tfd_code check_member(const struct tfd_group *g, int32_t size,
                                  const struct tfd_device_attributes *d,
                                  struct tfd_str op, struct tfd_status *st)
{
    if (g->size != size)
        return tfd_fail(st, TFD_INTERNAL,
                        "Collective Op " TFD_STR_FMT " has group_size %d and "
                        "group_key %d but that group has size %d",
                        TFD_STR_ARG(op), (int)size, (int)g->key, (int)g->size);
    if (tfd_group_complete(g) && tfd_group_rank(g, tfd_str_of(d->name)) < 0)
        return tfd_fail(st, TFD_INTERNAL,
                        "Collective Op " TFD_STR_FMT
                        " is assigned to device %s and group_key %d but that "
                        "group doesn't contain that device.",
                        TFD_STR_ARG(op), d->name, (int)g->key);
    return TFD_OK;
}

enum tfd_code tfd_groups_join(struct tfd_groups *g, int32_t key, int32_t size,
                              const struct tfd_device_attributes *device,
                              struct tfd_str op, struct tfd_group **out,
                              struct tfd_status *st)
{
    struct tfd_group *group = tfd_groups_find(g, key);
    int rank;

    if (!group)
        TFD_TRY(group_new(g, key, size, &group, st));
    TFD_TRY(check_member(group, size, device, op, st));
    *out = group;
    group->used_us = tfd_clock_now_us();
    rank = tfd_group_rank(group, tfd_str_of(device->name));
    group->member[rank < 0 ? group->joined : rank] = *device;
    if (rank >= 0)
        return TFD_OK;
    group->joined++;
    if (!tfd_group_complete(group))
        return TFD_OK;
    rank_members(group);
    tfd_group_wake(&group->waits, NULL);
    return TFD_OK;
}

enum tfd_code tfd_groups_put(struct tfd_groups *g, int32_t key, int32_t size,
                             const struct tfd_device_attributes *members,
                             struct tfd_status *st)
{
    struct tfd_group *group = tfd_groups_find(g, key);

    if (!group)
        TFD_TRY(group_new(g, key, size, &group, st));
    if (group->size != size)
        return tfd_fail(st, TFD_INTERNAL,
                        "group %d has size %d here and %d at its leader",
                        (int)key, (int)group->size, (int)size);
    memcpy(group->member, members, (size_t)size * sizeof(*members));
    group->joined = size;
    group->used_us = tfd_clock_now_us();
    rank_members(group);
    return TFD_OK;
}

/* ---- Broadcasts ---------------------------------------------------------- */

static enum tfd_code instance_new(struct tfd_groups *g, uint64_t id, int size,
                                  struct tfd_group_instance **out,
                                  struct tfd_status *st)
{
    struct tfd_group_instance *n;

    /* Keys that grow with each step: members that come again say again who
     * they are. */
    if (g->instances.count >= TFD_COLLECTIVE_INSTANCES_MAX)
        drop_instances(g, -1);
    n = calloc(1, sizeof(*n));
    if (n) {
        n->source = -1;
        n->size = size;
        n->known = calloc((size_t)size, sizeof(*n->known));
    }
    if (n && n->known && tfd_id_map_put(&g->instances, id, n)) {
        *out = n;
        return TFD_OK;
    }
    if (n)
        instance_free(n);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a broadcast");
}

enum tfd_code
tfd_groups_broadcast(struct tfd_groups *g, const struct tfd_group *group,
                     int32_t instance_key, int rank, bool is_source,
                     struct tfd_group_instance **out, struct tfd_status *st)
{
    const uint64_t id = instance_id(group->key, instance_key);
    struct tfd_group_instance *n = tfd_id_map_get(&g->instances, id);

    if (!n)
        TFD_TRY(instance_new(g, id, group->size, &n, st));
    *out = n;
    if (is_source && n->source >= 0 && n->source != rank)
        return tfd_fail(st, TFD_INTERNAL,
                        "Instance %d already has source %d, received second "
                        "claim from %d",
                        (int)instance_key, n->source, rank);
    if (is_source)
        n->source = rank;
    if (n->known[rank])
        return TFD_OK;
    n->known[rank] = true;
    n->joined++;
    if (!tfd_group_instance_ready(n))
        return TFD_OK;
    if (n->source < 0) {
        struct tfd_status none = TFD_STATUS_INIT;

        tfd_fail(&none, TFD_INTERNAL,
                 "Instance %d found no source for broadcast.  This could mean "
                 "that there were group_size=%d BcastRecvs but no BcastSend.",
                 (int)instance_key, n->size);
        tfd_group_wake(&n->waits, &none);
        return tfd_fail(st, none.code, "%s", none.text);
    }
    tfd_group_wake(&n->waits, NULL);
    return TFD_OK;
}
