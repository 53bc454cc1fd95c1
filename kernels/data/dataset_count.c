/*
 * dataset_count.c - datasets that leave out or repeat elements by their number:
 * take, skip, repeat, shard.
 */
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct counted {
    struct tfd_dataset dataset;
    int64_t count; /* of shards: how many there are */
    int64_t index;
    bool non_empty; /* of a shard: each has an element, or it fails */
};

struct counted_iterator {
    struct tfd_data_iterator iterator;
    int64_t done; /* elements, or passes */
    bool is_over;
    bool any; /* repeat: an element has come; skip: the first has */
};

static int64_t count_of(const struct tfd_data_iterator *it)
{
    return ((const struct counted *)it->dataset)->count;
}

static int64_t input_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

/* ---- Take ---------------------------------------------------------------- */

static int64_t take_cardinality(const struct tfd_dataset *d)
{
    int64_t count = ((const struct counted *)d)->count;
    int64_t n = input_cardinality(d);

    if (n == TFD_CARDINALITY_UNKNOWN || count == -1)
        return n;
    if (n == TFD_CARDINALITY_INFINITE)
        return count;
    return n < count ? n : count;
}

static enum tfd_code take_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    int64_t count = count_of(it);

    if (i->is_over || (count >= 0 && i->done >= count)) {
        tfd_data_close(it->input);
        it->input = NULL;
        *end = i->is_over = true;
        return TFD_OK;
    }
    TFD_TRY(tfd_data_next(it->input, out, end, st));
    i->is_over = *end;
    i->done++;
    return TFD_OK;
}

static enum tfd_code take_at(struct tfd_data_iterator *it, int64_t index,
                             struct tfd_tensor *out, bool *end,
                             struct tfd_status *st)
{
    int64_t count = count_of(it);

    *end = count >= 0 && index >= count;
    return *end ? TFD_OK : tfd_data_at(it->input, index, out, end, st);
}

/* ---- Skip ---------------------------------------------------------------- */

static int64_t skip_cardinality(const struct tfd_dataset *d)
{
    int64_t count = ((const struct counted *)d)->count;
    int64_t n = input_cardinality(d);

    if (count < 0)
        return 0;
    if (n < 0)
        return n;
    return n < count ? 0 : n - count;
}

static enum tfd_code skip_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    int64_t count = count_of(it);

    if (i->is_over || count < 0) {
        *end = true;
        return TFD_OK;
    }
    /* After a failure on the way all of them are skipped anew. */
    for (int64_t n = 0; !i->any && n < count; n++) {
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        tfd_data_element_drop(out, it->dataset->count);
        i->is_over = *end;
        if (*end)
            return TFD_OK;
    }
    i->any = true;
    TFD_TRY(tfd_data_next(it->input, out, end, st));
    i->is_over = *end;
    return TFD_OK;
}

static enum tfd_code skip_at(struct tfd_data_iterator *it, int64_t index,
                             struct tfd_tensor *out, bool *end,
                             struct tfd_status *st)
{
    int64_t count = count_of(it);
    bool beyond = index < 0 || index > INT64_MAX - count;

    *end = count < 0;
    return *end ? TFD_OK
                : tfd_data_at(it->input,
                              beyond ? TFD_DATA_BEYOND : index + count, out,
                              end, st);
}

/* ---- Repeat -------------------------------------------------------------- */

static int64_t repeat_cardinality(const struct tfd_dataset *d)
{
    int64_t count = ((const struct counted *)d)->count;
    int64_t n = input_cardinality(d);

    if (count == 0 || n == 0)
        return 0;
    if (count < 0)
        return TFD_CARDINALITY_INFINITE;
    if (n < 0)
        return n;
    return n > INT64_MAX / count ? INT64_MAX : n * count;
}

/* Where passes are counted, one that cannot begin is the last. */
static enum tfd_code open_pass(struct tfd_data_iterator *it,
                               struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    enum tfd_code rc;

    if (it->input)
        return TFD_OK;
    rc = tfd_data_open_within(it, it->dataset->inputs[0], i->done, &it->input,
                              st);
    i->is_over = rc != TFD_OK && i->done > 0 && count_of(it) > 0;
    return rc;
}

/* One pass is over: the next, or, of an input that is repeated for ever and has
 * no elements, the end. */
static enum tfd_code repeat_again(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    int64_t count = count_of(it);

    i->done++;
    i->is_over = count < 0 ? !i->any : i->done >= count;
    i->any = false;
    tfd_data_close(it->input);
    it->input = NULL;
    return i->is_over ? TFD_OK : open_pass(it, st);
}

static enum tfd_code repeat_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;

    if (count_of(it) == 0)
        i->is_over = true;
    while (!i->is_over) {
        TFD_TRY(open_pass(it, st));
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        if (!*end) {
            i->any = true;
            return TFD_OK;
        }
        TFD_TRY(repeat_again(it, st));
    }
    *end = true;
    return TFD_OK;
}

/* Stands for a number that a strategy puts in. */
#define SHARD_HINT (-1)

static enum tfd_code repeat_at(struct tfd_data_iterator *it, int64_t index,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    int64_t n = input_cardinality(it->dataset);

    TFD_TRY(open_pass(it, st));
    if (index < 0 || n <= 0 || index / n >= count_of(it))
        return tfd_data_at(it->input, TFD_DATA_BEYOND, out, end, st);
    return tfd_data_at(it->input, index % n, out, end, st);
}

static enum tfd_code repeat_sequential(const struct tfd_dataset *d,
                                       struct tfd_status *st)
{
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "`repeat(%lld)` does not support random access of tf.data "
                    "datasets.",
                    (long long)((const struct counted *)d)->count);
}

/* ---- Shard --------------------------------------------------------------- */

static int64_t shard_cardinality(const struct tfd_dataset *d)
{
    const struct counted *c = (const struct counted *)d;
    int64_t n = input_cardinality(d);

    return n < 0 ? n : n / c->count + (c->index < n % c->count);
}

static enum tfd_code shard_at(struct tfd_data_iterator *it, int64_t index,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    const struct counted *c = (const struct counted *)it->dataset;
    bool beyond = index < 0 || index > INT64_MAX / c->count - 1;

    return tfd_data_at(it->input,
                       beyond ? TFD_DATA_BEYOND : index * c->count + c->index,
                       out, end, st);
}

/* What the other shards have first, with this one's first element. */
static enum tfd_code see_others(struct tfd_data_iterator *it,
                                struct tfd_tensor *e, struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    const struct counted *c = (const struct counted *)it->dataset;
    int64_t given = i->done;
    bool end = false;

    for (; i->done < c->count; i->done++) {
        TFD_TRY(tfd_data_next(it->input, e, &end, st));
        tfd_data_element_drop(e, it->dataset->count);
        if (!end)
            continue;
        i->is_over = true;
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Could not apply FILE based sharding: the dataset only has %lld "
            "file(s), which is not enough for the required %lld "
            "shards/workers. If you are using datasets with distribution "
            "strategy, consider setting the auto sharding policy to either "
            "DATA or OFF using the "
            "`experimental_distribute.auto_shard_policy` option of "
            "`tf.data.Options()`. Or, split your input files into a larger "
            "number of small files such that number of files is greater than "
            "number of shards/workers.",
            (long long)given, (long long)c->count);
    }
    return TFD_OK;
}

static enum tfd_code check_others(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    const struct counted *c = (const struct counted *)it->dataset;
    struct tfd_tensor *e;
    enum tfd_code rc;

    if (!c->non_empty || ((struct counted_iterator *)it)->done >= c->count)
        return TFD_OK;
    e = tfd_data_element_new(it->dataset->count, st);
    if (!e)
        return TFD_RESOURCE_EXHAUSTED;
    rc = see_others(it, e, st);
    free(e);
    return rc;
}

static enum tfd_code shard_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct counted_iterator *i = (struct counted_iterator *)it;
    const struct counted *c = (const struct counted *)it->dataset;

    *end = i->is_over;
    while (!i->is_over) {
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        i->is_over = *end;
        if (*end)
            return TFD_OK;
        if (i->done++ % c->count == c->index)
            return check_others(it, st);
        tfd_data_element_drop(out, it->dataset->count);
    }
    return TFD_OK;
}

static enum tfd_code shard_begin(struct tfd_data_iterator *it,
                                 struct tfd_status *st)
{
    if (count_of(it) == SHARD_HINT)
        return tfd_fail(
            st, TFD_FAILED_PRECONDITION,
            "`tf.data.Dataset.shard(SHARD_HINT, ...)` can only be used in "
            "`tf.distribute.Strategy.experimental_distribute_dataset()` with "
            "`tf.data.experimental.AutoShardPolicy.HINT` policy, or tf.data "
            "service with "
            "`tf.data.experimental.service.ShardingPolicy.HINT` processing "
            "mode.");
    return tfd_data_open_input(it, 0, &it->input, st);
}

/* ---- Making -------------------------------------------------------------- */

#define KIND(id, name_)                                   \
    static const struct tfd_dataset_kind id##_kind = {    \
        .name = name_,                                    \
        .iterator_size = sizeof(struct counted_iterator), \
        .opens_input = true,                              \
        .same_elements = true,                            \
        .next = id##_next,                                \
        .at = id##_at,                                    \
        .cardinality = id##_cardinality,                  \
    }

KIND(take, "FiniteTake");
KIND(skip, "FiniteSkip");
static const struct tfd_dataset_kind repeat_kind = {
    .name = "FiniteRepeat",
    .iterator_size = sizeof(struct counted_iterator),
    .same_elements = true,
    .next = repeat_next,
    .at = repeat_at,
    .sequential = repeat_sequential,
    .cardinality = repeat_cardinality,
};

static const struct tfd_dataset_kind shard_kind = {
    .name = "Shard",
    .iterator_size = sizeof(struct counted_iterator),
    .same_elements = true,
    .begin = shard_begin,
    .next = shard_next,
    .at = shard_at,
    .cardinality = shard_cardinality,
};

static enum tfd_code make_counted(struct tfd_kctx *k,
                                  const struct tfd_dataset_kind *kind,
                                  int64_t count, int64_t index,
                                  struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct counted), 1, &d, st));
    ((struct counted *)d)->count = count;
    ((struct counted *)d)->index = index;
    if (kind == &repeat_kind && count <= 0 && !d->sequential)
        d->sequential = d;
    return tfd_dataset_output(k, d, st);
}

#define COMPUTE(id)                                          \
    static enum tfd_code id##_compute(struct tfd_kctx *k,    \
                                      struct tfd_status *st) \
    {                                                        \
        int64_t count;                                       \
                                                             \
        TFD_TRY(tfd_dataset_int(k, 1, "count", &count, st)); \
        return make_counted(k, &id##_kind, count, 0, st);    \
    }

COMPUTE(take)
COMPUTE(skip)
COMPUTE(repeat)

static enum tfd_code shard_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count, index;
    struct tfd_dataset *d;
    bool non_empty;

    TFD_TRY(tfd_dataset_int(k, 1, "num_shards", &count, st));
    TFD_TRY(tfd_dataset_int(k, 2, "index", &index, st));
    if (count <= 0 && count != SHARD_HINT)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of shards must be greater than zero (currently "
                        "num_shards = %lld).",
                        (long long)count);
    if (index < 0 || (index >= count && count != SHARD_HINT))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index must be between 0 and %lld (currently index = "
                        "%lld).",
                        (long long)count - 1, (long long)index);
    TFD_TRY(tfd_node_bool(k->node, "require_non_empty", &non_empty, st));
    TFD_TRY(make_counted(k, &shard_kind, count, index, st));
    TFD_TRY(tfd_dataset_of(&k->out[0], &d, st));
    ((struct counted *)d)->non_empty = non_empty;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define COUNTED(name_)                                             \
    TFD_DATA_OP(name_, "input_dataset: variant, count: int64", "", \
                TFD_DATA_METADATA, 0)

static const struct tfd_opdef ops[] = {
    COUNTED("TakeDataset"),
    COUNTED("SkipDataset"),
    COUNTED("RepeatDataset"),
    TFD_DATA_OP("ShardDataset",
                "input_dataset: variant, num_shards: int64, index: int64",
                "require_non_empty: bool = false; ", TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("TakeDataset", take_compute),
    TFD_DATA_KERNEL("SkipDataset", skip_compute),
    TFD_DATA_KERNEL("RepeatDataset", repeat_compute),
    TFD_DATA_KERNEL("ShardDataset", shard_compute),
};

TFD_DATA_FAMILY(dataset_count);
