/*
 * sdca_examples.c - see sdca_examples.h.
 *
 * The weight of a sparse feature is found by its index among sparse_indices,
 * sorted, once for each; of equal ones the last counts.  That no example names
 * a feature twice is seen by a stamp at each weight.
 */
#include "kernels/linear/sdca_examples.h"

#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"

#include <stdlib.h>
#include <string.h>

/* Where the inputs are, by the numbers of groups. */
struct sdca_inputs {
    int examples, features, values, x, example_weights, labels, indices,
        weights, dense_weights, states;
};

static struct sdca_inputs inputs_of(const struct tfd_sdca_counts *c)
{
    struct sdca_inputs at = {.features = c->sparse};

    at.values = at.features + c->sparse;
    at.x = at.values + c->valued;
    at.example_weights = at.x + c->dense;
    at.labels = at.example_weights + 1;
    at.indices = at.labels + 1;
    at.weights = at.indices + c->sparse;
    at.dense_weights = at.weights + c->sparse;
    at.states = at.dense_weights + c->dense;
    return at;
}

enum tfd_code tfd_sdca_count(const struct tfd_node *n,
                             struct tfd_sdca_counts *out, struct tfd_status *st)
{
    static const char *const names[] = {"num_sparse_features",
                                        "num_sparse_features_with_values",
                                        "num_dense_features"};
    int64_t count[3];

    for (int i = 0; i < 3; i++)
        TFD_TRY(tfd_node_int(n, names[i], &count[i], st));
    if (count[0] + count[2] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Requires at least one feature to train.");
    for (int i = 0; i < 3; i++)
        if (count[i] < 0 || count[i] > n->in_count)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s is %lld, and there are %d inputs", names[i],
                            (long long)count[i], n->in_count);
    *out =
        (struct tfd_sdca_counts){(int)count[0], (int)count[1], (int)count[2]};
    if (inputs_of(out).states + 1 == n->in_count &&
        1 + count[0] + count[2] == n->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%d inputs and %d outputs do not fit %lld, %lld and %lld "
                    "groups of features",
                    n->in_count, n->out_count, (long long)count[0],
                    (long long)count[1], (long long)count[2]);
}

/* ---- Outputs ------------------------------------------------------------- */

static enum tfd_code make_deltas(struct tfd_kctx *k, int count, int from,
                                 int to, struct tfd_status *st)
{
    for (int i = 0; i < count; i++) {
        TFD_TRY(
            tfd_kctx_output(k, to + i, TFD_FLOAT, &k->in[from + i].shape, st));
        tfd_elements_clear(&k->out[to + i]);
    }
    return TFD_OK;
}

static enum tfd_code make_states(struct tfd_kctx *k, int in, int64_t examples,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    const struct tfd_shape want = {2, {examples, 4}};
    char got[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "example_state_data must be rank 2 but is rank %d",
                        t->shape.rank);
    if (!tfd_shape_equal(&t->shape, &want))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected shape %s for example_state_data, got %s",
                        tfd_shape_text(&want, wanted),
                        tfd_shape_text(&t->shape, got));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &t->shape, st));
    return tfd_elements_copy(TFD_FLOAT, tfd_tensor_data(&k->out[0]),
                             tfd_tensor_data(t), tfd_tensor_elements(t), st);
}

/* ---- Memory -------------------------------------------------------------- */

/* Everything of 8 bytes: norms, order, taken, twice the worths; runs and places
 * of all groups; the sorted indices of the longest, and its stamps. */
static enum tfd_code take_memory(struct tfd_kctx *k,
                                 const struct tfd_sdca_counts *c,
                                 struct tfd_sdca_data *d, int64_t *longest,
                                 struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    struct tfd_shape shape = {.rank = 1};
    size_t groups = sizeof(*d->sparse) * (size_t)c->sparse +
                    sizeof(*d->dense) * (size_t)c->dense;
    int64_t words = (int64_t)(groups / 8);

    *longest = 0;
    for (int g = 0; g < c->sparse; g++) {
        const int64_t n = tfd_tensor_elements(&k->in[at.indices + g]);

        if (n > *longest)
            *longest = n;
        if (__builtin_add_overflow(
                words, tfd_tensor_elements(&k->in[at.features + g]), &words))
            words = INT64_MAX / 2;
    }
    if (d->examples > TFD_SDCA_SORTED_MAX || *longest > TFD_SDCA_SORTED_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld examples and %lld features of a group: of each "
                        "at most %d are sorted",
                        (long long)d->examples, (long long)*longest,
                        TFD_SDCA_SORTED_MAX);
    if (__builtin_mul_overflow(d->examples + 1, (int64_t)c->sparse + 5,
                               &shape.dim[0]) ||
        __builtin_add_overflow(shape.dim[0], words, &shape.dim[0]) ||
        __builtin_add_overflow(shape.dim[0], 3 * *longest, &shape.dim[0]))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %lld examples of %d groups",
                        (long long)d->examples, c->sparse);
    TFD_TRY(tfd_shape_make(&shape, shape.dim, 1, st));
    TFD_TRY(tfd_tensor_new(&d->memory, TFD_INT64, &shape, st));
    d->sparse = tfd_tensor_data(&d->memory);
    d->dense = (struct tfd_sdca_dense *)(d->sparse + c->sparse);
    d->norms = (double *)(d->dense + c->dense);
    d->order = (int64_t *)(d->norms + d->examples);
    d->taken = d->order + d->examples;
    d->worths = (double *)(d->taken + d->examples);
    return TFD_OK;
}

void tfd_sdca_drop(struct tfd_sdca_data *d)
{
    tfd_tensor_unref(&d->memory);
}

/* ---- Sparse groups ------------------------------------------------------- */

/* A weight and its feature. */
struct indexed {
    int64_t index, place;
};

static int by_index(const void *a, const void *b)
{
    const struct indexed *x = a, *y = b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Of equal ones the last; -1: none. */
static int64_t place_of_feature(const struct indexed *sorted, int64_t n,
                                int64_t index)
{
    int64_t low = 0, high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (sorted[middle].index <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && sorted[low - 1].index == index ? sorted[low - 1].place
                                                     : -1;
}

static enum tfd_code find_places(const struct tfd_tensor *features,
                                 const struct indexed *sorted, int64_t n,
                                 int64_t used, int64_t *place,
                                 struct tfd_status *st)
{
    for (int64_t i = 0; i < used && !tfd_halted(); i++) {
        const int64_t index = tfd_check_int_at(features, i);

        place[i] = place_of_feature(sorted, n, index);
        if (place[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Found sparse feature indices out of valid range: "
                            "%lld",
                            (long long)index);
    }
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

/* Where the features of each example begin. */
static void find_runs(const struct tfd_tensor *of, int64_t examples,
                      int64_t *run)
{
    const int64_t n = tfd_tensor_elements(of);
    int64_t at = 0;

    for (int64_t e = 0; e < examples; e++) {
        run[e] = at;
        while (at < n && tfd_check_int_at(of, at) == e)
            at++;
    }
    run[examples] = at;
}

static enum tfd_code check_group_sizes(const struct tfd_kctx *k,
                                       const struct tfd_sdca_counts *c, int g,
                                       struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    const int64_t n = tfd_tensor_elements(&k->in[at.examples + g]);
    const int64_t m = tfd_tensor_elements(&k->in[at.indices + g]);

    if (n != tfd_tensor_elements(&k->in[at.features + g]))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Found mismatched example_indices and feature_indices of %lld and "
            "%lld elements",
            (long long)n,
            (long long)tfd_tensor_elements(&k->in[at.features + g]));
    if (g < c->valued && tfd_tensor_elements(&k->in[at.values + g]) < n)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse_feature_values[%d] has %lld elements for %lld "
                        "features",
                        g,
                        (long long)tfd_tensor_elements(&k->in[at.values + g]),
                        (long long)n);
    if (tfd_tensor_elements(&k->in[at.weights + g]) < m)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "sparse_weights[%d] has %lld elements for %lld indices",
                        g,
                        (long long)tfd_tensor_elements(&k->in[at.weights + g]),
                        (long long)m);
    return TFD_OK;
}

/* Also the squares of its features, and whether one is there twice. */
static enum tfd_code measure_sparse(const struct tfd_sdca_sparse *group,
                                    int64_t examples, int64_t *stamp,
                                    double *norms, struct tfd_status *st)
{
    for (int64_t e = 0; e < examples && !tfd_halted(); e++)
        for (int64_t i = group->run[e]; i < group->run[e + 1]; i++) {
            const double x = group->values ? group->values[i] : 1;

            if (stamp[group->place[i]] == e + 1)
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "Duplicate index in sparse vector.");
            stamp[group->place[i]] = e + 1;
            norms[e] += x * x;
        }
    return TFD_OK;
}

struct sdca_scratch {
    struct indexed *sorted;
    int64_t *stamp, *next; /* memory for runs and places */
};

static enum tfd_code read_sparse(struct tfd_kctx *k,
                                 const struct tfd_sdca_counts *c, int g,
                                 struct tfd_sdca_data *d,
                                 struct sdca_scratch *s, struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    const struct tfd_tensor *indices = &k->in[at.indices + g];
    const int64_t m = tfd_tensor_elements(indices);
    struct tfd_sdca_sparse *group = &d->sparse[g];
    int64_t *run = s->next;

    TFD_TRY(check_group_sizes(k, c, g, st));
    group->run = run;
    group->place = run + d->examples + 1;
    s->next = group->place + tfd_tensor_elements(&k->in[at.features + g]);
    group->values =
        g < c->valued ? tfd_tensor_data(&k->in[at.values + g]) : NULL;
    group->weights = tfd_tensor_data(&k->in[at.weights + g]);
    group->deltas = tfd_tensor_data(&k->out[1 + g]);
    for (int64_t i = 0; i < m; i++) {
        s->sorted[i] = (struct indexed){tfd_check_int_at(indices, i), i};
        s->stamp[i] = 0;
    }
    qsort(s->sorted, (size_t)m, sizeof(*s->sorted), by_index);
    find_runs(&k->in[at.examples + g], d->examples, run);
    TFD_TRY(find_places(&k->in[at.features + g], s->sorted, m, run[d->examples],
                        group->place, st));
    return measure_sparse(group, d->examples, s->stamp, d->norms, st);
}

/* ---- Dense groups -------------------------------------------------------- */

static enum tfd_code read_dense(struct tfd_kctx *k,
                                const struct tfd_sdca_counts *c, int g,
                                struct tfd_sdca_data *d, struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    const struct tfd_tensor *x = &k->in[at.x + g];
    const int64_t weights = tfd_tensor_elements(&k->in[at.dense_weights + g]);
    struct tfd_sdca_dense *group = &d->dense[g];

    group->features = x->shape.dim[1];
    if (group->features < 1 || group->features > weights)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "More dense features than we have parameters for: %lld",
                        (long long)group->features);
    if (group->features != weights || x->shape.dim[0] < d->examples)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dense features at index %d are [%lld,%lld] for %lld "
                        "examples and %lld weights",
                        g, (long long)x->shape.dim[0],
                        (long long)group->features, (long long)d->examples,
                        (long long)weights);
    group->x = tfd_tensor_data(x);
    group->weights = tfd_tensor_data(&k->in[at.dense_weights + g]);
    group->deltas = tfd_tensor_data(&k->out[1 + c->sparse + g]);
    for (int64_t e = 0; e < d->examples && !tfd_halted(); e++) {
        const float *row = group->x + e * group->features;
        float sum = 0;

        for (int64_t f = 0; f < group->features; f++)
            sum += row[f] * row[f];
        d->norms[e] += sum;
    }
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code check_examples(const struct tfd_kctx *k,
                                    const struct tfd_sdca_counts *c,
                                    struct tfd_sdca_data *d,
                                    struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    const int64_t labels = tfd_tensor_elements(&k->in[at.labels]);

    d->examples = tfd_tensor_elements(&k->in[at.example_weights]);
    if (d->examples >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Too many examples in a mini-batch: %lld > %d",
                        (long long)d->examples, INT32_MAX);
    if (labels != d->examples)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %lld example labels but got %lld",
                        (long long)d->examples, (long long)labels);
    for (int g = 0; g < c->dense; g++)
        if (k->in[at.x + g].shape.rank != 2)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Dense features at index %d must be rank 2 but is "
                            "rank %d",
                            g, k->in[at.x + g].shape.rank);
    return TFD_OK;
}

static enum tfd_code read_groups(struct tfd_kctx *k,
                                 const struct tfd_sdca_counts *c,
                                 struct tfd_sdca_data *d, int64_t longest,
                                 struct tfd_status *st)
{
    struct sdca_scratch s;

    s.sorted = (struct indexed *)(d->worths + 2 * d->examples);
    s.stamp = (int64_t *)(s.sorted + longest);
    s.next = s.stamp + longest;
    for (int64_t e = 0; e < d->examples; e++)
        d->norms[e] = 0;
    for (int g = 0; g < c->sparse; g++)
        TFD_TRY(read_sparse(k, c, g, d, &s, st));
    for (int g = 0; g < c->dense; g++)
        TFD_TRY(read_dense(k, c, g, d, st));
    return TFD_OK;
}

enum tfd_code tfd_sdca_read(struct tfd_kctx *k, const struct tfd_sdca_counts *c,
                            struct tfd_sdca_data *d, struct tfd_status *st)
{
    const struct sdca_inputs at = inputs_of(c);
    int64_t longest;

    memset(d, 0, sizeof(*d));
    TFD_TRY(make_deltas(k, c->sparse, at.weights, 1, st));
    TFD_TRY(make_deltas(k, c->dense, at.dense_weights, 1 + c->sparse, st));
    TFD_TRY(check_examples(k, c, d, st));
    TFD_TRY(take_memory(k, c, d, &longest, st));
    TFD_TRY(read_groups(k, c, d, longest, st));
    TFD_TRY(make_states(k, at.states, d->examples, st));
    d->labels = tfd_tensor_data(&k->in[at.labels]);
    d->example_weights = tfd_tensor_data(&k->in[at.example_weights]);
    d->states = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}
