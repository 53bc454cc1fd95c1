/*
 * device.c - see device.h.
 */
#include "daemon/worker/state/device.h"

#include "common/base/clock.h"
#include "common/base/entropy.h"

#include <stdio.h>
#include <string.h>

/* What TensorFlow says of every CPU; clients print it. */
#define CPU_MEMORY_LIMIT ((int64_t)256 << 20)

uint64_t tfd_device_random(void)
{
    return tfd_entropy_id();
}

enum tfd_code tfd_devices_add(struct tfd_devices *d, const char *task,
                              const struct tfd_device *like,
                              struct tfd_status *st)
{
    static const char *const types[] = {[TFD_CPU] = "CPU", [TFD_GPU] = "GPU"};
    struct tfd_device *v = &d->device[d->count];
    const char *type = types[like->kind];

    if (d->count == TFD_DEVICES_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "more than %d devices of one task", TFD_DEVICES_MAX);
    *v = *like;
    v->containers = tfd_containers_new(st);
    if (!v->containers)
        return TFD_RESOURCE_EXHAUSTED;
    snprintf(v->attributes.name, sizeof(v->attributes.name), "%s/device:%s:%d",
             task, type, like->id);
    snprintf(v->attributes.type, sizeof(v->attributes.type), "%s", type);
    v->attributes.incarnation = tfd_device_random();
    d->count++;
    return TFD_OK;
}

enum tfd_code tfd_devices_add_cpu(struct tfd_devices *d, const char *task,
                                  int count, struct tfd_status *st)
{
    if (count < 1 || count > TFD_DEVICES_MAX - d->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d CPU devices; 1 to %d are possible", count,
                        TFD_DEVICES_MAX - d->count);
    for (int i = 0; i < count; i++) {
        const struct tfd_device cpu = {
            .kind = TFD_CPU,
            .id = i,
            .attributes.memory_limit = CPU_MEMORY_LIMIT,
        };

        TFD_TRY(tfd_devices_add(d, task, &cpu, st));
    }
    return TFD_OK;
}

void tfd_devices_deinit(struct tfd_devices *d)
{
    for (int i = 0; i < d->count; i++)
        tfd_containers_free(d->device[i].containers);
    d->count = 0;
}

struct tfd_device *tfd_devices_find(struct tfd_devices *d, struct tfd_str name)
{
    for (int i = 0; i < d->count; i++)
        if (tfd_str_is(name, d->device[i].attributes.name))
            return &d->device[i];
    return NULL;
}

/* "/device:CPU:0" of a full name; all of one that has none. */
static struct tfd_str local_name(struct tfd_str name)
{
    static const char mark[] = "/device:";
    const size_t size = sizeof(mark) - 1;

    for (size_t i = 0; i + size <= name.size; i++)
        if (memcmp(name.data + i, mark, size) == 0)
            return (struct tfd_str){name.data + i, name.size - i};
    return name;
}

struct tfd_device *tfd_devices_find_local(struct tfd_devices *d,
                                          struct tfd_str name)
{
    struct tfd_str wanted = local_name(name);

    for (int i = 0; i < d->count; i++)
        if (tfd_str_eq(wanted,
                       local_name(tfd_str_of(d->device[i].attributes.name))))
            return &d->device[i];
    return NULL;
}
