/*
 * dynamic_stitch.c - DynamicStitch and ParallelDynamicStitch: rows of several
 * tensors put where lists of indices say.
 *
 *     merged[indices[m][i, ...]] = data[m][i, ...]
 *
 * merged has one row more than the largest index.  Of rows with the same index
 * the last one stays; ParallelDynamicStitch promises nothing there, so the same
 * loop serves both.  Rows that no index names are zero (TensorFlow leaves in
 * them what was in memory).
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/index/scatter.h"

#include <stdlib.h>
#include <string.h>

/* The dimensions of data[m] behind those of indices[m]. */
static struct tfd_shape row_shape(const struct tfd_shape *indices,
                                  const struct tfd_shape *data)
{
    struct tfd_shape row = {data->rank - indices->rank, {0}};

    for (int d = 0; d < row.rank; d++)
        row.dim[d] = data->dim[indices->rank + d];
    return row;
}

static bool starts_with(const struct tfd_shape *s,
                        const struct tfd_shape *prefix)
{
    if (s->rank < prefix->rank)
        return false;
    for (int d = 0; d < prefix->rank; d++)
        if (s->dim[d] != prefix->dim[d])
            return false;
    return true;
}

static enum tfd_code check_input(const struct tfd_kctx *k, int m,
                                 const struct tfd_shape *row,
                                 struct tfd_status *st)
{
    const struct tfd_shape *indices = &k->in[m].shape;
    const struct tfd_shape *data = &k->in[k->in_count / 2 + m].shape;
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    char first[TFD_SHAPE_TEXT_MAX], here[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape own;

    if (!starts_with(data, indices))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "data[%d].shape = %s does not start with indices[%d].shape = %s", m,
            tfd_shape_text(data, have), m, tfd_shape_text(indices, want));
    own = row_shape(indices, data);
    if (m > 0 && !tfd_shape_equal(&own, row))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Need data[0].shape[%d:] = data[%d].shape[%d:], got "
                        "data[0].shape = %s, data[%d].shape = %s, "
                        "indices[0].shape = %s, indices[%d].shape = %s",
                        k->in[0].shape.rank, m, indices->rank,
                        tfd_shape_text(&k->in[k->in_count / 2].shape, want), m,
                        tfd_shape_text(data, have),
                        tfd_shape_text(&k->in[0].shape, first), m,
                        tfd_shape_text(indices, here));
    return TFD_OK;
}

static enum tfd_code largest_index(const struct tfd_tensor *indices,
                                   int64_t *largest, struct tfd_status *st)
{
    const int32_t *at = tfd_tensor_data(indices);
    int64_t n = tfd_tensor_elements(indices);

    for (int64_t i = 0; i < n; i++) {
        if (at[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "indices[%lld] is out of range", (long long)i);
        if (at[i] > *largest)
            *largest = at[i];
    }
    return TFD_OK;
}

/* ---- Rows one behind the other ------------------------------------------- */

#define RUN_MIN 4 /* rows, for which looking for its end is worth it */

struct runs {
    char *to;
    const char *from;
    const int32_t *at;
    size_t size;
};

static void copy_runs(void *arg, int64_t begin, int64_t end)
{
    const struct runs *r = arg;

    for (int64_t i = begin, next; i < end && !tfd_halted(); i = next) {
        for (next = i + 1; next < end && r->at[next] == r->at[next - 1] + 1;)
            next++;
        memcpy(r->to + (size_t)r->at[i] * r->size,
               r->from + (size_t)i * r->size, (size_t)(next - i) * r->size);
    }
}

/* Whether rows only rise, so that none is written twice, and mostly by one. */
static bool come_in_runs(const int32_t *at, int64_t n)
{
    int64_t breaks = 1, falls = 0;

    for (int64_t i = 1; i < n; i++) {
        breaks += at[i] != at[i - 1] + 1;
        falls += at[i] <= at[i - 1];
    }
    return falls == 0 && breaks * RUN_MIN <= n;
}

/* ---- Moving -------------------------------------------------------------- */

static void move_rows(struct tfd_kctx *k, int m, int64_t inner, size_t size)
{
    const int32_t *at = tfd_tensor_data(&k->in[m]);
    const int64_t n = tfd_tensor_elements(&k->in[m]);
    struct runs r = {tfd_tensor_data(&k->out[0]),
                     tfd_tensor_data(&k->in[k->in_count / 2 + m]), at, size};
    const struct tfd_scatter s = {.to = r.to,
                                  .by = r.from,
                                  .count = n,
                                  .inner = inner,
                                  .limit = k->out[0].shape.dim[0]};

    if (come_in_runs(at, n))
        tfd_kctx_parallel_bytes(
            k, n, size < INT32_MAX / 2 ? 2 * (int)size : INT32_MAX, copy_runs,
            &r);
    else
        tfd_scatter_move(k, &s, size, at, TFD_INT32);
}

static enum tfd_code copy_to_merged(struct tfd_kctx *k, int m, int64_t inner,
                                    struct tfd_status *st)
{
    const struct tfd_tensor *data = &k->in[k->in_count / 2 + m];
    const int32_t *at = tfd_tensor_data(&k->in[m]);
    int64_t n = tfd_tensor_elements(&k->in[m]);

    if (inner > 0 && tfd_dtype_is_pod(data->dtype)) {
        move_rows(k, m, inner, (size_t)inner * tfd_dtype_size(data->dtype));
        return TFD_OK;
    }
    for (int64_t i = 0; inner > 0 && i < n; i++)
        TFD_TRY(tfd_elements_copy(
            data->dtype,
            tfd_element_at(tfd_tensor_data(&k->out[0]), data->dtype,
                           at[i] * inner),
            tfd_element_of(tfd_tensor_data(data), data->dtype, i * inner),
            inner, st));
    return TFD_OK;
}

/* ---- Rows without an index ----------------------------------------------- */

#define ROW_SIZE_MIN 32 /* bytes of a row that is not soon written twice */
#define ROWS_BETWEEN_LOOKS 4096

static void zero_rows(const struct tfd_tensor *out, const bool *named,
                      size_t size)
{
    char *row = tfd_tensor_data(out);

    for (int64_t i = 0; i < out->shape.dim[0]; i++, row += size) {
        if (i % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            return;
        if (!named[i])
            memset(row, 0, size);
    }
}

/* Whether one list names every row. */
static bool names_all(const struct tfd_tensor *indices, int64_t rows)
{
    const int32_t *at = tfd_tensor_data(indices);
    int64_t others = 0;

    if (tfd_tensor_elements(indices) != rows)
        return false;
    for (int64_t i = 0; i < rows; i++)
        others += at[i] != i;
    return others == 0;
}

/* Zeros where no index puts a row, or, where rows are short, everywhere. */
static void zero_rest(const struct tfd_kctx *k, int count, int64_t inner)
{
    const struct tfd_tensor *out = &k->out[0];
    const size_t size = (size_t)inner * tfd_dtype_size(out->dtype);
    bool *named;

    for (int m = 0; m < count; m++)
        if (names_all(&k->in[m], out->shape.dim[0]))
            return;
    named = size < ROW_SIZE_MIN
                ? NULL
                : calloc((size_t)out->shape.dim[0], sizeof(*named));

    if (!named) {
        tfd_elements_zero(out->dtype, tfd_tensor_data(out),
                          tfd_tensor_elements(out));
        return;
    }
    for (int m = 0; m < count; m++) {
        const int32_t *at = tfd_tensor_data(&k->in[m]);

        for (int64_t i = 0; i < tfd_tensor_elements(&k->in[m]); i++)
            named[at[i]] = true;
    }
    zero_rows(out, named, size);
    free(named);
}

/* ---- Kernel -------------------------------------------------------------- */

enum tfd_code tfd_dynamic_stitch_shape(const struct tfd_kctx *k,
                                       struct tfd_shape *row,
                                       struct tfd_shape *out,
                                       struct tfd_status *st)
{
    int count = k->in_count / 2;
    int64_t largest = -1;

    TFD_TRY(check_input(k, 0, NULL, st));
    *row = row_shape(&k->in[0].shape, &k->in[count].shape);
    for (int m = 0; m < count; m++) {
        TFD_TRY(check_input(k, m, row, st));
        TFD_TRY(largest_index(&k->in[m], &largest, st));
    }
    if (largest == INT32_MAX) /* TensorFlow counts rows in an int32 */
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected a non-negative size, got %d", INT32_MIN);
    if (row->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "stitching to more than %d dimensions", TFD_RANK_MAX);
    out->rank = 1;
    out->dim[0] = largest + 1;
    for (int d = 0; d < row->rank; d++)
        out->dim[out->rank++] = row->dim[d];
    return tfd_shape_make(out, out->dim, out->rank, st);
}

static enum tfd_code stitch_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int count = k->in_count / 2;
    struct tfd_shape row, out;

    TFD_TRY(tfd_dynamic_stitch_shape(k, &row, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[count].dtype, &out, st));
    if (tfd_dtype_is_pod(k->in[count].dtype) && k->out[0].buffer)
        zero_rest(k, count, tfd_shape_elements(&row));
    for (int m = 0; m < count; m++)
        TFD_TRY(copy_to_merged(k, m, tfd_shape_elements(&row), st));
    return TFD_OK;
}

/* One more than the largest index, when all of them are known. */
static int64_t known_rows(const struct tfd_shape_ctx *s, int count)
{
    int64_t largest = -1;

    for (int m = 0; m < count; m++)
        if (!s->value || !s->value[m] ||
            largest_index(s->value[m], &largest, NULL) != TFD_OK)
            return TFD_DIM_UNKNOWN;
    return largest + 1;
}

static enum tfd_code stitch_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    int count = s->in_count / 2;
    struct tfd_shape row = TFD_SHAPE_UNKNOWN;

    for (int m = 0; m < count; m++) {
        const struct tfd_shape *indices = &s->in[m], *data = &s->in[count + m];
        struct tfd_shape own;

        if (indices->rank < 0 || data->rank < 0)
            continue;
        if (data->rank < indices->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "data[%d] has rank %d and indices[%d] rank %d", m,
                            data->rank, m, indices->rank);
        own = row_shape(indices, data);
        TFD_TRY(tfd_shape_merge(&row, &own, st));
    }
    if (row.rank < 0 || row.rank == TFD_RANK_MAX)
        return TFD_OK;
    s->out[0].rank = row.rank + 1;
    s->out[0].dim[0] = known_rows(s, count);
    for (int d = 0; d < row.rank; d++)
        s->out[0].dim[d + 1] = row.dim[d];
    return TFD_OK;
}

/* Each row of data gets what arrives where it was put, also when another took
 * its place. */
static enum tfd_code stitch_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    int count = g->node->in_count / 2;
    const int32_t zero = 0;

    for (int m = 0; m < count; m++)
        g->dx[count + m] = tfd_gradient_op3(&b, "GatherV2", g->dy[0], g->x[m],
                                            tfd_gradient_ints(&b, &zero, -1));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define STITCH(name_)                                                 \
    {                                                                 \
        .name = (name_), .inputs = "indices: N * int32, data: N * T", \
        .outputs = "merged: T", .attrs = "N: int >= 1; T: type",      \
        .shape = stitch_shape, .grad = stitch_gradient,               \
    }

static const struct tfd_opdef ops[] = {
    STITCH("DynamicStitch"),
    STITCH("ParallelDynamicStitch"),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DynamicStitch", stitch_compute),
    TFD_KERNEL_ANY("ParallelDynamicStitch", stitch_compute),
};

const struct tfd_family tfd_family_dynamic_stitch = {
    .name = "dynamic_stitch",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
