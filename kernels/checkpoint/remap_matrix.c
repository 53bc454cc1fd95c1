/*
 * remap_matrix.c - LoadAndRemapMatrix: rows and columns of a matrix in a
 * checkpoint in another order; what there was none of is given.
 *
 * Of the old matrix the rows from the first to the last that is wanted are
 * read, at most max_rows_in_memory at a time.
 */
#include "common/thread/halt.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"

#include <stdlib.h>
#include <string.h>

enum { PATH, NAME, ROWS, COLUMNS, INITIAL };

struct state {
    int64_t rows, columns, rows_max;
};

/* A new row, by the old one it comes from. */
struct row {
    int64_t from, to;
};

struct remap {
    const struct state *s;
    struct tfd_str name;
    const int64_t *columns; /* NULL: as they are */
    struct row *rows;       /* by `from` */
    int64_t row_count;
    const float *initial;
    int64_t initial_count, used;
    struct tfd_shape old; /* of the matrix in the checkpoint */
    float *y;
};

static enum tfd_code matrix_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(tfd_node_int(p->node, "num_rows", &s->rows, st));
    TFD_TRY(tfd_node_int(p->node, "num_cols", &s->columns, st));
    return tfd_node_int(p->node, "max_rows_in_memory", &s->rows_max, st);
}

/* ---- What comes from where ----------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* The new places of what has an old one, by that; NULL without memory. */
static enum tfd_code sort_places(const struct tfd_tensor *t, struct row **out,
                                 int64_t *count, struct tfd_status *st)
{
    const int64_t *old = tfd_tensor_data(t);
    int64_t n = tfd_tensor_elements(t), have = 0;
    struct row *rows = malloc(((size_t)n + 1) * sizeof(*rows));

    if (!rows)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %lld places",
                        (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (old[i] >= 0)
            rows[have++] = (struct row){old[i], i};
    qsort(rows, (size_t)have, sizeof(*rows), compare_rows);
    *out = rows;
    *count = have;
    for (int64_t i = 1; i < have; i++)
        if (rows[i].from == rows[i - 1].from)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "Old ID %lld is mapped to both new ID %lld and "
                            "%lld, which is not supported.",
                            (long long)rows[i].from, (long long)rows[i - 1].to,
                            (long long)rows[i].to);
    return TFD_OK;
}

static enum tfd_code check_counts_of(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    const struct state *s = k->state;
    int64_t rows = tfd_tensor_elements(&k->in[ROWS]);
    int64_t columns = tfd_tensor_elements(&k->in[COLUMNS]);

    if (rows != s->rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Size of row_remapping is %lld instead of being equal "
                        "to num_rows=%lld",
                        (long long)rows, (long long)s->rows);
    if (columns > 0 && columns != s->columns)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Provided col_remapping, but its size is %lld instead "
                        "of being equal to num_cols=%lld",
                        (long long)columns, (long long)s->columns);
    return TFD_OK;
}

static enum tfd_code check_columns(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    struct row *places = NULL;
    int64_t count;
    enum tfd_code rc = sort_places(&k->in[COLUMNS], &places, &count, st);

    free(places);
    return rc;
}

/* The old matrix is one, of floats, and has the columns that are asked for; of
 * one that it has not TensorFlow takes what lies in memory there. */
static enum tfd_code check_matrix(const struct remap *m,
                                  const struct tfd_bundle_entry *e,
                                  struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    (void)tfd_shape_text(&e->shape, text);
    if (e->dtype != TFD_FLOAT)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor " TFD_STR_FMT
                        " has invalid type %s instead of expected type float",
                        TFD_STR_ARG(m->name), tfd_dtype_name((int)e->dtype));
    if (e->shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor " TFD_STR_FMT
                        " has shape %s of invalid rank %d instead of expected "
                        "shape of rank 2.",
                        TFD_STR_ARG(m->name), text, e->shape.rank);
    if (!m->columns && e->shape.dim[1] != m->s->columns)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor " TFD_STR_FMT
                        " has shape %s, where the size of its 2nd dimension is "
                        "%lld instead of being equal to num_cols=%lld",
                        TFD_STR_ARG(m->name), text, (long long)e->shape.dim[1],
                        (long long)m->s->columns);
    for (int64_t i = 0; m->columns && i < m->s->columns; i++)
        if (m->columns[i] >= e->shape.dim[1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "col_remapping has %lld, but tensor " TFD_STR_FMT
                            " has shape %s",
                            (long long)m->columns[i], TFD_STR_ARG(m->name),
                            text);
    return TFD_OK;
}

/* ---- Filling ------------------------------------------------------------- */

/* Missing elements wait for the values that are given, which go by place. */
static void copy_row(const struct remap *m, const float *from, float *to)
{
    for (int64_t i = 0; m->columns && i < m->s->columns; i++)
        if (m->columns[i] >= 0)
            to[i] = from[m->columns[i]];
    if (!m->columns)
        memcpy(to, from, (size_t)m->s->columns * sizeof(*to));
}

/* Old rows [begin, begin + count), and the new ones that are made of them. */
static enum tfd_code fill_from(const struct remap *m,
                               struct tfd_bundle_reader *r, int64_t begin,
                               int64_t count, int64_t *next,
                               struct tfd_status *st)
{
    struct tfd_tensor_slice slice = tfd_tensor_slice_all(2);
    struct tfd_tensor part = TFD_TENSOR_INIT;
    struct tfd_shape piece;
    const float *old;

    slice.start[0] = begin;
    slice.length[0] = count;
    TFD_TRY(tfd_tensor_slice_shape(&slice, &m->old, &piece, st));
    TFD_TRY(tfd_bundle_reader_read(r, m->name, &slice, &part, st));
    old = tfd_tensor_data(&part);
    for (; *next < m->row_count && m->rows[*next].from < begin + count;
         ++*next) {
        const struct row *row = &m->rows[*next];

        copy_row(m, old + (row->from - begin) * part.shape.dim[1],
                 m->y + row->to * m->s->columns);
    }
    tfd_tensor_unref(&part);
    return TFD_OK;
}

static enum tfd_code fill_rows(const struct remap *m,
                               struct tfd_bundle_reader *r,
                               struct tfd_status *st)
{
    int64_t next = 0, at, last;

    if (m->row_count == 0)
        return TFD_OK;
    last = m->rows[m->row_count - 1].from;
    for (at = m->rows[0].from; at <= last;) {
        int64_t count;

        if (tfd_halted())
            return tfd_halt_fail(st);
        if (m->rows[next].from > at) /* nobody wants those between */
            at = m->rows[next].from;
        count = last - at;
        count += count < INT64_MAX;
        if (m->s->rows_max > 0 && count > m->s->rows_max)
            count = m->s->rows_max;
        TFD_TRY(fill_from(m, r, at, count, &next, st));
        at += count;
    }
    return TFD_OK;
}

static enum tfd_code fill_missing(struct remap *m, const int64_t *rows,
                                  struct tfd_status *st)
{
    for (int64_t i = 0; i < m->s->rows * m->s->columns; i++) {
        int64_t column = i % m->s->columns;

        if (rows[i / m->s->columns] >= 0 &&
            (!m->columns || m->columns[column] >= 0))
            continue;
        if (m->used == m->initial_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "initializing_values contained %lld elements, but "
                            "more missing values remain.",
                            (long long)m->initial_count);
        m->y[i] = m->initial[m->used++];
    }
    if (m->used == m->initial_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "initializing_values contained %lld elements, but only "
                    "%lld elements were used to fill in missing values.",
                    (long long)m->initial_count, (long long)m->used);
}

/* ---- The operation ------------------------------------------------------- */

static enum tfd_code remap_from(struct tfd_kctx *k, struct remap *m,
                                struct tfd_bundle_reader *r,
                                struct tfd_status *st)
{
    const int64_t dim[] = {m->s->rows, m->s->columns};
    struct tfd_bundle_entry e;
    struct tfd_shape shape;

    TFD_TRY(tfd_bundle_reader_find(r, m->name, &e, st));
    TFD_TRY(check_matrix(m, &e, st));
    m->old = e.shape;
    TFD_TRY(tfd_shape_make(&shape, dim, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &shape, st));
    m->y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(fill_rows(m, r, st));
    return fill_missing(m, tfd_tensor_data(&k->in[ROWS]), st);
}

static enum tfd_code remap_checkpoint(struct tfd_kctx *k, struct remap *m,
                                      struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_bundle_reader r;
    struct tfd_str path;
    enum tfd_code rc;

    path = tfd_tstring_view(tfd_tensor_data(&k->in[PATH]));
    TFD_TRY(check_columns(k, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(tfd_bundle_reader_open(&r, access, path, st));
    rc = remap_from(k, m, &r, st);
    tfd_bundle_reader_close(&r);
    return rc;
}

static enum tfd_code matrix_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct remap m = {
        .s = k->state,
        .name = tfd_tstring_view(tfd_tensor_data(&k->in[NAME])),
        .initial = tfd_tensor_data(&k->in[INITIAL]),
        .initial_count = tfd_tensor_elements(&k->in[INITIAL]),
    };
    enum tfd_code rc;

    TFD_TRY(check_counts_of(k, st));
    if (tfd_tensor_elements(&k->in[COLUMNS]) > 0)
        m.columns = tfd_tensor_data(&k->in[COLUMNS]);
    rc = sort_places(&k->in[ROWS], &m.rows, &m.row_count, st);
    if (rc == TFD_OK)
        rc = remap_checkpoint(k, &m, st);
    free(m.rows);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code matrix_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    s->out[0] = (struct tfd_shape){2, {0, 0}};
    TFD_TRY(tfd_node_int(s->node, "num_rows", &s->out[0].dim[0], st));
    return tfd_node_int(s->node, "num_cols", &s->out[0].dim[1], st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "LoadAndRemapMatrix",
        .inputs = "ckpt_path: string, old_tensor_name: string, "
                  "row_remapping: int64, col_remapping: int64, "
                  "initializing_values: float",
        .outputs = "output_matrix: float",
        .attrs = "num_rows: int >= 0; num_cols: int >= 1; "
                 "max_rows_in_memory: int = -1",
        .checks =
            "row_remapping: vector 'The `row_remapping` tensor must be 1-D, "
            "got a tensor of shape %s'; col_remapping: vector 'The "
            "`col_remapping` tensor must be 1-D, got a tensor of shape %s'; "
            "ckpt_path: one 'The `ckpt_path` tensor must have exactly one "
            "element, got tensor of shape %s'; old_tensor_name: one; "
            "initializing_values: vector",
        .shape = matrix_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY(
        "LoadAndRemapMatrix", matrix_compute, .prepare = matrix_prepare,
        .state_size = sizeof(struct state), .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_remap_matrix = {
    .name = "remap_matrix",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
