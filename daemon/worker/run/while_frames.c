/*
 * while_frames.c - frames and iterations of while loops.
 *
 *     Enter -> Merge -> Switch -> body -> NextIteration -+
 *                ^         |                             |
 *                |         +-> Exit                      |
 *                +---------------------------------------+
 *
 * An Enter makes the frame that its first one finds missing; the frame belongs
 * to the iteration it was entered from.  A NextIteration makes the iteration
 * after its own, as long as no more than `parallel` are under way; beyond, its
 * value waits in the frame.  Constants (Enter with is_constant) are kept in the
 * frame and given to every iteration as it begins.
 *
 * An iteration is retired when it is the oldest, nothing in it is ready or
 * running, no loop runs within it and, for the first one, every Enter has come.
 * With its last iteration the frame ends.  Only then do the Exits that were
 * dead in the last iteration say so: in earlier ones it meant "not yet".
 * Retiring goes outwards frame by frame, in a loop and not by recursion.
 *
 * A loop that is code (while_code.h) waits for all of its Enters and then is
 * one node of its first iteration, whose end is the loop's.  Where it shall run
 * node by node instead, the Enters' values are given to that iteration then.
 *
 * While a step has several runners all of this is under the step's lock, except
 * what runs after its end.  Failures are left in the runner's status.
 */
#include "daemon/worker/compile/while_code.h"
#include "daemon/worker/run/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct held {
    struct tfd_value value;
    bool arrived;
    bool dead;
};

struct tfd_frame {
    const struct tfd_exec_frame *layout;
    struct tfd_iter *parent;
    struct tfd_frame *sibling; /* in the parent's children; in the free list */
    struct tfd_iter *first, *last; /* oldest and newest */
    int32_t live;                  /* iterations */
    int32_t enters_left;
    int32_t waiting; /* values in nexts */
    uint64_t id;
    struct held *constants;       /* by place */
    struct held *nexts;           /* of an iteration that cannot begin yet */
    bool *dead_exits;             /* of the newest iteration */
    struct tfd_while_state state; /* of code */
    bool dead;                    /* an Enter came dead */
};

/* ---- Frames -------------------------------------------------------------- */

/* TensorFlow's Hash64Combine. */
static uint64_t combine(uint64_t a, uint64_t b)
{
    return a ^ (b + 0x9e3779b97f4a7800u + (a << 10) + (a >> 4));
}

uint64_t tfd_while_frame_id(const struct tfd_iter *it)
{
    return it->frame ? it->frame->id : 0;
}

static struct tfd_frame *frame_alloc(const struct tfd_exec *e,
                                     const struct tfd_exec_frame *layout)
{
    size_t held = (size_t)layout->constant_count + (size_t)layout->next_count;
    size_t state = layout->code ? tfd_while_state_size(layout->code) : 0;
    size_t size = sizeof(struct tfd_frame) + held * sizeof(struct held) +
                  (size_t)layout->exit_count + _Alignof(struct tfd_tensor);
    struct tfd_frame *f;

    size -= size % _Alignof(struct tfd_tensor);
    f = calloc(1, size + state);
    if (!f)
        return NULL;
    f->layout = layout;
    f->constants = (struct held *)(f + 1);
    f->nexts = f->constants + layout->constant_count;
    f->dead_exits = (bool *)(f->nexts + layout->next_count);
    if (layout->code)
        tfd_while_state_init(&f->state, e, layout->code, (char *)f + size);
    return f;
}

static void clear_held(struct held *h, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (h[i].arrived && !h[i].dead)
            tfd_value_drop(&h[i].value);
        h[i].arrived = false;
    }
}

void tfd_frame_pop_free(struct tfd_frame **free_list)
{
    struct tfd_frame *f = *free_list;

    *free_list = f->sibling;
    if (f->layout->code)
        tfd_while_state_deinit(&f->state, f->layout->code);
    free(f);
}

/* The first iteration needs no room below `parallel`: it is the only one. */
static struct tfd_iter *add_iteration(struct tfd_runner *r, struct tfd_frame *f)
{
    struct tfd_step *s = r->step;
    int32_t layout = (int32_t)(f->layout - s->exec->frames);
    struct tfd_iter *it = s->free_iters[layout];

    if (it)
        s->free_iters[layout] = it->next;
    else
        it = tfd_iter_new(s, layout);
    if (!it) {
        tfd_fail(&r->st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for an iteration of loop %s", f->layout->name);
        return NULL;
    }
    it->frame = f;
    it->next = NULL;
    it->number = f->last ? f->last->number + 1 : 0;
    if (f->last)
        f->last->next = it;
    else
        f->first = it;
    f->last = it;
    f->live++;
    memset(f->dead_exits, 0, (size_t)f->layout->exit_count);
    return it;
}

static struct tfd_frame *new_frame(struct tfd_runner *r,
                                   struct tfd_iter *parent, int32_t layout)
{
    struct tfd_step *s = r->step;
    struct tfd_frame *f = s->free_frames[layout];

    if (f)
        s->free_frames[layout] = f->sibling;
    else
        f = frame_alloc(s->exec, &s->exec->frames[layout]);
    if (!f) {
        tfd_fail(&r->st, TFD_RESOURCE_EXHAUSTED, "no memory for loop %s",
                 s->exec->frames[layout].name);
        return NULL;
    }
    f->parent = parent;
    f->first = f->last = NULL;
    f->live = f->waiting = 0;
    f->dead = false;
    f->enters_left = f->layout->enter_count;
    f->id = combine(tfd_while_frame_id(parent),
                    combine((uint64_t)parent->number, f->layout->name_hash));
    f->sibling = parent->children;
    parent->children = f;
    if (!add_iteration(r, f))
        return NULL; /* freed with the parent's children */
    return f;
}

static struct tfd_frame *child_frame(struct tfd_runner *r,
                                     struct tfd_iter *parent, int32_t layout)
{
    const struct tfd_exec_frame *l = &r->step->exec->frames[layout];

    for (struct tfd_frame *f = parent->children; f; f = f->sibling)
        if (f->layout == l)
            return f->first ? f : NULL;
    return new_frame(r, parent, layout);
}

/* ---- Routes -------------------------------------------------------------- */

static void give(struct tfd_runner *r, struct tfd_iter *it,
                 const struct tfd_exec_node *n, const struct held *h)
{
    struct tfd_value v;

    if (!h->dead)
        v = tfd_value_ref(&h->value);
    tfd_runner_spread(r, it, n, h->dead ? NULL : &v);
}

static void keep_constant(struct tfd_runner *r, struct tfd_frame *f,
                          const struct tfd_exec_node *n,
                          struct tfd_value *value)
{
    struct held *h = &f->constants[n->place];

    h->arrived = true;
    h->dead = !value;
    if (value)
        h->value = *value;
    for (struct tfd_iter *it = f->first; it; it = it->next)
        give(r, it, n, h);
}

static struct tfd_tensor *code_slot(struct tfd_frame *f,
                                    const struct tfd_exec_node *enter_node)
{
    const struct tfd_while_code *c = f->layout->code;

    return &f->state.slots[enter_node->route == TFD_ROUTE_ENTER
                               ? c->first_slots[enter_node->place]
                               : c->constant_slots[enter_node->place]];
}

static void hold(struct tfd_frame *f, const struct tfd_exec_node *n,
                 struct tfd_value *value)
{
    if (value)
        *code_slot(f, n) = value->tensor;
    else
        f->dead = true;
}

/* The value that an Enter brought; empty when it was dead. */
static struct tfd_value unhold(struct tfd_frame *f,
                               const struct tfd_exec_node *n)
{
    struct tfd_tensor *slot = code_slot(f, n);
    struct tfd_value v = {*slot, NULL};

    *slot = (struct tfd_tensor)TFD_TENSOR_INIT;
    return v;
}

/* All Enters at once, as if they came now. */
static void begin_nodes(struct tfd_runner *r, struct tfd_frame *f)
{
    const struct tfd_while_code *c = f->layout->code;

    for (int32_t i = 0; i < f->layout->constant_count; i++) {
        const struct tfd_exec_node *n = f->layout->constants[i];
        struct tfd_value v = unhold(f, n);

        keep_constant(r, f, n, v.tensor.dtype == TFD_DTYPE_INVALID ? NULL : &v);
    }
    for (int32_t i = 0; i < c->first_count; i++) {
        struct tfd_value v = unhold(f, c->first[i]);

        tfd_runner_spread(r, f->first, c->first[i],
                          v.tensor.dtype == TFD_DTYPE_INVALID ? NULL : &v);
    }
}

static void begin_code(struct tfd_runner *r, struct tfd_frame *f)
{
    const struct tfd_step *s = r->step;
    const struct tfd_while_code *c = f->layout->code;

    if (f->dead || s->trace ||
        (s->shared && tfd_while_code_is_wide(s->exec, c)))
        begin_nodes(r, f);
    else
        tfd_runner_push(r, &f->first->ready[c->unit->local]);
}

static void enter_frame(struct tfd_runner *r, struct tfd_ready *item,
                        struct tfd_value *value)
{
    const struct tfd_exec_node *n = item->node;
    struct tfd_frame *f = child_frame(r, item->it, n->value);

    if (!f) {
        if (value)
            tfd_value_drop(value);
        return;
    }
    f->enters_left--;
    if (f->layout->code) {
        hold(f, n, value);
        if (f->enters_left == 0)
            begin_code(r, f);
    } else if (n->route == TFD_ROUTE_ENTER) {
        tfd_runner_spread(r, f->first, n, value);
    } else {
        keep_constant(r, f, n, value);
    }
}

/* Begins the iteration whose values have waited, with the frame's constants. */
static struct tfd_iter *begin_iteration(struct tfd_runner *r,
                                        struct tfd_frame *f)
{
    struct tfd_iter *it = add_iteration(r, f);

    if (!it)
        return NULL;
    for (int32_t i = 0; i < f->layout->constant_count; i++)
        if (f->constants[i].arrived)
            give(r, it, f->layout->constants[i], &f->constants[i]);
    for (int32_t i = 0; f->waiting > 0 && i < f->layout->next_count; i++) {
        struct held *h = &f->nexts[i];

        if (!h->arrived)
            continue;
        h->arrived = false;
        f->waiting--;
        tfd_runner_spread(r, it, f->layout->nexts[i], &h->value);
    }
    return it;
}

/* A dead value ends here: there is no further iteration. */
static void next(struct tfd_runner *r, struct tfd_ready *item,
                 struct tfd_value *value)
{
    struct tfd_frame *f = item->it->frame;
    struct tfd_iter *to = item->it->next;
    struct held *h = &f->nexts[item->node->place];

    if (!value)
        return;
    if (!to && f->live >= f->layout->parallel) {
        h->value = *value;
        h->arrived = true;
        h->dead = false;
        f->waiting++;
        return;
    }
    if (!to)
        to = begin_iteration(r, f);
    if (to)
        tfd_runner_spread(r, to, item->node, value);
    else
        tfd_value_drop(value);
}

static void leave_frame(struct tfd_runner *r, struct tfd_ready *item,
                        struct tfd_value *value)
{
    struct tfd_frame *f = item->it->frame;

    if (value)
        tfd_runner_spread(r, f->parent, item->node, value);
    else if (item->it == f->last)
        f->dead_exits[item->node->place] = true;
}

void tfd_while_route(struct tfd_runner *r, struct tfd_ready *item,
                     struct tfd_value *value)
{
    switch (item->node->route) {
    case TFD_ROUTE_EXIT:
        leave_frame(r, item, value);
        break;
    case TFD_ROUTE_NEXT:
        next(r, item, value);
        break;
    default:
        enter_frame(r, item, value);
    }
}

/* ---- Code ---------------------------------------------------------------- */

static void leave_code(struct tfd_runner *r, struct tfd_frame *f)
{
    const struct tfd_while_code *c = f->layout->code;

    for (int32_t i = 0; i < f->layout->exit_count; i++) {
        struct tfd_tensor *slot = &f->state.slots[c->exit_slots[i]];
        struct tfd_value v = {*slot, NULL};

        *slot = (struct tfd_tensor)TFD_TENSOR_INIT;
        tfd_runner_spread(r, f->parent, f->layout->exits[i], &v);
    }
}

bool tfd_while_run_unit(struct tfd_runner *r, struct tfd_ready *item)
{
    struct tfd_frame *f = item->it->frame;
    bool lock = r->shared;

    switch (tfd_while_code_run(r, f->layout->code, &f->state)) {
    case TFD_WHILE_FAILED:
        return false;
    case TFD_WHILE_LATER:
        tfd_runner_again(r, item);
        r->turn_over = true;
        return false;
    default:
        break;
    }
    if (lock)
        tfd_lock(&r->step->lock);
    leave_code(r, f);
    if (lock)
        tfd_unlock(&r->step->lock);
    return true;
}

/* ---- Retiring ------------------------------------------------------------ */

static void put_back(struct tfd_step *s, struct tfd_iter *it)
{
    int32_t layout = (int32_t)(it->layout - s->exec->frames);

    tfd_iter_clear(it);
    tfd_iter_reset(it);
    it->next = s->free_iters[layout];
    s->free_iters[layout] = it;
}

static void put_back_frame(struct tfd_step *s, struct tfd_frame *f)
{
    int32_t layout = (int32_t)(f->layout - s->exec->frames);

    clear_held(f->constants, f->layout->constant_count);
    clear_held(f->nexts, f->layout->next_count);
    if (f->layout->code)
        tfd_while_state_reset(&f->state, f->layout->code);
    f->sibling = s->free_frames[layout];
    s->free_frames[layout] = f;
}

static bool is_complete(const struct tfd_iter *it)
{
    return it->outstanding == 0 && !it->children &&
           (it->number > 0 || it->frame->enters_left == 0);
}

/* Retires what can be of one frame; true when that was all of it. */
static bool retire_iterations(struct tfd_runner *r, struct tfd_frame *f)
{
    while (f->first && is_complete(f->first)) {
        struct tfd_iter *it = f->first;

        f->live--;
        if (!it->next && f->waiting > 0 && !begin_iteration(r, f)) {
            f->live++;
            return false;
        }
        f->first = it->next;
        if (!f->first)
            f->last = NULL;
        put_back(r->step, it);
        if (f->first && f->waiting > 0 && f->live < f->layout->parallel)
            begin_iteration(r, f);
    }
    return !f->first && f->enters_left == 0;
}

static void unlink_frame(struct tfd_frame *f)
{
    struct tfd_frame **at = &f->parent->children;

    while (*at != f)
        at = &(*at)->sibling;
    *at = f->sibling;
}

void tfd_while_node_done(struct tfd_runner *r, struct tfd_iter *it)
{
    struct tfd_frame *f = it->frame;

    it->outstanding--;
    while (f && retire_iterations(r, f)) {
        struct tfd_iter *parent = f->parent;

        for (int32_t i = 0; i < f->layout->exit_count; i++)
            if (f->dead_exits[i])
                tfd_runner_spread(r, parent, f->layout->exits[i], NULL);
        unlink_frame(f);
        put_back_frame(r->step, f);
        f = parent->frame;
    }
}

/* ---- All iterations ------------------------------------------------------ */

static const struct tfd_iter *oldest_iter(const struct tfd_frame *f)
{
    while (f && !f->first)
        f = f->sibling;
    return f ? f->first : NULL;
}

const struct tfd_iter *tfd_while_next_iter(const struct tfd_iter *it)
{
    const struct tfd_iter *next = oldest_iter(it->children);

    while (!next && it->frame) {
        next = it->next ? it->next : oldest_iter(it->frame->sibling);
        it = it->frame->parent;
    }
    return next;
}

/* ---- After a failure ----------------------------------------------------- */

/* Frees the loops within an iteration, innermost first, without recursion. */
void tfd_while_drop(struct tfd_step *s)
{
    struct tfd_iter *it = s->root;

    for (;;) {
        struct tfd_frame *f = it->children;

        if (f && f->first) { /* down */
            it = f->first;
            continue;
        }
        if (f) { /* its iterations are gone */
            it->children = f->sibling;
            put_back_frame(s, f);
            continue;
        }
        if (!it->frame)
            return;
        f = it->frame; /* up */
        f->first = it->next;
        put_back(s, it);
        it = f->parent;
    }
}
