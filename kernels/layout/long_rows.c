/*
 * long_rows.c - ops on long shapes that take rows by number, and OneHot: what
 * the numbers say stays, what is behind them is one dimension.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

#include <string.h>

/* [m, inner] for a tensor whose rows are behind its first `lead` dimensions. */
static void see_rows(struct tfd_long_view *v, int in, const struct tfd_dims *d,
                     int lead)
{
    int64_t dim[2] = {tfd_dims_product(d, 0, lead),
                      tfd_dims_product(d, lead, d->rank)};

    tfd_long_see(v, in, dim, 2);
}

static void see_flat(struct tfd_long_view *v, int in)
{
    int64_t n = tfd_tensor_elements(&v->k.in[in]);

    tfd_long_see(v, in, &n, 1);
}

/* Each output is [rows, inner]: inner is dimensions [lead, rank) of d. */
static enum tfd_code spread_rows(struct tfd_kctx *k, const struct tfd_dims *d,
                                 int lead, struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        struct tfd_dims out = {.rank = 0};

        TFD_TRY(tfd_dims_push(&out, k->out[i].shape.dim[0], st));
        TFD_TRY(tfd_dims_add(&out, d, lead, d->rank, st));
        TFD_TRY(tfd_dims_shape(&out, &k->out[i].shape, st));
    }
    return TFD_OK;
}

static enum tfd_code check_prefix(const struct tfd_kctx *k,
                                  const struct tfd_dims *d,
                                  const struct tfd_dims *ids,
                                  struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (ids->rank <= d->rank && tfd_dims_equal(d, ids, 0, ids->rank))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "data.shape = %s does not start with segment_ids.shape = "
                    "%s",
                    tfd_shape_text(&k->in[0].shape, a),
                    tfd_shape_text(&k->in[1].shape, b));
}

enum tfd_code tfd_long_rows(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    struct tfd_dims d, ids;
    struct tfd_long_view v;
    enum tfd_code rc;
    int lead;

    tfd_dims_of(&d, &k->in[0].shape);
    tfd_dims_of(&ids, &k->in[1].shape);
    lead = row->arg ? 1 : ids.rank;
    if (d.rank < 1 || lead < 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%s of a scalar and a tensor of %d dimensions",
                        k->kernel->op, d.rank);
    if (!row->arg)
        TFD_TRY(check_prefix(k, &d, &ids, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    see_rows(&v, 0, &d, lead);
    if (!row->arg)
        see_flat(&v, 1);
    rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK)
        rc = spread_rows(k, &d, lead, st);
    tfd_long_view_deinit(&v);
    return rc;
}

/* Indices, then as many tensors of rows that begin with their dimensions. */
static enum tfd_code see_stitch(struct tfd_long_view *v, int lists,
                                const struct tfd_dims *rest,
                                struct tfd_status *st)
{
    for (int i = 0; i < lists; i++) {
        struct tfd_dims ids, d;

        tfd_dims_of(&ids, &v->k.in[i].shape);
        tfd_dims_of(&d, &v->k.in[lists + i].shape);
        if (d.rank - ids.rank != rest->rank ||
            !tfd_dims_equal(&d, &ids, 0, ids.rank) ||
            memcmp(d.at + ids.rank, rest->at,
                   sizeof(*d.at) * (size_t)rest->rank) != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "data[%d].shape does not start with "
                            "indices[%d].shape, or its rows differ from "
                            "those of data[0]",
                            i, i);
        see_rows(v, lists + i, &d, ids.rank);
        see_flat(v, i);
    }
    return TFD_OK;
}

enum tfd_code tfd_long_stitch(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    int lists = k->in_count / 2, lead = k->in[0].shape.rank;
    struct tfd_dims first, rest = {.rank = 0};
    struct tfd_long_view v;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&first, &k->in[lists].shape);
    TFD_TRY(tfd_dims_add(&rest, &first, lead, first.rank, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    rc = see_stitch(&v, lists, &rest, st);
    if (rc == TFD_OK)
        rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK)
        rc = spread_rows(k, &first, lead, st);
    tfd_long_view_deinit(&v);
    return rc;
}

/* The axis stays where it is, behind dimensions of 1. */
enum tfd_code tfd_long_one_hot(struct tfd_kctx *k,
                               const struct tfd_long_row *row,
                               struct tfd_status *st)
{
    struct tfd_dims d, out = {.rank = 0};
    int64_t axis = -1, dim[TFD_RANK_MAX];
    struct tfd_long_view v;
    enum tfd_code rc;
    int at, rank;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(tfd_node_int(k->node, "axis", &axis, st));
    if (axis < -1 || axis > d.rank || (axis > 0 && axis >= TFD_RANK_MAX - 1))
        return tfd_fail(st,
                        axis < -1 || axis > d.rank ? TFD_INVALID_ARGUMENT
                                                   : TFD_UNIMPLEMENTED,
                        "Expected axis to be -1 or between [0, %d).  But "
                        "received: %lld",
                        d.rank + 1, (long long)axis);
    at = axis < 0 ? d.rank : (int)axis;
    rank = axis < 0 ? 1 : at + 1;
    for (int i = 0; i < rank; i++)
        dim[i] = 1;
    dim[rank - 1] = tfd_dims_product(&d, axis < 0 ? 0 : at, d.rank);
    if (axis > 0)
        dim[0] = tfd_dims_product(&d, 0, at);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, dim, rank);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    TFD_TRY(tfd_dims_add(&out, &d, 0, at, st));
    TFD_TRY(tfd_dims_push(&out, k->out[0].shape.dim[axis < 0 ? 1 : at], st));
    TFD_TRY(tfd_dims_add(&out, &d, at, d.rank, st));
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}
