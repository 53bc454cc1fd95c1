/*
 * kept.c - see kept.h.
 *
 *     tensor -> kept -> view -> variable
 *                `---> the value as it was put in
 */
#include "kernels/core/kept.h"

#include "kernels/state/variable.h"

#include <stdlib.h>

struct kept {
    struct tfd_buffer buffer; /* first; its data are those of `seen` */
    struct tfd_tensor seen;
    struct tfd_variable *view;
};

static void release_kept(struct tfd_buffer *b)
{
    struct kept *kept = (struct kept *)b;

    tfd_resource_unref(&kept->view->resource);
    tfd_tensor_unref(&kept->seen);
    free(kept);
}

static enum tfd_code keep_buffer(struct tfd_variable *of,
                                 const struct tfd_tensor *seen,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct kept *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a value of variable %s", of->name);
    if (tfd_variable_view(of, seen, &kept->view, st) != TFD_OK) {
        free(kept);
        return TFD_RESOURCE_EXHAUSTED;
    }
    kept->seen = tfd_tensor_ref(seen);
    kept->buffer = (struct tfd_buffer){1, seen->buffer->size,
                                       seen->buffer->data, release_kept};
    *out = *seen;
    out->buffer = &kept->buffer;
    return TFD_OK;
}

enum tfd_code tfd_kept_put(const struct tfd_kctx *k, int in,
                           struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_variable *of = k->ref ? k->ref[in] : NULL;

    if (of && k->in[in].buffer)
        return keep_buffer(of, &k->in[in], out, st);
    *out = tfd_tensor_ref(&k->in[in]);
    return TFD_OK;
}

bool tfd_kept_is(const struct tfd_tensor *t)
{
    return t->buffer && t->buffer->release == release_kept;
}

enum tfd_code tfd_kept_take(struct tfd_tensor *t, struct tfd_status *st)
{
    struct tfd_tensor now = TFD_TENSOR_INIT;

    if (!tfd_kept_is(t))
        return TFD_OK;
    TFD_TRY(tfd_variable_view_read(((struct kept *)t->buffer)->view, &now, st));
    tfd_tensor_unref(t);
    *t = now;
    return TFD_OK;
}

enum tfd_code tfd_kept_give(struct tfd_kctx *k, int out,
                            const struct tfd_tensor *t, struct tfd_status *st)
{
    struct tfd_variable *view;

    if (!k->gives_views || !tfd_kept_is(t))
        return tfd_kept_look(t, &k->out[out], st);
    view = ((struct kept *)t->buffer)->view;
    tfd_resource_ref(&view->resource);
    k->ref_out[out] = view;
    return TFD_OK;
}

enum tfd_code tfd_kept_look(const struct tfd_tensor *t, struct tfd_tensor *out,
                            struct tfd_status *st)
{
    enum tfd_code rc;

    *out = tfd_tensor_ref(t);
    rc = tfd_kept_take(out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}
