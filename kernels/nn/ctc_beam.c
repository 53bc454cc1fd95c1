/*
 * ctc_beam.c - see ctc_beam.h.
 *
 * A node is a beginning: the labels on the way to it from the root.  Its
 * probability is that of all paths that say these labels, and falls in two:
 * those that end with a blank, and those that end with its label.  In each step
 * of time every beginning of the beam is carried on (a blank, or its label
 * again, or its label after its parent's), and grows children, of which the
 * likeliest come into the beam in place of the unlikeliest there.
 *
 * The beam is a heap with the unlikeliest on top.  A node counts who needs it:
 * the heap, the list of a step, each of its children.  What falls out of the
 * beam has probability 0, and is taken up again where its parent grows it anew.
 */
#include "kernels/nn/ctc_beam.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <inttypes.h>
#include <string.h>

#define NONE (-1)
#define ZERO (-(double)INFINITY) /* log(0) */
#define NODES_MIN 64

struct chances {
    double total, blank, label;
};

struct node {
    struct chances now, last; /* after this step, and after the one before */
    int32_t label, parent;
    int32_t child, before, after; /* the first of its own; its siblings */
    int32_t needs;
    int32_t at; /* in the heap, or NONE */
};

struct beam {
    const struct tfd_ctc_search *s;
    int64_t classes;
    struct tfd_buffer *nodes, *lists, *rows;
    struct node *node;
    int32_t *heap, *branch; /* room for every node */
    int32_t *child_of;      /* by label: of the node that grows, or NONE */
    double *row;
    int64_t heap_count, branch_count;
    int32_t room, used, free; /* of nodes; free: the first, linked by `after` */
    int32_t grows;            /* the node whose children child_of has */
};

static const struct chances no_chance = {ZERO, ZERO, ZERO};

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code make_room(struct beam *b, struct tfd_status *st)
{
    const int32_t room = b->room ? 2 * b->room : NODES_MIN;
    struct tfd_buffer *nodes = NULL, *lists = NULL;

    if (room > TFD_CTC_NODES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "A beam search over %" PRId64 " steps with a width of "
                        "%" PRId64 " has more than %d nodes",
                        b->s->steps, b->s->width, TFD_CTC_NODES_MAX);
    nodes = tfd_buffer_new((size_t)room * sizeof(*b->node));
    lists = tfd_buffer_new(2 * (size_t)room * sizeof(*b->heap));
    if (!nodes || !lists) {
        tfd_buffer_unref(nodes);
        tfd_buffer_unref(lists);
        return tfd_fail(
            st, TFD_RESOURCE_EXHAUSTED,
            "OOM when allocating %" PRId32 " nodes of a beam search", room);
    }
    if (b->room) {
        int32_t *to = lists->data;

        memcpy(nodes->data, b->node, (size_t)b->used * sizeof(*b->node));
        memcpy(to, b->heap, (size_t)b->heap_count * sizeof(*to));
        memcpy(to + room, b->branch, (size_t)b->branch_count * sizeof(*to));
    }
    tfd_buffer_unref(b->nodes);
    tfd_buffer_unref(b->lists);
    b->nodes = nodes;
    b->lists = lists;
    b->node = nodes->data;
    b->heap = lists->data;
    b->branch = b->heap + room;
    b->room = room;
    return TFD_OK;
}

/* A child of `parent` (NONE: the root), which nobody needs yet. */
static enum tfd_code add_node(struct beam *b, int32_t parent, int32_t label,
                              int32_t *out, struct tfd_status *st)
{
    int32_t n = b->free;
    struct node *node;

    if (n == NONE && b->used == b->room)
        TFD_TRY(make_room(b, st));
    if (n == NONE)
        n = b->used++;
    else
        b->free = b->node[n].after;
    node = &b->node[n];
    *node = (struct node){no_chance, no_chance, label, parent, NONE,
                          NONE,      NONE,      0,     NONE};
    if (parent != NONE) {
        node->after = b->node[parent].child;
        if (node->after != NONE)
            b->node[node->after].before = n;
        b->node[parent].child = n;
        b->node[parent].needs++;
    }
    *out = n;
    return TFD_OK;
}

static void unlink_node(struct beam *b, int32_t n)
{
    const struct node *node = &b->node[n];

    if (node->parent == NONE)
        return;
    if (node->before != NONE)
        b->node[node->before].after = node->after;
    else
        b->node[node->parent].child = node->after;
    if (node->after != NONE)
        b->node[node->after].before = node->before;
    if (b->grows == node->parent)
        b->child_of[node->label] = NONE;
}

/* One who needs it less; then maybe its parents, too. */
static void let_go(struct beam *b, int32_t n)
{
    while (n != NONE && --b->node[n].needs == 0) {
        const int32_t parent = b->node[n].parent;

        unlink_node(b, n);
        b->node[n].after = b->free;
        b->free = n;
        n = parent;
    }
}

/* ---- Heap ---------------------------------------------------------------- */

static double total_at(const struct beam *b, int64_t at)
{
    return b->node[b->heap[at]].now.total;
}

static void put_at(struct beam *b, int64_t at, int32_t n)
{
    b->heap[at] = n;
    b->node[n].at = (int32_t)at;
}

static void sink(struct beam *b, int64_t at)
{
    const int32_t n = b->heap[at];

    for (int64_t next = 2 * at + 1; next < b->heap_count; next = 2 * at + 1) {
        if (next + 1 < b->heap_count &&
            total_at(b, next + 1) < total_at(b, next))
            next++;
        if (!(total_at(b, next) < b->node[n].now.total))
            break;
        put_at(b, at, b->heap[next]);
        at = next;
    }
    put_at(b, at, n);
}

static void rise(struct beam *b, int64_t at)
{
    const int32_t n = b->heap[at];

    for (; at > 0; at = (at - 1) / 2) {
        if (!(b->node[n].now.total < total_at(b, (at - 1) / 2)))
            break;
        put_at(b, at, b->heap[(at - 1) / 2]);
    }
    put_at(b, at, n);
}

/* Takes the unlikeliest out; who called needs it now. */
static int32_t pop(struct beam *b)
{
    const int32_t n = b->heap[0];

    b->node[n].at = NONE;
    b->heap_count--;
    if (b->heap_count > 0) {
        b->heap[0] = b->heap[b->heap_count];
        sink(b, 0);
    }
    return n;
}

static void push(struct beam *b, int32_t n)
{
    b->node[n].needs++;
    if (b->heap_count == b->s->width) {
        const int32_t least = pop(b);

        b->node[least].now = no_chance;
        let_go(b, least);
    }
    b->heap[b->heap_count] = n;
    rise(b, b->heap_count++);
}

/* The heap becomes a list, the likeliest first. */
static void sort_beam(struct beam *b)
{
    b->branch_count = b->heap_count;
    for (int64_t i = b->branch_count - 1; i >= 0; i--)
        b->branch[i] = pop(b);
}

/* ---- A step of time ------------------------------------------------------ */

/* The logarithm of what the exponentials of the classes sum up to. */
static double read_row(struct beam *b, int64_t t, int64_t batch)
{
    double most = ZERO, sum = 0;

    tfd_ctc_load(b->s->inputs, (t * batch + b->s->item) * b->classes,
                 b->classes, b->row);
    for (int64_t i = 0; i < b->classes; i++)
        most = b->row[i] > most ? b->row[i] : most;
    for (int64_t i = 0; i < b->classes; i++)
        sum += exp(b->row[i] - most);
    return most + log(sum);
}

static void carry_on(struct beam *b, struct node *n, double all)
{
    if (n->parent != NONE) {
        const struct node *parent = &b->node[n->parent];

        if (parent->now.total != ZERO)
            n->now.label = tfd_ctc_add(n->now.label, n->label == parent->label
                                                         ? parent->last.blank
                                                         : parent->last.total);
        n->now.label += b->row[n->label] - all;
    }
    n->now.blank = n->last.total + b->row[b->classes - 1] - all;
    n->now.total = tfd_ctc_add(n->now.blank, n->now.label);
}

static bool is_candidate(const struct beam *b, double total)
{
    return total > ZERO &&
           (b->heap_count < b->s->width || total > total_at(b, 0));
}

/* Child `label` of the node that grows. */
static enum tfd_code grow_child(struct beam *b, int32_t label, double all,
                                struct tfd_status *st)
{
    const struct node *parent = &b->node[b->grows];
    int32_t n = b->child_of[label];
    double total;

    if (n != NONE && b->node[n].now.total != ZERO)
        return TFD_OK;
    total = b->row[label] - all +
            (label == parent->label ? parent->last.blank : parent->last.total);
    if (!is_candidate(b, total)) {
        if (n != NONE)
            b->node[n].now = b->node[n].last = no_chance;
        return TFD_OK;
    }
    if (n == NONE) {
        TFD_TRY(add_node(b, b->grows, label, &n, st));
        b->child_of[label] = n;
    }
    b->node[n].now = (struct chances){total, ZERO, total};
    if (b->node[n].at != NONE)
        sink(b, b->node[n].at); /* it has been there with probability 0 */
    else
        push(b, n);
    return TFD_OK;
}

static enum tfd_code grow(struct beam *b, int32_t n, double all,
                          struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    if (!is_candidate(b, b->node[n].last.total))
        return TFD_OK;
    b->grows = n;
    for (int32_t c = b->node[n].child; c != NONE; c = b->node[c].after)
        b->child_of[b->node[c].label] = c;
    for (int32_t i = 0; rc == TFD_OK && i < b->classes - 1; i++)
        rc = grow_child(b, i, all, st);
    for (int32_t c = b->node[n].child; c != NONE; c = b->node[c].after)
        b->child_of[b->node[c].label] = NONE;
    b->grows = NONE;
    return rc;
}

static enum tfd_code step(struct beam *b, int64_t t, struct tfd_status *st)
{
    const double all = read_row(b, t, b->s->inputs->shape.dim[1]);

    sort_beam(b);
    for (int64_t i = 0; i < b->branch_count; i++)
        b->node[b->branch[i]].last = b->node[b->branch[i]].now;
    for (int64_t i = 0; i < b->branch_count; i++) {
        carry_on(b, &b->node[b->branch[i]], all);
        push(b, b->branch[i]);
    }
    for (int64_t i = 0; i < b->branch_count && !tfd_halted(); i++)
        TFD_TRY(grow(b, b->branch[i], all, st));
    for (int64_t i = 0; i < b->branch_count; i++)
        let_go(b, b->branch[i]);
    b->branch_count = 0;
    return TFD_OK;
}

/* ---- What was found ------------------------------------------------------ */

enum tfd_code tfd_ctc_found_new(int64_t paths, int64_t labels,
                                struct tfd_ctc_found *out,
                                struct tfd_status *st)
{
    out->buffer = tfd_buffer_new((size_t)paths * sizeof(*out->length) +
                                 (size_t)labels * sizeof(*out->label));
    if (!out->buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %" PRId64 " decoded labels",
                        labels);
    out->length = out->buffer->data;
    out->label = (int32_t *)(out->length + paths);
    return TFD_OK;
}

/* Writes the labels up to node n, the last first, where to is not NULL; how
 * many there are. */
static int64_t labels_of(const struct beam *b, int32_t n, int32_t *to)
{
    int64_t count = 0;
    int32_t last = NONE;

    for (; b->node[n].parent != NONE; n = b->node[n].parent) {
        if (!b->s->merge || b->node[n].label != last) {
            if (to)
                to[count] = b->node[n].label;
            count++;
        }
        last = b->node[n].label;
    }
    return count;
}

static void turn(int32_t *label, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        const int32_t first = label[i];

        label[i] = label[n - 1 - i];
        label[n - 1 - i] = first;
    }
}

static enum tfd_code collect(struct beam *b, struct tfd_ctc_found *found,
                             double *chance, struct tfd_status *st)
{
    int64_t labels = 0;
    int32_t *to;

    if (b->s->paths > b->heap_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Less leaves in the beam search than requested.");
    sort_beam(b);
    for (int64_t i = 0; i < b->s->paths; i++)
        labels += labels_of(b, b->branch[i], NULL);
    TFD_TRY(tfd_ctc_found_new(b->s->paths, labels, found, st));
    to = found->label;
    for (int64_t i = 0; i < b->s->paths; i++) {
        found->length[i] = labels_of(b, b->branch[i], to);
        turn(to, found->length[i]);
        to += found->length[i];
        chance[i] = b->node[b->branch[i]].now.total;
    }
    return TFD_OK;
}

/* ---- Search -------------------------------------------------------------- */

static enum tfd_code begin(struct beam *b, struct tfd_status *st)
{
    int32_t root;

    b->rows = tfd_buffer_new((size_t)b->classes *
                             (sizeof(*b->row) + sizeof(*b->child_of)));
    if (!b->rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %" PRId64 " classes", b->classes);
    b->row = b->rows->data;
    b->child_of = (int32_t *)(b->row + b->classes);
    for (int64_t i = 0; i < b->classes; i++)
        b->child_of[i] = NONE;
    TFD_TRY(add_node(b, NONE, NONE, &root, st));
    b->node[root].now.total = b->node[root].now.blank = 0;
    push(b, root);
    return TFD_OK;
}

enum tfd_code tfd_ctc_beam(const struct tfd_ctc_search *s,
                           struct tfd_ctc_found *found, double *chance,
                           struct tfd_status *st)
{
    struct beam b = {.s = s,
                     .classes = s->inputs->shape.dim[2],
                     .free = NONE,
                     .grows = NONE};
    enum tfd_code rc = TFD_OK;

    if (s->paths > s->width)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "requested more paths than the beam width.");
    rc = begin(&b, st);
    for (int64_t t = 0; rc == TFD_OK && t < s->steps && !tfd_halted(); t++)
        rc = step(&b, t, st);
    if (rc == TFD_OK && tfd_halted())
        rc = tfd_halt_fail(st);
    if (rc == TFD_OK)
        rc = collect(&b, found, chance, st);
    tfd_buffer_unref(b.nodes);
    tfd_buffer_unref(b.lists);
    tfd_buffer_unref(b.rows);
    return rc;
}
