/*
 * kernel_settings.c - see kernel_settings.h.
 */
#include "cuda/device/kernel_settings.h"

#include "config/limits.h"

#include <errno.h>
#include <stdlib.h>

static struct tfd_cuda_kernel_settings settings = {
    .dnn_memory_max = TFD_CUDNN_WORKSPACE_SIZE_MAX,
};

static size_t memory_max(const char *text)
{
    char *end = NULL;
    long long megabytes;

    errno = 0;
    megabytes = text ? strtoll(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || megabytes < 0 ||
        megabytes > TFD_CUDNN_WORKSPACE_SIZE_MAX >> 20)
        return TFD_CUDNN_WORKSPACE_SIZE_MAX;
    return (size_t)megabytes << 20;
}

void tfd_cuda_kernel_settings_set(bool deterministic_ops,
                                  bool deterministic_dnn,
                                  const char *dnn_megabytes)
{
    settings = (struct tfd_cuda_kernel_settings){
        .deterministic_ops = deterministic_ops,
        .deterministic_dnn = deterministic_ops || deterministic_dnn,
        .dnn_memory_max = memory_max(dnn_megabytes),
    };
}

const struct tfd_cuda_kernel_settings *tfd_cuda_kernel_settings(void)
{
    return &settings;
}
