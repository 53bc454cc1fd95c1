/*
 * dataset_batch.c - BatchDataset, V2 and ParallelBatchDataset: some elements of
 * the input in a row, stacked to one element with a dimension more.
 */
#include "kernels/data/data_collect.h"
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

struct batch {
    struct tfd_dataset dataset;
    int64_t size;
    bool drop_remainder;
};

struct batch_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_collect collect; /* of the batch that is being collected */
};

static int64_t batch_cardinality(const struct tfd_dataset *d)
{
    const struct batch *b = (const struct batch *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);

    if (n < 0)
        return n;
    return n / b->size + (n % b->size != 0 && !b->drop_remainder);
}

static void batch_end(struct tfd_data_iterator *it)
{
    tfd_data_collect_deinit(&((struct batch_iterator *)it)->collect);
}

static enum tfd_code batch_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct tfd_data_collect *c = &((struct batch_iterator *)it)->collect;
    const struct batch *b = (const struct batch *)it->dataset;
    enum tfd_code rc = tfd_data_collect(c, it->input, b->size, st);

    *end = c->have == 0 || (c->have < b->size && b->drop_remainder);
    if (rc == TFD_OK && !*end)
        rc = tfd_data_batch(c->elements, c->have, c->width, out, st);
    tfd_data_collect_clear(c);
    return rc;
}

static enum tfd_code batch_at(struct tfd_data_iterator *it, int64_t index,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    struct tfd_data_collect *c = &((struct batch_iterator *)it)->collect;
    const struct batch *b = (const struct batch *)it->dataset;
    bool beyond = index < 0 || index > INT64_MAX / b->size - 1;
    enum tfd_code rc = tfd_data_collect_at(
        c, it->input, beyond ? TFD_DATA_BEYOND : index * b->size, b->size, st);

    *end = c->have < b->size;
    if (rc == TFD_OK && !*end)
        rc = tfd_data_batch(c->elements, c->have, c->width, out, st);
    tfd_data_collect_clear(c);
    return rc;
}

static enum tfd_code batch_sequential(const struct tfd_dataset *d,
                                      struct tfd_status *st)
{
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    TFD_STR_FMT " does not support global shuffling with "
                                "`drop_remainder=False`.",
                    TFD_STR_ARG(d->recipe->op));
}

#define BATCH_KIND(id, name_, ...)                      \
    static const struct tfd_dataset_kind id##_kind = {  \
        .name = name_,                                  \
        .iterator_size = sizeof(struct batch_iterator), \
        .opens_input = true,                            \
        .same_elements = true,                          \
        .next = batch_next,                             \
        .end = batch_end,                               \
        .cardinality = batch_cardinality,               \
        __VA_ARGS__}
#define BY_NUMBER .at = batch_at, .sequential = batch_sequential

BATCH_KIND(batch, "Batch", BY_NUMBER);
BATCH_KIND(batch2, "BatchV2", BY_NUMBER);
BATCH_KIND(parallel, "ParallelBatch", .at = NULL);

static enum tfd_code make_batch(struct tfd_kctx *k,
                                const struct tfd_dataset_kind *kind,
                                int drop_in, struct tfd_status *st)
{
    struct tfd_dataset *d;
    bool drop = false;
    int64_t size;

    TFD_TRY(tfd_dataset_int(k, 1, "batch_size", &size, st));
    if (size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Batch size must be greater than zero.");
    if (drop_in >= 0)
        TFD_TRY(tfd_dataset_bool(k, drop_in, "drop_remainder", &drop, st));
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct batch), 1, &d, st));
    ((struct batch *)d)->size = size;
    ((struct batch *)d)->drop_remainder = drop;
    if (!drop)
        d->sequential = d;
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code batch_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_batch(k, &batch_kind, -1, st);
}

static enum tfd_code batch2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_batch(k, &batch2_kind, 2, st);
}

/* Its batches are collected by the thread that asks; the result is the same. */
static enum tfd_code parallel_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_batch(k, &parallel_kind, 3, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("BatchDataset", "input_dataset: variant, batch_size: int64", "",
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("BatchDatasetV2",
                "input_dataset: variant, batch_size: int64, "
                "drop_remainder: bool",
                "parallel_copy: bool = false; ", TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ParallelBatchDataset",
                "input_dataset: variant, batch_size: int64, "
                "num_parallel_calls: int64, drop_remainder: bool",
                "parallel_copy: bool = false; ",
                "; deterministic: string = 'default'" TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("BatchDataset", batch_compute),
    TFD_DATA_KERNEL("BatchDatasetV2", batch2_compute),
    TFD_DATA_KERNEL("ParallelBatchDataset", parallel_compute),
};

TFD_DATA_FAMILY(dataset_batch);
