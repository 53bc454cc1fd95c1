/*
 * native_rig.h - calls over the native protocol, and its frames one by one,
 * for tests of rpc/native/native.c and native_client.c.
 */
#ifndef TFD_TESTS_SUPPORT_NATIVE_RIG_H
#define TFD_TESTS_SUPPORT_NATIVE_RIG_H

#include "tests/support/rig.h"

/* ---- Calls --------------------------------------------------------------- */

static inline struct tfd_message payload_message(struct tfd_buffer **b,
                                                 int count)
{
    struct tfd_message m = rig_text("with payloads");

    for (int i = 0; i < count; i++)
        tfd_message_splice(&m, b[i], b[i]->size);
    return m;
}

static inline struct tfd_outcall *call(struct tfd_channel *ch,
                                       enum tfd_method_number method,
                                       struct tfd_message *m,
                                       struct rig_result *result)
{
    return tfd_channel_call(ch, method, m, &rig_patient, rig_done, result);
}

static inline void connect(struct rig *r, struct tfd_channel *ch)
{
    struct tfd_message m = rig_text("hello");
    struct rig_result result = {.rig = r};

    call(ch, TFD_METHOD_RunGraph, &m, &result);
    rig_run(r, 1);
    assert_int_equal(result.code, TFD_OK);
    assert_int_equal(result.size, 5);
}

/* ---- Frames -------------------------------------------------------------- */

struct wire {
    uint8_t *bytes;
    size_t size;
};

static inline void put_frame(struct wire *w, enum tfd_frame_kind kind,
                             uint8_t flags, uint16_t method,
                             uint32_t call_number, const void *body,
                             uint32_t size)
{
    struct tfd_frame_header h = {kind, flags, method, call_number, size};

    w->bytes = realloc(w->bytes, w->size + TFD_FRAME_HEADER_SIZE + size);
    assert_non_null(w->bytes);
    tfd_frame_encode(&h, w->bytes + w->size);
    if (size)
        memcpy(w->bytes + w->size + TFD_FRAME_HEADER_SIZE, body, size);
    w->size += TFD_FRAME_HEADER_SIZE + size;
}

/* The rest is sent a turn of the loop or more later. */
struct cut {
    struct tfd_timer timer;
    struct rig_raw *raw;
    struct wire wire;
    size_t at;
};

static inline void send_rest(struct tfd_timer *t)
{
    struct cut *c = (struct cut *)t;

    tfd_conn_write(c->raw->conn, c->wire.bytes + c->at, c->wire.size - c->at);
}

#endif
