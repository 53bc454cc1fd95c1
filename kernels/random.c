/*
 * random.c - RandomUniform, RandomUniformInt, RandomStandardNormal and
 * TruncatedNormal: TensorFlow's streams, bit for bit (random_fill.h).
 *
 * A node's stream goes on from step to step, in all graphs of its session that
 * have the node: the state is shared (TFD_KERNEL_SHARED).
 */
#include "kernels/check.h"
#include "kernels/families.h"
#include "kernels/random_fill.h"

struct stream {
    struct tfd_philox_source source;
    const struct tfd_random_rule *rule;
};

static enum tfd_code stream_prepare(const struct tfd_prepare *p, void *state,
                                    enum tfd_random_kind kind,
                                    struct tfd_status *st)
{
    struct stream *s = state;
    int64_t seed, seed2;

    TFD_TRY(tfd_node_int(p->node, "seed", &seed, st));
    TFD_TRY(tfd_node_int(p->node, "seed2", &seed2, st));
    s->rule = tfd_random_rule_find(kind, (enum tfd_dtype)p->node->out_types[0]);
    if (!s->rule)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "%s of type %s",
                        p->node->op->name.data,
                        tfd_dtype_name(p->node->out_types[0]));
    return tfd_philox_source_init(&s->source, seed, seed2, st);
}

#define PREPARE(name, kind)                                                 \
    static enum tfd_code name##_prepare(const struct tfd_prepare *p,        \
                                        void *state, struct tfd_status *st) \
    {                                                                       \
        return stream_prepare(p, state, TFD_RANDOM_##kind, st);             \
    }

PREPARE(uniform, UNIFORM)
PREPARE(uniform_int, UNIFORM_INT)
PREPARE(normal, NORMAL)
PREPARE(truncated, TRUNCATED_NORMAL)

static enum tfd_code fill(struct tfd_kctx *k, struct tfd_random_fill *f,
                          struct tfd_status *st)
{
    struct stream *s = k->state;
    struct tfd_shape shape;

    TFD_TRY(tfd_check_shape(k, 0, false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    f->size = tfd_shape_elements(&shape);
    f->out = tfd_tensor_data(&k->out[0]);
    if (f->size == 0)
        return TFD_OK;
    f->generator = tfd_philox_reserve(&s->source, f->size);
    tfd_kctx_parallel(k, tfd_random_groups(s->rule, f->size),
                      s->rule->group_cost_ns, s->rule->fill, f);
    return TFD_OK;
}

static enum tfd_code float_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};

    return fill(k, &f, st);
}

static enum tfd_code int_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};
    struct tfd_shape shape;

    TFD_TRY(tfd_check_shape(k, 0, false, &shape, st));
    TFD_TRY(tfd_check_int(k, 1, &f.lo, st));
    TFD_TRY(tfd_check_int(k, 2, &f.hi, st));
    if (f.lo >= f.hi && tfd_shape_elements(&shape) > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Need minval < maxval, got %lld >= %lld",
                        (long long)f.lo, (long long)f.hi);
    return fill(k, &f, st);
}

static enum tfd_code value_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[0])
        return tfd_check_shape_value(s->value[0], false, &s->out[0], st);
    return TFD_OK;
}

#define RANDOM_OP(name_)                                                 \
    {                                                                    \
        .name = name_, .inputs = "shape: T", .outputs = "output: dtype", \
        .attrs = "seed: int = 0; seed2: int = 0; "                       \
                 "dtype: {half, bfloat16, float, double}; "              \
                 "T: {int32, int64}",                                    \
        .checks = "shape: vector", .key = "dtype", .shape = value_shape, \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                   \
    }

static const struct tfd_opdef ops[] = {
    RANDOM_OP("RandomUniform"),
    RANDOM_OP("RandomStandardNormal"),
    RANDOM_OP("TruncatedNormal"),
    {
        .name = "RandomUniformInt",
        .inputs = "shape: T, minval: Tout, maxval: Tout",
        .outputs = "output: Tout",
        .attrs = "seed: int = 0; seed2: int = 0; Tout: {int32, int64}; "
                 "T: {int32, int64}",
        .checks = "shape: vector; minval: scalar; maxval: scalar",
        .key = "Tout",
        .shape = value_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define RANDOM_KERNEL(op, compute, prepare_)            \
    TFD_KERNEL_ANY(op, compute, .prepare = prepare_,    \
                   .state_size = sizeof(struct stream), \
                   .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    RANDOM_KERNEL("RandomUniform", float_compute, uniform_prepare),
    RANDOM_KERNEL("RandomStandardNormal", float_compute, normal_prepare),
    RANDOM_KERNEL("TruncatedNormal", float_compute, truncated_prepare),
    RANDOM_KERNEL("RandomUniformInt", int_compute, uniform_int_prepare),
};

const struct tfd_family tfd_family_random = {
    .name = "random",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
