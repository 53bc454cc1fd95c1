/*
 * tstring.c - see tstring.h.  An allocation is kept while it is large enough.
 */
#include "common/base/tstring.h"

#include "common/memory/large_text.h"

#include <stdlib.h>

static enum tfd_code fail_memory(size_t size, struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for a string of %zu bytes", size);
}

static void set_large(struct tfd_tstring *t, enum tfd_tstring_kind kind,
                      size_t size)
{
    t->u.large.size = size << 2 | (size_t)kind;
}

size_t tfd_tstring_capacity(const struct tfd_tstring *t)
{
    switch (tfd_tstring_kind_of(t)) {
    case TFD_TSTRING_LARGE:
        return t->u.large.capacity;
    case TFD_TSTRING_SMALL:
        return TFD_TSTRING_SMALL_MAX;
    default:
        return 0;
    }
}

/* Behind the capacity TensorFlow's functions of C write a zero. */
#define BEYOND 1

/* At least *capacity bytes, which becomes how many: a quarter more at most, as
 * the string may stay for long. */
static char *find_room(size_t *capacity)
{
    size_t size = *capacity + BEYOND;
    char *data;

    if (*capacity > SIZE_MAX >> 2)
        return NULL;
    data = tfd_large_text_take(&size, size / 4 * 5);
    *capacity = size - BEYOND;
    return data ? data : malloc(size);
}

/* As tfd_tstring_resize(); *old is to be freed once nobody reads it any more.
 */
static bool make_text_room(struct tfd_tstring *t, size_t size,
                           struct tfd_tstring *old)
{
    bool large = tfd_tstring_kind_of(t) == TFD_TSTRING_LARGE;
    size_t capacity = size;
    char *data;

    memset(old, 0, sizeof(*old));
    if (large && size <= t->u.large.capacity) {
        set_large(t, TFD_TSTRING_LARGE, size);
        return true;
    }
    if (!large && size <= TFD_TSTRING_SMALL_MAX) {
        t->u.small.size = (unsigned char)(size << 2);
        return true;
    }
    data = find_room(&capacity);
    if (!data)
        return false;
    if (large)
        *old = *t;
    t->u.large.data = data;
    t->u.large.capacity = capacity;
    set_large(t, TFD_TSTRING_LARGE, size);
    return true;
}

enum tfd_code tfd_tstring_resize(struct tfd_tstring *t, size_t size,
                                 struct tfd_status *st)
{
    struct tfd_tstring old;

    if (!make_text_room(t, size, &old))
        return fail_memory(size, st);
    tfd_tstring_deinit(&old);
    return TFD_OK;
}

enum tfd_code tfd_tstring_set(struct tfd_tstring *t, struct tfd_str value,
                              struct tfd_status *st)
{
    struct tfd_tstring made = *t;
    struct tfd_tstring old;

    if (!make_text_room(&made, value.size, &old))
        return fail_memory(value.size, st);
    if (value.size)
        memmove(tfd_tstring_room(&made), value.data, value.size);
    *t = made;
    tfd_tstring_deinit(&old);
    return TFD_OK;
}

void tfd_tstring_take(struct tfd_tstring *t, char *data, size_t size,
                      size_t capacity)
{
    tfd_tstring_deinit(t);
    if (!data)
        return;
    t->u.large.data = data;
    t->u.large.capacity = capacity - BEYOND;
    set_large(t, TFD_TSTRING_LARGE, size);
}

void tfd_tstring_borrow(struct tfd_tstring *t, struct tfd_str value)
{
    tfd_tstring_deinit(t);
    if (value.size == 0)
        return;
    t->u.large.data = (char *)(uintptr_t)value.data;
    t->u.large.capacity = 0;
    set_large(t, TFD_TSTRING_VIEW, value.size);
}

void tfd_tstring_free(struct tfd_tstring *t)
{
    tfd_large_text_give(t->u.large.data, t->u.large.capacity + BEYOND);
    memset(t, 0, sizeof(*t));
}
