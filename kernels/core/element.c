/*
 * element.c - memcpy for numbers, counted copies for the rest.
 */
#include "kernels/core/element.h"

#include "common/thread/halt.h"
#include "common/base/variant.h"
#include "kernels/layout/box.h"
#include "kernels/layout/box_runs.h"
#include "kernels/vector/simd.h"

#include <string.h>

#define STRINGS_BETWEEN_LOOKS 4096

static void copy_handle(void *dst, const void *src)
{
    struct tfd_handle *const *from = src;
    struct tfd_handle **to = dst;
    struct tfd_handle *old = *to;

    *to = *from ? tfd_handle_ref(*from) : NULL;
    if (old)
        tfd_handle_unref(old);
}

static enum tfd_code copy_one(enum tfd_dtype dtype, void *dst, const void *src,
                              struct tfd_status *st)
{
    if (dtype == TFD_STRING)
        return tfd_tstring_copy(dst, src, st);
    if (dtype == TFD_RESOURCE) {
        copy_handle(dst, src);
        return TFD_OK;
    }
    if (dtype == TFD_VARIANT) {
        struct tfd_variant *const *from = src;
        struct tfd_variant **to = dst, *old = *to;

        *to = *from ? tfd_variant_ref(*from) : NULL;
        tfd_variant_unref(old);
        return TFD_OK;
    }
    return tfd_fail(st, TFD_UNIMPLEMENTED, "copying elements of type %s",
                    tfd_dtype_name((int)dtype));
}

/* Looks at halt.h now and then: a copy may be 24 bytes moved. */
static enum tfd_code copy_strings(struct tfd_tstring *dst,
                                  const struct tfd_tstring *src, int64_t stride,
                                  int64_t n, struct tfd_status *st)
{
    for (int64_t i = 0; i < n; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(tfd_tstring_copy(&dst[i], &src[i * stride], st));
    }
    return TFD_OK;
}

static enum tfd_code copy_each(enum tfd_dtype dtype, void *dst, const void *src,
                               int64_t stride, int64_t n, struct tfd_status *st)
{
    if (dtype == TFD_STRING)
        return copy_strings(dst, src, stride, n, st);
    for (int64_t i = 0; i < n && !tfd_halted(); i++)
        TFD_TRY(copy_one(dtype, tfd_element_at(dst, dtype, i),
                         tfd_element_of(src, dtype, i * stride), st));
    return TFD_OK;
}

/* How many of n elements of `size` bytes to do before looking at halt.h. */
static int64_t next_block(int64_t n, size_t size)
{
    int64_t block = (int64_t)(TFD_HALT_BLOCK_SIZE / size);

    return n < block ? n : block;
}

static void copy_bytes(void *dst, const void *src, int64_t n, size_t size)
{
    while (n > 0 && !tfd_halted()) {
        int64_t block = next_block(n, size);

        memcpy(dst, src, (size_t)block * size);
        dst = (char *)dst + (size_t)block * size;
        src = (const char *)src + (size_t)block * size;
        n -= block;
    }
}

enum tfd_code tfd_elements_copy(enum tfd_dtype dtype, void *dst,
                                const void *src, int64_t n,
                                struct tfd_status *st)
{
    if (n <= 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(dtype))
        return copy_each(dtype, dst, src, 1, n, st);
    copy_bytes(dst, src, n, tfd_dtype_size(dtype));
    return TFD_OK;
}

/* Loops by width, so that a stride costs no call per element. */
#define GATHER(T)                                                      \
    static void gather_##T(void *dst, const void *src, int64_t stride, \
                           int64_t n)                                  \
    {                                                                  \
        const T *from = src;                                           \
        T *to = dst;                                                   \
                                                                       \
        for (int64_t i = 0; i < n; i++)                                \
            to[i] = from[i * stride];                                  \
    }

GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)
GATHER(tfd_complex128)

static const struct {
    size_t size;
    void (*gather)(void *dst, const void *src, int64_t stride, int64_t n);
} widths[] = {
    {1, gather_uint8_t},  {2, gather_uint16_t},        {4, gather_uint32_t},
    {8, gather_uint64_t}, {16, gather_tfd_complex128},
};

static int width_of(enum tfd_dtype dtype)
{
    size_t size = tfd_dtype_size(dtype);
    int i = 0;

    while (widths[i].size != size)
        i++;
    return i;
}

enum tfd_code tfd_elements_gather(enum tfd_dtype dtype, void *dst,
                                  const void *src, int64_t stride, int64_t n,
                                  struct tfd_status *st)
{
    if (n <= 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(dtype))
        return copy_each(dtype, dst, src, stride, n, st);
    if (stride == 1) {
        copy_bytes(dst, src, n, tfd_dtype_size(dtype));
        return TFD_OK;
    }
    for (int64_t i = 0; i < n && !tfd_halted();) {
        int64_t block = next_block(n - i, tfd_dtype_size(dtype));

        widths[width_of(dtype)].gather(tfd_element_at(dst, dtype, i),
                                       tfd_element_of(src, dtype, i * stride),
                                       stride, block);
        i += block;
    }
    return TFD_OK;
}

enum tfd_code tfd_elements_fill(enum tfd_dtype dtype, void *dst,
                                const void *value, int64_t n,
                                struct tfd_status *st)
{
    const size_t size = tfd_dtype_size(dtype);
    tfd_box_loop *fill;

    if (n <= 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(dtype))
        return copy_each(dtype, dst, value, 0, n, st);
    fill = tfd_box_same_of((int64_t)size);
    for (int64_t i = 0; i < n && !tfd_halted();) {
        const struct tfd_box_nest row = {.rows = 1,
                                         .count = next_block(n - i, size)};

        fill(&row, tfd_element_at(dst, dtype, i), value);
        i += row.count;
    }
    return TFD_OK;
}

/* What a second cache holds is cleared by stores of whole lines where the
 * processor has them: memset() is one instruction from 2 KiB on, which takes
 * half as long again for these (Zen 5: 512 KB in 3.0 us in place of 2.0), but
 * no longer for what lies farther. */
#define NEAR_SIZE_MIN 2048
#define NEAR_SIZE_MAX (768 << 10)
#define LINE_SIZE 64

TFD_SIMD_LOOP(clear_words)
{
    uint64_t *to = arg, zero = 0;

    __asm__("" : "+r"(zero)); /* or the compiler would call memset() */
    for (int64_t i = begin; i < end; i++)
        to[i] = zero;
}
TFD_SIMD_CLONES_WIDE(clear_words)

static void clear_bytes(void *to, size_t size)
{
    const size_t whole = size / LINE_SIZE * LINE_SIZE;

    if (size < NEAR_SIZE_MIN || size > NEAR_SIZE_MAX ||
        (uintptr_t)to % LINE_SIZE || !tfd_simd_has_avx512()) {
        tfd_halt_clear(to, size);
        return;
    }
    clear_words(to, 0, (int64_t)(whole / sizeof(uint64_t)));
    memset((char *)to + whole, 0, size - whole);
}

void tfd_elements_zero(enum tfd_dtype dtype, void *dst, int64_t n)
{
    struct tfd_tstring *strings = dst;
    size_t size = tfd_dtype_size(dtype);

    if (dtype == TFD_STRING)
        for (int64_t i = 0; i < n; i++)
            tfd_tstring_deinit(&strings[i]);
    if (!tfd_dtype_is_pod(dtype))
        return;
    if (n > 0)
        clear_bytes(dst, (size_t)n * size);
}

void tfd_elements_clear(const struct tfd_tensor *t)
{
    tfd_elements_zero(t->dtype, tfd_tensor_data(t), tfd_tensor_elements(t));
}

void tfd_element_strides(const struct tfd_shape *s, int64_t *stride)
{
    int64_t step = 1;

    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s->dim[i];
    }
}

/* Strings and handles: the innermost dimension is a gather, or one by one; the
 * others count like an odometer. */
static enum tfd_code copy_row(enum tfd_dtype dtype, void *dst,
                              int64_t dst_stride, const void *src,
                              int64_t src_stride, int64_t n,
                              struct tfd_status *st)
{
    if (dst_stride == 1)
        return tfd_elements_gather(dtype, dst, src, src_stride, n, st);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(tfd_elements_copy(
            dtype, tfd_element_at(dst, dtype, i * dst_stride),
            tfd_element_of(src, dtype, i * src_stride), 1, st));
    return TFD_OK;
}

/* A box of them. */
struct owned_box {
    enum tfd_dtype dtype;
    const struct tfd_shape *shape; /* of rank 1 at least */
    void *dst;
    const void *src;
    const int64_t *dst_stride, *src_stride;
};

/* A row of it: which one, and where it begins. */
struct owned_row {
    int64_t at[TFD_RANK_MAX];
    int64_t to, from;
};

static void seek_row(const struct owned_box *b, int64_t number,
                     struct owned_row *r)
{
    r->to = r->from = 0;
    for (int d = b->shape->rank - 2; d >= 0; d--) {
        r->at[d] = number % b->shape->dim[d];
        number /= b->shape->dim[d];
        r->to += r->at[d] * b->dst_stride[d];
        r->from += r->at[d] * b->src_stride[d];
    }
}

static void next_row(const struct owned_box *b, struct owned_row *r)
{
    for (int d = b->shape->rank - 2; d >= 0; d--) {
        r->to += b->dst_stride[d];
        r->from += b->src_stride[d];
        if (++r->at[d] < b->shape->dim[d])
            return;
        r->to -= b->dst_stride[d] * b->shape->dim[d];
        r->from -= b->src_stride[d] * b->shape->dim[d];
        r->at[d] = 0;
    }
}

/* Elements [begin, end) of all, row by row. */
static enum tfd_code copy_owned(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct owned_box *b = arg;
    const int last = b->shape->rank - 1;
    const int64_t dim = b->shape->dim[last];
    const int64_t to = b->dst_stride[last], from = b->src_stride[last];
    struct owned_row r;

    seek_row(b, begin / dim, &r);
    for (int64_t at = begin % dim, n; begin < end && !tfd_halted(); at = 0) {
        n = dim - at < end - begin ? dim - at : end - begin;
        TFD_TRY(copy_row(
            b->dtype, tfd_element_at(b->dst, b->dtype, r.to + at * to), to,
            tfd_element_of(b->src, b->dtype, r.from + at * from), from, n, st));
        begin += n;
        next_row(b, &r);
    }
    return TFD_OK;
}

#define OWNED_NS 10 /* an element, or more */

static enum tfd_code copy_owned_box(struct tfd_kctx *k, struct owned_box *b,
                                    struct tfd_status *st)
{
    const int64_t n = tfd_shape_elements(b->shape);

    if (b->shape->rank == 0)
        return tfd_elements_copy(b->dtype, b->dst, b->src, 1, st);
    return k ? tfd_kctx_try(k, n, OWNED_NS, copy_owned, b, st)
             : copy_owned(b, 0, n, st);
}

static void copy_numbers(struct tfd_kctx *k, int64_t size,
                         const struct tfd_shape *shape, void *dst,
                         const int64_t *dst_stride, const void *src,
                         const int64_t *src_stride)
{
    struct tfd_box box;

    tfd_box_init(&box, (size_t)size);
    for (int d = 0; d < shape->rank; d++)
        tfd_box_add(&box, shape->dim[d], dst_stride[d] * size,
                    src_stride[d] * size);
    tfd_box_copy(k, &box, dst, src);
}

enum tfd_code tfd_elements_box(struct tfd_kctx *k, enum tfd_dtype dtype,
                               const struct tfd_shape *shape, void *dst,
                               const int64_t *dst_stride, const void *src,
                               const int64_t *src_stride, struct tfd_status *st)
{
    if (tfd_shape_elements(shape) == 0)
        return TFD_OK;
    if (!tfd_dtype_is_pod(dtype))
        return copy_owned_box(
            k,
            &(struct owned_box){dtype, shape, dst, src, dst_stride, src_stride},
            st);
    copy_numbers(k, (int64_t)tfd_dtype_size(dtype), shape, dst, dst_stride, src,
                 src_stride);
    return TFD_OK;
}
