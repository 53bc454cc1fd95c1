/*
 * dataset_limits.c - datasets that yield their input's elements under a
 * condition: without those that fail, so many and no others, after a pause, by
 * so many threads.
 *
 * Threads of its own change nothing of what a pipeline yields; here the task's
 * threads do the work.
 */
#include "kernels/data/data_table.h"

#include <inttypes.h>
#include <stdio.h>

struct limited {
    struct tfd_dataset dataset;
    int64_t value; /* elements, microseconds, threads */
};

struct limited_iterator {
    struct tfd_data_iterator iterator;
    int64_t count; /* elements so far */
};

static int64_t limit_of(const struct tfd_dataset *d)
{
    return ((const struct limited *)d)->value;
}

static int64_t input_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

/* ---- IgnoreErrors -------------------------------------------------------- */

static int64_t unknown_cardinality(const struct tfd_dataset *d)
{
    (void)d;
    return TFD_CARDINALITY_UNKNOWN;
}

static enum tfd_code ignoring_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    for (;;) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (tfd_data_next(it->input, out, end, &own) == TFD_OK)
            return TFD_OK;
        if (own.code == TFD_CANCELLED) {
            tfd_status_copy(st, &own);
            return TFD_CANCELLED;
        }
    }
}

/* ---- AssertCardinality --------------------------------------------------- */

static const char *elements_text(int64_t count, char text[64])
{
    if (count == TFD_CARDINALITY_INFINITE)
        return "an infinite number of elements";
    snprintf(text, 64, "%" PRId64 " element%s", count, count == 1 ? "" : "s");
    return text;
}

static enum tfd_code asserted_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct limited_iterator *i = (struct limited_iterator *)it;
    int64_t wanted = limit_of(it->dataset);
    char want[64], have[64];

    TFD_TRY(tfd_data_next(it->input, out, end, st));
    i->count += !*end;
    if (*end ? i->count == wanted
             : wanted == TFD_CARDINALITY_INFINITE || i->count <= wanted)
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "Input dataset was expected to contain %s but contained %s "
                    "%s.",
                    elements_text(wanted, want), *end ? "only" : "at least",
                    elements_text(i->count, have));
}

static enum tfd_code asserted_at(struct tfd_data_iterator *it, int64_t index,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct limited_iterator *i = (struct limited_iterator *)it;
    char want[64];

    TFD_TRY(tfd_data_at(it->input, index, out, end, st));
    i->count += !*end;
    if (!*end || i->count == limit_of(it->dataset))
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "Input dataset was expected to contain %s.",
                    elements_text(limit_of(it->dataset), want));
}

static int64_t asserted_cardinality(const struct tfd_dataset *d)
{
    return limit_of(d);
}

/* ---- Sleep --------------------------------------------------------------- */

static enum tfd_code sleeping_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    TFD_TRY(tfd_data_scope_pause(it->scope, limit_of(it->dataset), st));
    return tfd_data_next(it->input, out, end, st);
}

/* ---- Threads ------------------------------------------------------------- */

static enum tfd_code threads_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    return tfd_data_next(it->input, out, end, st);
}

/* ---- Making -------------------------------------------------------------- */

#define LIMITED_KIND(id, name_, next_, at_, cardinality_) \
    static const struct tfd_dataset_kind id##_kind = {    \
        .name = name_,                                    \
        .iterator_size = sizeof(struct limited_iterator), \
        .opens_input = true,                              \
        .same_elements = true,                            \
        .next = next_,                                    \
        .at = at_,                                        \
        .cardinality = cardinality_,                      \
    }

LIMITED_KIND(ignoring, "IgnoreErrors", ignoring_next, NULL,
             unknown_cardinality);
LIMITED_KIND(asserted, "AssertCardinality", asserted_next, asserted_at,
             asserted_cardinality);
LIMITED_KIND(sleeping, "Sleep", sleeping_next, NULL, input_cardinality);
LIMITED_KIND(intra, "MaxIntraOpParallelism", threads_next, NULL,
             input_cardinality);
LIMITED_KIND(own_pool, "PrivateThreadPool", threads_next, NULL,
             input_cardinality);

static enum tfd_code make_limited(struct tfd_kctx *k,
                                  const struct tfd_dataset_kind *kind,
                                  int64_t value, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct limited), 1, &d, st));
    ((struct limited *)d)->value = value;
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code ignoring_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_limited(k, &ignoring_kind, 0, st);
}

static enum tfd_code asserted_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t value;

    TFD_TRY(tfd_dataset_int(k, 1, "cardinality", &value, st));
    return make_limited(k, &asserted_kind, value, st);
}

#define NOT_NEGATIVE(id, kind_, input)                       \
    static enum tfd_code id##_compute(struct tfd_kctx *k,    \
                                      struct tfd_status *st) \
    {                                                        \
        int64_t value;                                       \
                                                             \
        TFD_TRY(tfd_dataset_int(k, 1, input, &value, st));   \
        if (value < 0)                                       \
            return tfd_fail(st, TFD_INVALID_ARGUMENT,        \
                            "`" input "` must be >= 0");     \
        return make_limited(k, &kind_, value, st);           \
    }

NOT_NEGATIVE(sleeping, sleeping_kind, "sleep_microseconds")
NOT_NEGATIVE(intra, intra_kind, "max_intra_op_parallelism")
NOT_NEGATIVE(own_pool, own_pool_kind, "num_threads")

/* ---- Tables -------------------------------------------------------------- */

#define ONE(name_, input_) \
    TFD_DATA_OP(name_, "input_dataset: variant" input_, "", "", 0)
#define IGNORING(name_)                              \
    TFD_DATA_OP(name_, "input_dataset: variant", "", \
                "; log_warning: bool = false", 0)
#define ASSERTED ", cardinality: int64"
#define SLEEPING ", sleep_microseconds: int64"
#define INTRA ", max_intra_op_parallelism: int64"
#define OWN_POOL ", num_threads: int64"

static const struct tfd_opdef ops[] = {
    IGNORING("IgnoreErrorsDataset"),
    IGNORING("ExperimentalIgnoreErrorsDataset"),
    ONE("AssertCardinalityDataset", ASSERTED),
    ONE("SleepDataset", SLEEPING),
    ONE("ExperimentalSleepDataset", SLEEPING),
    ONE("MaxIntraOpParallelismDataset", INTRA),
    ONE("ExperimentalMaxIntraOpParallelismDataset", INTRA),
    ONE("PrivateThreadPoolDataset", OWN_POOL),
    ONE("ExperimentalPrivateThreadPoolDataset", OWN_POOL),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("IgnoreErrorsDataset", ignoring_compute),
    TFD_DATA_KERNEL("ExperimentalIgnoreErrorsDataset", ignoring_compute),
    TFD_DATA_KERNEL("AssertCardinalityDataset", asserted_compute),
    TFD_DATA_KERNEL("SleepDataset", sleeping_compute),
    TFD_DATA_KERNEL("ExperimentalSleepDataset", sleeping_compute),
    TFD_DATA_KERNEL("MaxIntraOpParallelismDataset", intra_compute),
    TFD_DATA_KERNEL("ExperimentalMaxIntraOpParallelismDataset", intra_compute),
    TFD_DATA_KERNEL("PrivateThreadPoolDataset", own_pool_compute),
    TFD_DATA_KERNEL("ExperimentalPrivateThreadPoolDataset", own_pool_compute),
};

TFD_DATA_FAMILY(dataset_limits);
