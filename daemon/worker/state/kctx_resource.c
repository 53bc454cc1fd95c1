/*
 * kctx_resource.c - the resource behind a handle that a kernel was given
 * (kernels/core/runtime.h).
 *
 * The first kernel that looks a resource up leaves the pointer in the handle,
 * counted, and the pointer stays as long as the handle does; when the resource
 * was removed from its container meanwhile, it is looked up by name again each
 * time.
 */
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"

#include <inttypes.h>

static enum tfd_code check_handle(const struct tfd_handle *h,
                                  const struct tfd_rt *rt,
                                  const struct tfd_resource_type *type,
                                  struct tfd_status *st)
{
    if (!tfd_str_is(h->device, tfd_rt_device(rt)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to access resource " TFD_STR_FMT
                        " located in device " TFD_STR_FMT " from device %s",
                        TFD_STR_ARG(h->name), TFD_STR_ARG(h->device),
                        tfd_rt_device(rt));
    if (h->type_name.size && !tfd_str_is(h->type_name, type->name))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Trying to access a handle's resource using the wrong "
            "type. The handle points to a resource (name '" TFD_STR_FMT
            "') of type '" TFD_STR_FMT "' (hash code %" PRIu64
            ") but you are trying to access the resource as type "
            "'%s'",
            TFD_STR_ARG(h->name), TFD_STR_ARG(h->type_name), h->hash_code,
            type->name);
    return TFD_OK;
}

/* The first one stays: others may be reading it. */
static void cache(struct tfd_handle *h, struct tfd_resource *r)
{
    struct tfd_resource *none = NULL;

    tfd_resource_ref(r);
    if (!TFD_COMPARE_EXCHANGE(&h->cached, &none, r))
        tfd_resource_unref(r);
}

static struct tfd_handle *handle_at(const struct tfd_tensor *t)
{
    struct tfd_handle *const *h = tfd_tensor_data(t);

    return t->dtype == TFD_RESOURCE && tfd_tensor_elements(t) == 1 ? *h : NULL;
}

enum tfd_code tfd_kctx_resource(struct tfd_kctx *k, int in,
                                const struct tfd_resource_type *type,
                                struct tfd_resource **out,
                                struct tfd_status *st)
{
    struct tfd_handle *h = handle_at(&k->in[in]);
    struct tfd_resource *r;

    if (!h)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input %d of " TFD_STR_FMT
                        " must be one resource handle",
                        in, TFD_STR_ARG(k->node->name));
    TFD_TRY(check_handle(h, k->rt, type, st));
    r = TFD_LOAD_ACQUIRE(&h->cached);
    if (r && r->type == type && !TFD_LOAD_ACQUIRE(&r->removed)) {
        *out = tfd_resource_ref(r);
        return TFD_OK;
    }
    TFD_TRY(tfd_rt_find(k->rt, h->container, h->name, type, out, st));
    cache(h, *out);
    return TFD_OK;
}
