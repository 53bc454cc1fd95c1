/*
 * ragged_rows.c - see ragged_rows.h.
 */
#include "kernels/sparse/ragged_rows.h"

#include "kernels/core/check.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>

enum tfd_code tfd_ragged_check_ends(const struct tfd_tensor *splits,
                                    int64_t values, struct tfd_status *st)
{
    const int64_t first = tfd_check_int_at(splits, 0),
                  last =
                      tfd_check_int_at(splits, tfd_tensor_elements(splits) - 1);

    if (first != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Splits must start with 0, not with %" PRId64, first);
    if (last != values)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Splits must end with the number of values, got "
                        "%" PRId64 " instead of %" PRId64,
                        last, values);
    return TFD_OK;
}

enum tfd_code tfd_ragged_rows(const struct tfd_tensor *splits, int64_t values,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    const int64_t count = tfd_tensor_elements(splits);
    int64_t next = 0, *rows;

    TFD_TRY(tfd_sparse_numbers(out, values, st));
    rows = tfd_tensor_data(out);
    for (int64_t i = 0; i < values; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        while (next < count && tfd_check_int_at(splits, next) <= i)
            next++;
        rows[i] = next - 1;
    }
    return TFD_OK;
}
