/*
 * machine.h - what the parts of the emulated machine know of each other: the
 * threads of a block (fibers.cpp), the memory of its devices (memory.cpp), its
 * streams (streams.cpp).  emulator.cpp makes the table of cuda/device/driver.h
 * of it.
 */
#ifndef TFD_TESTS_EMULATED_MACHINE_H
#define TFD_TESTS_EMULATED_MACHINE_H

extern "C" {
#include "cuda/device/cuda.h"
}

#include "tests/emulated/emulator.h"

#define DEVICES 2

/* Of CUDA: cudaErrorInvalidValue, ...StreamCaptureUnsupported, ...Unmatched. */
enum { INVALID_VALUE = 1, CAPTURE_TWICE = 900, CAPTURE_NONE = 903 };

namespace emulator
{

void die(const char *why);

/* The device of this thread, by the machine's number. */
extern thread_local int current;

/* Between them the memory of devices can be touched. */
void begin_work();
void end_work();

/* ---- Rows of the table: memory ------------------------------------------- */

int allocate(void **at, size_t size);
int release(void *at);
int share(void *at, struct tfd_cuda_handle *out);
int map(const struct tfd_cuda_handle *h, void **at, size_t *size);
int unmap(void *at);
int memory_info(size_t *free_size, size_t *total);
int host_allocate(void **at, size_t size);
int host_release(void *at);

/* ---- Rows of the table: streams, events, graphs -------------------------- */

int stream_make(void **stream);
int stream_release(void *stream);
int stream_wait(void *stream, void *event);
int event_make(void **event);
int event_release(void *event);
int event_record(void *event, void *stream);
int event_query(void *event);
int event_wait(void *event);
int copy(void *to, const void *from, size_t size,
         enum tfd_cuda_direction direction, void *stream);
int copy_runs(void *to, size_t to_step, const void *from, size_t from_step,
              size_t size, size_t count, void *stream);
int copy_peer(void *to, int to_device, const void *from, int from_device,
              size_t size, void *stream);
int capture_begin(void *stream);
int capture_end(void *stream, void **graph);
int graph_launch(void *graph, void *stream);
int graph_release(void *graph);

} /* namespace emulator */

#endif
