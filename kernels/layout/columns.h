/*
 * columns.h - matrices of few and narrow columns taken apart and put together:
 * what Split, Unpack, Pack and ConcatV2 along the last axis do where every part
 * has one number of each row.
 *
 *     whole   a0 b0 c0 d0  a1 b1 c1 d1  a2 ...
 *     part    a0 a1 a2 ... | b0 b1 b2 ... | c0 ... | d0 ...
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_COLUMNS_H
#define TFD_KERNELS_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#define TFD_COLUMNS_MAX 8

/* `count` columns of `size` bytes each, `rows` of them; the places may be
 * anywhere in memory, and do not overlap. */
struct tfd_columns {
    int count;
    int64_t size, rows;
    char *whole, *part[TFD_COLUMNS_MAX];
};

/* Whether there are loops for so many columns of a size: 2, 4 and 8 of 1, 2, 4
 * and 8 bytes. */
bool tfd_columns_have(int count, int64_t size);

/* The whole into its parts, and the parts into the whole. */
void tfd_columns_part(const struct tfd_columns *c);
void tfd_columns_join(const struct tfd_columns *c);

#endif
