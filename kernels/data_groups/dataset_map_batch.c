/*
 * dataset_map_batch.c - MapAndBatchDataset: a function for each element, and
 * several results as one.
 */
#include "kernels/data_calls/call_line.h"
#include "kernels/data/data_rows.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct mapping {
    struct tfd_dataset dataset;
    struct tfd_captured f;
    int64_t size, calls;
    bool drop_remainder, preserve_cardinality;
};

struct mapping_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_call_line *line;
    struct tfd_tensor *rows; /* results of a batch */
    int64_t have, capacity;
    bool is_over;
};

static void mapping_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct mapping *)d)->f);
}

static int64_t mapping_cardinality(const struct tfd_dataset *d)
{
    const struct mapping *m = (const struct mapping *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);

    if (!m->preserve_cardinality)
        return TFD_CARDINALITY_UNKNOWN;
    if (n < 0)
        return n;
    return n / m->size + (n % m->size != 0 && !m->drop_remainder);
}

static enum tfd_code mapping_begin(struct tfd_data_iterator *it,
                                   struct tfd_status *st)
{
    const struct mapping *m = (const struct mapping *)it->dataset;

    return tfd_call_line_new(it, &m->f, m->calls, false,
                             &((struct mapping_iterator *)it)->line, st);
}

static void drop_results(struct mapping_iterator *i)
{
    int32_t width = i->iterator.dataset->count;

    for (int64_t n = 0; n < i->have; n++)
        tfd_data_element_drop(i->rows + n * width, width);
    i->have = 0;
}

static void mapping_end(struct tfd_data_iterator *it)
{
    struct mapping_iterator *i = (struct mapping_iterator *)it;

    drop_results(i);
    free(i->rows);
    tfd_call_line_close(i->line);
}

static enum tfd_code grow_results(struct mapping_iterator *i,
                                  struct tfd_status *st)
{
    int64_t capacity = i->capacity ? 2 * i->capacity : 16;
    size_t width = (size_t)i->iterator.dataset->count;
    struct tfd_tensor *more;

    if (i->have < i->capacity)
        return TFD_OK;
    more = realloc(i->rows, (size_t)capacity * width * sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a batch of %lld elements",
                        (long long)capacity);
    i->rows = more;
    i->capacity = capacity;
    return TFD_OK;
}

/* OUT_OF_RANGE out of the function ends the dataset, where its length may
 * change. */
static enum tfd_code result_failed(struct mapping_iterator *i,
                                   struct tfd_status *own,
                                   struct tfd_status *st)
{
    const struct mapping *m = (const struct mapping *)i->iterator.dataset;

    i->is_over = i->is_over ||
                 (own->code == TFD_OUT_OF_RANGE && !m->preserve_cardinality);
    if (own->code == TFD_OUT_OF_RANGE && i->is_over)
        return TFD_OK;
    if (own->code == TFD_OUT_OF_RANGE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Function invocation produced OutOfRangeError: %s",
                        own->text);
    tfd_status_copy(st, own);
    return own->code;
}

static enum tfd_code add_result(struct mapping_iterator *i,
                                struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->count;
    struct tfd_status own = TFD_STATUS_INIT;
    enum tfd_call_outcome outcome;
    struct tfd_tensor *row;

    TFD_TRY(grow_results(i, st));
    row = i->rows + i->have * width;
    for (int32_t c = 0; c < width; c++)
        row[c] = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (tfd_call_line_next(i->line, row, NULL, &outcome, &own) == TFD_OK) {
        i->is_over = outcome == TFD_CALL_END;
        i->have += !i->is_over;
        return TFD_OK;
    }
    if (outcome == TFD_CALL_RESULT)
        return result_failed(i, &own, st);
    tfd_status_copy(st, &own);
    return own.code;
}

static enum tfd_code mapping_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    struct mapping_iterator *i = (struct mapping_iterator *)it;
    const struct mapping *m = (const struct mapping *)it->dataset;
    enum tfd_code rc = TFD_OK;

    for (int64_t n = 0; n < m->size && !i->is_over; n++) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (add_result(i, &own) != TFD_OK && rc == TFD_OK) {
            rc = own.code; /* the rest of the batch goes with it */
            tfd_status_copy(st, &own);
        }
        if (own.code == TFD_CANCELLED)
            break;
    }
    *end = rc == TFD_OK &&
           (i->have == 0 || (i->have < m->size && m->drop_remainder));
    if (rc == TFD_OK && !*end)
        rc = tfd_data_batch(i->rows, i->have, it->dataset->count, out, st);
    drop_results(i);
    return rc;
}

static const struct tfd_dataset_kind mapping_kind = {
    .name = "MapAndBatch",
    .iterator_size = sizeof(struct mapping_iterator),
    .opens_input = true,
    .begin = mapping_begin,
    .next = mapping_next,
    .end = mapping_end,
    .cardinality = mapping_cardinality,
    .release = mapping_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_sizes(struct tfd_kctx *k, struct mapping *m,
                                struct tfd_status *st)
{
    int last = k->in_count - 3;

    TFD_TRY(tfd_dataset_int(k, last, "batch_size", &m->size, st));
    if (m->size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_size must be greater than zero.");
    TFD_TRY(tfd_dataset_int(k, last + 1, "num_parallel_calls", &m->calls, st));
    if (m->calls < 1 && m->calls != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_parallel_calls must be greater than zero.");
    return tfd_dataset_bool(k, last + 2, "drop_remainder", &m->drop_remainder,
                            st);
}

static enum tfd_code mapping_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct mapping sizes = {.preserve_cardinality = m->flag}, *x;
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(read_sizes(k, &sizes, st));
    TFD_TRY(tfd_dataset_make(k, &mapping_kind, sizeof(*x), 1, &d, st));
    x = (struct mapping *)d;
    sizes.dataset = *d;
    *x = sizes;
    rc = tfd_captured_init(&x->f, k, m->function, 1, k->in_count - 4,
                           d->inputs[0]->count, d, st);
    if (rc == TFD_OK)
        rc = tfd_captured_returns(&x->f, m->count, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code mapping_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "preserve_cardinality", &m->flag, st));
    return tfd_dataset_prepare(p, m, "f", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define MAPPING(name_, more_)                                           \
    TFD_DATA_OP(name_,                                                  \
                "input_dataset: variant, other_arguments: Targuments, " \
                "batch_size: int64, num_parallel_calls: int64, "        \
                "drop_remainder: bool",                                 \
                "f: func; Targuments: list(type) >= 0; ",               \
                "; preserve_cardinality: bool = false" more_, 0)

static const struct tfd_opdef ops[] = {
    MAPPING("MapAndBatchDataset", TFD_DATA_METADATA),
    MAPPING("ExperimentalMapAndBatchDataset", ""),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("MapAndBatchDataset", mapping_compute, mapping_prepare),
    TFD_DATA_KERNEL_F("ExperimentalMapAndBatchDataset", mapping_compute,
                      mapping_prepare),
};

TFD_DATA_FAMILY(dataset_map_batch);
