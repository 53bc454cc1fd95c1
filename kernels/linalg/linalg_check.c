/*
 * linalg_check.c - see linalg_check.h.
 */
#include "kernels/linalg/linalg_check.h"

#include "kernels/linalg/linalg_loops.h"

static enum tfd_code check_rank(const struct tfd_kctx *k, int arg,
                                struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[arg].shape;

    if (s->rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor %d must have rank >= 2, got %d", arg,
                        s->rank);
    return TFD_OK;
}

enum tfd_code tfd_linalg_check_ranks(const struct tfd_kctx *k, int count,
                                     struct tfd_status *st)
{
    const struct tfd_shape *first = &k->in[0].shape;

    TFD_TRY(check_rank(k, 0, st));
    for (int i = 1; i < count; i++) {
        const struct tfd_shape *s = &k->in[i].shape;

        if (s->rank != first->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All input tensors must have the same rank.");
        for (int j = 0; j < s->rank - 2; j++)
            if (s->dim[j] != first->dim[j])
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "All input tensors must have the same outer "
                                "dimensions.");
    }
    return TFD_OK;
}

enum tfd_code tfd_linalg_check_matrix(const struct tfd_kctx *k, int arg,
                                      struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[arg].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_rank(k, arg, st));
    if (s->dim[s->rank - 2] > TFD_LINALG_SIZE_MAX ||
        s->dim[s->rank - 1] > TFD_LINALG_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor %d has shape %s; matrices have at most "
                        "%d rows and columns",
                        arg, tfd_shape_text(s, text), TFD_LINALG_SIZE_MAX);
    return TFD_OK;
}

enum tfd_code tfd_linalg_check_square(const struct tfd_kctx *k, int arg,
                                      struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[arg].shape;

    TFD_TRY(tfd_linalg_check_matrix(k, arg, st));
    if (s->dim[s->rank - 2] != s->dim[s->rank - 1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input matrix must be square.");
    return TFD_OK;
}

enum tfd_code tfd_linalg_check_system(const struct tfd_kctx *k, bool square,
                                      struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;

    TFD_TRY(tfd_linalg_check_ranks(k, 2, st));
    TFD_TRY(tfd_linalg_check_matrix(k, 0, st));
    TFD_TRY(tfd_linalg_check_matrix(k, 1, st));
    if (square && a->dim[a->rank - 2] != a->dim[a->rank - 1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "First input (lhs) must be a square matrix.");
    if (a->dim[a->rank - 2] != b->dim[b->rank - 2])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input matrix and rhs are incompatible.");
    return TFD_OK;
}

struct tfd_shape tfd_linalg_batch_of(const struct tfd_shape *s, int64_t rows,
                                     int64_t columns)
{
    struct tfd_shape out = *s;

    out.rank = s->rank - 2;
    if (rows >= 0)
        out.dim[out.rank++] = rows;
    if (columns >= 0)
        out.dim[out.rank++] = columns;
    return out;
}

int64_t tfd_linalg_matrices(const struct tfd_shape *s)
{
    struct tfd_shape batch = tfd_linalg_batch_of(s, -1, -1);

    return tfd_shape_elements(&batch);
}
