/*
 * model.c - writes the MetaGraphDef of a small network for MNIST.
 *
 *     model DATA_DIR OUTPUT.meta [mlp|cnn]
 *
 * mlp is two layers (784 - 128 - 10), trained by Adagrad.  cnn has two
 * convolutions of 5 x 5 (16 and 32 channels), each followed by maxima of 2 x 2,
 * before them; Momentum at a rate that falls with the global step, and images
 * that are moved a little each time they are seen.  Batches are of 100 random
 * images.  The graph reads the four original files itself: each worker
 * decompresses them once into local variables and gathers its batches from
 * there.  What is evaluated at the end is the accuracy over the 10,000 test
 * images.
 *
 *     ReadFile -> DecodeCompressed -> DecodeRaw -> Slice (the head) -> Reshape
 *         -> local variable -> GatherV2 (random rows) -> Cast -> MatMul ...
 */
#include <tfd/train.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS 784
#define HIDDEN 128
#define CLASSES 10
#define BATCH 100
#define LEARNING_RATE 0.1f
#define SIDE 28 /* of an image */
#define WINDOW 5
#define CHANNELS_1 16
#define CHANNELS_2 32
#define FEATURES (SIDE / 4 * (SIDE / 4) * CHANNELS_2)
/* Chosen by the accuracy on the last 5,000 training images after training on
 * the others, never by that on the test images. */
#define CNN_RATE 0.02f
#define RATE_STEPS 1500 /* in which the rate falls to 1 / e */
#define SHIFT 2         /* pixels that a batch is moved by, at most */

/* Heads of the IDX files: four big-endian numbers before images, two before
 * labels. */
#define IMAGES_HEAD 16
#define LABELS_HEAD 8

/* ---- Data ---------------------------------------------------------------- */

static TF_Output decompressed(TFD_Scope *s, const char *dir, const char *file,
                              TF_Status *st)
{
    TFD_Attr gzip = TFD_AttrString("compression_type", "GZIP");
    TFD_Attr bytes = TFD_AttrType("out_type", TF_UINT8);
    char path[4096];
    TF_Output x;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    x = TFD_Op1(s, "ReadFile", TFD_ConstString(s, NULL, path, st), st);
    x = TFD_Op(s, "DecodeCompressed", NULL, &x, 1, &gzip, 1, st);
    return TFD_Op(s, "DecodeRaw", NULL, &x, 1, &bytes, 1, st);
}

/* A local variable of this file's items, `width` bytes each. */
static TFD_Variable *data_set(TFD_Scope *s, const char *name, const char *dir,
                              const char *file, int head, int width,
                              TF_Status *st)
{
    const int32_t begin[] = {head}, all[] = {-1};
    const int32_t rows[] = {-1, width};
    TF_Output in[3], x;

    in[0] = decompressed(s, dir, file, st);
    in[1] = TFD_ConstInts(s, NULL, begin, 1, st);
    in[2] = TFD_ConstInts(s, NULL, all, 1, st);
    x = TFD_Op(s, "Slice", NULL, in, 3, NULL, 0, st);
    if (width > 1)
        x = TFD_Op2(s, "Reshape", x, TFD_ConstInts(s, NULL, rows, 2, st), st);
    return TFD_NewVariable(s, name, x, TFD_LOCAL, st);
}

static TF_Output rows_of(TFD_Scope *s, const TFD_Variable *data, TF_Output ids,
                         TF_Status *st)
{
    TF_Output in[3] = {TFD_Read(data), ids,
                       TFD_ConstInt(s, NULL, TF_INT32, 0, st)};

    return TFD_Op(s, "GatherV2", NULL, in, 3, NULL, 0, st);
}

static TF_Output cast(TFD_Scope *s, TF_Output x, TF_DataType to, TF_Status *st)
{
    TFD_Attr type = TFD_AttrType("DstT", to);

    return TFD_Op(s, "Cast", NULL, &x, 1, &type, 1, st);
}

/* Bytes to [0, 1]. */
static TF_Output scaled(TFD_Scope *s, TF_Output pixels, TF_Status *st)
{
    return TFD_Op2(s, "Mul", cast(s, pixels, TF_FLOAT, st),
                   TFD_ConstFloat(s, NULL, 1.0f / 255, st), st);
}

/* `count` of 0 ... limit - 1. */
static TF_Output random_ints(TFD_Scope *s, int count, int limit, TF_Status *st)
{
    const int32_t shape[] = {count};
    TF_Output in[3] = {TFD_ConstInts(s, NULL, shape, 1, st),
                       TFD_ConstInt(s, NULL, TF_INT32, 0, st),
                       TFD_ConstInt(s, NULL, TF_INT32, limit, st)};

    return TFD_Op(s, "RandomUniformInt", NULL, in, 3, NULL, 0, st);
}

/* The whole batch moved by up to SHIFT pixels across and down: a black border
 * around it, and a window of the old size out of that. */
static TF_Output shifted(TFD_Scope *s, TF_Output x, TF_Status *st)
{
    const int32_t batch[] = {BATCH, SIDE, SIDE}, sides[] = {0, 1, 1};
    const int32_t border[] = {0, 0, SHIFT, SHIFT, SHIFT, SHIFT};
    const int32_t pairs[] = {3, 2};
    TF_Output in[3];

    x = TFD_Op2(s, "Reshape", x, TFD_ConstInts(s, NULL, batch, 3, st), st);
    in[0] = TFD_Op2(s, "Reshape", TFD_ConstInts(s, NULL, border, 6, st),
                    TFD_ConstInts(s, NULL, pairs, 2, st), st);
    in[0] = TFD_Op2(s, "Pad", x, in[0], st);
    /* Every image is in the window, so it begins at the first. */
    in[1] = TFD_Op2(s, "Mul", random_ints(s, 3, 2 * SHIFT + 1, st),
                    TFD_ConstInts(s, NULL, sides, 3, st), st);
    in[2] = TFD_ConstInts(s, NULL, batch, 3, st);
    return TFD_Op(s, "Slice", NULL, in, 3, NULL, 0, st);
}

/* ---- The network --------------------------------------------------------- */

struct layer {
    TFD_Variable *weights, *biases;
};

struct network {
    bool convolutions;
    struct layer convolution[2], dense[2];
};

/* shape: of the weights; the biases have its last dimension.  in: inputs of a
 * unit. */
static struct layer new_layer(TFD_Scope *s, const char *name,
                              const int32_t *shape, int rank, int in,
                              TF_Status *st)
{
    const int32_t *width = &shape[rank - 1];
    TFD_Attr type = TFD_AttrType("dtype", TF_FLOAT);
    char weights[64], biases[64];
    TF_Output dims, initial, zeros;
    struct layer l;
    float deviation = sqrtf(2.0f / (float)in); /* Relu takes half of it away */

    snprintf(weights, sizeof(weights), "%s/weights", name);
    snprintf(biases, sizeof(biases), "%s/biases", name);
    dims = TFD_ConstInts(s, NULL, shape, rank, st);
    initial = TFD_Op(s, "TruncatedNormal", NULL, &dims, 1, &type, 1, st);
    initial =
        TFD_Op2(s, "Mul", initial, TFD_ConstFloat(s, NULL, deviation, st), st);
    l.weights = TFD_NewVariable(s, weights, initial, TFD_TRAINABLE, st);
    zeros = TFD_Op2(s, "Fill", TFD_ConstInts(s, NULL, width, 1, st),
                    TFD_ConstFloat(s, NULL, 0, st), st);
    l.biases = TFD_NewVariable(s, biases, zeros, TFD_TRAINABLE, st);
    return l;
}

static TF_Output apply(TFD_Scope *s, const struct layer *l, TF_Output x,
                       TF_Status *st)
{
    return TFD_Op2(s, "BiasAdd",
                   TFD_Op2(s, "MatMul", x, TFD_Read(l->weights), st),
                   TFD_Read(l->biases), st);
}

/* Convolution, biases, Relu, maxima of 2 x 2. */
static TF_Output convolve(TFD_Scope *s, const char *name, const struct layer *l,
                          TF_Output x, TF_Status *st)
{
    const int64_t one[] = {1, 1, 1, 1}, two[] = {1, 2, 2, 1};
    const TFD_Attr convolution[] = {TFD_AttrInts("strides", one, 4),
                                    TFD_AttrString("padding", "SAME")};
    const TFD_Attr maxima[] = {TFD_AttrInts("ksize", two, 4),
                               TFD_AttrInts("strides", two, 4),
                               TFD_AttrString("padding", "SAME")};
    TF_Output in[2] = {x, TFD_Read(l->weights)}, y;
    char pool[80];

    y = TFD_Op(s, "Conv2D", name, in, 2, convolution, 2, st);
    y = TFD_Op1(s, "Relu", TFD_Op2(s, "BiasAdd", y, TFD_Read(l->biases), st),
                st);
    snprintf(pool, sizeof(pool), "%s/pool", name);
    return TFD_Op(s, "MaxPool", pool, &y, 1, maxima, 3, st);
}

static void new_network(TFD_Scope *s, struct network *net, TF_Status *st)
{
    const int32_t first[] = {WINDOW, WINDOW, 1, CHANNELS_1};
    const int32_t second[] = {WINDOW, WINDOW, CHANNELS_1, CHANNELS_2};
    const int32_t inputs = net->convolutions ? FEATURES : PIXELS;
    const int32_t hidden[] = {inputs, HIDDEN}, output[] = {HIDDEN, CLASSES};

    if (net->convolutions) {
        net->convolution[0] =
            new_layer(s, "first", first, 4, WINDOW * WINDOW, st);
        net->convolution[1] =
            new_layer(s, "second", second, 4, WINDOW * WINDOW * CHANNELS_1, st);
    }
    net->dense[0] = new_layer(s, "hidden", hidden, 2, inputs, st);
    net->dense[1] = new_layer(s, "output", output, 2, HIDDEN, st);
}

/* use: a name for the nodes, training or evaluation. */
static TF_Output logits(TFD_Scope *s, const struct network *net,
                        const char *use, TF_Output x, TF_Status *st)
{
    const int32_t image[] = {-1, SIDE, SIDE, 1}, flat[] = {-1, FEATURES};
    char name[64];
    TF_Output y = x;

    if (net->convolutions)
        y = TFD_Op2(s, "Reshape", y, TFD_ConstInts(s, NULL, image, 4, st), st);
    for (int i = 0; net->convolutions && i < 2; i++) {
        snprintf(name, sizeof(name), "%s/convolution_%d", use, i);
        y = convolve(s, name, &net->convolution[i], y, st);
    }
    if (net->convolutions)
        y = TFD_Op2(s, "Reshape", y, TFD_ConstInts(s, NULL, flat, 2, st), st);
    y = TFD_Op1(s, "Relu", apply(s, &net->dense[0], y, st), st);
    return apply(s, &net->dense[1], y, st);
}

static TF_Output mean_loss(TFD_Scope *s, TF_Output y, TF_Output labels,
                           TF_Status *st)
{
    const int32_t axis[] = {0};
    TF_Output each =
        TFD_Op2(s, "SparseSoftmaxCrossEntropyWithLogits", y, labels, st);

    return TFD_Op2(s, "Mean", each, TFD_ConstInts(s, NULL, axis, 1, st), st);
}

static TF_Output accuracy(TFD_Scope *s, TF_Output y, TF_Output labels,
                          TF_Status *st)
{
    const int32_t axis[] = {0};
    TF_Output in[2] = {y, TFD_ConstInt(s, NULL, TF_INT32, 1, st)};
    TFD_Attr type = TFD_AttrType("output_type", TF_INT32);
    TF_Output guess = TFD_Op(s, "ArgMax", NULL, in, 2, &type, 1, st);
    TF_Output right =
        cast(s, TFD_Op2(s, "Equal", guess, labels, st), TF_FLOAT, st);

    in[0] = right;
    in[1] = TFD_ConstInts(s, NULL, axis, 1, st);
    return TFD_Op(s, "Mean", "accuracy", in, 2, NULL, 0, st);
}

/* CNN_RATE / e^(steps of all workers / RATE_STEPS): large steps at first, and
 * weights that have settled when they are evaluated. */
static TF_Output falling_rate(TFD_Scope *s, TF_Status *st)
{
    TF_Output x = cast(s, TFD_Read(TFD_GlobalStep(s, st)), TF_FLOAT, st);

    x = TFD_Op2(s, "Mul", x, TFD_ConstFloat(s, NULL, -1.0f / RATE_STEPS, st),
                st);
    return TFD_Op2(s, "Mul", TFD_Op1(s, "Exp", x, st),
                   TFD_ConstFloat(s, NULL, CNN_RATE, st), st);
}

static void build(TFD_Scope *s, struct network *net, const char *dir,
                  TF_Status *st)
{
    TFD_Variable *images =
        data_set(s, "train_images", dir, "train-images-idx3-ubyte.gz",
                 IMAGES_HEAD, PIXELS, st);
    TFD_Variable *labels =
        data_set(s, "train_labels", dir, "train-labels-idx1-ubyte.gz",
                 LABELS_HEAD, 1, st);
    TFD_Variable *test_images =
        data_set(s, "test_images", dir, "t10k-images-idx3-ubyte.gz",
                 IMAGES_HEAD, PIXELS, st);
    TFD_Variable *test_labels = data_set(
        s, "test_labels", dir, "t10k-labels-idx1-ubyte.gz", LABELS_HEAD, 1, st);
    TF_Output ids, x, y, loss;

    new_network(s, net, st);
    ids = random_ints(s, BATCH, 60000, st);
    x = scaled(s, rows_of(s, images, ids, st), st);
    if (net->convolutions)
        x = shifted(s, x, st);
    y = cast(s, rows_of(s, labels, ids, st), TF_INT32, st);
    loss = mean_loss(s, logits(s, net, "training", x, st), y, st);
    TFD_Collect(s, "losses", loss, st);
    if (net->convolutions)
        TFD_MinimizeAtRate(s, "Momentum", falling_rate(s, st), loss, st);
    else
        TFD_Minimize(s, "Adagrad", LEARNING_RATE, loss, st);

    x = scaled(s, TFD_Read(test_images), st);
    y = cast(s, TFD_Read(test_labels), TF_INT32, st);
    TFD_Collect(s, "tfd_eval",
                accuracy(s, logits(s, net, "evaluation", x, st), y, st), st);
    TFD_AddSaver(s, st);
}

static int write_file(const char *path, const TF_Buffer *b)
{
    FILE *f = fopen(path, "wb");
    size_t n;

    if (!f) {
        perror(path);
        return 1;
    }
    n = fwrite(b->data, 1, b->length, f);
    if (fclose(f) != 0 || n != b->length) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    TF_Status *st = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TFD_Scope *s = TFD_NewScope(graph);
    TF_Buffer *meta = TF_NewBuffer();
    const char *kind = argc > 3 ? argv[3] : "mlp";
    struct network net = {.convolutions = strcmp(kind, "cnn") == 0};
    int rc = 1;

    if (argc < 3 || argc > 4 ||
        (!net.convolutions && strcmp(kind, "mlp") != 0)) {
        fprintf(stderr, "usage: model DATA_DIR OUTPUT.meta [mlp|cnn]\n");
        return 64;
    }
    build(s, &net, argv[1], st);
    TFD_ExportMetaGraph(s, meta, st);
    if (TF_GetCode(st) != TF_OK)
        fprintf(stderr, "model: %s\n", TF_Message(st));
    else
        rc = write_file(argv[2], meta);
    TFD_DeleteScope(s);
    TF_DeleteBuffer(meta);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(st);
    return rc;
}
