/*
 * dataset_group_window.c - GroupByWindowDataset: elements of one key are kept
 * until there are as many as a window has; a function makes a dataset of them,
 * and its elements come next.
 *
 *     element -- key_func --> key -- window_size_func --> size, once a key
 *     key, dataset of the group -- reduce_func --> dataset
 *
 * At the end of the input groups that are not full come by their keys.
 */
#include "kernels/data/data_collect.h"
#include "kernels/data/data_table.h"
#include "kernels/data_groups/group_key.h"

#include <stdlib.h>
#include <string.h>

enum { KEY, REDUCE, SIZE, FUNCTIONS };

static const struct tfd_group_function functions[FUNCTIONS] = {
    {"key_func", 1},
    {"reduce_func", 2},
    {"window_size_func", 3},
};

struct windower {
    struct tfd_dataset dataset;
    struct tfd_captured f[FUNCTIONS];
};

struct group {
    int64_t key;
    int64_t size; /* of its windows; stays known */
    struct tfd_data_collect kept;
};

struct windower_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_group_list groups;
    struct tfd_tensor *element; /* of the input */
    struct tfd_tensor *copy;    /* for the key function */
    struct tfd_data_iterator *inner;
    bool input_over;
};

/* ---- A group as a dataset ------------------------------------------------ */

struct kept {
    struct tfd_dataset dataset;
    struct tfd_tensor *elements; /* row by row */
    int64_t rows;
};

struct kept_iterator {
    struct tfd_data_iterator iterator;
    int64_t row;
};

static void kept_release(struct tfd_dataset *d)
{
    struct kept *x = (struct kept *)d;

    for (int64_t i = 0; i < x->rows; i++)
        tfd_data_element_drop(x->elements + i * d->count, d->count);
    free(x->elements);
}

static int64_t kept_cardinality(const struct tfd_dataset *d)
{
    return ((const struct kept *)d)->rows;
}

static enum tfd_code kept_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct kept_iterator *i = (struct kept_iterator *)it;
    const struct kept *x = (const struct kept *)it->dataset;
    int32_t count = it->dataset->count;

    (void)st;
    *end = i->row >= x->rows;
    for (int32_t c = 0; !*end && c < count; c++)
        out[c] = tfd_tensor_ref(&x->elements[i->row * count + c]);
    i->row += !*end;
    return TFD_OK;
}

static const struct tfd_dataset_kind kept_kind = {
    .name = "Window",
    .iterator_size = sizeof(struct kept_iterator),
    .next = kept_next,
    .cardinality = kept_cardinality,
    .release = kept_release,
};

/* The group's elements are the dataset's from then on. */
static enum tfd_code make_kept(const struct tfd_dataset *like, struct group *g,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc = TFD_OK;
    struct kept *x;

    TFD_TRY(tfd_dataset_make_like(like, &kept_kind, sizeof(*x), &d, st));
    x = (struct kept *)d;
    x->elements = g->kept.elements;
    x->rows = g->kept.have;
    memset(&g->kept, 0, sizeof(g->kept));
    for (int64_t i = 0; rc == TFD_OK && i < x->rows * d->count; i++)
        rc = tfd_dataset_deepen(d, &x->elements[i], st);
    if (rc == TFD_OK)
        return tfd_variant_object_tensor(&d->object, out, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- The iterator -------------------------------------------------------- */

static void windower_release(struct tfd_dataset *d)
{
    for (int i = 0; i < FUNCTIONS; i++)
        tfd_captured_deinit(&((struct windower *)d)->f[i]);
}

static enum tfd_code windower_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct windower_iterator *i = (struct windower_iterator *)it;
    int32_t width = it->dataset->inputs[0]->count;

    i->groups.size = sizeof(struct group);
    i->element = tfd_data_element_new(width, st);
    i->copy = tfd_data_element_new(width, st);
    return i->element && i->copy ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void windower_end(struct tfd_data_iterator *it)
{
    struct windower_iterator *i = (struct windower_iterator *)it;

    for (int64_t n = 0; n < i->groups.count; n++)
        tfd_data_collect_deinit(
            &((struct group *)tfd_group_at(&i->groups, n))->kept);
    free(i->groups.things);
    tfd_data_close(i->inner);
    tfd_data_element_drop(i->element, it->dataset->inputs[0]->count);
    free(i->element);
    free(i->copy);
}

/* ---- An element into its group ------------------------------------------- */

static enum tfd_code ask_size(struct windower_iterator *i, struct group *g,
                              struct tfd_status *st)
{
    const struct windower *w = (const struct windower *)i->iterator.dataset;
    struct tfd_tensor key = TFD_TENSOR_INIT;
    int64_t size;

    TFD_TRY(tfd_group_key_tensor(g->key, &key, st));
    TFD_TRY(tfd_group_number(&w->f[SIZE], i->iterator.scope, &key,
                             "window_size_func", &size, st));
    if (size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Window size must be greater than zero, but got %lld.",
                        (long long)size);
    g->size = size;
    return TFD_OK;
}

static enum tfd_code keep_element(struct windower_iterator *i, struct group *g,
                                  struct tfd_status *st)
{
    struct tfd_data_collect *c = &g->kept;
    int64_t capacity = c->capacity ? 2 * c->capacity : 4;
    struct tfd_tensor *more = c->elements;

    c->width = i->iterator.dataset->inputs[0]->count;
    if (c->have == c->capacity) {
        more = realloc(c->elements,
                       (size_t)capacity * (size_t)c->width * sizeof(*more));
        if (!more)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for a window of %lld elements",
                            (long long)capacity);
        c->elements = more;
        c->capacity = capacity;
    }
    tfd_data_element_move(c->elements + c->have * c->width, i->element,
                          c->width);
    c->have++;
    return TFD_OK;
}

/* *full: the group that has come to its size. */
static enum tfd_code sort_element(struct windower_iterator *i,
                                  struct group **full, struct tfd_status *st)
{
    const struct windower *w = (const struct windower *)i->iterator.dataset;
    int32_t width = i->iterator.dataset->inputs[0]->count;
    struct group *g;
    int64_t key;
    bool is_new;

    for (int32_t c = 0; c < width; c++)
        i->copy[c] = tfd_tensor_ref(&i->element[c]);
    TFD_TRY(tfd_group_number(&w->f[KEY], i->iterator.scope, i->copy, "key_func",
                             &key, st));
    g = tfd_group_find(&i->groups, key, &is_new);
    if (!g)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a group");
    if (g->size == 0)
        TFD_TRY(ask_size(i, g, st));
    TFD_TRY(keep_element(i, g, st));
    if (g->kept.have >= g->size)
        *full = g;
    return TFD_OK;
}

static enum tfd_code read_input(struct windower_iterator *i,
                                struct group **full, struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->inputs[0]->count;
    enum tfd_code rc = TFD_OK;

    while (rc == TFD_OK && !*full && !i->input_over) {
        TFD_TRY(
            tfd_data_next(i->iterator.input, i->element, &i->input_over, st));
        if (!i->input_over)
            rc = sort_element(i, full, st);
        tfd_data_element_drop(i->element, width);
    }
    return rc;
}

/* Of those that are not full, the one with the least key. */
static struct group *first_group(const struct windower_iterator *i)
{
    for (int64_t n = 0; n < i->groups.count; n++) {
        struct group *g = tfd_group_at(&i->groups, n);

        if (g->kept.have > 0)
            return g;
    }
    return NULL;
}

/* ---- A group's dataset --------------------------------------------------- */

static enum tfd_code open_group(struct windower_iterator *i, struct group *g,
                                struct tfd_status *st)
{
    const struct windower *w = (const struct windower *)i->iterator.dataset;
    struct tfd_tensor args[2] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT};
    struct tfd_tensor made = TFD_TENSOR_INIT;
    struct tfd_dataset *d = NULL;
    enum tfd_code rc = tfd_group_key_tensor(g->key, &args[0], st);

    if (rc == TFD_OK)
        rc = make_kept(w->dataset.inputs[0], g, &args[1], st);
    if (rc == TFD_OK)
        rc = tfd_captured_call(&w->f[REDUCE], i->iterator.scope, args, &made,
                               st);
    tfd_data_element_drop(args, 2);
    if (rc == TFD_OK && tfd_dataset_of(&made, &d, NULL) != TFD_OK)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "`reduce_func` must return a single scalar of dtype "
                      "DT_VARIANT.");
    if (rc == TFD_OK && d->count != w->dataset.count)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Number of components does not match: expected %d types "
                      "but got %d.",
                      w->dataset.count, d->count);
    if (rc == TFD_OK)
        rc = tfd_data_open_within(&i->iterator, d, g->key, &i->inner, st);
    tfd_tensor_unref(&made);
    return rc;
}

/* *is_over: there is no group left. */
static enum tfd_code next_group(struct windower_iterator *i, bool *is_over,
                                struct tfd_status *st)
{
    struct group *g = NULL;

    TFD_TRY(read_input(i, &g, st));
    if (!g)
        g = first_group(i);
    *is_over = !g;
    return g ? open_group(i, g, st) : TFD_OK;
}

static enum tfd_code windower_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct windower_iterator *i = (struct windower_iterator *)it;
    bool is_over = false;

    while (!is_over) {
        if (i->inner) {
            TFD_TRY(tfd_data_next(i->inner, out, end, st));
            if (!*end)
                return TFD_OK;
            tfd_data_close(i->inner);
            i->inner = NULL;
        }
        TFD_TRY(next_group(i, &is_over, st));
    }
    *end = true;
    return TFD_OK;
}

static const struct tfd_dataset_kind windower_kind = {
    .name = "GroupByWindow",
    .iterator_size = sizeof(struct windower_iterator),
    .opens_input = true,
    .begin = windower_begin,
    .next = windower_next,
    .end = windower_end,
    .release = windower_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code windower_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    return tfd_group_prepare(p, functions, FUNCTIONS, state, st);
}

static enum tfd_code windower_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct windower *w;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_dataset_make(k, &windower_kind, sizeof(*w), 1, &d, st));
    w = (struct windower *)d;
    for (int i = 0; rc == TFD_OK && i < FUNCTIONS; i++)
        rc = tfd_group_capture(k, i, functions[i].arg,
                               i == KEY ? d->inputs[0]->count
                                        : (i == REDUCE ? 2 : 1),
                               d, &w->f[i], st);
    if (rc == TFD_OK && w->f[REDUCE].out_count != 1)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "`reduce_func` must return a single scalar of dtype "
                      "DT_VARIANT.");
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define WINDOWER(name_, more_)                                          \
    TFD_DATA_OP(name_,                                                  \
                "input_dataset: variant, "                              \
                "key_func_other_arguments: Tkey_func_other_arguments, " \
                "reduce_func_other_arguments: "                         \
                "Treduce_func_other_arguments, "                        \
                "window_size_func_other_arguments: "                    \
                "Twindow_size_func_other_arguments",                    \
                "key_func: func; reduce_func: func; "                   \
                "window_size_func: func; "                              \
                "Tkey_func_other_arguments: list(type) >= 0; "          \
                "Treduce_func_other_arguments: list(type) >= 0; "       \
                "Twindow_size_func_other_arguments: list(type) >= 0; ", \
                more_, 0)
#define WINDOWER_KERNEL(name_)                                           \
    TFD_KERNEL_ANY(name_, windower_compute, .prepare = windower_prepare, \
                   .release = tfd_dataset_maker_release,                 \
                   .state_size = sizeof(struct tfd_group_maker))

static const struct tfd_opdef ops[] = {
    WINDOWER("GroupByWindowDataset", TFD_DATA_METADATA),
    WINDOWER("ExperimentalGroupByWindowDataset", ""),
};

static const struct tfd_kernel kernels[] = {
    WINDOWER_KERNEL("GroupByWindowDataset"),
    WINDOWER_KERNEL("ExperimentalGroupByWindowDataset"),
};

TFD_DATA_FAMILY(dataset_group_window);
