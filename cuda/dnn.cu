/*
 * dnn.cu - see dnn.cuh.
 *
 * Names, values and signatures are those of cuDNN 9's public headers
 * (cudnn_graph_v9.h, cudnn_ops_v9.h, cudnn_cnn_v9.h), as far as they are used;
 * enumerations are int in C's interface.  Descriptors cost less than a
 * microsecond and are made for each call.
 */
#include "cuda/dnn.cuh"

extern "C" {
#include "config/limits.h"
}

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

namespace
{

/* ---- The library --------------------------------------------------------- */

enum { /* cudnnDataType_t */
       DATA_FLOAT = 0,
       DATA_DOUBLE = 1,
       DATA_HALF = 2,
       DATA_BFLOAT16 = 9,
};
enum { TENSOR_NCHW = 0, TENSOR_NHWC = 1 };     /* cudnnTensorFormat_t */
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1 }; /* cudnnMathType_t */
enum { CROSS_CORRELATION = 1 };                /* cudnnConvolutionMode_t */
enum { DETERMINISTIC = 1 };                    /* cudnnDeterminism_t */
enum {                                         /* cudnnStatus_t */
       STATUS_SUCCESS = 0,
       STATUS_BAD_PARAM = 2000, /* the first of a category, as the next */
       STATUS_INTERNAL_ERROR = 4000,
       STATUS_NO_HOST_MEMORY = 4003,
       STATUS_NO_DEVICE_MEMORY = 4004,
};

/* cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t, which are the same. */
struct performance {
    int algorithm;
    int status;
    float time;
    size_t memory;
    int determinism;
    int math;
    int reserved[3];
};

/* Descriptors, and the handle. */
typedef struct dnn_object *object;

typedef int choose_fn(object handle, object first, object second, object conv,
                      object result, int wanted, int *count,
                      struct performance *out);
typedef int run_fn(object handle, const void *alpha, object first,
                   const void *a, object second, const void *b, object conv,
                   int algorithm, void *work, size_t size, const void *beta,
                   object result, void *c);

struct library {
    size_t (*version)(void);
    int (*create)(object *handle);
    int (*destroy)(object handle);
    int (*set_stream)(object handle, cudaStream_t stream);
    const char *(*text)(int status);
    int (*make_tensor)(object *out);
    int (*set_tensor)(object t, int format, int type, int n, int c, int h,
                      int w);
    int (*drop_tensor)(object t);
    int (*make_filter)(object *out);
    int (*set_filter)(object f, int type, int format, int k, int c, int h,
                      int w);
    int (*drop_filter)(object f);
    int (*make_conv)(object *out);
    int (*set_conv)(object c, int pad_h, int pad_w, int stride_h, int stride_w,
                    int dilation_h, int dilation_w, int mode, int type);
    int (*set_groups)(object c, int groups);
    int (*set_math)(object c, int math);
    int (*drop_conv)(object c);
    choose_fn *choose[3]; /* by enum cuda_dnn_kind */
    run_fn *run[3];
};

/* Where a function's address goes. */
struct symbol {
    const char *name;
    void *at;
};

static enum tfd_code find_all(void *handle, struct library *l,
                              struct tfd_status *st)
{
    const struct symbol symbols[] = {
        {"cudnnGetVersion", &l->version},
        {"cudnnCreate", &l->create},
        {"cudnnDestroy", &l->destroy},
        {"cudnnSetStream", &l->set_stream},
        {"cudnnGetErrorString", &l->text},
        {"cudnnCreateTensorDescriptor", &l->make_tensor},
        {"cudnnSetTensor4dDescriptor", &l->set_tensor},
        {"cudnnDestroyTensorDescriptor", &l->drop_tensor},
        {"cudnnCreateFilterDescriptor", &l->make_filter},
        {"cudnnSetFilter4dDescriptor", &l->set_filter},
        {"cudnnDestroyFilterDescriptor", &l->drop_filter},
        {"cudnnCreateConvolutionDescriptor", &l->make_conv},
        {"cudnnSetConvolution2dDescriptor", &l->set_conv},
        {"cudnnSetConvolutionGroupCount", &l->set_groups},
        {"cudnnSetConvolutionMathType", &l->set_math},
        {"cudnnDestroyConvolutionDescriptor", &l->drop_conv},
        {"cudnnGetConvolutionForwardAlgorithm_v7", &l->choose[0]},
        {"cudnnGetConvolutionBackwardDataAlgorithm_v7", &l->choose[1]},
        {"cudnnGetConvolutionBackwardFilterAlgorithm_v7", &l->choose[2]},
        {"cudnnConvolutionForward", &l->run[0]},
        {"cudnnConvolutionBackwardData", &l->run[1]},
        {"cudnnConvolutionBackwardFilter", &l->run[2]},
    };

    for (int i = 0; i < TFD_COUNT(symbols); i++) {
        void *f = dlsym(handle, symbols[i].name);

        if (!f)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "this cuDNN has no %s; version 9 is needed",
                            symbols[i].name);
        /* An object and a function's address are alike to dlsym(). */
        memcpy(symbols[i].at, &f, sizeof(f));
    }
    if (l->version() / 10000 != 9)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "this cuDNN has version %zu; 9 is needed",
                        l->version());
    return TFD_OK;
}

/* Opened again each time; the dynamic linker counts. */
static enum tfd_code open_library(struct library *l, struct tfd_status *st)
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so"};
    void *handle = nullptr;

    for (int i = 0; !handle && i < TFD_COUNT(names); i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "cuDNN cannot be opened (%s); convolutions on a GPU "
                        "need it",
                        dlerror());
    return find_all(handle, l, st);
}

/* ---- What a device keeps ------------------------------------------------- */

/* A handle has one stream; memory to work in is given with each convolution. */
struct dnn {
    struct library library;
    object handle;
    object captured; /* of the device's captures; NULL until it is needed */
    bool deterministic;
    size_t memory_max;
};

static void release(void *own)
{
    struct dnn *n = (struct dnn *)own;

    if (n->captured)
        (void)n->library.destroy(n->captured);
    (void)n->library.destroy(n->handle);
    free(n);
}

/* TensorFlow takes these for true. */
static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && (!strcmp(value, "1") || !strcmp(value, "true"));
}

static size_t memory_max(void)
{
    const char *text = getenv("TF_CUDNN_WORKSPACE_LIMIT_IN_MB");
    char *end = nullptr;
    long long megabytes;

    errno = 0;
    megabytes = text ? strtoll(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || megabytes < 0 ||
        megabytes > TFD_CUDNN_WORKSPACE_SIZE_MAX >> 20)
        return (size_t)TFD_CUDNN_WORKSPACE_SIZE_MAX;
    return (size_t)megabytes << 20;
}

/* What cuDNN does not support, with which another way may be tried. */
static bool is_refusal(int rc)
{
    return rc >= STATUS_BAD_PARAM && rc < STATUS_INTERNAL_ERROR;
}

static enum tfd_code code_of(int rc)
{
    if (rc == STATUS_NO_HOST_MEMORY || rc == STATUS_NO_DEVICE_MEMORY)
        return TFD_RESOURCE_EXHAUSTED;
    return is_refusal(rc) ? TFD_UNIMPLEMENTED : TFD_INTERNAL;
}

static enum tfd_code fail(const struct dnn *n, int rc, struct tfd_status *st)
{
    return tfd_fail(st, code_of(rc), "cuDNN: %s", n->library.text(rc));
}

static enum tfd_code make_handle(const struct dnn *n, void *stream, object *out,
                                 struct tfd_status *st)
{
    int rc = n->library.create(out);

    if (rc == STATUS_SUCCESS)
        rc = n->library.set_stream(*out, (cudaStream_t)stream);
    if (rc == STATUS_SUCCESS)
        return TFD_OK;
    if (*out)
        (void)n->library.destroy(*out);
    *out = nullptr;
    return fail(n, rc, st);
}

/* The device's lock is held. */
static enum tfd_code prepare(void *own, struct tfd_cuda_device *d,
                             struct tfd_status *st)
{
    struct dnn *n = (struct dnn *)own;

    return n->captured ? TFD_OK
                       : make_handle(n, d->captures.stream, &n->captured, st);
}

/* The device's lock is held. */
static enum tfd_code open_dnn(struct tfd_cuda_device *d, struct dnn **out,
                              struct tfd_status *st)
{
    struct dnn *n = (struct dnn *)d->dnn.own;
    enum tfd_code code;

    *out = n;
    if (n)
        return TFD_OK;
    n = (struct dnn *)calloc(1, sizeof(*n));
    if (!n)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for cuDNN");
    if (open_library(&n->library, st) != TFD_OK) {
        free(n);
        return TFD_UNIMPLEMENTED;
    }
    code = make_handle(n, d->stream, &n->handle, st);
    if (code != TFD_OK) {
        free(n);
        return code;
    }
    n->deterministic =
        is_set("TF_DETERMINISTIC_OPS") || is_set("TF_CUDNN_DETERMINISTIC");
    n->memory_max = memory_max();
    d->dnn = {n, release, prepare};
    *out = n;
    return TFD_OK;
}

/* ---- Descriptors --------------------------------------------------------- */

struct descriptors {
    object x, w, y, conv;
};

static void drop(const struct library *l, const struct descriptors *o)
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

static int type_of(int dtype)
{
    switch (dtype) {
    case TFD_DOUBLE:
        return DATA_DOUBLE;
    case TFD_HALF:
        return DATA_HALF;
    case TFD_BFLOAT16:
        return DATA_BFLOAT16;
    default:
        return DATA_FLOAT;
    }
}

static int describe_conv(const struct library *l, const struct cuda_dnn_conv *c,
                         int math, object conv)
{
    int rc = l->set_conv(conv, c->pad[0], c->pad[1], c->stride[0], c->stride[1],
                         c->dilation[0], c->dilation[1], CROSS_CORRELATION,
                         c->dtype == TFD_DOUBLE ? DATA_DOUBLE : DATA_FLOAT);

    if (rc == STATUS_SUCCESS)
        rc = l->set_groups(conv, c->groups);
    return rc == STATUS_SUCCESS ? l->set_math(conv, math) : rc;
}

/* To be dropped after a failure, too. */
static int describe(const struct library *l, const struct cuda_dnn_conv *c,
                    int math, struct descriptors *o)
{
    int format = c->channels_last ? TENSOR_NHWC : TENSOR_NCHW;
    int type = type_of(c->dtype), rc;

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

static enum tfd_code make_plan(const struct dnn *n, struct cuda_dnn_plan *p,
                               struct tfd_status *st)
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
        return is_refusal(rc) ? TFD_OK : fail(n, rc, st);
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
    int known = plans->count < CUDA_DNN_PLANS ? plans->count : CUDA_DNN_PLANS;
    struct dnn *n;

    for (int i = 0; i < known; i++)
        if (!memcmp(&plans->plan[i].conv, c, sizeof(*c))) {
            *out = plans->plan[i];
            return TFD_OK;
        }
    TFD_TRY(open_dnn(d, &n, st));
    out->conv = *c;
    TFD_TRY(make_plan(n, out, st));
    plans->plan[plans->count % CUDA_DNN_PLANS] = *out;
    /* Beyond the first round only the remainder counts. */
    plans->count = plans->count < 2 * CUDA_DNN_PLANS - 1 ? plans->count + 1
                                                         : CUDA_DNN_PLANS;
    return TFD_OK;
}

/* ---- Running ------------------------------------------------------------- */

/* The device's lock is held: a handle is for one thread at a time. */
static int enqueue(const struct dnn *n, object handle,
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
    const struct dnn *n = (const struct dnn *)d->dnn.own;
    struct tfd_buffer *b = nullptr;
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
    *code = is_captured(k) ? prepare(d->dnn.own, d, st) : TFD_OK;
    if (*code == TFD_OK)
        rc = enqueue(n, is_captured(k) ? n->captured : n->handle, c, way,
                     b ? b->data : nullptr, data);
    tfd_unlock(&d->lock);
    if (b)
        tfd_buffer_unref(b);
    if (*code == TFD_OK)
        *code = rc == STATUS_SUCCESS ? launched(k, st) : fail(n, rc, st);
    return !is_refusal(rc);
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
