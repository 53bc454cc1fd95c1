/*
 * chosen_rows.h - rows of bytes, each from one of two sides, as a condition
 * says: what Select and SelectV2 do where conditions are a vector.
 *
 *     to[i] = c[i] ? yes[i] : no[i]
 *
 * Threads: any; each has its own range of rows.
 */
#ifndef TFD_KERNELS_CHOSEN_ROWS_H
#define TFD_KERNELS_CHOSEN_ROWS_H

#include "kernels/core/kernel.h"

/* Steps are from one row to the next: 0 where all have the same one, and but
 * for c in bytes.  The result may lie where one of the sides does. */
struct tfd_chosen_rows {
    const tfd_bool *c;
    const char *yes, *no;
    char *to;
    int64_t c_step;
    size_t yes_step, no_step;
    size_t size;   /* of a row */
    int64_t count; /* of all rows, those of other threads too */
};

/* Of a struct tfd_chosen_rows. */
void tfd_chosen_rows_take(const struct tfd_chosen_rows *rows, int64_t begin,
                          int64_t end);

#endif
