/*
 * dataset_global_shuffle.c - GlobalShuffleDataset: all elements of its input in
 * random order, without a buffer: each is asked for by its number.
 */
#include "kernels/data/data_seeds.h"
#include "kernels/data/data_table.h"
#include "kernels/random/index_shuffle.h"

#define ROUNDS 8

struct global {
    struct tfd_dataset dataset;
    struct tfd_data_seeds *seeds;
};

struct global_iterator {
    struct tfd_data_iterator iterator;
    uint32_t key[3];
    int64_t given;
};

static void global_release(struct tfd_dataset *d)
{
    tfd_data_seeds_unref(((struct global *)d)->seeds);
}

static int64_t global_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

/* Of two pairs of seeds the last is not used. */
static enum tfd_code global_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct global_iterator *i = (struct global_iterator *)it;
    struct tfd_data_seeds *s = ((const struct global *)it->dataset)->seeds;
    uint64_t a[2], b[2];

    tfd_data_seeds_pair(s, a);
    tfd_data_seeds_pair(s, b);
    i->key[0] = (uint32_t)a[0];
    i->key[1] = (uint32_t)a[1];
    i->key[2] = (uint32_t)b[0];
    return tfd_data_open_by_number(it, 0, &it->input, st);
}

/* Beyond the last element the input says that there is none. */
static enum tfd_code global_at(struct tfd_data_iterator *it, int64_t index,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    const struct global_iterator *i = (const struct global_iterator *)it;
    int64_t count = global_cardinality(it->dataset);

    if (index < 0 || index >= count)
        index = TFD_DATA_BEYOND;
    else
        index = (int64_t)tfd_index_shuffle((uint64_t)index, i->key,
                                           (uint64_t)count - 1, ROUNDS);
    return tfd_data_at(it->input, index, out, end, st);
}

static enum tfd_code global_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct global_iterator *i = (struct global_iterator *)it;
    int64_t index = i->given;

    i->given += index < global_cardinality(it->dataset);
    return global_at(it, index, out, end, st);
}

static const struct tfd_dataset_kind global_kind = {
    .name = "GlobalShuffle",
    .iterator_size = sizeof(struct global_iterator),
    .same_elements = true,
    .begin = global_begin,
    .next = global_next,
    .at = global_at,
    .cardinality = global_cardinality,
    .release = global_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_has_numbers(const struct tfd_dataset *d,
                                       struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    int64_t count = tfd_dataset_cardinality(d);

    if (tfd_dataset_check_by_number(d, &why) != TFD_OK)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "`global_shuffle` requires all upstream "
                        "transformations be compatible with random access. "
                        "Got: %s: %s",
                        tfd_code_name(why.code), why.text);
    if (count > 0)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "`global_shuffle` requires the input dataset to have a "
        "non-empty finite cardinality. Got cardinality %lld for "
        "dataset " TFD_STR_FMT "Op::Dataset",
        (long long)count,
        TFD_STR_ARG(d->recipe ? d->recipe->op : TFD_STR("Dataset")));
}

static enum tfd_code global_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_data_seeds *seeds;
    struct tfd_dataset *d;
    int64_t seed, seed2;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(check_has_numbers(d, st));
    TFD_TRY(tfd_dataset_int(k, 1, "seed", &seed, st));
    TFD_TRY(tfd_dataset_int(k, 2, "seed2", &seed2, st));
    TFD_TRY(tfd_data_seeds_of(k, 3, seed, seed2, !m->flag, &seeds, st));
    rc = tfd_dataset_make(k, &global_kind, sizeof(struct global), 1, &d, st);
    if (rc != TFD_OK) {
        tfd_data_seeds_unref(seeds);
        return rc;
    }
    ((struct global *)d)->seeds = seeds;
    if (tfd_dataset_add_seeds(d, &seeds->resource, st) == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return TFD_RESOURCE_EXHAUSTED;
}

static enum tfd_code global_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "reshuffle_each_iteration", &m->flag, st));
    return tfd_dataset_prepare(p, m, NULL, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("GlobalShuffleDataset",
                "input_dataset: variant, seed: int64, seed2: int64, "
                "seed_generator: resource",
                "reshuffle_each_iteration: bool = true; ", TFD_DATA_METADATA,
                TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("GlobalShuffleDataset", global_compute, global_prepare),
};

TFD_DATA_FAMILY(dataset_global_shuffle);
