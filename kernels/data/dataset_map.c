/*
 * dataset_map.c - datasets that call a function for each element, one after the
 * other: map, filter, take_while.
 */
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct mapped {
    struct tfd_dataset dataset;
    struct tfd_captured f;
    bool preserve_cardinality;
};

struct mapped_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of the input */
    bool is_over;
};

static void mapped_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct mapped *)d)->f);
}

static enum tfd_code mapped_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    struct mapped_iterator *i = (struct mapped_iterator *)it;

    i->element = tfd_data_element_new(it->dataset->inputs[0]->count, st);
    return i->element ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

static void mapped_end(struct tfd_data_iterator *it)
{
    struct mapped_iterator *i = (struct mapped_iterator *)it;

    tfd_data_element_drop(i->element, it->dataset->inputs[0]->count);
    free(i->element);
}

/* ---- Map ----------------------------------------------------------------- */

static int64_t map_cardinality(const struct tfd_dataset *d)
{
    return ((const struct mapped *)d)->preserve_cardinality
               ? tfd_dataset_cardinality(d->inputs[0])
               : TFD_CARDINALITY_UNKNOWN;
}

/* OUT_OF_RANGE out of the function ends the dataset, where its length may
 * change. */
static enum tfd_code map_failed(const struct mapped *m, bool *end,
                                const struct tfd_status *own,
                                struct tfd_status *st)
{
    if (own->code != TFD_OUT_OF_RANGE) {
        tfd_status_copy(st, own);
        return own->code;
    }
    *end = !m->preserve_cardinality;
    if (*end)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Function invocation produced OutOfRangeError: %s",
                    own->text);
}

static enum tfd_code call_mapped(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct mapped_iterator *i = (struct mapped_iterator *)it;
    const struct mapped *m = (const struct mapped *)it->dataset;
    struct tfd_status own = TFD_STATUS_INIT;

    if (*end ||
        tfd_captured_call(&m->f, it->scope, i->element, out, &own) == TFD_OK)
        return TFD_OK;
    tfd_data_failed(it, &own);
    return map_failed(m, end, &own, st);
}

static enum tfd_code map_next(struct tfd_data_iterator *it,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    TFD_TRY(tfd_data_next(it->input, ((struct mapped_iterator *)it)->element,
                          end, st));
    return call_mapped(it, out, end, st);
}

static enum tfd_code map_at(struct tfd_data_iterator *it, int64_t index,
                            struct tfd_tensor *out, bool *end,
                            struct tfd_status *st)
{
    TFD_TRY(tfd_data_at(it->input, index,
                        ((struct mapped_iterator *)it)->element, end, st));
    return call_mapped(it, out, end, st);
}

static const struct tfd_dataset_kind map_kind = {
    .name = "Map",
    .iterator_size = sizeof(struct mapped_iterator),
    .opens_input = true,
    .begin = mapped_begin,
    .next = map_next,
    .at = map_at,
    .end = mapped_end,
    .cardinality = map_cardinality,
    .release = mapped_release,
};

/* ---- Filter and take_while ----------------------------------------------- */

/* Whether the function says true of the element in out, which stays there. */
static enum tfd_code ask_predicate(struct mapped_iterator *i,
                                   const struct tfd_tensor *out, bool *yes,
                                   bool names_stage, const char *refusal,
                                   struct tfd_status *st)
{
    const struct mapped *m = (const struct mapped *)i->iterator.dataset;
    struct tfd_tensor answer = TFD_TENSOR_INIT;
    enum tfd_code rc;

    for (int32_t c = 0; c < m->dataset.count; c++)
        i->element[c] = tfd_tensor_ref(&out[c]);
    rc = tfd_captured_call(&m->f, i->iterator.scope, i->element, &answer, st);
    if (rc != TFD_OK && names_stage)
        tfd_data_failed(&i->iterator, st);
    if (rc == TFD_OK &&
        (answer.dtype != TFD_BOOL || tfd_tensor_elements(&answer) != 1))
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", refusal);
    if (rc == TFD_OK)
        *yes = *(const tfd_bool *)tfd_tensor_data(&answer) != 0;
    tfd_tensor_unref(&answer);
    return rc;
}

static enum tfd_code filter_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct mapped_iterator *i = (struct mapped_iterator *)it;
    bool yes = false;

    *end = i->is_over;
    while (!*end && !yes) {
        tfd_data_element_drop(out, it->dataset->count);
        TFD_TRY(tfd_data_next(it->input, out, end, st));
        if (!*end)
            TFD_TRY(ask_predicate(
                i, out, &yes, true,
                "Filter predicate `f` must return a scalar bool.", st));
    }
    i->is_over = *end;
    return TFD_OK;
}

static enum tfd_code take_while_next(struct tfd_data_iterator *it,
                                     struct tfd_tensor *out, bool *end,
                                     struct tfd_status *st)
{
    struct mapped_iterator *i = (struct mapped_iterator *)it;
    bool yes = false;

    if (!i->is_over)
        TFD_TRY(tfd_data_next(it->input, out, &i->is_over, st));
    if (!i->is_over) {
        TFD_TRY(ask_predicate(i, out, &yes, false,
                              "`predicate` must returns a scalar bool tensor.",
                              st));
        i->is_over = !yes;
    }
    *end = i->is_over;
    return TFD_OK;
}

#define CHOOSING_KIND(id, name_)                         \
    static const struct tfd_dataset_kind id##_kind = {   \
        .name = name_,                                   \
        .iterator_size = sizeof(struct mapped_iterator), \
        .opens_input = true,                             \
        .same_elements = true,                           \
        .begin = mapped_begin,                           \
        .next = id##_next,                               \
        .end = mapped_end,                               \
        .release = mapped_release,                       \
    }

CHOOSING_KIND(filter, "Filter");
CHOOSING_KIND(take_while, "TakeWhile");

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code make_mapped(struct tfd_kctx *k,
                                 const struct tfd_dataset_kind *kind,
                                 int32_t captured, int32_t results,
                                 struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_dataset *d;
    struct mapped *x;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*x), 1, &d, st));
    x = (struct mapped *)d;
    x->preserve_cardinality = m->flag;
    rc = tfd_captured_init(&x->f, k, m->function, 1, captured,
                           d->inputs[0]->count, d, st);
    if (rc == TFD_OK)
        rc = tfd_captured_returns(&x->f, results, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code map_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;

    return make_mapped(k, &map_kind, k->in_count - 1, m->count, st);
}

static enum tfd_code filter_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_mapped(k, &filter_kind, k->in_count - 1, 1, st);
}

static enum tfd_code take_while_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    return make_mapped(k, &take_while_kind, k->in_count - 1, 1, st);
}

static enum tfd_code map_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "preserve_cardinality", &m->flag, st));
    return tfd_dataset_prepare(p, m, "f", st);
}

static enum tfd_code predicate_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    return tfd_dataset_prepare(p, state, "predicate", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS "input_dataset: variant, other_arguments: Targuments"
#define CHOOSING(name_)                                           \
    TFD_DATA_OP(name_, INPUTS,                                    \
                "predicate: func; Targuments: list(type) >= 0; ", \
                TFD_DATA_METADATA, 0)

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("MapDataset", INPUTS, "f: func; Targuments: list(type) >= 0; ",
                "; use_inter_op_parallelism: bool = true; "
                "preserve_cardinality: bool = false; "
                "force_synchronous: bool = false" TFD_DATA_METADATA,
                0),
    CHOOSING("FilterDataset"),
    CHOOSING("TakeWhileDataset"),
    TFD_DATA_OP("ExperimentalTakeWhileDataset", INPUTS,
                "predicate: func; Targuments: list(type) >= 0; ", "", 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("MapDataset", map_compute, map_prepare),
    TFD_DATA_KERNEL_F("FilterDataset", filter_compute, predicate_prepare),
    TFD_DATA_KERNEL_F("TakeWhileDataset", take_while_compute,
                      predicate_prepare),
    TFD_DATA_KERNEL_F("ExperimentalTakeWhileDataset", take_while_compute,
                      predicate_prepare),
};

TFD_DATA_FAMILY(dataset_map);
