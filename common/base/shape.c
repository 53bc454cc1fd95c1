/*
 * shape.c - arithmetic on the shapes of tensor.h.
 *
 * The limit on the number of elements is kept without the dimensions that are
 * zero or unknown: a kernel multiplies the inner dimensions of an empty tensor
 * to get its strides, and that product must fit as well.
 */
#include "common/base/shape_long.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *dims_text(const int64_t *dim, int rank, char *text)
{
    size_t used = 1;

    text[0] = '[';
    for (int i = 0; i < rank; i++) {
        const char *comma = i ? "," : "";
        size_t left = TFD_SHAPE_TEXT_MAX - used;
        int n = dim[i] == TFD_DIM_UNKNOWN
                    ? snprintf(text + used, left, "%s?", comma)
                    : snprintf(text + used, left, "%s%lld", comma,
                               (long long)dim[i]);

        /* What was no shape yet may be longer than a shape's text. */
        if (n < 0 || (size_t)n + 2 > left)
            break;
        used += (size_t)n;
    }
    memcpy(text + used, "]", 2);
    return text;
}

static enum tfd_code check_dim(int64_t dim, int64_t dim_min,
                               struct tfd_status *st)
{
    if (dim < dim_min)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dimension %lld must be >= %d", (long long)dim,
                        (int)dim_min);
    return TFD_OK;
}

static enum tfd_code check_dims(const int64_t *dim, int rank, int64_t dim_min,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t product = 1;

    for (int i = 0; i < rank; i++) {
        TFD_TRY(check_dim(dim[i], dim_min, st));
        if (dim[i] <= 0)
            continue;
        if (product > INT64_MAX / dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape %s would have more than 2**63 - 1 elements",
                            dims_text(dim, rank, text));
        product *= dim[i];
    }
    return TFD_OK;
}

static enum tfd_code check_rank_limit(int rank, int limit,
                                      struct tfd_status *st)
{
    if (rank < 0 || rank > limit)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A shape has %d dimensions; 0 to %d are supported",
                        rank, limit);
    return TFD_OK;
}

static enum tfd_code make_shape(struct tfd_shape *out, const int64_t *dim,
                                int rank, int64_t dim_min,
                                struct tfd_status *st)
{
    struct tfd_shape made = {.rank = rank};

    TFD_TRY(check_rank_limit(rank, TFD_RANK_MAX, st));
    TFD_TRY(check_dims(dim, rank, dim_min, st));
    for (int i = 0; i < rank; i++)
        made.dim[i] = dim[i];
    *out = made; /* at once: dim may be out->dim */
    return TFD_OK;
}

static enum tfd_code make_any(struct tfd_shape *out, const int64_t *dim,
                              int rank, int64_t dim_min, struct tfd_status *st)
{
    if (rank <= TFD_RANK_MAX)
        return make_shape(out, dim, rank, dim_min, st);
    TFD_TRY(check_rank_limit(rank, TFD_RANK_LONG_MAX, st));
    TFD_TRY(check_dims(dim, rank, dim_min, st));
    return tfd_shape_pack(out, dim, rank, st);
}

enum tfd_code tfd_shape_make(struct tfd_shape *out, const int64_t *dim,
                             int rank, struct tfd_status *st)
{
    return make_shape(out, dim, rank, 0, st);
}

enum tfd_code tfd_shape_make_partial(struct tfd_shape *out, const int64_t *dim,
                                     int rank, struct tfd_status *st)
{
    return make_shape(out, dim, rank, TFD_DIM_UNKNOWN, st);
}

static int64_t elements(const int64_t *dim, int rank)
{
    int64_t n = 1;

    for (int i = 0; i < rank; i++) {
        if (dim[i] == TFD_DIM_UNKNOWN)
            return -1;
        /* Checked where shapes are made; here an overflow is a bug. */
        assert(dim[i] == 0 || n <= INT64_MAX / dim[i]);
        n *= dim[i];
    }
    return n;
}

static int64_t long_elements(const struct tfd_shape *s)
{
    int64_t dim[TFD_RANK_LONG_MAX];

    tfd_shape_dims(s, dim);
    return elements(dim, s->rank);
}

enum tfd_code tfd_shape_make_any(struct tfd_shape *out, const int64_t *dim,
                                 int rank, struct tfd_status *st)
{
    return make_any(out, dim, rank, 0, st);
}

enum tfd_code tfd_shape_make_any_partial(struct tfd_shape *out,
                                         const int64_t *dim, int rank,
                                         struct tfd_status *st)
{
    return make_any(out, dim, rank, TFD_DIM_UNKNOWN, st);
}

int64_t tfd_shape_elements(const struct tfd_shape *s)
{
    if (s->rank == TFD_RANK_UNKNOWN)
        return -1;
    if (tfd_shape_is_long(s))
        return long_elements(s);
    return elements(s->dim, s->rank);
}

static enum tfd_code merge_dims(int64_t *merged, const struct tfd_shape *into,
                                const struct tfd_shape *s,
                                struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    int64_t dim[TFD_RANK_LONG_MAX];

    tfd_shape_dims(into, merged);
    tfd_shape_dims(s, dim);
    for (int i = 0; i < s->rank; i++) {
        if (merged[i] == TFD_DIM_UNKNOWN)
            merged[i] = dim[i];
        else if (dim[i] != TFD_DIM_UNKNOWN && dim[i] != merged[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dimension %d in both shapes must be equal, but "
                            "are %lld and %lld. Shapes are %s and %s.",
                            i, (long long)merged[i], (long long)dim[i],
                            tfd_shape_text(into, a), tfd_shape_text(s, b));
    }
    return TFD_OK;
}

enum tfd_code tfd_shape_merge(struct tfd_shape *into, const struct tfd_shape *s,
                              struct tfd_status *st)
{
    int64_t merged[TFD_RANK_LONG_MAX];

    if (s->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (into->rank == TFD_RANK_UNKNOWN) {
        *into = *s;
        return TFD_OK;
    }
    if (into->rank != s->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shapes must be equal rank, but are %d and %d",
                        into->rank, s->rank);

    TFD_TRY(merge_dims(merged, into, s, st));
    /* Each had few enough elements; together they may have too many. */
    return tfd_shape_make_any_partial(into, merged, s->rank, st);
}

bool tfd_shape_equal(const struct tfd_shape *a, const struct tfd_shape *b)
{
    if (a->rank != b->rank)
        return false;
    if (tfd_shape_is_long(a)) /* one shape has one packed form */
        return memcmp(a->dim, b->dim, sizeof(a->dim)) == 0;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *tfd_shape_text(const struct tfd_shape *s, char *text)
{
    static const char unknown[] = "<unknown>";
    int64_t dim[TFD_RANK_LONG_MAX];

    if (s->rank == TFD_RANK_UNKNOWN)
        return memcpy(text, unknown, sizeof(unknown));
    tfd_shape_dims(s, dim);
    return dims_text(dim, s->rank, text);
}
