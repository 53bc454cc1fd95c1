/*
 * tensor.c - tensors and the references on their buffers.
 *
 * A buffer of strings or handles owns what its elements point to.  It is an
 * ordinary buffer whose release function lets go of the elements first.
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "common/base/tensor.h"

#include "common/base/alloc.h"
#include "common/base/str.h"
#include "common/base/variant.h"

#include <assert.h>
#include <string.h>

/* ---- Buffers ------------------------------------------------------------- */

struct tfd_buffer *tfd_buffer_ref(struct tfd_buffer *b)
{
    if (b)
        tfd_refs_add(&b->refs, 1);
    return b;
}

void tfd_buffer_ref_times(struct tfd_buffer *b, int count)
{
    if (b)
        tfd_refs_add(&b->refs, count);
}

/* Nobody else can count, so no bus need be locked. */
struct tfd_buffer *tfd_buffer_ref_sole(struct tfd_buffer *b)
{
    assert(tfd_buffer_sole(b));
    TFD_STORE_RELAXED(&b->refs, 2);
    return b;
}

/* Releases what this thread wrote and acquires what the others wrote, so that
 * the one who frees or reuses the bytes comes after everybody. */
void tfd_buffer_unref(struct tfd_buffer *b)
{
    if (!b)
        return;
    if (tfd_buffer_sole(b)) { /* as in tfd_buffer_ref_sole() */
        b->release(b);
        return;
    }
    if (tfd_refs_drop(&b->refs))
        b->release(b);
}

bool tfd_buffer_sole(const struct tfd_buffer *b)
{
    return TFD_LOAD_ACQUIRE(&b->refs) == 1;
}

static void release_strings(struct tfd_buffer *b)
{
    struct tfd_tstring *t = b->data;

    for (size_t i = 0; i < b->size / sizeof(*t); i++)
        if (tfd_tstring_kind_of(&t[i]) == TFD_TSTRING_LARGE)
            tfd_tstring_free(&t[i]);
    tfd_buffer_release(b);
}

/* Set once, before there are threads; read-only from then on. */
static tfd_handle_release_fn *handle_release;

void tfd_tensor_handle_release(tfd_handle_release_fn *fn)
{
    handle_release = fn;
}

static void release_handles(struct tfd_buffer *b)
{
    void **handle = b->data;

    for (size_t i = 0; handle_release && i < b->size / sizeof(*handle); i++)
        if (handle[i])
            handle_release(handle[i]);
    tfd_buffer_release(b);
}

static void release_variants(struct tfd_buffer *b)
{
    struct tfd_variant **v = b->data;

    for (size_t i = 0; i < b->size / sizeof(*v); i++)
        tfd_variant_unref(v[i]);
    tfd_buffer_release(b);
}

/* ---- Tensors ------------------------------------------------------------- */

/* Makes bytes elements: all of them, or CANCELLED where nobody wants them any
 * more, and *b is bytes still. */
static enum tfd_code own_elements(struct tfd_buffer *b, enum tfd_dtype dtype,
                                  struct tfd_status *st)
{
    if (tfd_dtype_is_pod(dtype))
        return TFD_OK;
    for (size_t at = 0; at < b->size; at += TFD_HALT_BLOCK_SIZE) {
        size_t rest = b->size - at;

        if (at && tfd_halted())
            return tfd_halt_fail(st);
        memset((char *)b->data + at, 0,
               rest < TFD_HALT_BLOCK_SIZE ? rest : TFD_HALT_BLOCK_SIZE);
    }
    if (dtype == TFD_VARIANT)
        b->release = release_variants;
    else
        b->release = dtype == TFD_STRING ? release_strings : release_handles;
    return TFD_OK;
}

static enum tfd_code fail_memory(enum tfd_dtype dtype,
                                 const struct tfd_shape *shape,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "OOM when allocating tensor with shape%s and type %s",
                    tfd_shape_text(shape, text), tfd_dtype_name((int)dtype));
}

/* Bytes of the elements; 0 when there are none. */
static enum tfd_code size_of(enum tfd_dtype dtype,
                             const struct tfd_shape *shape, size_t *out,
                             struct tfd_status *st)
{
    int64_t elements = tfd_shape_elements(shape);

    assert(elements >= 0);
    if (!tfd_dtype_valid((int)dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "A tensor cannot have the type number %d", (int)dtype);
    if ((uint64_t)elements > SIZE_MAX / tfd_dtype_size(dtype))
        return fail_memory(dtype, shape, st);
    *out = (size_t)elements * tfd_dtype_size(dtype);
    return TFD_OK;
}

enum tfd_code tfd_tensor_new(struct tfd_tensor *out, enum tfd_dtype dtype,
                             const struct tfd_shape *shape,
                             struct tfd_status *st)
{
    struct tfd_buffer *b = NULL;
    size_t size = 0;

    TFD_TRY(size_of(dtype, shape, &size, st));
    if (size > 0) {
        b = tfd_buffer_new(size);
        if (!b)
            return fail_memory(dtype, shape, st);
        if (own_elements(b, dtype, st) != TFD_OK) {
            tfd_buffer_unref(b);
            return TFD_CANCELLED;
        }
    }
    *out = (struct tfd_tensor){dtype, *shape, b};
    return TFD_OK;
}

enum tfd_code tfd_tensor_new_in(struct tfd_tensor *out, struct tfd_memory *m,
                                enum tfd_dtype dtype,
                                const struct tfd_shape *shape,
                                struct tfd_status *st)
{
    struct tfd_buffer *b = NULL;
    size_t size = 0;

    if (!m)
        return tfd_tensor_new(out, dtype, shape, st);
    TFD_TRY(size_of(dtype, shape, &size, st));
    if (!tfd_dtype_is_pod(dtype))
        return tfd_fail(st, TFD_INTERNAL,
                        "a tensor of type %s lies in host memory only",
                        tfd_dtype_name((int)dtype));
    if (size > 0) {
        b = m->make(m, size, st);
        if (!b)
            return TFD_RESOURCE_EXHAUSTED;
    }
    *out = (struct tfd_tensor){dtype, *shape, b};
    return TFD_OK;
}

struct tfd_tensor tfd_tensor_ref(const struct tfd_tensor *t)
{
    tfd_buffer_ref(t->buffer);
    return *t;
}

void tfd_tensor_unref(struct tfd_tensor *t)
{
    struct tfd_buffer *b = t->buffer;

    *t = (struct tfd_tensor)TFD_TENSOR_INIT;
    tfd_buffer_unref(b);
}

int64_t tfd_tensor_elements(const struct tfd_tensor *t)
{
    return tfd_shape_elements(&t->shape);
}

size_t tfd_tensor_size(const struct tfd_tensor *t)
{
    return (size_t)tfd_tensor_elements(t) * tfd_dtype_size(t->dtype);
}

void *tfd_tensor_data(const struct tfd_tensor *t)
{
    return t->buffer ? t->buffer->data : NULL;
}

/* ---- Bytes from outside -------------------------------------------------- */

/* The bits that any byte has. */
static uint8_t seen_bits(const uint8_t *bytes, size_t size)
{
    uint8_t seen = 0;

    for (size_t i = 0; i < size; i++)
        seen |= bytes[i];
    return seen;
}

enum tfd_code tfd_tensor_check_bytes(enum tfd_dtype dtype, const void *bytes,
                                     size_t size, struct tfd_status *st)
{
    const uint8_t *b = bytes;
    size_t at = 0;

    if (dtype != TFD_BOOL || seen_bits(b, size) <= 1)
        return TFD_OK;
    while (b[at] <= 1)
        at++;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "element %zu of a bool tensor has the byte %d, which is "
                    "neither 0 nor 1",
                    at, b[at]);
}

void tfd_tensor_normalize_bools(const struct tfd_tensor *t)
{
    uint8_t *b = tfd_tensor_data(t);
    size_t size = t->dtype == TFD_BOOL ? tfd_tensor_size(t) : 0;

    for (size_t i = 0; i < size; i++)
        b[i] = b[i] != 0;
}
