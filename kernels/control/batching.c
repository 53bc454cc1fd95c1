/*
 * batching.c - Batch, Unbatch and its gradient, and BatchFunction; and the
 * kernel of the first, which the other files have none of.
 *
 * The last step of a batch gets all of its rows, the others get none; Unbatch
 * (unbatch.c) gives each its own again.
 */
#include "kernels/control/batch_function.h"
#include "kernels/control/batcher.h"
#include "kernels/control/unbatch.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

/* ---- What steps get ------------------------------------------------------ */

static enum tfd_code give_id(const struct tfd_batch_part *p,
                             struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor *out = &p->out[p->task->in_count + 1];

    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(out) = p->task->id;
    return TFD_OK;
}

/* For a step whose rows another one gets. */
static enum tfd_code give_nothing(const struct tfd_batch_part *p,
                                  struct tfd_status *st)
{
    static const struct tfd_shape none = {2, {0, 3}};
    const struct tfd_batch_task *t = p->task;

    for (int i = 0; i < t->in_count; i++) {
        struct tfd_shape shape = t->in[i].shape;

        shape.dim[0] = 0;
        TFD_TRY(tfd_tensor_new(&p->out[i], t->in[i].dtype, &shape, st));
    }
    TFD_TRY(tfd_tensor_new(&p->out[t->in_count], TFD_INT64, &none, st));
    return give_id(p, st);
}

static enum tfd_code give_index(const struct tfd_batch *x,
                                struct tfd_status *st)
{
    struct tfd_tensor *out = &x->last->out[x->last->task->in_count];
    struct tfd_shape shape = {2, {x->count, 3}};
    int64_t *row, at = 0;

    TFD_TRY(tfd_tensor_new(out, TFD_INT64, &shape, st));
    row = tfd_tensor_data(out);
    for (const struct tfd_batch_part *p = x->first; p; p = p->next, row += 3) {
        row[0] = p->task->id;
        row[1] = at;
        row[2] = at += p->rows;
    }
    return TFD_OK;
}

static enum tfd_code give_batch(const struct tfd_batch *x,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_batch_inputs(x, x->last->out, st));
    TFD_TRY(give_index(x, st));
    TFD_TRY(give_id(x->last, st));
    for (const struct tfd_batch_part *p = x->first; p != x->last; p = p->next)
        TFD_TRY(give_nothing(p, st));
    return TFD_OK;
}

/* TensorFlow tells a failure to the last step alone, and the others wait. */
static void process_batch(struct tfd_batch *x)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)!give_batch(x, &st);
    tfd_batch_end(x, &st);
}

/* ---- The node ------------------------------------------------------------ */

static const struct tfd_batch_kind batch_kind = {
    .type =
        {
            .name = "N10tensorflow12_GLOBAL__N_113BatchResourceE",
            .what = "batcher",
            .free = tfd_batcher_free,
        },
    .process = process_batch,
};

static void batch_start(struct tfd_kctx *k)
{
    tfd_batcher_start(k, k->state, &batch_kind, NULL, k->in_count);
}

static enum tfd_code batch_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->out_count != s->in_count + 2)
        return TFD_OK;
    for (int i = 0; i < s->in_count; i++) {
        if (s->in[i].rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Out of range dim_index 0 for shape with 0 "
                            "dimensions");
        s->out[i] = s->in[i];
        if (s->in[i].rank > 0)
            s->out[i].dim[0] = -1;
    }
    s->out[s->in_count] = (struct tfd_shape){2, {-1, 3}};
    s->out[s->in_count + 1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define NAMES "container: string = ''; shared_name: string = ''; "
#define BATCHES \
    "num_batch_threads: int; max_batch_size: int; batch_timeout_micros: int; "

static const struct tfd_opdef ops[] = {
    {
        .name = "Batch",
        .inputs = "in_tensors: T",
        .outputs = "batched_tensors: T, batch_index: int64, id: int64",
        .attrs = BATCHES "max_enqueued_batches: int = 10; "
                         "allowed_batch_sizes: list(int) = []; "
                         "grad_timeout_micros: int; " NAMES
                         "batching_queue: string = ''; T: list(type) >= 1",
        .shape = batch_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "Unbatch",
        .inputs = "batched_tensor: T, batch_index: int64, id: int64",
        .outputs = "unbatched_tensor: T",
        .attrs = "timeout_micros: int; " NAMES "T: type",
        .shape = tfd_unbatch_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "UnbatchGrad",
        .inputs = "original_input: T, batch_index: int64, grad: T, id: int64",
        .outputs = "batched_grad: T",
        .attrs = NAMES "T: type",
        .shape = tfd_unbatch_grad_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "BatchFunction",
        .inputs = "in_tensors: Tin, captured_tensors: Tcaptured",
        .outputs = "out_tensors: Tout",
        .attrs =
            "f: func; " BATCHES "max_enqueued_batches: int = 10; "
            "allowed_batch_sizes: list(int) = []; " NAMES
            "batching_queue: string = ''; "
            "low_priority_max_batch_size: int = 0; "
            "low_priority_batch_timeout_micros: int = 0; "
            "low_priority_allowed_batch_sizes: list(int) = []; "
            "low_priority_max_enqueued_batches: int = 0; "
            "mixed_priority_policy: "
            "{'low_priority_padding_with_max_batch_size', "
            "'low_priority_padding_with_next_allowed_batch_size', "
            "'priority_isolation', 'priority_merge'} = "
            "'low_priority_padding_with_max_batch_size'; "
            "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', "
            "'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'; "
            "Tin: list(type) >= 1; Tcaptured: list(type) >= 0; "
            "Tout: list(type) >= 1; enable_large_batch_splitting: bool = false",
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Batch", NULL, .start = batch_start,
                   .prepare = tfd_batch_prepare, .release = tfd_batch_release,
                   .state_size = sizeof(struct tfd_batch_choices),
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("Unbatch", NULL, .start = tfd_unbatch_start,
                   .prepare = tfd_unbatch_prepare,
                   .state_size = sizeof(struct tfd_unbatch_choices),
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("UnbatchGrad", NULL, .start = tfd_unbatch_grad_start,
                   .prepare = tfd_unbatch_grad_prepare,
                   .state_size = sizeof(struct tfd_unbatch_choices),
                   .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("BatchFunction", NULL, .start = tfd_batch_function_start,
                   .prepare = tfd_batch_function_prepare,
                   .release = tfd_batch_release,
                   .state_size = sizeof(struct tfd_batch_function),
                   .flags = TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_batching = {
    .name = "batching",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
