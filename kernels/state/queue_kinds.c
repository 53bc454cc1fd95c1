/*
 * queue_kinds.c - how each kind of queue keeps its rows.
 *
 * First in, first out is a ring.  The random kind takes the row at a random
 * index and moves the last one there; its numbers are TensorFlow's, one 32-bit
 * number for each row, four of a block in their order, so that a seed gives the
 * same order here.
 *
 * The priority kind is a binary heap.  Rows of one priority come out in the
 * order that C++'s std::push_heap and std::pop_heap give them in TensorFlow:
 * the gap at the root sinks along the smaller children to a leaf (the right one
 * of equals), and the last row then rises from there.
 */
#include "kernels/state/queue_core.h"

static struct tfd_queue_slot *at(struct tfd_queue *q, int64_t i)
{
    return &q->rows[(q->head + i) & (q->room - 1)];
}

static struct tfd_queue_slot queue_slot(struct tfd_queue_row *row)
{
    return (struct tfd_queue_slot){row, row->priority};
}

/* ---- First in, first out ------------------------------------------------- */

static void push_back(struct tfd_queue *q, struct tfd_queue_row *take_row)
{
    *at(q, q->count++) = queue_slot(take_row);
}

static void push_front(struct tfd_queue *q, struct tfd_queue_row *take_row)
{
    q->head = (q->head + q->room - 1) & (q->room - 1);
    q->count++;
    *at(q, 0) = queue_slot(take_row);
}

static struct tfd_queue_row *pop_front(struct tfd_queue *q)
{
    struct tfd_queue_row *row = at(q, 0)->row;

    q->head = (q->head + 1) & (q->room - 1);
    q->count--;
    return row;
}

const struct tfd_queue_kind tfd_queue_fifo = {
    .name = "FIFOQueue",
    .base = "FIFOQueue",
    .put = push_back,
    .take = pop_front,
    .put_back = push_front,
};

const struct tfd_queue_kind tfd_queue_padding = {
    .name = "PaddingFIFOQueue",
    .base = "FIFOQueue",
    .put = push_back,
    .take = pop_front,
    .put_back = push_front,
    .padding = true,
};

/* ---- Random -------------------------------------------------------------- */

static uint32_t draw(struct tfd_queue *q)
{
    if (q->drawn_used == 4) {
        tfd_philox_next(&q->random, q->drawn);
        q->drawn_used = 0;
    }
    return q->drawn[q->drawn_used++];
}

static struct tfd_queue_row *take_any(struct tfd_queue *q)
{
    struct tfd_queue_slot *place = at(q, (int64_t)draw(q) % q->count);
    struct tfd_queue_row *row = place->row;

    *place = *at(q, --q->count);
    return row;
}

const struct tfd_queue_kind tfd_queue_random = {
    .name = "RandomShuffleQueue",
    .base = "RandomShuffleQueue",
    .put = push_back,
    .take = take_any,
    .put_back = push_back,
};

/* ---- Priority ------------------------------------------------------------ */

/* A row looks for its place, from a gap upwards. */
static void rise(struct tfd_queue *q, int64_t gap, struct tfd_queue_slot slot)
{
    while (gap > 0) {
        int64_t parent = (gap - 1) / 2;

        if (at(q, parent)->priority <= slot.priority)
            break;
        *at(q, gap) = *at(q, parent);
        gap = parent;
    }
    *at(q, gap) = slot;
}

static void put_by_priority(struct tfd_queue *q, struct tfd_queue_row *take_row)
{
    rise(q, q->count++, queue_slot(take_row));
}

static struct tfd_queue_row *take_first(struct tfd_queue *q)
{
    struct tfd_queue_slot first = *at(q, 0), last = *at(q, q->count - 1);
    int64_t gap = 0, n = --q->count;

    while (2 * gap + 1 < n) {
        int64_t child = 2 * gap + 2;

        if (child == n || at(q, child)->priority > at(q, child - 1)->priority)
            child--;
        *at(q, gap) = *at(q, child);
        gap = child;
    }
    if (n > 0)
        rise(q, gap, last);
    return first.row;
}

const struct tfd_queue_kind tfd_queue_priority = {
    .name = "PriorityQueue",
    .base = "PriorityQueue",
    .put = put_by_priority,
    .take = take_first,
    .put_back = put_by_priority,
    .whole = true,
};
