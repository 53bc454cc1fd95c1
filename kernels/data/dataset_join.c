/*
 * dataset_join.c - several datasets as one: ZipDataset, whose elements are made
 * of one of each input, and ConcatenateDataset, the second input after the
 * first.
 */
#include "kernels/data/data_table.h"

#include <stdlib.h>

static int64_t cardinality_of(const struct tfd_dataset *d, int i)
{
    return tfd_dataset_cardinality(d->inputs[i]);
}

/* ---- Zip ----------------------------------------------------------------- */

struct zip_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_iterator **inputs;
    bool is_over;
};

/* The shortest; where some length is not known, neither is this. */
static int64_t zip_cardinality(const struct tfd_dataset *d)
{
    int64_t least = TFD_CARDINALITY_INFINITE;

    for (int i = 0; i < d->input_count; i++) {
        int64_t n = cardinality_of(d, i);

        if (n == TFD_CARDINALITY_UNKNOWN)
            return n;
        if (n != TFD_CARDINALITY_INFINITE &&
            (least == TFD_CARDINALITY_INFINITE || n < least))
            least = n;
    }
    return least;
}

static enum tfd_code zip_begin(struct tfd_data_iterator *it,
                               struct tfd_status *st)
{
    struct zip_iterator *z = (struct zip_iterator *)it;
    const struct tfd_dataset *d = it->dataset;

    z->inputs =
        calloc((size_t)d->input_count + 1, sizeof(struct tfd_data_iterator *));
    if (!z->inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    for (int i = 0; i < d->input_count; i++)
        TFD_TRY(tfd_data_open_within(it, d->inputs[i], i, &z->inputs[i], st));
    return TFD_OK;
}

static void zip_end(struct tfd_data_iterator *it)
{
    struct zip_iterator *z = (struct zip_iterator *)it;

    for (int i = 0; z->inputs && i < it->dataset->input_count; i++)
        tfd_data_close(z->inputs[i]);
    free(z->inputs);
}

/* All of them are asked, also when one has failed: they stay in step. */
static enum tfd_code zip_next(struct tfd_data_iterator *it,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    struct zip_iterator *z = (struct zip_iterator *)it;
    enum tfd_code rc = TFD_OK;

    *end = z->is_over;
    for (int i = 0; !*end && i < it->dataset->input_count; i++) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (tfd_data_next(z->inputs[i], out, end, &own) != TFD_OK &&
            rc == TFD_OK) {
            rc = own.code;
            tfd_status_copy(st, &own);
        }
        out += it->dataset->inputs[i]->count;
    }
    if (*end)
        z->is_over = true;
    return *end ? TFD_OK : rc;
}

static enum tfd_code zip_at(struct tfd_data_iterator *it, int64_t index,
                            struct tfd_tensor *out, bool *end,
                            struct tfd_status *st)
{
    struct zip_iterator *z = (struct zip_iterator *)it;

    for (int i = 0; !*end && i < it->dataset->input_count; i++) {
        TFD_TRY(tfd_data_at(z->inputs[i], index, out, end, st));
        out += it->dataset->inputs[i]->count;
    }
    return TFD_OK;
}

static const struct tfd_dataset_kind zip_kind = {
    .name = "Zip",
    .iterator_size = sizeof(struct zip_iterator),
    .begin = zip_begin,
    .next = zip_next,
    .at = zip_at,
    .end = zip_end,
    .cardinality = zip_cardinality,
};

static enum tfd_code zip_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    int64_t count = 0;

    TFD_TRY(tfd_dataset_make(k, &zip_kind, sizeof(*d), k->in_count, &d, st));
    for (int i = 0; i < d->input_count; i++)
        count += d->inputs[i]->count;
    if (count == d->count)
        return tfd_dataset_output(k, d, st);
    tfd_fail(st, TFD_INVALID_ARGUMENT,
             "output_types are %d, and the inputs' elements have %lld tensors",
             d->count, (long long)count);
    tfd_dataset_unref(d);
    return TFD_INVALID_ARGUMENT;
}

/* ---- Concatenate --------------------------------------------------------- */

struct concatenate_iterator {
    struct tfd_data_iterator iterator;
    int input;                         /* which of the two */
    struct tfd_data_iterator *both[2]; /* by number */
};

static enum tfd_code concatenate_begin(struct tfd_data_iterator *it,
                                       struct tfd_status *st)
{
    struct concatenate_iterator *i = (struct concatenate_iterator *)it;

    for (int n = 0; it->by_number && n < 2; n++)
        TFD_TRY(tfd_data_open_within(it, it->dataset->inputs[n], n, &i->both[n],
                                     st));
    return TFD_OK;
}

static void concatenate_end(struct tfd_data_iterator *it)
{
    struct concatenate_iterator *i = (struct concatenate_iterator *)it;

    tfd_data_close(i->both[0]);
    tfd_data_close(i->both[1]);
}

static int64_t concatenate_cardinality(const struct tfd_dataset *d)
{
    int64_t a = cardinality_of(d, 0), b = cardinality_of(d, 1);

    if (a == TFD_CARDINALITY_INFINITE || b == TFD_CARDINALITY_INFINITE)
        return TFD_CARDINALITY_INFINITE;
    if (a < 0 || b < 0)
        return TFD_CARDINALITY_UNKNOWN;
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static enum tfd_code concatenate_next(struct tfd_data_iterator *it,
                                      struct tfd_tensor *out, bool *end,
                                      struct tfd_status *st)
{
    struct concatenate_iterator *i = (struct concatenate_iterator *)it;

    while (i->input < it->dataset->input_count) {
        if (!it->input)
            TFD_TRY(tfd_data_open_within(it, it->dataset->inputs[i->input],
                                         i->input, &it->input, st));
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        if (!*end)
            return TFD_OK;
        tfd_data_close(it->input);
        it->input = NULL;
        i->input++;
    }
    *end = true;
    return TFD_OK;
}

static enum tfd_code concatenate_at(struct tfd_data_iterator *it, int64_t index,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st)
{
    struct concatenate_iterator *i = (struct concatenate_iterator *)it;
    int64_t first = cardinality_of(it->dataset, 0);
    bool in_second = index < 0 || index >= first;

    return tfd_data_at(i->both[in_second],
                       in_second && index >= 0 ? index - first : index, out,
                       end, st);
}

static const struct tfd_dataset_kind concatenate_kind = {
    .name = "Concatenate",
    .iterator_size = sizeof(struct concatenate_iterator),
    .same_elements = true,
    .begin = concatenate_begin,
    .next = concatenate_next,
    .at = concatenate_at,
    .end = concatenate_end,
    .cardinality = concatenate_cardinality,
};

static enum tfd_code concatenate_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, &concatenate_kind, sizeof(*d), 2, &d, st));
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ZipDataset", "input_datasets: N * variant", "",
                "; N: int >= 1" TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ConcatenateDataset",
                "input_dataset: variant, another_dataset: variant", "",
                TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("ZipDataset", zip_compute),
    TFD_DATA_KERNEL("ConcatenateDataset", concatenate_compute),
};

TFD_DATA_FAMILY(dataset_join);
