/*
 * long_view.c - see long_view.h.
 */
#include "kernels/layout/long_view.h"

#include <stdlib.h>
#include <string.h>

/* ---- Refusals ------------------------------------------------------------ */

/* What comes as a reference is no tensor: its slot holds what was there before,
 * and tfd_kctx_variable() looks at the variable. */
int tfd_long_first(const struct tfd_kctx *k)
{
    for (int i = 0; i < k->in_count; i++)
        if (!tfd_dtype_is_ref(k->node->in_types[i]) &&
            tfd_shape_is_long(&k->in[i].shape))
            return i;
    return -1;
}

enum tfd_code tfd_long_fail(const struct tfd_kctx *k, struct tfd_status *st)
{
    int in = tfd_long_first(k);

    if (in < 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s of a variable with more than %d dimensions",
                        k->kernel->op, TFD_RANK_MAX);
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "%s takes tensors of at most %d dimensions, but input %d "
                    "has %d",
                    k->kernel->op, TFD_RANK_MAX, in, k->in[in].shape.rank);
}

enum tfd_code tfd_long_none_left(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    return tfd_long_first(k) < 0 ? TFD_OK : tfd_long_fail(k, st);
}

/* ---- Dimensions ---------------------------------------------------------- */

void tfd_dims_of(struct tfd_dims *d, const struct tfd_shape *s)
{
    d->rank = s->rank;
    tfd_shape_dims(s, d->at);
}

int64_t tfd_dims_product(const struct tfd_dims *d, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= d->at[i];
    return n;
}

enum tfd_code tfd_dims_push(struct tfd_dims *d, int64_t dim,
                            struct tfd_status *st)
{
    if (d->rank == TFD_RANK_LONG_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "too many dimensions: must be at most %d",
                        TFD_RANK_LONG_MAX);
    d->at[d->rank++] = dim;
    return TFD_OK;
}

enum tfd_code tfd_dims_add(struct tfd_dims *d, const struct tfd_dims *from,
                           int begin, int end, struct tfd_status *st)
{
    for (int i = begin; i < end; i++)
        TFD_TRY(tfd_dims_push(d, from->at[i], st));
    return TFD_OK;
}

bool tfd_dims_equal(const struct tfd_dims *a, const struct tfd_dims *b,
                    int begin, int end)
{
    for (int i = begin; i < end; i++)
        if (a->at[i] != b->at[i])
            return false;
    return true;
}

enum tfd_code tfd_dims_shape(const struct tfd_dims *d, struct tfd_shape *out,
                             struct tfd_status *st)
{
    return tfd_shape_make_any(out, d->at, d->rank, st);
}

/* ---- Small tensors ------------------------------------------------------- */

static void keep_buffer(struct tfd_buffer *b)
{
    (void)b;
}

struct tfd_tensor tfd_small_ints(struct tfd_small_ints *room,
                                 enum tfd_dtype dtype, const int64_t *values,
                                 int count)
{
    struct tfd_tensor t = {dtype, {count < 0 ? 0 : 1, {count}}, &room->buffer};
    int n = count < 0 ? 1 : count;

    for (int i = 0; i < n; i++)
        if (dtype == TFD_INT64)
            room->u.i64[i] = values[i];
        else
            room->u.i32[i] = (int32_t)values[i];
    room->buffer = (struct tfd_buffer){.refs = 1,
                                       .size = sizeof(room->u),
                                       .data = &room->u,
                                       .release = keep_buffer};
    return t;
}

/* ---- Views --------------------------------------------------------------- */

enum tfd_code tfd_long_view_init(struct tfd_long_view *v,
                                 const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    v->k = *k;
    v->many = NULL;
    if (k->in_count > TFD_LONG_VIEW_INPUTS) {
        v->many = calloc((size_t)k->in_count, sizeof(*v->many));
        if (!v->many)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for %d inputs", k->in_count);
    }
    v->k.in = v->many ? v->many : v->few;
    memcpy(v->k.in, k->in, sizeof(*k->in) * (size_t)k->in_count);
    return TFD_OK;
}

void tfd_long_view_deinit(struct tfd_long_view *v)
{
    free(v->many);
}

enum tfd_code tfd_long_view_run(struct tfd_long_view *v, struct tfd_status *st)
{
    TFD_TRY(tfd_long_none_left(&v->k, st));
    return v->k.kernel->compute(&v->k, st);
}

void tfd_long_see(struct tfd_long_view *v, int in, const int64_t *dim, int rank)
{
    struct tfd_shape *s = &v->k.in[in].shape;

    *s = (struct tfd_shape){.rank = rank};
    memcpy(s->dim, dim, sizeof(*dim) * (size_t)rank);
}
