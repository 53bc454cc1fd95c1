/*
 * dataset_weighted_map.c - WeightedFlatMapDataset: the first elements of each
 * input, one input after the other, as many of each as its weight says.
 *
 * The input that is the first to have no more says how many there are.
 */
#include "kernels/data/data_table.h"

#include <math.h>
#include <stdlib.h>

struct weighted {
    struct tfd_dataset dataset;
    int64_t *counts; /* elements of each input */
};

struct weighted_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_iterator **inputs;
    int at;        /* the input that is read */
    int64_t given; /* elements of it */
};

static void weighted_release(struct tfd_dataset *d)
{
    free(((struct weighted *)d)->counts);
}

static int64_t weighted_cardinality(const struct tfd_dataset *d)
{
    const struct weighted *w = (const struct weighted *)d;
    int64_t sum = 0;

    for (int i = 0; i < d->input_count; i++)
        sum = w->counts[i] > INT64_MAX - sum ? INT64_MAX : sum + w->counts[i];
    return sum;
}

static enum tfd_code weighted_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct weighted_iterator *i = (struct weighted_iterator *)it;
    int count = it->dataset->input_count;

    i->inputs = calloc((size_t)count + 1, sizeof(struct tfd_data_iterator *));
    if (!i->inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    for (int n = 0; n < count; n++)
        TFD_TRY(tfd_data_open_within(it, it->dataset->inputs[n], n,
                                     &i->inputs[n], st));
    return TFD_OK;
}

static void weighted_end(struct tfd_data_iterator *it)
{
    struct weighted_iterator *i = (struct weighted_iterator *)it;

    for (int n = 0; i->inputs && n < it->dataset->input_count; n++)
        tfd_data_close(i->inputs[n]);
    free(i->inputs);
}

/* What fails is asked for again, from what comes behind it. */
static enum tfd_code weighted_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct weighted_iterator *i = (struct weighted_iterator *)it;
    const struct weighted *w = (const struct weighted *)it->dataset;

    while (i->at < it->dataset->input_count && i->given >= w->counts[i->at]) {
        i->given = 0;
        i->at++;
    }
    *end = i->at >= it->dataset->input_count;
    if (*end)
        return TFD_OK;
    TFD_TRY(tfd_data_next(i->inputs[i->at], out, end, st));
    i->given++;
    return TFD_OK;
}

static const struct tfd_dataset_kind weighted_kind = {
    .name = "WeightedFlatMap",
    .iterator_size = sizeof(struct weighted_iterator),
    .same_elements = false,
    .begin = weighted_begin,
    .next = weighted_next,
    .end = weighted_end,
    .cardinality = weighted_cardinality,
    .release = weighted_release,
};

/* ---- How many of each ---------------------------------------------------- */

static double weight_of(const struct tfd_dataset *d, int input)
{
    return *(const double *)tfd_tensor_data(&d->args[d->input_count + input]);
}

static enum tfd_code check_same_elements(const struct tfd_dataset *d, int input,
                                         struct tfd_status *st)
{
    const struct tfd_dataset *in = d->inputs[input];
    char have[256], wanted[256];
    bool same = in->count == d->count;

    for (int32_t c = 0; same && c < d->count; c++)
        same = in->types[c] == d->types[c];
    if (same)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "All inputs to WeightedFlatMap must have the same output "
                    "types. Input %d has output types: %s. Expected: %s.",
                    input, tfd_dataset_types_text(in, have, sizeof(have)),
                    tfd_dataset_types_text(d, wanted, sizeof(wanted)));
}

static enum tfd_code check_weighted_input(const struct tfd_dataset *d,
                                          int input, struct tfd_status *st)
{
    int64_t n = tfd_dataset_cardinality(d->inputs[input]);
    double weight = weight_of(d, input);

    TFD_TRY(check_same_elements(d, input, st));
    if (!(weight > 0) || isinf(weight))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`weights` must be greater than 0.0. Input %d has a "
                        "weight of %g",
                        input, weight);
    if (n >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cardinalities of the inputs must be known. Input %d has "
                    "%s cardinality.",
                    input,
                    n == TFD_CARDINALITY_INFINITE ? "INFINITE" : "UNKNOWN");
}

/* The input that is over first, and what it would have by its weight. */
static int find_shortest(const struct tfd_dataset *d, double *elements)
{
    double heaviest = 0;
    int shortest = 0;

    for (int i = 0; i < d->input_count; i++)
        heaviest = fmax(heaviest, weight_of(d, i));
    for (int i = 0; i < d->input_count; i++) {
        double n = (double)tfd_dataset_cardinality(d->inputs[i]) *
                   weight_of(d, i) / heaviest;

        if (i == 0 || n < *elements) {
            *elements = n;
            shortest = i;
        }
    }
    return shortest;
}

static enum tfd_code count_elements(struct weighted *w, struct tfd_status *st)
{
    const struct tfd_dataset *d = &w->dataset;
    double elements = 0;
    int shortest = find_shortest(d, &elements);

    w->counts = calloc((size_t)d->input_count, sizeof(*w->counts));
    if (!w->counts)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    for (int i = 0; i < d->input_count; i++) {
        double n = floor(elements * weight_of(d, i) / weight_of(d, shortest));
        int64_t have = tfd_dataset_cardinality(d->inputs[i]);

        if (!(n <= (double)have))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %d needs to have at least %.0f elements. It "
                            "only has %lld elements.",
                            i, n, (long long)have);
        w->counts[i] = n >= (double)INT64_MAX ? INT64_MAX : (int64_t)n;
    }
    return TFD_OK;
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code fill_weighted(struct weighted *w, struct tfd_status *st)
{
    for (int i = 0; i < w->dataset.input_count; i++)
        TFD_TRY(check_weighted_input(&w->dataset, i, st));
    return count_elements(w, st);
}

static enum tfd_code weighted_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    int32_t first, inputs, weights;
    enum tfd_code rc;

    tfd_node_arg(k->node, 0, &first, &inputs);
    tfd_node_arg(k->node, 1, &first, &weights);
    if (inputs != weights)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`input_datasets` and `weights` of the WeightedFlatMap "
                        "must have the same size. Got %d datasets and %d "
                        "weights.",
                        inputs, weights);
    for (int32_t i = 0; i < weights; i++)
        if (k->in[first + i].shape.rank != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "weights must be scalars");
    TFD_TRY(tfd_dataset_make(k, &weighted_kind, sizeof(struct weighted), inputs,
                             &d, st));
    rc = fill_weighted((struct weighted *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("WeightedFlatMapDataset",
                "input_datasets: N * variant, weights: M * double",
                "N: int >= 2; M: int >= 2; ", TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("WeightedFlatMapDataset", weighted_compute),
};

TFD_DATA_FAMILY(dataset_weighted_map);
