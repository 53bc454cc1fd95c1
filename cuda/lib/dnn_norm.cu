/*
 * dnn_norm.cu - see dnn_norm.cuh.
 *
 * cuDNN moves averages itself; here it makes those of one batch (a factor of
 * 1), unbiased, from which a kernel over the channels has everything else.  The
 * variance is not taken from the inverse deviation that it keeps: of a variance
 * far below epsilon little is left in there.
 */
#include "cuda/lib/dnn_norm.cuh"

#include "cuda/lib/dnn_library.cuh"

namespace
{

/* CUDNN_BN_MIN_EPSILON */
#define EPSILON_MIN 0.0f

static const float one = 1, zero = 0;

/* What a call works with. */
struct call {
    struct cuda_dnn_norm norm;
    int64_t count; /* elements of a channel */
    struct tfd_buffer *buffer;
    float *mean, *variance, *inverse; /* in it, by channel */
    object image, channels;
};

/* ---- Whether it is for cuDNN --------------------------------------------- */

static struct cuda_norm_state *state_of(const struct tfd_kctx *k)
{
    return (struct cuda_norm_state *)k->state;
}

static void set_norm(const struct tfd_tensor *x, bool second, bool is_gradient,
                     struct cuda_dnn_norm *out)
{
    const struct tfd_shape *s = &x->shape;
    int from = second ? 2 : 1, to = s->rank - (second ? 1 : 2);

    *out = {};
    out->is_gradient = is_gradient;
    out->dtype = (int)x->dtype;
    out->channels_last = !second;
    out->batch = (int)s->dim[0];
    out->channels = (int)s->dim[second ? 1 : s->rank - 1];
    out->rows = 1;
    for (int i = from; i < to; i++)
        out->rows *= (int)s->dim[i];
    out->columns = (int)s->dim[to];
}

/* The device's lock is held. */
static bool is_possible(struct tfd_cuda_device *d, struct cuda_dnn_norms *norms,
                        const struct cuda_dnn_norm *norm)
{
    const struct cuda_dnn_verdict *v;
    struct tfd_status ignored = {};
    struct cuda_dnn *n;

    if (norms->never)
        return false;
    norms->never = cuda_dnn_open(d, &n, &ignored) != TFD_OK ||
                   n->deterministic || !n->library.norm_forward ||
                   !n->library.norm_backward;
    if (norms->never)
        return false;
    v = (const struct cuda_dnn_verdict *)tfd_cuda_lru_cache_find(&n->norms, norm,
                                                            &norms->last);
    return !v || !v->refused;
}

static bool is_wanted(struct tfd_kctx *k, const struct tfd_tensor *x,
                      bool is_gradient, struct call *c)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct cuda_norm_state *s = state_of(k);
    int64_t n = tfd_tensor_elements(x);
    bool wanted;

    if (!s->norm.training || !(s->norm.epsilon >= EPSILON_MIN) || n > INT32_MAX)
        return false;
    set_norm(x, s->norm.second, is_gradient, &c->norm);
    c->count = n / c->norm.channels;
    if (c->count < 2)
        return false;
    tfd_lock(&d->lock);
    wanted = is_possible(d, &s->dnn, &c->norm);
    tfd_unlock(&d->lock);
    return wanted;
}

/* ---- Calls --------------------------------------------------------------- */

/* Vectors begin at multiples of 256 bytes, as tensors do. */
static enum tfd_code make_work(struct tfd_kctx *k, struct call *c,
                               struct tfd_status *st)
{
    size_t room = ((size_t)c->norm.channels + 63) / 64 * 64;

    c->buffer = k->memory->make(k->memory, 3 * room * sizeof(float), st);
    if (!c->buffer)
        return TFD_RESOURCE_EXHAUSTED;
    c->mean = (float *)c->buffer->data;
    c->variance = c->mean + room;
    c->inverse = c->variance + room;
    return TFD_OK;
}

static int describe(const struct cuda_dnn_library *l, struct call *c)
{
    const struct cuda_dnn_norm *m = &c->norm;
    int rc = l->make_tensor(&c->image);

    if (rc == STATUS_SUCCESS)
        rc = l->make_tensor(&c->channels);
    if (rc == STATUS_SUCCESS)
        rc = l->set_tensor(c->image,
                           m->channels_last ? TENSOR_NHWC : TENSOR_NCHW,
                           cuda_dnn_type(m->dtype), m->batch, m->channels,
                           m->rows, m->columns);
    if (rc == STATUS_SUCCESS)
        rc = l->set_tensor(c->channels, TENSOR_NCHW, DATA_FLOAT, 1, m->channels,
                           1, 1);
    return rc;
}

static void drop(const struct cuda_dnn_library *l, const struct call *c)
{
    if (c->image)
        (void)l->drop_tensor(c->image);
    if (c->channels)
        (void)l->drop_tensor(c->channels);
}

static int forward(const struct tfd_kctx *k, const struct cuda_dnn_library *l,
                   object handle, const struct call *c)
{
    return l->norm_forward(
        handle, NORM_SPATIAL, &one, &zero, c->image, in_at<void>(k, 0),
        c->image, out_at<void>(k, 0), c->channels, in_at<void>(k, 1),
        in_at<void>(k, 2), 1.0, c->mean, c->variance,
        (double)state_of(k)->norm.epsilon, out_at<void>(k, 3), c->inverse);
}

static int backward(const struct tfd_kctx *k, const struct cuda_dnn_library *l,
                    object handle, const struct call *c)
{
    return l->norm_backward(
        handle, NORM_SPATIAL, &one, &zero, &one, &zero, c->image,
        in_at<void>(k, 1), c->image, in_at<void>(k, 0), c->image,
        out_at<void>(k, 0), c->channels, in_at<void>(k, 2), out_at<void>(k, 1),
        out_at<void>(k, 2), (double)state_of(k)->norm.epsilon,
        in_at<void>(k, 3), c->inverse);
}

static void remember(struct cuda_dnn *n, struct cuda_dnn_norms *norms,
                     const struct cuda_dnn_norm *norm, bool refused)
{
    struct cuda_dnn_verdict *v = (struct cuda_dnn_verdict *)tfd_cuda_lru_cache_find(
        &n->norms, norm, &norms->last);

    if (!v)
        v = (struct cuda_dnn_verdict *)tfd_cuda_lru_cache_add(&n->norms, norm,
                                                         &norms->last);
    if (v) /* without memory it is asked again */
        v->refused = refused;
}

/* The device's lock is held. */
static int ask(const struct tfd_kctx *k, struct cuda_dnn *n, object handle,
               struct call *c, decltype(&forward) enqueue)
{
    int rc = describe(&n->library, c);

    if (rc == STATUS_SUCCESS)
        rc = enqueue(k, &n->library, handle, c);
    drop(&n->library, c);
    if (rc == STATUS_SUCCESS || cuda_dnn_is_refusal(rc))
        remember(n, &state_of(k)->dnn, &c->norm, rc != STATUS_SUCCESS);
    return rc;
}

static enum tfd_code run_norm(struct tfd_kctx *k, struct call *c,
                         decltype(&forward) enqueue, bool *done,
                         struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    struct cuda_dnn *n = (struct cuda_dnn *)d->dnn.own;
    object handle = nullptr;
    int rc = STATUS_SUCCESS;
    enum tfd_code code;

    tfd_lock(&d->lock);
    code = cuda_dnn_handle(k, &handle, st);
    if (code == TFD_OK)
        rc = ask(k, n, handle, c, enqueue);
    tfd_unlock(&d->lock);
    if (code != TFD_OK || cuda_dnn_is_refusal(rc))
        return code;
    *done = true;
    return rc == STATUS_SUCCESS ? launched(k, st) : cuda_dnn_fail(n, rc, st);
}

/* ---- Forward ------------------------------------------------------------- */

/* By channel.  new: the batch's, the variance unbiased. */
struct averages {
    const float *new_mean, *new_variance, *was_mean, *was_variance;
    float *mean, *variance, *kept_variance;
    float factor;
};

__global__ void finish(struct averages a, double count, int64_t channels)
{
    for (int64_t c = thread_index(); c < channels; c += thread_count()) {
        double variance = (double)a.new_variance[c];

        a.kept_variance[c] = (float)(variance * (count - 1) / count);
        a.mean[c] = moved(a.factor, a.was_mean, c, (double)a.new_mean[c]);
        a.variance[c] = moved(a.factor, a.was_variance, c, variance);
    }
}

/* Averages that are not kept are multiplied with zero: they must be numbers. */
static enum tfd_code clear(struct tfd_kctx *k, const struct call *c,
                           struct tfd_status *st)
{
    size_t size = (size_t)(c->inverse - c->mean) * sizeof(float);

    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(c->mean, 0, size, stream_of(k)), k->kernel->op,
        st);
}

/* ---- Gradient ------------------------------------------------------------ */

__global__ void invert(const float *variance, double epsilon, float *inverse,
                       int64_t channels)
{
    for (int64_t c = thread_index(); c < channels; c += thread_count())
        inverse[c] = (float)(1 / sqrt((double)variance[c] + epsilon));
}

} /* namespace */

enum tfd_code cuda_dnn_norm_forward(struct tfd_kctx *k, bool *done,
                                    struct tfd_status *st)
{
    struct call c = {};
    enum tfd_code code;

    *done = false;
    if (!is_wanted(k, &k->in[0], false, &c))
        return TFD_OK;
    TFD_TRY(make_work(k, &c, st));
    code = clear(k, &c, st);
    if (code == TFD_OK)
        code = run_norm(k, &c, forward, done, st);
    if (code == TFD_OK && *done) {
        struct averages a = {
            c.mean,
            c.variance,
            in_at<float>(k, 3),
            in_at<float>(k, 4),
            out_at<float>(k, 1),
            out_at<float>(k, 2),
            out_at<float>(k, 4),
            state_of(k)->norm.factor,
        };

        finish<<<blocks_for(k, c.norm.channels), THREADS, 0, stream_of(k)>>>(
            a, (double)c.count, (int64_t)c.norm.channels);
        code = launched(k, st);
    }
    tfd_buffer_unref(c.buffer);
    return code;
}

enum tfd_code cuda_dnn_norm_gradient(struct tfd_kctx *k, bool *done,
                                     struct tfd_status *st)
{
    struct call c = {};
    enum tfd_code code;

    *done = false;
    if (!is_wanted(k, &k->in[1], true, &c))
        return TFD_OK;
    TFD_TRY(make_work(k, &c, st));
    invert<<<blocks_for(k, c.norm.channels), THREADS, 0, stream_of(k)>>>(
        in_at<float>(k, 4), (double)state_of(k)->norm.epsilon, c.inverse,
        (int64_t)c.norm.channels);
    code = launched(k, st);
    if (code == TFD_OK)
        code = run_norm(k, &c, backward, done, st);
    tfd_buffer_unref(c.buffer);
    return code;
}
