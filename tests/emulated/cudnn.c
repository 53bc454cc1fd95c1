/*
 * cudnn.c - libcudnn.so.9 of the emulated GPU: the functions of cuDNN that
 * cuda/lib/dnn.cu and cuda/lib/dnn_norm.cu use, by loops over the emulated
 * device's memory.  Here its handles and descriptors; see cudnn_impl.h for the
 * rest.
 */
#include "tests/emulated/cudnn_impl.h"

#include <stdlib.h>

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
