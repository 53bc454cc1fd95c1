/*
 * cudnn_impl.h - what the parts of the emulated GPU's libcudnn.so.9 share:
 * handles and descriptors (cudnn.c), convolutions (cudnn_conv.c), batch norms
 * (cudnn_norm.c); nobody else includes this.
 *
 * Everything is summed in double and rounded once.  What is launched holds
 * copies of its descriptors; the memory of the device it works on stays the
 * caller's.  Errors are cuDNN's statuses, found before anything is launched.
 *
 * Threads: one at a time for a handle or a descriptor.  What is launched runs
 * on the thread of its stream.
 */
#ifndef TFD_TESTS_EMULATED_CUDNN_IMPL_H
#define TFD_TESTS_EMULATED_CUDNN_IMPL_H

#include "common/base/half.h"

#include <stddef.h>
#include <stdint.h>

/* Values of cuDNN 9's headers. */
enum { FLOAT = 0, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
enum { NCHW = 0, NHWC = 1 };
enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, NO_MEMORY = 4003 };

/* A tensor or a filter, or what describes the convolution. */
struct object {
    int format, type;
    int size[4]; /* n or out channels, channels, rows, columns */
    int pad[2], stride[2], dilation[2], groups;
};

struct handle {
    void *stream;
};

/* Of the program: runs it in the stream's order, with a copy of arg. */
void emulated_enqueue(void *stream, void (*run)(const void *), const void *arg,
                      size_t size);

/* ---- Elements ------------------------------------------------------------ */

static inline double get(const void *at, int type, int64_t i)
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

static inline void put(void *at, int type, int64_t i, double x)
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

static inline int64_t elements(const struct object *o)
{
    return (int64_t)o->size[0] * o->size[1] * o->size[2] * o->size[3];
}

static inline int64_t index_of(const struct object *o, int64_t n, int64_t c,
                               int64_t h, int64_t w)
{
    if (o->format == NHWC)
        return ((n * o->size[2] + h) * o->size[3] + w) * o->size[1] + c;
    return ((n * o->size[1] + c) * o->size[2] + h) * o->size[3] + w;
}

#endif
