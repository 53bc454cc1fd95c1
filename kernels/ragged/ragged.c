/*
 * ragged.c - see ragged.h.
 */
#include "kernels/ragged/ragged.h"

#include <inttypes.h>

enum tfd_code tfd_ragged_check_rank(int64_t rank, struct tfd_status *st)
{
    if (rank >= 0 && rank <= TFD_RAGGED_RANK_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a ragged rank of %" PRId64 "; at most %d are possible",
                    rank, TFD_RAGGED_RANK_MAX);
}

void tfd_ragged_put(const struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

enum tfd_code tfd_ragged_new_splits(struct tfd_kctx *k, int out,
                                    enum tfd_dtype dtype, int64_t n,
                                    int64_t largest, struct tfd_status *st)
{
    struct tfd_shape shape;

    if (dtype == TFD_INT32 && largest > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a row split of %" PRId64 " does not fit int32",
                        largest);
    TFD_TRY(tfd_shape_make(&shape, &n, 1, st));
    return tfd_kctx_output(k, out, dtype, &shape, st);
}

int64_t tfd_ragged_row_size(const struct tfd_shape *values)
{
    int64_t n = 1;

    for (int d = 1; d < values->rank; d++)
        n *= values->dim[d];
    return n;
}
