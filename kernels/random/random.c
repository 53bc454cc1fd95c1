/*
 * random.c - tensors of random numbers: TensorFlow's streams, bit for bit
 * (random_fill.h).
 *
 *     RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal
 *     StatelessRandomUniform StatelessRandomUniformInt
 *     StatelessRandomUniformFullInt
 *     StatelessRandomNormal StatelessTruncatedNormal, and their V2
 *     StatelessRandomGetKeyCounter StatelessRandomGetAlg
 *     StatelessRandomGetKeyCounterAlg
 *
 * What distinguishes the kernels is where the generator comes from
 * (random_stream.h): the node's stream; seeds, input 1; or key, counter and
 * algorithm, inputs 1 to 3.  Bounds of integers are the inputs after that.
 */
#include "kernels/random/random.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"

static enum tfd_code find_rule(const struct tfd_node *n,
                               enum tfd_random_kind kind,
                               const struct tfd_random_rule **rule,
                               struct tfd_status *st)
{
    *rule = tfd_random_rule_find(kind, (enum tfd_dtype)n->out_types[0]);
    if (!*rule)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "%s of type %s",
                        n->op->name.data, tfd_dtype_name(n->out_types[0]));
    return TFD_OK;
}

static enum tfd_code stream_prepare(const struct tfd_prepare *p, void *state,
                                    enum tfd_random_kind kind,
                                    struct tfd_status *st)
{
    struct tfd_random_state *s = state;

    TFD_TRY(find_rule(p->node, kind, &s->rule, st));
    return tfd_random_stream_init(p, &s->source, st);
}

static enum tfd_code stateless_prepare(const struct tfd_prepare *p, void *state,
                                       enum tfd_random_kind kind,
                                       struct tfd_status *st)
{
    struct tfd_random_state *s = state;

    return find_rule(p->node, kind, &s->rule, st);
}

#define STREAM(name, kind)                                                  \
    static enum tfd_code name##_prepare(const struct tfd_prepare *p,        \
                                        void *state, struct tfd_status *st) \
    {                                                                       \
        return stream_prepare(p, state, TFD_RANDOM_##kind, st);             \
    }
#define STATELESS(name, kind)                                                 \
    static enum tfd_code name##_stateless(const struct tfd_prepare *p,        \
                                          void *state, struct tfd_status *st) \
    {                                                                         \
        return stateless_prepare(p, state, TFD_RANDOM_##kind, st);            \
    }

STREAM(uniform, UNIFORM)
STREAM(uniform_int, UNIFORM_INT)
STREAM(normal, NORMAL)
STREAM(truncated, TRUNCATED_NORMAL)
STATELESS(uniform, UNIFORM)
STATELESS(uniform_int, UNIFORM_INT)
STATELESS(full_int, FULL_INT)
STATELESS(normal, NORMAL)
STATELESS(truncated, TRUNCATED_NORMAL)

/* ---- Filling ------------------------------------------------------------- */

static enum tfd_code make_output(struct tfd_kctx *k, struct tfd_random_fill *f,
                                 struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_check_shape(k, 0, false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    f->size = tfd_shape_elements(&shape);
    f->out = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}

/* Inputs `arg` and `arg` + 1; need not make sense where nothing is drawn. */
static enum tfd_code read_bounds(struct tfd_kctx *k, int arg,
                                 struct tfd_random_fill *f,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, arg, &f->lo, st));
    TFD_TRY(tfd_check_int(k, arg + 1, &f->hi, st));
    if (f->lo >= f->hi && f->size > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Need minval < maxval, got %lld >= %lld",
                        (long long)f->lo, (long long)f->hi);
    return TFD_OK;
}

enum tfd_code tfd_random_begin(struct tfd_kctx *k, enum tfd_random_from from,
                               bool bounded, struct tfd_random_fill *f,
                               struct tfd_status *st)
{
    static const int first_bound[] = {1, 2, 4};

    TFD_TRY(make_output(k, f, st));
    if (from == TFD_RANDOM_FROM_SEEDS)
        TFD_TRY(tfd_random_seeds(k, 1, &f->generator, st));
    if (from == TFD_RANDOM_FROM_KEY)
        TFD_TRY(tfd_random_key_check(k, 1, f->size, st));
    if (bounded)
        TFD_TRY(read_bounds(k, first_bound[from], f, st));
    if (from == TFD_RANDOM_FROM_STREAM && f->size > 0)
        f->generator = tfd_philox_reserve(
            &((struct tfd_random_state *)k->state)->source, f->size);
    return TFD_OK;
}

static enum tfd_code compute_random(struct tfd_kctx *k,
                                    enum tfd_random_from from, bool bounded,
                                    struct tfd_status *st)
{
    const struct tfd_random_rule *rule =
        ((const struct tfd_random_state *)k->state)->rule;
    struct tfd_random_fill f = {.size = 0};

    TFD_TRY(tfd_random_begin(k, from, bounded, &f, st));
    if (from == TFD_RANDOM_FROM_KEY)
        f.generator = tfd_random_keyed(tfd_tensor_data(&k->in[1]),
                                       tfd_tensor_data(&k->in[2]));
    tfd_kctx_parallel(k, tfd_random_groups(rule, f.size), rule->group_cost_ns,
                      rule->fill, &f);
    return TFD_OK;
}

#define COMPUTE(name, from, bounded)                                     \
    static enum tfd_code name(struct tfd_kctx *k, struct tfd_status *st) \
    {                                                                    \
        return compute_random(k, TFD_RANDOM_FROM_##from, bounded, st);   \
    }

COMPUTE(float_compute, STREAM, false)
COMPUTE(int_compute, STREAM, true)
COMPUTE(seeded_compute, SEEDS, false)
COMPUTE(seeded_int_compute, SEEDS, true)
COMPUTE(keyed_compute, KEY, false)
COMPUTE(keyed_int_compute, KEY, true)

/* ---- Keys ---------------------------------------------------------------- */

static enum tfd_code algorithm_output(struct tfd_kctx *k, int out,
                                      struct tfd_status *st)
{
    const struct tfd_shape scalar = {.rank = 0};

    TFD_TRY(tfd_kctx_output(k, out, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[out]) = TFD_RANDOM_PHILOX;
    return TFD_OK;
}

static enum tfd_code algorithm_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    return algorithm_output(k, 0, st);
}

static enum tfd_code key_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape one = {1, {1}}, two = {1, {2}};
    struct tfd_philox g;
    uint64_t *counter;

    TFD_TRY(tfd_random_seeds(k, 0, &g, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_UINT64, &one, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_UINT64, &two, st));
    *(uint64_t *)tfd_tensor_data(&k->out[0]) = g.key[0] | (uint64_t)g.key[1]
                                                              << 32;
    counter = tfd_tensor_data(&k->out[1]);
    counter[0] = g.counter[0] | (uint64_t)g.counter[1] << 32;
    counter[1] = g.counter[2] | (uint64_t)g.counter[3] << 32;
    return k->out_count > 2 ? algorithm_output(k, 2, st) : TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code value_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    if (s->value && s->value[0])
        return tfd_check_shape_value(s->value[0], false, &s->out[0], st);
    return TFD_OK;
}

static enum tfd_code key_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {1}};
    s->out[1] = (struct tfd_shape){1, {2}};
    if (s->out_count > 2)
        s->out[2] = (struct tfd_shape){.rank = 0};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define SHAPE_VECTOR \
    "shape: vector 'shape must be a vector of {int32,int64}, got shape %s'"

#define FLOATS "{half, bfloat16, float, double}"
#define INTS "{int32, int64}"
#define ALL_INTS "{int32, int64, uint32, uint64}"

#define RANDOM_OP(name_)                                                       \
    {                                                                          \
        .name = name_, .inputs = "shape: T", .outputs = "output: dtype",       \
        .attrs = "seed: int = 0; seed2: int = 0; dtype: " FLOATS "; T: " INTS, \
        .checks = SHAPE_VECTOR, .key = "dtype", .shape = value_shape,          \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                         \
    }

#define STATELESS_OP(name_, more, types, seeds)                       \
    {                                                                 \
        .name = name_, .inputs = "shape: T, seed: Tseed" more,        \
        .outputs = "output: dtype",                                   \
        .attrs = "dtype: " types "; T: {int32, int64} = DT_INT32; "   \
                 "Tseed: " seeds " = DT_INT64",                       \
        .key = "dtype", .checks = SHAPE_VECTOR, .shape = value_shape, \
        .flags = TFD_OP_NO_GRADIENT,                                  \
    }

#define STATELESS_V2_OP(name_, more, types, checks_)                    \
    {                                                                   \
        .name = name_,                                                  \
        .inputs = "shape: Tshape, key: uint64, counter: uint64, "       \
                  "alg: int32" more,                                    \
        .outputs = "output: dtype",                                     \
        .attrs = "dtype: " types "; Tshape: {int32, int64} = DT_INT32", \
        .key = "dtype", .checks = checks_, .shape = value_shape,        \
        .flags = TFD_OP_NO_GRADIENT,                                    \
    }

#define SCALAR_BOUNDS                                                    \
    SHAPE_VECTOR "; minval: scalar 'minval must be 0-D, got shape %s'; " \
                 "maxval: scalar 'maxval must be 0-D, got shape %s'"

static const struct tfd_opdef ops[] = {
    RANDOM_OP("RandomUniform"),
    RANDOM_OP("RandomStandardNormal"),
    RANDOM_OP("TruncatedNormal"),
    {
        .name = "RandomUniformInt",
        .inputs = "shape: T, minval: Tout, maxval: Tout",
        .outputs = "output: Tout",
        .attrs = "seed: int = 0; seed2: int = 0; Tout: " INTS "; T: " INTS,
        .checks = SCALAR_BOUNDS,
        .key = "Tout",
        .shape = value_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    STATELESS_OP("StatelessRandomUniform", "", FLOATS " = DT_FLOAT", INTS),
    STATELESS_OP("StatelessRandomNormal", "", FLOATS " = DT_FLOAT", INTS),
    STATELESS_OP("StatelessTruncatedNormal", "", FLOATS " = DT_FLOAT", INTS),
    STATELESS_OP("StatelessRandomUniformFullInt", "", ALL_INTS " = DT_UINT64",
                 ALL_INTS),
    {
        .name = "StatelessRandomUniformInt",
        .inputs = "shape: T, seed: Tseed, minval: dtype, maxval: dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: " INTS "; T: " INTS "; Tseed: " INTS " = DT_INT64",
        .checks = SCALAR_BOUNDS,
        .key = "dtype",
        .shape = value_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    STATELESS_V2_OP("StatelessRandomUniformV2", "", FLOATS " = DT_FLOAT",
                    SHAPE_VECTOR),
    STATELESS_V2_OP("StatelessRandomNormalV2", "", FLOATS " = DT_FLOAT",
                    SHAPE_VECTOR),
    STATELESS_V2_OP("StatelessTruncatedNormalV2", "", FLOATS " = DT_FLOAT",
                    SHAPE_VECTOR),
    STATELESS_V2_OP("StatelessRandomUniformIntV2",
                    ", minval: dtype, maxval: dtype", ALL_INTS, SCALAR_BOUNDS),
    STATELESS_V2_OP("StatelessRandomUniformFullIntV2", "",
                    ALL_INTS " = DT_UINT64", SHAPE_VECTOR),
    {
        .name = "StatelessRandomGetKeyCounter",
        .inputs = "seed: Tseed",
        .outputs = "key: uint64, counter: uint64",
        .attrs = "Tseed: " INTS " = DT_INT64",
        .key = "Tseed",
        .shape = key_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StatelessRandomGetKeyCounterAlg",
        .inputs = "seed: Tseed",
        .outputs = "key: uint64, counter: uint64, alg: int32",
        .attrs = "Tseed: " INTS " = DT_INT64",
        .key = "Tseed",
        .shape = key_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StatelessRandomGetAlg",
        .outputs = "alg: int32",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define RANDOM_KERNEL(op, compute, prepare_)                      \
    TFD_KERNEL_ANY(op, compute, .prepare = prepare_,              \
                   .state_size = sizeof(struct tfd_random_state), \
                   .flags = TFD_KERNEL_SHARED)
#define STATELESS_KERNEL(op, compute, prepare_)      \
    TFD_KERNEL_ANY(op, compute, .prepare = prepare_, \
                   .state_size = sizeof(struct tfd_random_state))

static const struct tfd_kernel kernels[] = {
    RANDOM_KERNEL("RandomUniform", float_compute, uniform_prepare),
    RANDOM_KERNEL("RandomStandardNormal", float_compute, normal_prepare),
    RANDOM_KERNEL("TruncatedNormal", float_compute, truncated_prepare),
    RANDOM_KERNEL("RandomUniformInt", int_compute, uniform_int_prepare),
    STATELESS_KERNEL("StatelessRandomUniform", seeded_compute,
                     uniform_stateless),
    STATELESS_KERNEL("StatelessRandomNormal", seeded_compute, normal_stateless),
    STATELESS_KERNEL("StatelessTruncatedNormal", seeded_compute,
                     truncated_stateless),
    STATELESS_KERNEL("StatelessRandomUniformFullInt", seeded_compute,
                     full_int_stateless),
    STATELESS_KERNEL("StatelessRandomUniformInt", seeded_int_compute,
                     uniform_int_stateless),
    STATELESS_KERNEL("StatelessRandomUniformV2", keyed_compute,
                     uniform_stateless),
    STATELESS_KERNEL("StatelessRandomNormalV2", keyed_compute,
                     normal_stateless),
    STATELESS_KERNEL("StatelessTruncatedNormalV2", keyed_compute,
                     truncated_stateless),
    STATELESS_KERNEL("StatelessRandomUniformIntV2", keyed_int_compute,
                     uniform_int_stateless),
    STATELESS_KERNEL("StatelessRandomUniformFullIntV2", keyed_compute,
                     full_int_stateless),
    TFD_KERNEL_ANY("StatelessRandomGetKeyCounter", key_compute),
    TFD_KERNEL_ANY("StatelessRandomGetKeyCounterAlg", key_compute),
    TFD_KERNEL_ANY("StatelessRandomGetAlg", algorithm_compute),
};

const struct tfd_family tfd_family_random = {
    .name = "random",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
