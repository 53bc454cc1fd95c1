/*
 * owner.c - see owner.h.
 *
 * A reference is a variable whose value is the two strings, with the resource
 * itself behind it: who gets the variable needs no look-up, and who reads it
 * (or another one with two strings in it) finds the resource by name.
 */
#include "kernels/core/owner.h"

#include "common/base/atomic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- References ---------------------------------------------------------- */

struct reference {
    struct tfd_variable variable;
    struct tfd_resource *target;
};

static void reference_free(struct tfd_resource *r)
{
    tfd_resource_unref(((struct reference *)r)->target);
    tfd_variable_ref_type.free(r);
}

static const struct tfd_resource_type reference_type = {
    .name = "reference",
    .what = "reference to a resource",
    .free = reference_free,
};

static enum tfd_code put_names(struct tfd_tensor *out, struct tfd_str container,
                               struct tfd_str name, struct tfd_status *st)
{
    const struct tfd_shape two = {1, {2}};
    struct tfd_tstring *s;

    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &two, st));
    s = tfd_tensor_data(out);
    TFD_TRY(tfd_tstring_set(&s[0], container, st));
    return tfd_tstring_set(&s[1], name, st);
}

static enum tfd_code new_reference(struct tfd_str container,
                                   struct tfd_str name,
                                   struct tfd_resource *target,
                                   struct tfd_variable **out,
                                   struct tfd_status *st)
{
    struct reference *x = calloc(1, sizeof(*x));
    struct tfd_variable *v = &x->variable;

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a reference to " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    tfd_resource_init(&v->resource, &reference_type);
    tfd_lock_init(&v->lock, TFD_LOCK_REFERENCE); /* as a stack may hold it */
    v->dtype = TFD_STRING;
    v->shape = (struct tfd_shape){1, {2}};
    v->initialized = true;
    x->target = tfd_resource_ref(target);
    v->name = calloc(1, name.size + 1);
    if (v->name)
        snprintf(v->name, name.size + 1, TFD_STR_FMT, TFD_STR_ARG(name));
    if (!v->name || put_names(&v->value, container, name, st) != TFD_OK) {
        tfd_resource_unref(&v->resource);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a reference to " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    }
    *out = v;
    return TFD_OK;
}

static enum tfd_code new_handle(const struct tfd_owner *o,
                                struct tfd_resource *target,
                                struct tfd_handle **out, struct tfd_status *st)
{
    *out = tfd_handle_new(tfd_str_of(tfd_rt_device(o->rt)), o->container,
                          o->name, tfd_str_of(o->type->name), 0, st);
    if (!*out)
        return TFD_RESOURCE_EXHAUSTED;
    (*out)->cached = tfd_resource_ref(target);
    return TFD_OK;
}

/* ---- The node ------------------------------------------------------------ */

static enum tfd_code make_name(struct tfd_owner *o, const struct tfd_node *n,
                               struct tfd_status *st)
{
    size_t size = n->name.size + 32;

    o->own_name = calloc(1, size);
    if (!o->own_name)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    snprintf(o->own_name, size, "_%" PRIu64 "_%s", tfd_rt_unique(o->rt),
             n->name.data);
    o->name = tfd_str_of(o->own_name);
    return TFD_OK;
}

static enum tfd_code read_names(struct tfd_owner *o,
                                const struct tfd_prepare *p,
                                const struct tfd_resource_type *type,
                                struct tfd_status *st)
{
    tfd_lock_init(&o->lock, TFD_LOCK_CONTAINER);
    o->rt = p->rt;
    o->type = type;
    TFD_TRY(tfd_node_str(p->node, "container", &o->container, st));
    TFD_TRY(tfd_node_str(p->node, "shared_name", &o->name, st));
    if (o->container.size == 0)
        o->container = tfd_str_of(tfd_rt_container(o->rt));
    if (o->name.size && o->name.data[0] == '_')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shared_name cannot start with '_':" TFD_STR_FMT,
                        TFD_STR_ARG(o->name));
    return TFD_OK;
}

enum tfd_code tfd_owner_prepare(struct tfd_owner *o,
                                const struct tfd_prepare *p,
                                const struct tfd_resource_type *type,
                                struct tfd_status *st)
{
    TFD_TRY(read_names(o, p, type, st));
    return o->name.size ? TFD_OK : make_name(o, p->node, st);
}

enum tfd_code tfd_owner_prepare_by_node(struct tfd_owner *o,
                                        const struct tfd_prepare *p,
                                        const struct tfd_resource_type *type,
                                        struct tfd_status *st)
{
    bool by_node;

    TFD_TRY(read_names(o, p, type, st));
    TFD_TRY(tfd_node_bool(p->node, "use_node_name_sharing", &by_node, st));
    if (by_node && o->name.size == 0)
        o->name = p->node->name;
    return o->name.size ? TFD_OK : make_name(o, p->node, st);
}

enum tfd_code tfd_owner_prepare_named(struct tfd_owner *o,
                                      const struct tfd_prepare *p,
                                      const struct tfd_resource_type *type,
                                      struct tfd_status *st)
{
    TFD_TRY(read_names(o, p, type, st));
    if (o->name.size == 0)
        o->name = p->node->name;
    return TFD_OK;
}

static void drop_owned(struct tfd_resource *r, struct tfd_handle *h,
                       struct tfd_variable *v)
{
    tfd_resource_unref(r);
    tfd_handle_unref(h);
    if (v)
        tfd_resource_unref(&v->resource);
}

void tfd_owner_release(struct tfd_owner *o)
{
    /* Nothing is there to destroy when the container was cleared. */
    if (o->own_name && o->resource)
        (void)!tfd_rt_destroy(o->rt, o->container, o->name, true, NULL);
    drop_owned(o->resource, o->handle, o->reference);
    free(o->own_name);
    tfd_lock_deinit(&o->lock);
}

/* Keeps what was found for the next time. */
static void adopt(struct tfd_owner *o, struct tfd_resource *r,
                  struct tfd_handle *h, struct tfd_variable *v)
{
    struct tfd_resource *old_resource;
    struct tfd_handle *old_handle;
    struct tfd_variable *old_reference;

    tfd_lock(&o->lock);
    old_resource = o->resource;
    old_handle = o->handle;
    old_reference = o->reference;
    o->resource = r;
    o->handle = h;
    o->reference = v;
    tfd_unlock(&o->lock);
    drop_owned(old_resource, old_handle, old_reference);
}

static enum tfd_code look_up(struct tfd_kctx *k, struct tfd_owner *o,
                             tfd_resource_make_fn *make,
                             tfd_owner_match_fn *match, void *arg,
                             struct tfd_status *st)
{
    bool by_reference = tfd_dtype_is_ref(k->node->out_types[0]);
    struct tfd_handle *handle = NULL;
    struct tfd_variable *reference = NULL;
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_rt_find_or_make(o->rt, o->container, o->name, o->type, make,
                                arg, &r, st));
    rc = match ? match(k, arg, r, st) : TFD_OK;
    if (rc == TFD_OK)
        rc = by_reference
                 ? new_reference(o->container, o->name, r, &reference, st)
                 : new_handle(o, r, &handle, st);
    if (rc != TFD_OK) {
        tfd_resource_unref(r);
        return rc;
    }
    adopt(o, r, handle, reference);
    return TFD_OK;
}

/* What is known already; false when it is not, or no longer. */
static bool known(struct tfd_owner *o, struct tfd_handle **handle,
                  struct tfd_variable **reference)
{
    bool good;

    tfd_lock(&o->lock);
    good = o->resource && !TFD_LOAD_ACQUIRE(&o->resource->removed);
    *handle = good && o->handle ? tfd_handle_ref(o->handle) : NULL;
    *reference = good ? o->reference : NULL;
    if (*reference)
        tfd_resource_ref(&(*reference)->resource);
    tfd_unlock(&o->lock);
    return good;
}

enum tfd_code tfd_owner_output(struct tfd_kctx *k, struct tfd_owner *o,
                               tfd_resource_make_fn *make,
                               tfd_owner_match_fn *match, void *arg,
                               struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle *handle;

    while (!known(o, &handle, &k->ref_out[0]))
        TFD_TRY(look_up(k, o, make, match, arg, st));
    if (!handle)
        return TFD_OK;
    if (tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(handle);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = handle;
    return TFD_OK;
}

enum tfd_code tfd_owner_resource(struct tfd_owner *o,
                                 tfd_resource_make_fn *make, void *arg,
                                 struct tfd_resource **out,
                                 struct tfd_status *st)
{
    struct tfd_resource *r = NULL;

    tfd_lock(&o->lock);
    if (o->resource && !TFD_LOAD_ACQUIRE(&o->resource->removed))
        r = tfd_resource_ref(o->resource);
    tfd_unlock(&o->lock);
    if (!r) {
        TFD_TRY(tfd_rt_find_or_make(o->rt, o->container, o->name, o->type, make,
                                    arg, &r, st));
        adopt(o, tfd_resource_ref(r), NULL, NULL);
    }
    *out = r;
    return TFD_OK;
}

enum tfd_code tfd_owner_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {2}};
    return TFD_OK;
}

/* ---- Finding it again ---------------------------------------------------- */

static enum tfd_code find_by_name(struct tfd_kctx *k, struct tfd_variable *v,
                                  const struct tfd_resource_type *type,
                                  struct tfd_resource **out,
                                  struct tfd_status *st)
{
    struct tfd_tensor names = TFD_TENSOR_INIT;
    char text[TFD_SHAPE_TEXT_MAX];
    const struct tfd_tstring *s;
    enum tfd_code rc;

    TFD_TRY(tfd_variable_read(v, &names, st));
    s = tfd_tensor_data(&names);
    if (names.dtype != TFD_STRING || tfd_tensor_elements(&names) != 2)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Resource handle must have 2 elements, but had shape: %s",
                      tfd_shape_text(&names.shape, text));
    else
        rc = tfd_rt_find(k->rt, tfd_tstring_view(&s[0]),
                         tfd_tstring_view(&s[1]), type, out, st);
    tfd_tensor_unref(&names);
    return rc;
}

enum tfd_code tfd_owner_find(struct tfd_kctx *k,
                             const struct tfd_resource_type *type,
                             struct tfd_resource **out, struct tfd_status *st)
{
    return tfd_owner_find_at(k, 0, type, out, st);
}

enum tfd_code tfd_owner_find_at(struct tfd_kctx *k, int in,
                                const struct tfd_resource_type *type,
                                struct tfd_resource **out,
                                struct tfd_status *st)
{
    struct tfd_variable *v = k->ref ? k->ref[in] : NULL;
    struct tfd_resource *target;

    if (!v)
        return tfd_kctx_resource(k, in, type, out, st);
    if (v->resource.type == &reference_type) {
        target = ((struct reference *)v)->target;
        if (target->type == type && !TFD_LOAD_ACQUIRE(&target->removed)) {
            *out = tfd_resource_ref(target);
            return TFD_OK;
        }
    }
    return find_by_name(k, v, type, out, st);
}

enum tfd_code tfd_owner_refer(struct tfd_kctx *k,
                              const struct tfd_resource_type *type,
                              struct tfd_status *st)
{
    struct tfd_resource *r;
    const struct tfd_handle *h;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_resource(k, 0, type, &r, st));
    h = tfd_kctx_handle(k, 0);
    rc = new_reference(h->container, h->name, r, &k->ref_out[0], st);
    tfd_resource_unref(r);
    return rc;
}

static void add_both(struct tfd_bytes *b, struct tfd_str container,
                     struct tfd_str name)
{
    tfd_bytes_printf(b, TFD_STR_FMT " " TFD_STR_FMT, TFD_STR_ARG(container),
                     TFD_STR_ARG(name));
}

enum tfd_code tfd_owner_add_names(struct tfd_kctx *k, struct tfd_bytes *b,
                                  struct tfd_status *st)
{
    struct tfd_variable *v = k->ref ? k->ref[0] : NULL;
    const struct tfd_handle *h = v ? NULL : tfd_kctx_handle(k, 0);
    struct tfd_tensor names = TFD_TENSOR_INIT;
    const struct tfd_tstring *s;

    if (h)
        add_both(b, h->container, h->name);
    if (!v)
        return TFD_OK;
    TFD_TRY(tfd_variable_read(v, &names, st));
    s = tfd_tensor_data(&names);
    if (names.dtype == TFD_STRING && tfd_tensor_elements(&names) == 2)
        add_both(b, tfd_tstring_view(&s[0]), tfd_tstring_view(&s[1]));
    tfd_tensor_unref(&names);
    return TFD_OK;
}
