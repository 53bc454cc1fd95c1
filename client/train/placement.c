/*
 * placement.c - see placement.h.
 *
 * Nodes that must stand together are joined in a union-find, and a group that
 * holds a variable gets a ps task.  Then two passes: downwards through the
 * numbers, where all readers of a node are known, for what can follow its only
 * reader; upwards for what only waits.
 *
 * Only the chief runs a saver, and the paths that it is fed are of the chief's
 * file system: so operations on checkpoint files leave the devices that a
 * sharded saver of Python, or one built under a device, has given them.
 */
#include "client/train/placement.h"

#include "common/graph/attr.h"

#include <stdlib.h>

#define FREE (-1)   /* no task yet; at the end: the worker's */
#define WORKER (-2) /* stays with the worker */
#define UNREAD (-3) /* nobody reads it so far */
#define FILES (-4)  /* of a saver: the worker's, whatever device it names */

struct placing {
    const struct tfd_placement *p;
    struct tfd_graph *g;
    int32_t *parent; /* union-find */
    int32_t *task;   /* by root, then by node */
    int32_t *reader; /* by node: the task of all who read it */
};

static bool is_one_of(const struct tfd_node *n, const char *const *names)
{
    for (; *names; names++)
        if (tfd_str_is(n->op->name, *names))
            return true;
    return false;
}

static bool is_variable(const struct tfd_node *n)
{
    static const char *const names[] = {"VarHandleOp", "VariableV2", "Variable",
                                        "AutoReloadVariable", NULL};

    return is_one_of(n, names);
}

static bool is_file_op(const struct tfd_node *n)
{
    static const char *const names[] = {"SaveV2",
                                        "RestoreV2",
                                        "MergeV2Checkpoints",
                                        "ShardedFilename",
                                        "ShardedFilespec",
                                        "SaveSlices",
                                        "RestoreSlice",
                                        "Save",
                                        "Restore",
                                        NULL};

    return is_one_of(n, names);
}

/* Meant to be one for all workers. */
static bool is_shared(const struct tfd_node *n)
{
    static const char *const names[] = {"ConditionalAccumulator",
                                        "ResourceConditionalAccumulator",
                                        "SparseConditionalAccumulator",
                                        "FIFOQueue",
                                        "FIFOQueueV2",
                                        "PaddingFIFOQueue",
                                        "PaddingFIFOQueueV2",
                                        "PriorityQueue",
                                        "PriorityQueueV2",
                                        "RandomShuffleQueue",
                                        "RandomShuffleQueueV2",
                                        NULL};
    struct tfd_str name;

    return is_one_of(n, names) &&
           tfd_node_str(n, "shared_name", &name, NULL) == TFD_OK &&
           name.size > 0;
}

/* ---- Groups -------------------------------------------------------------- */

static int32_t find_placement(struct placing *pl, int32_t i)
{
    while (pl->parent[i] != i) {
        pl->parent[i] = pl->parent[pl->parent[i]]; /* halves the path */
        i = pl->parent[i];
    }
    return i;
}

static void join_groups(struct placing *pl, int32_t a, int32_t b)
{
    a = find_placement(pl, a);
    b = find_placement(pl, b);
    /* The smaller number stays: groups then are as old as their variable. */
    if (a < b)
        pl->parent[b] = a;
    else
        pl->parent[a] = b;
}

static void join_inputs(struct placing *pl, const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++)
        if (n->in[i].node >= 0 && (tfd_dtype_is_ref(n->in_types[i]) ||
                                   n->in_types[i] == TFD_RESOURCE))
            join_groups(pl, n->id, n->in[i].node);
}

static enum tfd_code join_class(struct placing *pl, const struct tfd_node *n,
                                struct tfd_status *st)
{
    const struct tfd_node *other;
    struct tfd_str value, items;
    struct tfd_attr_list list;
    struct tfd_pb_field f;
    int64_t count;

    if (!tfd_node_attr(n, "_class", &value))
        return TFD_OK;
    TFD_TRY(tfd_attr_list(value, TFD_ATTR_STRING, &items, &count, st));
    list = tfd_attr_list_of(items);
    while (tfd_attr_list_next(&list, &f)) {
        if (!tfd_str_starts(f.bytes, "loc:@"))
            continue;
        other = tfd_graph_find(
            pl->g, (struct tfd_str){f.bytes.data + 5, f.bytes.size - 5});
        if (other)
            join_groups(pl, n->id, other->id);
    }
    return tfd_pb_end(&list.reader, "_class", st);
}

static enum tfd_code make_groups(struct placing *pl, struct tfd_status *st)
{
    for (int32_t i = 0; i < pl->g->count; i++) {
        pl->parent[i] = i;
        pl->task[i] = FREE;
    }
    for (int32_t i = 0; i < pl->g->count; i++) {
        join_inputs(pl, pl->g->nodes[i]);
        TFD_TRY(join_class(pl, pl->g->nodes[i], st));
    }
    return TFD_OK;
}

/* ---- Tasks --------------------------------------------------------------- */

static void place_groups(struct placing *pl)
{
    int32_t next = 0;

    for (int i = 0; i < pl->p->local_count; i++)
        pl->task[find_placement(pl, pl->p->local[i])] = WORKER;
    for (int32_t i = 0; i < pl->g->count; i++) {
        int32_t root = find_placement(pl, i);

        if (is_variable(pl->g->nodes[i]) && pl->task[root] == FREE)
            pl->task[root] = next++ % pl->p->ps_tasks;
    }
    for (int32_t i = 0; i < pl->g->count; i++) {
        int32_t root = find_placement(pl, i);

        if (pl->task[root] == FREE && is_shared(pl->g->nodes[i]))
            pl->task[root] = 0;
    }
    /* Roots come before their members, so by node from the end. */
    for (int32_t i = pl->g->count - 1; i >= 0; i--)
        pl->task[i] = pl->task[find_placement(pl, i)];
    for (int32_t i = 0; i < pl->g->count; i++)
        if (is_file_op(pl->g->nodes[i]))
            pl->task[i] = FILES;
}

/* Nothing is computed by it: it may as well stand where it is read. */
static bool may_follow_reader(const struct tfd_node *n)
{
    static const char *const names[] = {"Identity", "PlaceholderWithDefault",
                                        NULL};

    return n->op->flags & TFD_OP_CONST || is_one_of(n, names);
}

static void note_readers(struct placing *pl, const struct tfd_node *n)
{
    int32_t task = pl->task[n->id];

    for (int32_t i = 0; i < n->in_count; i++) {
        int32_t *reader;

        if (n->in[i].node < 0)
            continue;
        reader = &pl->reader[n->in[i].node];
        if (*reader == UNREAD)
            *reader = task;
        else if (*reader != task)
            *reader = WORKER;
    }
}

static void follow_readers(struct placing *pl)
{
    for (int32_t i = 0; i < pl->g->count; i++)
        pl->reader[i] = UNREAD;
    for (int32_t i = pl->g->count - 1; i >= 0; i--) {
        const struct tfd_node *n = pl->g->nodes[i];

        if (pl->task[i] == FREE && may_follow_reader(n) &&
            (pl->reader[i] >= 0 || pl->reader[i] == FILES))
            pl->task[i] = pl->reader[i];
        note_readers(pl, n);
    }
}

static void follow_waited(struct placing *pl)
{
    for (int32_t i = 0; i < pl->g->count; i++) {
        const struct tfd_node *n = pl->g->nodes[i];
        int32_t task = n->control_count ? pl->task[n->control[0]] : FREE;

        if (pl->task[i] != FREE || !(n->op->flags & TFD_OP_NOOP))
            continue;
        for (int32_t k = 1; k < n->control_count; k++)
            if (pl->task[n->control[k]] != task)
                task = FREE;
        if (task >= 0)
            pl->task[i] = task;
    }
}

/* ---- Devices ------------------------------------------------------------- */

/* It may have been built beside a variable, where it cannot stay. */
static void drop_class(struct tfd_node *n)
{
    struct tfd_attr *attrs = (struct tfd_attr *)(uintptr_t)n->attrs;
    int32_t kept = 0;

    for (int32_t i = 0; i < n->attr_count; i++)
        if (!tfd_str_is(attrs[i].name, "_class"))
            attrs[kept++] = attrs[i];
    n->attr_count = kept;
}

static enum tfd_code set_device(const struct placing *pl, struct tfd_node *n,
                                struct tfd_status *st)
{
    struct tfd_device_name name, to = pl->p->worker;
    char text[TFD_DEVICE_NAME_TEXT_SIZE];
    int32_t task = pl->task[n->id];

    TFD_TRY(tfd_device_name_parse(n->device, &name, st));
    if (task == FILES) {
        drop_class(n);
        name.has = 0;
    }
    if (name.has & TFD_DEVICE_JOB)
        return TFD_OK;
    if (task >= 0) {
        to = tfd_device_name_of("ps", task, "CPU", 0);
        to.has = TFD_DEVICE_JOB | TFD_DEVICE_TASK;
        /* Variables are the ps's, whatever the model was built for. */
        name.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    }
    name.has &= ~(uint32_t)(TFD_DEVICE_TASK | TFD_DEVICE_REPLICA);
    tfd_device_name_fill(&name, &to);
    tfd_device_name_format(&name, text);
    n->device = tfd_arena_str(&pl->g->arena, tfd_str_of(text));
    return tfd_arena_check(n->device.data, "devices", st);
}

static enum tfd_code place_nodes(struct placing *pl, struct tfd_status *st)
{
    if (!pl->parent || !pl->task || !pl->reader)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to place %d nodes", pl->g->count);
    TFD_TRY(make_groups(pl, st));
    place_groups(pl);
    follow_readers(pl);
    follow_waited(pl);
    for (int32_t i = 0; i < pl->g->count; i++)
        TFD_TRY(set_device(pl, pl->g->nodes[i], st));
    return TFD_OK;
}

enum tfd_code tfd_placement_apply(const struct tfd_placement *p,
                                  struct tfd_status *st)
{
    size_t count = (size_t)p->graph->count + 1;
    struct placing pl = {
        .p = p,
        .g = p->graph,
        .parent = calloc(count, sizeof(int32_t)),
        .task = calloc(count, sizeof(int32_t)),
        .reader = calloc(count, sizeof(int32_t)),
    };
    enum tfd_code rc = place_nodes(&pl, st);

    free(pl.parent);
    free(pl.task);
    free(pl.reader);
    return rc;
}
