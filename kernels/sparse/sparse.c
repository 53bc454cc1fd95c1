/*
 * sparse.c - see sparse.h.
 */
#include "kernels/sparse/sparse.h"

#include "kernels/layout/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *tfd_sparse_text(const int64_t *index, int rank, char *text)
{
    int at = snprintf(text, TFD_SPARSE_TEXT_MAX, "[");

    /* Room for the largest number and what may follow. */
    for (int d = 0; d < rank && at < TFD_SPARSE_TEXT_MAX - 32; d++)
        at += snprintf(text + at, (size_t)(TFD_SPARSE_TEXT_MAX - at),
                       "%s%" PRId64, d ? "," : "", index[d]);
    snprintf(text + at, (size_t)(TFD_SPARSE_TEXT_MAX - at), "]");
    return text;
}

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code check_ranks(const struct tfd_shape *indices,
                                 const struct tfd_shape *values,
                                 const struct tfd_shape *dims,
                                 struct tfd_status *st)
{
    if (indices->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sparse indices must be rank 2 but is rank %d",
                        indices->rank);
    if (values->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sparse values must be rank 1 but is rank %d",
                        values->rank);
    if (dims->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Sparse shape must be rank 1 but is rank %d",
                        dims->rank);
    if (indices->dim[0] != values->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of elements in indices (%" PRId64
                        ") and values (%" PRId64 ") do not match",
                        indices->dim[0], values->dim[0]);
    if (indices->dim[1] != dims->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index rank (%" PRId64 ") and shape rank (%" PRId64
                        ") do not match",
                        indices->dim[1], dims->dim[0]);
    return TFD_OK;
}

enum tfd_code tfd_sparse_read(const struct tfd_kctx *k, int first,
                              struct tfd_sparse *out, struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[first];

    TFD_TRY(check_ranks(&in[0].shape, &in[1].shape, &in[2].shape, st));
    if (in[0].shape.dim[1] > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a sparse tensor of rank %" PRId64 "; the limit is %d",
                        in[0].shape.dim[1], TFD_RANK_MAX);
    *out = (struct tfd_sparse){
        .index = tfd_tensor_data(&in[0]),
        .dim = tfd_tensor_data(&in[2]),
        .count = in[0].shape.dim[0],
        .rank = (int)in[0].shape.dim[1],
        .values = &in[1],
    };
    for (int d = 0; d < out->rank; d++)
        if (out->dim[d] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected shape dimensions to be non-negative, got "
                            "%" PRId64,
                            out->dim[d]);
    return TFD_OK;
}

/* ---- Checks -------------------------------------------------------------- */

/* Whether all of a vector's indices, or a matrix's, are as they should be;
 * quicker than saying which is not. */
static bool matrix_is_good(const struct tfd_sparse *s, bool order)
{
    const int64_t rows = s->dim[0], columns = s->dim[1];
    bool good = true;

    for (int64_t i = 0; i < s->count; i++) {
        const int64_t *at = s->index + 2 * i;

        good &= (uint64_t)at[0] < (uint64_t)rows &&
                (uint64_t)at[1] < (uint64_t)columns;
        if (order && i > 0)
            good &= tfd_sparse_compare(at - 2, at, 2) < 0;
    }
    return good;
}

static bool vector_is_good(const struct tfd_sparse *s, bool order)
{
    bool falls = false;

    if (s->rank != 1 ||
        tfd_rows_bad(s->index, TFD_INT64, s->count, s->dim[0]) < s->count)
        return false;
    for (int64_t i = 1; order && i < s->count; i++)
        falls |= s->index[i] <= s->index[i - 1];
    return !falls;
}

static enum tfd_code check_sparse(const struct tfd_sparse *s, bool order,
                                  struct tfd_status *st)
{
    char text[TFD_SPARSE_TEXT_MAX], limit[TFD_SPARSE_TEXT_MAX];

    if (s->rank == 2 ? matrix_is_good(s, order) : vector_is_good(s, order))
        return TFD_OK;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t *index = s->index + i * s->rank;
        int compared = -1;

        if (!tfd_sparse_is_inside(index, s->dim, s->rank))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "indices[%" PRId64 "] = %s is out of bounds: need "
                            "0 <= index < %s",
                            i, tfd_sparse_text(index, s->rank, text),
                            tfd_sparse_text(s->dim, s->rank, limit));
        if (order && i > 0)
            compared = tfd_sparse_compare(index - s->rank, index, s->rank);
        if (compared >= 0)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT, "indices[%" PRId64 "] = %s is %s", i,
                tfd_sparse_text(index, s->rank, text),
                compared == 0 ? "repeated"
                              : "out of order. Many sparse ops require "
                                "sorted indices.\n  Use `tf.sparse.reorder` "
                                "to create a correctly ordered copy.\n\n");
    }
    return TFD_OK;
}

enum tfd_code tfd_sparse_check_bounds(const struct tfd_sparse *s,
                                      struct tfd_status *st)
{
    return check_sparse(s, false, st);
}

enum tfd_code tfd_sparse_check_order(const struct tfd_sparse *s,
                                     struct tfd_status *st)
{
    return check_sparse(s, true, st);
}
