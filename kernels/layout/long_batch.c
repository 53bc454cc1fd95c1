/*
 * long_batch.c - ops on long shapes that see leading dimensions as one: those
 * of each element alone, batches, rows by number.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

#include <string.h>

static bool is_seen(const struct tfd_long_row *row, int in)
{
    return in < 32 ? row->inputs >> in & 1 : row->inputs == UINT32_MAX;
}

/* An output of dimensions [n, rest] becomes [lead, rest]. */
static enum tfd_code spread_output(struct tfd_tensor *out,
                                   const struct tfd_dims *lead,
                                   struct tfd_status *st)
{
    struct tfd_dims made = *lead, got;

    tfd_dims_of(&got, &out->shape);
    if (got.rank < 1 || got.at[0] != tfd_dims_product(lead, 0, lead->rank))
        return tfd_fail(st, TFD_INTERNAL, "an output is not as its batch is");
    TFD_TRY(tfd_dims_add(&made, &got, 1, got.rank, st));
    return tfd_dims_shape(&made, &out->shape, st);
}

static enum tfd_code run_spread(struct tfd_long_view *v,
                                const struct tfd_dims *lead,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_long_view_run(v, st));
    for (int i = 0; i < v->k.out_count; i++)
        TFD_TRY(spread_output(&v->k.out[i], lead, st));
    return TFD_OK;
}

enum tfd_code tfd_long_as_is(struct tfd_kctx *k, const struct tfd_long_row *row,
                             struct tfd_status *st)
{
    (void)row;
    return k->kernel->compute(k, st);
}

/* words has at most one %d, and behind it at most one %s; it is a literal of
 * the table. */
enum tfd_code tfd_long_refuse(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    const char *place = strstr(row->words, "%d"), *rest, *shape;
    int head = place ? (int)(place - row->words) : (int)strlen(row->words);
    enum tfd_code code = row->arg ? TFD_INVALID_ARGUMENT : TFD_UNIMPLEMENTED;
    char text[TFD_SHAPE_TEXT_MAX];

    if (!place)
        return tfd_fail(st, code, "%s", row->words);
    rest = place + 2;
    shape = strstr(rest, "%s");
    return tfd_fail(st, code, "%.*s%d%.*s%s", head, row->words,
                    k->in[0].shape.rank,
                    shape ? (int)(shape - rest) : (int)strlen(rest), rest,
                    shape ? tfd_shape_text(&k->in[0].shape, text) : "");
}

/* ---- Elementwise --------------------------------------------------------- */

static enum tfd_code fail_same(const struct tfd_kctx *k, int first, int other,
                               struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Inputs to operation " TFD_STR_FMT " of type %s must have "
                    "the same size and shape.  Input %d: %s != input %d: %s",
                    TFD_STR_ARG(k->node->name), k->kernel->op, first,
                    tfd_shape_text(&k->in[first].shape, a), other,
                    tfd_shape_text(&k->in[other].shape, b));
}

/* All inputs that are not scalars have one shape, which *lead becomes. */
static enum tfd_code flatten(const struct tfd_kctx *k,
                             const struct tfd_long_row *row,
                             struct tfd_long_view *v, struct tfd_dims *lead,
                             struct tfd_status *st)
{
    int first = -1;

    for (int i = 0; i < k->in_count; i++) {
        int64_t n = tfd_tensor_elements(&k->in[i]);

        if (!is_seen(row, i) || k->in[i].shape.rank == 0)
            continue;
        if (first < 0)
            tfd_dims_of(lead, &k->in[first = i].shape);
        if (!tfd_shape_equal(&k->in[first].shape, &k->in[i].shape))
            return fail_same(k, first, i, st);
        tfd_long_see(v, i, &n, 1);
    }
    return TFD_OK;
}

enum tfd_code tfd_long_flat(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    struct tfd_dims lead = {.rank = 0};
    struct tfd_long_view v;
    enum tfd_code rc;

    TFD_TRY(tfd_long_view_init(&v, k, st));
    rc = flatten(k, row, &v, &lead, st);
    if (rc == TFD_OK)
        rc = row->arg ? tfd_long_view_run(&v, st) : run_spread(&v, &lead, st);
    tfd_long_view_deinit(&v);
    return rc;
}

/* ---- Batches ------------------------------------------------------------- */

/* Input `in` as [n, its dimensions from `lead` on]. */
static enum tfd_code see_batch(const struct tfd_kctx *k,
                               struct tfd_long_view *v, int in,
                               const struct tfd_dims *lead,
                               struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    int64_t dim[TFD_RANK_MAX];
    struct tfd_dims own;
    int rest;

    tfd_dims_of(&own, &k->in[in].shape);
    rest = own.rank - lead->rank;
    if (rest < 0 || rest >= TFD_RANK_MAX ||
        !tfd_dims_equal(&own, lead, 0, lead->rank))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input %d of %s has shape %s, whose batch dimensions "
                        "are not those of input 0: %s",
                        in, k->kernel->op, tfd_shape_text(&k->in[in].shape, a),
                        tfd_shape_text(&k->in[0].shape, b));
    dim[0] = tfd_dims_product(lead, 0, lead->rank);
    memcpy(dim + 1, own.at + lead->rank, sizeof(*dim) * (size_t)rest);
    tfd_long_see(v, in, dim, rest + 1);
    return TFD_OK;
}

static enum tfd_code run_batch(struct tfd_kctx *k,
                               const struct tfd_long_row *row, int inner,
                               struct tfd_status *st)
{
    struct tfd_long_view v;
    struct tfd_dims lead;
    enum tfd_code rc = TFD_OK;

    tfd_dims_of(&lead, &k->in[0].shape);
    if (lead.rank < inner)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input 0 of %s must have at least %d dimensions, but "
                        "has %d",
                        k->kernel->op, inner, lead.rank);
    lead.rank -= inner;
    TFD_TRY(tfd_long_view_init(&v, k, st));
    for (int i = 0; i < k->in_count && rc == TFD_OK; i++)
        if (is_seen(row, i))
            rc = see_batch(k, &v, i, &lead, st);
    if (rc == TFD_OK)
        rc = run_spread(&v, &lead, st);
    tfd_long_view_deinit(&v);
    return rc;
}

enum tfd_code tfd_long_batch(struct tfd_kctx *k, const struct tfd_long_row *row,
                             struct tfd_status *st)
{
    return run_batch(k, row, row->arg, st);
}

/* Of several diagonals each batch has a matrix of them. */
enum tfd_code tfd_long_matrix_diag(struct tfd_kctx *k,
                                   const struct tfd_long_row *row,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *band = k->in_count > 1 ? &k->in[1] : NULL;
    bool several = band && tfd_tensor_elements(band) == 2 &&
                   tfd_check_int_at(band, 0) != tfd_check_int_at(band, 1);

    return run_batch(k, row, several ? 2 : 1, st);
}

static enum tfd_code check_biases(const struct tfd_kctx *k, int64_t channels,
                                  bool first, struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    if (k->in[1].shape.rank != 1 || k->in[1].shape.dim[0] == channels)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Must provide as many biases as the %s dimension of the "
                    "input tensor: %s vs. %s",
                    first ? "channel" : "last",
                    tfd_shape_text(&k->in[1].shape, b),
                    tfd_shape_text(&k->in[0].shape, a));
}

/* NCHW: [n, channels, all others]; else the channels are last. */
enum tfd_code tfd_long_bias(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    struct tfd_str format = TFD_STR_EMPTY;
    struct tfd_dims d;
    struct tfd_long_view v;
    enum tfd_code rc;
    int64_t dim[3];
    bool first;

    (void)!tfd_node_str(k->node, "data_format", &format, NULL);
    first = tfd_str_is(format, "NCHW");
    tfd_dims_of(&d, &k->in[0].shape);
    if (d.rank < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input tensor must be at least 2D: %d", d.rank);
    dim[0] = tfd_dims_product(&d, 0, first ? 1 : d.rank - 1);
    dim[1] = first ? d.at[1] : d.at[d.rank - 1];
    dim[2] = first ? tfd_dims_product(&d, 2, d.rank) : 1;
    if (!row->arg)
        TFD_TRY(check_biases(k, dim[1], first, st));
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, dim, first ? 3 : 2);
    rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK && !row->arg)
        k->out[0].shape = k->in[0].shape;
    tfd_long_view_deinit(&v);
    return rc;
}

/* ---- Sizes --------------------------------------------------------------- */

/* The kernel makes a vector of as many elements. */
enum tfd_code tfd_long_sizes(struct tfd_kctx *k, const struct tfd_long_row *row,
                             struct tfd_status *st)
{
    const struct tfd_tensor *sizes = &k->in[row->arg];
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_small_ints room;
    struct tfd_shape out;
    struct tfd_dims d = {.rank = 0};
    struct tfd_long_view v;
    enum tfd_code rc;
    int64_t n;

    if (sizes->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector of {int32,int64}, got shape %s",
                        tfd_shape_text(&sizes->shape, text));
    for (int64_t i = 0; i < sizes->shape.dim[0]; i++)
        if (tfd_dims_push(&d, tfd_check_int_at(sizes, i), NULL) != TFD_OK)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Too many dimensions");
    TFD_TRY(tfd_dims_shape(&d, &out, st));
    n = tfd_shape_elements(&out);
    if (sizes->dtype == TFD_INT32 && n > INT32_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "%lld elements in %d dimensions by int32 sizes",
                        (long long)n, d.rank);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    v.k.in[row->arg] = tfd_small_ints(&room, sizes->dtype, &n, 1);
    rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK)
        k->out[0].shape = out;
    tfd_long_view_deinit(&v);
    return rc;
}
