/*
 * cudnn_norm.c - see cudnn_impl.h: batch normalisation of the emulated GPU's
 * cuDNN.
 *
 * Batches of bfloat16 and of doubles are not normalised.
 */
#include "tests/emulated/cudnn_impl.h"

#include <math.h>
#include <string.h>

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
