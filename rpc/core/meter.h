/*
 * meter.h - counts the bytes of the calls that are made for one thing, as for a
 * session: how many came and went, and how many are in requests that are not
 * answered yet.
 *
 *     tfd_call_meter       the call counts from now on, until it is answered
 *     tfd_meter_take, ...  what comes in a stream, message by message
 *
 * What counts is messages with their tensors, as in tfd_rpc_request_bytes_total
 * and tfd_rpc_response_bytes_total; not frames, headers and failures.
 *
 * Ownership: counted, by who counts and by each call that is under way, so that
 * it may outlive the first.
 * Threads: loop thread.
 */
#ifndef TFD_RPC_METER_H
#define TFD_RPC_METER_H

#include <stdint.h>

struct tfd_call;

struct tfd_meter {
    int refs;
    uint64_t received, sent; /* bytes, ever */
    uint64_t under_way;      /* of requests that are not answered yet */
};

struct tfd_meter *tfd_meter_new(void);
void tfd_meter_unref(struct tfd_meter *m); /* NULL is allowed */

/* A request of so many bytes has come, and (give_back) is not needed any more.
 */
void tfd_meter_take(struct tfd_meter *m, uint64_t size);
void tfd_meter_give_back(struct tfd_meter *m, uint64_t size);

/* The first meter of a call stays.  m may be NULL: it is not counted. */
void tfd_call_meter(struct tfd_call *call, struct tfd_meter *m);

#endif
