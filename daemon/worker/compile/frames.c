/*
 * frames.c - which loop each node is in: see compiler.h.
 *
 * The frame of a node follows from any of its inputs; all of them must agree.
 * Frames are numbered as they are found, a frame after the one it is in.
 */
#include "daemon/worker/compile/compiler.h"

#include "config/limits.h"

static enum tfd_code grow_frames(struct tfd_compiler *c, struct tfd_status *st)
{
    struct tfd_plan_frame *more;
    int32_t capacity = c->frame_capacity ? 2 * c->frame_capacity : 8;

    more = tfd_arena_array(&c->scratch, (size_t)capacity, sizeof(*more));
    TFD_TRY(tfd_arena_check(more, "loops", st));
    for (int32_t i = 0; i < c->frame_count; i++)
        more[i] = c->frames[i];
    c->frames = more;
    c->frame_capacity = capacity;
    return TFD_OK;
}

static enum tfd_code find_frame(struct tfd_compiler *c, int32_t parent,
                                struct tfd_str name, int32_t *out,
                                struct tfd_status *st)
{
    for (int32_t i = 1; i < c->frame_count; i++)
        if (c->frames[i].parent == parent &&
            tfd_str_eq(c->frames[i].name, name)) {
            *out = i;
            return TFD_OK;
        }
    if (parent >= 0 && c->frames[parent].depth >= TFD_WHILE_DEPTH_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "loop " TFD_STR_FMT " is nested deeper than %d",
                        TFD_STR_ARG(name), TFD_WHILE_DEPTH_MAX);
    if (c->frame_count == c->frame_capacity)
        TFD_TRY(grow_frames(c, st));
    *out = c->frame_count++;
    c->frames[*out] = (struct tfd_plan_frame){
        .parent = parent,
        .depth = parent >= 0 ? c->frames[parent].depth + 1 : 0,
        .name = name,
    };
    return TFD_OK;
}

static enum tfd_code enter_frame(struct tfd_compiler *c,
                                 const struct tfd_node *n,
                                 struct tfd_status *st)
{
    struct tfd_plan_node *p = &c->nodes[n->id];
    struct tfd_str name;
    int64_t parallel;

    TFD_TRY(tfd_node_str(n, "frame_name", &name, st));
    TFD_TRY(tfd_node_int(n, "parallel_iterations", &parallel, st));
    if (parallel < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "parallel_iterations of {{node " TFD_STR_FMT
                        "}} is %lld and must be positive",
                        TFD_STR_ARG(n->name), (long long)parallel);
    TFD_TRY(find_frame(c, p->frame, name, &p->child, st));
    c->frames[p->child].enters++;
    c->frames[p->child].parallel = parallel;
    return TFD_OK;
}

int32_t tfd_compile_out_frame(const struct tfd_compiler *c, int32_t node)
{
    const struct tfd_plan_node *p = &c->nodes[node];

    switch (p->route) {
    case TFD_ROUTE_ENTER:
    case TFD_ROUTE_CONSTANT:
        return p->child;
    case TFD_ROUTE_EXIT:
        return c->frames[p->frame].parent;
    default:
        return p->frame;
    }
}

static enum tfd_code agree(struct tfd_compiler *c, const struct tfd_node *n,
                           int32_t from, int32_t *first, struct tfd_status *st)
{
    struct tfd_plan_node *p = &c->nodes[n->id];
    int32_t frame = tfd_compile_out_frame(c, from);

    if (*first < 0) {
        *first = from;
        p->frame = frame;
        return TFD_OK;
    }
    if (frame == p->frame)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "{{node " TFD_STR_FMT
        "}} has inputs from different frames. The input {{node " TFD_STR_FMT
        "}} is in frame '" TFD_STR_FMT "'. The input {{node " TFD_STR_FMT
        "}} is in frame '" TFD_STR_FMT "'.",
        TFD_STR_ARG(n->name), TFD_STR_ARG(c->g->nodes[from]->name),
        TFD_STR_ARG(c->frames[frame].name),
        TFD_STR_ARG(c->g->nodes[*first]->name),
        TFD_STR_ARG(c->frames[p->frame].name));
}

/* done: nodes whose frame is known; NULL when all are. */
static enum tfd_code place_in_frame(struct tfd_compiler *c,
                                    const struct tfd_node *n, const bool *done,
                                    struct tfd_status *st)
{
    int32_t first = -1;

    for (int32_t i = 0; i < n->in_count; i++)
        if (!c->nodes[n->in[i].node].bound && (!done || done[n->in[i].node]))
            TFD_TRY(agree(c, n, n->in[i].node, &first, st));
    for (int32_t i = 0; i < n->control_count; i++)
        if (!c->nodes[n->control[i]].bound && (!done || done[n->control[i]]))
            TFD_TRY(agree(c, n, n->control[i], &first, st));
    return TFD_OK;
}

static enum tfd_code check_route(struct tfd_compiler *c,
                                 const struct tfd_node *n,
                                 struct tfd_status *st)
{
    const struct tfd_plan_node *p = &c->nodes[n->id];

    if (p->frame == 0 &&
        (p->route == TFD_ROUTE_EXIT || p->route == TFD_ROUTE_NEXT))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "{{node " TFD_STR_FMT "}} (" TFD_STR_FMT
                        ") is outside of any loop",
                        TFD_STR_ARG(n->name), TFD_STR_ARG(n->op->name));
    if (p->frame != 0 && p->kind == TFD_EXEC_FETCH) /* one place, many values */
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "{{node " TFD_STR_FMT "}} is in frame '" TFD_STR_FMT
                        "' and cannot be fetched",
                        TFD_STR_ARG(n->in_count
                                        ? c->g->nodes[n->in[0].node]->name
                                        : n->name),
                        TFD_STR_ARG(c->frames[p->frame].name));
    return TFD_OK;
}

enum tfd_code tfd_compile_frames(struct tfd_compiler *c, struct tfd_status *st)
{
    bool *done = tfd_arena_array(&c->scratch, (size_t)c->g->count + 1, 1);
    int32_t none;

    TFD_TRY(tfd_arena_check(done, "loops", st));
    TFD_TRY(find_frame(c, -1, TFD_STR_EMPTY, &none, st));
    for (int32_t i = 0; i < c->g->count; i++) {
        const struct tfd_node *n = c->g->nodes[c->order[i]];
        uint8_t route = c->nodes[n->id].route;

        TFD_TRY(place_in_frame(c, n, done, st));
        TFD_TRY(check_route(c, n, st));
        if (route == TFD_ROUTE_ENTER || route == TFD_ROUTE_CONSTANT)
            TFD_TRY(enter_frame(c, n, st));
        done[n->id] = true;
    }
    /* Merges again: now what comes from NextIteration is known. */
    for (int32_t i = 0; i < c->g->count; i++)
        if (c->nodes[i].kind == TFD_EXEC_MERGE)
            TFD_TRY(place_in_frame(c, c->g->nodes[i], NULL, st));
    return TFD_OK;
}
