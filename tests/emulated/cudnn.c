/*
 * cudnn.c - the functions of cuDNN that cuda/dnn.cu and cuda/dnn_norm.cu use,
 * by loops over the emulated device's memory: libcudnn.so.9 of the emulated
 * GPU.
 *
 * Everything is summed in double and rounded once.  As the library itself, it
 * knows less with the channels last, offers some ways that it then refuses, and
 * wants memory to work in for others; so what chooses among them is tested too.
 * Batches of bfloat16 are not normalised.
 */
#include "common/half.h"
#include "common/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of cuDNN 9's headers. */
enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
enum { NCHW = 0, NHWC = 1 };
enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, NO_MEMORY = 4003 };

/* Algorithms: plain loops; the same in memory to work in, not deterministic;
 * one that is offered and then refused; one that is not offered. */
enum { PLAIN = 1, WORKING = 0, REFUSED = 2, FFT = 4 };
#define WORK_SIZE 4096

/* A tensor or a filter, or what describes the convolution. */
struct object {
    int format, type;
    int size[4]; /* n or out channels, channels, rows, columns */
    int pad[2], stride[2], dilation[2], groups;
};

struct handle {
    void *stream;
};

struct performance {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
};

enum kind { FORWARD, INPUT, FILTER };

struct job {
    enum kind kind;
    struct object x, w, y, conv;
    const void *in[2];
    void *out;
};

/* Of the program: runs it in the stream's order, with a copy of arg. */
void emulated_enqueue(void *stream, void (*run)(const void *), const void *arg,
                      size_t size);

/* ---- Objects ------------------------------------------------------------- */

size_t cudnnGetVersion(void);
int cudnnCreate(struct handle **handle);
int cudnnDestroy(struct handle *handle);
int cudnnSetStream(struct handle *handle, void *stream);
const char *cudnnGetErrorString(int status);
int cudnnCreateTensorDescriptor(struct object **out);
int cudnnCreateFilterDescriptor(struct object **out);
int cudnnCreateConvolutionDescriptor(struct object **out);
int cudnnDestroyTensorDescriptor(struct object *o);
int cudnnDestroyFilterDescriptor(struct object *o);
int cudnnDestroyConvolutionDescriptor(struct object *o);
int cudnnSetTensor4dDescriptor(struct object *o, int format, int type, int n,
                               int c, int h, int w);
int cudnnSetFilter4dDescriptor(struct object *o, int type, int format, int k,
                               int c, int h, int w);
int cudnnSetConvolution2dDescriptor(struct object *o, int pad_h, int pad_w,
                                    int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type);
int cudnnSetConvolutionGroupCount(struct object *o, int groups);
int cudnnSetConvolutionMathType(struct object *o, int math);

size_t cudnnGetVersion(void)
{
    return 90000;
}

int cudnnCreate(struct handle **handle)
{
    *handle = calloc(1, sizeof(**handle));
    return *handle ? SUCCESS : NO_MEMORY;
}

int cudnnDestroy(struct handle *handle)
{
    free(handle);
    return SUCCESS;
}

int cudnnSetStream(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

const char *cudnnGetErrorString(int status)
{
    return status == SUCCESS ? "success" : "failure";
}

static int make(struct object **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? SUCCESS : NO_MEMORY;
}

int cudnnCreateTensorDescriptor(struct object **out)
{
    return make(out);
}

int cudnnCreateFilterDescriptor(struct object **out)
{
    return make(out);
}

int cudnnCreateConvolutionDescriptor(struct object **out)
{
    return make(out);
}

static int drop(struct object *o)
{
    free(o);
    return SUCCESS;
}

int cudnnDestroyTensorDescriptor(struct object *o)
{
    return drop(o);
}

int cudnnDestroyFilterDescriptor(struct object *o)
{
    return drop(o);
}

int cudnnDestroyConvolutionDescriptor(struct object *o)
{
    return drop(o);
}

int cudnnSetTensor4dDescriptor(struct object *o, int format, int type, int n,
                               int c, int h, int w)
{
    if (n < 1 || c < 1 || h < 1 || w < 1)
        return BAD_PARAM;
    *o = (struct object){.format = format, .type = type, .size = {n, c, h, w}};
    return SUCCESS;
}

int cudnnSetFilter4dDescriptor(struct object *o, int type, int format, int k,
                               int c, int h, int w)
{
    return cudnnSetTensor4dDescriptor(o, format, type, k, c, h, w);
}

int cudnnSetConvolution2dDescriptor(struct object *o, int pad_h, int pad_w,
                                    int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type)
{
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 ||
        dilation_h < 1 || dilation_w < 1 || mode != 1)
        return BAD_PARAM;
    *o = (struct object){.type = type,
                         .pad = {pad_h, pad_w},
                         .stride = {stride_h, stride_w},
                         .dilation = {dilation_h, dilation_w},
                         .groups = 1};
    return SUCCESS;
}

int cudnnSetConvolutionGroupCount(struct object *o, int groups)
{
    o->groups = groups;
    return SUCCESS;
}

int cudnnSetConvolutionMathType(struct object *o, int math)
{
    (void)o;
    return math >= 0 && math <= 3 ? SUCCESS : BAD_PARAM;
}

/* ---- What fits together -------------------------------------------------- */

static int check(const struct object *x, const struct object *w,
                 const struct object *conv, const struct object *y)
{
    int wide = x->type == DOUBLE ? DOUBLE : FLOAT;

    if (x->type != w->type || x->type != y->type || conv->type != wide ||
        x->format != w->format || x->format != y->format ||
        x->size[0] != y->size[0] || x->size[1] != w->size[1] * conv->groups ||
        y->size[1] != w->size[0] || w->size[0] % conv->groups)
        return BAD_PARAM;
    for (int i = 0; i < 2; i++) {
        int extent = (w->size[2 + i] - 1) * conv->dilation[i] + 1;
        int room = x->size[2 + i] + 2 * conv->pad[i] - extent;

        if (room < 0 || y->size[2 + i] != room / conv->stride[i] + 1)
            return BAD_PARAM;
    }
    if (x->format == NHWC &&
        (conv->groups > 1 || conv->dilation[0] > 1 || x->type == DOUBLE))
        return NOT_SUPPORTED;
    return SUCCESS;
}

/* For tests: how often algorithms were asked for. */
extern int emulated_offers;
int emulated_offers;

static int offer(const struct object *x, const struct object *w,
                 const struct object *conv, const struct object *y, int wanted,
                 int *count, struct performance *out)
{
    const struct performance all[] = {
        {.algorithm = FFT, .status = NOT_SUPPORTED},
        {.algorithm = REFUSED, .determinism = 1},
        {.algorithm = WORKING, .memory = WORK_SIZE},
        {.algorithm = PLAIN, .determinism = 1},
    };
    int rc = check(x, w, conv, y);

    emulated_offers++;
    *count = 0;
    for (size_t i = 0;
         rc == SUCCESS && *count < wanted && i < sizeof(all) / sizeof(all[0]);
         i++)
        out[(*count)++] = all[i];
    return rc;
}

/* ---- Loops --------------------------------------------------------------- */

static double get(const void *at, int type, int64_t i)
{
    switch (type) {
    case DOUBLE:
        return ((const double *)at)[i];
    case HALF:
        return (double)tfd_half_to_float(((const tfd_half *)at)[i]);
    case BFLOAT16:
        return (double)tfd_bfloat16_to_float(((const tfd_bfloat16 *)at)[i]);
    default:
        return (double)((const float *)at)[i];
    }
}

static void put(void *at, int type, int64_t i, double x)
{
    switch (type) {
    case DOUBLE:
        ((double *)at)[i] = x;
        break;
    case HALF:
        ((tfd_half *)at)[i] = tfd_half_from_float((float)x);
        break;
    case BFLOAT16:
        ((tfd_bfloat16 *)at)[i] = tfd_bfloat16_from_float((float)x);
        break;
    default:
        ((float *)at)[i] = (float)x;
    }
}

static int64_t elements(const struct object *o)
{
    return (int64_t)o->size[0] * o->size[1] * o->size[2] * o->size[3];
}

static int64_t index_of(const struct object *o, int64_t n, int64_t c, int64_t h,
                        int64_t w)
{
    if (o->format == NHWC)
        return ((n * o->size[2] + h) * o->size[3] + w) * o->size[1] + c;
    return ((n * o->size[1] + c) * o->size[2] + h) * o->size[3] + w;
}

/* Channel k of an output pixel of image n: every product it is a sum of. */
static void run_pixel(const struct job *j, double *const data[3], int64_t n,
                      int64_t k, int64_t row, int64_t column)
{
    const struct object *o = &j->conv;
    int64_t group = k / (j->w.size[0] / o->groups);

    for (int64_t r = 0; r < j->w.size[2]; r++)
        for (int64_t s = 0; s < j->w.size[3]; s++) {
            int64_t h = row * o->stride[0] - o->pad[0] + r * o->dilation[0];
            int64_t w = column * o->stride[1] - o->pad[1] + s * o->dilation[1];

            if (h < 0 || h >= j->x.size[2] || w < 0 || w >= j->x.size[3])
                continue;
            for (int64_t c = 0; c < j->w.size[1]; c++) {
                double *x = &data[0][index_of(&j->x, n,
                                              group * j->w.size[1] + c, h, w)];
                double *f = &data[1][index_of(&j->w, k, c, r, s)];
                double *y = &data[2][index_of(&j->y, n, k, row, column)];

                if (j->kind == FORWARD)
                    *y += *x * *f;
                else if (j->kind == INPUT)
                    *x += *y * *f;
                else
                    *f += *x * *y;
            }
        }
}

static double *widen(const struct object *o, const void *data)
{
    double *out = calloc((size_t)elements(o), sizeof(*out));

    if (!out)
        abort();
    for (int64_t i = 0; data && i < elements(o); i++)
        out[i] = get(data, o->type, i);
    return out;
}

static void run(const void *arg)
{
    const struct job *j = arg;
    const struct object *result = j->kind == FORWARD ? &j->y
                                  : j->kind == INPUT ? &j->x
                                                     : &j->w;
    /* x, w, y; NULL for the result, which begins as zeros. */
    const void *in[][3] = {{j->in[0], j->in[1], NULL},
                           {NULL, j->in[0], j->in[1]},
                           {j->in[0], NULL, j->in[1]}};
    double *const data[] = {widen(&j->x, in[j->kind][0]),
                            widen(&j->w, in[j->kind][1]),
                            widen(&j->y, in[j->kind][2])};
    const double *sums = data[j->kind == FORWARD ? 2
                              : j->kind == INPUT ? 0
                                                 : 1];

    for (int64_t n = 0; n < j->y.size[0]; n++)
        for (int64_t k = 0; k < j->y.size[1]; k++)
            for (int64_t i = 0; i < (int64_t)j->y.size[2] * j->y.size[3]; i++)
                run_pixel(j, data, n, k, i / j->y.size[3], i % j->y.size[3]);
    for (int64_t i = 0; i < elements(result); i++)
        put(j->out, result->type, i, sums[i]);
    for (int i = 0; i < 3; i++)
        free(data[i]);
}

static int start(struct handle *handle, const struct job *job, int algorithm,
                 const void *work, size_t size, const void *alpha,
                 const void *beta)
{
    int rc = check(&job->x, &job->w, &job->conv, &job->y);

    if (rc != SUCCESS)
        return rc;
    if (algorithm == REFUSED)
        return NOT_SUPPORTED;
    if (get(alpha, job->conv.type, 0) != 1 || get(beta, job->conv.type, 0) != 0)
        return BAD_PARAM;
    if (algorithm != PLAIN &&
        (algorithm != WORKING || !work || size < WORK_SIZE))
        return BAD_PARAM;
    emulated_enqueue(handle->stream, run, job, sizeof(*job));
    return SUCCESS;
}

/* ---- Batch normalisation ------------------------------------------------- */

enum { SPATIAL = 1, SPATIAL_PERSISTENT = 2 }; /* cudnnBatchNormMode_t */

/* Outputs may be NULL in pairs; dy and what follows it: of the gradient. */
struct norm_job {
    struct object x;
    const void *in, *dy;
    void *out;
    const float *scale, *offset, *mean, *inverse;
    float *running[2], *saved[2], *dscale, *doffset;
    double factor, epsilon;
};

int cudnnBatchNormalizationForwardTraining(
    struct handle *handle, int mode, const void *alpha, const void *beta,
    const struct object *x, const void *in, const struct object *y, void *out,
    const struct object *channels, const void *scale, const void *offset,
    double factor, void *running_mean, void *running_variance, double epsilon,
    void *saved_mean, void *saved_inverse);
int cudnnBatchNormalizationBackward(
    struct handle *handle, int mode, const void *alpha, const void *beta,
    const void *channels_alpha, const void *channels_beta,
    const struct object *x, const void *in, const struct object *dy,
    const void *slope, const struct object *dx, void *out,
    const struct object *channels, const void *scale, void *dscale,
    void *doffset, double epsilon, const void *saved_mean,
    const void *saved_inverse);

static int check_norm(int mode, const struct object *x, const struct object *y,
                      const struct object *channels, const void *alpha,
                      const void *beta, double epsilon)
{
    const int vector[] = {1, x->size[1], 1, 1};

    if ((mode != SPATIAL && mode != SPATIAL_PERSISTENT) || !(epsilon >= 0) ||
        x->type != y->type || x->format != y->format ||
        memcmp(x->size, y->size, sizeof(x->size)) || channels->type != FLOAT ||
        memcmp(channels->size, vector, sizeof(vector)))
        return BAD_PARAM;
    if (*(const float *)alpha != 1 || *(const float *)beta != 0)
        return BAD_PARAM;
    return x->type == BFLOAT16 || x->type == DOUBLE ? NOT_SUPPORTED : SUCCESS;
}

/* The place of element i of a channel. */
static int64_t place(const struct object *o, int64_t c, int64_t i)
{
    int64_t w = i % o->size[3], h = i / o->size[3] % o->size[2];

    return index_of(o, i / o->size[3] / o->size[2], c, h, w);
}

static int64_t channel_size(const struct object *o)
{
    return elements(o) / o->size[1];
}

static void move_average(float *average, int64_t c, double factor, double x)
{
    if (average)
        average[c] = (float)((double)average[c] * (1 - factor) + x * factor);
}

static void normalise(const void *arg)
{
    const struct norm_job *j = arg;
    int64_t n = channel_size(&j->x);

    for (int64_t c = 0; c < j->x.size[1]; c++) {
        double mean = 0, squares = 0, inverse;

        for (int64_t i = 0; i < n; i++)
            mean += get(j->in, j->x.type, place(&j->x, c, i)) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double v = get(j->in, j->x.type, place(&j->x, c, i)) - mean;

            squares += v * v;
        }
        inverse = 1 / sqrt(squares / (double)n + j->epsilon);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = place(&j->x, c, i);
            double v = (get(j->in, j->x.type, at) - mean) * inverse;

            put(j->out, j->x.type, at,
                v * (double)j->scale[c] + (double)j->offset[c]);
        }
        move_average(j->running[0], c, j->factor, mean);
        move_average(j->running[1], c, j->factor, squares / (double)(n - 1));
        if (j->saved[0])
            j->saved[0][c] = (float)mean;
        if (j->saved[1])
            j->saved[1][c] = (float)inverse;
    }
}

/* By the chain rule, with the mean and the deviation functions of x. */
static void derive(const void *arg)
{
    const struct norm_job *j = arg;
    int64_t n = channel_size(&j->x);

    for (int64_t c = 0; c < j->x.size[1]; c++) {
        double mean = (double)j->mean[c], inverse = (double)j->inverse[c];
        double dscale = 0, doffset = 0;

        for (int64_t i = 0; i < n; i++) {
            int64_t at = place(&j->x, c, i);
            double dy = get(j->dy, j->x.type, at);

            doffset += dy;
            dscale += dy * (get(j->in, j->x.type, at) - mean) * inverse;
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t at = place(&j->x, c, i);
            double v = (get(j->in, j->x.type, at) - mean) * inverse;
            double dy = get(j->dy, j->x.type, at);

            put(j->out, j->x.type, at,
                (double)j->scale[c] * inverse / (double)n *
                    ((double)n * dy - doffset - v * dscale));
        }
        j->dscale[c] = (float)dscale;
        j->doffset[c] = (float)doffset;
    }
}

int cudnnBatchNormalizationForwardTraining(
    struct handle *handle, int mode, const void *alpha, const void *beta,
    const struct object *x, const void *in, const struct object *y, void *out,
    const struct object *channels, const void *scale, const void *offset,
    double factor, void *running_mean, void *running_variance, double epsilon,
    void *saved_mean, void *saved_inverse)
{
    const struct norm_job j = {.x = *x,
                               .in = in,
                               .out = out,
                               .scale = scale,
                               .offset = offset,
                               .running = {running_mean, running_variance},
                               .saved = {saved_mean, saved_inverse},
                               .factor = factor,
                               .epsilon = epsilon};
    int rc = check_norm(mode, x, y, channels, alpha, beta, epsilon);

    if (rc != SUCCESS)
        return rc;
    if (!running_mean != !running_variance || !saved_mean != !saved_inverse)
        return BAD_PARAM;
    emulated_enqueue(handle->stream, normalise, &j, sizeof(j));
    return SUCCESS;
}

int cudnnBatchNormalizationBackward(
    struct handle *handle, int mode, const void *alpha, const void *beta,
    const void *channels_alpha, const void *channels_beta,
    const struct object *x, const void *in, const struct object *dy,
    const void *slope, const struct object *dx, void *out,
    const struct object *channels, const void *scale, void *dscale,
    void *doffset, double epsilon, const void *saved_mean,
    const void *saved_inverse)
{
    const struct norm_job j = {.x = *x,
                               .in = in,
                               .dy = slope,
                               .out = out,
                               .scale = scale,
                               .mean = saved_mean,
                               .inverse = saved_inverse,
                               .dscale = dscale,
                               .doffset = doffset};
    int rc = check_norm(mode, x, dy, channels, alpha, beta, epsilon);

    if (rc == SUCCESS)
        rc = check_norm(mode, x, dx, channels, channels_alpha, channels_beta,
                        epsilon);
    if (rc != SUCCESS)
        return rc;
    if (!saved_mean || !saved_inverse)
        return NOT_SUPPORTED; /* the library finds them again */
    emulated_enqueue(handle->stream, derive, &j, sizeof(j));
    return SUCCESS;
}

/* ---- cuDNN's names ------------------------------------------------------- */

#define CHOOSE(name, first, second, result)                     \
    int cudnnGetConvolution##name##Algorithm_v7(                \
        struct handle *handle, const struct object *first,      \
        const struct object *second, const struct object *conv, \
        const struct object *result, int wanted, int *count,    \
        struct performance *out);                               \
    int cudnnGetConvolution##name##Algorithm_v7(                \
        struct handle *handle, const struct object *first,      \
        const struct object *second, const struct object *conv, \
        const struct object *result, int wanted, int *count,    \
        struct performance *out)                                \
    {                                                           \
        (void)handle;                                           \
        return offer(x, w, conv, y, wanted, count, out);        \
    }

#define RUN(name, kind_, first, second, result)                               \
    int cudnnConvolution##name(                                               \
        struct handle *handle, const void *alpha, const struct object *first, \
        const void *a, const struct object *second, const void *b,            \
        const struct object *conv, int algorithm, void *work, size_t size,    \
        const void *beta, const struct object *result, void *out);            \
    int cudnnConvolution##name(                                               \
        struct handle *handle, const void *alpha, const struct object *first, \
        const void *a, const struct object *second, const void *b,            \
        const struct object *conv, int algorithm, void *work, size_t size,    \
        const void *beta, const struct object *result, void *out)             \
    {                                                                         \
        const struct job j = {kind_, *x, *w, *y, *conv, {a, b}, out};         \
                                                                              \
        return start(handle, &j, algorithm, work, size, alpha, beta);         \
    }

CHOOSE(Forward, x, w, y)
CHOOSE(BackwardData, w, y, x)
CHOOSE(BackwardFilter, x, y, w)
RUN(Forward, FORWARD, x, w, y)
RUN(BackwardData, INPUT, w, y, x)
RUN(BackwardFilter, FILTER, x, y, w)
