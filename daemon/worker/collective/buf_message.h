/*
 * buf_message.h - writes and reads the value in an answer to RecvBuf: the
 * elements' bytes, in pieces, in a RecvBufRespExtra within an Any (TensorFlow's
 * transport_options.proto).  Between two tfds they are the message's payload.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_DAEMON_WORKER_COLLECTIVE_BUF_MESSAGE_H
#define TFD_DAEMON_WORKER_COLLECTIVE_BUF_MESSAGE_H

#include "rpc/core/message.h"

/* The answer with this value, which has elements of plain bytes. */
void tfd_buf_message_put(struct tfd_message *m, const struct tfd_tensor *value);

/* *out has references of its own of what the answer is made of. */
void tfd_buf_message_keep(const struct tfd_incoming *in,
                          struct tfd_incoming *out, struct tfd_status *st);
/* A counted vector of n elements.  INTERNAL for another number of bytes. */
enum tfd_code tfd_buf_message_value(const struct tfd_incoming *in,
                                    enum tfd_dtype dtype, int64_t n,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
