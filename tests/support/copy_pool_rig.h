/*
 * copy_pool_rig.h - a device that is not there and values that are brought to
 * it, for tests of cuda/device/copy_pool.c and cuda/device/copy.c.
 */
#ifndef TFD_TESTS_SUPPORT_COPY_POOL_RIG_H
#define TFD_TESTS_SUPPORT_COPY_POOL_RIG_H

#include "common/base/alloc.h"
#include "cuda/device/copy.h"
#include "cuda/device/copy_pool.h"
#include "tests/support/fake_cuda.h"

#include <sched.h>

#define COUNT 32768 /* floats: 128 KiB */
#define SIZE (COUNT * sizeof(float))

static struct tfd_cuda_device device;
static struct tfd_cuda_memory_pool pinned;

static inline void begin(size_t limit)
{
    const struct tfd_cuda_device_options o = {
        .driver = &fake_driver, .memory_limit = limit, .pinned = &pinned};
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    fake.total[0] = 256 * FAKE_MIB;
    tfd_cuda_pinned_init(&pinned, &fake_driver, 64 * FAKE_MIB);
    assert_int_equal(tfd_cuda_device_init(&device, &o, &st), TFD_OK);
}

static inline void end(void)
{
    fake_let_go();
    tfd_cuda_device_deinit(&device);
    tfd_cuda_memory_pool_deinit(&pinned);
    fake_deinit();
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

/* What it has is behind something held: it stays there however long others
 * have the processor. */
static inline bool is_waiting(void *stream)
{
    bool is = true;
    void *event;

    assert_int_equal(fake_event_make(&event), 0);
    assert_int_equal(fake_event_record(event, stream), 0);
    for (int i = 0; i < 20 && is; i++) {
        sched_yield();
        is = fake_event_query(event) == TFD_CUDA_NOT_READY;
    }
    fake_event_release(event);
    return is;
}

static inline struct tfd_tensor host_value(int count, float x)
{
    const struct tfd_shape shape = {1, {count}};
    struct tfd_tensor t = TFD_TENSOR_INIT;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL), TFD_OK);
    for (int i = 0; i < count; i++)
        ((float *)tfd_tensor_data(&t))[i] = x;
    return t;
}

static inline struct tfd_tensor bring(int count, float x)
{
    struct tfd_tensor value = host_value(count, x), out;
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_cuda_copy_in(&device, &value, &out, &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_tensor_unref(&value);
    return out;
}

static inline struct tfd_cuda_memory_pool_stats stats(void)
{
    struct tfd_cuda_memory_pool_stats s;

    tfd_cuda_memory_pool_stats(&device.pool, &s);
    return s;
}

/* ---- Kernels ------------------------------------------------------------- */

struct args {
    const float *x;
    int count;
    float *y;
};

static inline void last(void *args)
{
    const struct args *a = args;

    *a->y = a->x[0] == a->x[a->count - 1] ? a->x[a->count - 1] : -1;
}

static inline void set(void *args)
{
    *((struct args *)args)->y = 77;
}

/* Enqueues what leaves the value in *y, or -1 if the ends of t differ. */
static inline void read_value(const struct tfd_tensor *t, float *y)
{
    struct args a = {tfd_tensor_data(t), (int)tfd_tensor_elements(t), y};

    assert_int_equal(tfd_cuda_copy_await(&device, t, 1, NULL), TFD_OK);
    assert_int_equal(fake_launch(device.stream, last, &a, sizeof(a)), 0);
}

static inline void run_unrelated(void)
{
    float y = 0;
    struct args a = {.y = &y};

    assert_int_equal(fake_launch(device.stream, set, &a, sizeof(a)), 0);
    drain(device.stream);
    assert_true(y == 77);
}

/* The copy_pool has a block for values of COUNT floats. */
static inline void warm_up(void)
{
    struct tfd_tensor t = bring(COUNT, 1);
    float y;

    read_value(&t, &y);
    tfd_tensor_unref(&t);
    drain(device.stream);
    assert_true(y == 1);
}

#endif
