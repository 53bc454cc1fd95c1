/*
 * tstring.h - elements of string tensors, laid out as TensorFlow's TF_TString,
 * so that C programs may use either library's functions on them.
 *
 * 24 bytes; the two lowest bits of the first one say how the rest is read:
 *
 *     0 small   the length in the byte's upper six bits, then up to 22 bytes
 *     1 large   (length << 2) + 1; capacity; an allocation of malloc(), which
 *               has one byte more than the capacity says
 *     3 view    (length << 2) + 3; unused; memory that somebody else owns
 *
 * So short strings, and those are most, need no allocation each.  All zero is
 * the empty string.  A string may be moved by copying its bytes; a view of a
 * small one (tfd_tstring_view) is then of the old place.
 *
 * Source of the layout: TensorFlow 2.21, ctstring_internal.h.
 * Threads: any.  Memory of large ones goes from one to the next (large_text.h).
 */
#ifndef TFD_COMMON_TSTRING_H
#define TFD_COMMON_TSTRING_H

#include "common/base/str.h"

#include <assert.h>
#include <string.h>

#define TFD_TSTRING_SMALL_MAX 22

enum tfd_tstring_kind {
    TFD_TSTRING_SMALL = 0,
    TFD_TSTRING_LARGE = 1,
    TFD_TSTRING_VIEW = 3,
};

struct tfd_tstring {
    union {
        struct {
            unsigned char size; /* << 2 */
            char data[TFD_TSTRING_SMALL_MAX + 1];
        } small;
        struct {
            size_t size; /* << 2, and the kind */
            size_t capacity;
            char *data;
        } large;
    } u;
};

static_assert(sizeof(struct tfd_tstring) == 24 &&
                  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the layout of TF_TString");

static inline enum tfd_tstring_kind
tfd_tstring_kind_of(const struct tfd_tstring *t)
{
    return (enum tfd_tstring_kind)(t->u.small.size & 3);
}

static inline struct tfd_str tfd_tstring_view(const struct tfd_tstring *t)
{
    if (tfd_tstring_kind_of(t) == TFD_TSTRING_SMALL)
        return (struct tfd_str){t->u.small.data, (size_t)t->u.small.size >> 2};
    return (struct tfd_str){t->u.large.data, t->u.large.size >> 2};
}

/* The bytes of one that tfd_tstring_resize() made: as many as it asked for. */
static inline char *tfd_tstring_room(struct tfd_tstring *t)
{
    return tfd_tstring_kind_of(t) == TFD_TSTRING_SMALL ? t->u.small.data
                                                       : t->u.large.data;
}

/* Room for size bytes, contents undefined.  The old value stays after a
 * failure, RESOURCE_EXHAUSTED. */
enum tfd_code tfd_tstring_resize(struct tfd_tstring *t, size_t size,
                                 struct tfd_status *st) TFD_MUST_USE;
/* value may be a part of the string itself. */
enum tfd_code tfd_tstring_set(struct tfd_tstring *t, struct tfd_str value,
                              struct tfd_status *st) TFD_MUST_USE;
size_t tfd_tstring_capacity(const struct tfd_tstring *t);

/* The old value is freed; data from malloc(), of `capacity` >= 1 bytes and no
 * fewer, is the string's from now on.  The string's own capacity is one less,
 * which may be one less than its size. */
void tfd_tstring_take(struct tfd_tstring *t, char *data, size_t size,
                      size_t capacity);
/* The old value is freed; value outlives the string. */
void tfd_tstring_borrow(struct tfd_tstring *t, struct tfd_str value);
void tfd_tstring_free(struct tfd_tstring *t); /* LARGE; use deinit */

static inline void tfd_tstring_deinit(struct tfd_tstring *t)
{
    if (tfd_tstring_kind_of(t) == TFD_TSTRING_LARGE)
        tfd_tstring_free(t);
    else
        memset(t, 0, sizeof(*t));
}

/* tfd_tstring_set() of another string's value. */
static inline enum tfd_code tfd_tstring_copy(struct tfd_tstring *t,
                                             const struct tfd_tstring *from,
                                             struct tfd_status *st)
{
    if (tfd_tstring_kind_of(from) == TFD_TSTRING_SMALL &&
        tfd_tstring_kind_of(t) != TFD_TSTRING_LARGE) {
        *t = *from;
        return TFD_OK;
    }
    return tfd_tstring_set(t, tfd_tstring_view(from), st);
}

#endif
