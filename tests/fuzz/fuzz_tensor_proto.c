/*
 * fuzz_tensor_proto.c - libFuzzer target: any bytes as a TensorProto.
 *
 *     make fuzz
 *
 * What decodes is encoded again and must decode to the same tensor, beside the
 * message and inside it.
 */
#include "common/base/alloc.h"
#include "rpc/core/message.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_MAX ((size_t)64 << 20) /* a small proto may repeat one value */

static char handle;

static enum tfd_code decode_handle(struct tfd_str proto, void **out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        ;
    *out = &handle;
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

static void encode_handle(struct tfd_bytes *b, void *h)
{
    assert(h == &handle);
    tfd_pb_put_str(b, 1, TFD_STR("device"));
}

static bool same_item(const struct tfd_tensor *a, const struct tfd_tensor *b,
                      int64_t i)
{
    const struct tfd_tstring *x = tfd_tensor_data(a), *y = tfd_tensor_data(b);

    return a->dtype != TFD_STRING ||
           tfd_str_eq(tfd_tstring_view(&x[i]), tfd_tstring_view(&y[i]));
}

static void check_same(const struct tfd_tensor *a, const struct tfd_tensor *b)
{
    assert(a->dtype == b->dtype);
    assert(tfd_shape_equal(&a->shape, &b->shape));
    for (int64_t i = 0; i < tfd_tensor_elements(a); i++)
        assert(same_item(a, b, i));
    if (tfd_dtype_is_pod(a->dtype) && tfd_tensor_size(a))
        assert(memcmp(tfd_tensor_data(a), tfd_tensor_data(b),
                      tfd_tensor_size(a)) == 0);
}

/* native: the payload stays where it is; gRPC: the bytes as on the wire. */
static void round_trip(const struct tfd_tensor *t, bool native)
{
    struct tfd_incoming in = {.proto = TFD_STR_EMPTY};
    struct tfd_buffer *payload = NULL;
    struct tfd_pb_field f;
    struct tfd_pb_reader r;
    struct tfd_tensor back;
    struct tfd_message m;
    struct tfd_bytes flat;

    tfd_message_init(&m, native);
    tfd_message_put_tensor(&m, 1, t, encode_handle);
    assert(!m.proto.failed && m.splice_count <= 1);
    tfd_bytes_init(&flat, MEMORY_MAX * 2);
    tfd_bytes_add_str(&flat, tfd_bytes_view(&m.proto));
    if (m.splice_count && native) {
        payload = m.splices[0].buffer;
        in.payload = &payload;
        in.payload_count = 1;
    } else if (m.splice_count) {
        assert(m.splices[0].at == m.proto.size);
        tfd_bytes_add(&flat, m.splices[0].buffer->data, m.splices[0].size);
    }
    assert(!flat.failed);
    r = tfd_pb_reader_of(tfd_bytes_view(&flat));
    assert(tfd_pb_next(&r, &f) && f.tag == 1);
    if (tfd_tensor_decode(&in, f.bytes, decode_handle, &back, NULL) == TFD_OK) {
        check_same(t, &back);
        tfd_tensor_unref(&back);
    } else {
        struct tfd_alloc_stats stats;

        tfd_alloc_stats(&stats); /* two of them may pass the limit */
        assert(tfd_tensor_size(t) + stats.in_use > MEMORY_MAX);
    }
    tfd_bytes_deinit(&flat);
    tfd_message_deinit(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str proto = {(const char *)data, size};
    struct tfd_tensor t;

    tfd_alloc_limit(MEMORY_MAX);
    if (tfd_tensor_decode(NULL, proto, decode_handle, &t, NULL) != TFD_OK) {
        assert(!t.buffer);
        return 0;
    }
    if (tfd_tensor_size(&t) < MEMORY_MAX / 8) {
        round_trip(&t, true);
        round_trip(&t, false);
    }
    tfd_tensor_unref(&t);
    return 0;
}
