/*
 * fake_cuda.h - a table of cuda/device/driver.h without a card.
 *
 * Memory of a device is host memory of which there is a fixed amount; streams
 * are those of fake_streams.h.  fake_init() sets the machine to two GPUs of
 * 64 MiB.
 */
#ifndef TFD_TESTS_SUPPORT_FAKE_CUDA_H
#define TFD_TESTS_SUPPORT_FAKE_CUDA_H

#include "tests/support/fake_streams.h"

extern _Thread_local int fake_device;

void fake_init(void);

void fake_deinit(void);

/* ---- Devices and memory -------------------------------------------------- */

int fake_properties(int device, struct tfd_cuda_properties *out);

int fake_use(int device);

/* A block with its size and device in front of it. */
int fake_take(void **at, size_t size, int device, size_t *used, size_t total,
              int *out);

int fake_allocate(void **at, size_t size);

int fake_release(void *at);

/* Of the same process: a handle is the address. */
int fake_share(void *at, struct tfd_cuda_handle *out);

extern const struct tfd_cuda_driver fake_driver;

#endif
