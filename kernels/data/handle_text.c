/*
 * handle_text.c - see handle_text.h.
 */
#include "kernels/data/handle_text.h"

#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/data/anonymous.h"

static const struct tfd_shape scalar = {0, {0}};

static enum tfd_code write_handle(struct tfd_kctx *k, struct tfd_handle *h,
                                  struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    tfd_bytes_init(&b, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_handle_encode(&b, h);
    rc = tfd_bytes_ok(&b, "a handle", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]), tfd_bytes_view(&b),
                             st);
    tfd_bytes_deinit(&b);
    return rc;
}

enum tfd_code tfd_handle_text_write(struct tfd_kctx *k,
                                    const struct tfd_resource_type *type,
                                    struct tfd_status *st)
{
    struct tfd_resource *r;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_resource(k, 0, type, &r, st));
    rc = write_handle(k, *(struct tfd_handle **)tfd_tensor_data(&k->in[0]), st);
    tfd_resource_unref(r);
    return rc;
}

static enum tfd_code find_handle(struct tfd_kctx *k, const struct tfd_handle *h,
                                 const struct tfd_resource_type *type,
                                 struct tfd_resource **out,
                                 struct tfd_status *st)
{
    *out = tfd_anonymous_find(h, type);
    if (*out)
        return TFD_OK;
    if (!tfd_str_is(h->device, tfd_rt_device(k->rt)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Attempted create an iterator on device \"%s\" from "
                        "handle defined on device \"" TFD_STR_FMT "\"",
                        tfd_rt_device(k->rt), TFD_STR_ARG(h->device));
    return tfd_rt_find(k->rt, h->container, h->name, type, out, st);
}

/* The handle is taken, also on failure. */
static enum tfd_code put_handle(struct tfd_kctx *k, struct tfd_handle *take,
                                struct tfd_resource *r, struct tfd_status *st)
{
    if (tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(take);
        return TFD_RESOURCE_EXHAUSTED;
    }
    if (!take->cached)
        take->cached = tfd_resource_ref(r);
    *(struct tfd_handle **)tfd_tensor_data(&k->out[0]) = take;
    return TFD_OK;
}

enum tfd_code tfd_handle_text_read(struct tfd_kctx *k,
                                   const struct tfd_resource_type *type,
                                   struct tfd_resource **out,
                                   struct tfd_status *st)
{
    struct tfd_str text;
    void *handle = NULL;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 0, &text, st));
    if (tfd_handle_decode(text, &handle, NULL) != TFD_OK)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not parse string_handle as a valid "
                        "ResourceHandle");
    rc = find_handle(k, handle, type, out, st);
    if (rc != TFD_OK) {
        tfd_handle_unref(handle);
        return rc;
    }
    rc = put_handle(k, handle, *out, st);
    if (rc != TFD_OK)
        tfd_resource_unref(*out);
    return rc;
}
