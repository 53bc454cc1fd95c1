/*
 * dataset_group_reduce.c - GroupByReducerDataset: all elements of a key become
 * one, by a state that a function makes of the key and of each element.
 *
 *     element -- key_func --> key -- init_func --> state
 *     state, element -- reduce_func --> state        at the end of the input:
 *                                 state -- finalize_func --> element, by key
 */
#include "kernels/data/data_table.h"
#include "kernels/data_groups/group_key.h"

#include <stdlib.h>

enum { KEY, INIT, REDUCE, FINALIZE, FUNCTIONS };

static const struct tfd_group_function functions[FUNCTIONS] = {
    {"key_func", 1},
    {"init_func", 2},
    {"reduce_func", 3},
    {"finalize_func", 4},
};

struct reducer {
    struct tfd_dataset dataset;
    struct tfd_captured f[FUNCTIONS];
};

struct group {
    int64_t key;
    struct tfd_tensor *state;
};

struct reducer_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_group_list groups;
    struct tfd_tensor *element; /* of the input */
    struct tfd_tensor *copy;    /* for the key function */
    struct tfd_tensor *args;    /* a state and an element */
    struct tfd_tensor *results; /* the next state */
    int64_t next;               /* group */
    bool input_over;
};

static int32_t states_of(const struct reducer *r)
{
    return r->f[INIT].out_count;
}

static void reducer_release(struct tfd_dataset *d)
{
    for (int i = 0; i < FUNCTIONS; i++)
        tfd_captured_deinit(&((struct reducer *)d)->f[i]);
}

static enum tfd_code reducer_begin(struct tfd_data_iterator *it,
                                   struct tfd_status *st)
{
    struct reducer_iterator *i = (struct reducer_iterator *)it;
    const struct reducer *r = (const struct reducer *)it->dataset;
    int32_t width = it->dataset->inputs[0]->count;

    i->groups.size = sizeof(struct group);
    i->element = tfd_data_element_new(width, st);
    i->copy = tfd_data_element_new(width, st);
    i->args = tfd_data_element_new(states_of(r) + width, st);
    i->results = tfd_data_element_new(states_of(r), st);
    return i->element && i->copy && i->args && i->results
               ? TFD_OK
               : TFD_RESOURCE_EXHAUSTED;
}

static void reducer_end(struct tfd_data_iterator *it)
{
    struct reducer_iterator *i = (struct reducer_iterator *)it;
    const struct reducer *r = (const struct reducer *)it->dataset;

    for (int64_t n = 0; n < i->groups.count; n++) {
        struct group *g = tfd_group_at(&i->groups, n);

        tfd_data_element_drop(g->state, states_of(r));
        free(g->state);
    }
    free(i->groups.things);
    tfd_data_element_drop(i->element, it->dataset->inputs[0]->count);
    free(i->element);
    free(i->copy);
    free(i->args);
    free(i->results);
}

/* ---- One element --------------------------------------------------------- */

static enum tfd_code make_state(struct reducer_iterator *i, struct group *g,
                                struct tfd_status *st)
{
    const struct reducer *r = (const struct reducer *)i->iterator.dataset;
    struct tfd_tensor key = TFD_TENSOR_INIT;

    g->state = tfd_data_element_new(states_of(r), st);
    if (!g->state)
        return TFD_RESOURCE_EXHAUSTED;
    TFD_TRY(tfd_group_key_tensor(g->key, &key, st));
    return tfd_captured_call(&r->f[INIT], i->iterator.scope, &key, g->state,
                             st);
}

static enum tfd_code find_group(struct reducer_iterator *i, struct group **out,
                                struct tfd_status *st)
{
    const struct reducer *r = (const struct reducer *)i->iterator.dataset;
    int32_t width = i->iterator.dataset->inputs[0]->count;
    int64_t key;
    bool is_new;
    enum tfd_code rc;

    for (int32_t c = 0; c < width; c++)
        i->copy[c] = tfd_tensor_ref(&i->element[c]);
    TFD_TRY(tfd_group_number(&r->f[KEY], i->iterator.scope, i->copy, "key_func",
                             &key, st));
    *out = tfd_group_find(&i->groups, key, &is_new);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a group");
    if (!is_new)
        return TFD_OK;
    rc = make_state(i, *out, st);
    if (rc == TFD_OK)
        return TFD_OK;
    free((*out)->state);
    tfd_group_remove(&i->groups, ((char *)*out - i->groups.things) /
                                     (int64_t)sizeof(struct group));
    return rc;
}

/* After a failure the state is what it was. */
static enum tfd_code reduce_element(struct reducer_iterator *i,
                                    struct tfd_status *st)
{
    const struct reducer *r = (const struct reducer *)i->iterator.dataset;
    int32_t width = i->iterator.dataset->inputs[0]->count;
    int32_t states = states_of(r);
    struct group *g;

    TFD_TRY(find_group(i, &g, st));
    for (int32_t c = 0; c < states; c++)
        i->args[c] = tfd_tensor_ref(&g->state[c]);
    tfd_data_element_move(i->args + states, i->element, width);
    TFD_TRY(tfd_captured_call(&r->f[REDUCE], i->iterator.scope, i->args,
                              i->results, st));
    tfd_data_element_drop(g->state, states);
    tfd_data_element_move(g->state, i->results, states);
    return TFD_OK;
}

/* ---- All of them --------------------------------------------------------- */

static enum tfd_code reduce_input(struct reducer_iterator *i,
                                  struct tfd_status *st)
{
    int32_t width = i->iterator.dataset->inputs[0]->count;
    enum tfd_code rc = TFD_OK;

    while (rc == TFD_OK && !i->input_over) {
        TFD_TRY(
            tfd_data_next(i->iterator.input, i->element, &i->input_over, st));
        if (!i->input_over)
            rc = reduce_element(i, st);
        tfd_data_element_drop(i->element, width);
    }
    return rc;
}

static enum tfd_code reducer_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    struct reducer_iterator *i = (struct reducer_iterator *)it;
    const struct reducer *r = (const struct reducer *)it->dataset;
    struct group *g;

    TFD_TRY(reduce_input(i, st));
    *end = i->next >= i->groups.count;
    if (*end)
        return TFD_OK;
    g = tfd_group_at(&i->groups, i->next++);
    return tfd_captured_call(&r->f[FINALIZE], it->scope, g->state, out, st);
}

static const struct tfd_dataset_kind reducer_kind = {
    .name = "GroupByReducer",
    .iterator_size = sizeof(struct reducer_iterator),
    .opens_input = true,
    .begin = reducer_begin,
    .next = reducer_next,
    .end = reducer_end,
    .release = reducer_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code reducer_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return tfd_group_prepare(p, functions, FUNCTIONS, state, st);
}

static enum tfd_code fill_reducer(struct tfd_kctx *k, struct reducer *r,
                                  struct tfd_status *st)
{
    int32_t width = r->dataset.inputs[0]->count;
    int32_t elements[FUNCTIONS] = {width, 1, width, 0};

    for (int i = 0; i < FUNCTIONS; i++) {
        if (i == REDUCE)
            elements[i] += r->f[INIT].out_count;
        if (i == FINALIZE)
            elements[i] = r->f[INIT].out_count;
        TFD_TRY(tfd_group_capture(k, i, functions[i].arg, elements[i],
                                  &r->dataset, &r->f[i], st));
    }
    if (r->f[REDUCE].out_count == r->f[INIT].out_count &&
        r->f[FINALIZE].out_count == r->dataset.count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "a state of %d tensors becomes one of %d, and an element "
                    "of %d, which has %d",
                    r->f[INIT].out_count, r->f[REDUCE].out_count,
                    r->f[FINALIZE].out_count, r->dataset.count);
}

static enum tfd_code reducer_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(
        tfd_dataset_make(k, &reducer_kind, sizeof(struct reducer), 1, &d, st));
    rc = fill_reducer(k, (struct reducer *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define REDUCER(name_)                                                    \
    TFD_DATA_OP(name_,                                                    \
                "input_dataset: variant, "                                \
                "key_func_other_arguments: Tkey_func_other_arguments, "   \
                "init_func_other_arguments: Tinit_func_other_arguments, " \
                "reduce_func_other_arguments: "                           \
                "Treduce_func_other_arguments, "                          \
                "finalize_func_other_arguments: "                         \
                "Tfinalize_func_other_arguments",                         \
                "key_func: func; init_func: func; reduce_func: func; "    \
                "finalize_func: func; "                                   \
                "Tkey_func_other_arguments: list(type) >= 0; "            \
                "Tinit_func_other_arguments: list(type) >= 0; "           \
                "Treduce_func_other_arguments: list(type) >= 0; "         \
                "Tfinalize_func_other_arguments: list(type) >= 0; ",      \
                "", TFD_OP_STATEFUL)
#define REDUCER_KERNEL(name_)                                          \
    TFD_KERNEL_ANY(name_, reducer_compute, .prepare = reducer_prepare, \
                   .release = tfd_dataset_maker_release,               \
                   .state_size = sizeof(struct tfd_group_maker))

static const struct tfd_opdef ops[] = {
    REDUCER("GroupByReducerDataset"),
    REDUCER("ExperimentalGroupByReducerDataset"),
};

static const struct tfd_kernel kernels[] = {
    REDUCER_KERNEL("GroupByReducerDataset"),
    REDUCER_KERNEL("ExperimentalGroupByReducerDataset"),
};

TFD_DATA_FAMILY(dataset_group_reduce);
