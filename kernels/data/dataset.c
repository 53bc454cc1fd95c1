/*
 * dataset.c - see dataset.h.
 */
#include "kernels/data/dataset.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_dataset(struct tfd_variant_object *o)
{
    struct tfd_dataset *d = TFD_CONTAINER_OF(o, struct tfd_dataset, object);

    if (d->kind->release)
        d->kind->release(d);
    for (int i = 0; i < d->input_count; i++)
        tfd_dataset_unref(d->inputs[i]);
    for (int i = 0; i < d->arg_count; i++)
        tfd_tensor_unref(&d->args[i]);
    for (int i = 0; i < d->seed_count; i++)
        tfd_resource_unref(d->seeds[i]);
    free(d->seeds);
    tfd_data_recipe_unref(d->recipe);
    free(d->args);
    free(d->inputs);
    free(d->types);
    free(d->shapes);
    free(d->name);
    free(d);
}

const struct tfd_variant_object_type tfd_dataset_type = {
    .name = "Variant<type: Dataset>",
    .free = free_dataset,
};

struct tfd_dataset *tfd_dataset_ref(struct tfd_dataset *d)
{
    (void)tfd_variant_object_ref(&d->object);
    return d;
}

void tfd_dataset_unref(struct tfd_dataset *d)
{
    if (d)
        tfd_variant_object_unref(&d->object);
}

enum tfd_code tfd_dataset_of(const struct tfd_tensor *t,
                             struct tfd_dataset **out, struct tfd_status *st)
{
    struct tfd_variant_object *o;

    if (t->dtype != TFD_VARIANT || t->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dataset tensor must be a scalar of dtype DT_VARIANT.");
    o = tfd_variant_object_of(t, &tfd_dataset_type);
    if (!o)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be a Dataset object.");
    *out = TFD_CONTAINER_OF(o, struct tfd_dataset, object);
    return TFD_OK;
}

int64_t tfd_dataset_cardinality(const struct tfd_dataset *d)
{
    return d->kind->cardinality ? d->kind->cardinality(d)
                                : TFD_CARDINALITY_UNKNOWN;
}

enum tfd_code tfd_dataset_check_by_number(const struct tfd_dataset *d,
                                          struct tfd_status *st)
{
    const struct tfd_dataset *s = d->sequential;

    if (!s)
        return TFD_OK;
    if (s->kind->sequential)
        return s->kind->sequential(s, st);
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    TFD_STR_FMT " does not support random access.",
                    TFD_STR_ARG(s->recipe ? s->recipe->op : TFD_STR("It")));
}

const char *tfd_dataset_types_text(const struct tfd_dataset *d, char *text,
                                   size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < d->count && at + 16 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "",
                               tfd_dtype_name((int)d->types[i]));
    return text;
}

/* ---- Iterators ----------------------------------------------------------- */

static enum tfd_code begin_iterator(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    if (it->kind->opens_input)
        TFD_TRY(tfd_data_open_input(it, 0, &it->input, st));
    return it->kind->begin ? it->kind->begin(it, st) : TFD_OK;
}

static char *path_within(const char *path, const struct tfd_dataset *d)
{
    const char *name = d->kind->name ? d->kind->name : "";
    size_t size = strlen(path) + strlen(name) + 3;
    char *text = malloc(size);

    if (text)
        snprintf(text, size, "%s%s%s", path, *name ? "::" : "", name);
    return text;
}

static enum tfd_code open_iterator(struct tfd_dataset *d,
                                   struct tfd_data_scope *s, const char *path,
                                   int depth, bool by_number,
                                   struct tfd_data_iterator **out,
                                   struct tfd_status *st)
{
    struct tfd_data_iterator *it;
    enum tfd_code rc;

    if (depth >= TFD_VARIANT_DEPTH_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "iterators within iterators are more than %d deep",
                        TFD_VARIANT_DEPTH_MAX);
    it = calloc(1, d->kind->iterator_size);
    if (!it)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    it->kind = d->kind;
    it->dataset = tfd_dataset_ref(d);
    it->scope = tfd_data_scope_ref(s);
    it->path = path_within(path, d);
    it->depth = depth + 1;
    it->by_number = by_number;
    rc = it->path ? begin_iterator(it, st)
                  : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                             "no memory for an iterator");
    if (rc == TFD_OK)
        *out = it;
    else
        tfd_data_close(it);
    return rc;
}

enum tfd_code tfd_data_open(struct tfd_dataset *d, struct tfd_data_scope *s,
                            const char *path, int depth,
                            struct tfd_data_iterator **out,
                            struct tfd_status *st)
{
    return open_iterator(d, s, path, depth, false, out, st);
}

enum tfd_code tfd_data_open_input(struct tfd_data_iterator *it, int input,
                                  struct tfd_data_iterator **out,
                                  struct tfd_status *st)
{
    return open_iterator(it->dataset->inputs[input], it->scope, it->path,
                         it->depth, it->by_number, out, st);
}

enum tfd_code tfd_data_open_by_number(struct tfd_data_iterator *it, int input,
                                      struct tfd_data_iterator **out,
                                      struct tfd_status *st)
{
    return open_iterator(it->dataset->inputs[input], it->scope, it->path,
                         it->depth, true, out, st);
}

enum tfd_code tfd_data_open_within(struct tfd_data_iterator *it,
                                   struct tfd_dataset *d, int64_t number,
                                   struct tfd_data_iterator **out,
                                   struct tfd_status *st)
{
    size_t size = strlen(it->path) + 32;
    char *path = malloc(size);
    enum tfd_code rc;

    if (!path)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    snprintf(path, size, "%s[%" PRId64 "]", it->path, number);
    rc = open_iterator(d, it->scope, path, it->depth, it->by_number, out, st);
    free(path);
    return rc;
}

void tfd_data_failed(const struct tfd_data_iterator *it, struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;

    if (st->code == TFD_CANCELLED)
        return;
    tfd_fail(&own, st->code,
             "Error in user-defined function passed to %s transformation with "
             "iterator: %s: %s",
             it->dataset->name ? it->dataset->name : "", it->path, st->text);
    *st = own;
}

void tfd_data_close(struct tfd_data_iterator *it)
{
    if (!it)
        return;
    if (it->kind->end)
        it->kind->end(it);
    tfd_data_close(it->input);
    tfd_dataset_unref(it->dataset);
    tfd_data_scope_unref(it->scope);
    free(it->path);
    free(it);
}

static enum tfd_code check_element(const struct tfd_dataset *d,
                                   const struct tfd_tensor *e,
                                   struct tfd_status *st)
{
    for (int32_t i = 0; i < d->count; i++)
        if (e[i].dtype != d->types[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Data type mismatch at component %d: expected %s "
                            "but got %s.",
                            i, tfd_dtype_name((int)d->types[i]),
                            tfd_dtype_name((int)e[i].dtype));
    return TFD_OK;
}

/* What next() or at() has answered.  A failure is no end, whatever the kind
 * has left in *end. */
static enum tfd_code check_answer(const struct tfd_data_iterator *it,
                                  enum tfd_code rc, struct tfd_tensor *out,
                                  bool *end, struct tfd_status *st)
{
    if (rc == TFD_OK && !*end)
        rc = check_element(it->dataset, out, st);
    if (rc != TFD_OK || *end)
        tfd_data_element_drop(out, it->dataset->count);
    if (rc != TFD_OK)
        *end = false;
    return rc;
}

enum tfd_code tfd_data_next(struct tfd_data_iterator *it,
                            struct tfd_tensor *out, bool *end,
                            struct tfd_status *st)
{
    enum tfd_code rc;

    *end = false;
    TFD_TRY(tfd_data_scope_check(it->scope, st));
    rc = it->kind->next(it, out, end, st);
    return check_answer(it, rc, out, end, st);
}

enum tfd_code tfd_data_at(struct tfd_data_iterator *it, int64_t index,
                          struct tfd_tensor *out, bool *end,
                          struct tfd_status *st)
{
    enum tfd_code rc;

    if (it->dataset->sequential)
        return tfd_dataset_check_by_number(it->dataset, st);
    *end = false;
    TFD_TRY(tfd_data_scope_check(it->scope, st));
    rc = it->kind->at(it, index, out, end, st);
    return check_answer(it, rc, out, end, st);
}

/* ---- Elements ------------------------------------------------------------ */

struct tfd_tensor *tfd_data_element_new(int32_t count, struct tfd_status *st)
{
    struct tfd_tensor *e = calloc((size_t)count + 1, sizeof(*e));

    if (!e)
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an element of %d",
                 count);
    return e;
}

void tfd_data_element_drop(struct tfd_tensor *e, int32_t count)
{
    for (int32_t i = 0; e && i < count; i++)
        tfd_tensor_unref(&e[i]);
}

void tfd_data_element_move(struct tfd_tensor *to, struct tfd_tensor *from,
                           int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] = from[i];
        from[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
}
