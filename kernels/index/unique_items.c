/*
 * unique_items.c - see unique_items.h.
 */
#include "kernels/index/unique_items.h"

#include <string.h>

/* Bits of a float type: those of its sign and of an infinity. */
static const struct {
    enum tfd_dtype dtype;
    uint64_t sign, infinity;
} floats[] = {
    {TFD_HALF, 0x8000, 0x7c00},
    {TFD_BFLOAT16, 0x8000, 0x7f80},
    {TFD_FLOAT, 0x80000000, 0x7f800000},
    {TFD_DOUBLE, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52},
};

static void find_float(struct tfd_unique_items *t)
{
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        if (floats[i].dtype == t->x->dtype) {
            t->floating = true;
            t->sign = floats[i].sign;
            t->infinity = floats[i].infinity;
        }
}

/* Signed ones keep their order. */
#define LOAD(T)                                                    \
    static void load_##T(const void *x, int64_t n, uint64_t *keys) \
    {                                                              \
        const T *from = x;                                         \
                                                                   \
        for (int64_t i = 0; i < n; i++)                            \
            keys[i] = (uint64_t)from[i];                           \
    }

LOAD(uint8_t)
LOAD(uint16_t)
LOAD(uint32_t)
LOAD(uint64_t)
LOAD(int8_t)
LOAD(int16_t)
LOAD(int32_t)

typedef void load_fn(const void *x, int64_t n, uint64_t *keys);

static load_fn *const loads[TFD_DTYPE_END] = {
    [TFD_BOOL] = load_uint8_t,      [TFD_UINT8] = load_uint8_t,
    [TFD_UINT16] = load_uint16_t,   [TFD_UINT32] = load_uint32_t,
    [TFD_UINT64] = load_uint64_t,   [TFD_INT8] = load_int8_t,
    [TFD_INT16] = load_int16_t,     [TFD_INT32] = load_int32_t,
    [TFD_INT64] = load_uint64_t,    [TFD_HALF] = load_uint16_t,
    [TFD_BFLOAT16] = load_uint16_t, [TFD_FLOAT] = load_uint32_t,
    [TFD_DOUBLE] = load_uint64_t,
};

/* Of n elements from x on. */
static void load_bits(const struct tfd_unique_items *t, const void *x,
                      int64_t n, uint64_t *keys)
{
    loads[t->x->dtype](x, n, keys);
    for (int64_t i = 0; t->floating && i < n; i++)
        if (keys[i] == t->sign) /* minus zero */
            keys[i] = 0;
}

static inline uint64_t word_at(const char *bytes, size_t size)
{
    uint64_t word = 0;

    memcpy(&word, bytes, size);
    return word;
}

/* Short strings as two words that tell those of one size apart. */
static uint64_t hash_string(const struct tfd_hash_key *key, struct tfd_str s)
{
    uint64_t a = 0, b = 0;

    if (s.size > 16)
        return tfd_hash_str(s);
    if (s.size >= 8) {
        a = word_at(s.data, 8);
        b = word_at(s.data + s.size - 8, 8);
    } else if (s.size >= 4) {
        a = word_at(s.data, 4);
        b = word_at(s.data + s.size - 4, 4);
    } else if (s.size) {
        a = (uint8_t)s.data[0];
        b = (uint64_t)(uint8_t)s.data[s.size / 2] << 8 |
            (uint8_t)s.data[s.size - 1];
    }
    return tfd_hash_mix(key, tfd_hash_mix(key, a) + b) + s.size;
}

/* Element n of a run as bits, zeros made one; a hash for a string. */
static uint64_t bits_at(const struct tfd_unique_items *t, const void *run,
                        int64_t n)
{
    enum tfd_dtype dtype = t->x->dtype;
    const void *at = tfd_element_of(run, dtype, n);
    uint64_t bits = 0;

    if (dtype == TFD_STRING)
        return hash_string(t->hash_key, tfd_tstring_view(at));
    load_bits(t, at, 1, &bits);
    return bits;
}

/* The same, but another for the NaN of each item: as none is equal to any, they
 * need not meet in one place and be compared there. */
static uint64_t spread_bits(const struct tfd_unique_items *t, const void *run,
                            int64_t n, int64_t item)
{
    uint64_t bits = bits_at(t, run, n);

    return tfd_unique_is_nan(t, bits) ? bits + ((uint64_t)item << 32) : bits;
}

static uint64_t hash_of(const struct tfd_unique_items *t, int64_t i)
{
    uint64_t h = 0;

    for (int64_t o = 0; o < t->outer; o++)
        for (int64_t n = 0; n < t->inner; n++)
            h = tfd_hash_mix(
                t->hash_key,
                h + spread_bits(t, tfd_unique_items_run(t, o, i), n, i));
    return h;
}

static bool plain(const struct tfd_unique_items *t)
{
    return t->outer == 1 && t->inner == 1;
}

void tfd_unique_items_init(struct tfd_unique_items *t)
{
    t->floating = false;
    find_float(t);
    t->hash_key = tfd_hash_key();
    t->exact = plain(t) && loads[t->x->dtype];
}

static void hash_strings(const struct tfd_hash_key *key,
                         const struct tfd_tstring *s, int64_t n, uint64_t *keys)
{
    for (int64_t i = 0; i < n; i++)
        keys[i] = hash_string(key, tfd_tstring_view(&s[i]));
}

void tfd_unique_items_keys(const struct tfd_unique_items *t, int64_t from,
                           int64_t n, uint64_t *keys)
{
    if (t->exact)
        load_bits(t, tfd_unique_items_run(t, 0, from), n, keys);
    else if (plain(t) && t->x->dtype == TFD_STRING)
        hash_strings(t->hash_key, tfd_unique_items_run(t, 0, from), n, keys);
    else
        for (int64_t i = 0; i < n; i++)
            keys[i] = hash_of(t, from + i);
}

static bool same_element(const struct tfd_unique_items *a, const void *x,
                         const struct tfd_unique_items *b, const void *y,
                         int64_t n)
{
    uint64_t bits;

    if (a->x->dtype == TFD_STRING)
        return tfd_str_eq(tfd_tstring_view(tfd_element_of(x, TFD_STRING, n)),
                          tfd_tstring_view(tfd_element_of(y, TFD_STRING, n)));
    bits = bits_at(a, x, n);
    return bits == bits_at(b, y, n) && !tfd_unique_is_nan(a, bits);
}

bool tfd_unique_items_equal(const struct tfd_unique_items *a, int64_t i,
                            const struct tfd_unique_items *b, int64_t j)
{
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t n = 0; n < a->inner; n++)
            if (!same_element(a, tfd_unique_items_run(a, o, i), b,
                              tfd_unique_items_run(b, o, j), n))
                return false;
    return true;
}
