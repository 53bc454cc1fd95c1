/*
 * dataset_select.c - datasets that choose: among several inputs, as a dataset
 * of numbers says; among elements, by chance; the quickest of equal inputs.
 */
#include "kernels/data/data_seeds.h"
#include "kernels/data/data_table.h"

#include <stdio.h>
#include <stdlib.h>

/* "int64, float" */
static bool have_same_types(const struct tfd_dataset *a,
                            const struct tfd_dataset *b)
{
    bool same = a->count == b->count;

    for (int32_t i = 0; same && i < a->count; i++)
        same = a->types[i] == b->types[i];
    return same;
}

/* ---- DirectedInterleave -------------------------------------------------- */

struct directed {
    struct tfd_dataset dataset; /* inputs: the numbers, then what they choose */
    bool stop_on_empty;
};

struct directed_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_iterator **inputs; /* NULL where one is over */
    int left;
    bool is_over;
};

static int64_t directed_cardinality(const struct tfd_dataset *d)
{
    for (int i = 1; i < d->input_count; i++)
        if (tfd_dataset_cardinality(d->inputs[i]) == TFD_CARDINALITY_INFINITE)
            return TFD_CARDINALITY_INFINITE;
    return TFD_CARDINALITY_UNKNOWN;
}

static enum tfd_code directed_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct directed_iterator *i = (struct directed_iterator *)it;
    struct tfd_dataset **inputs = it->dataset->inputs;
    int count = it->dataset->input_count - 1;

    i->inputs = calloc((size_t)count + 1, sizeof(struct tfd_data_iterator *));
    if (!i->inputs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    for (; i->left < count; i->left++)
        TFD_TRY(tfd_data_open_within(it, inputs[i->left + 1], i->left,
                                     &i->inputs[i->left], st));
    return TFD_OK;
}

static void directed_end(struct tfd_data_iterator *it)
{
    struct directed_iterator *i = (struct directed_iterator *)it;

    for (int n = 0; i->inputs && n < it->dataset->input_count - 1; n++)
        tfd_data_close(i->inputs[n]);
    free(i->inputs);
}

static enum tfd_code next_number(struct directed_iterator *i, int64_t *out,
                                 struct tfd_status *st)
{
    int64_t count = i->iterator.dataset->input_count - 1;
    struct tfd_tensor number = TFD_TENSOR_INIT;

    TFD_TRY(tfd_data_next(i->iterator.input, &number, &i->is_over, st));
    if (i->is_over)
        return TFD_OK;
    *out = tfd_tensor_elements(&number) == 1
               ? *(const int64_t *)tfd_tensor_data(&number)
               : -1;
    tfd_tensor_unref(&number);
    if (*out >= 0 && *out < count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Selector index out of range: %lld >= %lld",
                    (long long)*out, (long long)count);
}

/* *got: an element; else this input is over. */
static enum tfd_code take_chosen(struct directed_iterator *i, int64_t number,
                                 struct tfd_tensor *out, bool *got,
                                 struct tfd_status *st)
{
    const struct directed *d = (const struct directed *)i->iterator.dataset;
    bool end;

    if (!i->inputs[number])
        return TFD_OK;
    TFD_TRY(tfd_data_next(i->inputs[number], out, &end, st));
    *got = !end;
    if (!end)
        return TFD_OK;
    tfd_data_close(i->inputs[number]);
    i->inputs[number] = NULL;
    i->is_over = --i->left == 0 || d->stop_on_empty;
    return TFD_OK;
}

static enum tfd_code directed_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct directed_iterator *i = (struct directed_iterator *)it;
    int64_t number;
    bool got = false;

    while (!got && !i->is_over) {
        TFD_TRY(tfd_data_scope_check(it->scope, st));
        TFD_TRY(next_number(i, &number, st));
        if (!i->is_over)
            TFD_TRY(take_chosen(i, number, out, &got, st));
    }
    *end = !got;
    return TFD_OK;
}

static const struct tfd_dataset_kind directed_kind = {
    .name = "DirectedInterleave",
    .iterator_size = sizeof(struct directed_iterator),
    .opens_input = true,
    .begin = directed_begin,
    .next = directed_next,
    .end = directed_end,
    .cardinality = directed_cardinality,
};

static enum tfd_code check_directed(const struct tfd_dataset *d,
                                    struct tfd_status *st)
{
    const struct tfd_dataset *numbers = d->inputs[0];
    char first[256], other[256];

    if (numbers->count != 1 || numbers->types[0] != TFD_INT64 ||
        numbers->shapes[0].rank > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The selector input must be a dataset of scalar int64 "
                        "elements.");
    for (int i = 2; i < d->input_count; i++)
        if (!have_same_types(d->inputs[1], d->inputs[i]))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "All inputs must have the same output_dtypes. First input has "
                "types %s, and input %d has types %s",
                tfd_dataset_types_text(d->inputs[1], first, sizeof(first)),
                i - 1,
                tfd_dataset_types_text(d->inputs[i], other, sizeof(other)));
    if (have_same_types(d, d->inputs[1]))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "output_types are not the types of the inputs' elements");
}

static enum tfd_code directed_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &directed_kind, sizeof(struct directed),
                             k->in_count, &d, st));
    ((struct directed *)d)->stop_on_empty =
        ((const struct tfd_dataset_maker *)k->state)->flag;
    rc = check_directed(d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code directed_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    if (tfd_op_attr_find(p->node->op, TFD_STR("stop_on_empty_dataset")))
        TFD_TRY(tfd_node_bool(p->node, "stop_on_empty_dataset", &m->flag, st));
    return tfd_dataset_prepare(p, m, NULL, st);
}

/* ---- Sampling ------------------------------------------------------------ */

struct sampling {
    struct tfd_dataset dataset;
    struct tfd_data_seeds *seeds;
    float rate;
};

struct sampling_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_random_draw draw;
    bool is_over;
};

static void sampling_release(struct tfd_dataset *d)
{
    tfd_data_seeds_unref(((struct sampling *)d)->seeds);
}

static enum tfd_code sampling_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    (void)st;
    ((struct sampling_iterator *)it)->draw =
        tfd_data_seeds_next(((const struct sampling *)it->dataset)->seeds);
    return TFD_OK;
}

/* The number is drawn once there is an element. */
static enum tfd_code sampling_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct sampling_iterator *i = (struct sampling_iterator *)it;
    float rate = ((const struct sampling *)it->dataset)->rate;

    *end = i->is_over;
    while (!i->is_over) {
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        i->is_over = *end;
        if (*end || tfd_random_float_of(tfd_random_draw32(&i->draw)) < rate)
            return TFD_OK;
        tfd_data_element_drop(out, it->dataset->count);
    }
    return TFD_OK;
}

static const struct tfd_dataset_kind sampling_kind = {
    .name = "Sampling",
    .iterator_size = sizeof(struct sampling_iterator),
    .opens_input = true,
    .same_elements = true,
    .begin = sampling_begin,
    .next = sampling_next,
    .release = sampling_release,
};

static enum tfd_code sampling_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_data_seeds *seeds;
    struct tfd_dataset *d;
    int64_t seed, seed2;
    enum tfd_code rc;

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "rate must be a scalar");
    TFD_TRY(tfd_dataset_int(k, 2, "seed", &seed, st));
    TFD_TRY(tfd_dataset_int(k, 3, "seed2", &seed2, st));
    TFD_TRY(tfd_data_seeds_new(seed, seed2, true, &seeds, st));
    rc =
        tfd_dataset_make(k, &sampling_kind, sizeof(struct sampling), 1, &d, st);
    if (rc != TFD_OK) {
        tfd_data_seeds_unref(seeds);
        return rc;
    }
    ((struct sampling *)d)->seeds = seeds;
    ((struct sampling *)d)->rate = *(const float *)tfd_tensor_data(&k->in[1]);
    if (tfd_dataset_add_seeds(d, &seeds->resource, st) == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return TFD_RESOURCE_EXHAUSTED;
}

/* ---- ChooseFastest ------------------------------------------------------- */

struct fastest_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_iterator *chosen;
};

/* All inputs have the same elements, so the first one is as good as any; which
 * would be quicker is not tried. */
static enum tfd_code fastest_begin(struct tfd_data_iterator *it,
                                   struct tfd_status *st)
{
    return tfd_data_open_within(it, it->dataset->inputs[0], 0,
                                &((struct fastest_iterator *)it)->chosen, st);
}

static void fastest_end(struct tfd_data_iterator *it)
{
    tfd_data_close(((struct fastest_iterator *)it)->chosen);
}

static enum tfd_code fastest_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    return tfd_data_next(((struct fastest_iterator *)it)->chosen, out, end, st);
}

static int64_t fastest_cardinality(const struct tfd_dataset *d)
{
    for (int i = 0; i < d->input_count; i++) {
        int64_t n = tfd_dataset_cardinality(d->inputs[i]);

        if (n != TFD_CARDINALITY_UNKNOWN)
            return n;
    }
    return TFD_CARDINALITY_UNKNOWN;
}

static const struct tfd_dataset_kind fastest_kind = {
    .name = "ChooseFastest",
    .iterator_size = sizeof(struct fastest_iterator),
    .begin = fastest_begin,
    .next = fastest_next,
    .end = fastest_end,
    .cardinality = fastest_cardinality,
};

static enum tfd_code check_fastest(const struct tfd_dataset *d,
                                   struct tfd_status *st)
{
    int64_t known = TFD_CARDINALITY_UNKNOWN;
    char wanted[256], other[256];

    for (int i = 0; i < d->input_count; i++) {
        int64_t n = tfd_dataset_cardinality(d->inputs[i]);

        if (!have_same_types(d, d->inputs[i]))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "All inputs to ChooseFastestDataset must have the same output "
                "types. Input %d has output types: %s. Expected: %s.",
                i, tfd_dataset_types_text(d->inputs[i], other, sizeof(other)),
                tfd_dataset_types_text(d, wanted, sizeof(wanted)));
        if (n != TFD_CARDINALITY_UNKNOWN && known != TFD_CARDINALITY_UNKNOWN &&
            n != known)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "All inputs to ChooseFastestDataset must have compatible "
                "cardinalities. Input %d has cardinality: %lld, while all "
                "prior inputs have cardinality: %lld.",
                i, (long long)n, (long long)known);
        known = known == TFD_CARDINALITY_UNKNOWN ? n : known;
    }
    return TFD_OK;
}

static enum tfd_code fastest_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(
        tfd_dataset_make(k, &fastest_kind, sizeof(*d), k->in_count, &d, st));
    rc = check_fastest(d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define DIRECTED(name_, more_)                      \
    TFD_DATA_OP(name_,                              \
                "selector_input_dataset: variant, " \
                "data_input_datasets: N * variant", \
                "", "; N: int >= 1" more_, 0)
#define FASTEST(name_)                                \
    TFD_DATA_OP(name_, "input_datasets: N * variant", \
                "N: int >= 2; num_experiments: int; ", "", 0)

static const struct tfd_opdef ops[] = {
    DIRECTED("DirectedInterleaveDataset",
             "; stop_on_empty_dataset: bool = false"),
    DIRECTED("ExperimentalDirectedInterleaveDataset", ""),
    TFD_DATA_OP("SamplingDataset",
                "input_dataset: variant, rate: float, seed: int64, "
                "seed2: int64",
                "", "", 0),
    FASTEST("ChooseFastestDataset"),
    FASTEST("ExperimentalChooseFastestDataset"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("DirectedInterleaveDataset", directed_compute,
                      directed_prepare),
    TFD_DATA_KERNEL_F("ExperimentalDirectedInterleaveDataset", directed_compute,
                      directed_prepare),
    TFD_DATA_KERNEL("SamplingDataset", sampling_compute),
    TFD_DATA_KERNEL("ChooseFastestDataset", fastest_compute),
    TFD_DATA_KERNEL("ExperimentalChooseFastestDataset", fastest_compute),
};

TFD_DATA_FAMILY(dataset_select);
