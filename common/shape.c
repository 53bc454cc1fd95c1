/*
 * shape.c - arithmetic on the shapes of tensor.h.
 *
 * The limit on the number of elements is kept without the dimensions that are
 * zero or unknown: a kernel multiplies the inner dimensions of an empty tensor
 * to get its strides, and that product must fit as well.
 */
#include "common/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* For messages about shapes that did not become one. */
static const char *dims_text(const int64_t *dim, int rank, char *text)
{
    struct tfd_shape s = {.rank = rank};

    memcpy(s.dim, dim, sizeof(*dim) * (size_t)rank);
    return tfd_shape_text(&s, text);
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

static enum tfd_code make(struct tfd_shape *out, const int64_t *dim, int rank,
                          int64_t dim_min, struct tfd_status *st)
{
    struct tfd_shape made = {.rank = rank};
    char text[TFD_SHAPE_TEXT_MAX];
    int64_t product = 1;

    if (rank < 0 || rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A shape has %d dimensions; 0 to %d are supported",
                        rank, TFD_RANK_MAX);
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

    for (int i = 0; i < rank; i++)
        made.dim[i] = dim[i];
    *out = made; /* at once: dim may be out->dim */
    return TFD_OK;
}

enum tfd_code tfd_shape_make(struct tfd_shape *out, const int64_t *dim,
                             int rank, struct tfd_status *st)
{
    return make(out, dim, rank, 0, st);
}

enum tfd_code tfd_shape_make_partial(struct tfd_shape *out, const int64_t *dim,
                                     int rank, struct tfd_status *st)
{
    return make(out, dim, rank, TFD_DIM_UNKNOWN, st);
}

int64_t tfd_shape_elements(const struct tfd_shape *s)
{
    int64_t n = 1;

    if (s->rank == TFD_RANK_UNKNOWN)
        return -1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == TFD_DIM_UNKNOWN)
            return -1;
        /* Checked where shapes are made; here an overflow is a bug. */
        assert(s->dim[i] == 0 || n <= INT64_MAX / s->dim[i]);
        n *= s->dim[i];
    }
    return n;
}

static enum tfd_code merge_dims(struct tfd_shape *merged,
                                const struct tfd_shape *s,
                                struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    const struct tfd_shape into = *merged;

    for (int i = 0; i < s->rank; i++) {
        if (into.dim[i] == TFD_DIM_UNKNOWN)
            merged->dim[i] = s->dim[i];
        else if (s->dim[i] != TFD_DIM_UNKNOWN && s->dim[i] != into.dim[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dimension %d in both shapes must be equal, but "
                            "are %lld and %lld. Shapes are %s and %s.",
                            i, (long long)into.dim[i], (long long)s->dim[i],
                            tfd_shape_text(&into, a), tfd_shape_text(s, b));
    }
    return TFD_OK;
}

enum tfd_code tfd_shape_merge(struct tfd_shape *into, const struct tfd_shape *s,
                              struct tfd_status *st)
{
    struct tfd_shape merged = *into;

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

    TFD_TRY(merge_dims(&merged, s, st));
    /* Each had few enough elements; together they may have too many. */
    return tfd_shape_make_partial(into, merged.dim, merged.rank, st);
}

bool tfd_shape_equal(const struct tfd_shape *a, const struct tfd_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *tfd_shape_text(const struct tfd_shape *s, char *text)
{
    static const char unknown[] = "<unknown>";
    size_t used = 1;

    if (s->rank == TFD_RANK_UNKNOWN)
        return memcpy(text, unknown, sizeof(unknown));

    text[0] = '[';
    for (int i = 0; i < s->rank; i++) {
        const char *comma = i ? "," : "";
        size_t left = TFD_SHAPE_TEXT_MAX - used;
        int n = s->dim[i] == TFD_DIM_UNKNOWN
                    ? snprintf(text + used, left, "%s?", comma)
                    : snprintf(text + used, left, "%s%lld", comma,
                               (long long)s->dim[i]);

        /* 8 dimensions of at most 20 characters fit. */
        assert(n > 0 && (size_t)n < left);
        used += (size_t)n;
    }
    assert(used + 2 <= TFD_SHAPE_TEXT_MAX);
    memcpy(text + used, "]", 2);
    return text;
}
