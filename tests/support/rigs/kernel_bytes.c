/*
 * kernel_bytes.c - see kernel_bytes.h.
 */
#define KRIG_ARCHIVED
#include "tests/support/kernel_bytes.h"

static void krig_bytes_release(struct tfd_buffer *b)
{
    free(b);
}

struct tfd_tensor krig_bytes(enum tfd_dtype dtype, int rank, const int64_t *dim,
                             int odd)
{
    struct tfd_tensor t = {.dtype = dtype};
    unsigned char *byte;
    size_t size;

    assert_in_range(odd, 0, KRIG_ODD_MAX);
    assert_int_equal(tfd_shape_make(&t.shape, dim, rank, NULL), TFD_OK);
    size = tfd_tensor_size(&t);
    t.buffer =
        aligned_alloc(64, (sizeof(*t.buffer) + size + 255) / 64 * 64 + 64);
    assert_non_null(t.buffer);
    byte = (unsigned char *)t.buffer + 64 + odd;
    *t.buffer = (struct tfd_buffer){1, size, byte, krig_bytes_release};
    for (size_t i = 0; i < size; i++)
        byte[i] = (unsigned char)(dtype == TFD_BOOL ? i % 3 == 0
                                                    : i % 251 * 7 + i / 4093);
    return t;
}

struct tfd_tensor krig_ints(enum tfd_dtype dtype, int rank, const int64_t *dim,
                            const int64_t *values)
{
    struct tfd_tensor t = krig_bytes(dtype, rank, dim, 0);

    for (int64_t i = 0; i < tfd_tensor_elements(&t); i++)
        krig_put_number(dtype, tfd_tensor_data(&t), i, 0, 0, values[i]);
    return t;
}

void krig_run_well(const struct krig_case *c, int mode)
{
    if (krig_run(c, mode) != TFD_OK)
        fail_msg("%s: %s", c->op, krig.st.text);
}

void krig_expect_bytes(const struct tfd_shape *shape, const void *bytes)
{
    const struct tfd_tensor *y = &krig.out[0];
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&y->shape, shape))
        fail_msg("%s instead of %s", tfd_shape_text(&y->shape, have),
                 tfd_shape_text(shape, want));
    if (tfd_tensor_size(y) > 0)
        assert_memory_equal(tfd_tensor_data(y), bytes, tfd_tensor_size(y));
}
