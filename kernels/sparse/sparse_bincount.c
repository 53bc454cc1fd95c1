/*
 * sparse_bincount.c - how often values fall into bins, row by row, as a dense
 * tensor: SparseBincount, RaggedBincount.
 *
 * A value beyond the bins counts nowhere.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/ragged_rows.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>

struct binning {
    const struct tfd_tensor *values, *weights;
    const int64_t *rows; /* of each value; NULL: there is one */
    int64_t step;        /* from one row number to the next */
    int64_t count, bins;
    bool binary;
    void *y;
};

/* False where the step has ended. */
#define FILL_BINS(name, T, U)                                            \
    static bool fill_bins_##name(const struct binning *b)                \
    {                                                                    \
        const T *w = tfd_tensor_elements(b->weights)                     \
                         ? tfd_tensor_data(b->weights)                   \
                         : NULL;                                         \
        T *y = b->y;                                                     \
                                                                         \
        for (int64_t i = 0; i < b->count; i++) {                         \
            const int64_t bin = tfd_check_int_at(b->values, i),          \
                          row = b->rows ? b->rows[i * b->step] : 0;      \
            T *at;                                                       \
                                                                         \
            if (tfd_sparse_stops(i))                                     \
                return false;                                            \
            if (bin < 0 || bin >= b->bins)                               \
                continue;                                                \
            at = y + row * b->bins + bin;                                \
            *at = b->binary ? (T)1 : (T)((U)*at + (U)(w ? w[i] : (T)1)); \
        }                                                                \
        return true;                                                     \
    }
FILL_BINS(INT32, int32_t, uint32_t)
FILL_BINS(INT64, int64_t, uint64_t)
FILL_BINS(FLOAT, float, float)
FILL_BINS(DOUBLE, double, double)

static bool fill_bins(const struct binning *b)
{
    switch (b->weights->dtype) {
    case TFD_INT32:
        return fill_bins_INT32(b);
    case TFD_INT64:
        return fill_bins_INT64(b);
    case TFD_FLOAT:
        return fill_bins_FLOAT(b);
    default:
        return fill_bins_DOUBLE(b);
    }
}

/* ---- What both have ------------------------------------------------------ */

static enum tfd_code read_bin_count(const struct tfd_kctx *k, int in,
                                    struct binning *b, struct tfd_status *st)
{
    TFD_TRY(tfd_node_bool(k->node, "binary_output", &b->binary, st));
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be rank 0 but is rank %d",
                        k->in[in].shape.rank);
    TFD_TRY(tfd_check_int(k, in, &b->bins, st));
    if (b->bins < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "size (%" PRId64 ") must be non-negative", b->bins);
    return TFD_OK;
}

static enum tfd_code check_bin_weights(const struct binning *b,
                                       struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(b->weights);

    if (n == 0 || n == b->count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%" PRId64 " weights for %" PRId64 " values", n, b->count);
}

static enum tfd_code put_bins(struct tfd_kctx *k, struct binning *b,
                              const int64_t *dim, int rank,
                              struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(check_bin_weights(b, st));
    TFD_TRY(tfd_shape_make(&shape, dim, rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, b->weights->dtype, &shape, st));
    tfd_elements_clear(&k->out[0]);
    b->y = tfd_tensor_data(&k->out[0]);
    if (tfd_halted())
        return tfd_halt_fail(st);
    if (b->bins > 0 && !fill_bins(b))
        return tfd_halt_fail(st);
    return TFD_OK;
}

/* ---- SparseBincount ------------------------------------------------------ */

static enum tfd_code check_bin_values(const struct binning *b, const char *what,
                                      struct tfd_status *st)
{
    for (int64_t i = 0; i < b->count; i++)
        if (tfd_check_int_at(b->values, i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", what);
    return TFD_OK;
}

static enum tfd_code sparse_bins_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct binning b = {.values = &k->in[1], .weights = &k->in[4]};
    struct tfd_sparse s;
    int64_t dim[2];

    TFD_TRY(read_bin_count(k, 3, &b, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_sparse_check_tuples(&s, st));
    if (s.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The shape argument requires at least one element.");
    b.count = s.count;
    b.rows = s.rank > 1 ? s.index : NULL;
    b.step = s.rank;
    dim[0] = s.rank > 1 ? s.dim[0] : b.bins;
    dim[1] = b.bins;
    if (s.rank == 1)
        TFD_TRY(check_bin_values(&b, "Input arr must be non-negative!", st));
    return put_bins(k, &b, dim, s.rank > 1 ? 2 : 1, st);
}

/* ---- RaggedBincount ------------------------------------------------------ */

static enum tfd_code ragged_bins_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct binning b = {.values = &k->in[1], .weights = &k->in[3], .step = 1};
    struct tfd_tensor rows = TFD_TENSOR_INIT;
    int64_t dim[2];
    enum tfd_code rc;

    TFD_TRY(read_bin_count(k, 2, &b, st));
    b.count = tfd_tensor_elements(b.values);
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Splits must be non-empty");
    TFD_TRY(tfd_ragged_check_ends(&k->in[0], b.count, st));
    TFD_TRY(check_bin_values(&b, "Input must be non-negative", st));
    dim[0] = tfd_tensor_elements(&k->in[0]) - 1;
    dim[1] = b.bins;
    rc = tfd_ragged_rows(&k->in[0], b.count, &rows, st);
    b.rows = tfd_tensor_data(&rows);
    if (rc == TFD_OK)
        rc = put_bins(k, &b, dim, 2, st);
    tfd_tensor_unref(&rows);
    return rc;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseBincount",
        .inputs = "indices: int64, values: Tidx, dense_shape: int64, "
                  "size: Tidx, weights: T",
        .outputs = "output: T",
        .attrs = "Tidx: {int32, int64}; T: {int32, int64, float, double}; "
                 "binary_output: bool = false",
    },
    {
        .name = "RaggedBincount",
        .inputs = "splits: int64, values: Tidx, size: Tidx, weights: T",
        .outputs = "output: T",
        .attrs = "Tidx: {int32, int64}; T: {int32, int64, float, double}; "
                 "binary_output: bool = false",
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SparseBincount", sparse_bins_compute),
    TFD_KERNEL_ANY("RaggedBincount", ragged_bins_compute),
};

const struct tfd_family tfd_family_sparse_bincount = {
    .name = "sparse_bincount",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
