/*
 * message.h - a protobuf message with its tensors beside it, so that tensors
 * are sent and received without being copied (zero-copy).
 *
 * Large tensors never stand inside the protobuf bytes in memory.  An outgoing
 * message records at which offset each belongs:
 *
 *     gRPC    the tensor's bytes are written at that offset as tensor_content,
 *             so the peer sees ordinary protobuf; the lengths of enclosing
 *             messages count them
 *     native  the protobuf says payload_index = i (an extension field of
 *             TensorProto, common/proto/tensor.proto) and the bytes follow the
 *             message in frames of their own, read straight into a buffer
 *
 * Which of the two must be known when the message is written (native field).
 * An incoming message is a view of the protobuf bytes and the payload buffers.
 *
 * Threads: one at a time.
 */
#ifndef TFD_RPC_MESSAGE_H
#define TFD_RPC_MESSAGE_H

#include "common/proto/tensor_proto.h"

struct tfd_splice {
    size_t at; /* offset in proto where the bytes belong (gRPC) */
    struct tfd_buffer *buffer;
    size_t size;
};

struct tfd_message {
    struct tfd_bytes proto;
    bool native;
    struct tfd_splice *splices; /* in the order of `at` */
    uint32_t splice_count;
    uint32_t splice_capacity;
};

void tfd_message_init(struct tfd_message *m, bool native);
void tfd_message_deinit(struct tfd_message *m);
/* Sub-messages that may contain tensors are opened and closed with these, not
 * with tfd_pb_begin(): their length counts spliced bytes. */
size_t tfd_message_begin(struct tfd_message *m, uint32_t tag);
void tfd_message_finish(struct tfd_message *m, size_t mark);
/* Size bytes of b belong here (gRPC) or travel as the next payload (native);
 * adds a reference.  The caller has written the field's head, or its
 * payload_index. */
void tfd_message_splice(struct tfd_message *m, struct tfd_buffer *b,
                        size_t size);
/* Bytes on a gRPC wire without the 5-byte prefix. */
uint64_t tfd_message_size(const struct tfd_message *m);

struct tfd_incoming {
    struct tfd_str proto;        /* inside body */
    struct tfd_buffer *body;     /* owned */
    struct tfd_buffer **payload; /* owned; native only */
    uint32_t payload_count;
};

void tfd_incoming_deinit(struct tfd_incoming *in);
/* Bytes with its tensors, as far as nobody has taken them. */
uint64_t tfd_incoming_size(const struct tfd_incoming *in);

/* ---- Tensors (tensor_wire.c) --------------------------------------------- */

/* Contents up to here are copied into the protobuf: a splice costs a vector,
 * a reference and, natively, a frame, which is more than the copy. */
#define TFD_TENSOR_INLINE_MAX 1024

/* Adds field `tag` holding the TensorProto of t.  Small tensors are copied
 * inline, large ones are spliced.  STRING and RESOURCE have TensorFlow's layout
 * of tensor_content: the length of every element as a varint, then the bytes
 * of all.  `handle` writes one RESOURCE element as ResourceHandleProto and may
 * be NULL where none can occur. */
void tfd_message_put_tensor(struct tfd_message *m, uint32_t tag,
                            const struct tfd_tensor *t,
                            tfd_handle_encode_fn *handle);

/* Decodes a TensorProto: tensor_content, the *_val fields (fewer values than
 * elements repeat the last, more are ignored, as in TensorFlow), payload_index.
 * Takes the payload's buffer, or a slice of the message's body where that is
 * aligned for the type and most of the body, without a copy.  Checks every
 * count against the shape before it allocates.  in may be NULL where the proto
 * came from elsewhere (an attribute); in->body must not be decoded twice while
 * a tensor of the first time may be written.  Threads: any, for one tensor. */
enum tfd_code tfd_tensor_decode(const struct tfd_incoming *in,
                                struct tfd_str tensor_proto,
                                tfd_handle_decode_fn *handle,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
