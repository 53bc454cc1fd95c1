/*
 * box_loops.h - chooses the loop that copies the innermost two dimensions of a
 * box (box.h), by the size of elements and by how they lie in both places.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_BOX_LOOPS_H
#define TFD_KERNELS_BOX_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* `rows` times `count` elements; all strides are bytes. */
struct tfd_box_nest {
    int64_t rows, row_to, row_from;
    int64_t count, to, from;
    /* For loops whose rows are several runs each: how many, and the bytes from
     * one to the next. */
    int64_t runs, run_to, run_from;
    /* All of the box is more than the caches hold; for loops that turn, the
     * nest after this one lies so many bytes further. */
    bool far;
    bool before, after; /* its rows have begun before it, go on behind it */
    int64_t next_to, next_from;
};

typedef void tfd_box_loop(const struct tfd_box_nest *n, char *to,
                          const char *from);

/* For elements of `size` bytes: 1, 2, 4, 8 or 16.  How they lie is said by the
 * strides of the nest that the loop is for. */
tfd_box_loop *tfd_box_loop_of(const struct tfd_box_nest *n, int64_t size);

/* For nests whose elements lie one after the other in each of the rows that
 * are written, and in each of the columns that are read. */
tfd_box_loop *tfd_box_turn_of(int64_t size);
/* The same for boxes that come from memory and of which not all rows begin with
 * a line where they are written: they go past the caches as well. */
tfd_box_loop *tfd_box_parts_of(int64_t size);
/* The same where either the rows are fewer than tfd_box_turn_least(), or the
 * columns, whose rows then lie one behind the other; columns are read forwards.
 * Of 8 bytes: three rows, columns one behind the other.  NULL where no loop is
 * better than one for any strides. */
tfd_box_loop *tfd_box_few_of(int64_t size);
/* Elements along each side of a block that such a loop turns at once: at most,
 * and at least. */
int64_t tfd_box_turn_edge(int64_t size);
/* So many times as many columns fit a block of so many times fewer rows. */
#define TFD_BOX_TURN_WIDE 4
int64_t tfd_box_turn_least(int64_t size);
/* After the last of several nests that are far. */
void tfd_box_turn_end(void);

#endif
