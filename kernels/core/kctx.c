/*
 * kctx.c - outputs of a kernel, in host memory or in that of its device.
 *
 * An input's buffer becomes an output's by one more reference: the executor
 * holds the other until compute() returns and drops it with the inputs.  So the
 * rule "one reference: may be written" is bent for exactly the time in which
 * only this kernel can see the buffer.
 */
#include "kernels/core/kernel.h"

#include "common/base/alloc.h"

#include <assert.h>

/* A part of this part of a value does not keep all of it. */
#define PART_MIN 16

/* Nobody else reads it now or later, and it is no part of something larger.
 * Bytes alone would not do: a loop that goes on through another number of
 * elements (a broadcast) writes over what it has yet to read. */
static bool is_free(const struct tfd_tensor *t, const struct tfd_tensor *like,
                    const struct tfd_memory *m)
{
    const struct tfd_buffer *b = t->buffer;
    void (*release)(struct tfd_buffer *) = m ? m->release : tfd_buffer_release;

    return b && tfd_dtype_is_pod(t->dtype) &&
           tfd_dtype_size(t->dtype) == tfd_dtype_size(like->dtype) &&
           tfd_tensor_elements(t) == tfd_tensor_elements(like) &&
           b->release == release && tfd_buffer_sole(b);
}

/* Never in the memory of a device. */
static bool is_of_host(const struct tfd_kernel *k, int type)
{
    const uint32_t types =
        UINT32_C(1) << TFD_INT32 | UINT32_C(1) << TFD_STRING |
        UINT32_C(1) << TFD_RESOURCE | UINT32_C(1) << TFD_QINT8 |
        UINT32_C(1) << TFD_QUINT8 | UINT32_C(1) << TFD_QINT16 |
        UINT32_C(1) << TFD_QUINT16 | UINT32_C(1) << TFD_QINT32;

    return (k->flags & TFD_KERNEL_BY_TYPE) && types >> tfd_dtype_base(type) & 1;
}

bool tfd_kernel_host_in(const struct tfd_kernel *k, const struct tfd_node *n,
                        int in)
{
    if (k->host_in == 0 || k->host_in == TFD_HOST_ALL)
        return k->host_in != 0 || is_of_host(k, n->in_types[in]);
    return k->host_in >> tfd_node_in_arg(n, in) & 1 ||
           is_of_host(k, n->in_types[in]);
}

bool tfd_kernel_host_out(const struct tfd_kernel *k, const struct tfd_node *n,
                         int out)
{
    if (k->host_out == 0 || k->host_out == TFD_HOST_ALL)
        return k->host_out != 0 || is_of_host(k, n->out_types[out]);
    return k->host_out >> tfd_node_out_arg(n, out) & 1 ||
           is_of_host(k, n->out_types[out]);
}

struct tfd_memory *tfd_kctx_memory(const struct tfd_kctx *k, int out)
{
    if (!k->memory || tfd_kernel_host_out(k->kernel, k->node, out))
        return NULL;
    return k->memory;
}

enum tfd_code tfd_kctx_output(struct tfd_kctx *k, int out, enum tfd_dtype dtype,
                              const struct tfd_shape *shape,
                              struct tfd_status *st)
{
    assert(out >= 0 && out < k->out_count);
    return tfd_tensor_new_in(
        &k->out[out], tfd_dtype_is_pod(dtype) ? tfd_kctx_memory(k, out) : NULL,
        dtype, shape, st);
}

enum tfd_code tfd_kctx_output_reuse(struct tfd_kctx *k, uint32_t candidates,
                                    int out, enum tfd_dtype dtype,
                                    const struct tfd_shape *shape,
                                    struct tfd_status *st)
{
    struct tfd_tensor like = {dtype, *shape, NULL};
    const struct tfd_memory *memory = tfd_kctx_memory(k, out);
    bool fits = tfd_dtype_is_pod(dtype) && tfd_shape_elements(shape);

    assert(out >= 0 && out < k->out_count);
    for (int i = 0; fits && i < k->in_count && candidates >> i; i++) {
        if (!(candidates >> i & 1) || (k->ref && k->ref[i]) ||
            !is_free(&k->in[i], &like, memory))
            continue;
        like.buffer = tfd_buffer_ref_sole(k->in[i].buffer);
        k->out[out] = like;
        return TFD_OK;
    }
    return tfd_kctx_output(k, out, dtype, shape, st);
}

enum tfd_code tfd_kctx_output_like(struct tfd_kctx *k, int in, int out,
                                   struct tfd_status *st)
{
    assert(in >= 0 && in < k->in_count);
    return tfd_kctx_output_reuse(k, in < 32 ? UINT32_C(1) << in : 0, out,
                                 k->in[in].dtype, &k->in[in].shape, st);
}

bool tfd_rows_aligned(const struct tfd_tensor *t)
{
    int64_t rows = t->shape.rank > 0 ? t->shape.dim[0] : 0;

    return rows > 0 &&
           tfd_tensor_size(t) / (size_t)rows % TFD_BUFFER_ALIGN == 0;
}

bool tfd_kctx_output_part(struct tfd_kctx *k, int in, int out,
                          const struct tfd_shape *shape, int64_t first)
{
    const struct tfd_tensor *x = &k->in[in];
    size_t item = tfd_dtype_size(x->dtype);
    size_t size = (size_t)tfd_shape_elements(shape) * item;
    bool is_reference = k->ref && k->ref[in];
    struct tfd_buffer *part;

    assert(in >= 0 && in < k->in_count && out >= 0 && out < k->out_count);
    if (size == 0 || k->memory || !tfd_dtype_is_pod(x->dtype) ||
        (!is_reference && size < tfd_tensor_size(x) / PART_MIN))
        return false;
    part = tfd_buffer_slice(x->buffer, (size_t)first * item, size);
    if (!part)
        return false;
    k->out[out] = (struct tfd_tensor){x->dtype, *shape, part};
    return true;
}

void tfd_kctx_output_alias(struct tfd_kctx *k, int in, int out,
                           const struct tfd_shape *shape)
{
    assert(in >= 0 && in < k->in_count && out >= 0 && out < k->out_count);
    assert(tfd_shape_elements(shape) <= tfd_tensor_elements(&k->in[in]));
    k->out[out] = (struct tfd_tensor){k->in[in].dtype, *shape, NULL};
    if (tfd_shape_elements(shape))
        k->out[out].buffer = tfd_buffer_ref(k->in[in].buffer);
}

const struct tfd_handle *tfd_kctx_handle(const struct tfd_kctx *k, int in)
{
    struct tfd_handle *const *h = tfd_tensor_data(&k->in[in]);

    return h ? *h : NULL;
}
