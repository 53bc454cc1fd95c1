/*
 * specs.c - two maps to one array; see specs.h.
 *
 * A tfd_device_name has no padding and one representation for each meaning, so
 * its bytes are a key.
 */
#include "daemon/rewrite/specs.h"

#include "config/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOT_LOOKED_UP (-2)

struct tfd_spec {
    struct tfd_device_name name;
    int device[TFD_SPEC_KINDS + 1]; /* by kinds; -1: none */
};

static struct tfd_str bytes_of(const struct tfd_device_name *name)
{
    return (struct tfd_str){(const char *)name, sizeof(*name)};
}

static enum tfd_code no_memory(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for device names");
}

enum tfd_code tfd_specs_init(struct tfd_specs *s,
                             const struct tfd_device_set *devices,
                             struct tfd_status *st)
{
    const struct tfd_device_name nothing = {.has = 0};
    int32_t zero = 0;

    memset(s, 0, sizeof(*s));
    s->devices = devices;
    tfd_arena_init(&s->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&s->by_text);
    tfd_map_init(&s->by_name);
    TFD_TRY(tfd_specs_add(s, &nothing, &zero, st));
    assert(zero == 0);
    return TFD_OK;
}

void tfd_specs_deinit(struct tfd_specs *s)
{
    tfd_map_deinit(&s->by_text);
    tfd_map_deinit(&s->by_name);
    tfd_arena_deinit(&s->arena);
    free(s->specs);
}

static bool reserve_specs(struct tfd_specs *s)
{
    int32_t capacity = s->capacity * 2 + 16;
    struct tfd_spec **grown;

    if (s->count < s->capacity)
        return true;
    grown = realloc(s->specs, (size_t)capacity * sizeof(struct tfd_spec *));
    if (!grown)
        return false;
    s->specs = grown;
    s->capacity = capacity;
    return true;
}

enum tfd_code tfd_specs_add(struct tfd_specs *s,
                            const struct tfd_device_name *name, int32_t *out,
                            struct tfd_status *st)
{
    struct tfd_spec *spec;
    uintptr_t number;

    if (tfd_map_get(&s->by_name, bytes_of(name), &number)) {
        *out = (int32_t)number;
        return TFD_OK;
    }
    spec = tfd_arena_alloc(&s->arena, sizeof(*spec));
    if (!spec || !reserve_specs(s))
        return no_memory(st);
    spec->name = *name;
    for (uint32_t i = 0; i <= TFD_SPEC_KINDS; i++)
        spec->device[i] = NOT_LOOKED_UP;
    if (!tfd_map_put(&s->by_name, bytes_of(&spec->name), (uintptr_t)s->count))
        return no_memory(st);
    *out = s->count;
    s->specs[s->count++] = spec;
    return TFD_OK;
}

enum tfd_code tfd_specs_parse(struct tfd_specs *s, struct tfd_str text,
                              int32_t *out, struct tfd_status *st)
{
    struct tfd_device_name name;
    uintptr_t number;

    *out = 0;
    if (text.size == 0)
        return TFD_OK;
    if (tfd_map_get(&s->by_text, text, &number)) {
        *out = (int32_t)number;
        return TFD_OK;
    }
    TFD_TRY(tfd_device_name_parse(text, &name, st));
    TFD_TRY(tfd_specs_add(s, &name, out, st));
    if (!tfd_map_put(&s->by_text, text, (uintptr_t)*out))
        return no_memory(st);
    return TFD_OK;
}

const struct tfd_device_name *tfd_specs_name(const struct tfd_specs *s,
                                             int32_t spec)
{
    return &s->specs[spec]->name;
}

enum tfd_code tfd_specs_merge(struct tfd_specs *s, int32_t into, int32_t from,
                              enum tfd_device_merge mode, int32_t *out,
                              struct tfd_status *st)
{
    struct tfd_device_name name = *tfd_specs_name(s, into);

    if (into == from || from == 0) {
        *out = into;
        return TFD_OK;
    }
    TFD_TRY(tfd_device_name_merge(&name, tfd_specs_name(s, from), mode, st));
    return tfd_specs_add(s, &name, out, st);
}

enum tfd_code tfd_specs_override(struct tfd_specs *s, int32_t under,
                                 int32_t over, int32_t *out,
                                 struct tfd_status *st)
{
    struct tfd_device_name name = *tfd_specs_name(s, over);

    if (over == 0) {
        *out = under;
        return TFD_OK;
    }
    tfd_device_name_fill(&name, tfd_specs_name(s, under));
    return tfd_specs_add(s, &name, out, st);
}

enum tfd_code tfd_specs_task(struct tfd_specs *s, int32_t spec, int32_t *out,
                             struct tfd_status *st)
{
    struct tfd_device_name name = *tfd_specs_name(s, spec);

    name.has &= ~(uint32_t)(TFD_DEVICE_TYPE | TFD_DEVICE_ID);
    memset(name.type, 0, sizeof(name.type));
    name.id = 0;
    return tfd_specs_add(s, &name, out, st);
}

static int look_up(const struct tfd_device_set *set,
                   const struct tfd_device_name *name, uint32_t kinds)
{
    for (int i = 0; i < set->count; i++) {
        const struct tfd_device *d = &set->devices[set->order[i]];

        if ((kinds & 1u << d->kind) && tfd_device_name_covers(name, &d->name))
            return set->order[i];
    }
    return -1;
}

int tfd_specs_device(struct tfd_specs *s, int32_t spec, uint32_t kinds)
{
    int *device = &s->specs[spec]->device[kinds & TFD_SPEC_KINDS];

    if (*device == NOT_LOOKED_UP)
        *device =
            look_up(s->devices, &s->specs[spec]->name, kinds & TFD_SPEC_KINDS);
    return *device;
}
