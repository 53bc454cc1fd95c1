/* op_memory.c - see op_memory.h. */
#include "kernels/core/op_memory.h"

#include "common/base/alloc.h"
#include "kernels/math/binary.h"
#include "kernels/core/element.h"

#include <assert.h>

struct tfd_memory *tfd_op_memory_of(const struct tfd_kctx *k,
                                    enum tfd_dtype dtype)
{
    return tfd_dtype_is_pod(dtype) && dtype != TFD_INT32 ? k->memory : NULL;
}

enum tfd_code tfd_op_memory_new(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                const struct tfd_shape *shape,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    return tfd_tensor_new_in(out, tfd_op_memory_of(k, dtype), dtype, shape, st);
}

static enum tfd_code enqueue_op(struct tfd_op_memory_sum *s, int64_t count)
{
    assert(s->k->kernel->range);
    s->k->kernel->range(s, 0, count);
    return s->code;
}

enum tfd_code tfd_op_memory_zero(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                 void *to, int64_t count, struct tfd_status *st)
{
    struct tfd_op_memory_sum s = {.k = k, .dtype = dtype, .y = to, .st = st};

    if (count <= 0)
        return TFD_OK;
    if (tfd_op_memory_of(k, dtype))
        return enqueue_op(&s, count);
    tfd_elements_zero(dtype, to, count);
    return TFD_OK;
}

enum tfd_code tfd_op_memory_zeros(const struct tfd_kctx *k,
                                  enum tfd_dtype dtype,
                                  const struct tfd_shape *shape,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc;

    TFD_TRY(tfd_op_memory_new(k, dtype, shape, out, st));
    rc = tfd_op_memory_zero(k, dtype, tfd_tensor_data(out),
                            tfd_tensor_elements(out), st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

/* ---- Copies -------------------------------------------------------------- */

struct copying {
    enum tfd_dtype dtype;
    void *to;
    const void *from;
};

static void copy_range(void *arg, int64_t begin, int64_t end)
{
    const struct copying *c = arg;

    /* Numbers: no copy of them fails. */
    (void)!tfd_elements_copy(c->dtype, tfd_element_at(c->to, c->dtype, begin),
                             tfd_element_of(c->from, c->dtype, begin),
                             end - begin, NULL);
}

/* In host memory; large ones by several threads. */
static enum tfd_code copy_here(const struct tfd_kctx *k, enum tfd_dtype dtype,
                               void *to, const void *from, int64_t count,
                               struct tfd_status *st)
{
    const int both = 2 * (int)tfd_dtype_size(dtype);
    const struct tfd_stream s = {0, both, both};
    struct copying c = {dtype, to, from};
    struct tfd_kctx own = {.rt = k->rt}; /* all that sharing asks for */

    if (!tfd_dtype_is_pod(dtype))
        return tfd_elements_copy(dtype, to, from, count, st);
    tfd_kctx_parallel_turns(&own, count, &s, copy_range, &c);
    return TFD_OK;
}

enum tfd_code tfd_op_memory_copy(const struct tfd_kctx *k, enum tfd_dtype dtype,
                                 void *to, const void *from, int64_t count,
                                 struct tfd_status *st)
{
    struct tfd_memory *m = tfd_op_memory_of(k, dtype);
    size_t size;

    if (!m || count <= 0)
        return copy_here(k, dtype, to, from, count, st);
    size = (size_t)count * tfd_dtype_size(dtype);
    return m->copy_runs(m, k->stream, to, size, from, size, size, 1, st);
}

static enum tfd_code add_elements(const struct tfd_kctx *k,
                                  const struct tfd_tensor *a,
                                  const struct tfd_tensor *b,
                                  const struct tfd_tensor *y,
                                  struct tfd_status *st)
{
    struct tfd_row row = {.a_step = 1, .b_step = 1};
    struct tfd_op_memory_sum s = {.k = k, .dtype = a->dtype, .st = st};

    row.a = s.a = tfd_tensor_data(a);
    row.b = s.b = tfd_tensor_data(b);
    row.y = s.y = tfd_tensor_data(y);
    if (tfd_op_memory_of(k, a->dtype))
        return enqueue_op(&s, tfd_tensor_elements(a));
    tfd_binary_add_loop(a->dtype)(&row, 0, tfd_tensor_elements(a));
    return TFD_OK;
}

enum tfd_code tfd_op_memory_add(const struct tfd_kctx *k,
                                const struct tfd_tensor *a,
                                const struct tfd_tensor *b,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc;

    if (!tfd_binary_add_loop(a->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensors of type %s cannot be added",
                        tfd_dtype_name((int)a->dtype));
    TFD_TRY(tfd_op_memory_new(k, a->dtype, &a->shape, out, st));
    if (tfd_tensor_elements(a) == 0)
        return TFD_OK;
    rc = add_elements(k, a, b, out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}
