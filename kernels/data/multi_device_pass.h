/*
 * multi_device_pass.h - one pass of a multi-device iterator through its
 * dataset: elements that go to shards in turn, and who waits for them.
 *
 *     producer (a thread of the crew)  -> shard 0: elements, or who waits
 *                                      -> shard 1
 *                                         ...
 *
 * Ownership: counted.  Threads: any.
 */
#ifndef TFD_KERNELS_DATA_MULTI_DEVICE_PASS_H
#define TFD_KERNELS_DATA_MULTI_DEVICE_PASS_H

#include "kernels/data/dataset.h"

struct tfd_multi_device_pass;

/* Up to `room` elements are kept for each shard. */
enum tfd_code tfd_multi_device_begin(const struct tfd_data_task *task,
                                     int shards, struct tfd_dataset *d,
                                     int64_t room,
                                     struct tfd_multi_device_pass **out,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_multi_device_ref(struct tfd_multi_device_pass *p);
void tfd_multi_device_unref(struct tfd_multi_device_pass *p);
/* Who waits hears CANCELLED; drops a reference.  NULL is nothing. */
void tfd_multi_device_stop(struct tfd_multi_device_pass *p);

/* Finishes k with the shard's next element, OUT_OF_RANGE at the end, now or
 * later; the reference is taken.  After a failure k is the caller's to finish.
 */
enum tfd_code tfd_multi_device_get(struct tfd_multi_device_pass *take_pass,
                                   struct tfd_kctx *k, int64_t shard,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
