/*
 * keyed_hash.c - see keyed_hash.h.
 *
 * SipHash as Aumasson and Bernstein define it (2012); MurmurHash64A as Austin
 * Appleby defines it (2008), with the seed that TensorFlow chose.  Words are
 * little endian.
 */
#include "kernels/text/keyed_hash.h"

#include <string.h>

#define MURMUR_SEED UINT64_C(0xdecafcaffe)
#define MURMUR_FACTOR UINT64_C(0xc6a4a7935bd1e995)

/* The first `size` bytes, of eight, of a word. */
static uint64_t word_of(const char *s, size_t size)
{
    uint64_t w = 0;

    memcpy(&w, s, size);
    return w;
}

static uint64_t rotate_left(uint64_t w, int by)
{
    return w << by | w >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
    }
}

static void sip_take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

uint64_t tfd_keyed_hash_sip(const uint64_t key[2], struct tfd_str bytes)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575),
                     key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261),
                     key[1] ^ UINT64_C(0x7465646279746573)};
    size_t whole = bytes.size & ~(size_t)7, tail = bytes.size & 7;

    for (size_t i = 0; i < whole; i += 8)
        sip_take(v, word_of(bytes.data + i, 8));
    sip_take(v, (tail ? word_of(bytes.data + whole, tail) : 0) |
                    (uint64_t)bytes.size << 56);
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t murmur_fold(uint64_t w)
{
    return w ^ w >> 47;
}

uint64_t tfd_keyed_hash_64(struct tfd_str bytes)
{
    uint64_t h = MURMUR_SEED ^ (uint64_t)bytes.size * MURMUR_FACTOR;
    size_t whole = bytes.size & ~(size_t)7, tail = bytes.size & 7;

    for (size_t i = 0; i < whole; i += 8) {
        uint64_t w = word_of(bytes.data + i, 8) * MURMUR_FACTOR;

        h = (h ^ murmur_fold(w) * MURMUR_FACTOR) * MURMUR_FACTOR;
    }
    if (tail)
        h = (h ^ word_of(bytes.data + whole, tail)) * MURMUR_FACTOR;
    return murmur_fold(murmur_fold(h) * MURMUR_FACTOR);
}
