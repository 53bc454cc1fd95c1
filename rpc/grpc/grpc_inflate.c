/*
 * grpc_inflate.c - see grpc_inflate.h.
 */
#include "rpc/grpc/grpc_inflate.h"

#include "common/base/alloc.h"
#include "config/limits.h"
#include "rpc/core/tensor_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Of input and of output; takes some 0.2 ms. */
#define SLICE ((size_t)64 << 10)

#define WINDOW_BITS 15
#define GZIP_BITS (WINDOW_BITS + 16) /* zlib's way to ask for gzip */

struct tfd_grpc_inflate {
    z_stream z;
    struct tfd_incoming in;
    size_t fed;   /* of in.proto */
    size_t size;  /* of the plain message, while counting: so far */
    size_t made;  /* of it, in body */
    bool counted; /* the first pass is over */
    size_t start; /* of the message in body */
    struct tfd_buffer *body;
    char scratch[SLICE]; /* keeps the first bytes: they come first */
};

enum tfd_grpc_encoding tfd_grpc_encoding_of(struct tfd_str name)
{
    static const struct {
        const char *name;
        enum tfd_grpc_encoding encoding;
    } rows[] = {
        {"identity", TFD_GRPC_IDENTITY},
        {"deflate", TFD_GRPC_DEFLATE},
        {"gzip", TFD_GRPC_GZIP},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (tfd_str_is(name, rows[i].name))
            return rows[i].encoding;
    return TFD_GRPC_OTHER;
}

static enum tfd_code no_memory(size_t size, struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a compressed gRPC message of %zu bytes",
                    size);
}

static enum tfd_code fail_stream(const struct tfd_grpc_inflate *z,
                                 const char *why, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INTERNAL,
                    "damaged compressed gRPC message of %zu bytes: %s",
                    z->in.proto.size, why);
}

enum tfd_code tfd_grpc_inflate_new(enum tfd_grpc_encoding encoding,
                                   struct tfd_incoming *take_in,
                                   struct tfd_grpc_inflate **out,
                                   struct tfd_status *st)
{
    struct tfd_grpc_inflate *z = malloc(sizeof(*z));
    size_t size = take_in->proto.size;

    if (z) {
        memset(z, 0, offsetof(struct tfd_grpc_inflate, scratch));
        if (inflateInit2(&z->z,
                         encoding == TFD_GRPC_GZIP ? GZIP_BITS : WINDOW_BITS) !=
            Z_OK) {
            free(z);
            z = NULL;
        }
    }
    if (!z) {
        tfd_incoming_deinit(take_in);
        return no_memory(size, st);
    }
    z->in = *take_in;
    *take_in = (struct tfd_incoming){.proto = TFD_STR_EMPTY};
    *out = z;
    return TFD_OK;
}

void tfd_grpc_inflate_free(struct tfd_grpc_inflate *z)
{
    if (!z)
        return;
    inflateEnd(&z->z);
    tfd_incoming_deinit(&z->in);
    tfd_buffer_unref(z->body);
    free(z);
}

/* One slice of input into at most `room` bytes; *made of them were written,
 * *end when the stream's end has been seen. */
static enum tfd_code run_grpc_inflate(struct tfd_grpc_inflate *z, char *to,
                                      size_t room, size_t *made, bool *end,
                                      struct tfd_status *st)
{
    size_t left = z->in.proto.size - z->fed;
    size_t part = left < SLICE ? left : SLICE;
    int rc;

    /* next_in is not const in zlib's API; nothing is written there. */
    z->z.next_in = (Bytef *)(uintptr_t)(z->in.proto.data + z->fed);
    z->z.avail_in = (uInt)part;
    z->z.next_out = (Bytef *)to;
    z->z.avail_out = (uInt)room;
    rc = inflate(&z->z, Z_NO_FLUSH);
    z->fed += part - z->z.avail_in;
    *made = room - z->z.avail_out;
    *end = rc == Z_STREAM_END;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return fail_stream(z, z->z.msg ? z->z.msg : "it cannot be read", st);
    if (!*end && z->fed == z->in.proto.size && z->z.avail_out > 0)
        return fail_stream(z, "it ends too early", st);
    return TFD_OK;
}

/* The size is known. */
static enum tfd_code begin_making(struct tfd_grpc_inflate *z,
                                  struct tfd_status *st)
{
    struct tfd_str head = {z->scratch, z->size < SLICE ? z->size : SLICE};

    if (z->fed != z->in.proto.size)
        return fail_stream(z, "other bytes follow its end", st);
    z->counted = true;
    z->fed = 0;
    z->start = tfd_tensor_place(head, (uint32_t)z->size, TFD_BUFFER_ALIGN);
    if (z->size == 0)
        return TFD_OK;
    z->body = tfd_buffer_new_in_pages(z->start + z->size);
    if (!z->body || inflateReset(&z->z) != Z_OK)
        return no_memory(z->size, st);
    return TFD_OK;
}

static enum tfd_code count_inflated(struct tfd_grpc_inflate *z,
                                    struct tfd_status *st)
{
    char other[SLICE];
    bool end;
    size_t made;

    TFD_TRY(run_grpc_inflate(z, z->size < SLICE ? z->scratch + z->size : other,
                             z->size < SLICE ? SLICE - z->size : SLICE, &made,
                             &end, st));
    z->size += made;
    if (z->size > (size_t)TFD_GRPC_INFLATED_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a compressed gRPC message of %zu bytes is larger than "
                        "%lld bytes, the limit, when it is inflated",
                        z->in.proto.size,
                        (long long)TFD_GRPC_INFLATED_SIZE_MAX);
    return end ? begin_making(z, st) : TFD_OK;
}

static enum tfd_code make_grpc_inflate(struct tfd_grpc_inflate *z,
                                       struct tfd_status *st)
{
    size_t room = z->size - z->made, made;
    bool end;

    TFD_TRY(run_grpc_inflate(z, (char *)z->body->data + z->start + z->made,
                             room < SLICE ? room : SLICE, &made, &end, st));
    z->made += made;
    if (!tfd_buffer_charge(z->body, z->start + z->made))
        return no_memory(z->size, st);
    if (end && z->made < z->size)
        return fail_stream(z, "it is not the same twice", st);
    return TFD_OK;
}

enum tfd_code tfd_grpc_inflate_go_on(struct tfd_grpc_inflate *z, bool *done,
                                     struct tfd_status *st)
{
    *done = false;
    TFD_TRY(z->counted ? make_grpc_inflate(z, st) : count_inflated(z, st));
    *done = z->counted && z->made == z->size;
    return TFD_OK;
}

void tfd_grpc_inflate_take(struct tfd_grpc_inflate *z, struct tfd_incoming *out)
{
    assert(z->counted && z->made == z->size);
    *out = (struct tfd_incoming){.proto = TFD_STR_EMPTY, .body = z->body};
    if (z->body)
        out->proto =
            (struct tfd_str){(const char *)z->body->data + z->start, z->size};
    z->body = NULL;
}
