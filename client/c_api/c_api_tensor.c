/*
 * c_api_tensor.c - TF_Tensor is a struct tfd_tensor on the heap; memory of the
 * program becomes a buffer that calls the program's deallocator at its end.
 */
#include "client/c_api/capi.h"

#include "common/base/alloc.h"
#include "common/base/shape_long.h"

#include <stdlib.h>
#include <string.h>

/* What TensorFlow has and this library cannot hold: floats of 8 bits and
 * integers of 4 and 2, a byte each. */
#define SMALL_FIRST 24
#define SMALL_LAST 33

size_t TF_DataTypeSize(TF_DataType dtype)
{
    int number = (int)dtype;

    if (number >= SMALL_FIRST && number <= SMALL_LAST)
        return 1;
    if (!tfd_dtype_valid(number) || !tfd_dtype_is_pod((enum tfd_dtype)number))
        return 0;
    return tfd_dtype_size((enum tfd_dtype)number);
}

TF_Tensor *tfd_capi_tensor(struct tfd_tensor *take_tensor)
{
    TF_Tensor *t = malloc(sizeof(*t));

    if (!t) {
        tfd_tensor_unref(take_tensor);
        return NULL;
    }
    t->tensor = *take_tensor;
    *take_tensor = (struct tfd_tensor)TFD_TENSOR_INIT;
    return t;
}

/* ---- Memory of the program ----------------------------------------------- */

struct foreign {
    struct tfd_buffer buffer; /* first */
    void (*deallocator)(void *data, size_t length, void *arg);
    void *arg;
    size_t length; /* as the program gave it */
};

static void release_foreign(struct tfd_buffer *b)
{
    struct foreign *f = (struct foreign *)b;

    if (f->deallocator)
        f->deallocator(b->data, f->length, f->arg);
    free(f);
}

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % TFD_BUFFER_ALIGN == 0;
}

/* Kernels load whole vectors.  Strings are looked at one by one. */
static bool must_copy(const struct tfd_tensor *t, const void *data)
{
    return tfd_dtype_is_pod(t->dtype) && !is_aligned(data);
}

static bool adopt_data(struct tfd_tensor *t, const struct foreign *from,
                       size_t size)
{
    struct foreign *f;

    if (must_copy(t, from->buffer.data)) {
        if (tfd_tensor_new(t, t->dtype, &t->shape, NULL) != TFD_OK)
            return false;
        memcpy(tfd_tensor_data(t), from->buffer.data, size);
        if (from->deallocator)
            from->deallocator(from->buffer.data, from->length, from->arg);
        return true;
    }
    f = malloc(sizeof(*f));
    if (!f)
        return false;
    *f = *from;
    t->buffer = &f->buffer;
    return true;
}

/* The head of a tensor, if length bytes are enough for it. */
static bool make_head(struct tfd_tensor *t, TF_DataType dtype,
                      const int64_t *dims, int num_dims, size_t length)
{
    uint64_t elements;

    *t = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (!tfd_dtype_valid((int)dtype) ||
        tfd_shape_make_any(&t->shape, dims, num_dims, NULL) != TFD_OK)
        return false;
    t->dtype = (enum tfd_dtype)dtype;
    elements = (uint64_t)tfd_shape_elements(&t->shape);
    return elements <= length / tfd_dtype_size(t->dtype);
}

TF_Tensor *TF_NewTensor(TF_DataType dtype, const int64_t *dims, int num_dims,
                        void *data, size_t length,
                        void (*deallocator)(void *data, size_t length,
                                            void *arg),
                        void *deallocator_arg)
{
    struct foreign f = {
        .deallocator = deallocator, .arg = deallocator_arg, .length = length};
    TF_Tensor *out = malloc(sizeof(*out));

    if (!out || dtype == TF_RESOURCE || dtype == TF_VARIANT ||
        !make_head(&out->tensor, dtype, dims, num_dims, length))
        goto fail;
    f.buffer = (struct tfd_buffer){.refs = 1,
                                   .size = tfd_tensor_size(&out->tensor),
                                   .data = data,
                                   .release = release_foreign};
    if (tfd_tensor_elements(&out->tensor) == 0) {
        if (deallocator)
            deallocator(data, length, deallocator_arg);
        return out;
    }
    if (data && adopt_data(&out->tensor, &f, f.buffer.size))
        return out;
fail:
    free(out);
    return NULL;
}

TF_Tensor *TF_AllocateTensor(TF_DataType dtype, const int64_t *dims,
                             int num_dims, size_t length)
{
    struct tfd_tensor t;

    if (!make_head(&t, dtype, dims, num_dims, length) ||
        tfd_tensor_new(&t, t.dtype, &t.shape, NULL) != TFD_OK)
        return NULL;
    return tfd_capi_tensor(&t);
}

TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor)
{
    if (!tensor->tensor.buffer || !tfd_buffer_sole(tensor->tensor.buffer) ||
        tensor->tensor.buffer->release == release_foreign)
        return NULL;
    return tfd_capi_tensor(&tensor->tensor);
}

void TF_DeleteTensor(TF_Tensor *tensor)
{
    if (!tensor)
        return;
    tfd_tensor_unref(&tensor->tensor);
    free(tensor);
}

/* ---- What it is ---------------------------------------------------------- */

TF_DataType TF_TensorType(const TF_Tensor *tensor)
{
    return (TF_DataType)tensor->tensor.dtype;
}

int TF_NumDims(const TF_Tensor *tensor)
{
    return tensor->tensor.shape.rank;
}

int64_t TF_Dim(const TF_Tensor *tensor, int index)
{
    int64_t dim[TFD_RANK_LONG_MAX];

    if (index < 0 || index >= tensor->tensor.shape.rank)
        return -1;
    tfd_shape_dims(&tensor->tensor.shape, dim);
    return dim[index];
}

size_t TF_TensorByteSize(const TF_Tensor *tensor)
{
    return tensor->tensor.dtype == TFD_DTYPE_INVALID
               ? 0
               : tfd_tensor_size(&tensor->tensor);
}

void *TF_TensorData(const TF_Tensor *tensor)
{
    return tfd_tensor_data(&tensor->tensor);
}

int64_t TF_TensorElementCount(const TF_Tensor *tensor)
{
    return tfd_tensor_elements(&tensor->tensor);
}
