/*
 * dataset_batch.c - several elements as one.
 */
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct batch {
    struct tfd_dataset dataset;
    int64_t size;
    bool drop_remainder;
};

struct batch_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *elements; /* of the batch that is being collected */
    int64_t capacity;
    bool is_over;
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
    free(((struct batch_iterator *)it)->elements);
}

/* Room for one more: what is asked for may be far more than there is. */
static enum tfd_code grow_batch(struct batch_iterator *i, int64_t have,
                                struct tfd_status *st)
{
    int64_t capacity = i->capacity ? 2 * i->capacity : 16;
    size_t count = (size_t)i->iterator.dataset->inputs[0]->count;
    struct tfd_tensor *more;

    if (have < i->capacity)
        return TFD_OK;
    more = realloc(i->elements, (size_t)capacity * count * sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a batch of %lld elements",
                        (long long)capacity);
    i->elements = more;
    i->capacity = capacity;
    return TFD_OK;
}

static enum tfd_code collect_batch(struct batch_iterator *i, int64_t *have,
                                   struct tfd_status *st)
{
    const struct batch *b = (const struct batch *)i->iterator.dataset;
    int32_t count = b->dataset.inputs[0]->count;

    while (*have < b->size && !i->is_over) {
        struct tfd_tensor *e;

        TFD_TRY(grow_batch(i, *have, st));
        e = i->elements + *have * count;
        for (int32_t c = 0; c < count; c++)
            e[c] = (struct tfd_tensor)TFD_TENSOR_INIT;
        TFD_TRY(tfd_data_next(i->iterator.input, e, &i->is_over, st));
        *have += !i->is_over;
    }
    return TFD_OK;
}

static enum tfd_code batch_next(struct tfd_data_iterator *it,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct batch_iterator *i = (struct batch_iterator *)it;
    const struct batch *b = (const struct batch *)it->dataset;
    int32_t count = it->dataset->inputs[0]->count;
    int64_t have = 0;
    enum tfd_code rc = collect_batch(i, &have, st);

    *end = have == 0 || (have < b->size && b->drop_remainder);
    if (rc == TFD_OK && !*end)
        rc = tfd_data_batch(i->elements, have, count, out, st);
    for (int64_t e = 0; e < have; e++)
        tfd_data_element_drop(i->elements + e * count, count);
    return rc;
}

#define BATCH_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {  \
        .name = name_,                                  \
        .iterator_size = sizeof(struct batch_iterator), \
        .opens_input = true,                            \
        .same_elements = true,                          \
        .next = batch_next,                             \
        .end = batch_end,                               \
        .cardinality = batch_cardinality,               \
    }

BATCH_KIND(batch, "Batch");
BATCH_KIND(batch2, "BatchV2");
BATCH_KIND(parallel, "ParallelBatch");

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
