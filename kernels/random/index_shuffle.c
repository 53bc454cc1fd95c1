/*
 * index_shuffle.c - see index_shuffle.h.
 *
 *     a number   | left: W bits | right: W bits |     W: 8 to 32
 *     a round    one half is changed by the other and a key of the round
 */
#include "kernels/random/index_shuffle.h"

#include <assert.h>
#include <math.h>

#define BLOCK_BITS_MIN 16
#define BLOCK_BITS_MAX 64
#define KEY_CONSTANT UINT64_C(0xfffffffc)
#define KEY_SEQUENCE UINT64_C(0x7369f885192c0ef5)

struct cipher {
    int width; /* of a half, in bits */
    uint64_t mask;
    int rounds;
    uint64_t keys[TFD_INDEX_SHUFFLE_ROUNDS_MAX];
};

static uint64_t rotate_left(const struct cipher *c, uint64_t x, int by)
{
    return ((x << by) | (x >> (c->width - by))) & c->mask;
}

static uint64_t rotate_right(const struct cipher *c, uint64_t x, int by)
{
    return rotate_left(c, x, c->width - by);
}

static void make_keys(struct cipher *c, const uint32_t key[3])
{
    uint64_t z = KEY_SEQUENCE & c->mask;

    for (int i = 0; i < 3; i++)
        c->keys[i] = key[i] & c->mask;
    for (int i = 3; i < c->rounds; i++, z >>= 1)
        c->keys[i] = (KEY_CONSTANT & c->mask) ^ (z & 1) ^ c->keys[i - 3] ^
                     rotate_right(c, c->keys[i - 1], 3) ^
                     rotate_right(c, c->keys[i - 1], 4);
}

static uint64_t mix_half(const struct cipher *c, uint64_t x)
{
    return (rotate_left(c, x, 1) & rotate_left(c, x, 8)) ^ rotate_left(c, x, 2);
}

static uint64_t encrypt(const struct cipher *c, uint64_t value)
{
    uint64_t left = (value >> c->width) & c->mask, right = value & c->mask;

    for (int i = 0; i < c->rounds; i += 2) {
        left ^= mix_half(c, right) ^ c->keys[i];
        right ^= mix_half(c, left) ^ c->keys[i + 1];
    }
    return (left << c->width) | right;
}

/* An even number of bits, as TensorFlow counts them. */
static int block_bits(uint64_t largest)
{
    int bits = (int)ceil(log2((double)largest));

    bits += bits % 2;
    if (bits > BLOCK_BITS_MAX)
        return BLOCK_BITS_MAX;
    return bits < BLOCK_BITS_MIN ? BLOCK_BITS_MIN : bits;
}

uint64_t tfd_index_shuffle(uint64_t index, const uint32_t key[3],
                           uint64_t largest, int rounds)
{
    struct cipher c = {.rounds = rounds};

    assert(rounds >= 4);
    assert(rounds % 2 == 0);
    assert(rounds <= TFD_INDEX_SHUFFLE_ROUNDS_MAX);
    if (largest == 0)
        return 0;
    c.width = block_bits(largest) / 2;
    c.mask = (UINT64_C(1) << c.width) - 1;
    make_keys(&c, key);
    do
        index = encrypt(&c, index);
    while (index > largest);
    return index;
}
