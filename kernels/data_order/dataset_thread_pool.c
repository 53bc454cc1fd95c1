/*
 * dataset_thread_pool.c - ThreadPoolHandle, a number of threads by name, and
 * ThreadPoolDataset, whose elements are those of its input.
 *
 * Functions of all datasets run on the task's own threads, which are as many as
 * it has processors: a pool of a dataset's own is kept and checked, and changes
 * no element.
 */
#include "kernels/core/owner.h"
#include "kernels/data/data_table.h"

#include <stdlib.h>

struct thread_pool {
    struct tfd_resource resource;
    int64_t threads;
};

static void free_pool(struct tfd_resource *r)
{
    free(r);
}

static const struct tfd_resource_type pool_type = {
    .name = "N10tensorflow4data12experimental18ThreadPoolResourceE",
    .what = "thread pool",
    .free = free_pool,
};

/* ---- The handle ---------------------------------------------------------- */

struct pool_state {
    struct tfd_owner owner;
    int64_t threads;
};

static enum tfd_code pool_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct pool_state *s = state;

    TFD_TRY(tfd_owner_prepare(&s->owner, p, &pool_type, st));
    TFD_TRY(tfd_node_int(p->node, "num_threads", &s->threads, st));
    if (s->threads >= 0) /* 0: as many as there are */
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "`num_threads` must be >= 0");
}

static void pool_release(void *state)
{
    tfd_owner_release(&((struct pool_state *)state)->owner);
}

static enum tfd_code make_pool(void *arg, struct tfd_resource **out,
                               struct tfd_status *st)
{
    struct thread_pool *t = calloc(1, sizeof(*t));

    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a pool");
    tfd_resource_init(&t->resource, &pool_type);
    t->threads = ((const struct pool_state *)arg)->threads;
    *out = &t->resource;
    return TFD_OK;
}

static enum tfd_code pool_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct pool_state *s = k->state;

    return tfd_owner_output(k, &s->owner, make_pool, NULL, s, st);
}

/* ---- The dataset --------------------------------------------------------- */

struct pooled {
    struct tfd_dataset dataset;
    struct tfd_resource *pool;
};

static void pooled_release(struct tfd_dataset *d)
{
    if (((struct pooled *)d)->pool)
        tfd_resource_unref(((struct pooled *)d)->pool);
}

static enum tfd_code pooled_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    return tfd_data_next(it->input, out, end, st);
}

static int64_t pooled_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static const struct tfd_dataset_kind pooled_kind = {
    .name = "ThreadPool",
    .iterator_size = sizeof(struct tfd_data_iterator),
    .opens_input = true,
    .same_elements = true,
    .next = pooled_next,
    .cardinality = pooled_cardinality,
    .release = pooled_release,
};

static enum tfd_code pooled_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_resource *pool;
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(tfd_kctx_resource(k, 1, &pool_type, &pool, st));
    rc = tfd_dataset_make(k, &pooled_kind, sizeof(struct pooled), 1, &d, st);
    if (rc != TFD_OK) {
        tfd_resource_unref(pool);
        return rc;
    }
    ((struct pooled *)d)->pool = pool;
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define HANDLE_OP(name_)                                                 \
    {                                                                    \
        .name = (name_), .outputs = "handle: resource",                  \
        .attrs = "num_threads: int; max_intra_op_parallelism: int = 1; " \
                 "display_name: string; container: string = ''; "        \
                 "shared_name: string = ''",                             \
        .shape = tfd_shape_scalar,                                       \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                   \
    }
#define POOLED_OP(name_)                                                    \
    TFD_DATA_OP(name_, "input_dataset: variant, thread_pool: resource", "", \
                "", TFD_OP_STATEFUL)

static const struct tfd_opdef ops[] = {
    HANDLE_OP("ThreadPoolHandle"),
    HANDLE_OP("ExperimentalThreadPoolHandle"),
    POOLED_OP("ThreadPoolDataset"),
    POOLED_OP("ExperimentalThreadPoolDataset"),
};

#define HANDLE(name_)                                                          \
    TFD_KERNEL_ANY(                                                            \
        name_, pool_compute, .prepare = pool_prepare, .release = pool_release, \
        .state_size = sizeof(struct pool_state), .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    HANDLE("ThreadPoolHandle"),
    HANDLE("ExperimentalThreadPoolHandle"),
    TFD_DATA_KERNEL("ThreadPoolDataset", pooled_compute),
    TFD_DATA_KERNEL("ExperimentalThreadPoolDataset", pooled_compute),
};

TFD_DATA_FAMILY(dataset_thread_pool);
