/*
 * gpu.h - the GPUs of this task as rows of its table of devices.
 *
 * The log says in one line which were taken and why, or why none was.
 *
 * Ownership: the worker copies the rows; the devices behind them live until
 * tfd_gpus_free(), which comes after the worker.
 * Threads: new and free before and after all others.
 */
#ifndef TFD_DAEMON_GPU_H
#define TFD_DAEMON_GPU_H

#include "config/flags.h"
#include "cuda/device/choose.h"
#include "cuda/device/cuda_device.h"

struct tfd_device; /* daemon/worker/state/device.h */
struct tfd_gpus;

/* What the operator says, and the role: a ps takes none unless told to. */
void tfd_gpus_options(const struct tfd_config *c, const char *environment,
                      struct tfd_cuda_options *out);

/* driver NULL: a build without CUDA.  No GPU is no failure.  on_lost() is
 * called on any thread, once for each device that fails. */
enum tfd_code tfd_gpus_new(
    const struct tfd_cuda_driver *driver, const struct tfd_cuda_options *o,
    void (*on_lost)(void *ctx, const struct tfd_cuda_device *d), void *ctx,
    struct tfd_gpus **out, struct tfd_status *st) TFD_MUST_USE;
void tfd_gpus_free(struct tfd_gpus *g);

int tfd_gpus_count(const struct tfd_gpus *g);
const struct tfd_device *tfd_gpus_rows(const struct tfd_gpus *g);
struct tfd_cuda_device *tfd_gpus_at(struct tfd_gpus *g, int i);

#endif
