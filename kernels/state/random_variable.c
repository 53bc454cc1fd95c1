/*
 * random_variable.c - random numbers of a generator whose state is a variable,
 * as tf.random.Generator keeps one; bit for bit TensorFlow's (random_fill.h).
 *
 *     StatefulUniform StatefulUniformInt StatefulUniformFullInt
 *     StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal
 *     StatefulRandomBinomial RngSkip RngReadAndSkip
 *     NonDeterministicInts, whose generator is new each time
 *
 * The state is a vector of INT64, of which Philox takes the first three:
 *
 *     0, 1   counter, 128 bits
 *     2      key
 *
 * A run takes the generator as it is and leaves it 256 blocks further for each
 * element that it makes, whatever it really draws; both under the variable's
 * lock, so that steps which run at once have parts of the stream of their own.
 */
#include "kernels/random/random.h"
#include "kernels/random/random_binomial.h"

#include "common/base/entropy.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/state/variable.h"

#define STATE_WORDS 3
#define COUNTER_WORDS 2

/* An algorithm that XLA alone has. */
#define THREEFRY 2

/* ---- The generator ------------------------------------------------------- */

/* Input `arg`, of either type of integers. */
static enum tfd_code read_scalar(const struct tfd_kctx *k, int arg,
                                 int64_t *out, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[arg].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input %d (0-based) must have shape [], not %s", arg,
                        tfd_shape_text(&k->in[arg].shape, text));
    *out = tfd_check_int_at(&k->in[arg], 0);
    return TFD_OK;
}

static enum tfd_code check_algorithm(int64_t algorithm, struct tfd_status *st)
{
    if (algorithm == TFD_RANDOM_PHILOX || algorithm == TFD_RANDOM_AUTO)
        return TFD_OK;
    if (algorithm == THREEFRY)
        return tfd_fail(
            st, TFD_UNIMPLEMENTED,
            "Non-XLA devices don't support the ThreeFry algorithm.");
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unsupported algorithm id: %lld",
                    (long long)algorithm);
}

static enum tfd_code check_state(const struct tfd_variable *v,
                                 int64_t algorithm, struct tfd_status *st)
{
    const struct tfd_shape *shape = &v->value.shape;

    if (!v->initialized)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Attempting to use uninitialized value %s", v->name);
    if (v->dtype != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dtype of RNG state variable must be int64, not %s",
                        tfd_dtype_name((int)v->dtype));
    if (shape->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "RNG state must have one and only one dimension, not "
                        "%d",
                        (int)shape->rank);
    TFD_TRY(check_algorithm(algorithm, st));
    if (shape->dim[0] < STATE_WORDS)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "For the Philox algorithm, the size of state must be "
                        "at least %d; got %lld",
                        STATE_WORDS, (long long)shape->dim[0]);
    return TFD_OK;
}

/* Before anything else of those that draw. */
static enum tfd_code read_algorithm(const struct tfd_kctx *k, int64_t *out,
                                    struct tfd_status *st)
{
    TFD_TRY(read_scalar(k, 1, out, st));
    return *out == THREEFRY ? TFD_OK : check_algorithm(*out, st);
}

/* What a run wants of the state, and what it was before. */
struct taking {
    int64_t algorithm;
    uint64_t outputs; /* to leave out */
    struct tfd_philox generator;
    int64_t was[STATE_WORDS];
};

/* TensorFlow adds 32 bits at a time, and loses what is carried into the upper
 * half of the counter where the upper half of the number is all ones. */
static bool loses_carry(uint64_t counter, uint64_t blocks)
{
    return blocks >> 32 == UINT32_MAX &&
           (uint32_t)(counter + blocks) < (uint32_t)blocks;
}

static void leave_out(uint64_t *counter, struct tfd_philox g, uint64_t outputs)
{
    const uint64_t blocks = outputs * TFD_PHILOX_BLOCKS_PER_OUTPUT;
    const bool lost = loses_carry(counter[0], blocks);

    tfd_philox_skip(&g, blocks);
    counter[0] = g.counter[0] | (uint64_t)g.counter[1] << 32;
    if (!lost)
        counter[1] = g.counter[2] | (uint64_t)g.counter[3] << 32;
}

static enum tfd_code take_locked(struct tfd_variable *v, struct taking *t,
                                 struct tfd_status *st)
{
    uint64_t *words;

    TFD_TRY(check_state(v, t->algorithm, st));
    TFD_TRY(tfd_variable_writable(v, st));
    words = tfd_tensor_data(&v->value);
    for (int i = 0; i < STATE_WORDS; i++)
        t->was[i] = (int64_t)words[i];
    t->generator = tfd_random_keyed(&words[COUNTER_WORDS], words);
    leave_out(words, t->generator, t->outputs);
    return TFD_OK;
}

/* Of the variable at input 0. */
static enum tfd_code take_generator(struct tfd_kctx *k, struct taking *t,
                                    struct tfd_status *st)
{
    struct tfd_variable *v;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_variable(k, 0, &v, st));
    tfd_variables_lock(&v, 1);
    rc = take_locked(v, t, st);
    tfd_variables_unlock(&v, 1);
    tfd_resource_unref(&v->resource);
    return rc;
}

/* ---- Tensors ------------------------------------------------------------- */

/* Of the shape in input `arg`, whose type the op leaves open. */
static enum tfd_code make_drawn(struct tfd_kctx *k, int arg,
                                struct tfd_random_fill *f,
                                struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[arg];
    struct tfd_shape shape;

    if (in->dtype != TFD_INT32 && in->dtype != TFD_INT64)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape must be a vector of {int32,int64}.");
    TFD_TRY(tfd_check_shape(k, arg, false, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &shape,
                            st));
    f->size = tfd_shape_elements(&shape);
    f->out = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}

static void fill(struct tfd_kctx *k, struct tfd_random_fill *f)
{
    const struct tfd_random_rule *rule =
        ((const struct tfd_random_state *)k->state)->rule;

    tfd_kctx_parallel(k, tfd_random_groups(rule, f->size), rule->group_cost_ns,
                      rule->fill, f);
}

static enum tfd_code draw_from(struct tfd_kctx *k, int64_t algorithm,
                               int shape_arg, struct tfd_random_fill *f,
                               struct tfd_status *st)
{
    struct taking t = {.algorithm = algorithm};

    TFD_TRY(make_drawn(k, shape_arg, f, st));
    t.outputs = (uint64_t)f->size;
    TFD_TRY(take_generator(k, &t, st));
    f->generator = t.generator;
    fill(k, f);
    return TFD_OK;
}

static enum tfd_code plain_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};
    int64_t algorithm = 0;

    TFD_TRY(read_algorithm(k, &algorithm, st));
    return draw_from(k, algorithm, 2, &f, st);
}

static enum tfd_code philox_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};

    return draw_from(k, TFD_RANDOM_PHILOX, 1, &f, st);
}

static enum tfd_code bounded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};
    int64_t algorithm = 0;

    TFD_TRY(read_algorithm(k, &algorithm, st));
    TFD_TRY(tfd_check_int(k, 3, &f.lo, st));
    TFD_TRY(tfd_check_int(k, 4, &f.hi, st));
    if (f.lo >= f.hi)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Need minval < maxval, got %lld >= %lld",
                        (long long)f.lo, (long long)f.hi);
    return draw_from(k, algorithm, 2, &f, st);
}

static enum tfd_code unforeseen_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct tfd_random_fill f = {.size = 0};
    uint64_t seed[2];

    TFD_TRY(make_drawn(k, 0, &f, st));
    TFD_TRY(tfd_entropy_u64(&seed[0], st));
    TFD_TRY(tfd_entropy_u64(&seed[1], st));
    f.generator = tfd_philox_of(seed[0], seed[1]);
    fill(k, &f);
    return TFD_OK;
}

/* ---- Skipping ------------------------------------------------------------ */

static enum tfd_code skip(struct tfd_kctx *k, struct taking *t,
                          struct tfd_status *st)
{
    int64_t delta = 0;

    TFD_TRY(read_scalar(k, 1, &t->algorithm, st));
    TFD_TRY(read_scalar(k, 2, &delta, st));
    t->outputs = (uint64_t)delta;
    return take_generator(k, t, st);
}

static enum tfd_code skip_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct taking t = {.algorithm = 0};

    return skip(k, &t, st);
}

static enum tfd_code read_and_skip_compute(struct tfd_kctx *k,
                                           struct tfd_status *st)
{
    const struct tfd_shape words = {1, {STATE_WORDS}};
    struct taking t = {.algorithm = 0};
    int64_t *out;

    TFD_TRY(skip(k, &t, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &words, st));
    out = tfd_tensor_data(&k->out[0]);
    for (int i = 0; i < STATE_WORDS; i++)
        out[i] = t.was[i];
    return TFD_OK;
}

/* ---- Preparing and shapes ------------------------------------------------ */

#define PREPARE(name, kind)                                                 \
    static enum tfd_code name##_prepare(const struct tfd_prepare *p,        \
                                        void *state, struct tfd_status *st) \
    {                                                                       \
        return find_rule(p, state, TFD_RANDOM_##kind, st);                  \
    }

static enum tfd_code find_rule(const struct tfd_prepare *p, void *state,
                               enum tfd_random_kind kind, struct tfd_status *st)
{
    struct tfd_random_state *s = state;
    const struct tfd_node *n = p->node;

    s->rule = tfd_random_rule_find(kind, (enum tfd_dtype)n->out_types[0]);
    if (!s->rule)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "%s of type %s",
                        n->op->name.data, tfd_dtype_name(n->out_types[0]));
    return TFD_OK;
}

PREPARE(uniform, UNIFORM)
PREPARE(uniform_int, UNIFORM_INT)
PREPARE(full_int, FULL_INT)
PREPARE(normal, NORMAL)
PREPARE(truncated, TRUNCATED_NORMAL)

static enum tfd_code drawn_shape(struct tfd_shape_ctx *s, int arg,
                                 struct tfd_status *st)
{
    if (s->value && s->value[arg])
        return tfd_check_shape_value(s->value[arg], false, &s->out[0], st);
    return TFD_OK;
}

static enum tfd_code first_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return drawn_shape(s, 0, st);
}

static enum tfd_code second_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    return drawn_shape(s, 1, st);
}

static enum tfd_code third_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return drawn_shape(s, 2, st);
}

static enum tfd_code words_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {STATE_WORDS}};
    return TFD_OK;
}

/* ---- StatefulRandomBinomial -----------------------------------------------
 */

/* TensorFlow's guess of what is drawn. */
static uint64_t binomial_outputs(const struct tfd_binomial *b)
{
    return (uint64_t)b->count * 200 * ((uint64_t)b->samples + 3) / 4;
}

static enum tfd_code binomial_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_binomial b = {.shape_arg = 2, .counts_arg = 3};
    struct taking t = {.algorithm = 0};
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_binomial_begin(k, &b, st));
    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "algorithm must be of shape [], not %s",
                        tfd_shape_text(&k->in[1].shape, text));
    t.algorithm = tfd_check_int_at(&k->in[1], 0);
    if (t.algorithm != TFD_RANDOM_PHILOX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unsupported algorithm id: %lld",
                        (long long)t.algorithm);
    t.outputs = binomial_outputs(&b);
    TFD_TRY(take_generator(k, &t, st));
    return tfd_binomial_draw(k, &b, t.generator, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHAPE_VECTOR \
    "shape: vector 'shape must be a vector of {int32,int64}, got shape %s'"
#define SCALAR_BOUNDS                                     \
    "minval: scalar 'minval must be 0-D, got shape %s'; " \
    "maxval: scalar 'maxval must be 0-D, got shape %s'; " SHAPE_VECTOR

#define FLOATS "{half, bfloat16, float, double} = DT_FLOAT"
#define SHAPES "; shape_dtype: type = DT_INT64"
#define FLAGS (TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT)

#define VARIABLE_OP(name_, more, types, checks_)                             \
    {                                                                        \
        .name = name_,                                                       \
        .inputs =                                                            \
            "resource: resource, algorithm: int64, shape: shape_dtype" more, \
        .outputs = "output: dtype", .attrs = "dtype: " types SHAPES,         \
        .key = "dtype", .checks = checks_, .shape = third_shape,             \
        .flags = FLAGS,                                                      \
    }

static const struct tfd_opdef ops[] = {
    VARIABLE_OP("StatefulUniform", "", FLOATS, SHAPE_VECTOR),
    VARIABLE_OP("StatefulStandardNormalV2", "", FLOATS, SHAPE_VECTOR),
    VARIABLE_OP("StatefulTruncatedNormal", "", FLOATS, SHAPE_VECTOR),
    VARIABLE_OP("StatefulUniformInt", ", minval: dtype, maxval: dtype",
                "{int32, int64} = DT_INT64", SCALAR_BOUNDS),
    VARIABLE_OP("StatefulUniformFullInt", "",
                "{int32, int64, uint32, uint64} = DT_UINT64", SHAPE_VECTOR),
    {
        .name = "StatefulStandardNormal",
        .inputs = "resource: resource, shape: shape_dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: " FLOATS SHAPES,
        .key = "dtype",
        .checks = SHAPE_VECTOR,
        .shape = second_shape,
        .flags = FLAGS,
    },
    {
        .name = "StatefulRandomBinomial",
        .inputs = "resource: resource, algorithm: int64, shape: S, counts: T, "
                  "probs: T",
        .outputs = "output: dtype",
        .attrs = "S: {int32, int64}; "
                 "T: {half, float, double, int32, int64} = DT_DOUBLE; "
                 "dtype: {half, float, double, int32, int64} = DT_INT64",
        .key = "T",
        .shape = third_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "NonDeterministicInts",
        .inputs = "shape: shape_dtype",
        .outputs = "output: dtype",
        .attrs = "dtype: {int32, int64, uint32, uint64} = DT_INT64" SHAPES,
        .key = "dtype",
        .checks = SHAPE_VECTOR,
        .shape = first_shape,
        .flags = FLAGS,
    },
    {
        .name = "RngSkip",
        .inputs = "resource: resource, algorithm: int64, delta: int64",
        .flags = FLAGS,
    },
    {
        .name = "RngReadAndSkip",
        .inputs = "resource: resource, alg: int32, delta: uint64",
        .outputs = "value: int64",
        .shape = words_shape,
        .flags = FLAGS,
    },
};

#define DRAWING_KERNEL(op, compute, prepare_)        \
    TFD_KERNEL_ANY(op, compute, .prepare = prepare_, \
                   .state_size = sizeof(struct tfd_random_state))

static const struct tfd_kernel kernels[] = {
    DRAWING_KERNEL("StatefulUniform", plain_compute, uniform_prepare),
    DRAWING_KERNEL("StatefulUniformInt", bounded_compute, uniform_int_prepare),
    DRAWING_KERNEL("StatefulUniformFullInt", plain_compute, full_int_prepare),
    DRAWING_KERNEL("StatefulStandardNormal", philox_compute, normal_prepare),
    DRAWING_KERNEL("StatefulStandardNormalV2", plain_compute, normal_prepare),
    DRAWING_KERNEL("StatefulTruncatedNormal", plain_compute, truncated_prepare),
    DRAWING_KERNEL("NonDeterministicInts", unforeseen_compute,
                   full_int_prepare),
    TFD_KERNEL("StatefulRandomBinomial", HALF, binomial_compute),
    TFD_KERNEL("StatefulRandomBinomial", FLOAT, binomial_compute),
    TFD_KERNEL("StatefulRandomBinomial", DOUBLE, binomial_compute),
    TFD_KERNEL_ANY("RngSkip", skip_compute),
    TFD_KERNEL_ANY("RngReadAndSkip", read_and_skip_compute),
};

const struct tfd_family tfd_family_random_variable = {
    .name = "random_variable",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
