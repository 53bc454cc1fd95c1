/*
 * fingerprint.c - see fingerprint.h.
 *
 * The definition is that of FarmHash (Geoff Pike, 2014), where Fingerprint64 is
 * the hash "na" of 64 bits: one mixture for each range of lengths, and above 64
 * bytes a state of 56 bytes through which blocks of 64 go.  Fingerprint128 is
 * CityHash128 of the same parts.  Words are little endian.
 */
#include "kernels/text/fingerprint.h"

#include <string.h>

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)
#define BLOCK 64
#define SEED UINT64_C(81)

static uint64_t word(const char *s)
{
    uint64_t w;

    memcpy(&w, s, sizeof(w));
    return w;
}

static uint64_t half_word(const char *s)
{
    uint32_t w;

    memcpy(&w, s, sizeof(w));
    return w;
}

static uint64_t rotate(uint64_t w, int by)
{
    return w >> by | w << (64 - by);
}

static uint64_t fold(uint64_t w)
{
    return w ^ w >> 47;
}

static uint64_t mix(uint64_t u, uint64_t v, uint64_t mul)
{
    uint64_t a = fold((u ^ v) * mul);

    return fold((v ^ a) * mul) * mul;
}

/* ---- Short ones ---------------------------------------------------------- */

static uint64_t up_to_16(const char *s, size_t n)
{
    uint64_t mul = K2 + 2 * n, a, b;

    if (n >= 8) {
        a = word(s) + K2;
        b = word(s + n - 8);
        return mix(rotate(b, 37) * mul + a, (rotate(a, 25) + b) * mul, mul);
    }
    if (n >= 4)
        return mix(n + (half_word(s) << 3), half_word(s + n - 4), mul);
    if (n == 0)
        return K2;
    a = (uint8_t)s[0] + ((uint64_t)(uint8_t)s[n / 2] << 8);
    b = n + ((uint64_t)(uint8_t)s[n - 1] << 2);
    return fold(a * K2 ^ b * K0) * K2;
}

static uint64_t up_to_32(const char *s, size_t n)
{
    uint64_t mul = K2 + 2 * n;
    uint64_t a = word(s) * K1, b = word(s + 8);
    uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * K2;

    return mix(rotate(a + b, 43) + rotate(c, 30) + d,
               a + rotate(b + K2, 18) + c, mul);
}

static uint64_t up_to_64(const char *s, size_t n)
{
    uint64_t mul = K2 + 2 * n;
    uint64_t a = word(s) * K2, b = word(s + 8);
    uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * K2;
    uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
    uint64_t z = mix(y, a + rotate(b + K2, 18) + c, mul);
    uint64_t e = word(s + 16) * mul, f = word(s + 24);
    uint64_t g = (y + word(s + n - 32)) * mul;
    uint64_t h = (z + word(s + n - 24)) * mul;

    return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g,
               mul);
}

/* ---- Long ones ----------------------------------------------------------- */

struct pair {
    uint64_t first, second;
};

struct state {
    uint64_t x, y, z;
    struct pair v, w;
};

static struct pair weak(const char *s, uint64_t a, uint64_t b)
{
    uint64_t start;

    a += word(s);
    b = rotate(b + a + word(s + 24), 21);
    start = a;
    a += word(s + 8);
    a += word(s + 16);
    b += rotate(a, 44);
    return (struct pair){a + word(s + 24), b + start};
}

/* A block of 64 bytes; the last one has other factors. */
static void take_block(struct state *t, const char *s, uint64_t mul,
                       uint64_t nine)
{
    uint64_t x;

    t->x = rotate(t->x + t->y + t->v.first + word(s + 8), 37) * mul;
    t->y = rotate(t->y + t->v.second + word(s + 48), 42) * mul;
    t->x ^= t->w.second * nine;
    t->y += t->v.first * nine + word(s + 40);
    t->z = rotate(t->z + t->w.first, 33) * mul;
    t->v = weak(s, t->v.second * mul, t->x + t->w.first);
    t->w = weak(s + 32, t->z + t->w.second, t->y + word(s + 16));
    x = t->x;
    t->x = t->z;
    t->z = x;
}

static uint64_t over_64(const char *s, size_t n)
{
    size_t tail = (n - 1) % BLOCK, blocks = (n - 1) / BLOCK;
    struct state t = {.x = SEED * K2 + word(s), .y = SEED * K1 + 113};
    uint64_t mul;

    t.z = fold(t.y * K2 + 113) * K2;
    for (size_t i = 0; i < blocks; i++)
        take_block(&t, s + i * BLOCK, K1, 1);
    mul = K1 + ((t.z & 0xff) << 1);
    t.w.first += tail;
    t.v.first += t.w.first;
    t.w.first += t.v.first;
    take_block(&t, s + n - BLOCK, mul, 9);
    return mix(mix(t.v.first, t.w.first, mul) + fold(t.y) * K0 + t.z,
               mix(t.v.second, t.w.second, mul) + t.x, mul);
}

uint64_t tfd_fingerprint_of(struct tfd_str bytes)
{
    if (bytes.size <= 16)
        return up_to_16(bytes.data, bytes.size);
    if (bytes.size <= 32)
        return up_to_32(bytes.data, bytes.size);
    if (bytes.size <= 64)
        return up_to_64(bytes.data, bytes.size);
    return over_64(bytes.data, bytes.size);
}

/* ---- Of 128 bits --------------------------------------------------------- */

#define LONG_BLOCK (2 * BLOCK)
#define TAIL_BLOCK 32

static uint64_t mix_long(uint64_t u, uint64_t v)
{
    return mix(u, v, UINT64_C(0x9ddfea08eb382d69));
}

static void long_of_short(const char *s, size_t n, struct pair seed,
                          uint64_t out[2])
{
    uint64_t a = seed.first, b = seed.second, c, d;

    if (n <= 16) {
        a = fold(a * K1) * K1;
        c = b * K1 + up_to_16(s, n);
        d = fold(a + (n >= 8 ? word(s) : c));
    } else {
        c = mix_long(word(s + n - 8) + K1, a);
        d = mix_long(b + n, c + word(s + n - 16));
        a += d;
        for (size_t at = 0; at + 16 < n; at += 16) {
            a = (a ^ fold(word(s + at) * K1) * K1) * K1;
            b ^= a;
            c = (c ^ fold(word(s + at + 8) * K1) * K1) * K1;
            d ^= c;
        }
    }
    a = mix_long(a, c);
    b = mix_long(d, b);
    out[0] = a ^ b;
    out[1] = mix_long(b, a);
}

/* What is left is read by blocks from its end, the first of which may begin
 * before it. */
static void take_tail(struct state *t, const char *s, size_t left)
{
    for (size_t done = 0; done < left;) {
        const char *at;

        done += TAIL_BLOCK;
        at = s + left - done;
        t->y = rotate(t->x + t->y, 42) * K0 + t->v.second;
        t->w.first += word(at + 16);
        t->x = t->x * K0 + t->w.first;
        t->z += t->w.second + word(at);
        t->w.second += t->v.first;
        t->v = weak(at, t->v.first + t->z, t->v.second);
        t->v.first *= K0;
    }
}

static void long_of_long(const char *s, size_t n, struct pair seed,
                         uint64_t out[2])
{
    struct state t = {.x = seed.first, .y = seed.second, .z = n * K1};

    t.v.first = rotate(t.y ^ K1, 49) * K1 + word(s);
    t.v.second = rotate(t.v.first, 42) * K1 + word(s + 8);
    t.w.first = rotate(t.y + t.z, 35) * K1 + t.x;
    t.w.second = rotate(t.x + word(s + 88), 53) * K1;
    for (; n >= LONG_BLOCK; n -= LONG_BLOCK, s += LONG_BLOCK) {
        take_block(&t, s, K1, 1);
        take_block(&t, s + BLOCK, K1, 1);
    }
    t.x += rotate(t.v.first + t.z, 49) * K0;
    t.y = t.y * K0 + rotate(t.w.second, 37);
    t.z = t.z * K0 + rotate(t.w.first, 27);
    t.w.first *= 9;
    t.v.first *= K0;
    take_tail(&t, s, n);
    t.x = mix_long(t.x, t.v.first);
    t.y = mix_long(t.y + t.z, t.w.first);
    out[0] = mix_long(t.x + t.v.second, t.w.second) + t.y;
    out[1] = mix_long(t.x + t.w.second, t.y + t.v.second);
}

void tfd_fingerprint_long(struct tfd_str bytes, uint64_t out[2])
{
    struct pair seed = {K0, K1};
    const char *s = bytes.data;
    size_t n = bytes.size;

    if (n >= 16) {
        seed = (struct pair){word(s), word(s + 8) + K0};
        s += 16;
        n -= 16;
    }
    if (n < LONG_BLOCK)
        long_of_short(s, n, seed, out);
    else
        long_of_long(s, n, seed, out);
}
