/* csr_flip.c - see csr_flip.h. */
#include "kernels/csr/csr_flip.h"

#include "kernels/sparse/sparse_pick.h"

#include <string.h>

struct tfd_csr tfd_csr_of_parts(const struct tfd_csr_parts *p)
{
    const struct tfd_tensor *t = p->t;
    const int64_t *dim = tfd_tensor_data(&t[TFD_CSR_DIMS]);
    int rank = (int)t[TFD_CSR_DIMS].shape.dim[0];

    return (struct tfd_csr){
        .part = t,
        .rank = rank,
        .dim = dim,
        .batch = rank == 2 ? 1 : dim[0],
        .rows = dim[rank - 2],
        .columns = dim[rank - 1],
        .count = tfd_tensor_elements(&t[TFD_CSR_VALUES]),
        .batch_at = tfd_tensor_data(&t[TFD_CSR_BATCHES]),
        .row_at = tfd_tensor_data(&t[TFD_CSR_ROWS]),
        .column = tfd_tensor_data(&t[TFD_CSR_COLUMNS]),
        .values = tfd_tensor_data(&t[TFD_CSR_VALUES]),
        .dtype = t[TFD_CSR_VALUES].dtype,
        .size = tfd_dtype_size(t[TFD_CSR_VALUES].dtype),
    };
}

/* One matrix: row_at has room for a number more than there are columns, all 0;
 * next, for one each. */
static void flip_one(const struct tfd_csr_one *x, size_t size, int32_t *row_at,
                     int32_t *next, int32_t *column, char *values)
{
    for (int64_t i = 0; i < x->count; i++)
        row_at[x->column[i] + 1]++;
    tfd_csr_sum_rows(row_at, x->columns);
    memcpy(next, row_at, (size_t)x->columns * sizeof(*next));
    for (int64_t r = 0; r < x->rows; r++)
        for (int32_t i = x->row_at[r]; i < x->row_at[r + 1]; i++) {
            int32_t to = next[x->column[i]]++;

            column[to] = (int32_t)r;
            memcpy(values + (size_t)to * size, x->values + (size_t)i * size,
                   size);
        }
}

static enum tfd_code flip_all(const struct tfd_csr *m, struct tfd_csr_parts *p,
                              struct tfd_status *st)
{
    int32_t *row_at = tfd_tensor_data(&p->t[TFD_CSR_ROWS]);
    int32_t *column = tfd_tensor_data(&p->t[TFD_CSR_COLUMNS]);
    char *values = tfd_tensor_data(&p->t[TFD_CSR_VALUES]);
    struct tfd_tensor next = TFD_TENSOR_INIT;

    TFD_TRY(tfd_sparse_numbers(&next, m->columns, st));
    for (int64_t b = 0; b < m->batch && m->count > 0; b++) {
        struct tfd_csr_one x = tfd_csr_at(m, b);
        int64_t first = m->batch_at[b];

        if (tfd_halted())
            break;
        if (x.count > 0)
            flip_one(&x, m->size, row_at + b * (m->columns + 1),
                     tfd_tensor_data(&next), column + first,
                     values + first * (int64_t)m->size);
    }
    tfd_tensor_unref(&next);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

enum tfd_code tfd_csr_flip(const struct tfd_csr *m, bool conjugate,
                           struct tfd_csr_parts *out, struct tfd_status *st)
{
    int64_t dim[3] = {m->dim[0], 0, 0};

    dim[m->rank - 2] = m->columns;
    dim[m->rank - 1] = m->rows;
    TFD_TRY(tfd_csr_parts_new(out, dim, m->rank, m->count, m->dtype, st));
    tfd_tensor_unref(&out->t[TFD_CSR_BATCHES]);
    out->t[TFD_CSR_BATCHES] = tfd_tensor_ref(&m->part[TFD_CSR_BATCHES]);
    TFD_TRY(flip_all(m, out, st));
    if (conjugate)
        tfd_csr_conjugate(m->dtype, tfd_tensor_data(&out->t[TFD_CSR_VALUES]),
                          m->count);
    return TFD_OK;
}
