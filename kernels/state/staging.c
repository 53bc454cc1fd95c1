/*
 * staging.c - see staging.h.
 *
 * As with queues (queue_core.c), who stands in the line does so exactly while
 * it waits; whoever serves it takes it out under the lock and finishes it
 * without, once its step's cancellation cannot come any more.
 */
#include "kernels/state/staging.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tuples -------------------------------------------------------------- */

struct tfd_staged *tfd_staged_new(int count, struct tfd_status *st)
{
    struct tfd_staged *row =
        calloc(1, sizeof(*row) + (size_t)count * sizeof(row->part[0]));

    if (row)
        row->count = count;
    else
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for a tuple of %d tensors", count);
    return row;
}

void tfd_staged_free(struct tfd_staged *row)
{
    for (int i = 0; row && i < row->count; i++)
        tfd_tensor_unref(&row->part[i]);
    free(row);
}

struct tfd_staged *tfd_staged_of(const struct tfd_kctx *k, int first,
                                 struct tfd_status *st)
{
    struct tfd_staged *row = tfd_staged_new(k->in_count - first, st);

    for (int i = 0; row && i < row->count; i++)
        row->part[i] = tfd_tensor_ref(&k->in[first + i]);
    if (row)
        row->held = row->count;
    return row;
}

int64_t tfd_staged_bytes(const struct tfd_tensor *t)
{
    int64_t n = tfd_tensor_elements(t);
    int64_t bytes = n * (int64_t)tfd_dtype_size(t->dtype);
    const struct tfd_tstring *s = tfd_tensor_data(t);

    for (int64_t i = 0; t->dtype == TFD_STRING && i < n; i++)
        bytes += (int64_t)tfd_tstring_view(&s[i]).size;
    return bytes;
}

enum tfd_code tfd_staged_give(struct tfd_kctx *k, int out,
                              const struct tfd_tensor *t, struct tfd_status *st)
{
    if (k->node->out_types[out] != (int)t->dtype)
        return tfd_fail(st, TFD_INTERNAL,
                        "Output %d of type %s does not match declared output "
                        "type %s for node {{node " TFD_STR_FMT "}}",
                        out, tfd_dtype_name((int)t->dtype),
                        tfd_dtype_name(k->node->out_types[out]),
                        TFD_STR_ARG(k->node->name));
    k->out[out] = tfd_tensor_ref(t);
    return TFD_OK;
}

/* ---- Shelves ------------------------------------------------------------- */

struct tfd_staged *tfd_shelf_at(const struct tfd_shelf *s, int64_t index)
{
    return s->rows[s->head + index];
}

int64_t tfd_shelf_find(const struct tfd_shelf *s, int64_t key, bool *found)
{
    int64_t low = 0, high = s->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (tfd_shelf_at(s, middle)->key < key)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < s->count && tfd_shelf_at(s, low)->key == key;
    return low;
}

/* Room for one more at the end. */
static bool reserve_shelf(struct tfd_shelf *s)
{
    int64_t room = s->room ? 2 * s->room : 16;
    struct tfd_staged **rows;

    if (s->head + s->count < s->room)
        return true;
    if (s->head > s->count) {
        memcpy(s->rows, s->rows + s->head, (size_t)s->count * sizeof(*s->rows));
        s->head = 0;
        return true;
    }
    rows = malloc((size_t)room * sizeof(*rows));
    if (!rows)
        return false;
    for (int64_t i = 0; i < s->count; i++)
        rows[i] = tfd_shelf_at(s, i);
    free(s->rows);
    *s = (struct tfd_shelf){rows, 0, s->count, room};
    return true;
}

bool tfd_shelf_insert(struct tfd_shelf *s, int64_t at, struct tfd_staged *row)
{
    struct tfd_staged **place;

    if (!reserve_shelf(s))
        return false;
    place = s->rows + s->head + at;
    memmove(place + 1, place, (size_t)(s->count - at) * sizeof(*place));
    *place = row;
    s->count++;
    return true;
}

struct tfd_staged *tfd_shelf_remove(struct tfd_shelf *s, int64_t at)
{
    struct tfd_staged **place = s->rows + s->head + at, *row = *place;

    s->count--;
    if (at == 0)
        s->head++;
    else
        memmove(place, place + 1, (size_t)(s->count - at) * sizeof(*place));
    return row;
}

static void empty_shelf(struct tfd_shelf *s)
{
    for (int64_t i = 0; i < s->count; i++)
        tfd_staged_free(tfd_shelf_at(s, i));
    free(s->rows);
    *s = (struct tfd_shelf){0};
}

/* ---- Areas --------------------------------------------------------------- */

void tfd_area_free(struct tfd_resource *r)
{
    struct tfd_area *a = (struct tfd_area *)r;

    empty_shelf(&a->complete);
    empty_shelf(&a->incomplete);
    tfd_lock_deinit(&a->lock);
    free(a);
}

/* How many types the attribute has. */
static enum tfd_code read_parts(const struct tfd_node *n, int *parts,
                                struct tfd_status *st)
{
    enum tfd_dtype *types = calloc(TFD_QUEUE_COMPONENTS_MAX, sizeof(*types));
    enum tfd_code rc;

    if (!types)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(n->name));
    rc =
        tfd_node_types(n, "dtypes", types, TFD_QUEUE_COMPONENTS_MAX, parts, st);
    free(types);
    return rc;
}

enum tfd_code tfd_stager_prepare(struct tfd_stager *m,
                                 const struct tfd_prepare *p,
                                 const struct tfd_resource_type *type,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_owner_prepare_named(&m->owner, p, type, st));
    TFD_TRY(tfd_node_int(p->node, "capacity", &m->capacity, st));
    TFD_TRY(tfd_node_int(p->node, "memory_limit", &m->bytes_max, st));
    return read_parts(p->node, &m->parts, st);
}

void tfd_stager_release(void *state)
{
    tfd_owner_release(&((struct tfd_stager *)state)->owner);
}

static enum tfd_code make_area(void *arg, struct tfd_resource **out,
                               struct tfd_status *st)
{
    const struct tfd_stager *m = arg;
    struct tfd_area *a = calloc(1, sizeof(*a));

    if (!a)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for staging area " TFD_STR_FMT,
                        TFD_STR_ARG(m->owner.name));
    tfd_resource_init(&a->resource, m->owner.type);
    tfd_lock_init(&a->lock, TFD_LOCK_RESOURCE);
    a->capacity = m->capacity;
    a->bytes_max = m->bytes_max;
    a->parts = m->parts;
    *out = &a->resource;
    return TFD_OK;
}

enum tfd_code tfd_area_find(struct tfd_kctx *k, struct tfd_area **out,
                            struct tfd_status *st)
{
    struct tfd_stager *m = k->state;
    struct tfd_resource *r;

    TFD_TRY(tfd_owner_resource(&m->owner, make_area, m, &r, st));
    *out = (struct tfd_area *)r;
    return TFD_OK;
}

struct tfd_area *tfd_area_of(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a;

    if (tfd_area_find(k, &a, &st) == TFD_OK)
        return a;
    tfd_kctx_finish(k, &st);
    return NULL;
}

void tfd_area_end(struct tfd_area *take_area, struct tfd_kctx *k,
                  const struct tfd_status *st)
{
    tfd_resource_unref(&take_area->resource);
    tfd_kctx_finish(k, st);
}

bool tfd_area_is_full(const struct tfd_area *a, const struct tfd_staged *row)
{
    int64_t more = row->bytes - row->charged;

    return (a->capacity > 0 && a->complete.count >= a->capacity) ||
           (a->bytes_max > 0 && more > a->bytes_max - a->bytes);
}

enum tfd_code tfd_area_check_bytes(const struct tfd_area *a, int64_t bytes,
                                   struct tfd_status *st)
{
    if (a->bytes_max == 0 || bytes <= a->bytes_max)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "Attempted to insert tensors with combined size of "
                    "'%" PRId64 "' bytes into Staging Area with a memory limit "
                    "of '%" PRId64 "'.",
                    bytes, a->bytes_max);
}

/* ---- The line ------------------------------------------------------------ */

static void append_staging(struct tfd_staging *s)
{
    struct tfd_area *a = s->area;

    s->waiting = true;
    s->previous = a->last;
    if (a->last)
        a->last->next = s;
    else
        a->first = s;
    a->last = s;
}

/* Out of the line, into the list of those to be finished. */
static void settle_staging(struct tfd_staging *s, struct tfd_staging **settled)
{
    struct tfd_area *a = s->area;

    if (s->previous)
        s->previous->next = s->next;
    else
        a->first = s->next;
    if (s->next)
        s->next->previous = s->previous;
    else
        a->last = s->previous;
    s->waiting = false;
    s->previous = NULL;
    s->next = *settled;
    *settled = s;
}

static void serve_line(struct tfd_area *a, struct tfd_staging **settled)
{
    bool changed = true; /* there may be something for all */

    while (changed) {
        struct tfd_staging *s = a->first;

        for (changed = false; s;) {
            struct tfd_staging *next = s->next;

            if (s->serve(a, s)) {
                settle_staging(s, settled);
                changed = true;
            }
            s = next;
        }
    }
}

static void finish_stagings(struct tfd_staging *settled)
{
    while (settled) {
        struct tfd_staging *s = settled;

        settled = s->next;
        (void)tfd_step_off_cancel(s->k->step, &s->cancel);
        tfd_staged_free(s->row);
        tfd_area_end(s->area, s->k, &s->st);
        free(s);
    }
}

static void refuse(struct tfd_staging *s)
{
    tfd_fail(&s->st, TFD_CANCELLED, TFD_STR_FMT " operation was cancelled",
             TFD_STR_ARG(s->k->node->op->name));
}

static void staging_cancelled(struct tfd_cancel *c)
{
    struct tfd_staging *s = TFD_CONTAINER_OF(c, struct tfd_staging, cancel);
    struct tfd_staging *settled = NULL;
    struct tfd_area *a = s->area;

    tfd_resource_ref(&a->resource);
    tfd_lock(&a->lock);
    if (s->waiting) {
        refuse(s);
        settle_staging(s, &settled);
    }
    tfd_unlock(&a->lock);
    finish_stagings(settled);
    tfd_resource_unref(&a->resource);
}

void tfd_area_begin(struct tfd_area *take_area, struct tfd_kctx *k,
                    bool (*serve)(struct tfd_area *a, struct tfd_staging *s),
                    struct tfd_staged *take_row, int64_t key)
{
    struct tfd_staging *s = calloc(1, sizeof(*s)), *settled = NULL;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!s) {
        tfd_staged_free(take_row);
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                 "no memory to use a staging area");
        tfd_area_end(take_area, k, &st);
        return;
    }
    s->area = take_area;
    s->k = k;
    s->serve = serve;
    s->row = take_row;
    s->key = key;
    s->cancel.fn = staging_cancelled;
    tfd_lock(&take_area->lock);
    append_staging(s);
    if (tfd_step_on_cancel(k->step, &s->cancel)) {
        serve_line(take_area, &settled);
    } else {
        refuse(s);
        settle_staging(s, &settled);
    }
    tfd_unlock(&take_area->lock);
    finish_stagings(settled);
}

/* ---- Clear, size --------------------------------------------------------- */

enum tfd_code tfd_area_compute_clear(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_staging *settled = NULL;
    struct tfd_shelf complete, incomplete;
    struct tfd_area *a;

    TFD_TRY(tfd_area_find(k, &a, st));
    tfd_lock(&a->lock);
    complete = a->complete;
    incomplete = a->incomplete;
    a->complete = a->incomplete = (struct tfd_shelf){0};
    a->bytes = 0;
    serve_line(a, &settled);
    tfd_unlock(&a->lock);
    finish_stagings(settled);
    empty_shelf(&complete);
    empty_shelf(&incomplete);
    tfd_resource_unref(&a->resource);
    return TFD_OK;
}

/* Of complete tuples, or of the others where the op says so. */
enum tfd_code tfd_area_compute_size(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_area *a;
    int64_t size;

    TFD_TRY(tfd_area_find(k, &a, st));
    tfd_lock(&a->lock);
    size = strstr(k->node->op->name.data, "Incomplete") ? a->incomplete.count
                                                        : a->complete.count;
    tfd_unlock(&a->lock);
    tfd_resource_unref(&a->resource);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)size;
    return TFD_OK;
}
