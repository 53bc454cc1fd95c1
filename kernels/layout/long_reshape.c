/*
 * long_reshape.c - ops about shapes themselves, on long shapes: reading them,
 * and the same elements in another one.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

static enum tfd_code put_dims(struct tfd_kctx *k, int i, struct tfd_status *st)
{
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[i];
    struct tfd_shape vector = {1, {k->in[i].shape.rank}};
    struct tfd_dims d;
    void *data;

    tfd_dims_of(&d, &k->in[i].shape);
    TFD_TRY(tfd_kctx_output(k, i, dtype, &vector, st));
    data = tfd_tensor_data(&k->out[i]);
    for (int j = 0; j < d.rank; j++) {
        if (dtype == TFD_INT64)
            ((int64_t *)data)[j] = d.at[j];
        else if (d.at[j] > INT32_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%lld does not fit the int32 output of %s",
                            (long long)d.at[j], k->kernel->op);
        else
            ((int32_t *)data)[j] = (int32_t)d.at[j];
    }
    return TFD_OK;
}

enum tfd_code tfd_long_shape(struct tfd_kctx *k, const struct tfd_long_row *row,
                             struct tfd_status *st)
{
    (void)row;
    for (int i = 0; i < k->out_count; i++)
        TFD_TRY(put_dims(k, i, st));
    return TFD_OK;
}

static enum tfd_code alias(struct tfd_kctx *k, const struct tfd_dims *d,
                           struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_dims_shape(d, &shape, st));
    tfd_kctx_output_alias(k, 0, 0, &shape);
    return TFD_OK;
}

/* ---- Reshape ------------------------------------------------------------- */

/* The sizes wanted, and where the -1 is (-1: nowhere). */
static enum tfd_code read_sizes(const struct tfd_tensor *t, struct tfd_dims *d,
                                int *unknown, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(t);

    *unknown = -1;
    d->rank = 0;
    if (t->shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sizes input must be 1-D, but has %d dimensions",
                        t->shape.rank);
    if (n >= TFD_RANK_LONG_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "too many dimensions: must be < %d, but received %lld",
                        TFD_RANK_LONG_MAX, (long long)n);
    for (int i = 0; i < (int)n; i++) {
        int64_t size = tfd_check_int_at(t, i);

        if (size == -1 && *unknown >= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Only one input size may be -1, not both %d and %d",
                            *unknown, i);
        if (size < -1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Size %d must be non-negative, not %lld", i,
                            (long long)size);
        if (size == -1)
            *unknown = i;
        d->at[d->rank++] = size;
    }
    return TFD_OK;
}

/* The product of sizes; -1 where it does not fit. */
static int64_t known_product(const struct tfd_dims *d, int unknown)
{
    int64_t n = 1;

    for (int i = 0; i < d->rank; i++)
        if (i != unknown && __builtin_mul_overflow(n, d->at[i], &n))
            return -1;
    return n;
}

static bool has_zero(const struct tfd_dims *d)
{
    for (int i = 0; i < d->rank; i++)
        if (d->at[i] == 0)
            return true;
    return false;
}

/* Zeros of the wanted sizes count on neither side, as in array.c. */
static enum tfd_code fill_unknown(struct tfd_dims *want,
                                  const struct tfd_dims *have, int unknown,
                                  struct tfd_status *st)
{
    struct tfd_dims known = *want;
    int64_t n = 1, by;
    bool skipped = false, zero = has_zero(want);

    for (int i = 0; i < known.rank; i++)
        if (known.at[i] == 0)
            known.at[i] = 1;
    for (int i = 0; i < have->rank; i++) {
        skipped |= zero && have->at[i] == 0;
        n *= zero && have->at[i] == 0 ? 1 : have->at[i];
    }
    by = known_product(&known, unknown);
    if (by < 1 || (!skipped && n % by != 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to reshape is a tensor with %lld values, but "
                        "the requested shape requires a multiple of %lld",
                        (long long)n, (long long)by);
    want->at[unknown] = n / by;
    return TFD_OK;
}

enum tfd_code tfd_long_reshape(struct tfd_kctx *k,
                               const struct tfd_long_row *row,
                               struct tfd_status *st)
{
    int64_t have = tfd_tensor_elements(&k->in[0]), wanted;
    struct tfd_dims want, own;
    int unknown;

    (void)row;
    tfd_dims_of(&own, &k->in[0].shape);
    TFD_TRY(read_sizes(&k->in[1], &want, &unknown, st));
    if (unknown >= 0)
        TFD_TRY(fill_unknown(&want, &own, unknown, st));
    wanted = known_product(&want, -1);
    if (wanted != have)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input to reshape is a tensor with %lld values, but "
                        "the requested shape has %lld",
                        (long long)have, (long long)wanted);
    return alias(k, &want, st);
}

/* ---- ExpandDims, Squeeze ------------------------------------------------- */

enum tfd_code tfd_long_expand(struct tfd_kctx *k,
                              const struct tfd_long_row *row,
                              struct tfd_status *st)
{
    struct tfd_dims d, out = {.rank = 0};
    int64_t at;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    if (tfd_tensor_elements(&k->in[1]) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'dim' must be a tensor with a single value");
    at = tfd_check_int_at(&k->in[1], 0);
    if (at < -1 - d.rank || at > d.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tried to expand dim index %lld for tensor with %d "
                        "dimensions.",
                        (long long)at, d.rank);
    at = at < 0 ? at + d.rank + 1 : at;
    TFD_TRY(tfd_dims_add(&out, &d, 0, (int)at, st));
    TFD_TRY(tfd_dims_push(&out, 1, st));
    TFD_TRY(tfd_dims_add(&out, &d, (int)at, d.rank, st));
    return alias(k, &out, st);
}

static enum tfd_code mark_squeezed(const int64_t *axes, int count,
                                   const struct tfd_dims *d, bool *drop,
                                   struct tfd_status *st)
{
    for (int i = 0; i < count; i++) {
        int64_t at = axes[i] < 0 ? axes[i] + d->rank : axes[i];

        if (at < 0 || at >= d->rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Tried to squeeze dim index %lld for tensor with "
                            "%d dimensions.",
                            (long long)axes[i], d->rank);
        if (d->at[at] != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Can not squeeze dim[%lld], expected a dimension "
                            "of 1, got %lld",
                            (long long)at, (long long)d->at[at]);
        drop[at] = true;
    }
    return TFD_OK;
}

enum tfd_code tfd_long_squeeze(struct tfd_kctx *k,
                               const struct tfd_long_row *row,
                               struct tfd_status *st)
{
    bool drop[TFD_RANK_LONG_MAX] = {false};
    int64_t axes[TFD_RANK_LONG_MAX];
    struct tfd_dims d, out = {.rank = 0};
    int count = 0;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(tfd_node_ints(k->node, "squeeze_dims", axes, TFD_RANK_LONG_MAX,
                          &count, st));
    TFD_TRY(mark_squeezed(axes, count, &d, drop, st));
    for (int i = 0; i < d.rank; i++)
        if (count > 0 ? !drop[i] : d.at[i] != 1)
            TFD_TRY(tfd_dims_push(&out, d.at[i], st));
    return alias(k, &out, st);
}
