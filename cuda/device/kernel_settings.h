/*
 * kernel_settings.h - how GPU kernels of this process are chosen, as the
 * environment says it (config/environment.h); the same for all devices.
 *
 * Threads: set before a device is opened, read-only from then on.
 */
#ifndef TFD_CUDA_KERNEL_SETTINGS_H
#define TFD_CUDA_KERNEL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct tfd_cuda_kernel_settings {
    bool deterministic_ops; /* scatters and segments fold in a fixed order */
    bool deterministic_dnn; /* cuDNN's algorithms have the same bits */
    size_t dnn_memory_max;  /* bytes that one call of cuDNN may work in */
};

/* dnn_megabytes: TF_CUDNN_WORKSPACE_LIMIT_IN_MB; NULL, or what is no number or
 * more than config/limits.h allows, leaves the limit there. */
void tfd_cuda_kernel_settings_set(bool deterministic_ops,
                                  bool deterministic_dnn,
                                  const char *dnn_megabytes);
const struct tfd_cuda_kernel_settings *tfd_cuda_kernel_settings(void);

#endif
