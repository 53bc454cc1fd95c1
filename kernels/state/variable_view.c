/*
 * variable_view.c - see variable.h.
 *
 *     variable --views--> view <--> view ...
 *        ^--------of-------'----------'
 *
 * Until its memory is let go of, a view has no value of its own, and reads the
 * variable's under that one's lock, in the view's shape, or a part of it. Views
 * of a view are views of the variable.
 */
#include "kernels/state/variable.h"

#include "common/base/alloc.h"

#include <stdlib.h>

static const struct tfd_resource_type view_type;

static struct tfd_variable *variable_of(struct tfd_variable *v)
{
    return v->of ? v->of : v;
}

/* v's memory is still its variable's.  The variable's lock is held. */
static bool is_attached(const struct tfd_variable *v)
{
    return !v->of || v->at;
}

static void attach(struct tfd_variable *base, struct tfd_variable *view)
{
    view->next = base->views;
    view->at = &base->views;
    if (view->next)
        view->next->at = &view->next;
    base->views = view;
}

static void detach(struct tfd_variable *view)
{
    *view->at = view->next;
    if (view->next)
        view->next->at = view->at;
    view->next = NULL;
    view->at = NULL;
}

/* Of `value`, which is the variable's or was, what the view shows, counted. */
static enum tfd_code shown(const struct tfd_variable *view,
                           const struct tfd_tensor *value,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor t = {view->dtype, view->shape, NULL};
    size_t size = tfd_tensor_size(&t);

    if (size == tfd_tensor_size(value))
        t.buffer = tfd_buffer_ref(value->buffer);
    else if (size > 0)
        t.buffer = tfd_buffer_slice(value->buffer, view->offset, size);
    if (size > 0 && !t.buffer)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a part of variable %s", view->name);
    *out = t;
    return TFD_OK;
}

void tfd_variable_leave_views(struct tfd_variable *v)
{
    while (v->views) {
        struct tfd_variable *view = v->views;

        view->value = tfd_tensor_ref(&v->value);
        detach(view);
    }
}

enum tfd_code tfd_variable_view_read(struct tfd_variable *view,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    enum tfd_code rc;

    tfd_lock(&view->of->lock);
    rc = shown(view, is_attached(view) ? &view->of->value : &view->value, out,
               st);
    tfd_unlock(&view->of->lock);
    return rc;
}

static void view_free(struct tfd_resource *r)
{
    struct tfd_variable *view = (struct tfd_variable *)r;

    tfd_lock(&view->of->lock);
    if (is_attached(view))
        detach(view);
    tfd_unlock(&view->of->lock);
    tfd_resource_unref(&view->of->resource);
    tfd_tensor_unref(&view->value);
    tfd_lock_deinit(&view->lock);
    free(view);
}

static const struct tfd_resource_type view_type = {
    .name = "view",
    .what = "view of a variable",
    .free = view_free,
};

/* Where part lies in seen, and seen in the variable's memory. */
static size_t offset_of(const struct tfd_variable *v,
                        const struct tfd_tensor *seen,
                        const struct tfd_tensor *part)
{
    const char *from = tfd_tensor_data(seen), *to = tfd_tensor_data(part);

    return v->offset + (from && to ? (size_t)(to - from) : 0);
}

/* The view shows what its variable has from now on, unless that has let go of
 * what was seen: then the part itself. */
static void bind_view(struct tfd_variable *view, struct tfd_variable *v,
                      const struct tfd_tensor *seen,
                      const struct tfd_tensor *part)
{
    struct tfd_variable *base = view->of;

    tfd_lock(&base->lock);
    if (is_attached(v) &&
        (v->of || tfd_tensor_size(&base->value) == tfd_tensor_size(seen))) {
        view->offset = offset_of(v, seen, part);
        attach(base, view);
    } else {
        view->value = tfd_tensor_ref(part);
    }
    tfd_unlock(&base->lock);
}

enum tfd_code tfd_variable_view_part(struct tfd_variable *v,
                                     const struct tfd_tensor *seen,
                                     const struct tfd_tensor *part,
                                     struct tfd_variable **out,
                                     struct tfd_status *st)
{
    struct tfd_variable *view = calloc(1, sizeof(*view));
    struct tfd_variable *base = variable_of(v);

    if (!view)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a view of variable %s", base->name);
    tfd_resource_init(&view->resource, &view_type);
    tfd_lock_init(&view->lock, TFD_LOCK_RESOURCE);
    tfd_resource_ref(&base->resource);
    view->of = base;
    view->name = base->name;
    view->dtype = part->dtype;
    view->shape = part->shape;
    view->initialized = true;
    bind_view(view, v, seen, part);
    *out = view;
    return TFD_OK;
}

enum tfd_code tfd_variable_view(struct tfd_variable *v,
                                const struct tfd_tensor *seen,
                                struct tfd_variable **out,
                                struct tfd_status *st)
{
    return tfd_variable_view_part(v, seen, seen, out, st);
}
