/*
 * copy_variant.c - variants between memories: see copy.h.
 *
 * The copy has variants of its own and in them the tensors that a device holds,
 * copied; others are shared.  What comes to the host has ended when all its
 * tensors are there.  Variants in variants are at most TFD_VARIANT_DEPTH_MAX
 * deep, so these functions call each other.
 */
#include "cuda/device/copy.h"

#include "common/base/atomic.h"
#include "common/base/variant.h"

#include <stdlib.h>

struct moving {
    struct tfd_kctx *k;
    struct tfd_cuda_device *from, *to;
    int pending; /* atomic: copies to the host under way, and one more */
    struct tfd_lock lock;
    struct tfd_status st; /* the lock's: what went wrong first */
};

/* A tensor of a copied variant that comes to the host. */
struct arriving {
    struct moving *m;
    struct tfd_tensor *slot;
};

static void fail_move(struct moving *m, const struct tfd_status *st)
{
    tfd_lock(&m->lock);
    if (m->st.code == TFD_OK)
        tfd_status_copy(&m->st, st);
    tfd_unlock(&m->lock);
}

static void end_one(struct moving *m)
{
    struct tfd_kctx *k = m->k;
    struct tfd_status st;

    if (TFD_PENDING_SUB(&m->pending, 1) > 0)
        return;
    st = m->st;
    tfd_lock_deinit(&m->lock);
    free(m);
    if (st.code != TFD_OK)
        tfd_tensor_unref(&k->out[0]);
    tfd_kctx_finish(k, st.code == TFD_OK ? NULL : &st);
}

static void element_arrived(void *ctx, struct tfd_tensor *take_out,
                            const struct tfd_status *st)
{
    struct arriving *a = ctx;
    struct moving *m = a->m;

    tfd_tensor_unref(a->slot);
    if (st)
        fail_move(m, st);
    else
        *a->slot = *take_out;
    free(a);
    end_one(m);
}

static enum tfd_code to_host(struct moving *m, struct tfd_tensor *slot,
                             struct tfd_status *st)
{
    struct tfd_tensor value = tfd_tensor_ref(slot);
    struct arriving *a = malloc(sizeof(*a));

    if (!a) {
        tfd_tensor_unref(&value);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a copy");
    }
    *a = (struct arriving){m, slot};
    TFD_COUNTER_ADD(&m->pending, 1);
    tfd_cuda_copy_out(m->from, &value, element_arrived, a);
    tfd_tensor_unref(&value);
    return TFD_OK;
}

static enum tfd_code move_plain(struct moving *m, struct tfd_tensor *slot,
                                struct tfd_status *st)
{
    struct tfd_tensor out;

    if (!m->to)
        return to_host(m, slot, st);
    if (m->from)
        TFD_TRY(tfd_cuda_copy_across(m->from, m->to, slot, &out, st));
    else
        TFD_TRY(tfd_cuda_copy_in(m->to, slot, &out, st));
    tfd_tensor_unref(slot);
    *slot = out;
    /* Kernels await their inputs, and not what lies in these. */
    return tfd_cuda_copy_await(m->to, slot, 1, st);
}

static enum tfd_code move_variants(struct moving *m,
                                   const struct tfd_tensor *in,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st);

static enum tfd_code move_slot(struct moving *m, struct tfd_tensor *slot,
                               struct tfd_status *st)
{
    struct tfd_tensor own = TFD_TENSOR_INIT;

    if (!slot->buffer)
        return TFD_OK;
    if (slot->dtype == TFD_VARIANT) {
        enum tfd_code rc = move_variants(m, slot, &own, st);

        tfd_tensor_unref(slot);
        *slot = own;
        return rc;
    }
    return tfd_dtype_is_pod(slot->dtype) && slot->dtype != TFD_INT32
               ? move_plain(m, slot, st)
               : TFD_OK;
}

/* *out is there, with what was moved so far, also on failure: a tensor may be
 * on its way to it. */
static enum tfd_code move_variants(struct moving *m,
                                   const struct tfd_tensor *in,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st)
{
    struct tfd_variant *const *from = tfd_tensor_data(in);
    struct tfd_variant **to;

    TFD_TRY(tfd_tensor_new(out, TFD_VARIANT, &in->shape, st));
    to = tfd_tensor_data(out);
    for (int64_t i = 0; i < tfd_tensor_elements(in); i++) {
        if (!from[i])
            continue;
        to[i] = tfd_variant_copy(from[i], st);
        if (!to[i])
            return TFD_RESOURCE_EXHAUSTED;
        for (int32_t j = 0; j < to[i]->count; j++)
            TFD_TRY(move_slot(m, &to[i]->tensors[j], st));
    }
    return TFD_OK;
}

void tfd_cuda_copy_variant(struct tfd_kctx *k, struct tfd_cuda_device *from,
                           struct tfd_cuda_device *to)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct moving *m = malloc(sizeof(*m));

    if (!m) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a copy");
        tfd_kctx_finish(k, &st);
        return;
    }
    *m = (struct moving){.k = k, .from = from, .to = to, .pending = 1};
    tfd_lock_init(&m->lock, TFD_LOCK_DEVICE);
    if (move_variants(m, &k->in[0], &k->out[0], &st) != TFD_OK)
        fail_move(m, &st);
    end_one(m);
}
