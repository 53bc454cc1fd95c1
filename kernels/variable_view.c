/*
 * variable_view.c - see variable.h.
 *
 *     variable --views--> view <--> view ...
 *        ^--------of-------'----------'
 *
 * Until its memory is let go of, a view has no value of its own, and reads the
 * variable's under that one's lock, in the view's shape.  Views of a view are
 * views of the variable.
 */
#include "kernels/variable.h"

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

/* value as the view shows it, counted. */
static struct tfd_tensor in_shape_of(const struct tfd_variable *view,
                                     const struct tfd_tensor *value)
{
    struct tfd_tensor t = tfd_tensor_ref(value);

    t.dtype = view->dtype;
    t.shape = view->shape;
    return t;
}

void tfd_variable_leave_views(struct tfd_variable *v)
{
    while (v->views) {
        struct tfd_variable *view = v->views;

        view->value = in_shape_of(view, &v->value);
        detach(view);
    }
}

enum tfd_code tfd_variable_view_read(struct tfd_variable *view,
                                     struct tfd_tensor *out)
{
    tfd_lock(&view->of->lock);
    *out =
        in_shape_of(view, is_attached(view) ? &view->of->value : &view->value);
    tfd_unlock(&view->of->lock);
    return TFD_OK;
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

enum tfd_code tfd_variable_view(struct tfd_variable *v,
                                const struct tfd_tensor *seen,
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
    view->dtype = seen->dtype;
    view->shape = seen->shape;
    view->initialized = true;
    tfd_lock(&base->lock);
    if (is_attached(v) &&
        tfd_tensor_size(&base->value) == tfd_tensor_size(seen))
        attach(base, view);
    else
        view->value = tfd_tensor_ref(seen);
    tfd_unlock(&base->lock);
    *out = view;
    return TFD_OK;
}
