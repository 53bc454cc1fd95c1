/*
 * models.h - the networks that nets.c measures: what a step of their training
 * is, on data that stays where the step runs.
 *
 *     mlp       784 - 128 - 10, Relu, Adagrad of 0.1
 *     cnn       two convolutions of 5 x 5 (16 and 32 channels) with maxima of
 *               2 x 2, 128 - 10; momentum 0.9, rate 0.02
 *     resnet50  50 layers in blocks of 1 x 1, 3 x 3, 1 x 1 with a shortcut
 *               (He et al., "Deep residual learning for image recognition",
 *               table 1), the stride in the 3 x 3; momentum 0.9, rate 0.1
 *
 * TF_BFLOAT16: convolutions, products and what lies between them are bfloat16;
 * variables, the moments of a batch and the loss stay float.  Images are
 * [batch, side, side, channels].  Initial values come from fixed seeds, so two
 * runtimes train the same network on the same data.
 */
#ifndef TFD_TESTS_BENCH_MODELS_H
#define TFD_TESTS_BENCH_MODELS_H

#include <tfd/train.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define UPDATES_MAX 128
#define SEED 8
#define NORM_EPSILON 1e-5f
#define NORM_FACTOR 0.1f /* of the new in a moving average */

struct net {
    TFD_Scope *s;
    TF_Status *st;
    TF_DataType type;
    int batch, side;
    int seed;                           /* of the last random values */
    TF_Operation *updates[UPDATES_MAX]; /* of moving averages */
    int update_count;
    TF_Output loss;
    TF_Operation *step;
};

/* ---- Pieces -------------------------------------------------------------- */

static TF_Output cast_to(const struct net *n, TF_Output x, TF_DataType to)
{
    TFD_Attr type = TFD_AttrType("DstT", to);

    return TFD_Op(n->s, "Cast", NULL, &x, 1, &type, 1, n->st);
}

/* A float in the type that the network computes with. */
static TF_Output narrowed(const struct net *n, TF_Output x)
{
    return n->type == TF_FLOAT ? x : cast_to(n, x, n->type);
}

static TF_Output read(const struct net *n, const TFD_Variable *v)
{
    return narrowed(n, TFD_Read(v));
}

static TF_Output ints(const struct net *n, const int32_t *values, int count)
{
    return TFD_ConstInts(n->s, NULL, values, count, n->st);
}

static TF_Output reshaped(const struct net *n, TF_Output x,
                          const int32_t *shape, int rank)
{
    return TFD_Op2(n->s, "Reshape", x, ints(n, shape, rank), n->st);
}

static TF_Output scaled_by(const struct net *n, TF_Output x, float factor)
{
    return TFD_Op2(n->s, "Mul", x, TFD_ConstFloat(n->s, NULL, factor, n->st),
                   n->st);
}

static const char *named(char *out, size_t size, const char *scope,
                         const char *name)
{
    snprintf(out, size, "%s/%s", scope, name);
    return out;
}

/* in: inputs of a unit; Relu takes half of what they bring away. */
static TFD_Variable *weights(struct net *n, const char *scope,
                             const int32_t *shape, int rank, int in)
{
    const TFD_Attr attrs[] = {TFD_AttrType("dtype", TF_FLOAT),
                              TFD_AttrInt("seed", SEED),
                              TFD_AttrInt("seed2", ++n->seed)};
    TF_Output dims = ints(n, shape, rank), x;
    char name[96];

    x = TFD_Op(n->s, "TruncatedNormal", NULL, &dims, 1, attrs, 3, n->st);
    x = scaled_by(n, x, sqrtf(2.0f / (float)in));
    return TFD_NewVariable(n->s, named(name, sizeof(name), scope, "weights"), x,
                           TFD_TRAINABLE, n->st);
}

/* A vector of equal values. */
static TFD_Variable *vector(const struct net *n, const char *scope,
                            const char *name, int32_t width, float value,
                            int flags)
{
    TF_Output x = TFD_Op2(n->s, "Fill", ints(n, &width, 1),
                          TFD_ConstFloat(n->s, NULL, value, n->st), n->st);
    char full[96];

    return TFD_NewVariable(n->s, named(full, sizeof(full), scope, name), x,
                           flags, n->st);
}

static TF_Output relu(const struct net *n, TF_Output x)
{
    return TFD_Op1(n->s, "Relu", x, n->st);
}

static TF_Output biased(const struct net *n, const char *scope, TF_Output x,
                        int32_t width)
{
    TFD_Variable *b = vector(n, scope, "biases", width, 0, TFD_TRAINABLE);

    return TFD_Op2(n->s, "BiasAdd", x, read(n, b), n->st);
}

static TF_Output dense(struct net *n, const char *scope, TF_Output x,
                       int32_t in, int32_t out)
{
    const int32_t shape[] = {in, out};
    TFD_Variable *w = weights(n, scope, shape, 2, in);

    x = TFD_Op2(n->s, "MatMul", x, read(n, w), n->st);
    return biased(n, scope, x, out);
}

struct window {
    int32_t size, stride;
};

static TF_Output convolved(struct net *n, const char *scope, TF_Output x,
                           int32_t in, int32_t out, struct window w)
{
    const int32_t shape[] = {w.size, w.size, in, out};
    const int64_t strides[] = {1, w.stride, w.stride, 1};
    const TFD_Attr attrs[] = {TFD_AttrInts("strides", strides, 4),
                              TFD_AttrString("padding", "SAME")};
    TFD_Variable *v = weights(n, scope, shape, 4, w.size * w.size * in);
    const TF_Output args[] = {x, read(n, v)};

    return TFD_Op(n->s, "Conv2D", NULL, args, 2, attrs, 2, n->st);
}

static TF_Output maxima(const struct net *n, TF_Output x, struct window w)
{
    const int64_t size[] = {1, w.size, w.size, 1};
    const int64_t strides[] = {1, w.stride, w.stride, 1};
    const TFD_Attr attrs[] = {TFD_AttrInts("ksize", size, 4),
                              TFD_AttrInts("strides", strides, 4),
                              TFD_AttrString("padding", "SAME")};

    return TFD_Op(n->s, "MaxPool", NULL, &x, 1, attrs, 3, n->st);
}

/* The outputs of a training batch norm are the moved averages. */
static void update(struct net *n, const TFD_Variable *v, TF_Output value)
{
    const TF_Output args[] = {TFD_Handle(v), value};
    TF_Operation *op =
        TFD_Op(n->s, "AssignVariableOp", NULL, args, 2, NULL, 0, n->st).oper;

    if (n->update_count < UPDATES_MAX)
        n->updates[n->update_count++] = op;
}

static TF_Output normalised(struct net *n, const char *scope, TF_Output x,
                            int32_t channels)
{
    const TFD_Attr attrs[] = {
        TFD_AttrFloat("epsilon", NORM_EPSILON),
        TFD_AttrFloat("exponential_avg_factor", NORM_FACTOR)};
    TFD_Variable *gamma = vector(n, scope, "gamma", channels, 1, TFD_TRAINABLE);
    TFD_Variable *beta = vector(n, scope, "beta", channels, 0, TFD_TRAINABLE);
    TFD_Variable *mean = vector(n, scope, "moving_mean", channels, 0, 0);
    TFD_Variable *variance =
        vector(n, scope, "moving_variance", channels, 1, 0);
    const TF_Output args[] = {x, TFD_Read(gamma), TFD_Read(beta),
                              TFD_Read(mean), TFD_Read(variance)};
    TF_Output y =
        TFD_Op(n->s, "FusedBatchNormV3", NULL, args, 5, attrs, 2, n->st);

    update(n, mean, (TF_Output){y.oper, 1});
    update(n, variance, (TF_Output){y.oper, 2});
    return y;
}

/* ---- Networks ------------------------------------------------------------ */

#define HIDDEN 128

static TF_Output mlp(struct net *n, TF_Output x)
{
    const int32_t pixels = n->side * n->side, flat[] = {n->batch, pixels};

    x = relu(n, dense(n, "hidden", reshaped(n, x, flat, 2), pixels, HIDDEN));
    return dense(n, "output", x, HIDDEN, 10);
}

static TF_Output cnn(struct net *n, TF_Output x)
{
    const struct window five = {5, 1}, two = {2, 2};
    const int32_t left = (n->side + 3) / 4, features = left * left * 32;
    const int32_t flat[] = {n->batch, features};

    x = biased(n, "first", convolved(n, "first", x, 1, 16, five), 16);
    x = maxima(n, relu(n, x), two);
    x = biased(n, "second", convolved(n, "second", x, 16, 32, five), 32);
    x = maxima(n, relu(n, x), two);
    x = relu(n, dense(n, "hidden", reshaped(n, x, flat, 2), features, HIDDEN));
    return dense(n, "output", x, HIDDEN, 10);
}

/* A convolution and its norm. */
static TF_Output unit(struct net *n, const char *block, const char *name,
                      TF_Output x, int32_t in, int32_t out, struct window w)
{
    char scope[64];

    named(scope, sizeof(scope), block, name);
    x = convolved(n, scope, x, in, out, w);
    return normalised(n, scope, x, out);
}

/* width: channels of the middle; in and 4 * width: of both ends. */
static TF_Output bottleneck(struct net *n, const char *block, TF_Output x,
                            int32_t in, int32_t width, int32_t stride)
{
    const struct window one = {1, 1}, three = {3, stride};
    const struct window across = {1, stride};
    TF_Output shortcut = x, y;

    y = relu(n, unit(n, block, "a", x, in, width, one));
    y = relu(n, unit(n, block, "b", y, width, width, three));
    y = unit(n, block, "c", y, width, 4 * width, one);
    if (in != 4 * width)
        shortcut = unit(n, block, "shortcut", x, in, 4 * width, across);
    return relu(n, TFD_Op2(n->s, "AddV2", y, shortcut, n->st));
}

static TF_Output resnet50(struct net *n, TF_Output x)
{
    static const int blocks[] = {3, 4, 6, 3};
    const struct window seven = {7, 2}, three = {3, 2};
    const int32_t places[] = {1, 2};
    int32_t channels = 64;
    char name[32];

    x = relu(n, unit(n, "stem", "a", x, 3, channels, seven));
    x = maxima(n, x, three);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            int32_t width = 64 << stage;

            snprintf(name, sizeof(name), "stage_%d/block_%d", stage, i);
            x = bottleneck(n, name, x, channels, width,
                           stage > 0 && i == 0 ? 2 : 1);
            channels = 4 * width;
        }
    x = TFD_Op2(n->s, "Mean", x, ints(n, places, 2), n->st);
    return dense(n, "output", x, channels, 1000);
}

static const struct model {
    const char *name;
    TF_Output (*logits)(struct net *n, TF_Output images);
    int side, channels, classes;
    const char *optimizer;
    float rate;
} models[] = {
    {"mlp", mlp, 28, 1, 10, "Adagrad", 0.1f},
    {"cnn", cnn, 28, 1, 10, "Momentum", 0.02f},
    {"resnet50", resnet50, 224, 3, 1000, "Momentum", 0.1f},
};

/* ---- A step -------------------------------------------------------------- */

static TF_Output images_of(struct net *n, int32_t channels)
{
    const int32_t shape[] = {n->batch, n->side, n->side, channels};
    const TFD_Attr attrs[] = {TFD_AttrType("dtype", TF_FLOAT),
                              TFD_AttrInt("seed", SEED),
                              TFD_AttrInt("seed2", ++n->seed)};
    TF_Output dims = ints(n, shape, 4), x;

    x = TFD_Op(n->s, "RandomUniform", NULL, &dims, 1, attrs, 3, n->st);
    return TFD_Read(TFD_NewVariable(n->s, "images", x, TFD_LOCAL, n->st));
}

static TF_Output labels_of(struct net *n, int classes)
{
    const int32_t shape = n->batch;
    const TFD_Attr attrs[] = {TFD_AttrInt("seed", SEED),
                              TFD_AttrInt("seed2", ++n->seed)};
    const TF_Output args[] = {
        ints(n, &shape, 1), TFD_ConstInt(n->s, NULL, TF_INT64, 0, n->st),
        TFD_ConstInt(n->s, NULL, TF_INT64, classes, n->st)};
    TF_Output x =
        TFD_Op(n->s, "RandomUniformInt", NULL, args, 3, attrs, 2, n->st);

    return TFD_Read(TFD_NewVariable(n->s, "labels", x, TFD_LOCAL, n->st));
}

static TF_Output loss_of(const struct net *n, TF_Output y, TF_Output labels)
{
    const int32_t axis = 0;

    if (n->type != TF_FLOAT)
        y = cast_to(n, y, TF_FLOAT);
    y = TFD_Op2(n->s, "SparseSoftmaxCrossEntropyWithLogits", y, labels, n->st);
    return TFD_Op2(n->s, "Mean", y, ints(n, &axis, 1), n->st);
}

/* n: scope, status, type, batch and side (0: the model's) are set. */
static void add_model(struct net *n, const struct model *m)
{
    TF_Output x, labels;

    if (!n->side)
        n->side = m->side;
    x = narrowed(n, images_of(n, m->channels));
    labels = labels_of(n, m->classes);
    n->loss = loss_of(n, m->logits(n, x), labels);
    TFD_Collect(n->s, "losses", n->loss, n->st);
    n->step = TFD_Minimize(n->s, m->optimizer, m->rate, n->loss, n->st);
    n->updates[n->update_count++] = n->step;
    n->step = TFD_Group(n->s, "step", n->updates, n->update_count, n->st);
    TFD_CollectOp(n->s, "step", n->step, n->st);
}

#endif
