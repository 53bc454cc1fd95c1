/*
 * transfer.h - moves tensors to and from other tasks; a worker has one of
 * these.
 *
 *     push         a value goes to its consumer's task as soon as it is there,
 *                  coalesced with others of its step into one message (both
 *                  ends are tfd)
 *     copy         the same from GPU to GPU on one host (peer_copy.h)
 *     remote recv  a value is asked for with RecvTensor (one end is TensorFlow)
 *
 * Threads: as said at each function.
 */
#ifndef TFD_DAEMON_WORKER_TRANSFER_H
#define TFD_DAEMON_WORKER_TRANSFER_H

#include "daemon/worker/exchange/peer_copy.h"

struct tfd_transfer;

struct tfd_transfer *tfd_transfer_new(struct tfd_loop *l,
                                      struct tfd_peers *peers,
                                      struct tfd_status *st);
/* No step runs any more.  Loop thread. */
void tfd_transfer_free(struct tfd_transfer *t);

/* Queues a value, empty when dead, and sees to it that the loop thread sends
 * it.  Any thread. */
enum tfd_code tfd_transfer_push(struct tfd_transfer *t, struct tfd_step *s,
                                const struct tfd_exec_channel *ch,
                                const struct tfd_iter *place,
                                struct tfd_tensor *take_value,
                                struct tfd_status *st) TFD_MUST_USE;
/* Sends what is queued.  A step whose values cannot be sent fails.  Before a
 * step is said to have ended.  Loop thread. */
void tfd_transfer_flush(struct tfd_transfer *t);

/* The step is about to go.  After a flush.  Loop thread. */
void tfd_transfer_forget(struct tfd_transfer *t, struct tfd_step *s);

/* The connection to a peer broke: the peer is told, once it can be reached
 * again, for which steps it may wait in vain.  Loop thread. */
void tfd_transfer_lost(struct tfd_transfer *t, int32_t peer,
                       const struct tfd_status *why);

/* These peers are no more (peers.h).  Loop thread. */
void tfd_transfer_gone(struct tfd_transfer *t, struct tfd_peers_range range);

/* Asks the producer's task; a->k finishes.  Any thread. */
void tfd_transfer_recv(struct tfd_transfer *t, struct tfd_async *a);

/* Notes that the step's values went to the peer, for _lost(); false without
 * memory.  Loop thread. */
bool tfd_transfer_remember(struct tfd_transfer *t, int32_t peer, int64_t step);

struct tfd_peer_sends *tfd_transfer_peer_sends(struct tfd_transfer *t);

/* remote_recv.c's part. */
struct tfd_remote_recvs;
struct tfd_remote_recvs *tfd_remote_recvs_new(struct tfd_loop *l,
                                              struct tfd_peers *peers,
                                              struct tfd_status *st);
void tfd_remote_recvs_free(struct tfd_remote_recvs *r);
void tfd_remote_recv(struct tfd_remote_recvs *r, struct tfd_async *a);

#endif
