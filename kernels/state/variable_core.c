/*
 * variable_core.c - see variable.h.
 *
 * Several locks of one rank may be held together here and nowhere else: the
 * first is taken as usual, so that ranks are still checked, and the others
 * directly, in the order of their addresses.
 */
#define _GNU_SOURCE 1 /* sched_yield() */
#include "kernels/state/variable.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "kernels/core/kept.h"
#include "kernels/layout/long_shape.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Below this size an update copies rather than wait for who looks. */
#define AWAIT_SIZE_MIN ((size_t)64 << 10)
/* What is copied in a microsecond, allocated besides. */
#define COPIED_PER_US 4000

static void variable_free(struct tfd_resource *r)
{
    struct tfd_variable *v = (struct tfd_variable *)r;

    tfd_tensor_unref(&v->value);
    tfd_lock_deinit(&v->lock);
    free(v->name);
    free(v);
}

const struct tfd_resource_type tfd_variable_type = {
    .name = "N10tensorflow3VarE",
    .what = "variable",
    .free = variable_free,
};

const struct tfd_resource_type tfd_variable_ref_type = {
    .name = "N10tensorflow9LegacyVarE",
    .what = "variable",
    .free = variable_free,
};

enum tfd_code tfd_variable_make(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    const struct tfd_variable_spec *spec = arg;
    struct tfd_variable *v = calloc(1, sizeof(*v));

    if (v)
        v->name = calloc(1, spec->name.size + 1);
    if (!v || !v->name) {
        free(v);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for variable " TFD_STR_FMT,
                        TFD_STR_ARG(spec->name));
    }
    if (spec->name.size)
        memcpy(v->name, spec->name.data, spec->name.size);
    tfd_resource_init(&v->resource, spec->type);
    tfd_lock_init(&v->lock, spec->type == &tfd_variable_ref_type
                                ? TFD_LOCK_REFERENCE
                                : TFD_LOCK_RESOURCE);
    v->dtype = spec->dtype;
    v->shape = spec->shape;
    v->value.dtype = spec->dtype;
    *out = &v->resource;
    return TFD_OK;
}

static enum tfd_code uninitialized(const struct tfd_variable *v,
                                   struct tfd_status *st)
{
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    "Attempting to use uninitialized value %s", v->name);
}

enum tfd_code tfd_variable_read_held(struct tfd_variable *v,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    bool initialized;

    if (v->of)
        return tfd_variable_view_read(v, out, st);
    tfd_lock(&v->lock);
    initialized = v->initialized;
    if (initialized)
        *out = tfd_tensor_ref(&v->value);
    tfd_unlock(&v->lock);
    return initialized ? TFD_OK : uninitialized(v, st);
}

enum tfd_code tfd_variable_read(struct tfd_variable *v, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    enum tfd_code rc = tfd_variable_read_held(v, out, st);

    if (rc != TFD_OK)
        return rc;
    rc = tfd_kept_take(out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

enum tfd_code tfd_variable_look(struct tfd_variable *v, struct tfd_tensor *out,
                                struct tfd_status *st)
{
    TFD_COUNTER_ADD(&v->looking, 1);
    return tfd_variable_read(v, out, st);
}

void tfd_variable_looked(struct tfd_variable *v, struct tfd_tensor *value)
{
    tfd_tensor_unref(value);
    TFD_COUNTER_SUB(&v->looking, 1);
}

void tfd_variable_set(struct tfd_variable *v, struct tfd_tensor *take_value)
{
    struct tfd_tensor old;

    tfd_lock(&v->lock);
    if (v->views &&
        tfd_tensor_elements(&v->value) != tfd_tensor_elements(take_value))
        tfd_variable_leave_views(v);
    old = v->value;
    v->value = *take_value;
    v->initialized = true;
    tfd_unlock(&v->lock);

    *take_value = (struct tfd_tensor)TFD_TENSOR_INIT;
    tfd_tensor_unref(&old); /* may free much: not under the lock */
}

enum tfd_code tfd_kctx_variable(struct tfd_kctx *k, int in,
                                struct tfd_variable **out,
                                struct tfd_status *st)
{
    struct tfd_resource *r;

    if (k->ref && k->ref[in]) {
        tfd_resource_ref(&k->ref[in]->resource);
        *out = k->ref[in];
    } else {
        TFD_TRY(tfd_kctx_resource(k, in, &tfd_variable_type, &r, st));
        *out = (struct tfd_variable *)r;
    }
    if (!tfd_shape_is_long(&(*out)->shape) ||
        tfd_long_admit_variable(k, st) == TFD_OK)
        return TFD_OK;
    tfd_resource_unref(&(*out)->resource);
    return TFD_UNIMPLEMENTED;
}

enum tfd_code tfd_kctx_with_value(struct tfd_kctx *k, tfd_variable_value_fn *fn,
                                  struct tfd_status *st)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct tfd_variable *v;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_variable(k, 0, &v, st));
    rc = tfd_variable_look(v, &value, st);
    if (rc == TFD_OK)
        rc = fn(k, &value, st);
    tfd_variable_looked(v, &value);
    tfd_resource_unref(&v->resource);
    return rc;
}

enum tfd_code tfd_kctx_change_variable(struct tfd_kctx *k,
                                       tfd_variable_change_fn *change,
                                       struct tfd_status *st)
{
    struct tfd_variable *v;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_variable(k, 0, &v, st));
    tfd_variables_lock(&v, 1);
    rc = change(k, v, st);
    tfd_variables_unlock(&v, 1);
    if (rc == TFD_OK && k->out_count > 0) {
        k->ref_out[0] = v; /* the count goes along */
        return TFD_OK;
    }
    tfd_resource_unref(&v->resource);
    return rc;
}

/* ---- Several at once ----------------------------------------------------- */

/* The variable with the smallest address above `after`; NULL at the end. */
static struct tfd_variable *next_up(struct tfd_variable *const *v, int count,
                                    const struct tfd_variable *after)
{
    struct tfd_variable *best = NULL;

    for (int i = 0; i < count; i++)
        if ((uintptr_t)v[i] > (uintptr_t)after &&
            (!best || (uintptr_t)v[i] < (uintptr_t)best))
            best = v[i];
    return best;
}

void tfd_variables_lock(struct tfd_variable *const *v, int count)
{
    struct tfd_variable *at = next_up(v, count, NULL);

    if (!at)
        return;
    tfd_lock(&at->lock);
    while ((at = next_up(v, count, at)))
        pthread_mutex_lock(&at->lock.mutex);
}

void tfd_variables_unlock(struct tfd_variable *const *v, int count)
{
    struct tfd_variable *first = next_up(v, count, NULL);
    struct tfd_variable *at = first;

    if (!first)
        return;
    while ((at = next_up(v, count, at)))
        pthread_mutex_unlock(&at->lock.mutex);
    tfd_unlock(&first->lock);
}

/* ---- Writing in place ---------------------------------------------------- */

static enum tfd_code copy_strings(const struct tfd_tensor *from,
                                  struct tfd_tensor *to, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(from);
    struct tfd_tstring *y = tfd_tensor_data(to);
    int64_t n = tfd_tensor_elements(from);

    for (int64_t i = 0; i < n; i++)
        TFD_TRY(tfd_tstring_set(&y[i], tfd_tstring_view(&x[i]), st));
    return TFD_OK;
}

static enum tfd_code copy_tensor(const struct tfd_tensor *from,
                                 struct tfd_tensor *to, struct tfd_status *st)
{
    TFD_TRY(tfd_tensor_new(to, from->dtype, &from->shape, st));
    if (!to->buffer)
        return TFD_OK;
    if (from->dtype == TFD_STRING)
        return copy_strings(from, to, st);
    if (!tfd_dtype_is_pod(from->dtype))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a variable of type %s cannot be updated in place",
                        tfd_dtype_name((int)from->dtype));
    memcpy(to->buffer->data, from->buffer->data, tfd_tensor_size(from));
    return TFD_OK;
}

static bool is_ours(const struct tfd_variable *v)
{
    return tfd_buffer_sole(v->value.buffer) &&
           !tfd_buffer_is_slice(v->value.buffer);
}

/* Who looks lets go without the lock.  Others may hold the value as well, so
 * this takes no longer than the copy that it may save. */
static void await_lookers(const struct tfd_variable *v)
{
    size_t size = tfd_tensor_size(&v->value);
    int64_t until;

    if (size < AWAIT_SIZE_MIN || tfd_buffer_is_slice(v->value.buffer))
        return;
    until = tfd_clock_now_us() + (int64_t)(size / COPIED_PER_US);
    while (TFD_LOAD_RELAXED(&v->looking) > 0 && !is_ours(v) &&
           tfd_clock_now_us() < until)
        sched_yield();
}

enum tfd_code tfd_variable_writable(struct tfd_variable *v,
                                    struct tfd_status *st)
{
    struct tfd_tensor copy = TFD_TENSOR_INIT;
    enum tfd_code rc;

    if (!v->initialized)
        return uninitialized(v, st);
    TFD_TRY(tfd_kept_take(&v->value, st));
    if (!v->value.buffer || is_ours(v))
        return TFD_OK;
    await_lookers(v);
    if (is_ours(v))
        return TFD_OK;
    rc = copy_tensor(&v->value, &copy, st);
    if (rc != TFD_OK) {
        tfd_tensor_unref(&copy);
        return rc;
    }
    tfd_tensor_unref(&v->value);
    v->value = copy;
    return TFD_OK;
}
