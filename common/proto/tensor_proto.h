/*
 * tensor_proto.h - TensorProto <-> tensor, for attributes and messages.
 *
 * rpc/tensor_wire adds what a connection can do better (bytes beside the
 * message); this is the plain form: everything inside the protobuf.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_TENSOR_PROTO_H
#define TFD_COMMON_TENSOR_PROTO_H

#include "common/base/pbio.h"
#include "common/base/tensor.h"

/* The head of a TensorProto, its shape checked; content not yet looked at. */
struct tfd_tensor_head {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    struct tfd_str content; /* tensor_content; data NULL: not given */
    struct tfd_str proto;   /* the whole message */
    int64_t payload_index;  /* native extension; -1: none */
};

enum tfd_code tfd_tensor_proto_head(struct tfd_str proto,
                                    struct tfd_tensor_head *out,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Handles cannot be made here; these hooks do it (NULL: refused). */
typedef void tfd_handle_encode_fn(struct tfd_bytes *b, void *handle);
typedef enum tfd_code tfd_handle_decode_fn(struct tfd_str proto, void **handle,
                                           struct tfd_status *st);

/* tensor_content or the *_val fields; fewer values than elements repeat the
 * last, none is all zero.  Counts are checked against the shape before
 * anything is allocated. */
enum tfd_code tfd_tensor_proto_decode(const struct tfd_tensor_head *head,
                                      tfd_handle_decode_fn *handle,
                                      struct tfd_tensor *out,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Appends the fields of a TensorProto with tensor_content. */
void tfd_tensor_proto_encode(struct tfd_bytes *b, const struct tfd_tensor *t,
                             tfd_handle_encode_fn *handle);
/* Only dtype and tensor_shape. */
void tfd_tensor_proto_encode_head(struct tfd_bytes *b,
                                  const struct tfd_tensor *t);
/* STRING and RESOURCE elements in tensor_content's layout: all lengths as
 * varints, then all bytes. */
void tfd_tensor_proto_encode_content(struct tfd_bytes *b,
                                     const struct tfd_tensor *t,
                                     tfd_handle_encode_fn *handle);

/* TensorShapeProto.  The second takes long shapes as well (shape_long.h), as
 * the heads of tensors do. */
enum tfd_code tfd_tensor_proto_shape_decode(struct tfd_str proto,
                                            struct tfd_shape *out,
                                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code
tfd_tensor_proto_shape_decode_any(struct tfd_str proto, struct tfd_shape *out,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_tensor_proto_shape_encode(struct tfd_bytes *b,
                                   const struct tfd_shape *s);

#endif
