/*
 * communicator.c - communicators: a member's view of a group, made once, which
 * numbers the collectives that it is used for; and the ops that use one.
 *
 * Members run their collectives in the same order, so that the same one has the
 * same number with each.
 */
#include "common/base/container.h"
#include "kernels/collective/collective_node.h"
#include "kernels/core/check.h"
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct communicator {
    struct tfd_resource resource;
    int32_t group_key, group_size;
    int next; /* atomic: instance key */
};

static void communicator_free(struct tfd_resource *r)
{
    free(TFD_CONTAINER_OF(r, struct communicator, resource));
}

static const struct tfd_resource_type type = {
    .name = "N10tensorflow12_GLOBAL__N_123CollectiveGroupResourceE",
    .what = "communicator",
    .free = communicator_free,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code read_one(const struct tfd_kctx *k, int in,
                              const char *name, int32_t *out,
                              struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[in].shape.rank > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unexpected dimensions on input %s. It shoulbe a "
                        "scalar, got tensor with shape %s",
                        name, tfd_shape_text(&k->in[in].shape, text));
    *out = *(const int32_t *)tfd_tensor_data(&k->in[in]);
    return TFD_OK;
}

struct request {
    int32_t group_key, rank, group_size;
};

static enum tfd_code read_request(const struct tfd_kctx *k, struct request *q,
                                  struct tfd_status *st)
{
    TFD_TRY(read_one(k, 2, "group_size", &q->group_size, st));
    TFD_TRY(read_one(k, 0, "group_key", &q->group_key, st));
    TFD_TRY(read_one(k, 1, "rank", &q->rank, st));
    if (q->group_size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "group_size must be positive integer but got %d",
                        (int)q->group_size);
    if (q->rank < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rank must be non-negative integer but got %d",
                        (int)q->rank);
    if (q->rank < q->group_size)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "rank must be less than group size but got %d >= %d",
                    (int)q->rank, (int)q->group_size);
}

static enum tfd_code make_communicator(void *arg, struct tfd_resource **out,
                                       struct tfd_status *st)
{
    const struct request *q = arg;
    struct communicator *c = calloc(1, sizeof(*c));

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a communicator");
    tfd_resource_init(&c->resource, &type);
    c->group_key = q->group_key;
    c->group_size = q->group_size;
    *out = &c->resource;
    return TFD_OK;
}

/* Output 0: the handle, by the name TensorFlow gives it. */
static enum tfd_code put_handle(struct tfd_kctx *k, struct request *q,
                                struct tfd_status *st)
{
    const struct tfd_str container = TFD_STR("collective_op_group");
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_handle **handle;
    struct tfd_resource *r;
    char name[40];

    snprintf(name, sizeof(name), "%d:r%04d", (int)q->group_key, (int)q->rank);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_RESOURCE, &scalar, st));
    TFD_TRY(tfd_rt_find_or_make(k->rt, container, tfd_str_of(name), &type,
                                make_communicator, q, &r, st));
    handle = tfd_tensor_data(&k->out[0]);
    *handle = tfd_handle_new(tfd_str_of(tfd_rt_device(k->rt)), container,
                             tfd_str_of(name), tfd_str_of(type.name), 0, st);
    if (*handle)
        (*handle)->cached = r;
    else
        tfd_resource_unref(r);
    return *handle ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* The group is complete: nothing is exchanged. */
static enum tfd_code all_are_here(struct tfd_collective *c,
                                  struct tfd_status *st)
{
    struct tfd_kctx *k = tfd_collective_kctx(c);
    struct request q;

    TFD_TRY(read_request(k, &q, st));
    return put_handle(k, &q, st);
}

static void communicator_start(struct tfd_kctx *k)
{
    const struct tfd_collective_state *s = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec = {.type = TFD_COLLECTIVE_REDUCE};
    struct request q = {.rank = 0};

    (void)!read_request(k, &q, &st);
    spec.group_key = q.group_key;
    spec.group_size = q.group_size;
    spec.timeout_s = s->timeout_s;
    tfd_collective_begin(k, &spec, all_are_here, &st);
}

static enum tfd_code communicator_prepare(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st)
{
    struct tfd_collective_state *s = state;

    return tfd_node_float(p->node, "timeout_seconds", &s->timeout_s, st);
}

/* ---- Using --------------------------------------------------------------- */

static enum tfd_code third_spec(struct tfd_kctx *k,
                                enum tfd_collective_type what,
                                struct tfd_collective_spec *spec,
                                struct tfd_status *st)
{
    const struct tfd_collective_state *s = k->state;
    struct tfd_resource *r;
    struct communicator *c;

    *spec = (struct tfd_collective_spec){
        .type = what,
        .dtype = s->dtype,
        .shape = k->in[0].shape,
        .timeout_s = s->timeout_s,
    };
    TFD_TRY(tfd_kctx_resource(k, 1, &type, &r, st));
    c = TFD_CONTAINER_OF(r, struct communicator, resource);
    spec->group_key = c->group_key;
    spec->group_size = c->group_size;
    if (tfd_tensor_elements(&k->in[2]) > 0)
        tfd_fail(st, TFD_UNIMPLEMENTED,
                 "Group assignments are not supported yet.");
    else
        spec->instance_key = TFD_COUNTER_TAKE(&c->next, 1);
    tfd_resource_unref(r);
    return st->code;
}

static void reduce3_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!third_spec(k, TFD_COLLECTIVE_REDUCE, &spec, &st);
    tfd_collective_begin(k, &spec, tfd_collective_reduce, &st);
}

static void all_to_all3_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!third_spec(k, TFD_COLLECTIVE_ALL_TO_ALL, &spec, &st);
    tfd_collective_begin(k, &spec, tfd_collective_all_to_all, &st);
}

static enum tfd_code reduce3_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    TFD_TRY(tfd_collective_read(p, state, st));
    return tfd_collective_read_merge(p, "reduction", NULL, state, st);
}

static enum tfd_code all_to_all3_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    return tfd_collective_read(p, state, st);
}

/* ---- The family ---------------------------------------------------------- */

#define TYPES "T: {bfloat16, float, half, double, int32, int64}"
#define USES "input: T, communicator: resource, group_assignment: int32"

static const struct tfd_opdef ops[] = {
    {
        .name = "CollectiveInitializeCommunicator",
        .inputs = "group_key: int32, rank: int32, group_size: int32",
        .outputs = "communicator: resource",
        .attrs = "communication_hint: string = 'auto'; "
                 "timeout_seconds: float = 0",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "CollectiveReduceV3",
        .inputs = USES,
        .outputs = "data: T",
        .attrs = TYPES "; reduction: {'Min', 'Max', 'Mul', 'Add'}; "
                       "timeout_seconds: float = 0",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "CollectiveAllToAllV3",
        .inputs = USES,
        .outputs = "data: T",
        .attrs = TYPES "; timeout_seconds: float = 0",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_STATEFUL,
    },
};

#define KERNEL(op_, start_, prepare_)                      \
    {                                                      \
        .op = (op_), .device = TFD_CPU, .start = (start_), \
        .prepare = (prepare_),                             \
        .state_size = sizeof(struct tfd_collective_state), \
        .flags = TFD_KERNEL_WAITS                          \
    }

static const struct tfd_kernel kernels[] = {
    KERNEL("CollectiveInitializeCommunicator", communicator_start,
           communicator_prepare),
    KERNEL("CollectiveReduceV3", reduce3_start, reduce3_prepare),
    KERNEL("CollectiveAllToAllV3", all_to_all3_start, all_to_all3_prepare),
};

const struct tfd_family tfd_family_communicator = {
    .name = "communicator",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
