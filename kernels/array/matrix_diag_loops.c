/*
 * matrix_diag_loops.c - see matrix_diag_loops.h.
 */
#include "kernels/array/matrix_diag_loops.h"

#include "common/thread/halt.h"

#include <limits.h>
#include <string.h>

struct job {
    struct tfd_matrix_diag_copy c;
    const char *from;                    /* NULL: of no other matrices */
    size_t size, row, matrix, diagonals; /* bytes */
};

static int64_t positive(int64_t d)
{
    return d > 0 ? d : 0;
}

int64_t tfd_matrix_diag_length(const struct tfd_matrix_diag *b, int64_t d)
{
    const int64_t rows = b->rows - positive(-d);
    const int64_t columns = b->columns - positive(d);

    return rows < columns ? rows : columns;
}

/* ---- Elements ------------------------------------------------------------ */

/* n elements whose distances are in bytes. */
#define STRIDED(bits)                                                     \
    static void copy_##bits(char *to, size_t to_step, const char *from,   \
                            size_t from_step, int64_t n)                  \
    {                                                                     \
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) \
            memcpy(to, from, (bits) / 8);                                 \
    }

STRIDED(8)
STRIDED(16)
STRIDED(32)
STRIDED(64)
STRIDED(128)

static void copy_elements(size_t size, char *to, size_t to_step,
                          const char *from, size_t from_step, int64_t n)
{
    if (size == 4)
        copy_32(to, to_step, from, from_step, n);
    else if (size == 8)
        copy_64(to, to_step, from, from_step, n);
    else if (size == 2)
        copy_16(to, to_step, from, from_step, n);
    else if (size == 1)
        copy_8(to, to_step, from, from_step, n);
    else
        copy_128(to, to_step, from, from_step, n);
}

static void copy_band(const struct job *j, char *matrix, char *diagonals)
{
    const struct tfd_matrix_diag *b = j->c.band;
    const size_t step = j->row + j->size;

    for (int64_t d = b->upper; d >= b->lower && !tfd_halted(); d--) {
        const int64_t length = tfd_matrix_diag_length(b, d);
        const bool left =
            (d >= 0 && b->upper_left) || (d <= 0 && b->lower_left);
        const int64_t at =
            (b->upper - d) * b->length + (left ? 0 : b->length - length);
        char *in = diagonals + (size_t)at * j->size;
        char *out = matrix + (size_t)positive(-d) * j->row +
                    (size_t)positive(d) * j->size;

        if (j->c.to_matrices)
            copy_elements(j->size, out, step, in, j->size, length);
        else
            copy_elements(j->size, in, j->size, out, step, length);
    }
}

/* ---- Matrices ------------------------------------------------------------ */

static struct job job_of(const struct tfd_matrix_diag_copy *c, const void *from)
{
    const struct tfd_matrix_diag *b = c->band;
    struct job j = {.c = *c, .from = from, .size = tfd_dtype_size(c->dtype)};

    j.row = (size_t)b->columns * j.size;
    j.matrix = (size_t)b->rows * j.row;
    j.diagonals = (size_t)((b->upper - b->lower + 1) * b->length) * j.size;
    return j;
}

static void copy_matrices(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        char *matrix = (char *)j->c.matrices + (size_t)i * j->matrix;

        if (j->from)
            memcpy(matrix, j->from + (size_t)i * j->matrix, j->matrix);
        copy_band(j, matrix, (char *)j->c.diagonals + (size_t)i * j->diagonals);
    }
}

static void copy_diagonals(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    if (!tfd_halted())
        memcpy((char *)j->c.matrices + (size_t)begin * j->row,
               j->from + (size_t)begin * j->row,
               (size_t)(end - begin) * j->row);
}

static int at_most(size_t bytes)
{
    return bytes < INT_MAX ? (int)bytes : INT_MAX;
}

void tfd_matrix_diag_copy(struct tfd_kctx *k,
                          const struct tfd_matrix_diag_copy *c)
{
    struct job j = job_of(c, NULL);

    tfd_kctx_parallel_bytes(k, c->count, at_most(2 * j.diagonals),
                            copy_matrices, &j);
}

void tfd_matrix_diag_set(struct tfd_kctx *k,
                         const struct tfd_matrix_diag_copy *c, const void *from)
{
    struct job j = job_of(c, from == c->matrices ? NULL : from);

    if (!j.from) {
        tfd_matrix_diag_copy(k, c);
        return;
    }
    if (c->count == 1) { /* large, if anything */
        tfd_kctx_parallel_bytes(k, c->band->rows, at_most(2 * j.row),
                                copy_diagonals, &j);
        j.from = NULL;
    }
    tfd_kctx_parallel_bytes(k, c->count, at_most(2 * j.matrix), copy_matrices,
                            &j);
}
