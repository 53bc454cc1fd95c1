/*
 * emulator.cpp - see emulator.h; takes the place of cuda/device/driver_runtime.cu: which
 * devices there are, and the table of cuda/device/driver.h.
 */
extern "C" {
#include "cuda/device/dynamic_library.h"
}

#include "tests/emulated/machine.h"

#include <stdio.h>
#include <string.h>

namespace emulator
{

thread_local int current;

void die(const char *why)
{
    fprintf(stderr, "the emulated GPU: %s\n", why);
    abort();
}

/* The machine's, in the order of CUDA_VISIBLE_DEVICES. */
static int visible[DEVICES];

/* As CUDA reads it: the list ends before what is no device. */
static int device_count(int *count)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char *end;

    *count = 0;
    for (int i = 0; !at && i < DEVICES; i++)
        visible[(*count)++] = i;
    while (at && *at && *count < DEVICES) {
        long i = strtol(at, &end, 10);

        if (end == at || i < 0 || i >= DEVICES)
            break;
        visible[(*count)++] = (int)i;
        at = *end == ',' ? end + 1 : "";
    }
    return *count ? TFD_CUDA_OK : TFD_CUDA_NO_DEVICE;
}

static int properties(int device, struct tfd_cuda_properties *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "Emulated %d", visible[device]);
    snprintf(out->bus, sizeof(out->bus), "0000:%02x:00.0", visible[device] + 1);
    out->major = 9;
    out->processors = 1;
    return 0;
}

static int use(int device)
{
    current = visible[device];
    return 0;
}

/* All memory is the host's. */
static int peer_access(int device, int peer)
{
    return visible[device] == visible[peer];
}

static const char *error_text(int error)
{
    return error == TFD_CUDA_NO_MEMORY   ? "out of memory"
           : error == TFD_CUDA_NO_DEVICE ? "no CUDA-capable device is detected"
           : error == INVALID_VALUE      ? "invalid argument"
           : error == CAPTURE_TWICE      ? "the stream captures already"
           : error == CAPTURE_NONE       ? "the stream does not capture"
                                         : "an error";
}

static enum tfd_code libraries(struct tfd_status *st)
{
    TFD_TRY(tfd_cuda_blas_check(st));
    return tfd_cuda_dnn_check(st);
}

static const struct tfd_cuda_driver driver = {
    device_count, properties,     use,
    memory_info,  peer_access,    allocate,
    release,      share,          map,
    unmap,        host_allocate,  host_release,
    stream_make,  stream_release, stream_wait,
    event_make,   event_release,  event_record,
    event_query,  event_wait,     copy,
    copy_runs,    copy_peer,      capture_begin,
    capture_end,  graph_launch,   graph_release,
    error_text,   libraries,      75,
};

} /* namespace emulator */

extern "C" const struct tfd_cuda_driver *tfd_cuda_driver(void)
{
    return &emulator::driver;
}
