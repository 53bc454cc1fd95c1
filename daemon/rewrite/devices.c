/*
 * devices.c - a growing array and one sort; see devices.h.
 */
#include "daemon/rewrite/devices.h"

#include <stdlib.h>
#include <string.h>

void tfd_device_set_init(struct tfd_device_set *s)
{
    memset(s, 0, sizeof(*s));
}

void tfd_device_set_deinit(struct tfd_device_set *s)
{
    free(s->devices);
    free(s->order);
    tfd_device_set_init(s);
}

static bool kind_of(const char *type, enum tfd_device_kind *kind)
{
    static const struct {
        const char *type;
        enum tfd_device_kind kind;
    } kinds[] = {{"CPU", TFD_CPU}, {"GPU", TFD_GPU}};

    for (int i = 0; i < TFD_COUNT(kinds); i++) {
        if (strcmp(kinds[i].type, type) != 0)
            continue;
        *kind = kinds[i].kind;
        return true;
    }
    return false;
}

enum tfd_code tfd_device_set_add(struct tfd_device_set *s,
                                 const struct tfd_device_attributes *a,
                                 int worker, bool *added, struct tfd_status *st)
{
    struct tfd_device d = {.attributes = *a, .worker = worker};
    struct tfd_device *grown;

    if (added)
        *added = false;
    if (!kind_of(a->type, &d.kind))
        return TFD_OK;
    TFD_TRY(tfd_device_name_parse(tfd_str_of(a->name), &d.name, st));
    if (!tfd_device_name_complete(&d.name))
        return tfd_fail(st, TFD_INTERNAL, "Worker sent device name '%s'",
                        a->name);
    if (s->count >= TFD_SESSION_DEVICES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "More than %d devices in one session",
                        TFD_SESSION_DEVICES_MAX);
    grown = realloc(s->devices, sizeof(*grown) * ((size_t)s->count + 1));
    if (!grown)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for devices");
    s->devices = grown;
    s->devices[s->count++] = d;
    if (added)
        *added = true;
    return TFD_OK;
}

/* What decides between two devices. */
struct candidate {
    const struct tfd_device *device;
    bool local; /* of the master's own task */
};

/* The better one first. */
static int by_rank(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->device->kind != y->device->kind)
        return x->device->kind > y->device->kind ? -1 : 1;
    if (x->local != y->local)
        return x->local ? -1 : 1;
    return strcmp(x->device->attributes.name, y->device->attributes.name);
}

enum tfd_code tfd_device_set_finish(struct tfd_device_set *s,
                                    struct tfd_status *st)
{
    size_t count = (size_t)s->count;
    struct candidate *all = calloc(count + 1, sizeof(*all));

    s->order = calloc(count + 1, sizeof(*s->order));
    if (!s->order || !all) {
        free(all);
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for devices");
    }
    for (int i = 0; i < s->count; i++)
        all[i] = (struct candidate){&s->devices[i], s->devices[i].worker ==
                                                        s->devices[0].worker};
    qsort(all, count, sizeof(*all), by_rank);
    for (int i = 0; i < s->count; i++)
        s->order[i] = (int)(all[i].device - s->devices);
    free(all);
    return TFD_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tfd_device_set_text(const struct tfd_device_set *s, struct tfd_bytes *out)
{
    const char **names = calloc((size_t)s->count + 1, sizeof(*names));

    tfd_bytes_printf(out, "[ ");
    if (names) {
        for (int i = 0; i < s->count; i++)
            names[i] = s->devices[i].attributes.name;
        qsort(names, (size_t)s->count, sizeof(*names), by_name);
        for (int i = 0; i < s->count; i++)
            tfd_bytes_printf(out, "%s%s", i ? ", " : "", names[i]);
    }
    tfd_bytes_printf(out, " ]");
    free(names);
}
