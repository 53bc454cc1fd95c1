/*
 * fake_cuda.c - see fake_cuda.h.
 */
#include "tests/support/fake_cuda.h"

_Thread_local int fake_device;

void fake_init(void)
{
    memset(&fake, 0, sizeof(fake));
    pthread_mutex_init(&fake.lock, NULL);
    pthread_cond_init(&fake.changed, NULL);
    fake.devices = 2;
    for (int i = 0; i < FAKE_DEVICES; i++)
        fake.total[i] = 64 * FAKE_MIB;
    fake.host_total = 256 * FAKE_MIB;
}

void fake_deinit(void)
{
    assert_int_equal(fake.allocations, 0);
    assert_int_equal(fake.streams, 0);
    assert_int_equal(fake.events, 0);
    assert_int_equal(fake.host_allocations, 0);
    assert_int_equal(fake.graphs, 0);
    assert_int_equal(fake.mappings, 0);
}

static int fake_device_count(int *count)
{
    *count = fake.devices;
    return fake.count_error ? fake.count_error : fake_state();
}

int fake_properties(int device, struct tfd_cuda_properties *out)
{
    *out = (struct tfd_cuda_properties){
        .major = 9, .minor = device, .processors = 132};
    snprintf(out->name, sizeof(out->name), "Fake %d", device);
    snprintf(out->bus, sizeof(out->bus), "0000:0%d:00.0", device + 1);
    return fake_state();
}

int fake_use(int device)
{
    fake_device = device;
    pthread_mutex_lock(&fake.lock);
    fake.uses[device]++;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return fake_state();
}

static int fake_memory_info(size_t *free_size, size_t *total)
{
    *total = fake.total[fake_device];
    *free_size = *total - fake.used[fake_device];
    return fake_state();
}

static int fake_peer_access(int device, int peer)
{
    int error = device == peer ? FAKE_INVALID : fake_state();

    if (!error)
        error = fake.peer_error;
    fake.peers += !error;
    return error;
}

int fake_take(void **at, size_t size, int device, size_t *used, size_t total,
              int *out)
{
    size_t *block = NULL;

    pthread_mutex_lock(&fake.lock);
    if (size <= total - *used)
        block = malloc(size + 256);
    if (block) {
        *used += size;
        ++*out;
        block[0] = size;
        block[1] = (size_t)device;
        *at = (char *)block + 256;
    }
    pthread_mutex_unlock(&fake.lock);
    return block ? fake_state() : TFD_CUDA_NO_MEMORY;
}

int fake_allocate(void **at, size_t size)
{
    return fake_take(at, size, fake_device, &fake.used[fake_device],
                     fake.total[fake_device], &fake.allocations);
}

int fake_release(void *at)
{
    size_t *block = (size_t *)((char *)at - 256);

    pthread_mutex_lock(&fake.lock);
    fake.used[block[1]] -= block[0];
    fake.allocations--;
    pthread_mutex_unlock(&fake.lock);
    free(block);
    return TFD_CUDA_OK;
}

int fake_share(void *at, struct tfd_cuda_handle *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->bytes, "fake", 4);
    memcpy(out->bytes + 8, &at, sizeof(at));
    return fake_state();
}

static int fake_map(const struct tfd_cuda_handle *h, void **at, size_t *size)
{
    int error = fake_state();

    if (!error)
        error = fake.map_error;
    if (!error && memcmp(h->bytes, "fake", 4) != 0)
        error = FAKE_INVALID;
    if (error)
        return error;
    memcpy(at, h->bytes + 8, sizeof(*at));
    *size = ((size_t *)((char *)*at - 256))[0];
    pthread_mutex_lock(&fake.lock);
    fake.mappings++;
    fake.maps++;
    pthread_mutex_unlock(&fake.lock);
    return TFD_CUDA_OK;
}

static int fake_unmap(void *at)
{
    (void)at;
    pthread_mutex_lock(&fake.lock);
    fake.mappings--;
    pthread_mutex_unlock(&fake.lock);
    return TFD_CUDA_OK;
}

static int fake_host_allocate(void **at, size_t size)
{
    return fake_take(at, size, 0, &fake.host_used, fake.host_total,
                     &fake.host_allocations);
}

static int fake_host_release(void *at)
{
    size_t *block = (size_t *)((char *)at - 256);

    pthread_mutex_lock(&fake.lock);
    fake.host_used -= block[0];
    fake.host_allocations--;
    pthread_mutex_unlock(&fake.lock);
    free(block);
    return TFD_CUDA_OK;
}

static const char *fake_error_text(int error)
{
    switch (error) {
    case TFD_CUDA_NO_MEMORY:
        return "out of memory";
    case TFD_CUDA_ILLEGAL_ADDRESS:
        return "an illegal memory access was encountered";
    default:
        return "some error";
    }
}

static enum tfd_code fake_libraries(struct tfd_status *st)
{
    return fake.missing ? tfd_fail(st, TFD_UNIMPLEMENTED, "%s", fake.missing)
                        : TFD_OK;
}

const struct tfd_cuda_driver fake_driver = {
    .device_count = fake_device_count,
    .properties = fake_properties,
    .use = fake_use,
    .memory_info = fake_memory_info,
    .peer_access = fake_peer_access,
    .allocate = fake_allocate,
    .release = fake_release,
    .share = fake_share,
    .map = fake_map,
    .unmap = fake_unmap,
    .host_allocate = fake_host_allocate,
    .host_release = fake_host_release,
    .stream_make = fake_stream_make,
    .stream_release = fake_stream_release,
    .stream_wait = fake_stream_wait,
    .event_make = fake_event_make,
    .event_release = fake_event_release,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_wait = fake_event_wait,
    .copy = fake_copy,
    .copy_runs = fake_copy_runs,
    .copy_peer = fake_copy_peer,
    .capture_begin = fake_capture_begin,
    .capture_end = fake_capture_end,
    .graph_launch = fake_graph_launch,
    .graph_release = fake_graph_release,
    .error_text = fake_error_text,
    .libraries = fake_libraries,
};
