/*
 * str.c - see str.h.
 *
 * A growing buffer doubles, so n appends copy at most 2 n bytes.  Its capacity
 * never passes its maximum, except for the one byte in which printf writes its
 * terminator.
 */
#include "common/base/str.h"

#include "common/memory/large_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Views --------------------------------------------------------------- */

struct tfd_str tfd_str_of(const char *terminated)
{
    if (!terminated)
        return TFD_STR_EMPTY;
    return (struct tfd_str){terminated, strlen(terminated)};
}

/* memcmp() must not see NULL, not even for no bytes. */
static int compare(const char *a, const char *b, size_t size)
{
    return size ? memcmp(a, b, size) : 0;
}

bool tfd_str_eq(struct tfd_str a, struct tfd_str b)
{
    return a.size == b.size && compare(a.data, b.data, a.size) == 0;
}

bool tfd_str_is(struct tfd_str a, const char *terminated)
{
    return tfd_str_eq(a, tfd_str_of(terminated));
}

bool tfd_str_starts(struct tfd_str a, const char *prefix)
{
    size_t size = strlen(prefix);

    return a.size >= size && compare(a.data, prefix, size) == 0;
}

int tfd_str_cmp(struct tfd_str a, struct tfd_str b)
{
    int order = compare(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* ---- Growing buffer ------------------------------------------------------ */

#define CAPACITY_MIN 64 /* a small message at once */

void tfd_bytes_init(struct tfd_bytes *b, size_t max)
{
    *b = (struct tfd_bytes){.max = max < SIZE_MAX / 2 ? max : SIZE_MAX / 2};
}

void tfd_bytes_deinit(struct tfd_bytes *b)
{
    tfd_large_text_give(b->data, b->capacity);
    *b = (struct tfd_bytes){.max = b->max};
}

void tfd_bytes_clear(struct tfd_bytes *b)
{
    b->size = 0;
    b->failed = false;
    b->stays = NULL;
}

void tfd_bytes_refuse(struct tfd_bytes *b, const char *what)
{
    if (!b->failed)
        b->stays = what;
    b->failed = true;
}

void tfd_bytes_fail_as(struct tfd_bytes *b, const struct tfd_bytes *other)
{
    if (other->failed)
        tfd_bytes_refuse(b, other->stays);
}

/* *capacity bytes, or more of what is kept of others. */
static char *find_room(const struct tfd_bytes *b, size_t *capacity)
{
    char *data = b->data ? NULL : tfd_large_text_take(capacity, b->max);

    return data ? data : realloc(b->data, *capacity);
}

/* Room for size bytes of content and `beyond` that are not counted. */
static bool reserve_bytes(struct tfd_bytes *b, size_t size, size_t beyond)
{
    size_t need, capacity;
    char *data;

    if (b->failed || size > b->max - b->size) {
        b->failed = true;
        return false;
    }
    need = b->size + size + beyond;
    if (need <= b->capacity)
        return true;

    capacity = b->capacity < CAPACITY_MIN / 2 ? CAPACITY_MIN : b->capacity * 2;
    if (capacity > b->max)
        capacity = b->max;
    if (capacity < need)
        capacity = need;
    data = find_room(b, &capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

char *tfd_bytes_extend(struct tfd_bytes *b, size_t size)
{
    char *at;

    /* One beyond, so that no bytes are an address too. */
    if (!reserve_bytes(b, size, size == 0))
        return NULL;
    at = b->data + b->size;
    b->size += size;
    return at;
}

void tfd_bytes_add(struct tfd_bytes *b, const void *data, size_t size)
{
    char *at = tfd_bytes_extend(b, size);

    if (at && size)
        memcpy(at, data, size);
}

void tfd_bytes_add_str(struct tfd_bytes *b, struct tfd_str s)
{
    tfd_bytes_add(b, s.data, s.size);
}

void tfd_bytes_printf(struct tfd_bytes *b, const char *fmt, ...)
{
    size_t room = b->failed ? 0 : b->capacity - b->size;
    va_list args;
    int n;

    /* What fits is printed once; else this has counted it. */
    va_start(args, fmt);
    n = vsnprintf(room ? b->data + b->size : NULL, room, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < room) {
        b->size += (size_t)n;
        return;
    }
    if (n < 0)
        b->failed = true;
    if (n < 0 || !reserve_bytes(b, (size_t)n, 1))
        return;

    va_start(args, fmt);
    vsnprintf(b->data + b->size, (size_t)n + 1, fmt, args);
    va_end(args);
    b->size += (size_t)n;
}

struct tfd_str tfd_bytes_view(const struct tfd_bytes *b)
{
    return b->data ? (struct tfd_str){b->data, b->size} : TFD_STR_EMPTY;
}

enum tfd_code tfd_bytes_ok(const struct tfd_bytes *b, const char *what,
                           struct tfd_status *st)
{
    if (!b->failed)
        return TFD_OK;
    if (b->stays)
        return tfd_fail(st, TFD_INTERNAL,
                        "%s cannot be written: %s does not leave its task",
                        what, b->stays);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "%s does not fit: %zu bytes written when the next ones "
                    "passed the limit of %zu or memory ran out",
                    what, b->size, b->max);
}
