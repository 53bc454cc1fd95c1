/*
 * dataset_branch.c - ChooseFastestBranchDataset: several functions that make a
 * dataset of the input each; some elements of each are taken in turn, and the
 * rest of the one that was quickest.
 *
 *     input <-- source <-- [branch input, so many elements] <-- branch 0
 *                     <-- [branch input, so many elements] <-- branch 1
 *                     <-- [branch input]                   <-- the quickest
 *
 * All branches read from the one iterator of the input, which the source holds:
 * a branch may read ahead on a thread of its own, and go on for a moment when
 * the iterator is through with it.
 *
 * Threads: the source, any; elements are read by one thread at a time.
 */
#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "config/limits.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

#define BRANCHES_MAX 1024

/* ---- The source ---------------------------------------------------------- */

struct source {
    int refs; /* atomic */
    struct tfd_data_scope *scope;
    struct tfd_data_iterator *input;
    bool busy; /* the scope's lock's: someone reads */
};

static void source_unref(struct source *s)
{
    if (!s || !tfd_refs_drop(&s->refs))
        return;
    tfd_data_close(s->input);
    tfd_data_scope_unref(s->scope);
    free(s);
}

/* False: the scope is cancelled. */
static bool source_take(struct source *s)
{
    bool taken;

    tfd_lock(&s->scope->lock);
    while (s->busy && !s->scope->cancelled)
        tfd_cond_wait(&s->scope->changed, &s->scope->lock);
    taken = !s->busy && !s->scope->cancelled;
    s->busy = s->busy || taken;
    tfd_unlock(&s->scope->lock);
    return taken;
}

static void source_give_back(struct source *s)
{
    tfd_lock(&s->scope->lock);
    s->busy = false;
    tfd_cond_broadcast(&s->scope->changed);
    tfd_unlock(&s->scope->lock);
}

/* ---- What a branch is given ---------------------------------------------- */

struct branch_input {
    struct tfd_dataset dataset;
    struct source *source;
    int64_t limit; /* elements; -1: all */
    int opened;    /* atomic */
};

struct branch_input_iterator {
    struct tfd_data_iterator iterator;
    int64_t taken;
    bool is_over;
};

static void branch_input_release(struct tfd_dataset *d)
{
    source_unref(((struct branch_input *)d)->source);
}

static enum tfd_code branch_input_begin(struct tfd_data_iterator *it,
                                        struct tfd_status *st)
{
    struct branch_input *b = (struct branch_input *)it->dataset;

    if (TFD_COUNTER_TAKE(&b->opened, 1) == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot create more than one WrapperIterator per "
                    "WrapperDataset. Make sure the branches to "
                    "ChooseFastestDataset do not expect the input to repeat.");
}

static enum tfd_code branch_input_next(struct tfd_data_iterator *it,
                                       struct tfd_tensor *out, bool *end,
                                       struct tfd_status *st)
{
    struct branch_input_iterator *i = (struct branch_input_iterator *)it;
    const struct branch_input *b = (const struct branch_input *)it->dataset;
    enum tfd_code rc;

    *end = i->is_over || i->taken == b->limit;
    if (*end)
        return TFD_OK;
    if (!source_take(b->source))
        return tfd_fail(st, TFD_CANCELLED, "Operation was cancelled");
    rc = tfd_data_next(b->source->input, out, end, st);
    source_give_back(b->source);
    i->taken += rc == TFD_OK;
    i->is_over = rc == TFD_OK && *end;
    return rc;
}

static const struct tfd_dataset_kind branch_input_kind = {
    .name = "Wrapper",
    .iterator_size = sizeof(struct branch_input_iterator),
    .begin = branch_input_begin,
    .next = branch_input_next,
    .release = branch_input_release,
};

/* ---- The dataset --------------------------------------------------------- */

struct branches {
    struct tfd_dataset dataset;
    struct tfd_captured *f;
    int count;
    int64_t tried; /* elements of each branch, before one is chosen */
    int64_t numerator, denominator; /* elements for one of the input's */
};

struct branches_iterator {
    struct tfd_data_iterator iterator;
    struct source *source;
    struct tfd_data_iterator *current;
    uint64_t *times; /* that the branches took */
    int branch;      /* that is tried, or `count` */
    int64_t tries;
    bool is_over;
};

static void branches_release(struct tfd_dataset *d)
{
    struct branches *b = (struct branches *)d;

    for (int i = 0; b->f && i < b->count; i++)
        tfd_captured_deinit(&b->f[i]);
    free(b->f);
}

static int64_t branches_cardinality(const struct tfd_dataset *d)
{
    const struct branches *b = (const struct branches *)d;
    int64_t n = tfd_dataset_cardinality(d->inputs[0]);
    double scaled = (double)n * (double)b->numerator / (double)b->denominator;

    if (n < 0)
        return n;
    return scaled < (double)INT64_MAX ? (int64_t)scaled : INT64_MAX;
}

static enum tfd_code branches_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct branches_iterator *i = (struct branches_iterator *)it;
    int count = ((const struct branches *)it->dataset)->count;

    i->times = calloc((size_t)count, sizeof(*i->times));
    i->source = calloc(1, sizeof(*i->source));
    if (!i->times || !i->source)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    i->source->refs = 1;
    i->source->scope = tfd_data_scope_ref(it->scope);
    return tfd_data_open_input(it, 0, &i->source->input, st);
}

static void branches_end(struct tfd_data_iterator *it)
{
    struct branches_iterator *i = (struct branches_iterator *)it;

    tfd_data_close(i->current);
    source_unref(i->source);
    free(i->times);
}

/* ---- Branches ------------------------------------------------------------ */

static enum tfd_code make_branch_input(const struct branches_iterator *i,
                                       int64_t limit, struct tfd_tensor *out,
                                       struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct branch_input *b;

    TFD_TRY(tfd_dataset_make_like(i->iterator.dataset->inputs[0],
                                  &branch_input_kind, sizeof(*b), &d, st));
    b = (struct branch_input *)d;
    tfd_refs_add(&i->source->refs, 1);
    b->source = i->source;
    b->limit = limit;
    return tfd_variant_object_tensor(&d->object, out, st);
}

static enum tfd_code open_made(struct branches_iterator *i, int branch,
                               const struct tfd_tensor *made,
                               struct tfd_status *st)
{
    int32_t count = i->iterator.dataset->count;
    struct tfd_dataset *d;

    if (tfd_dataset_of(made, &d, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Function must return a single scalar of dtype "
                        "DT_VARIANT.");
    if (d->count != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of components does not match: expected %d "
                        "types but got %d.",
                        count, d->count);
    return tfd_data_open_within(&i->iterator, d, branch, &i->current, st);
}

static enum tfd_code open_branch(struct branches_iterator *i, int branch,
                                 int64_t limit, struct tfd_status *st)
{
    const struct branches *b = (const struct branches *)i->iterator.dataset;
    struct tfd_tensor input = TFD_TENSOR_INIT, made = TFD_TENSOR_INIT;
    enum tfd_code rc = make_branch_input(i, limit, &input, st);

    if (rc == TFD_OK)
        rc = tfd_captured_call(&b->f[branch], i->iterator.scope, &input, &made,
                               st);
    if (rc == TFD_OK)
        rc = open_made(i, branch, &made, st);
    tfd_tensor_unref(&made);
    tfd_tensor_unref(&input);
    return rc;
}

/* The first element of a branch takes longer for reasons of its own. */
static enum tfd_code try_branch(struct branches_iterator *i,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    const struct branches *b = (const struct branches *)i->iterator.dataset;
    uint64_t start = tfd_clock_now_ns();
    enum tfd_code rc = tfd_data_next(i->current, out, end, st);

    if (i->tries++ > 0)
        i->times[i->branch] += tfd_clock_now_ns() - start;
    if (i->tries < b->tried)
        return rc;
    i->tries = 0;
    i->branch++;
    tfd_data_close(i->current);
    i->current = NULL;
    return rc;
}

static int quickest_branch(const struct branches_iterator *i)
{
    int best = 0;

    for (int n = 1; n < i->branch; n++)
        if (i->times[n] <= i->times[best])
            best = n;
    return best;
}

static enum tfd_code branches_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct branches_iterator *i = (struct branches_iterator *)it;
    const struct branches *b = (const struct branches *)it->dataset;
    bool is_try = i->branch < b->count;
    enum tfd_code rc;

    *end = i->is_over;
    if (i->is_over)
        return TFD_OK;
    if (!i->current)
        TFD_TRY(open_branch(
            i, is_try ? i->branch : quickest_branch(i),
            is_try ? b->tried / b->denominator * b->numerator : -1, st));
    rc = is_try ? try_branch(i, out, end, st)
                : tfd_data_next(i->current, out, end, st);
    i->is_over = rc == TFD_OK && *end;
    return rc;
}

static const struct tfd_dataset_kind branches_kind = {
    .name = "ChooseFastestBranch",
    .iterator_size = sizeof(struct branches_iterator),
    .begin = branches_begin,
    .next = branches_next,
    .end = branches_end,
    .cardinality = branches_cardinality,
    .release = branches_release,
};

/* ---- Preparing ----------------------------------------------------------- */

struct branches_maker {
    struct tfd_dataset_maker maker; /* first */
    struct tfd_rt_function **functions;
    int64_t *lengths; /* of what each has captured */
    int32_t count;
    int64_t tried;
};

static void branches_maker_release(void *state)
{
    struct branches_maker *m = state;

    free(m->functions);
    free(m->lengths);
    tfd_dataset_maker_release(&m->maker);
}

static enum tfd_code keep_functions(const struct tfd_prepare *p,
                                    struct branches_maker *m,
                                    const struct tfd_func *f,
                                    struct tfd_status *st)
{
    if (m->count > BRANCHES_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a dataset of %d branches; at most %d are possible",
                        m->count, BRANCHES_MAX);
    m->functions =
        calloc((size_t)m->count + 1, sizeof(struct tfd_rt_function *));
    if (!m->functions)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
    for (int32_t i = 0; i < m->count; i++)
        TFD_TRY(tfd_rt_lasting_function(p, &f[i], &m->functions[i], st));
    return TFD_OK;
}

static enum tfd_code read_functions(const struct tfd_prepare *p,
                                    struct branches_maker *m,
                                    struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func *f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_funcs(p->node, "branches", &arena, &f, &m->count, st);
    if (rc == TFD_OK)
        rc = keep_functions(p, m, f, st);
    tfd_arena_deinit(&arena);
    return rc;
}

static enum tfd_code branches_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct branches_maker *m = state;
    int lengths;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, NULL, st));
    TFD_TRY(read_functions(p, m, st));
    m->lengths = calloc(BRANCHES_MAX, sizeof(*m->lengths));
    if (!m->lengths)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
    TFD_TRY(tfd_node_ints(p->node, "other_arguments_lengths", m->lengths,
                          BRANCHES_MAX, &lengths, st));
    TFD_TRY(tfd_node_int(p->node, "num_elements_per_branch", &m->tried, st));
    if (lengths == m->count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "branches and other_arguments_lengths must have the same "
                    "length.");
}

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_ratio(struct tfd_kctx *k, struct branches *b,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_dataset_int(k, 1, "ratio_numerator", &b->numerator, st));
    TFD_TRY(tfd_dataset_int(k, 2, "ratio_denominator", &b->denominator, st));
    if (b->numerator <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`ratio_numerator` must be greater than zero.");
    if (b->denominator <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`ratio_denominator` must be greater than zero.");
    if (b->tried % b->denominator != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`num_elements_per_branch` must be divisible by "
                        "`ratio_denominator`.");
    if (b->tried / b->denominator <= INT64_MAX / b->numerator)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%lld elements for each branch at %lld to %lld are too "
                    "many",
                    (long long)b->tried, (long long)b->numerator,
                    (long long)b->denominator);
}

static enum tfd_code take_functions(struct tfd_kctx *k, struct branches *b,
                                    struct tfd_status *st)
{
    const struct branches_maker *m = k->state;
    int32_t first = 3;

    b->f = calloc((size_t)m->count + 1, sizeof(*b->f));
    if (!b->f)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    b->count = m->count;
    for (int i = 0; i < m->count; i++) {
        int64_t length = m->lengths[i];

        if (length < 0 || length > k->in_count - first)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "branch %d has captured %lld values, and %d are "
                            "left of other_arguments",
                            i, (long long)length, k->in_count - first);
        TFD_TRY(tfd_captured_init(&b->f[i], k, m->functions[i], first,
                                  (int32_t)length, 1, &b->dataset, st));
        if (b->f[i].out_count != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Function must return a single scalar of dtype "
                            "DT_VARIANT.");
        first += (int32_t)length;
    }
    return TFD_OK;
}

static enum tfd_code branches_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct branches_maker *m = k->state;
    struct branches sizes = {.tried = m->tried}, *b;
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(read_ratio(k, &sizes, st));
    TFD_TRY(tfd_dataset_make(k, &branches_kind, sizeof(*b), 1, &d, st));
    b = (struct branches *)d;
    sizes.dataset = *d;
    *b = sizes;
    rc = take_functions(k, b, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ChooseFastestBranchDataset",
                "input_dataset: variant, ratio_numerator: int64, "
                "ratio_denominator: int64, other_arguments: Targuments",
                "Targuments: list(type) >= 0; "
                "num_elements_per_branch: int >= 1; "
                "branches: list(func) >= 1; "
                "other_arguments_lengths: list(int) >= 1; ",
                "", 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ChooseFastestBranchDataset", branches_compute,
                   .prepare = branches_prepare,
                   .release = branches_maker_release,
                   .state_size = sizeof(struct branches_maker)),
};

TFD_DATA_FAMILY(dataset_branch);
