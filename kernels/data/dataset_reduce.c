/*
 * dataset_reduce.c - ops that go through a whole dataset: reduce, the single
 * element; and scan, a map with a state.
 */
#include "kernels/data/data_table.h"
#include "kernels/data/shapes.h"
#include "kernels/data/whole.h"

#include <stdlib.h>

/* Outputs have the types that the node says. */
static enum tfd_code check_count(const struct tfd_whole *w, int32_t have,
                                 struct tfd_status *st)
{
    if (have == w->k->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Number of components does not match: expected %d types "
                    "but got %d.",
                    w->k->out_count, have);
}

/* ---- The single element -------------------------------------------------- */

static enum tfd_code take_single(struct tfd_whole *w, struct tfd_status *st)
{
    int32_t count = w->it->dataset->count;
    struct tfd_tensor *more;
    bool end;
    enum tfd_code rc;

    TFD_TRY(check_count(w, count, st));
    TFD_TRY(tfd_data_next(w->it, w->k->out, &end, st));
    if (end)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Dataset was empty.");
    more = tfd_data_element_new(count, st);
    if (!more)
        return TFD_RESOURCE_EXHAUSTED;
    rc = tfd_data_next(w->it, more, &end, st);
    tfd_data_element_drop(more, count);
    free(more);
    if (rc == TFD_OK && !end)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Dataset had more than one element.");
    return rc;
}

static void single_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, "SingleElementIterator", take_single);
}

/* ---- One element by its number ------------------------------------------- */

/* Those before it are made and dropped. */
static enum tfd_code take_at(struct tfd_whole *w, struct tfd_status *st)
{
    int32_t count = w->it->dataset->count;
    int64_t index;
    bool end = false;

    TFD_TRY(check_count(w, count, st));
    TFD_TRY(tfd_dataset_int(w->k, 1, "index", &index, st));
    for (int64_t i = 0; index >= 0 && i <= index && !end; i++) {
        tfd_data_element_drop(w->k->out, count);
        TFD_TRY(tfd_data_next(w->it, w->k->out, &end, st));
    }
    if (index >= 0 && !end)
        return TFD_OK;
    return tfd_fail(st, TFD_OUT_OF_RANGE, "Index out of range [0, %lld):%lld",
                    (long long)tfd_dataset_cardinality(w->it->dataset),
                    (long long)index);
}

static void at_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, "Iterator::Root", take_at);
}

/* ---- Reduce -------------------------------------------------------------- */

static int32_t state_count(const struct tfd_kctx *k)
{
    int32_t first, count;

    tfd_node_arg(k->node, 1, &first, &count);
    return count;
}

/* Arguments of one call: the state, which is taken, the element, what is
 * captured. */
static void put_arguments(const struct tfd_whole *w, struct tfd_tensor *args,
                          struct tfd_tensor *state, int32_t states,
                          struct tfd_tensor *element)
{
    int32_t width = w->it->dataset->count;

    tfd_data_element_move(args, state, states);
    tfd_data_element_move(args + states, element, width);
    for (int32_t i = 1 + states; i < w->k->in_count; i++)
        args[width + i - 1] = tfd_tensor_ref(&w->k->in[i]);
}

/* `state` has room for the element behind it. */
static enum tfd_code reduce_all(struct tfd_whole *w, struct tfd_tensor *state,
                                struct tfd_tensor *args, int32_t states,
                                struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = w->k->state;
    struct tfd_tensor *element = state + states;
    bool end = false;

    while (!end) {
        TFD_TRY(tfd_data_next(w->it, element, &end, st));
        if (end)
            break;
        put_arguments(w, args, state, states, element);
        TFD_TRY(tfd_data_scope_call(w->scope, m->function, args, state, st));
    }
    return TFD_OK;
}

static enum tfd_code check_reduce(const struct tfd_whole *w, int32_t states,
                                  struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = w->k->state;
    int32_t wanted = w->it->dataset->count + w->k->in_count - 1;

    TFD_TRY(check_count(w, states, st));
    if (tfd_rt_function_in_count(m->function) == wanted &&
        tfd_rt_function_out_count(m->function) == states)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " has %d arguments and %d results; of a "
                                "state of %d they are %d and %d",
                    TFD_STR_ARG(tfd_rt_function_name(m->function)),
                    tfd_rt_function_in_count(m->function),
                    tfd_rt_function_out_count(m->function), states, wanted,
                    states);
}

static enum tfd_code reduce_run(struct tfd_whole *w, struct tfd_status *st)
{
    struct tfd_kctx *k = w->k;
    int32_t states = state_count(k), width = w->it->dataset->count;
    struct tfd_tensor *state, *args;
    enum tfd_code rc;

    TFD_TRY(check_reduce(w, states, st));
    state = tfd_data_element_new(states + width, st);
    args = tfd_data_element_new(k->in_count + width, st);
    rc = state && args ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
    for (int32_t i = 0; rc == TFD_OK && i < states; i++)
        state[i] = tfd_tensor_ref(&k->in[1 + i]);
    if (rc == TFD_OK)
        rc = reduce_all(w, state, args, states, st);
    if (rc == TFD_OK)
        tfd_data_element_move(k->out, state, states);
    tfd_data_element_drop(state, state ? states + width : 0);
    free(state);
    free(args);
    return rc;
}

static void reduce_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, "ReduceIterator::Root", reduce_run);
}

/* ---- Scan ---------------------------------------------------------------- */

struct scan {
    struct tfd_dataset dataset;
    struct tfd_captured f;     /* behind state and element */
    struct tfd_tensor *states; /* at first */
    int32_t count;
    bool preserve_cardinality;
};

struct scan_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of state and input */
    struct tfd_tensor *results;
    bool is_over;
};

static void scan_release(struct tfd_dataset *d)
{
    struct scan *s = (struct scan *)d;

    tfd_captured_deinit(&s->f);
    tfd_data_element_drop(s->states, s->count);
    free(s->states);
}

static int64_t scan_cardinality(const struct tfd_dataset *d)
{
    return ((const struct scan *)d)->preserve_cardinality
               ? tfd_dataset_cardinality(d->inputs[0])
               : TFD_CARDINALITY_UNKNOWN;
}

static enum tfd_code scan_begin(struct tfd_data_iterator *it,
                                struct tfd_status *st)
{
    struct scan_iterator *i = (struct scan_iterator *)it;
    const struct scan *s = (const struct scan *)it->dataset;

    i->element = tfd_data_element_new(s->f.in_count, st);
    i->results = tfd_data_element_new(s->f.out_count, st);
    if (!i->element || !i->results)
        return TFD_RESOURCE_EXHAUSTED;
    for (int32_t n = 0; n < s->count; n++)
        i->element[n] = tfd_tensor_ref(&s->states[n]);
    return TFD_OK;
}

static void scan_end(struct tfd_data_iterator *it)
{
    struct scan_iterator *i = (struct scan_iterator *)it;
    const struct scan *s = (const struct scan *)it->dataset;

    tfd_data_element_drop(i->element, s->f.in_count);
    tfd_data_element_drop(i->results, s->f.out_count);
    free(i->element);
    free(i->results);
}

/* After a failure the state is what it was. */
static enum tfd_code scan_call(struct scan_iterator *i, struct tfd_status *st)
{
    const struct scan *s = (const struct scan *)i->iterator.dataset;
    struct tfd_tensor *before = tfd_data_element_new(s->count, st);
    enum tfd_code rc;

    if (!before)
        return TFD_RESOURCE_EXHAUSTED;
    for (int32_t n = 0; n < s->count; n++)
        before[n] = tfd_tensor_ref(&i->element[n]);
    rc =
        tfd_captured_call(&s->f, i->iterator.scope, i->element, i->results, st);
    if (rc == TFD_OK)
        tfd_data_element_move(i->element, i->results, s->count);
    else
        tfd_data_element_move(i->element, before, s->count);
    tfd_data_element_drop(before, s->count);
    free(before);
    return rc;
}

static enum tfd_code scan_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct scan_iterator *i = (struct scan_iterator *)it;
    const struct scan *s = (const struct scan *)it->dataset;
    struct tfd_status own = TFD_STATUS_INIT;

    *end = i->is_over;
    if (*end)
        return TFD_OK;
    TFD_TRY(tfd_data_next(it->input, i->element + s->count, end, st));
    i->is_over = *end;
    if (*end)
        return TFD_OK;
    if (scan_call(i, &own) == TFD_OK) {
        tfd_data_element_move(out, i->results + s->count, it->dataset->count);
        return TFD_OK;
    }
    *end = i->is_over =
        own.code == TFD_OUT_OF_RANGE && !s->preserve_cardinality;
    if (*end)
        return TFD_OK;
    if (own.code == TFD_OUT_OF_RANGE)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Function invocation produced OutOfRangeError: %s",
                        own.text);
    tfd_status_copy(st, &own);
    return own.code;
}

static const struct tfd_dataset_kind scan_kind = {
    .name = "Scan",
    .iterator_size = sizeof(struct scan_iterator),
    .opens_input = true,
    .begin = scan_begin,
    .next = scan_next,
    .end = scan_end,
    .cardinality = scan_cardinality,
    .release = scan_release,
};

static enum tfd_code fill_scan(struct tfd_kctx *k, struct scan *s,
                               struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    int32_t states = state_count(k);

    s->preserve_cardinality = m->flag;
    s->states = tfd_data_element_new(states, st);
    if (!s->states)
        return TFD_RESOURCE_EXHAUSTED;
    for (; s->count < states; s->count++) {
        s->states[s->count] = tfd_tensor_ref(&k->in[1 + s->count]);
        TFD_TRY(tfd_dataset_deepen(&s->dataset, &k->in[1 + s->count], st));
    }
    TFD_TRY(tfd_captured_init(
        &s->f, k, m->function, 1 + states, k->in_count - 1 - states,
        states + s->dataset.inputs[0]->count, &s->dataset, st));
    return tfd_captured_returns(&s->f, states + m->count, st);
}

static enum tfd_code scan_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &scan_kind, sizeof(struct scan), 1, &d, st));
    rc = fill_scan(k, (struct scan *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code scan_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "preserve_cardinality", &m->flag, st));
    return tfd_dataset_prepare(p, m, "f", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define STATE "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; "
#define INPUTS                                        \
    "input_dataset: variant, initial_state: Tstate, " \
    "other_arguments: Targuments"

static const struct tfd_opdef ops[] = {
    {
        .name = "GetElementAtIndex",
        .inputs = "dataset: variant, index: int64",
        .outputs = "components: output_types",
        .attrs = TFD_DATA_TYPES,
        .shape = tfd_data_shape_components,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DatasetToSingleElement",
        .inputs = "dataset: variant",
        .outputs = "components: output_types",
        .attrs = TFD_DATA_TYPES TFD_DATA_METADATA,
        .shape = tfd_data_shape_components,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ReduceDataset",
        .inputs = INPUTS,
        .outputs = "components: output_types",
        .attrs = STATE TFD_DATA_TYPES
        "; use_inter_op_parallelism: bool = true" TFD_DATA_METADATA,
        .shape = tfd_data_shape_components,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    TFD_DATA_OP("ExperimentalScanDataset", INPUTS, STATE,
                "; preserve_cardinality: bool = false", 0),
    TFD_DATA_OP("ScanDataset", INPUTS, STATE,
                "; preserve_cardinality: bool = false; "
                "use_default_device: bool = true" TFD_DATA_METADATA,
                0),
};

#define WAITS(name_, start_, prepare_)                                \
    TFD_KERNEL_ANY(name_, NULL, .start = start_, .prepare = prepare_, \
                   .release = tfd_dataset_maker_release,              \
                   .state_size = sizeof(struct tfd_dataset_maker),    \
                   .flags = TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    WAITS("GetElementAtIndex", at_start, tfd_dataset_prepare_plain),
    WAITS("DatasetToSingleElement", single_start, tfd_dataset_prepare_plain),
    WAITS("ReduceDataset", reduce_start, tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("ExperimentalScanDataset", scan_compute, scan_prepare),
    TFD_DATA_KERNEL_F("ScanDataset", scan_compute, scan_prepare),
};

TFD_DATA_FAMILY(dataset_reduce);
