/*
 * dataset_nested.c - datasets whose function makes a dataset of each element:
 * flat_map and interleave.
 *
 * A cycle of places has an inner iterator each; a block of elements comes from
 * one, then from the next.  flat_map is a cycle of one place.  The parallel
 * kinds yield the same elements in the same order.
 */
#define _GNU_SOURCE 1 /* sched_getaffinity() */

#include "kernels/data/data_table.h"

#include "config/limits.h"

#include <sched.h>
#include <stdlib.h>

struct nested {
    struct tfd_dataset dataset;
    struct tfd_captured f;
    int64_t cycle, block;
    bool is_flat;
};

struct place {
    struct tfd_data_iterator *iterator; /* NULL: free */
};

struct nested_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of the input */
    struct place *places;       /* `room` of them; grows to the cycle */
    int64_t room, at, in_block, open;
    int64_t number; /* flat_map: inner datasets so far */
    bool input_over;
};

static void nested_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct nested *)d)->f);
}

static enum tfd_code nested_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct nested_iterator *i = (struct nested_iterator *)it;

    i->element = tfd_data_element_new(it->dataset->inputs[0]->count, st);
    return i->element ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void nested_end(struct tfd_data_iterator *it)
{
    struct nested_iterator *i = (struct nested_iterator *)it;

    for (int64_t n = 0; n < i->room; n++)
        tfd_data_close(i->places[n].iterator);
    free(i->places);
    tfd_data_element_drop(i->element, it->dataset->inputs[0]->count);
    free(i->element);
}

/* ---- Inner datasets ------------------------------------------------------ */

static enum tfd_code check_inner(const struct tfd_dataset *outer,
                                 const struct tfd_dataset *inner,
                                 struct tfd_status *st)
{
    if (inner->count == outer->count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Number of components does not match: expected %d types "
                    "but got %d.",
                    outer->count, inner->count);
}

static enum tfd_code open_inner(struct nested_iterator *i,
                                const struct tfd_tensor *made,
                                struct tfd_status *st)
{
    const struct nested *d = (const struct nested *)i->iterator.dataset;
    struct tfd_dataset *inner;

    if (tfd_dataset_of(made, &inner, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Function must return a single scalar of dtype "
                        "DT_VARIANT.");
    TFD_TRY(check_inner(&d->dataset, inner, st));
    TFD_TRY(tfd_data_open_within(&i->iterator, inner,
                                 d->is_flat ? i->number : i->at,
                                 &i->places[i->at].iterator, st));
    i->number++;
    i->open++;
    return TFD_OK;
}

/* The next element of the input becomes an iterator at this place. */
static enum tfd_code fill_place(struct nested_iterator *i,
                                struct tfd_status *st)
{
    const struct nested *d = (const struct nested *)i->iterator.dataset;
    struct tfd_tensor made = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_data_next(i->iterator.input, i->element, &i->input_over, st));
    if (i->input_over)
        return TFD_OK;
    rc = tfd_captured_call(&d->f, i->iterator.scope, i->element, &made, st);
    if (rc != TFD_OK)
        tfd_data_failed(&i->iterator, st);
    else
        rc = open_inner(i, &made, st);
    tfd_tensor_unref(&made);
    return rc;
}

/* ---- The cycle ----------------------------------------------------------- */

static enum tfd_code make_place(struct nested_iterator *i,
                                struct tfd_status *st)
{
    int64_t room = i->room ? 2 * i->room : 1;
    struct place *more;

    if (i->at < i->room)
        return TFD_OK;
    more = realloc(i->places, (size_t)room * sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a cycle of %lld datasets",
                        (long long)room);
    for (int64_t n = i->room; n < room; n++)
        more[n].iterator = NULL;
    i->places = more;
    i->room = room;
    return TFD_OK;
}

static void next_place(struct nested_iterator *i)
{
    const struct nested *d = (const struct nested *)i->iterator.dataset;

    i->in_block = 0;
    i->at = (i->at + 1) % d->cycle;
    if (i->at >= i->room && i->input_over)
        i->at = 0; /* the rest of the cycle was never in use */
}

/* *got: an element; else the place is free now, or the next one's turn. */
static enum tfd_code take_from_place(struct nested_iterator *i,
                                     struct tfd_tensor *out, bool *got,
                                     struct tfd_status *st)
{
    const struct nested *d = (const struct nested *)i->iterator.dataset;
    struct place *p = &i->places[i->at];
    bool end;

    TFD_TRY(tfd_data_next(p->iterator, out, &end, st));
    *got = !end;
    if (!end) {
        if (++i->in_block == d->block)
            next_place(i);
        return TFD_OK;
    }
    tfd_data_close(p->iterator);
    p->iterator = NULL;
    i->open--;
    next_place(i);
    return TFD_OK;
}

static enum tfd_code nested_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct nested_iterator *i = (struct nested_iterator *)it;
    bool got = false;

    while (!got && (!i->input_over || i->open > 0)) {
        TFD_TRY(make_place(i, st));
        if (i->places[i->at].iterator)
            TFD_TRY(take_from_place(i, out, &got, st));
        else if (!i->input_over)
            TFD_TRY(fill_place(i, st));
        else
            next_place(i);
    }
    *end = !got;
    return TFD_OK;
}

/* ---- Kinds --------------------------------------------------------------- */

static enum tfd_code flat_sequential(const struct tfd_dataset *d,
                                     struct tfd_status *st)
{
    (void)d;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "Please consider applying maps on each dataset, "
                    "concatenating them into one dataset and apply global "
                    "shuffle dataset op onto the dataset to achieve the same "
                    "result as flat map with global shuffling.");
}

#define NESTED_KIND(id, name_, sequential_)              \
    static const struct tfd_dataset_kind id##_kind = {   \
        .name = name_,                                   \
        .iterator_size = sizeof(struct nested_iterator), \
        .opens_input = true,                             \
        .begin = nested_begin,                           \
        .next = nested_next,                             \
        .sequential = sequential_,                       \
        .end = nested_end,                               \
        .release = nested_release,                       \
    }

NESTED_KIND(flat_map, "FlatMap", flat_sequential);
NESTED_KIND(interleave, "Interleave", NULL);
NESTED_KIND(parallel2, "ParallelInterleaveV2", NULL);
NESTED_KIND(parallel3, "ParallelInterleaveV3", NULL);
NESTED_KIND(parallel4, "ParallelInterleaveV4", NULL);
NESTED_KIND(legacy, "LegacyParallelInterleave", NULL);

/* ---- Making -------------------------------------------------------------- */

/* What TensorFlow takes for a cycle that is left to it. */
static int64_t processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return 1;
    return CPU_COUNT(&set);
}

static enum tfd_code make_nested(struct tfd_kctx *k,
                                 const struct tfd_dataset_kind *kind,
                                 int captured, int64_t cycle, int64_t block,
                                 struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_dataset *d;
    struct nested *x;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*x), 1, &d, st));
    x = (struct nested *)d;
    x->cycle = cycle;
    x->block = block;
    x->is_flat = kind == &flat_map_kind;
    rc = tfd_captured_init(&x->f, k, m->function, 1, captured,
                           d->inputs[0]->count, d, st);
    if (rc == TFD_OK && x->f.out_count != 1)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Function must return a single scalar of dtype "
                      "DT_VARIANT.");
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code flat_map_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_nested(k, &flat_map_kind, k->in_count - 1, 1, INT64_MAX, st);
}

static enum tfd_code check_plain(int64_t cycle, int64_t block,
                                 struct tfd_status *st)
{
    if (cycle <= 0 && cycle != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "cycle_length must be greater than zero.");
    if (block <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "block_length must be greater than zero.");
    return TFD_OK;
}

/* The last input is num_parallel_calls. */
static enum tfd_code check_parallel(const struct tfd_kctx *k, int64_t cycle,
                                    int64_t block, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(
        tfd_dataset_int(k, k->in_count - 1, "num_parallel_calls", &calls, st));
    if (cycle <= 0 && cycle != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`cycle_length` must be `tf.data.AUTOTUNE` or greater "
                        "than 0 but is %lld",
                        (long long)cycle);
    if (block <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "`block_length` must be > 0");
    if (calls < 1 && calls != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_parallel_calls must be greater than zero.");
    if (calls <= cycle || cycle == -1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "If `cycle_length` is set to a fixed value, "
                    "`num_parallel_calls` must be either `tf.data.AUTOTUNE` or "
                    "a value less than or equal to `cycle_length`. However, "
                    "`num_parallel_calls` is %lld and `cycle_length` is %lld",
                    (long long)calls, (long long)cycle);
}

/* `ints` scalars end the inputs, the first two of them cycle_length and
 * block_length. */
static enum tfd_code interleave(struct tfd_kctx *k,
                                const struct tfd_dataset_kind *kind, int ints,
                                struct tfd_status *st)
{
    int first = k->in_count - ints;
    int64_t cycle, block;

    TFD_TRY(tfd_dataset_int(k, first, "cycle_length", &cycle, st));
    TFD_TRY(tfd_dataset_int(k, first + 1, "block_length", &block, st));
    if (ints > 2)
        TFD_TRY(check_parallel(k, cycle, block, st));
    else
        TFD_TRY(check_plain(cycle, block, st));
    return make_nested(k, kind, first - 1, cycle == -1 ? processors() : cycle,
                       block, st);
}

static enum tfd_code interleave_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return interleave(k, &interleave_kind, 2, st);
}

/* Of the first kind, and of its second version, which has no `sloppy`: behind
 * the two sizes come that of a buffer and how many inputs to read ahead. */
static enum tfd_code legacy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"cycle_length", "block_length",
                                        "buffer_output_elements",
                                        "prefetch_input_elements"};
    bool is_sloppy = k->in[k->in_count - 3].dtype == TFD_BOOL;
    int first = k->in_count - 4 - is_sloppy;
    int64_t value[4];

    for (int i = 0; i < 4; i++) {
        int in = first + i + (is_sloppy && i >= 2);

        TFD_TRY(tfd_dataset_int(k, in, names[i], &value[i], st));
        if (value[i] < (i < 3) && !(i >= 2 && value[i] == -1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "`%s` must be %s",
                            names[i], i < 3 ? "> 0" : ">= 0");
    }
    return make_nested(k, &legacy_kind, first - 1, value[0], value[1], st);
}

#define PARALLEL(id, ints)                                   \
    static enum tfd_code id##_compute(struct tfd_kctx *k,    \
                                      struct tfd_status *st) \
    {                                                        \
        return interleave(k, &id##_kind, ints, st);          \
    }

PARALLEL(parallel2, 3)
PARALLEL(parallel3, 3)
PARALLEL(parallel4, 5)

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS "input_dataset: variant, other_arguments: Targuments"
#define CYCLE ", cycle_length: int64, block_length: int64"
#define CALLS ", num_parallel_calls: int64"
#define FUNCTION "f: func; Targuments: list(type) >= 0; "
#define ORDERED                                    \
    "f: func; deterministic: string = 'default'; " \
    "Targuments: list(type) >= 0; "

#define LEGACY(sloppy)                               \
    INPUTS CYCLE sloppy ", buffer_output_elements: " \
                        "int64, prefetch_input_elements: int64"

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ParallelInterleaveDataset", LEGACY(", sloppy: bool"), FUNCTION,
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ExperimentalParallelInterleaveDataset",
                LEGACY(", sloppy: bool"), FUNCTION, "", 0),
    TFD_DATA_OP("LegacyParallelInterleaveDatasetV2", LEGACY(""), ORDERED,
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("FlatMapDataset", INPUTS, FUNCTION, TFD_DATA_METADATA, 0),
    TFD_DATA_OP("InterleaveDataset", INPUTS CYCLE, FUNCTION, TFD_DATA_METADATA,
                0),
    TFD_DATA_OP("ParallelInterleaveDatasetV2", INPUTS CYCLE CALLS, FUNCTION,
                "; sloppy: bool = false" TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ParallelInterleaveDatasetV3", INPUTS CYCLE CALLS, ORDERED,
                TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ParallelInterleaveDatasetV4",
                INPUTS CYCLE ", buffer_output_elements: int64, "
                             "prefetch_input_elements: int64" CALLS,
                ORDERED, TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("ParallelInterleaveDataset", legacy_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("ExperimentalParallelInterleaveDataset", legacy_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("LegacyParallelInterleaveDatasetV2", legacy_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("FlatMapDataset", flat_map_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("InterleaveDataset", interleave_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("ParallelInterleaveDatasetV2", parallel2_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("ParallelInterleaveDatasetV3", parallel3_compute,
                      tfd_dataset_prepare_f),
    TFD_DATA_KERNEL_F("ParallelInterleaveDatasetV4", parallel4_compute,
                      tfd_dataset_prepare_f),
};

TFD_DATA_FAMILY(dataset_nested);
