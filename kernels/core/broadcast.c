/*
 * broadcast.c - see broadcast.h.
 *
 * The plan is made from the last dimension to the first.  Dimensions of 1 in
 * the result are dropped; a dimension joins the one behind it when each operand
 * either repeats both or runs through both without a gap.
 */
#include "kernels/core/broadcast.h"

#include <assert.h>

/* Dimension i counted from the last, 1 where there is none. */
static int64_t dim_from_end(const struct tfd_shape *s, int i)
{
    return i < s->rank ? s->dim[s->rank - 1 - i] : 1;
}

bool tfd_broadcast_fits(const struct tfd_shape *a, const struct tfd_shape *b)
{
    int rank = a->rank < b->rank ? a->rank : b->rank;

    for (int i = 0; i < rank; i++) {
        int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);

        if (x != y && x != 1 && y != 1)
            return false;
    }
    return true;
}

enum tfd_code tfd_broadcast_shape(const struct tfd_shape *a,
                                  const struct tfd_shape *b,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dim[TFD_RANK_MAX];

    for (int i = 0; i < rank; i++) {
        int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);

        dim[rank - 1 - i] = x == 1 ? y : x;
    }
    return tfd_shape_make(out, dim, rank, st);
}

/* ---- Plans --------------------------------------------------------------- */

/* Under construction: dimensions from the last to the first. */
struct builder {
    int count, rank;
    int64_t dim[TFD_RANK_MAX];
    int64_t step[TFD_BROADCAST_MAX][TFD_RANK_MAX];
    int64_t size[TFD_BROADCAST_MAX]; /* elements of the operand so far */
};

static void add_dim(struct builder *b, int64_t dim, const int64_t *step)
{
    int last = b->rank - 1;
    bool joins = b->rank > 0;

    for (int k = 0; joins && k < b->count; k++)
        joins = step[k] == b->step[k][last] * b->dim[last];
    if (joins) {
        b->dim[last] *= dim;
        return;
    }
    b->dim[b->rank] = dim;
    for (int k = 0; k < b->count; k++)
        b->step[k][b->rank] = step[k];
    b->rank++;
}

static void build_plan(struct builder *b, const struct tfd_shape *out,
                       const struct tfd_shape *const *in)
{
    for (int k = 0; k < b->count; k++)
        b->size[k] = 1;
    for (int i = 0; i < out->rank; i++) {
        int64_t dim = dim_from_end(out, i);
        int64_t step[TFD_BROADCAST_MAX];

        if (dim == 1)
            continue;
        for (int k = 0; k < b->count; k++) {
            bool repeats = dim_from_end(in[k], i) == 1;

            step[k] = repeats ? 0 : b->size[k];
            b->size[k] *= repeats ? 1 : dim;
        }
        add_dim(b, dim, step);
    }
}

void tfd_broadcast_plan(struct tfd_broadcast *p, const struct tfd_shape *out,
                        const struct tfd_shape *const *in, int count)
{
    struct builder b = {.count = count};

    assert(count <= TFD_BROADCAST_MAX);
    build_plan(&b, out, in);
    p->count = count;
    p->rank = b.rank > 0 ? b.rank - 1 : 0;
    p->row_size = b.rank > 0 ? b.dim[0] : 1;
    p->rows = 1;
    for (int k = 0; k < count; k++)
        p->row_step[k] = b.rank > 0 && b.step[k][0] != 0;
    for (int i = 0; i < p->rank; i++) {
        int from = b.rank - 1 - i;

        p->dim[i] = b.dim[from];
        p->rows *= b.dim[from];
        for (int k = 0; k < count; k++)
            p->step[k][i] = b.step[k][from];
    }
}

void tfd_broadcast_seek(const struct tfd_broadcast *p, int64_t row,
                        struct tfd_broadcast_at *at)
{
    for (int k = 0; k < p->count; k++)
        at->offset[k] = 0;
    for (int i = p->rank - 1; i >= 0; i--) {
        at->index[i] = row % p->dim[i];
        row /= p->dim[i];
        for (int k = 0; k < p->count; k++)
            at->offset[k] += at->index[i] * p->step[k][i];
    }
}

void tfd_broadcast_next(const struct tfd_broadcast *p,
                        struct tfd_broadcast_at *at)
{
    for (int i = p->rank - 1; i >= 0; i--) {
        int64_t back = p->dim[i] - 1;

        if (at->index[i] < back) {
            at->index[i]++;
            for (int k = 0; k < p->count; k++)
                at->offset[k] += p->step[k][i];
            return;
        }
        at->index[i] = 0;
        for (int k = 0; k < p->count; k++)
            at->offset[k] -= back * p->step[k][i];
    }
}
