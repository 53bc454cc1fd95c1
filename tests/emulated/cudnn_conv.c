/*
 * cudnn_conv.c - see cudnn_impl.h: convolutions of the emulated GPU's cuDNN.
 *
 * As the library itself, it knows less with the channels last, offers some ways
 * that it then refuses, and wants memory to work in for others; so what chooses
 * among them is tested too.
 */
#include "tests/emulated/cudnn_impl.h"

#include <stdlib.h>

/* Algorithms: plain loops; the same in memory to work in, not deterministic;
 * one that is offered and then refused; one that is not offered. */
enum { PLAIN = 1, WORKING = 0, REFUSED = 2, FFT = 4 };
#define WORK_SIZE 4096

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

/* The products of one value of a filter with a row of x: a row of y, whose
 * sums do not wait for each other. */
static void run_columns(enum kind kind, int64_t count, double *restrict x,
                        int64_t stride, double *restrict f, double *restrict y)
{
    if (kind == FORWARD && stride == 1)
        for (int64_t i = 0; i < count; i++)
            y[i] += x[i] * *f;
    else if (kind == FORWARD)
        for (int64_t i = 0; i < count; i++)
            y[i] += x[i * stride] * *f;
    else if (kind == INPUT)
        for (int64_t i = 0; i < count; i++)
            x[i * stride] += y[i] * *f;
    else
        for (int64_t i = 0; i < count; i++)
            *f += x[i * stride] * y[i];
}

/* Channel k of a row of image n of y: every product its values are sums of,
 * where the filter's value (r, s) meets row h of x.  data: see widen(). */
static void run_meeting(const struct job *j, double *const data[3], int64_t n,
                        int64_t k, int64_t row, int64_t r, int64_t s, int64_t h)
{
    const int *in = j->x.size, *window = j->w.size, *out = j->y.size;
    int64_t stride = j->conv.stride[1], channels = window[1];
    int64_t at = s * j->conv.dilation[1] - j->conv.pad[1]; /* of column 0 */
    int64_t first = at < 0 ? (stride - 1 - at) / stride : 0;
    int64_t end = at < in[3] ? (in[3] - 1 - at) / stride + 1 : 0;
    int64_t base = k / (window[0] / j->conv.groups) * channels;

    if (end > out[3])
        end = out[3];
    for (int64_t c = 0; first < end && c < channels; c++)
        run_columns(
            j->kind, end - first,
            &data[0][((n * in[1] + base + c) * in[2] + h) * in[3] + at +
                     first * stride],
            stride,
            &data[1][((k * channels + c) * window[2] + r) * window[3] + s],
            &data[2][((n * out[1] + k) * out[2] + row) * out[3] + first]);
}

static void run_row(const struct job *j, double *const data[3], int64_t n,
                    int64_t k, int64_t row)
{
    const struct object *o = &j->conv;

    for (int64_t r = 0; r < j->w.size[2]; r++) {
        int64_t h = row * o->stride[0] - o->pad[0] + r * o->dilation[0];

        if (h < 0 || h >= j->x.size[2])
            continue;
        for (int64_t s = 0; s < j->w.size[3]; s++)
            run_meeting(j, data, n, k, row, r, s, h);
    }
}

/* Where element i, counted with the columns last, lies. */
static int64_t place_of(const struct object *o, int64_t i)
{
    int64_t w = i % o->size[3], h = i / o->size[3] % o->size[2];
    int64_t plane = i / o->size[3] / o->size[2];

    if (o->format == NCHW)
        return i;
    return index_of(o, plane / o->size[1], plane % o->size[1], h, w);
}

/* The columns come last, however they lie in data. */
static double *widen(const struct object *o, const void *data)
{
    double *out = calloc((size_t)elements(o), sizeof(*out));

    if (!out)
        abort();
    for (int64_t i = 0; data && i < elements(o); i++)
        out[i] = get(data, o->type, place_of(o, i));
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
            for (int64_t row = 0; row < j->y.size[2]; row++)
                run_row(j, data, n, k, row);
    for (int64_t i = 0; i < elements(result); i++)
        put(j->out, result->type, place_of(result, i), sums[i]);
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
