/*
 * peer_copy.h - sends values from a GPU of this process to a GPU of another
 * process on the same host, by memory that one process shares and the other
 * maps (CUDA IPC).
 *
 *     peer_ends.c   Send and Recv nodes whose values are on a device
 *     peer_send.c   which peers map what; values that they are told of
 *     peer_recv.c   what is mapped; values that are copied from it
 *
 * Both ends of an edge see from its attributes that it leads from GPU to GPU.
 * Then the argument of the Send and the result of the Recv are on the device.
 * How a value travels is decided when it is there: once the peer has said that
 * it maps the part of memory that the value is in, by a call of CopyTensor;
 * else by the host, with a push.  The sender asks the peer to map a part when a
 * value in it is first sent, so a peer that cannot map it costs one question,
 * and no value has to be sent twice.  The sender holds the value until the call
 * is answered or its connection breaks.
 *
 * At the receiver a value that has come is a tensor whose buffer stands for the
 * call: it meets its Recv as any other, and releasing the buffer answers the
 * call.
 *
 * Threads: said at each function.
 */
#ifndef TFD_DAEMON_WORKER_PEER_COPY_H
#define TFD_DAEMON_WORKER_PEER_COPY_H

#include "daemon/worker/run/step.h"
#include "rpc/core/peers.h"
#include "rpc/core/service.h"

struct tfd_worker_service;

/* ---- Compiling ----------------------------------------------------------- */

/* The kernel of a Send or Recv node of a device that is an end of such an edge;
 * NULL: it is not. */
const struct tfd_kernel *tfd_peer_end_kernel(struct tfd_devices *devices,
                                             const struct tfd_device *d,
                                             const struct tfd_node *n);

/* ---- Sending ------------------------------------------------------------- */

struct tfd_transfer;
struct tfd_peer_sends;

struct tfd_peer_sends *tfd_peer_sends_new(struct tfd_loop *l,
                                          struct tfd_peers *peers,
                                          struct tfd_transfer *transfer,
                                          struct tfd_status *st);
/* No step runs any more.  Loop thread. */
void tfd_peer_sends_free(struct tfd_peer_sends *s);
/* The connection to a peer broke: it maps nothing any more.  Loop thread. */
void tfd_peer_sends_lost(struct tfd_peer_sends *s, int32_t peer);
/* These peers are no more (peers.h).  Loop thread. */
void tfd_peer_sends_gone(struct tfd_peer_sends *s,
                         struct tfd_peers_range range);

/* Sends k's value on device d to the GPU of number `to` at the other end of ch,
 * then finishes k.  False: the peer does not map it, or not yet.  Any thread.
 */
bool tfd_peer_send(struct tfd_peer_sends *s, struct tfd_kctx *k,
                   struct tfd_device *d, const struct tfd_exec_channel *ch,
                   uint32_t to);

/* ---- Receiving ----------------------------------------------------------- */

struct tfd_peer_memory;

struct tfd_peer_memory *tfd_peer_memory_new(struct tfd_worker_service *w,
                                            struct tfd_status *st);
/* Waits until copies have passed; then nothing is mapped any more.  The worker
 * stops, and no rendezvous has a value.  Loop thread. */
void tfd_peer_memory_free(struct tfd_peer_memory *m);

/* Handlers; self is the worker. */
void tfd_peer_map_memory(void *self, struct tfd_call *call);
void tfd_peer_copy_tensor(void *self, struct tfd_call *call);

/* Whether a value that came is one that has to be brought.  Any thread. */
bool tfd_peer_value_is(const struct tfd_tensor *value);
/* Drops it where it does not belong.  Any thread. */
enum tfd_code tfd_peer_value_refuse(struct tfd_tensor *take_value,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Copies it to the device's memory, for kernels that are enqueued from now on.
 * Any thread. */
enum tfd_code tfd_peer_value_bring(const struct tfd_tensor *value,
                                   struct tfd_device *d, struct tfd_tensor *out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
