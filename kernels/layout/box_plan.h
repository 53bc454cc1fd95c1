/*
 * box_plan.h - how a box (box.h) is copied: for box.c alone.
 *
 * A plan is a nest of two dimensions, the rows and the elements of a row, that
 * a loop of box_loops.c copies, and counters around it: of the other
 * dimensions, and of the pieces into which those two are cut, so that a nest
 * fits the first cache and a long row can be shared among threads.
 *
 * Threads: any; a plan is only read once it is made.
 */
#ifndef TFD_KERNELS_BOX_PLAN_H
#define TFD_KERNELS_BOX_PLAN_H

#include "kernels/layout/box.h"
#include "kernels/layout/box_loops.h"

#define TFD_BOX_NEST_SIZE 16384 /* bytes of a nest's rows, if they are many */

struct tfd_box_counter {
    int64_t end, to, from;
    int64_t *cut; /* NULL, or the nest's number of which this counts pieces */
    int64_t whole, piece;
};

struct tfd_box_plan {
    struct tfd_box box;
    struct tfd_box_nest nest;
    tfd_box_loop *loop;
    char *to;
    const char *from;
    int counters;
    struct tfd_box_counter counter[TFD_BOX_RANK_MAX + 2];
    int64_t units; /* nests, in all */
    int row;       /* which dimension the rows are; -1: there is one row */
    bool turns;
    bool splits;   /* into few rows, of which every nest has all */
    bool repeats;  /* one row, again and again, one behind the other */
    bool gathers;  /* nests are made in a near place and copied from there */
    int64_t asked; /* bytes of a nest that are asked for before it is its turn,
                      from where it begins to be read plus asked_at */
    int64_t asked_at;
};

int64_t tfd_box_bytes(const struct tfd_box *b);

/* Of a box that has elements.  `to` and `from` are where its first element is
 * copied to and from; `threads` copy it at once, or fewer. */
void tfd_box_plan_make(struct tfd_box_plan *p, const struct tfd_box *b,
                       void *to, const void *from, int threads);

#endif
