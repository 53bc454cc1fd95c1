/*
 * radix.c - see radix.h.
 */
#include "kernels/reduce/radix.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

#include <assert.h>
#include <string.h>

#define FEW 4096 /* numbers up to which digits are short */
#define FEW_BITS \
    24 /* the highest ones of keys, which tell most of them apart */

/* ---- Keys ---------------------------------------------------------------- */

/* Falling keys of the bits of a float: -0 is 0, of others that are negative the
 * larger ones are the larger keys already. */
static inline uint32_t float_key(uint32_t bits)
{
    uint32_t sign = bits >> 31;

    bits = bits == 0x80000000u ? 0 : bits;
    sign = bits == 0 ? 0 : sign;
    return sign ? bits : ~(bits | 0x80000000u);
}

static inline uint64_t double_key(uint64_t bits)
{
    const uint64_t top = UINT64_C(1) << 63;

    bits = bits == top ? 0 : bits;
    return bits & top ? bits : ~(bits | top);
}

static inline uint32_t bits_of_float(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static inline uint64_t bits_of_double(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* A key of 32 bits, and the place below it. */
struct narrow {
    uint64_t both;
};

struct wide {
    uint64_t key;
    uint64_t place;
};

#define KEY_FLOAT(v) float_key(bits_of_float(v))
#define KEY_HALF(v) float_key(bits_of_float(tfd_half_to_float(v)))
#define KEY_BFLOAT16(v) float_key(bits_of_float(tfd_bfloat16_to_float(v)))
#define KEY_SIGNED(v) (~((uint32_t)(int32_t)(v) ^ 0x80000000u))
#define KEY_UNSIGNED(v) (~(uint32_t)(v))
#define KEY_DOUBLE(v) double_key(bits_of_double(v))
#define KEY_INT64(v) (~((uint64_t)(v) ^ UINT64_C(1) << 63))
#define KEY_UINT64(v) (~(v))
#define IS_NAN(v) ((v) != (v))
#define HALF_NAN(v) (tfd_half_to_float(v) != tfd_half_to_float(v))
#define BFLOAT16_NAN(v) (tfd_bfloat16_to_float(v) != tfd_bfloat16_to_float(v))
#define NEVER_NAN(v) false

struct keys {
    const void *x;
    uint64_t *to;
    bool none; /* of the numbers is NaN */
};

/* Of each number x[i] the key, and the place beside one of 32 bits. */
#define DEFINE_KEYS(name, T, key, nan)                              \
    TFD_SIMD_LOOP(make_##name)                                      \
    {                                                               \
        struct keys *k = arg;                                       \
        const T *x = k->x;                                          \
        uint64_t *to = k->to, nans = 0;                             \
                                                                    \
        for (int64_t i = begin; i < end; i++) {                     \
            nans |= nan(x[i]) ? 1 : 0;                              \
            to[i] = key;                                            \
        }                                                           \
        k->none = nans == 0;                                        \
    }                                                               \
    TFD_SIMD_CLONES_WIDE(make_##name)                               \
                                                                    \
    static bool keys_##name(const void *from, int64_t n, void *out) \
    {                                                               \
        struct keys k = {from, out, true};                          \
                                                                    \
        make_##name(&k, 0, n);                                      \
        return k.none;                                              \
    }
#define NARROW(key) ((uint64_t)key(x[i]) << 32 | (uint32_t)i)
#define WIDE(key) key(x[i])

DEFINE_KEYS(float, float, NARROW(KEY_FLOAT), IS_NAN)
DEFINE_KEYS(half, tfd_half, NARROW(KEY_HALF), HALF_NAN)
DEFINE_KEYS(bfloat16, tfd_bfloat16, NARROW(KEY_BFLOAT16), BFLOAT16_NAN)
DEFINE_KEYS(int8, int8_t, NARROW(KEY_SIGNED), NEVER_NAN)
DEFINE_KEYS(int16, int16_t, NARROW(KEY_SIGNED), NEVER_NAN)
DEFINE_KEYS(int32, int32_t, NARROW(KEY_SIGNED), NEVER_NAN)
DEFINE_KEYS(uint8, uint8_t, NARROW(KEY_UNSIGNED), NEVER_NAN)
DEFINE_KEYS(uint16, uint16_t, NARROW(KEY_UNSIGNED), NEVER_NAN)
DEFINE_KEYS(uint32, uint32_t, NARROW(KEY_UNSIGNED), NEVER_NAN)
DEFINE_KEYS(double, double, WIDE(KEY_DOUBLE), IS_NAN)
DEFINE_KEYS(int64, int64_t, WIDE(KEY_INT64), NEVER_NAN)
DEFINE_KEYS(uint64, uint64_t, WIDE(KEY_UINT64), NEVER_NAN)

static const struct {
    bool (*keys)(const void *x, int64_t n, void *out);
    bool wide;
} types[TFD_DTYPE_END] = {
    [TFD_FLOAT] = {keys_float, false},
    [TFD_HALF] = {keys_half, false},
    [TFD_BFLOAT16] = {keys_bfloat16, false},
    [TFD_INT8] = {keys_int8, false},
    [TFD_INT16] = {keys_int16, false},
    [TFD_INT32] = {keys_int32, false},
    [TFD_UINT8] = {keys_uint8, false},
    [TFD_UINT16] = {keys_uint16, false},
    [TFD_UINT32] = {keys_uint32, false},
    [TFD_DOUBLE] = {keys_double, true},
    [TFD_INT64] = {keys_int64, true},
    [TFD_UINT64] = {keys_uint64, true},
};

/* ---- Sorting ------------------------------------------------------------- */

static inline uint64_t narrow_key(const struct narrow *v)
{
    return v->both >> 32;
}

static inline uint64_t wide_key(const struct wide *v)
{
    return v->key;
}

static inline int64_t narrow_place(const struct narrow *v)
{
    return (int64_t)(v->both & UINT32_MAX);
}

static inline int64_t wide_place(const struct wide *v)
{
    return (int64_t)v->place;
}

/* Where each digit's numbers go, from how many there are; false where all have
 * the same. */
static bool begin_of_digits(uint32_t *count, int digits, int64_t n)
{
    uint32_t at = 0;

    for (int d = 0; d < digits; d++) {
        const uint32_t here = count[d];

        if ((int64_t)here == n)
            return false;
        count[d] = at;
        at += here;
    }
    return true;
}

/* Sorts x, with as much memory at `other`, by so many digits of so many bits
 * from bit `low` on; the result is in the one that is returned; NULL: told to
 * stop. */
#define DEFINE_SORT(name, T, most, bits)                                  \
    static inline __attribute__((always_inline)) struct T *passes_##name( \
        struct T *x, struct T *other, int64_t n, int passes, int low)     \
    {                                                                     \
        const uint64_t last = (UINT64_C(1) << (bits)) - 1;                \
        uint32_t count[most][1 << (bits)];                                \
                                                                          \
        memset(count, 0, sizeof(count[0]) * (size_t)passes);              \
        for (int64_t i = 0; i < n; i++) {                                 \
            const uint64_t key = T##_key(&x[i]) >> low;                   \
                                                                          \
            for (int p = 0; p < passes; p++)                              \
                count[p][key >> p * (bits)&last]++;                       \
        }                                                                 \
        for (int p = 0; p < passes; p++, low += (bits)) {                 \
            struct T *sorted = other;                                     \
                                                                          \
            if (tfd_halted())                                             \
                return NULL;                                              \
            if (!begin_of_digits(count[p], 1 << (bits), n))               \
                continue;                                                 \
            for (int64_t i = 0; i < n; i++)                               \
                sorted[count[p][T##_key(&x[i]) >> low & last]++] = x[i];  \
            other = x;                                                    \
            x = sorted;                                                   \
        }                                                                 \
        return x;                                                         \
    }

#define DEFINE_PLACES(T)                                                       \
    static void places_##T(const struct T *sorted, int64_t count, int64_t *to) \
    {                                                                          \
        for (int64_t i = 0; i < count; i++)                                    \
            to[i] = T##_place(&sorted[i]);                                     \
    }

DEFINE_SORT(few, narrow, 4, 8)
DEFINE_SORT(narrow, narrow, 3, 11)
DEFINE_SORT(wide, wide, 6, 11)
DEFINE_PLACES(narrow)
DEFINE_PLACES(wide)

/* By `bits` bits of the keys, FEW_BITS at most, from bit `low` on. */
static struct narrow *sort_few(struct narrow *x, struct narrow *other,
                               int64_t n, int bits, int low)
{
    if (bits <= 8)
        return passes_few(x, other, n, 1, low);
    if (bits <= 16)
        return passes_few(x, other, n, 2, low);
    return passes_few(x, other, n, 3, low);
}

/* By so many bits of the keys, the lowest ones. */
static struct narrow *sort_narrow(struct narrow *x, struct narrow *other,
                                  int64_t n, int bits)
{
    if (n <= FEW && bits <= FEW_BITS)
        return sort_few(x, other, n, bits, 0);
    if (n <= FEW)
        return passes_few(x, other, n, 4, 0);
    if (bits <= 11)
        return passes_narrow(x, other, n, 1, 0);
    if (bits <= 22)
        return passes_narrow(x, other, n, 2, 0);
    return passes_narrow(x, other, n, 3, 0);
}

/* ---- Ranges -------------------------------------------------------------- */

/* Small numbers of either sign have few digits once the least key is taken off
 * all of them. */
struct key_range {
    const uint64_t *x;
    uint64_t least, most;
};

#define RANGE_LANES 16

TFD_SIMD_LOOP(find_range)
{
    struct key_range *r = arg;
    const uint64_t *x = r->x + begin;
    const int64_t n = end - begin;
    uint64_t least[RANGE_LANES], most[RANGE_LANES];
    int64_t i = 0;

    for (int l = 0; l < RANGE_LANES; l++)
        least[l] = most[l] = x[0];
    for (; i + RANGE_LANES <= n; i += RANGE_LANES)
        for (int l = 0; l < RANGE_LANES; l++) {
            const uint64_t key = x[i + l];

            least[l] = key < least[l] ? key : least[l];
            most[l] = key > most[l] ? key : most[l];
        }
    for (; i < n; i++) {
        const uint64_t key = x[i];

        least[0] = key < least[0] ? key : least[0];
        most[0] = key > most[0] ? key : most[0];
    }
    r->least = least[0];
    r->most = most[0];
    for (int l = 1; l < RANGE_LANES; l++) {
        r->least = least[l] < r->least ? least[l] : r->least;
        r->most = most[l] > r->most ? most[l] : r->most;
    }
}

TFD_SIMD_CLONES_WIDE(find_range)

static int bits_of(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* Puts in order what the highest bits have not; false: it is too much. */
static bool order_few(struct narrow *v, int64_t n)
{
    int64_t left = n;

    for (int64_t i = 1; i < n && left > 0; i++) {
        const struct narrow moved = v[i];
        int64_t to = i;

        for (; to > 0 && narrow_key(&v[to - 1]) > narrow_key(&moved); to--)
            v[to] = v[to - 1];
        v[to] = moved;
        left -= i - to;
    }
    return left > 0;
}

/* The same as sort_narrow(), of few keys by their highest bits first. */
static struct narrow *sort_keys(struct narrow *x, struct narrow *other,
                                int64_t n, int bits)
{
    struct narrow *sorted;

    if (n > FEW || bits <= FEW_BITS)
        return sort_narrow(x, other, n, bits);
    sorted = sort_few(x, other, n, FEW_BITS, bits - FEW_BITS);
    if (!sorted || order_few(sorted, n))
        return sorted;
    return sort_narrow(sorted, sorted == x ? other : x, n, bits);
}

static bool falling_narrow(struct narrow *x, struct narrow *other, int64_t n,
                           int64_t count, int64_t *index)
{
    struct key_range r = {.x = &x->both};
    const struct narrow *sorted;
    int bits;

    if (n == 0)
        return true;
    find_range(&r, 0, n);
    bits = bits_of((r.most >> 32) - (r.least >> 32));
    if (bits < bits_of(r.most >> 32))
        for (int64_t i = 0; i < n; i++)
            x[i].both -= r.least >> 32 << 32;
    sorted = sort_keys(x, other, n, bits);
    if (sorted)
        places_narrow(sorted, count, index);
    return sorted != NULL;
}

/* ---- Keys of 64 bits ----------------------------------------------------- */

/* Most are told apart by the highest 32 bits of how far they are from the least
 * one, and those are half as many passes over half as much memory.  The few
 * that are not are put in order then. */

#define MOVES_MAX 4 /* a number, on the average */

/* Puts in order what is alike in 32 bits; false: too much is. */
static bool order_alike(const uint64_t *x, struct narrow *v, int64_t n)
{
    int64_t left = MOVES_MAX * n;

    for (int64_t i = 1; i < n && left > 0; i++) {
        const struct narrow moved = v[i];
        int64_t to = i;

        for (; to > 0 && narrow_key(&v[to - 1]) == narrow_key(&moved) &&
               x[narrow_place(&v[to - 1])] > x[narrow_place(&moved)];
             to--)
            v[to] = v[to - 1];
        v[to] = moved;
        left -= i - to;
    }
    return left > 0;
}

struct highest {
    const uint64_t *x;
    uint64_t least;
    int below; /* bits that are not taken */
    struct narrow *to;
};

TFD_SIMD_LOOP(take_highest)
{
    const struct highest *h = arg;
    const uint64_t *x = h->x, least = h->least;
    const int below = h->below;
    struct narrow *to = h->to;

    for (int64_t i = begin; i < end; i++)
        to[i].both = (x[i] - least) >> below << 32 | (uint32_t)i;
}
TFD_SIMD_CLONES_WIDE(take_highest)

/* By the highest `most` of so many bits first.  NULL: too much is alike in
 * those. */
static const struct narrow *sort_highest(const struct key_range *r,
                                         struct narrow *some, int64_t n,
                                         int most)
{
    const int bits = bits_of(r->most - r->least);
    struct highest h = {r->x, r->least, bits > most ? bits - most : 0, some};
    struct narrow *sorted;

    take_highest(&h, 0, n);
    sorted = sort_narrow(some, some + n, n, bits - h.below);
    return sorted && (h.below == 0 || order_alike(r->x, sorted, n)) ? sorted
                                                                    : NULL;
}

/* By all bits; the keys lie where what is sorted begins. */
static bool sort_all(void *scratch, int64_t n, int64_t count, int64_t *index)
{
    const uint64_t *keys = scratch;
    struct wide *x = scratch;
    const struct wide *all;

    for (int64_t i = n - 1; i >= 0; i--) {
        const uint64_t key = keys[i];

        x[i] = (struct wide){key, (uint64_t)i};
    }
    all = passes_wide(x, x + n, n, 6, 0);
    if (all)
        places_wide(all, count, index);
    return all != NULL;
}

/* Three times as much memory lies behind the n keys. */
static bool falling_wide(uint64_t *x, int64_t n, int64_t count, int64_t *index)
{
    struct narrow *some = (struct narrow *)(x + n);
    struct key_range r = {.x = x};
    const struct narrow *sorted = NULL;

    if (n == 0)
        return true;
    find_range(&r, 0, n);
    if (n <= FEW)
        sorted = sort_highest(&r, some, n, FEW_BITS);
    if (!sorted)
        sorted = sort_highest(&r, some, n, 32);
    if (!sorted)
        return !tfd_halted() && sort_all(x, n, count, index);
    places_narrow(sorted, count, index);
    return true;
}

/* ---- Public -------------------------------------------------------------- */

size_t tfd_radix_scratch(enum tfd_dtype dtype, int64_t n)
{
    size_t each =
        types[dtype].wide ? sizeof(struct wide) : sizeof(struct narrow);

    assert(n >= 0 && n <= TFD_RADIX_MAX);
    return 2 * each * (size_t)n;
}

bool tfd_radix_falling(enum tfd_dtype dtype, const void *x, int64_t n,
                       int64_t count, int64_t *index, void *scratch)
{
    assert(count <= n && n <= TFD_RADIX_MAX);
    if (!types[dtype].keys || !types[dtype].keys(x, n, scratch))
        return false;
    return types[dtype].wide
               ? falling_wide(scratch, n, count, index)
               : falling_narrow(scratch, (struct narrow *)scratch + n, n, count,
                                index);
}
