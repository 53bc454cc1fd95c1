/*
 * step_ring.c - see step_ring.h.  Memory that is not touched costs nothing, so
 * a ring takes what it may ever need at once.
 */
#include "daemon/master/record/step_ring.h"

#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void tfd_step_ring_init(struct tfd_step_ring *r)
{
    r->taken = 0;
    r->records = calloc(TFD_STEPS_KEPT_MAX, sizeof(*r->records));
}

void tfd_step_ring_deinit(struct tfd_step_ring *r)
{
    free(r->records);
    r->records = NULL;
}

struct tfd_step_record *tfd_step_ring_take(struct tfd_step_ring *r)
{
    struct tfd_step_record *record;

    if (!r->records)
        return NULL;
    record = &r->records[r->taken++ % TFD_STEPS_KEPT_MAX];
    /* The texts end at their first byte. */
    memset(record, 0, offsetof(struct tfd_step_record, name) + 1);
    record->slowest[0] = record->error[0] = '\0';
    return record;
}

int tfd_step_ring_count(const struct tfd_step_ring *r)
{
    return r->taken < TFD_STEPS_KEPT_MAX ? (int)r->taken : TFD_STEPS_KEPT_MAX;
}

const struct tfd_step_record *tfd_step_ring_at(const struct tfd_step_ring *r,
                                               int age)
{
    assert(age >= 0 && age < tfd_step_ring_count(r));
    return &r->records[(r->taken - 1 - (uint64_t)age) % TFD_STEPS_KEPT_MAX];
}

bool tfd_step_ring_copy(const struct tfd_step_ring *r,
                        struct tfd_step_ring *out)
{
    tfd_step_ring_init(out);
    if (!out->records || !r->records)
        return out->records != NULL;
    out->taken = r->taken;
    memcpy(out->records, r->records,
           (size_t)tfd_step_ring_count(r) * sizeof(*r->records));
    return true;
}

void tfd_step_ring_text(char *out, size_t size, struct tfd_str text)
{
    size_t n = text.size < size - 1 ? text.size : size - 1;

    memcpy(out, text.data, n);
    out[n] = '\0';
}
