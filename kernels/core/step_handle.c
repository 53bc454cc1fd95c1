/*
 * step_handle.c - see step_handle.h.  The container's name is the one that
 * TensorFlow gives them, for messages.
 */
#include "kernels/core/step_handle.h"

#include <inttypes.h>
#include <stdio.h>

enum tfd_code tfd_step_handle(struct tfd_kctx *k, int out, struct tfd_str name,
                              struct tfd_resource *take, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle *h;
    char container[48];

    snprintf(container, sizeof(container), "__per_step_%" PRId64,
             k->step ? tfd_step_id(k->step) : 0);
    h = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), tfd_str_of(container),
                       name, tfd_str_of(take->type->name), 0, st);
    if (!h) {
        tfd_resource_unref(take);
        return TFD_RESOURCE_EXHAUSTED;
    }
    h->cached = take;
    if (tfd_kctx_output(k, out, TFD_RESOURCE, &scalar, st) != TFD_OK) {
        tfd_handle_unref(h);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *(struct tfd_handle **)tfd_tensor_data(&k->out[out]) = h;
    return TFD_OK;
}
