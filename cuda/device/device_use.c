/*
 * device_use.c - small functions that all files call on a device: which device
 * some memory belongs to, making it the calling thread's device, and turning
 * CUDA's errors into statuses or the loss of the device.
 */
#include "cuda/device/cuda_device.h"

#include "common/base/atomic.h"

/* Errors after which CUDA answers nothing else any more. */
static const int sticky[] = {
    214, /* memory that cannot be corrected */
    220, /* of NVLink */
    226, /* contained, but the process must go */
    700, /* illegal address */
    702, /* launch timeout */
    709, /* context destroyed */
    710, /* assert in a kernel */
    714, /* hardware stack */
    715, /* illegal instruction */
    716, /* misaligned address */
    717, /* invalid address space */
    718, /* invalid program counter */
    719, /* launch failure */
    999, /* unknown: a device that fell off its bus */
};

static bool is_sticky(int error)
{
    for (size_t i = 0; i < sizeof(sticky) / sizeof(sticky[0]); i++)
        if (sticky[i] == error)
            return true;
    return false;
}

struct tfd_cuda_device *tfd_cuda_device_of(struct tfd_memory *m)
{
    return ((struct tfd_cuda_memory_pool *)m)->o.owner;
}

static enum tfd_code fail_lost(struct tfd_cuda_device *d, int error,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNAVAILABLE, "%s is lost: %s", d->name,
                    d->driver->error_text(error));
}

enum tfd_code tfd_cuda_device_use(struct tfd_cuda_device *d,
                                  struct tfd_status *st)
{
    int lost = TFD_LOAD_ACQUIRE(&d->lost);

    if (lost)
        return fail_lost(d, lost, st);
    return tfd_cuda_device_check(d, d->driver->use(d->ordinal), "use", st);
}

enum tfd_code tfd_cuda_device_check(struct tfd_cuda_device *d, int error,
                                    const char *what, struct tfd_status *st)
{
    int none = 0;

    if (!error)
        return TFD_OK;
    if (error == TFD_CUDA_NO_MEMORY)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "%s: %s: %s", d->name, what,
                        d->driver->error_text(error));
    if (!is_sticky(error))
        return tfd_fail(st, TFD_INTERNAL, "%s: %s: %s", d->name, what,
                        d->driver->error_text(error));
    if (TFD_COMPARE_EXCHANGE(&d->lost, &none, error) && d->on_lost)
        d->on_lost(d->ctx, d);
    return fail_lost(d, error, st);
}
