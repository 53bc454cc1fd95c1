/*
 * dnn_library.cuh - cuDNN as a device has it: the library, without which no
 * device is taken (dynamic_library.h), and a handle for each of the device's
 * streams, made when it is first wanted.
 *
 * Names, values and signatures are those of cuDNN 9's public headers
 * (cudnn_graph_v9.h, cudnn_ops_v9.h, cudnn_cnn_v9.h), as far as they are used,
 * so that a build needs none of them; enumerations are int in C's interface.
 *
 * Threads: the device's lock is held, as a handle is for one thread at a time.
 */
#ifndef TFD_CUDA_DNN_LIBRARY_CUH
#define TFD_CUDA_DNN_LIBRARY_CUH

#include "cuda/lib/launch.cuh"

extern "C" {
#include "cuda/device/lru_cache.h"
}

enum { /* cudnnDataType_t */
       DATA_FLOAT = 0,
       DATA_DOUBLE = 1,
       DATA_HALF = 2,
       DATA_BFLOAT16 = 9,
};
enum { TENSOR_NCHW = 0, TENSOR_NHWC = 1 };     /* cudnnTensorFormat_t */
enum { DEFAULT_MATH = 0, TENSOR_OP_MATH = 1 }; /* cudnnMathType_t */
enum { NORM_SPATIAL = 1 };                     /* cudnnBatchNormMode_t */
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

typedef int norm_forward_fn(object handle, int mode, const void *alpha,
                            const void *beta, object x_desc, const void *x,
                            object y_desc, void *y, object channels,
                            const void *scale, const void *offset,
                            double factor, void *mean, void *variance,
                            double epsilon, void *kept_mean,
                            void *kept_inverse);
typedef int norm_backward_fn(object handle, int mode, const void *alpha,
                             const void *beta, const void *channels_alpha,
                             const void *channels_beta, object x_desc,
                             const void *x, object dy_desc, const void *dy,
                             object dx_desc, void *dx, object channels,
                             const void *scale, void *dscale, void *doffset,
                             double epsilon, const void *mean,
                             const void *inverse);

struct cuda_dnn_library {
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
    norm_forward_fn *norm_forward; /* NULL: it has none */
    norm_backward_fn *norm_backward;
};

/* A handle has one stream; memory to work in is given with each convolution. */
struct cuda_dnn {
    struct cuda_dnn_library library;
    object handle;
    object captured; /* of the device's captures; NULL until it is needed */
    bool deterministic;
    size_t memory_max;
    struct tfd_cuda_lru_cache plans; /* by shape: dnn.cuh, */
    struct tfd_cuda_lru_cache norms; /* dnn_norm.cuh */
};

/* What cuDNN does not support, with which another way may be tried. */
static inline bool cuda_dnn_is_refusal(int rc)
{
    return rc >= STATUS_BAD_PARAM && rc < STATUS_INTERNAL_ERROR;
}

/* UNIMPLEMENTED without cuDNN. */
enum tfd_code cuda_dnn_open(struct tfd_cuda_device *d, struct cuda_dnn **out,
                            struct tfd_status *st);
/* The one of k's stream. */
enum tfd_code cuda_dnn_handle(const struct tfd_kctx *k, object *out,
                              struct tfd_status *st);
/* Fails with what rc says. */
enum tfd_code cuda_dnn_fail(const struct cuda_dnn *n, int rc,
                            struct tfd_status *st);
/* cudnnDataType_t */
int cuda_dnn_type(int dtype);

#endif
