/*
 * dataset_parallel_map.c - a function for several elements at once: map, and a
 * filter whose predicate is asked ahead (call_line.h).
 */
#include "kernels/data_calls/call_line.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct parallel {
    struct tfd_dataset dataset;
    struct tfd_captured f;
    int64_t calls;
    bool preserve_cardinality;
};

struct parallel_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* by number: of the input */
    struct tfd_call_line *line;
    bool is_over;
};

static void parallel_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct parallel *)d)->f);
}

static int64_t parallel_cardinality(const struct tfd_dataset *d)
{
    return ((const struct parallel *)d)->preserve_cardinality
               ? tfd_dataset_cardinality(d->inputs[0])
               : TFD_CARDINALITY_UNKNOWN;
}

/* ---- The iterator -------------------------------------------------------- */

static enum tfd_code begin_line(struct tfd_data_iterator *it, bool keeps,
                                struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    const struct parallel *d = (const struct parallel *)it->dataset;

    i->element = tfd_data_element_new(it->dataset->inputs[0]->count, st);
    if (!i->element)
        return TFD_RESOURCE_EXHAUSTED;
    return tfd_call_line_new(it, &d->f, d->calls, keeps, &i->line, st);
}

static enum tfd_code parallel_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    return begin_line(it, false, st);
}

static void parallel_end(struct tfd_data_iterator *it)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;

    tfd_call_line_close(i->line);
    free(i->element);
}

static enum tfd_code call_failed(const struct parallel_iterator *i,
                                 struct tfd_status *own, bool *end,
                                 struct tfd_status *st)
{
    const struct parallel *d = (const struct parallel *)i->iterator.dataset;

    *end = own->code == TFD_OUT_OF_RANGE && !d->preserve_cardinality;
    if (*end)
        return TFD_OK;
    tfd_data_failed(&i->iterator, own);
    if (own->code != TFD_OUT_OF_RANGE) {
        tfd_status_copy(st, own);
        return own->code;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Function invocation produced OutOfRangeError: %s",
                    own->text);
}

static enum tfd_code parallel_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    struct tfd_status own = TFD_STATUS_INIT;
    enum tfd_call_outcome outcome;
    enum tfd_code rc = TFD_OK;

    *end = i->is_over;
    if (i->is_over)
        return TFD_OK;
    if (tfd_call_line_next(i->line, out, NULL, &outcome, &own) != TFD_OK) {
        rc = own.code;
        if (outcome == TFD_CALL_RESULT)
            rc = call_failed(i, &own, end, st);
        else
            tfd_status_copy(st, &own);
    }
    i->is_over = *end = *end || outcome == TFD_CALL_END;
    return rc;
}

/* One call at a time. */
static enum tfd_code parallel_at(struct tfd_data_iterator *it, int64_t index,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    const struct parallel *d = (const struct parallel *)it->dataset;
    struct tfd_status own = TFD_STATUS_INIT;

    TFD_TRY(tfd_data_at(it->input, index, i->element, end, st));
    if (*end ||
        tfd_captured_call(&d->f, it->scope, i->element, out, &own) == TFD_OK)
        return TFD_OK;
    return call_failed(i, &own, end, st);
}

#define PARALLEL_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {     \
        .name = name_,                                     \
        .iterator_size = sizeof(struct parallel_iterator), \
        .opens_input = true,                               \
        .begin = parallel_begin,                           \
        .next = parallel_next,                             \
        .at = parallel_at,                                 \
        .end = parallel_end,                               \
        .cardinality = parallel_cardinality,               \
        .release = parallel_release,                       \
    }

PARALLEL_KIND(first, "ParallelMapV1");
PARALLEL_KIND(second, "ParallelMapV2");

/* ---- Filter -------------------------------------------------------------- */

static enum tfd_code filter_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    return begin_line(it, true, st);
}

static enum tfd_code read_answer(const struct tfd_tensor *answer, bool *yes,
                                 struct tfd_status *st)
{
    if (answer->dtype != TFD_BOOL || tfd_tensor_elements(answer) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Filter predicate `f` must return a scalar bool.");
    *yes = *(const tfd_bool *)tfd_tensor_data(answer) != 0;
    return TFD_OK;
}

/* The next element, and whether it stays. */
static enum tfd_code take_asked(struct parallel_iterator *i,
                                struct tfd_tensor *out, bool *yes,
                                struct tfd_status *st)
{
    struct tfd_tensor answer = TFD_TENSOR_INIT;
    struct tfd_status own = TFD_STATUS_INIT;
    enum tfd_call_outcome outcome;
    enum tfd_code rc =
        tfd_call_line_next(i->line, &answer, out, &outcome, &own);

    if (rc != TFD_OK) {
        if (outcome == TFD_CALL_RESULT)
            tfd_data_failed(&i->iterator, &own);
        tfd_status_copy(st, &own);
        return rc;
    }
    i->is_over = outcome == TFD_CALL_END;
    if (!i->is_over)
        rc = read_answer(&answer, yes, st);
    tfd_tensor_unref(&answer);
    return rc;
}

static enum tfd_code filter_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    bool yes = false;

    while (!i->is_over && !yes) {
        tfd_data_element_drop(out, it->dataset->count);
        TFD_TRY(tfd_data_scope_check(it->scope, st));
        TFD_TRY(take_asked(i, out, &yes, st));
    }
    *end = i->is_over;
    return TFD_OK;
}

static const struct tfd_dataset_kind filter_kind = {
    .name = "ParallelFilter",
    .iterator_size = sizeof(struct parallel_iterator),
    .opens_input = true,
    .same_elements = true,
    .begin = filter_begin,
    .next = filter_next,
    .end = parallel_end,
    .release = parallel_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code make_parallel(struct tfd_kctx *k,
                                   const struct tfd_dataset_kind *kind,
                                   int64_t calls, int32_t results,
                                   struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_dataset *d;
    struct parallel *x;
    enum tfd_code rc;

    if (calls < 1 && calls != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_parallel_calls must be greater than zero.");
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*x), 1, &d, st));
    x = (struct parallel *)d;
    x->calls = calls;
    x->preserve_cardinality = m->flag;
    rc = tfd_captured_init(&x->f, k, m->function, 1, k->in_count - 2,
                           d->inputs[0]->count, d, st);
    if (rc == TFD_OK)
        rc = tfd_captured_returns(&x->f, results, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code first_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(tfd_check_int(k, k->in_count - 1, &calls, st));
    return make_parallel(k, &first_kind, calls,
                         ((const struct tfd_dataset_maker *)k->state)->count,
                         st);
}

static enum tfd_code second_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(
        tfd_dataset_int(k, k->in_count - 1, "num_parallel_calls", &calls, st));
    return make_parallel(k, &second_kind, calls,
                         ((const struct tfd_dataset_maker *)k->state)->count,
                         st);
}

static enum tfd_code filter_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(
        tfd_dataset_int(k, k->in_count - 1, "num_parallel_calls", &calls, st));
    return make_parallel(k, &filter_kind, calls, 1, st);
}

static enum tfd_code filter_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_dataset_prepare(p, state, "predicate", st);
}

static enum tfd_code parallel_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "preserve_cardinality", &m->flag, st));
    return tfd_dataset_prepare(p, m, "f", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS "input_dataset: variant, other_arguments: Targuments, "
#define FUNCTION "f: func; Targuments: list(type) >= 0; "

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ParallelMapDataset", INPUTS "num_parallel_calls: int32",
                FUNCTION,
                "; use_inter_op_parallelism: bool = true; "
                "sloppy: bool = false; "
                "preserve_cardinality: bool = false" TFD_DATA_METADATA,
                0),
    TFD_DATA_OP("ParallelMapDatasetV2", INPUTS "num_parallel_calls: int64",
                FUNCTION,
                "; use_inter_op_parallelism: bool = true; "
                "deterministic: string = 'default'; "
                "preserve_cardinality: bool = false; "
                "use_unbounded_threadpool: bool = false" TFD_DATA_METADATA,
                0),
    TFD_DATA_OP("ParallelFilterDataset", INPUTS "num_parallel_calls: int64",
                "predicate: func; deterministic: string = 'default'; "
                "Targuments: list(type) >= 0; ",
                TFD_DATA_METADATA, 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("ParallelMapDataset", first_compute, parallel_prepare),
    TFD_DATA_KERNEL_F("ParallelMapDatasetV2", second_compute, parallel_prepare),
    TFD_DATA_KERNEL_F("ParallelFilterDataset", filter_compute, filter_prepare),
};

TFD_DATA_FAMILY(dataset_parallel_map);
