/*
 * table_dataset.c - InitializeTableFromDataset: a static table is filled from a
 * dataset's elements, pairs of a key and a value.
 *
 * The table is locked for one element at a time, as the next one may come out
 * of a function that looks at the table.
 */
#include "common/base/atomic.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/whole.h"
#include "kernels/tables/lookup_table.h"

#include <stdlib.h>

static enum tfd_code check_type(const char *what, enum tfd_dtype wanted,
                                enum tfd_dtype have, struct tfd_status *st)
{
    if (wanted == have)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s dtype expected: %s but obtained: %s from the dataset",
                    what, tfd_dtype_name((int)wanted),
                    tfd_dtype_name((int)have));
}

static enum tfd_code check_elements(const struct tfd_dataset *d,
                                    const struct tfd_table *t,
                                    struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (d->count != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dataset should have two output types only");
    TFD_TRY(check_type("Key", t->spec.key_dtype, d->types[0], st));
    TFD_TRY(check_type("Value", t->spec.value_dtype, d->types[1], st));
    for (int i = 0; i < 2; i++)
        if (d->shapes[i].rank > 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected scalar for key. Obtained: %s",
                            tfd_shape_text(&d->shapes[i], text));
    return TFD_OK;
}

/* All keys of an element, which may have several where its shape is unknown. */
static enum tfd_code put_element(struct tfd_table *t,
                                 const struct tfd_tensor *e,
                                 struct tfd_status *st)
{
    int64_t keys = tfd_tensor_elements(&e[0]);

    if (tfd_tensor_elements(&e[1]) < keys)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an element has %lld keys and %lld values",
                        (long long)keys, (long long)tfd_tensor_elements(&e[1]));
    for (int64_t i = 0; i < keys; i++)
        TFD_TRY(tfd_table_put_once(
            t, tfd_table_key_at(&e[0], i),
            tfd_element_of(tfd_tensor_data(&e[1]), t->spec.value_dtype, i),
            st));
    return TFD_OK;
}

/* *over: the table is ready, or was filled by someone else.  What came before
 * a failure stays, and waits for the next try. */
static enum tfd_code take_element(struct tfd_whole *w, struct tfd_table *t,
                                  struct tfd_tensor *e, bool is_first,
                                  bool *over, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    bool end;

    TFD_TRY(tfd_data_next(w->it, e, &end, st));
    if (end && is_first)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "end of iterator");
    tfd_lock(&t->lock);
    *over = end || tfd_table_ready(t);
    if (!*over)
        rc = put_element(t, e, st);
    else if (end)
        TFD_STORE_RELEASE(&t->initialized, 1);
    tfd_unlock(&t->lock);
    return rc;
}

static enum tfd_code fill_table(struct tfd_whole *w, struct tfd_table *t,
                                struct tfd_status *st)
{
    struct tfd_tensor e[2] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT};
    enum tfd_code rc = TFD_OK;
    bool over = false;

    for (bool is_first = true; rc == TFD_OK && !over; is_first = false) {
        rc = take_element(w, t, e, is_first, &over, st);
        tfd_data_element_drop(e, 2);
    }
    return rc;
}

static enum tfd_code fill_found(struct tfd_whole *w, struct tfd_table *t,
                                struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_table_check_static(w->k, t, st));
    TFD_TRY(tfd_dataset_of(&w->k->in[1], &d, st));
    TFD_TRY(check_elements(d, t, st));
    TFD_TRY(tfd_data_open(d, w->scope, "LookupTable::Root", 0, &w->it, st));
    return fill_table(w, t, st);
}

static enum tfd_code fill_run(struct tfd_whole *w, struct tfd_status *st)
{
    struct tfd_table *t;
    enum tfd_code rc;

    TFD_TRY(tfd_table_find(w->k, &t, st));
    rc = fill_found(w, t, st);
    tfd_resource_unref(&t->resource);
    return rc;
}

static void fill_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, NULL, fill_run);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "InitializeTableFromDataset",
        .inputs = "table_handle: resource, dataset: variant",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("InitializeTableFromDataset", NULL, .start = fill_start,
                   .flags = TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_table_dataset = {
    .name = "table_dataset",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
