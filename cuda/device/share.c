/*
 * share.c - see share.h.
 */
#define _GNU_SOURCE 1 /* readlink() */

#include "cuda/device/share.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The host ------------------------------------------------------------ */

/* Without the line's end; false when it cannot be read. */
static bool read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static bool read_name(const char *path, char *text, size_t size)
{
    ssize_t n = readlink(path, text, size - 1);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

void tfd_cuda_share_host(char host[TFD_CUDA_HOST_SIZE])
{
    char boot[64], ipc[40], pid[40];

    host[0] = '\0';
    if (read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) &&
        read_name("/proc/self/ns/ipc", ipc, sizeof(ipc)) &&
        read_name("/proc/self/ns/pid", pid, sizeof(pid)))
        snprintf(host, TFD_CUDA_HOST_SIZE, "%s %s %s", boot, ipc, pid);
}

/* ---- Regions ------------------------------------------------------------- */

void *tfd_cuda_share_region(struct tfd_cuda_device *d, const void *at,
                            uint64_t *offset)
{
    char *region = tfd_cuda_memory_pool_region(&d->pool, at);

    if (region)
        *offset = (uint64_t)((const char *)at - region);
    return region;
}

enum tfd_code tfd_cuda_share_handle(struct tfd_cuda_device *d, void *region,
                                    struct tfd_cuda_handle *out,
                                    struct tfd_status *st)
{
    TFD_TRY(tfd_cuda_device_use(d, st));
    return tfd_cuda_device_check(d, d->driver->share(region, out),
                                 "share memory", st);
}

enum tfd_code tfd_cuda_share_map(struct tfd_cuda_device *d,
                                 const struct tfd_cuda_handle *h, void **at,
                                 size_t *size, struct tfd_status *st)
{
    TFD_TRY(tfd_cuda_device_use(d, st));
    return tfd_cuda_device_check(d, d->driver->map(h, at, size),
                                 "map another process's memory", st);
}

void tfd_cuda_share_unmap(struct tfd_cuda_device *d, void *at)
{
    (void)d->driver->use(d->ordinal);
    (void)d->driver->unmap(at);
}

/* ---- Waiting ------------------------------------------------------------- */

struct ready {
    struct tfd_cuda_closure closure; /* first */
    struct tfd_cuda_device *device;
    tfd_cuda_ready_fn *fn;
    void *ctx;
};

static void passed(struct tfd_cuda_closure *closure, int error)
{
    struct ready r = *(struct ready *)closure;
    struct tfd_status st = TFD_STATUS_INIT;

    free(closure);
    (void)!tfd_cuda_device_check(r.device, error, "share a value", &st);
    r.fn(r.ctx, st.code == TFD_OK ? NULL : &st);
}

void tfd_cuda_share_after(struct tfd_cuda_device *d, tfd_cuda_ready_fn *fn,
                          void *ctx)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct ready *r = malloc(sizeof(*r));

    if (!r)
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "no memory to share a value");
    if (!r || tfd_cuda_device_use(d, &st) != TFD_OK) {
        free(r);
        fn(ctx, &st);
        return;
    }
    *r = (struct ready){{.fn = passed}, d, fn, ctx};
    tfd_cuda_events_after(&d->events, d->stream, &r->closure);
}
