/*
 * cumulative.c - Cumsum, Cumprod: running sums and products along an axis.
 *
 * The tensor is [outer][count][inner].  Each step folds a run of `inner`
 * elements into the one before it; threads share the outer dimension, and where
 * that is short the inner one.
 */
#include "common/half.h"
#include "kernels/check.h"
#include "kernels/complex_math.h"
#include "kernels/families.h"
#include "kernels/gradient.h"

struct state {
    bool exclusive, reverse;
};

struct job {
    const void *x;
    void *y;
    int64_t count, inner;
    int64_t outer;
    int64_t from, to; /* of `inner`: this thread's */
    struct state how;
};

/* begin and end count outer runs. */
#define LOOP(name, T, identity, function)                                \
    static void name(void *arg, int64_t begin, int64_t end)              \
    {                                                                    \
        const struct job *j = arg;                                       \
        const T none = identity;                                         \
        int64_t size = j->count * j->inner;                              \
        int64_t step = j->how.reverse ? -j->inner : j->inner;            \
                                                                         \
        for (int64_t o = begin; o < end; o++) {                          \
            int64_t first = o * size + (step < 0 ? size - j->inner : 0); \
            const T *x = (const T *)j->x + first;                        \
            T *y = (T *)j->y + first;                                    \
                                                                         \
            for (int64_t n = j->from; n < j->to; n++)                    \
                y[n] = j->how.exclusive ? none : x[n];                   \
            for (int64_t i = 1; i < j->count; i++) {                     \
                const T *by = j->how.exclusive ? x : x + step;           \
                                                                         \
                for (int64_t n = j->from; n < j->to; n++)                \
                    (y + step)[n] = function(y[n], by[n]);               \
                x += step;                                               \
                y += step;                                               \
            }                                                            \
        }                                                                \
    }

#define PLAIN_ADD(a, b) ((a) + (b))
#define PLAIN_MUL(a, b) ((a) * (b))

#define INT_LOOPS(name, number, T)             \
    static inline T add_##name(T a, T b)       \
    {                                          \
        return (T)((uint64_t)a + (uint64_t)b); \
    }                                          \
    static inline T mul_##name(T a, T b)       \
    {                                          \
        return (T)((uint64_t)a * (uint64_t)b); \
    }                                          \
    LOOP(sum_##name, T, 0, add_##name)         \
    LOOP(prod_##name, T, 1, mul_##name)

#define FLOAT_LOOPS(name, number, T)  \
    LOOP(sum_##name, T, 0, PLAIN_ADD) \
    LOOP(prod_##name, T, 1, PLAIN_MUL)

#define HALF_LOOPS(name, number, T)                               \
    static inline T add_##name(T a, T b)                          \
    {                                                             \
        return T##_from_float(T##_to_float(a) + T##_to_float(b)); \
    }                                                             \
    static inline T mul_##name(T a, T b)                          \
    {                                                             \
        return T##_from_float(T##_to_float(a) * T##_to_float(b)); \
    }                                                             \
    LOOP(sum_##name, T, 0, add_##name)                            \
    LOOP(prod_##name, T, T##_from_float(1), mul_##name)

#define ZERO \
    {        \
        0, 0 \
    }
#define ONE  \
    {        \
        1, 0 \
    }
#define COMPLEX_LOOPS(name, number, T) \
    LOOP(sum_##name, T, ZERO, T##_add) \
    LOOP(prod_##name, T, ONE, T##_mul)

TFD_INT_DTYPES(INT_LOOPS)
TFD_FLOAT_DTYPES(FLOAT_LOOPS)
TFD_HALF_DTYPES(HALF_LOOPS)
TFD_COMPLEX_DTYPES(COMPLEX_LOOPS)

/* ---- Running ------------------------------------------------------------- */

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "exclusive", &s->exclusive, st));
    return tfd_node_bool(p->node, "reverse", &s->reverse, st);
}

struct columns {
    const struct job *job;
    tfd_range_fn *loop;
};

static void run_columns(void *arg, int64_t begin, int64_t end)
{
    const struct columns *c = arg;
    struct job job = *c->job;

    job.from = begin;
    job.to = end;
    c->loop(&job, 0, job.outer);
}

/* Nanoseconds of one run; the numbers are only for sharing the work. */
static int run_cost(int64_t elements)
{
    return elements < 1000000 ? (int)elements + 1 : 1000000;
}

static enum tfd_code cumulate(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct job j = {.inner = 1, .outer = 1, .how = *(struct state *)k->state};
    struct columns c = {&j, k->kernel->range};
    int64_t axis;
    int at;

    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ScanOp: axis must be a scalar");
    TFD_TRY(tfd_check_int(k, 1, &axis, st));
    if (axis < -x->rank || axis >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ScanOp: Expected scan axis in the range [%d, %d), but "
                        "got %lld",
                        -x->rank, x->rank, (long long)axis);
    at = (int)(axis < 0 ? axis + x->rank : axis);
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, x, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    for (int d = 0; d < x->rank; d++)
        if (d != at)
            *(d < at ? &j.outer : &j.inner) *= x->dim[d];
    j.count = x->dim[at];
    j.to = j.inner;
    j.x = tfd_tensor_data(&k->in[0]);
    j.y = tfd_tensor_data(&k->out[0]);
    if (j.outer > j.inner)
        tfd_kctx_parallel(k, j.outer, run_cost(j.count * j.inner), c.loop, &j);
    else
        tfd_kctx_parallel(k, j.inner, run_cost(j.count * j.outer), run_columns,
                          &c);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The running sum the other way round. */
static struct tfd_edge sum_back(struct tfd_gradient *b, struct tfd_edge x)
{
    const struct tfd_edge in[] = {x, b->g->x[1]};
    const char *flags[3] = {NULL};
    bool exclusive = false, reverse = false;
    int count = 0;

    if (tfd_node_bool(b->g->node, "exclusive", &exclusive, b->st) != TFD_OK ||
        tfd_node_bool(b->g->node, "reverse", &reverse, b->st) != TFD_OK)
        return TFD_EDGE_NONE;
    if (exclusive)
        flags[count++] = "exclusive";
    if (!reverse)
        flags[count] = "reverse";
    return tfd_gradient_op_flags(b, "Cumsum", in, 2, flags);
}

static enum tfd_code sum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = sum_back(&b, g->dy[0]);
    return b.code;
}

static enum tfd_code prod_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge product = tfd_gradient_op2(&b, "Mul", g->y[0], g->dy[0]);

    g->dx[0] = tfd_gradient_op2(&b, "DivNoNan", sum_back(&b, product), g->x[0]);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(op, gradient)                                               \
    {                                                                  \
        .name = op, .inputs = "x: T, axis: Tidx", .outputs = "out: T", \
        .attrs = "exclusive: bool = false; "                           \
                 "reverse: bool = false; T: numbertype; "              \
                 "Tidx: {int32, int64} = DT_INT32",                    \
        .shape = tfd_shape_like_first, .grad = gradient,               \
    }

static const struct tfd_opdef ops[] = {
    OP("Cumsum", sum_gradient),
    OP("Cumprod", prod_gradient),
};

#define ROW(op, name, loop)                                  \
    TFD_KERNEL(op, name, cumulate, loop, .prepare = prepare, \
               .state_size = sizeof(struct state))

#define ROWS(name, number, T) \
    ROW("Cumsum", name, sum_##name), ROW("Cumprod", name, prod_##name),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ROWS) TFD_HALF_DTYPES(ROWS) TFD_COMPLEX_DTYPES(ROWS)};

const struct tfd_family tfd_family_cumulative = {
    .name = "cumulative",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
