/*
 * while_control.c - frames of the pruned graph's nodes, then better places for
 * the nodes of loops, then a control loop for every edge between tasks that
 * lies within a frame, and for the frames around it.
 *
 * The frame of a node is that of the first input that is in one.  Edges within
 * a task from one frame to another are left to the worker to refuse.
 */
#include "daemon/rewrite/while_control.h"

#include "daemon/rewrite/added_node.h"

#include "config/limits.h"

#include <stdio.h>
#include <string.h>

/* Frame 0 is the graph outside of loops. */
struct frame {
    struct tfd_str name;
    int32_t parent;
    int32_t predicate;  /* its LoopCond in the pruned graph, or -1 */
    int32_t first_loop; /* of its control loops, or -1 */
    int32_t same_name;  /* another frame, or -1 */
    int64_t parallel;
};

struct tfd_while_finder {
    const struct tfd_partition_request *r;
    struct tfd_while_control *out;
    struct tfd_status *st;
    int32_t *device_of; /* by graph node */
    int32_t *order;     /* pruned nodes, producers before consumers */
    int32_t *inside;    /* by pruned node: the frame it runs in */
    int32_t *after;     /* by pruned node: the frame of its outputs; -1 unset */
    int32_t *consumer;  /* by pruned node: the first of its data, or -1 */
    struct tfd_map by_name; /* -> the last frame of that name */
    struct frame *frames;
    int32_t frame_count, frame_capacity;
    int32_t loop_capacity;
};

static const struct tfd_part_node *part(const struct tfd_while_finder *f,
                                        int32_t i)
{
    return &f->r->pruned->nodes[i];
}

static const struct tfd_node *node_of(const struct tfd_while_finder *f,
                                      int32_t i)
{
    return f->r->graph->nodes[part(f, i)->node];
}

static bool is_a(const struct tfd_while_finder *f, int32_t i, uint32_t flags)
{
    return part(f, i)->kind == TFD_PART_NODE &&
           (node_of(f, i)->op->flags & flags) != 0;
}

/* Feeds and fetches are on the client's device, which is the first. */
static int worker_of(const struct tfd_while_finder *f, int32_t i)
{
    const struct tfd_part_node *n = part(f, i);
    int32_t device = n->kind == TFD_PART_NODE ? f->device_of[n->node] : 0;

    return f->r->devices->devices[device].worker;
}

/* Twice the room for what an array in the arena holds. */
static enum tfd_code grow_while_control(struct tfd_while_finder *f,
                                        void **array, int32_t count,
                                        int32_t *capacity, size_t size)
{
    int32_t more = *capacity * 2 + 8;
    void *grown = tfd_arena_array(f->r->arena, (size_t)more, size);

    TFD_TRY(tfd_arena_check(grown, "loops of a partition", f->st));
    if (count > 0)
        memcpy(grown, *array, (size_t)count * size);
    *array = grown;
    *capacity = more;
    return TFD_OK;
}

/* ---- Frames -------------------------------------------------------------- */

static enum tfd_code add_frame(struct tfd_while_finder *f, int32_t parent,
                               struct tfd_str name, int32_t same_name,
                               int32_t *out)
{
    void *frames = f->frames;

    if (f->frame_count == f->frame_capacity)
        TFD_TRY(grow_while_control(f, &frames, f->frame_count,
                                   &f->frame_capacity, sizeof(*f->frames)));
    f->frames = frames;
    if (!tfd_map_put(&f->by_name, name, (uintptr_t)f->frame_count))
        return tfd_fail(f->st, TFD_RESOURCE_EXHAUSTED,
                        "No memory for the name of loop " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    *out = f->frame_count++;
    f->frames[*out] = (struct frame){.name = name,
                                     .parent = parent,
                                     .predicate = -1,
                                     .first_loop = -1,
                                     .same_name = same_name,
                                     .parallel = 1};
    return TFD_OK;
}

static enum tfd_code find_frame(struct tfd_while_finder *f, int32_t parent,
                                struct tfd_str name, int32_t *out)
{
    uintptr_t number;
    int32_t last = -1;

    if (tfd_map_get(&f->by_name, name, &number))
        last = (int32_t)number;
    for (int32_t i = last; i >= 0; i = f->frames[i].same_name)
        if (f->frames[i].parent == parent) {
            *out = i;
            return TFD_OK;
        }
    return add_frame(f, parent, name, last, out);
}

static enum tfd_code enter_frame(struct tfd_while_finder *f, int32_t i)
{
    struct tfd_str name;
    int64_t parallel;

    TFD_TRY(tfd_node_str(node_of(f, i), "frame_name", &name, f->st));
    TFD_TRY(
        tfd_node_int(node_of(f, i), "parallel_iterations", &parallel, f->st));
    TFD_TRY(find_frame(f, f->inside[i], name, &f->after[i]));
    f->frames[f->after[i]].parallel = parallel;
    return TFD_OK;
}

static int32_t frame_of_inputs(const struct tfd_while_finder *f, int32_t i)
{
    const struct tfd_part_node *n = part(f, i);

    for (int32_t k = 0; k < n->in_count; k++)
        if (f->after[n->in[k].node] > 0)
            return f->after[n->in[k].node];
    for (int32_t k = 0; k < n->control_count; k++)
        if (f->after[n->control[k]] > 0)
            return f->after[n->control[k]];
    return 0;
}

static enum tfd_code visit(struct tfd_while_finder *f, int32_t i)
{
    int32_t frame = frame_of_inputs(f, i);

    f->inside[i] = f->after[i] = frame;
    if (is_a(f, i, TFD_OP_ENTER))
        return enter_frame(f, i);
    if (is_a(f, i, TFD_OP_EXIT) && frame > 0)
        f->after[i] = f->frames[frame].parent;
    if (is_a(f, i, TFD_OP_LOOP_COND))
        f->frames[frame].predicate = i;
    return TFD_OK;
}

static enum tfd_code visit_all(struct tfd_while_finder *f)
{
    int32_t outside;

    TFD_TRY(find_frame(f, -1, TFD_STR_EMPTY, &outside));
    for (int32_t k = 0; k < f->r->pruned->count; k++)
        TFD_TRY(visit(f, f->order[k]));
    return TFD_OK;
}

static enum tfd_code find_frames(struct tfd_while_finder *f)
{
    enum tfd_code rc;

    tfd_map_init(&f->by_name);
    rc = visit_all(f);
    tfd_map_deinit(&f->by_name);
    return rc;
}

/* ---- Places -------------------------------------------------------------- */

/* Node i goes to where node `to` is, if that is another task. */
static void move_node(struct tfd_while_finder *f, int32_t i, int32_t to)
{
    if (part(f, to)->kind == TFD_PART_NODE &&
        worker_of(f, i) != worker_of(f, to))
        f->device_of[part(f, i)->node] = f->device_of[part(f, to)->node];
}

static bool takes_reference(const struct tfd_while_finder *f, int32_t i)
{
    const struct tfd_node *n = node_of(f, i);

    return n->in_count > 0 && tfd_dtype_is_ref(n->in_types[0]);
}

static void move_to_consumer(struct tfd_while_finder *f, int32_t i)
{
    if (f->consumer[i] < 0)
        return;
    if (is_a(f, i, TFD_OP_NEXT_ITERATION) ||
        (is_a(f, i, TFD_OP_ENTER) && !takes_reference(f, i)))
        move_node(f, i, f->consumer[i]);
}

/* What follows its producer is moved from the front on, what follows its
 * consumer from the back, so that chains end up in one task. */
static void move_nodes(struct tfd_while_finder *f)
{
    int32_t count = f->r->pruned->count;

    for (int32_t k = 0; k < count; k++) {
        int32_t i = f->order[k];

        if (is_a(f, i, TFD_OP_SWITCH | TFD_OP_EXIT) && part(f, i)->in_count > 0)
            move_node(f, i, part(f, i)->in[0].node);
    }
    for (int32_t k = count - 1; k >= 0; k--)
        move_to_consumer(f, f->order[k]);
}

/* ---- Control loops ------------------------------------------------------- */

static int32_t find_loop(const struct tfd_while_finder *f, int32_t frame,
                         int worker)
{
    const struct tfd_control_loop *loops = f->out->loops;
    int32_t i = f->frames[frame].first_loop;

    while (i >= 0 && loops[i].worker != worker)
        i = loops[i].next;
    return i;
}

/* A task's first device is a CPU, where control costs least. */
static int first_device(const struct tfd_while_finder *f, int worker)
{
    int i = 0;

    while (f->r->devices->devices[i].worker != worker)
        i++;
    return i;
}

static enum tfd_code add_loop(struct tfd_while_finder *f, int32_t number,
                              int worker, int32_t *out)
{
    struct frame *frame = &f->frames[number];
    struct tfd_while_control *c = f->out;
    void *loops = c->loops;

    if (frame->predicate < 0)
        return tfd_fail(
            f->st, TFD_INVALID_ARGUMENT,
            "A cross-device loop must have a pivot predicate: " TFD_STR_FMT,
            TFD_STR_ARG(frame->name));
    if (c->loop_count == f->loop_capacity)
        TFD_TRY(grow_while_control(f, &loops, c->loop_count, &f->loop_capacity,
                                   sizeof(*c->loops)));
    c->loops = loops;
    *out = c->loop_count++;
    c->loops[*out] = (struct tfd_control_loop){
        .worker = worker,
        .device = first_device(f, worker),
        .frame = number,
        .outer = -1,
        .next = frame->first_loop,
        .predicate = {frame->predicate, 0},
    };
    snprintf(c->loops[*out].restart, sizeof(c->loops[*out].restart),
             "^_cloop_%d/Merge", *out);
    frame->first_loop = *out;
    return TFD_OK;
}

/* For this frame and those around it, as far as they are missing. */
static enum tfd_code add_loops(struct tfd_while_finder *f, int32_t frame,
                               int worker)
{
    int32_t inner = -1;

    for (; frame > 0; frame = f->frames[frame].parent) {
        int32_t found = find_loop(f, frame, worker), loop = found;

        if (found < 0)
            TFD_TRY(add_loop(f, frame, worker, &loop));
        if (inner >= 0)
            f->out->loops[inner].outer = loop;
        if (found >= 0)
            return TFD_OK;
        inner = loop;
    }
    return TFD_OK;
}

static enum tfd_code check_edge(struct tfd_while_finder *f, int32_t from,
                                int32_t to)
{
    int32_t a = f->after[from], b = f->inside[to];

    if (worker_of(f, from) == worker_of(f, to))
        return TFD_OK;
    if (a == b)
        return add_loops(f, a, worker_of(f, to));
    return tfd_fail(f->st, TFD_INVALID_ARGUMENT,
                    "{{node %s}} has inputs from different frames. The input "
                    "{{node %s}} is in frame '" TFD_STR_FMT
                    "', others are in frame '" TFD_STR_FMT "'.",
                    node_of(f, to)->name.data, node_of(f, from)->name.data,
                    TFD_STR_ARG(f->frames[a].name),
                    TFD_STR_ARG(f->frames[b].name));
}

static enum tfd_code check_edges(struct tfd_while_finder *f)
{
    for (int32_t i = 0; i < f->r->pruned->count; i++) {
        const struct tfd_part_node *n = part(f, i);

        for (int32_t k = 0; k < n->in_count; k++)
            TFD_TRY(check_edge(f, n->in[k].node, i));
        for (int32_t k = 0; k < n->control_count; k++)
            TFD_TRY(check_edge(f, n->control[k], i));
    }
    return TFD_OK;
}

static bool has_loops(const struct tfd_partition_request *r)
{
    for (int32_t i = 0; i < r->pruned->count; i++)
        if (r->graph->nodes[r->pruned->nodes[i].node]->op->flags & TFD_OP_ENTER)
            return true;
    return false;
}

/* ---- Order --------------------------------------------------------------- */

/* Not that of the graph: a signature's connections are edges, too. */
struct ordering {
    struct tfd_while_finder *f;
    int32_t *stack;
    int32_t *turn; /* by pruned node: inputs looked at; -1: not met */
    int32_t depth, count;
};

/* The k-th of all a node waits for; -1: an edge back to the head of a loop. */
static int32_t input_of(const struct tfd_while_finder *f, int32_t i, int32_t k)
{
    const struct tfd_part_node *n = part(f, i);
    int32_t from =
        k < n->in_count ? n->in[k].node : n->control[k - n->in_count];

    return is_a(f, i, TFD_OP_MERGE) && is_a(f, from, TFD_OP_NEXT_ITERATION)
               ? -1
               : from;
}

static void meet(struct ordering *o, int32_t i)
{
    if (i < 0 || o->turn[i] >= 0)
        return;
    o->turn[i] = 0;
    o->stack[o->depth++] = i;
}

static void order_from(struct ordering *o, int32_t first)
{
    meet(o, first);
    while (o->depth > 0) {
        int32_t i = o->stack[o->depth - 1];
        const struct tfd_part_node *n = part(o->f, i);

        if (o->turn[i] < n->in_count + n->control_count) {
            meet(o, input_of(o->f, i, o->turn[i]++));
            continue;
        }
        o->f->order[o->count++] = i;
        o->depth--;
    }
}

static enum tfd_code order_parts(struct tfd_while_finder *f)
{
    size_t parts = (size_t)f->r->pruned->count + 1;
    struct ordering o = {.f = f};

    o.stack = tfd_arena_array(f->r->arena, parts, sizeof(*o.stack));
    o.turn = tfd_arena_array(f->r->arena, parts, sizeof(*o.turn));
    if (!o.stack || !o.turn)
        return tfd_arena_check(NULL, "loops of a partition", f->st);
    for (int32_t i = 0; i < f->r->pruned->count; i++)
        o.turn[i] = -1;
    for (int32_t i = 0; i < f->r->pruned->count; i++)
        order_from(&o, i);
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code make_finder_arrays(struct tfd_while_finder *f)
{
    size_t nodes = (size_t)f->r->graph->count + 1;
    size_t parts = (size_t)f->r->pruned->count + 1;
    struct tfd_arena *a = f->r->arena;

    f->device_of = tfd_arena_array(a, nodes, sizeof(*f->device_of));
    f->order = tfd_arena_array(a, parts, sizeof(*f->order));
    f->inside = tfd_arena_array(a, parts, sizeof(*f->inside));
    f->after = tfd_arena_array(a, parts, sizeof(*f->after));
    f->consumer = tfd_arena_array(a, parts, sizeof(*f->consumer));
    if (!f->device_of || !f->order || !f->inside || !f->after || !f->consumer)
        return tfd_arena_check(NULL, "loops of a partition", f->st);
    for (int32_t i = 0; i < f->r->graph->count; i++)
        f->device_of[i] = f->r->device_of[i];
    for (int32_t i = 0; i < f->r->pruned->count; i++)
        f->after[i] = f->consumer[i] = -1;
    for (int32_t i = f->r->pruned->count - 1; i >= 0; i--)
        for (int32_t k = 0;
             part(f, i)->kind == TFD_PART_NODE && k < part(f, i)->in_count; k++)
            f->consumer[part(f, i)->in[k].node] = i;
    return order_parts(f);
}

enum tfd_code tfd_while_control_find(const struct tfd_partition_request *r,
                                     struct tfd_while_control *out,
                                     struct tfd_status *st)
{
    struct tfd_while_finder *f;

    *out = (struct tfd_while_control){.device_of = r->device_of};
    if (!has_loops(r))
        return TFD_OK;
    f = tfd_arena_alloc(r->arena, sizeof(*f));
    TFD_TRY(tfd_arena_check(f, "loops of a partition", st));
    *f = (struct tfd_while_finder){.r = r, .out = out, .st = st};
    TFD_TRY(make_finder_arrays(f));
    TFD_TRY(find_frames(f));
    move_nodes(f);
    out->device_of = f->device_of;
    out->finder = f;
    return check_edges(f);
}

bool tfd_while_control_inside(const struct tfd_while_control *c, int32_t i)
{
    return c->finder && c->finder->after[i] > 0;
}

const struct tfd_control_loop *
tfd_while_control_of(const struct tfd_while_control *c, int32_t from,
                     int worker)
{
    const struct tfd_while_finder *f = c->finder;
    int32_t loop = f ? find_loop(f, f->after[from], worker) : -1;

    return loop < 0 ? NULL : &c->loops[loop];
}

/* ---- Nodes --------------------------------------------------------------- */

/* What a control loop carries: float[0]. */
static void put_nothing(struct tfd_added_node *a)
{
    struct tfd_tensor empty = {TFD_FLOAT, {1, {0}}, NULL};

    tfd_added_node_init(a);
    tfd_attr_put_type(tfd_added_node_attr(a, "dtype"), TFD_FLOAT);
    tfd_attr_put_tensor(tfd_added_node_attr(a, "value"), &empty);
}

static void begin_node(struct tfd_added_node *a)
{
    tfd_added_node_init(a);
    tfd_attr_put_type(tfd_added_node_attr(a, "T"), TFD_FLOAT);
}

/* "_cloop_<loop>/<op>" on the loop's device. */
static void put_control_node(const struct tfd_while_control *c, int32_t loop,
                             struct tfd_added_node *a, const char *op,
                             const struct tfd_str *in, int in_count,
                             struct tfd_bytes *out)
{
    const struct tfd_device_set *devices = c->finder->r->devices;
    const struct tfd_device *d = &devices->devices[c->loops[loop].device];
    char name[48];
    struct tfd_nodedef def = {
        .op = tfd_str_of(op),
        .device = tfd_str_of(d->attributes.name),
        .in = in,
        .in_count = in_count,
    };

    snprintf(name, sizeof(name), "_cloop_%d/%s", loop, op);
    def.name = tfd_str_of(name);
    tfd_added_node_put(a, out, &def);
}

static void put_enter(const struct tfd_while_control *c, int32_t loop,
                      struct tfd_str in, struct tfd_bytes *out)
{
    const struct frame *frame = &c->finder->frames[c->loops[loop].frame];
    struct tfd_added_node a;

    begin_node(&a);
    tfd_attr_put_str(tfd_added_node_attr(&a, "frame_name"), frame->name);
    tfd_attr_put_bool(tfd_added_node_attr(&a, "is_constant"), false);
    tfd_attr_put_int(tfd_added_node_attr(&a, "parallel_iterations"),
                     frame->parallel);
    put_control_node(c, loop, &a, "Enter", &in, 1, out);
}

void tfd_while_control_put(const struct tfd_while_control *c, int32_t loop,
                           struct tfd_str predicate, struct tfd_bytes *out)
{
    const struct tfd_control_loop *l = &c->loops[loop];
    char start[32], enter_name[32], next[40], again[32];
    struct tfd_str in[2];
    struct tfd_added_node a;

    snprintf(start, sizeof(start), "_cloop_%d/Const", loop);
    snprintf(enter_name, sizeof(enter_name), "_cloop_%d/Enter", loop);
    snprintf(next, sizeof(next), "_cloop_%d/NextIteration", loop);
    snprintf(again, sizeof(again), "_cloop_%d/Switch:1", loop);
    if (l->outer < 0) {
        put_nothing(&a);
        put_control_node(c, loop, &a, "Const", NULL, 0, out);
    }
    put_enter(c, loop,
              tfd_str_of(l->outer < 0 ? start : c->loops[l->outer].restart + 1),
              out);
    begin_node(&a);
    tfd_attr_put_int(tfd_added_node_attr(&a, "N"), 2);
    in[0] = tfd_str_of(enter_name);
    in[1] = tfd_str_of(next);
    put_control_node(c, loop, &a, "Merge", in, 2, out);
    begin_node(&a);
    in[0] = tfd_str_of(l->restart + 1);
    in[1] = predicate;
    put_control_node(c, loop, &a, "Switch", in, 2, out);
    begin_node(&a);
    in[0] = tfd_str_of(again);
    put_control_node(c, loop, &a, "NextIteration", in, 1, out);
}
