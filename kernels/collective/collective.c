/*
 * collective.c - the ops of collectives: reduce, gather, broadcast, all to all.
 *
 * Those of the first version have their keys as attributes, those of the second
 * (V2) as inputs, of the third (V3) by a communicator (communicator.c).  How
 * members find and reach each other is the worker's (core/collective_member.h);
 * how a value is passed on, ring.c, tree.c and all_to_all.c.
 *
 * communication_hint is read by nobody: there is one way for tensors of a CPU.
 * ordering_token keeps calls in order by being an input.
 */
#include "kernels/collective/collective_node.h"

#include "kernels/core/check.h"
#include "kernels/core/runtime.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Nodes --------------------------------------------------------------- */

#define SUBDIVS_MAX 256

static const char *merge_op_of(struct tfd_str name)
{
    if (tfd_str_is(name, "Min"))
        return "Minimum";
    if (tfd_str_is(name, "Max"))
        return "Maximum";
    return tfd_str_is(name, "Mul") ? "Mul" : "AddV2";
}

static enum tfd_code find_loop(const struct tfd_prepare *p, const char *op,
                               enum tfd_dtype dtype, tfd_range_fn **out,
                               struct tfd_status *st)
{
    *out = p->loop ? p->loop(op, dtype) : NULL;
    if (*out)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED, "%s of %s cannot be a collective",
                    op, tfd_dtype_name((int)dtype));
}

enum tfd_code tfd_collective_read(const struct tfd_prepare *p,
                                  struct tfd_collective_state *s,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_node_type(p->node, "T", &s->dtype, st));
    return tfd_node_float(p->node, "timeout_seconds", &s->timeout_s, st);
}

enum tfd_code tfd_collective_read_merge(const struct tfd_prepare *p,
                                        const char *merge_attr,
                                        const char *final_attr,
                                        struct tfd_collective_state *s,
                                        struct tfd_status *st)
{
    struct tfd_str name;

    TFD_TRY(tfd_node_str(p->node, merge_attr, &name, st));
    TFD_TRY(find_loop(p, merge_op_of(name), s->dtype, &s->merge, st));
    if (!final_attr)
        return TFD_OK;
    TFD_TRY(tfd_node_str(p->node, final_attr, &name, st));
    if (tfd_str_is(name, "Id"))
        return TFD_OK;
    return find_loop(p, "Div", s->dtype, &s->divide, st);
}

static enum tfd_code read_key(const struct tfd_node *n, const char *name,
                              int32_t *out, struct tfd_status *st)
{
    int64_t value;

    TFD_TRY(tfd_node_int(n, name, &value, st));
    *out = (int32_t)value;
    if (*out == value)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "attribute %s is %" PRId64 ", which is no int32", name,
                    value);
}

static enum tfd_code check_group_size(int32_t size, struct tfd_status *st)
{
    if (size > 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "group_size must be positive integer but got %d",
                    (int)size);
}

static enum tfd_code prepare_first(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct tfd_collective_state *s = state;

    TFD_TRY(tfd_collective_read(p, s, st));
    TFD_TRY(read_key(p->node, "group_size", &s->group_size, st));
    TFD_TRY(check_group_size(s->group_size, st));
    TFD_TRY(read_key(p->node, "group_key", &s->group_key, st));
    return read_key(p->node, "instance_key", &s->instance_key, st);
}

static enum tfd_code prepare_reduce(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct tfd_collective_state *s = state;

    TFD_TRY(prepare_first(p, state, st));
    TFD_TRY(tfd_collective_read_merge(p, "merge_op", "final_op", s, st));
    s->subdiv = calloc(SUBDIVS_MAX, sizeof(*s->subdiv));
    if (!s->subdiv)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a node");
    return tfd_node_ints(p->node, "subdiv_offsets", s->subdiv, SUBDIVS_MAX,
                         &s->subdiv_count, st);
}

static void release_reduce(void *state)
{
    free(((struct tfd_collective_state *)state)->subdiv);
}

static enum tfd_code prepare_broadcast(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct tfd_collective_state *s = state;

    TFD_TRY(prepare_first(p, state, st));
    TFD_TRY(tfd_node_shape(p->node, "shape", &s->shape, st));
    if (tfd_shape_elements(&s->shape) >= 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "attribute shape is not fully known");
}

static enum tfd_code prepare_second(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_collective_read(p, state, st);
}

static enum tfd_code prepare_reduce2(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_collective_state *s = state;

    TFD_TRY(tfd_collective_read(p, s, st));
    TFD_TRY(tfd_collective_read_merge(p, "merge_op", "final_op", s, st));
    TFD_TRY(
        tfd_node_int(p->node, "max_subdivs_per_device", &s->max_subdivs, st));
    s->finds_subdivs = s->max_subdivs != -1;
    return TFD_OK;
}

/* ---- Starts -------------------------------------------------------------- */

static struct tfd_collective_spec first_spec(const struct tfd_kctx *k,
                                             enum tfd_collective_type type)
{
    const struct tfd_collective_state *s = k->state;

    return (struct tfd_collective_spec){
        .type = type,
        .group_key = s->group_key,
        .group_size = s->group_size,
        .instance_key = s->instance_key,
        .dtype = s->dtype,
        .timeout_s = s->timeout_s,
    };
}

static enum tfd_code read_scalar(const struct tfd_kctx *k, int in,
                                 const char *name, int32_t *out,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unexpected dimensions on input %s, got %s", name,
                        tfd_shape_text(&t->shape, text));
    *out = *(const int32_t *)tfd_tensor_data(t);
    return TFD_OK;
}

/* The three keys are inputs from `in` on. */
static enum tfd_code second_spec(const struct tfd_kctx *k,
                                 enum tfd_collective_type type, int in,
                                 struct tfd_collective_spec *spec,
                                 struct tfd_status *st)
{
    *spec = first_spec(k, type);
    TFD_TRY(read_scalar(k, in, "group_size", &spec->group_size, st));
    TFD_TRY(read_scalar(k, in + 1, "group_key", &spec->group_key, st));
    TFD_TRY(read_scalar(k, in + 2, "instance_key", &spec->instance_key, st));
    return check_group_size(spec->group_size, st);
}

enum tfd_code tfd_collective_gathered(const struct tfd_tensor *in, int32_t size,
                                      struct tfd_shape *out,
                                      struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX];

    if (in->shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input should have rank > 0, received %d",
                        in->shape.rank);
    for (int i = 0; i < in->shape.rank; i++)
        dim[i] = in->shape.dim[i];
    if (__builtin_mul_overflow(dim[0], (int64_t)size, &dim[0]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d members with %" PRId64 " rows each are too many",
                        (int)size, in->shape.dim[0]);
    return tfd_shape_make(out, dim, in->shape.rank, st);
}

void tfd_collective_begin(struct tfd_kctx *k,
                          const struct tfd_collective_spec *spec,
                          tfd_collective_run_fn *run,
                          const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        tfd_collective_start(k, spec, run);
    else
        tfd_kctx_finish(k, st);
}

static void reduce_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec = first_spec(k, TFD_COLLECTIVE_REDUCE);

    spec.shape = k->in[0].shape;
    tfd_collective_begin(k, &spec, tfd_collective_reduce, &st);
}

static void gather_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec = first_spec(k, TFD_COLLECTIVE_GATHER);

    (void)!tfd_collective_gathered(&k->in[0], spec.group_size, &spec.shape,
                                   &st);
    tfd_collective_begin(k, &spec, tfd_collective_gather, &st);
}

static void send_start(struct tfd_kctx *k)
{
    const struct tfd_collective_state *s = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec = first_spec(k, TFD_COLLECTIVE_BROADCAST);

    spec.shape = s->shape;
    spec.is_source = true;
    if (!tfd_shape_equal(&s->shape, &k->in[0].shape))
        tfd_fail(&st, TFD_INTERNAL,
                 "Declared shape of op " TFD_STR_FMT
                 ": Broadcast(1) does not match shape of input",
                 TFD_STR_ARG(k->node->name));
    tfd_collective_begin(k, &spec, tfd_collective_broadcast, &st);
}

static void recv_start(struct tfd_kctx *k)
{
    const struct tfd_collective_state *s = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec = first_spec(k, TFD_COLLECTIVE_BROADCAST);

    spec.shape = s->shape;
    tfd_collective_begin(k, &spec, tfd_collective_broadcast, &st);
}

static void reduce2_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!second_spec(k, TFD_COLLECTIVE_REDUCE, 1, &spec, &st);
    spec.shape = k->in[0].shape;
    tfd_collective_begin(k, &spec, tfd_collective_reduce, &st);
}

static void gather2_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    if (second_spec(k, TFD_COLLECTIVE_GATHER, 1, &spec, &st) == TFD_OK)
        (void)!tfd_collective_gathered(&k->in[0], spec.group_size, &spec.shape,
                                       &st);
    tfd_collective_begin(k, &spec, tfd_collective_gather, &st);
}

static void send2_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!second_spec(k, TFD_COLLECTIVE_BROADCAST, 1, &spec, &st);
    spec.shape = k->in[0].shape;
    spec.is_source = true;
    tfd_collective_begin(k, &spec, tfd_collective_broadcast, &st);
}

static void recv2_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    if (second_spec(k, TFD_COLLECTIVE_BROADCAST, 0, &spec, &st) == TFD_OK)
        (void)!tfd_check_shape(k, 3, false, &spec.shape, &st);
    tfd_collective_begin(k, &spec, tfd_collective_broadcast, &st);
}

static void all_to_all2_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!second_spec(k, TFD_COLLECTIVE_ALL_TO_ALL, 1, &spec, &st);
    spec.shape = k->in[0].shape;
    tfd_collective_begin(k, &spec, tfd_collective_all_to_all, &st);
}

/* TensorFlow has no way for tensors of a CPU either. */
static enum tfd_code scatter(struct tfd_collective *c, struct tfd_status *st)
{
    (void)c;
    return tfd_fail(st, TFD_INTERNAL,
                    "CollectiveRegistry::Lookup did not find collective "
                    "implementation undef");
}

static void scatter_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_collective_spec spec;

    (void)!second_spec(k, TFD_COLLECTIVE_REDUCE, 1, &spec, &st);
    tfd_collective_begin(k, &spec, scatter, &st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code attr_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return s->node ? tfd_node_shape(s->node, "shape", &s->out[0], st) : TFD_OK;
}

static enum tfd_code recv2_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (!s->value || !s->value[3])
        return TFD_OK;
    return tfd_check_shape_value(s->value[3], false, &s->out[0], st);
}

static enum tfd_code gather2_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[0];
    if (s->out[0].rank > 0 && s->out[0].rank <= TFD_RANK_MAX)
        s->out[0].dim[0] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

/* ---- The family ---------------------------------------------------------- */

#define REDUCED "{bfloat16, float, half, double, int32, int64}"
#define GATHERED "{float, half, double, int32, int64}"
#define SENT "{bool, float, half, double, int32, int64}"
#define HINTS \
    "; communication_hint: string = 'auto'; timeout_seconds: float = 0"
#define KEYS "; group_size: int; group_key: int; instance_key: int"
#define KEY_INPUTS "group_size: int32, group_key: int32, instance_key: int32"
#define TOKENS ", ordering_token: Nordering_token * resource"
#define TOKEN_ATTRS \
    "; is_stateless: bool = false; Nordering_token: int >= 0 = 0"
#define OPS "merge_op: {'Min', 'Max', 'Mul', 'Add'}; final_op: {'Id', 'Div'}"

#define OP(name_, inputs_, attrs_, shape_)                             \
    {                                                                  \
        .name = (name_), .inputs = (inputs_), .outputs = "data: T",    \
        .attrs = (attrs_), .shape = (shape_), .flags = TFD_OP_STATEFUL \
    }

static const struct tfd_opdef ops[] = {
    OP("CollectiveReduce", "input: T",
       "T: " REDUCED KEYS "; " OPS
       "; subdiv_offsets: list(int); wait_for: list(int) = []" HINTS,
       tfd_shape_same),
    OP("CollectiveGather", "input: T",
       "T: " GATHERED KEYS "; shape: shape" HINTS, NULL),
    OP("CollectiveBcastSend", "input: T",
       "T: " SENT KEYS "; shape: shape" HINTS, attr_shape),
    OP("CollectiveBcastRecv", "", "T: " SENT KEYS "; shape: shape" HINTS,
       attr_shape),
    OP("CollectiveReduceV2", "input: T, " KEY_INPUTS TOKENS,
       "T: " REDUCED "; " OPS HINTS TOKEN_ATTRS
       "; max_subdivs_per_device: int = -1",
       tfd_shape_like_first),
    OP("CollectiveGatherV2", "input: T, " KEY_INPUTS TOKENS,
       "T: " GATHERED HINTS TOKEN_ATTRS, gather2_shape),
    OP("CollectiveBcastSendV2", "input: T, " KEY_INPUTS, "T: " SENT HINTS,
       tfd_shape_like_first),
    OP("CollectiveBcastRecvV2", KEY_INPUTS ", shape: Tshape",
       "T: " SENT "; Tshape: {int32, int64} = DT_INT32" HINTS, recv2_shape),
    OP("CollectiveAllToAllV2", "input: T, " KEY_INPUTS TOKENS,
       "T: " REDUCED HINTS TOKEN_ATTRS, tfd_shape_like_first),
    OP("CollectiveReduceScatterV2", "input: T, " KEY_INPUTS TOKENS,
       "T: " REDUCED "; " OPS HINTS TOKEN_ATTRS
       "; max_subdivs_per_device: int = -1",
       NULL),
};

#define KERNEL(op_, start_, prepare_, release_)                \
    {                                                          \
        .op = (op_), .device = TFD_CPU, .prepare = (prepare_), \
        .release = (release_), .start = (start_),              \
        .state_size = sizeof(struct tfd_collective_state),     \
        .flags = TFD_KERNEL_WAITS                              \
    }

static const struct tfd_kernel kernels[] = {
    KERNEL("CollectiveReduce", reduce_start, prepare_reduce, release_reduce),
    KERNEL("CollectiveGather", gather_start, prepare_first, NULL),
    KERNEL("CollectiveBcastSend", send_start, prepare_broadcast, NULL),
    KERNEL("CollectiveBcastRecv", recv_start, prepare_broadcast, NULL),
    KERNEL("CollectiveReduceV2", reduce2_start, prepare_reduce2, NULL),
    KERNEL("CollectiveGatherV2", gather2_start, prepare_second, NULL),
    KERNEL("CollectiveBcastSendV2", send2_start, prepare_second, NULL),
    KERNEL("CollectiveBcastRecvV2", recv2_start, prepare_second, NULL),
    KERNEL("CollectiveAllToAllV2", all_to_all2_start, prepare_second, NULL),
    KERNEL("CollectiveReduceScatterV2", scatter_start, prepare_second, NULL),
};

const struct tfd_family tfd_family_collective = {
    .name = "collective",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
