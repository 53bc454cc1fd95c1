/*
 * dnn.cu - see dnn.cuh.
 *
 * Descriptors cost less than a microsecond and are made for each call.
 */
#include "cuda/lib/dnn.cuh"
#include "cuda/lib/dnn_library.cuh"

namespace
{

/* ---- Descriptors --------------------------------------------------------- */

struct descriptors {
    object x, w, y, conv;
};

static void drop(const struct cuda_dnn_library *l, const struct descriptors *o)
{
    if (o->x)
        (void)l->drop_tensor(o->x);
    if (o->y)
        (void)l->drop_tensor(o->y);
    if (o->w)
        (void)l->drop_filter(o->w);
    if (o->conv)
        (void)l->drop_conv(o->conv);
}

static int describe_conv(const struct cuda_dnn_library *l,
                         const struct cuda_dnn_conv *c, int math, object conv)
{
    int rc = l->set_conv(conv, c->pad[0], c->pad[1], c->stride[0], c->stride[1],
                         c->dilation[0], c->dilation[1], CROSS_CORRELATION,
                         c->dtype == TFD_DOUBLE ? DATA_DOUBLE : DATA_FLOAT);

    if (rc == STATUS_SUCCESS)
        rc = l->set_groups(conv, c->groups);
    return rc == STATUS_SUCCESS ? l->set_math(conv, math) : rc;
}

/* To be dropped after a failure, too. */
static int describe(const struct cuda_dnn_library *l,
                    const struct cuda_dnn_conv *c, int math,
                    struct descriptors *o)
{
    int format = c->channels_last ? TENSOR_NHWC : TENSOR_NCHW;
    int type = cuda_dnn_type(c->dtype), rc;

    rc = l->make_tensor(&o->x);
    if (rc == STATUS_SUCCESS)
        rc = l->make_tensor(&o->y);
    if (rc == STATUS_SUCCESS)
        rc = l->make_filter(&o->w);
    if (rc == STATUS_SUCCESS)
        rc = l->make_conv(&o->conv);
    if (rc == STATUS_SUCCESS)
        rc = l->set_tensor(o->x, format, type, c->batch, c->in_channels,
                           c->in[0], c->in[1]);
    if (rc == STATUS_SUCCESS)
        rc = l->set_tensor(o->y, format, type, c->batch, c->out_channels,
                           c->out[0], c->out[1]);
    if (rc == STATUS_SUCCESS)
        rc = l->set_filter(o->w, type, format, c->out_channels,
                           c->in_channels / c->groups, c->size[0], c->size[1]);
    return rc == STATUS_SUCCESS ? describe_conv(l, c, math, o->conv) : rc;
}

/* The two operands and the result, in the order of cuDNN's functions. */
struct roles {
    object first, second, result;
};

static struct roles roles_of(const struct descriptors *o, int kind)
{
    const struct roles roles[] = {
        {o->x, o->w, o->y}, {o->w, o->y, o->x}, {o->x, o->y, o->w}};

    return roles[kind];
}

/* ---- Plans --------------------------------------------------------------- */

static enum tfd_code make_plan(const struct cuda_dnn *n,
                               struct cuda_dnn_plan *p, struct tfd_status *st)
{
    struct performance found[2 * CUDA_DNN_WAYS] = {};
    const bool narrow =
        p->conv.dtype == TFD_HALF || p->conv.dtype == TFD_BFLOAT16;
    struct descriptors o = {};
    int count = 0, rc;

    p->count = 0;
    rc = describe(&n->library, &p->conv, narrow ? TENSOR_OP_MATH : DEFAULT_MATH,
                  &o);
    if (rc == STATUS_SUCCESS) {
        struct roles r = roles_of(&o, p->conv.kind);

        rc = n->library.choose[p->conv.kind](n->handle, r.first, r.second,
                                             o.conv, r.result, TFD_COUNT(found),
                                             &count, found);
    }
    drop(&n->library, &o);
    if (rc != STATUS_SUCCESS)
        return cuda_dnn_is_refusal(rc) ? TFD_OK : cuda_dnn_fail(n, rc, st);
    for (int i = 0; i < count && p->count < CUDA_DNN_WAYS; i++)
        if (found[i].status == STATUS_SUCCESS &&
            found[i].memory <= n->memory_max &&
            (!n->deterministic || found[i].determinism == DETERMINISTIC))
            p->way[p->count++] = {found[i].algorithm, found[i].math,
                                  found[i].memory};
    return TFD_OK;
}

/* The device's lock is held. */
static enum tfd_code find_plan(struct tfd_cuda_device *d,
                               const struct cuda_dnn_conv *c,
                               struct cuda_dnn_plans *plans,
                               struct cuda_dnn_plan *out, struct tfd_status *st)
{
    struct tfd_cuda_lru_cache_entry **last = &plans->last[c->channels_last != 0];
    struct cuda_dnn_plan *known;
    struct cuda_dnn *n;

    TFD_TRY(cuda_dnn_open(d, &n, st));
    known = (struct cuda_dnn_plan *)tfd_cuda_lru_cache_find(&n->plans, c, last);
    if (known) {
        *out = *known;
        return TFD_OK;
    }
    out->conv = *c;
    TFD_TRY(make_plan(n, out, st));
    known = (struct cuda_dnn_plan *)tfd_cuda_lru_cache_add(&n->plans, c, last);
    if (known) /* without memory it is asked again */
        *known = *out;
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

/* The device's lock is held: a handle is for one thread at a time. */
static int enqueue(const struct cuda_dnn *n, object handle,
                   const struct cuda_dnn_conv *c,
                   const struct cuda_dnn_way *way, void *work,
                   void *const data[3])
{
    static const float one = 1, zero = 0;
    static const double wide_one = 1, wide_zero = 0;
    /* As in roles_of(): of x, w and y. */
    static const int order[3][3] = {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}};
    bool wide = c->dtype == TFD_DOUBLE;
    const int *at = order[c->kind];
    struct descriptors o = {};
    int rc = describe(&n->library, c, way->math, &o);

    if (rc == STATUS_SUCCESS) {
        struct roles r = roles_of(&o, c->kind);

        rc = n->library.run[c->kind](
            handle, wide ? (const void *)&wide_one : &one, r.first, data[at[0]],
            r.second, data[at[1]], o.conv, way->algorithm, work, way->memory,
            wide ? (const void *)&wide_zero : &zero, r.result, data[at[2]]);
    }
    drop(&n->library, &o);
    return rc;
}

/* Memory to work in is given back at once: what gets it next is enqueued
 * behind.  True when the way was taken, or failed for good. */
static bool try_way(struct tfd_kctx *k, const struct cuda_dnn_conv *c,
                    const struct cuda_dnn_way *way, void *const data[3],
                    enum tfd_code *code, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    const struct cuda_dnn *n = (const struct cuda_dnn *)d->dnn.own;
    struct tfd_buffer *b = nullptr;
    object handle = nullptr;
    int rc = STATUS_SUCCESS;

    tfd_status_clear(st);
    if (way->memory) {
        b = k->memory->make(k->memory, way->memory, st);
        if (!b) {
            *code = TFD_RESOURCE_EXHAUSTED; /* another may need less */
            return false;
        }
    }
    tfd_lock(&d->lock);
    *code = cuda_dnn_handle(k, &handle, st);
    if (*code == TFD_OK)
        rc = enqueue(n, handle, c, way, b ? b->data : nullptr, data);
    tfd_unlock(&d->lock);
    if (b)
        tfd_buffer_unref(b);
    if (*code == TFD_OK)
        *code =
            rc == STATUS_SUCCESS ? launched(k, st) : cuda_dnn_fail(n, rc, st);
    return !cuda_dnn_is_refusal(rc);
}

} /* namespace */

enum tfd_code cuda_dnn_plan(struct tfd_kctx *k, const struct cuda_dnn_conv *c,
                            struct cuda_dnn_plans *plans,
                            struct cuda_dnn_plan *out, struct tfd_status *st)
{
    struct tfd_cuda_device *d = tfd_cuda_device_of(k->memory);
    enum tfd_code code;

    tfd_lock(&d->lock);
    code = find_plan(d, c, plans, out, st);
    tfd_unlock(&d->lock);
    return code;
}

enum tfd_code cuda_dnn_run(struct tfd_kctx *k, const struct cuda_dnn_plan *p,
                           void *x, void *w, void *y, struct tfd_status *st)
{
    void *const data[] = {x, w, y};
    enum tfd_code code = TFD_OK;

    if (p->count == 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "cuDNN has no algorithm for this convolution of %s "
                        "within the memory that it may work in",
                        tfd_dtype_name(p->conv.dtype));
    for (int i = 0; i < p->count; i++)
        if (try_way(k, &p->conv, &p->way[i], data, &code, st))
            break;
    return code;
}
