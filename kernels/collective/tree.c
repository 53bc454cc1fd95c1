/*
 * tree.c - a broadcast: first from the source to one device of each other task,
 * then from that one to the others of its task, each along a binary tree.
 *
 *     among tasks (subdivision 0)      within task t (subdivision t + 1)
 *     source --> first of task 1       its holder --> the next two
 *            --> first of task 2                  --> ...
 *
 * With one task there is only the second kind, as subdivision 0.  A tree is of
 * ranks within it: rank r sends to 2r+1 and 2r+2.  Where the source is not rank
 * 0 it is thought before all others and still at its own place: everybody's
 * number is one more, and the source sends to 0 and 1 as well.
 *
 * Source of shape and keys: TensorFlow's hierarchical tree.
 */
#include "kernels/collective/collective_state.h"
#include "kernels/core/runtime.h"

#include <stdio.h>
#include <string.h>

struct tree {
    int number; /* of the subdivision, in keys */
    int size;
    int rank;   /* ours in it; -1: we are not in it */
    int source; /* a rank in it */
    bool among_tasks;
    int first; /* of the task, within one: its first rank */
};

struct broadcast {
    struct tfd_collective *c;
    struct tfd_kctx *k;
    int size, tasks;
    struct tfd_tensor value; /* once it is there */
};

static int first_of_task(const struct broadcast *b, int task)
{
    int rank = 0;

    while (tfd_collective_task(b->c, rank) != task)
        rank++;
    return rank;
}

/* The rank in the group that holds the value in this task, before those of its
 * task get it. */
static int holder_of(const struct broadcast *b, int task)
{
    const int source = tfd_collective_source(b->c);

    return tfd_collective_task(b->c, source) == task ? source
                                                     : first_of_task(b, task);
}

static int group_rank(const struct broadcast *b, const struct tree *t, int rank)
{
    return t->among_tasks ? holder_of(b, rank) : t->first + rank;
}

static enum tfd_code receive(struct broadcast *b, const struct tree *t,
                             struct tfd_status *st)
{
    const struct tfd_collective_spec *spec = tfd_collective_spec_of(b->c);
    struct tfd_collective_part *part;
    char tail[TFD_COLLECTIVE_TAIL_MAX];
    int from = t->source == 0 ? (t->rank - 1) / 2 : t->rank / 2 - 1;

    if (from < 0)
        from = t->source;
    snprintf(tail, sizeof(tail), ":%d:%d:%d", t->number, from, t->rank);
    TFD_TRY(tfd_collective_ask(b->c, group_rank(b, t, from), tail,
                               tfd_shape_elements(&spec->shape), &part, st));
    tfd_tensor_unref(&b->value);
    return tfd_collective_wait(b->c, part, &b->value, st);
}

static enum tfd_code send_to(struct broadcast *b, const struct tree *t, int to,
                             struct tfd_status *st)
{
    char tail[TFD_COLLECTIVE_TAIL_MAX];

    snprintf(tail, sizeof(tail), ":%d:%d:%d", t->number, t->rank, to);
    return tfd_collective_send(b->c, tail, &b->value, st);
}

static enum tfd_code forward(struct broadcast *b, const struct tree *t,
                             struct tfd_status *st)
{
    const int next = t->source == 0 ? 2 * t->rank + 1 : 2 * (t->rank + 1);

    if (t->rank == t->source && t->source != 0) {
        TFD_TRY(send_to(b, t, 0, st));
        if (t->size > 2 && t->source != 1)
            TFD_TRY(send_to(b, t, 1, st));
    }
    for (int to = next; to < next + 2 && to < t->size; to++)
        if (to != t->source)
            TFD_TRY(send_to(b, t, to, st));
    return TFD_OK;
}

static enum tfd_code run_tree(struct broadcast *b, const struct tree *t,
                              struct tfd_status *st)
{
    if (t->rank != t->source)
        TFD_TRY(receive(b, t, st));
    return forward(b, t, st);
}

static enum tfd_code run_trees(struct broadcast *b, struct tfd_status *st)
{
    const int rank = tfd_collective_rank(b->c);
    const int task = tfd_collective_task(b->c, rank);
    struct tree within = {.number = b->tasks > 1 ? task + 1 : 0};

    if (b->tasks > 1 && rank == holder_of(b, task)) {
        const struct tree among = {
            .size = b->tasks,
            .rank = task,
            .source = tfd_collective_task(b->c, tfd_collective_source(b->c)),
            .among_tasks = true,
        };

        TFD_TRY(run_tree(b, &among, st));
    }
    within.first = first_of_task(b, task);
    within.rank = rank - within.first;
    within.source = holder_of(b, task) - within.first;
    for (int i = within.first;
         i < b->size && tfd_collective_task(b->c, i) == task; i++)
        within.size++;
    return run_tree(b, &within, st);
}

enum tfd_code tfd_collective_broadcast(struct tfd_collective *c,
                                       struct tfd_status *st)
{
    const struct tfd_collective_spec *spec = tfd_collective_spec_of(c);
    struct broadcast b = {
        .c = c, .k = tfd_collective_kctx(c), .size = spec->group_size};
    enum tfd_code rc;

    b.tasks = tfd_collective_task(c, b.size - 1) + 1;
    if (spec->is_source)
        b.value = tfd_tensor_ref(&b.k->in[0]);
    rc = run_trees(&b, st);
    if (rc == TFD_OK) {
        b.value.shape = spec->shape;
        b.k->out[0] = b.value;
        return TFD_OK;
    }
    tfd_tensor_unref(&b.value);
    return rc;
}
