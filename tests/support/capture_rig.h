/*
 * capture_rig.h - a device that is not there and captures of it, for tests of
 * cuda/device/capture.c.
 */
#ifndef TFD_TESTS_SUPPORT_CAPTURE_RIG_H
#define TFD_TESTS_SUPPORT_CAPTURE_RIG_H

#include "cuda/device/capture.h"

#include "tests/support/fake_cuda.h"

static struct tfd_cuda_device device;
static struct tfd_cuda_memory_pool pinned;

/* Of 64 MiB, so that captures may have 16. */
static inline void begin(void)
{
    const struct tfd_cuda_device_options o = {.driver = &fake_driver,
                                              .memory_limit = 64 * FAKE_MIB,
                                              .grows = true,
                                              .pinned = &pinned};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    tfd_cuda_pinned_init(&pinned, &fake_driver, 64 * FAKE_MIB);
    assert_int_equal(tfd_cuda_device_init(&device, &o, &st), TFD_OK);
}

static inline void end(void)
{
    tfd_cuda_device_deinit(&device);
    assert_int_equal(device.captures.reserved, 0);
    tfd_cuda_memory_pool_deinit(&pinned);
    fake_deinit();
}

static inline struct tfd_cuda_capture *capture(void)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_capture *c = NULL;

    assert_int_equal(tfd_cuda_capture_begin(&device, &c, &st), TFD_OK);
    assert_ptr_not_equal(c->stream, device.stream);
    return c;
}

static inline void capture_end(struct tfd_cuda_capture *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_cuda_capture_end(c, &st), TFD_OK);
}

static inline void launch(struct tfd_cuda_capture *c)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_cuda_capture_launch(c, &st), TFD_OK);
}

static inline struct tfd_buffer *make(struct tfd_memory *m, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_buffer *b = m->make(m, size, &st);

    assert_non_null(b);
    return b;
}

static inline void expect(enum tfd_code rc, const struct tfd_status *st,
                          enum tfd_code code, const char *text)
{
    assert_int_equal(rc, code);
    assert_int_equal(st->code, code);
    assert_non_null(strstr(st->text, text));
}

/* Until a stream has done what it has. */
static inline void drain(void *stream)
{
    void *event;

    assert_int_equal(fake_event_make(&event), 0);
    assert_int_equal(fake_event_record(event, stream), 0);
    assert_int_equal(fake_event_wait(event), 0);
    fake_event_release(event);
}

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const int *x;
    int *y;
    int number;
};

static inline void add(void *args)
{
    const struct args *a = args;

    *a->y = *a->x + a->number;
}

static inline void set(void *args)
{
    const struct args *a = args;

    *a->y = a->number;
}

static inline void run(void *stream, void (*kernel)(void *),
                       const struct tfd_buffer *x, struct tfd_buffer *y,
                       int number)
{
    const struct args a = {x ? x->data : NULL, y->data, number};

    assert_int_equal(fake_launch(stream, kernel, &a, sizeof(a)), 0);
}

static inline int number_in(const struct tfd_buffer *b)
{
    drain(device.stream);
    return *(const int *)b->data;
}

#endif
