/*
 * fingerprint.c - see fingerprint.h.
 *
 * The definition is that of FarmHash (Geoff Pike, 2014), where Fingerprint64 is
 * the hash "na" of 64 bits: one mixture for each range of lengths, and above 64
 * bytes a state of 56 bytes through which blocks of 64 go.  Words are little
 * endian.
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
