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
