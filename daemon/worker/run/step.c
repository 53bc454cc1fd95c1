/*
 * step.c - see step.h.
 *
 * An iteration is one block of memory, laid out by its frame:
 *
 *     head | slots | out | refs | out_refs | ready | async | merges | pending |
 *     dead
 *
 * The parts are in the order of their alignment.  Values of constants are put
 * into their slots once and stay.
 */
#include "daemon/worker/run/step.h"

#include "daemon/worker/compile/compile.h"
#include "daemon/worker/run/runner.h"
#include "kernels/state/variable.h"

#include <stdlib.h>
#include <string.h>

/* ---- Iterations ---------------------------------------------------------- */

static size_t block_size(const struct tfd_exec_frame *f)
{
    size_t slots = (size_t)f->slot_count, out = (size_t)f->out_count;
    size_t nodes = (size_t)f->node_count;

    return sizeof(struct tfd_iter) + 16 +
           (slots + out) *
               (sizeof(struct tfd_tensor) + sizeof(struct tfd_variable *)) +
           nodes * (sizeof(struct tfd_ready) + sizeof(int32_t) + 1) +
           (size_t)f->async_count * sizeof(struct tfd_async) +
           (size_t)f->merge_count * sizeof(struct tfd_merge);
}

static void lay_out(struct tfd_iter *it)
{
    const struct tfd_exec_frame *f = it->layout;

    it->slots = (struct tfd_tensor *)(it + 1);
    it->out = it->slots + f->slot_count;
    it->refs = (struct tfd_variable **)(it->out + f->out_count);
    it->out_refs = it->refs + f->slot_count;
    it->ready = (struct tfd_ready *)(it->out_refs + f->out_count);
    it->async = (struct tfd_async *)(it->ready + f->node_count);
    it->merges = (struct tfd_merge *)(it->async + f->async_count);
    it->pending = (int32_t *)(it->merges + f->merge_count);
    it->dead = (uint8_t *)(it->pending + f->node_count);
}

struct tfd_iter *tfd_iter_new(struct tfd_step *s, int32_t frame)
{
    const struct tfd_exec_frame *f = &s->exec->frames[frame];
    struct tfd_iter *it = calloc(1, block_size(f));

    if (!it)
        return NULL;
    it->layout = f;
    it->step = s;
    lay_out(it);
    for (int32_t i = 0; i < f->fixed_count; i++)
        it->slots[f->fixed[i].slot] =
            tfd_tensor_ref(&s->exec->constants[f->fixed[i].constant]);
    for (int32_t i = 0; i < f->node_count; i++) {
        it->ready[i].it = it;
        it->ready[i].node = f->nodes[i];
    }
    tfd_iter_reset(it);
    return it;
}

void tfd_iter_reset(struct tfd_iter *it)
{
    const struct tfd_exec_frame *f = it->layout;

    it->children = NULL;
    it->outstanding = 0;
    memcpy(it->pending, f->pending, (size_t)f->node_count * sizeof(int32_t));
    memset(it->dead, 0, (size_t)f->node_count);
    if (f->merge_count)
        memset(it->merges, 0, (size_t)f->merge_count * sizeof(*it->merges));
}

static void clear_ref(struct tfd_variable **ref)
{
    if (*ref)
        tfd_resource_unref((struct tfd_resource *)*ref);
    *ref = NULL;
}

void tfd_iter_clear(struct tfd_iter *it)
{
    const struct tfd_exec_frame *f = it->layout;

    for (int32_t i = 0; i < f->slot_count; i++) {
        if (f->is_fixed[i])
            continue;
        tfd_tensor_unref(&it->slots[i]);
        clear_ref(&it->refs[i]);
    }
    for (int32_t i = 0; i < f->out_count; i++) {
        tfd_tensor_unref(&it->out[i]);
        clear_ref(&it->out_refs[i]);
    }
}

void tfd_iter_free(struct tfd_iter *it)
{
    tfd_iter_clear(it);
    for (int32_t i = 0; i < it->layout->fixed_count; i++)
        tfd_tensor_unref(&it->slots[it->layout->fixed[i].slot]);
    free(it);
}

/* ---- Steps --------------------------------------------------------------- */

struct tfd_step *tfd_step_new(struct tfd_exec *e, struct tfd_loop *loop,
                              struct tfd_pool *pool, struct tfd_status *st)
{
    size_t frames = (size_t)e->frame_count;
    size_t fetches = e->late_fetches ? (size_t)e->fetch_count : 0;
    size_t values = (size_t)e->feed_count + (size_t)e->fetch_count;
    struct tfd_step *s = calloc(1, sizeof(*s) + 2 * frames * sizeof(void *) +
                                       values * sizeof(struct tfd_tensor) +
                                       fetches * sizeof(void *));

    if (s) {
        s->exec = e;
        s->free_iters = (struct tfd_iter **)(s + 1);
        s->free_frames = (struct tfd_frame **)(s->free_iters + frames);
        s->fetch_refs =
            (struct tfd_variable **)((struct tfd_tensor *)(s->free_frames +
                                                           frames) +
                                     values);
        s->root = tfd_iter_new(s, 0);
    }
    if (!s || !s->root) {
        free(s);
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a step of %d nodes",
                 e->node_count);
        return NULL;
    }
    s->loop = loop;
    s->pool = pool;
    tfd_lock_init(&s->lock, TFD_LOCK_STEP);
    tfd_lock_init(&s->cancel_lock, TFD_LOCK_CANCEL);
    tfd_cond_init(&s->cancel_left);
    tfd_exec_count(e, tfd_step_size(s));
    return s;
}

static void read_again(struct tfd_variable *v, struct tfd_tensor *fetch)
{
    struct tfd_tensor now = TFD_TENSOR_INIT;

    if (tfd_variable_read(v, &now, NULL) != TFD_OK)
        return;
    if (!tfd_shape_equal(&now.shape, &fetch->shape)) {
        tfd_tensor_unref(&now);
        return;
    }
    tfd_tensor_unref(fetch);
    *fetch = now;
}

void tfd_step_read_late(struct tfd_step *s)
{
    if (!s->exec->late_fetches)
        return;
    for (int32_t i = 0; i < s->exec->fetch_count; i++) {
        struct tfd_variable *v = s->fetch_refs[i];

        if (!v)
            continue;
        if (s->status.code == TFD_OK)
            read_again(v, &s->fetches[i]);
        s->fetch_refs[i] = NULL;
        tfd_resource_unref(&v->resource);
    }
}

size_t tfd_step_size(const struct tfd_step *s)
{
    return sizeof(*s) + block_size(s->root->layout);
}

void tfd_step_reset(struct tfd_step *s)
{
    /* A loop that a graph's mistake keeps from ending is there without a
     * failure, too, and then what waits for its exits. */
    bool left = s->failed || s->exec->leftovers || s->root->children;

    if (s->root->children)
        tfd_while_drop(s);
    if (left)
        tfd_iter_clear(s->root);
    tfd_iter_reset(s->root);
    tfd_step_drop_names(s);
    s->failed = 0;
    s->async = 0;
    s->common = NULL;
    s->inbox = NULL;
    s->busy_ns = 0;
    s->waits_mark = s->waits_since_us = 0;
    s->waits_told = false;
    s->waits_asked = 0;
    s->waits_asked_us = 0;
    s->runs++;
    s->aborted = s->is_ended = s->cancelled = s->begin = false;
    s->cancels = NULL;
    tfd_status_clear(&s->status);
}

void tfd_step_free(struct tfd_step *s)
{
    tfd_exec_uncount(s->exec, tfd_step_size(s));
    for (int32_t i = 0; i < s->exec->frame_count; i++) {
        while (s->free_iters[i]) {
            struct tfd_iter *it = s->free_iters[i];

            s->free_iters[i] = it->next;
            tfd_iter_free(it);
        }
        while (s->free_frames[i])
            tfd_frame_pop_free(&s->free_frames[i]);
    }
    tfd_iter_free(s->root);
    tfd_step_drop_names(s);
    tfd_cond_deinit(&s->cancel_left);
    tfd_lock_deinit(&s->cancel_lock);
    tfd_lock_deinit(&s->lock);
    free(s);
}
