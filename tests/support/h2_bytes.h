/*
 * h2_bytes.h - HTTP/2 frames written by hand, for tests that must send what no
 * correct session would.
 */
#ifndef TFD_TESTS_SUPPORT_H2_BYTES_H
#define TFD_TESTS_SUPPORT_H2_BYTES_H

#include "common/base/str.h"

#include <string.h>

enum frame_type {
    F_DATA,
    F_HEADERS,
    F_PRIORITY,
    F_RST_STREAM,
    F_SETTINGS,
    F_PUSH_PROMISE,
    F_PING,
    F_GOAWAY,
    F_WINDOW_UPDATE,
    F_CONTINUATION,
};

enum frame_flag {
    FLAG_NONE = 0,
    FLAG_END_STREAM = 1,
    FLAG_ACK = 1,
    FLAG_END_HEADERS = 4,
};

#define H2_MAGIC "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static inline void put_u8(struct tfd_bytes *b, uint32_t v)
{
    uint8_t byte = (uint8_t)v;

    tfd_bytes_add(b, &byte, 1);
}

static inline void put_u16(struct tfd_bytes *b, uint32_t v)
{
    put_u8(b, v >> 8);
    put_u8(b, v & 0xff);
}

static inline void put_u32(struct tfd_bytes *b, uint32_t v)
{
    put_u16(b, v >> 16);
    put_u16(b, v & 0xffff);
}

static inline void put_frame(struct tfd_bytes *b, enum frame_type type,
                             uint32_t flags, uint32_t id, const void *payload,
                             size_t size)
{
    put_u8(b, (uint32_t)(size >> 16));
    put_u16(b, (uint32_t)(size & 0xffff));
    put_u8(b, type);
    put_u8(b, flags);
    put_u32(b, id);
    if (size > 0)
        tfd_bytes_add(b, payload, size);
}

static inline void put_frame_u32(struct tfd_bytes *b, enum frame_type type,
                                 uint32_t id, uint32_t value)
{
    uint8_t wire[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16),
                       (uint8_t)(value >> 8), (uint8_t)value};

    put_frame(b, type, FLAG_NONE, id, wire, 4);
}

static inline void put_setting(struct tfd_bytes *b, uint32_t id, uint32_t value)
{
    uint8_t wire[6] = {(uint8_t)(id >> 8),     (uint8_t)id,
                       (uint8_t)(value >> 24), (uint8_t)(value >> 16),
                       (uint8_t)(value >> 8),  (uint8_t)value};

    put_frame(b, F_SETTINGS, FLAG_NONE, 0, wire, 6);
}

static inline void put_magic(struct tfd_bytes *b)
{
    tfd_bytes_add(b, H2_MAGIC, sizeof(H2_MAGIC) - 1);
    put_frame(b, F_SETTINGS, FLAG_NONE, 0, NULL, 0);
}

/* A literal header that enters no table (RFC 7541 6.2.2); texts < 127. */
static inline void put_header(struct tfd_bytes *b, const char *name,
                              const char *value)
{
    put_u8(b, 0);
    put_u8(b, (uint32_t)strlen(name));
    tfd_bytes_add(b, name, strlen(name));
    put_u8(b, (uint32_t)strlen(value));
    tfd_bytes_add(b, value, strlen(value));
}

static inline void put_request_head(struct tfd_bytes *b, const char *path)
{
    put_header(b, ":method", "POST");
    put_header(b, ":scheme", "http");
    put_header(b, ":path", path);
    put_header(b, ":authority", "here:1");
    put_header(b, "content-type", "application/grpc");
    put_header(b, "te", "trailers");
}

/* A whole HEADERS frame of a request. */
static inline void put_request(struct tfd_bytes *b, uint32_t id, uint32_t flags,
                               const char *path)
{
    struct tfd_bytes head;

    tfd_bytes_init(&head, 1 << 20);
    put_request_head(&head, path);
    put_frame(b, F_HEADERS, flags | FLAG_END_HEADERS, id, head.data, head.size);
    tfd_bytes_deinit(&head);
}

struct seen_frame {
    uint32_t size;
    uint32_t type;
    uint32_t flags;
    uint32_t id;
    const uint8_t *payload;
};

/* Takes one frame off the front of s. */
static inline bool next_frame(struct tfd_str *s, struct seen_frame *f)
{
    const uint8_t *p = (const uint8_t *)s->data;

    *f = (struct seen_frame){0};
    if (s->size < 9)
        return false;
    f->size = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    f->type = p[3];
    f->flags = p[4];
    f->id = (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 |
            p[8];
    f->payload = p + 9;
    if (s->size - 9 < f->size)
        return false;
    s->data += 9 + f->size;
    s->size -= 9 + f->size;
    return true;
}

/* The nth frame of this type, from 0. */
static inline bool find_frame(struct tfd_str s, enum frame_type type, int nth,
                              struct seen_frame *f)
{
    *f = (struct seen_frame){0};
    while (next_frame(&s, f))
        if (f->type == (uint32_t)type && nth-- == 0)
            return true;
    return false;
}

static inline uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

#endif
