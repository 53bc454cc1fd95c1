/*
 * dataset_shuffle.c - datasets in random order, and random numbers, as
 * TensorFlow has them for the same seeds.
 *
 * A buffer of elements is filled from the input; the next element is one of it,
 * whose place the first one takes.  With a count the input begins again when it
 * ends, and the buffer may have elements of several passes, each in a slice of
 * its own:
 *
 *     | pass 3: start ... end | pass 4: start ... end |   positions, which grow
 *       ^ drawn from            ^ filled                  and lie in a ring
 *
 * Each slice has seeds of its own.  Elements are drawn from the first one only.
 */
#include "kernels/data/data_seeds.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>
#include <string.h>

/* More slices than this are not begun while there are elements. */
#define SLICES_MAX 3

struct shuffled {
    struct tfd_dataset dataset;
    struct tfd_data_seeds *seeds;
    int64_t size, count; /* of the buffer; passes, -1: for ever */
};

struct slice {
    int64_t start, end;
};

struct shuffled_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *ring; /* `capacity` elements */
    int64_t capacity, used;
    struct slice slices[SLICES_MAX + 2];
    int slice_count;
    int64_t pass; /* passes begun */
    bool any;     /* an element has come */
    struct tfd_random_draw draw;
};

static void shuffled_release(struct tfd_dataset *d)
{
    tfd_data_seeds_unref(((struct shuffled *)d)->seeds);
}

static int64_t shuffled_cardinality(const struct tfd_dataset *d)
{
    int64_t count = ((const struct shuffled *)d)->count;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);

    if (count == 1)
        return n;
    if (count == 0 || n == 0)
        return 0;
    if (count < 0)
        return TFD_CARDINALITY_INFINITE;
    if (n < 0)
        return n;
    return n > INT64_MAX / count ? INT64_MAX : n * count;
}

/* ---- The ring ------------------------------------------------------------ */

static struct tfd_tensor *ring_at(const struct shuffled_iterator *i, int64_t at)
{
    return i->ring + at % i->capacity * i->iterator.dataset->count;
}

/* It grows to the size that the program wants, which may be far more than there
 * are elements. */
static enum tfd_code grow_ring(struct shuffled_iterator *i, int64_t first,
                               struct tfd_status *st)
{
    const struct shuffled *d = (const struct shuffled *)i->iterator.dataset;
    size_t count = (size_t)d->dataset.count;
    int64_t capacity = i->capacity ? 2 * i->capacity : 64;
    struct tfd_tensor *more, *old = i->ring;
    int64_t old_capacity = i->capacity;

    if (i->used < i->capacity)
        return TFD_OK;
    if (d->size > 0 && capacity > d->size)
        capacity = d->size;
    more = calloc((size_t)capacity * count, sizeof(*more));
    if (!more)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a buffer of %lld elements",
                        (long long)capacity);
    i->ring = more;
    i->capacity = capacity;
    for (int64_t n = 0; n < i->used; n++)
        memcpy(ring_at(i, first + n),
               old + (first + n) % old_capacity * (int64_t)count,
               count * sizeof(*more));
    free(old);
    return TFD_OK;
}

static void shuffled_end(struct tfd_data_iterator *it)
{
    struct shuffled_iterator *i = (struct shuffled_iterator *)it;

    for (int64_t n = 0; n < i->capacity; n++)
        tfd_data_element_drop(ring_at(i, n), it->dataset->count);
    free(i->ring);
}

/* ---- Filling ------------------------------------------------------------- */

static bool wants_more(const struct shuffled_iterator *i)
{
    const struct shuffled *d = (const struct shuffled *)i->iterator.dataset;

    if (!i->iterator.input && d->count != -1 && i->pass >= d->count)
        return false;
    if (i->slice_count > SLICES_MAX && i->used > 0)
        return false;
    return d->size < 0 || i->used < d->size;
}

/* Slices whose pass is over and whose elements are gone; with each the seeds
 * change. */
static void drop_slices(struct shuffled_iterator *i)
{
    const struct shuffled *d = (const struct shuffled *)i->iterator.dataset;

    while (i->slice_count > 1 && i->slices[0].start == i->slices[0].end) {
        i->slice_count--;
        memmove(i->slices, i->slices + 1,
                sizeof(i->slices[0]) * (size_t)i->slice_count);
        i->draw = tfd_data_seeds_next(d->seeds);
    }
}

static enum tfd_code open_pass(struct shuffled_iterator *i,
                               struct tfd_status *st)
{
    struct tfd_data_iterator *it = &i->iterator;

    if (((const struct shuffled *)it->dataset)->count == 1)
        return tfd_data_open_input(it, 0, &it->input, st);
    return tfd_data_open_within(it, it->dataset->inputs[0], i->pass, &it->input,
                                st);
}

/* The next pass has a slice of its own. */
static enum tfd_code begin_pass(struct shuffled_iterator *i,
                                struct tfd_status *st)
{
    int64_t end;

    if (i->used == 0)
        drop_slices(i); /* passes without elements leave no slices */
    end = i->slice_count ? i->slices[i->slice_count - 1].end : 0;
    TFD_TRY(open_pass(i, st));
    i->slices[i->slice_count++] = (struct slice){end, end};
    i->pass++;
    return TFD_OK;
}

/* An element of the input, or the end of this pass of it. */
static enum tfd_code fill_one(struct shuffled_iterator *i, bool *end,
                              struct tfd_status *st)
{
    struct slice *last = &i->slices[i->slice_count - 1];

    TFD_TRY(grow_ring(i, i->slices[0].start, st));
    TFD_TRY(tfd_data_next(i->iterator.input, ring_at(i, last->end), end, st));
    if (!*end) {
        last->end++;
        i->used++;
        i->any = true;
        return TFD_OK;
    }
    tfd_data_close(i->iterator.input);
    i->iterator.input = NULL;
    return TFD_OK;
}

static enum tfd_code fill_buffer(struct shuffled_iterator *i,
                                 struct tfd_status *st)
{
    const struct shuffled *d = (const struct shuffled *)i->iterator.dataset;
    bool end = false;

    while (wants_more(i)) {
        if (!i->iterator.input)
            TFD_TRY(begin_pass(i, st));
        TFD_TRY(fill_one(i, &end, st));
        if (end && !i->any && d->count == -1)
            return TFD_OK;
    }
    return TFD_OK;
}

/* ---- Drawing ------------------------------------------------------------- */

static enum tfd_code shuffled_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct shuffled_iterator *i = (struct shuffled_iterator *)it;
    int32_t count = it->dataset->count;
    struct slice *s = i->slices;
    struct tfd_tensor *chosen;

    TFD_TRY(fill_buffer(i, st));
    *end = i->used == 0;
    if (*end)
        return TFD_OK;
    drop_slices(i);
    chosen = ring_at(i, s->start + (int64_t)(tfd_random_draw32(&i->draw) %
                                             (uint64_t)(s->end - s->start)));
    tfd_data_element_move(out, chosen, count);
    if (chosen != ring_at(i, s->start))
        tfd_data_element_move(chosen, ring_at(i, s->start), count);
    s->start++;
    i->used--;
    return TFD_OK;
}

static enum tfd_code shuffled_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct shuffled_iterator *i = (struct shuffled_iterator *)it;

    (void)st;
    i->draw =
        tfd_data_seeds_next(((const struct shuffled *)it->dataset)->seeds);
    return TFD_OK;
}

#define SHUFFLE_KIND(id, name_)                            \
    static const struct tfd_dataset_kind id##_kind = {     \
        .name = name_,                                     \
        .iterator_size = sizeof(struct shuffled_iterator), \
        .same_elements = true,                             \
        .begin = shuffled_begin,                           \
        .next = shuffled_next,                             \
        .end = shuffled_end,                               \
        .cardinality = shuffled_cardinality,               \
        .release = shuffled_release,                       \
    }

SHUFFLE_KIND(shuffle, "Shuffle");
SHUFFLE_KIND(repeat, "ShuffleAndRepeat");

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_buffer_size(int64_t size, struct tfd_status *st)
{
    if (size > 0 || size == TFD_CARDINALITY_UNKNOWN)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "buffer_size must be greater than zero or "
                    "UNKNOWN_CARDINALITY");
}

static enum tfd_code output_seeded(struct tfd_kctx *k,
                                   struct tfd_dataset *take_dataset,
                                   struct tfd_status *st)
{
    struct tfd_data_seeds *seeds = ((struct shuffled *)take_dataset)->seeds;

    if (tfd_dataset_add_seeds(take_dataset, &seeds->resource, st) == TFD_OK)
        return tfd_dataset_output(k, take_dataset, st);
    tfd_dataset_unref(take_dataset);
    return TFD_RESOURCE_EXHAUSTED;
}

/* Takes the seeds. */
static enum tfd_code make_shuffled(struct tfd_kctx *k,
                                   const struct tfd_dataset_kind *kind,
                                   int64_t size, int64_t count,
                                   struct tfd_data_seeds *take_seeds,
                                   struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc =
        tfd_dataset_make(k, kind, sizeof(struct shuffled), 1, &d, st);

    if (rc != TFD_OK) {
        tfd_data_seeds_unref(take_seeds);
        return rc;
    }
    ((struct shuffled *)d)->seeds = take_seeds;
    ((struct shuffled *)d)->size = size;
    ((struct shuffled *)d)->count = count;
    return output_seeded(k, d, st);
}

/* Inputs from 1 on: buffer_size, seed, seed2, then what `count_in` and
 * `seeds_in` say; 0: it has none. */
static enum tfd_code shuffle(struct tfd_kctx *k,
                             const struct tfd_dataset_kind *kind, int count_in,
                             int seeds_in, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    int64_t size, seed, seed2, count = 1;
    struct tfd_data_seeds *seeds;

    TFD_TRY(tfd_dataset_int(k, 1, "buffer_size", &size, st));
    TFD_TRY(check_buffer_size(size, st));
    TFD_TRY(tfd_dataset_int(k, 2, "seed", &seed, st));
    TFD_TRY(tfd_dataset_int(k, 3, "seed2", &seed2, st));
    if (count_in)
        TFD_TRY(tfd_dataset_int(k, count_in, "count", &count, st));
    if (count <= 0 && count != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "count must be greater than zero or equal to -1.");
    TFD_TRY(seeds_in ? tfd_data_seeds_of(k, seeds_in, seed, seed2, !m->flag,
                                         &seeds, st)
                     : tfd_data_seeds_new(seed, seed2, !m->flag, &seeds, st));
    return make_shuffled(k, kind, size, count, seeds, st);
}

static enum tfd_code shuffle1_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return shuffle(k, &shuffle_kind, 0, 0, st);
}

static enum tfd_code shuffle2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_data_seeds *seeds;
    int64_t size;

    TFD_TRY(tfd_dataset_int(k, 1, "buffer_size", &size, st));
    TFD_TRY(check_buffer_size(size, st));
    TFD_TRY(tfd_data_seeds_of(k, 2, 0, 0, false, &seeds, st));
    return make_shuffled(k, &shuffle_kind, size, 1, seeds, st);
}

static enum tfd_code shuffle3_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return shuffle(k, &shuffle_kind, 0, 4, st);
}

static enum tfd_code repeat1_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return shuffle(k, &repeat_kind, 4, 0, st);
}

static enum tfd_code repeat2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return shuffle(k, &repeat_kind, 4, 5, st);
}

static enum tfd_code shuffle_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "reshuffle_each_iteration", &m->flag, st));
    return tfd_dataset_prepare(p, m, NULL, st);
}

/* ---- Random numbers ------------------------------------------------------ */

struct random_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_random_draw draw;
};

static int64_t random_cardinality(const struct tfd_dataset *d)
{
    (void)d;
    return TFD_CARDINALITY_INFINITE;
}

static enum tfd_code random_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    (void)st;
    ((struct random_iterator *)it)->draw =
        tfd_data_seeds_next(((const struct shuffled *)it->dataset)->seeds);
    return TFD_OK;
}

static enum tfd_code random_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    *end = false;
    TFD_TRY(tfd_tensor_new(&out[0], TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&out[0]) =
        tfd_random_draw32(&((struct random_iterator *)it)->draw);
    return TFD_OK;
}

static const struct tfd_dataset_kind random_kind = {
    .name = "Random",
    .iterator_size = sizeof(struct random_iterator),
    .begin = random_begin,
    .next = random_next,
    .cardinality = random_cardinality,
    .release = shuffled_release,
};

static enum tfd_code make_random(struct tfd_kctx *k, bool again,
                                 struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_data_seeds *seeds;
    struct tfd_dataset *d;
    int64_t seed, seed2;

    if (m->count != 1 || m->types[0] != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "random numbers are one int64; asked for are %d "
                        "tensors, the first of %s",
                        m->count, tfd_dtype_name((int)m->types[0]));
    TFD_TRY(tfd_dataset_int(k, 0, "seed", &seed, st));
    TFD_TRY(tfd_dataset_int(k, 1, "seed2", &seed2, st));
    TFD_TRY(k->in_count > 2
                ? tfd_data_seeds_of(k, 2, seed, seed2, !again, &seeds, st)
                : tfd_data_seeds_new(seed, seed2, true, &seeds, st));
    if (tfd_dataset_make(k, &random_kind, sizeof(struct shuffled), 0, &d, st) !=
        TFD_OK) {
        tfd_data_seeds_unref(seeds);
        return TFD_RESOURCE_EXHAUSTED;
    }
    ((struct shuffled *)d)->seeds = seeds;
    return output_seeded(k, d, st);
}

static enum tfd_code random_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_random(k, ((const struct tfd_dataset_maker *)k->state)->flag,
                       st);
}

static enum tfd_code random_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    if (tfd_op_attr_find(p->node->op, TFD_STR("rerandomize_each_iteration")))
        TFD_TRY(
            tfd_node_bool(p->node, "rerandomize_each_iteration", &m->flag, st));
    return tfd_dataset_prepare(p, m, NULL, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHUFFLE "input_dataset: variant, buffer_size: int64"
#define SEEDS ", seed: int64, seed2: int64"
#define AGAIN "reshuffle_each_iteration: bool = true; "
#define GENERATOR ", seed_generator: resource"

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ShuffleDataset", SHUFFLE SEEDS, AGAIN, TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ShuffleDatasetV2", SHUFFLE GENERATOR, "", TFD_DATA_METADATA,
                TFD_OP_STATEFUL),
    TFD_DATA_OP("ShuffleDatasetV3", SHUFFLE SEEDS GENERATOR, AGAIN,
                TFD_DATA_METADATA, TFD_OP_STATEFUL),
    TFD_DATA_OP("ShuffleAndRepeatDataset", SHUFFLE SEEDS ", count: int64", "",
                "; reshuffle_each_iteration: bool = true" TFD_DATA_METADATA, 0),
    TFD_DATA_OP("ShuffleAndRepeatDatasetV2",
                SHUFFLE SEEDS ", count: int64" GENERATOR, AGAIN,
                TFD_DATA_METADATA, TFD_OP_STATEFUL),
    TFD_DATA_OP("RandomDataset", "seed: int64, seed2: int64", "",
                TFD_DATA_METADATA, TFD_OP_STATEFUL),
    TFD_DATA_OP("ExperimentalRandomDataset", "seed: int64, seed2: int64", "",
                "", TFD_OP_STATEFUL),
    TFD_DATA_OP("RandomDatasetV2", "seed: int64, seed2: int64" GENERATOR,
                "rerandomize_each_iteration: bool = false; ", TFD_DATA_METADATA,
                TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("ShuffleDataset", shuffle1_compute, shuffle_prepare),
    TFD_DATA_KERNEL("ShuffleDatasetV2", shuffle2_compute),
    TFD_DATA_KERNEL_F("ShuffleDatasetV3", shuffle3_compute, shuffle_prepare),
    TFD_DATA_KERNEL_F("ShuffleAndRepeatDataset", repeat1_compute,
                      shuffle_prepare),
    TFD_DATA_KERNEL_F("ShuffleAndRepeatDatasetV2", repeat2_compute,
                      shuffle_prepare),
    TFD_DATA_KERNEL_F("RandomDataset", random_compute, random_prepare),
    TFD_DATA_KERNEL_F("ExperimentalRandomDataset", random_compute,
                      random_prepare),
    TFD_DATA_KERNEL_F("RandomDatasetV2", random_compute, random_prepare),
};

TFD_DATA_FAMILY(dataset_shuffle);
