/*
 * sparse_segment_back.c - the sums of the gradients of SparseSegment<X>: row r
 * is the sum of grad[segment_ids[i]] over the i with indices[i] = r, in their
 * order.
 *
 * Indices come in any order.  Short rows of floats are added where they go; for
 * others the picks are sorted, so that threads share the rows, and 16-bit
 * floats are added as floats.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/layout/rows.h"
#include "kernels/sparse/sparse_segment_sums.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Groups -------------------------------------------------------------- */

static void sum_groups(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_segment_sums *f = arg;

    for (int64_t g = begin; g < end; g++)
        f->sum(&f->picks, f->group[g], f->group[g + 1], f->list[f->group[g]].to,
               tfd_segment_scale(f->norm, f->group[g + 1] - f->group[g]));
}

/* Output 0, which stays zero where nothing goes. */
static enum tfd_code run_groups(struct tfd_kctx *k, struct tfd_segment_sums *f,
                                int64_t rows, struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0];
    int64_t elements, each;

    f->rows = rows;
    TFD_TRY(tfd_segment_sums_output(k, f, st));
    elements = tfd_tensor_elements(y);
    if (elements && f->groups < rows)
        tfd_elements_zero(y->dtype, tfd_tensor_data(y), elements);
    if (!f->groups || !elements)
        return TFD_OK;
    each = f->count / f->groups;
    tfd_kctx_parallel(
        k, f->groups,
        (each < 100000 ? (int)each : 100000) * tfd_segment_row_cost(f) + 5,
        sum_groups, f);
    return TFD_OK;
}

static int compare_picks(const void *a, const void *b)
{
    const struct tfd_pick *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Rows are counted where they are not many more than the picks. */
static bool few_rows(const struct tfd_segment_sums *f, int64_t rows)
{
    return rows / 8 <= f->count;
}

/* A counting sort, which keeps the order of picks that go to one row. */
static enum tfd_code count_sort(struct tfd_segment_sums *f, int64_t rows,
                                struct tfd_status *st)
{
    int64_t *place = calloc((size_t)rows + 1, sizeof(*place));
    struct tfd_pick *sorted = malloc((size_t)f->count * sizeof(*sorted));

    if (!place || !sorted) {
        free(place);
        free(sorted);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to sort %" PRId64 " indices of %" PRId64
                        " rows",
                        f->count, rows);
    }
    for (int64_t i = 0; i < f->count; i++)
        place[f->list[i].to + 1]++;
    for (int64_t r = 0; r < rows; r++)
        place[r + 1] += place[r];
    for (int64_t i = 0; i < f->count; i++)
        sorted[place[f->list[i].to]++] = f->list[i];
    free(place);
    free(f->list);
    f->list = sorted;
    return TFD_OK;
}

/* Sorts the picks, which go to so many rows, where they are not sorted, and
 * finds the groups. */
static enum tfd_code group_picks(struct tfd_segment_sums *f, int64_t rows,
                                 struct tfd_status *st)
{
    bool sorted = true;

    for (int64_t i = 1; i < f->count; i++)
        sorted = sorted && f->list[i - 1].to <= f->list[i].to;
    if (!sorted && few_rows(f, rows))
        TFD_TRY(count_sort(f, rows, st));
    else if (!sorted)
        qsort(f->list, (size_t)f->count, sizeof(*f->list), compare_picks);
    f->groups = 0;
    for (int64_t i = 0; i < f->count; i++)
        if (i == 0 || f->list[i - 1].to != f->list[i].to)
            f->group[f->groups++] = i;
    f->group[f->groups] = f->count;
    return TFD_OK;
}

/* ---- A list of picks ----------------------------------------------------- */

typedef enum tfd_code fold_fn(struct tfd_kctx *k, struct tfd_segment_sums *f,
                              struct tfd_status *st);

static enum tfd_code with_memory(struct tfd_kctx *k, fold_fn *fn,
                                 struct tfd_status *st)
{
    struct tfd_segment_sums f = {.norm =
                                     *(const enum tfd_segment_norm *)k->state};
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    f.count = k->in[1].shape.dim[0];
    f.list = malloc(((size_t)f.count + 1) * sizeof(*f.list));
    f.group = malloc(((size_t)f.count + 1) * sizeof(*f.group));
    rc = f.list && f.group
             ? fn(k, &f, st)
             : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %" PRId64 " indices", f.count);
    free(f.list);
    free(f.group);
    return rc;
}

/* Each pick is weighted by the size of the segment that it comes from. */
static enum tfd_code weigh(struct tfd_segment_sums *f, int64_t segments,
                           struct tfd_status *st)
{
    int64_t *size;

    if (f->norm == TFD_SEGMENT_NORM_SUM || f->count == 0)
        return TFD_OK;
    size = calloc((size_t)segments, sizeof(*size));
    if (!size)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %" PRId64 " segments", segments);
    for (int64_t i = 0; i < f->count; i++)
        size[f->list[i].from]++;
    for (int64_t i = 0; i < f->count; i++)
        f->list[i].weight = tfd_segment_scale(f->norm, size[f->list[i].from]);
    free(size);
    f->norm = TFD_SEGMENT_NORM_SUM;
    return TFD_OK;
}

static enum tfd_code read_backward(struct tfd_kctx *k,
                                   struct tfd_segment_sums *f, int64_t *rows,
                                   struct tfd_status *st)
{
    int64_t limit[2] = {0, k->in[0].shape.dim[0]};

    TFD_TRY(tfd_sparse_segment_rows(k, rows, st));
    limit[0] = *rows;
    for (int64_t i = 0; i < f->count; i++) {
        TFD_TRY(tfd_segment_check_pick(k, false, i, limit, st));
        f->list[i] = (struct tfd_pick){.to = tfd_check_int_at(&k->in[1], i),
                                       .from = tfd_check_int_at(&k->in[2], i),
                                       .at = i,
                                       .weight = 1};
    }
    TFD_TRY(weigh(f, limit[1], st));
    return group_picks(f, *rows, st);
}

static enum tfd_code backward(struct tfd_kctx *k, struct tfd_segment_sums *f,
                              struct tfd_status *st)
{
    int64_t rows;

    TFD_TRY(read_backward(k, f, &rows, st));
    return run_groups(k, f, rows, st);
}

/* Short rows are added where they go, as they come, by one thread: to sort them
 * takes longer than to add them. */
#define SHORT_SIZE 256

static bool adds_in_place(const struct tfd_kctx *k)
{
    const struct tfd_tensor *in = &k->in[0];
    int64_t size = (int64_t)tfd_dtype_size(in->dtype);

    for (int d = 1; d < in->shape.rank; d++)
        size *= in->shape.dim[d];
    return (in->dtype == TFD_FLOAT || in->dtype == TFD_DOUBLE) && size > 0 &&
           size < SHORT_SIZE;
}

static enum tfd_code check_back(struct tfd_kctx *k,
                                const struct tfd_segment_sums *f,
                                struct tfd_status *st)
{
    const int64_t limit[2] = {f->rows, k->in[0].shape.dim[0]};

    if (tfd_rows_bad_in(k, &k->in[1], limit[0]) == f->count &&
        tfd_rows_bad_in(k, &k->in[2], limit[1]) == f->count)
        return TFD_OK;
    for (int64_t i = 0; i < f->count; i++)
        TFD_TRY(tfd_segment_check_pick(k, false, i, limit, st));
    return TFD_OK;
}

/* What each segment's row is multiplied by; *out is NULL where that is 1. */
static enum tfd_code make_weights(const struct tfd_kctx *k,
                                  const struct tfd_segment_sums *f,
                                  double **out, struct tfd_status *st)
{
    const int64_t segments = k->in[0].shape.dim[0];
    int64_t *size;

    *out = NULL;
    if (f->norm == TFD_SEGMENT_NORM_SUM || f->count == 0)
        return TFD_OK;
    size = calloc((size_t)segments, sizeof(*size));
    *out = malloc((size_t)segments * sizeof(**out));
    if (!size || !*out) {
        free(size);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %" PRId64 " segments", segments);
    }
    for (int64_t i = 0; i < f->count; i++)
        size[tfd_segment_id_at(f, i)]++;
    for (int64_t s = 0; s < segments; s++)
        (*out)[s] = tfd_segment_scale(f->norm, size[s]);
    free(size);
    return TFD_OK;
}

static enum tfd_code add_in_place(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_segment_sums f = {.norm =
                                     *(const enum tfd_segment_norm *)k->state};
    double *weight = NULL;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    f.count = k->in[1].shape.dim[0];
    f.ids = tfd_tensor_data(&k->in[2]);
    f.wide_ids = k->in[2].dtype == TFD_INT64;
    TFD_TRY(tfd_sparse_segment_rows(k, &f.rows, st));
    TFD_TRY(check_back(k, &f, st));
    TFD_TRY(tfd_segment_sums_output(k, &f, st));
    tfd_elements_clear(&k->out[0]);
    rc = make_weights(k, &f, &weight, st);
    if (rc == TFD_OK)
        (void)tfd_picks_add(k->in[0].dtype, &(struct tfd_picks_back){
                                                .index = f.picks.index,
                                                .id = f.ids,
                                                .index_type = k->in[1].dtype,
                                                .id_type = k->in[2].dtype,
                                                .weight = weight,
                                                .x = f.picks.x,
                                                .y = f.picks.y,
                                                .count = f.count,
                                                .inner = f.picks.inner});
    free(weight);
    return rc;
}

enum tfd_code tfd_segment_sums_back(struct tfd_kctx *k, struct tfd_status *st)
{
    return adds_in_place(k) ? add_in_place(k, st)
                            : with_memory(k, backward, st);
}

/* The rows that are not zero, and their numbers. */
static enum tfd_code backward_rows(struct tfd_kctx *k,
                                   struct tfd_segment_sums *f,
                                   struct tfd_status *st)
{
    struct tfd_shape vector = {1, {0}};
    int64_t rows;

    TFD_TRY(read_backward(k, f, &rows, st));
    vector.dim[0] = f->groups;
    TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &vector, st));
    for (int64_t g = 0; g < f->groups; g++) {
        int64_t row = f->list[f->group[g]].to;

        if (k->in[1].dtype == TFD_INT32)
            ((int32_t *)tfd_tensor_data(&k->out[1]))[g] = (int32_t)row;
        else
            ((int64_t *)tfd_tensor_data(&k->out[1]))[g] = row;
        f->list[f->group[g]].to = g;
    }
    return run_groups(k, f, f->groups, st);
}

enum tfd_code tfd_segment_sums_back_rows(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    return with_memory(k, backward_rows, st);
}
