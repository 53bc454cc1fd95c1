/*
 * hash.c - see hash.h.
 *
 * SipHash keeps four words of state.  Each word of the input is xored into one
 * of them, mixed in, and xored into another; the last word holds the bytes
 * that are left and the size of all, so that inputs which differ only in zeros
 * at their end differ here as well.
 */
#include "common/base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#define WORD_ROUNDS 1
#define END_ROUNDS 3

/* ---- SipHash ------------------------------------------------------------- */

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void mix_state(struct sip *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate_left(s->v1, 13) ^ s->v0;
        s->v3 = rotate_left(s->v3, 16) ^ s->v2;
        s->v0 = rotate_left(s->v0, 32) + s->v3;
        s->v2 += s->v1;
        s->v1 = rotate_left(s->v1, 17) ^ s->v2;
        s->v3 = rotate_left(s->v3, 21) ^ s->v0;
        s->v2 = rotate_left(s->v2, 32);
    }
}

/* Bytes as a little endian number. */
static inline uint64_t load_bytes(const char *bytes, size_t size)
{
    uint64_t word = 0;

    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)(uint8_t)bytes[i] << 8 * i;
    return word;
}

/* The last `left` bytes, fewer than 8, of `size`: in loads that overlap, as a
 * loop over the bytes is slower than all rounds. */
static inline uint64_t load_tail(const char *bytes, size_t size, size_t left)
{
    const char *at;

    if (left == 0)
        return 0;
    at = bytes + size - left;
    if (size >= 8)
        return load_bytes(bytes + size - 8, 8) >> 8 * (8 - left);
    if (left >= 4)
        return load_bytes(at, 4) | load_bytes(at + left - 4, 4)
                                       << 8 * (left - 4);
    return load_bytes(at, 1) | load_bytes(at + left / 2, 1) << 8 * (left / 2) |
           load_bytes(at + left - 1, 1) << 8 * (left - 1);
}

static inline void take_word(struct sip *s, uint64_t word, int rounds)
{
    s->v3 ^= word;
    mix_state(s, rounds);
    s->v0 ^= word;
}

/* Inlined where the numbers of rounds are constants. */
static inline uint64_t sip(const struct tfd_hash_key *key, struct tfd_str bytes,
                           int word_rounds, int end_rounds)
{
    /* The constants spell "somepseudorandomlygeneratedbytes". */
    struct sip s = {
        key->low ^ 0x736f6d6570736575u, key->high ^ 0x646f72616e646f6du,
        key->low ^ 0x6c7967656e657261u, key->high ^ 0x7465646279746573u};
    const size_t left = bytes.size % 8;

    for (size_t at = 0; at + 8 <= bytes.size; at += 8)
        take_word(&s, load_bytes(bytes.data + at, 8), word_rounds);
    take_word(&s,
              (uint64_t)bytes.size << 56 |
                  load_tail(bytes.data, bytes.size, left),
              word_rounds);
    s.v2 ^= 0xff;
    mix_state(&s, end_rounds);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t tfd_hash_sip(const struct tfd_hash_key *key, struct tfd_str bytes,
                      int word_rounds, int end_rounds)
{
    return sip(key, bytes, word_rounds, end_rounds);
}

/* ---- The process's key --------------------------------------------------- */

static struct tfd_hash_key process_key;
static pthread_once_t drawn = PTHREAD_ONCE_INIT;

/* Early in a machine's life the kernel may have no random bytes to give yet;
 * it always lays 16 beside a program that it starts. */
static void draw_key(void)
{
    struct tfd_hash_key key;
    const void *beside;

    if (getrandom(&key, sizeof(key), GRND_NONBLOCK) == sizeof(key)) {
        process_key = key;
        return;
    }
    beside = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (beside)
        memcpy(&key, beside, sizeof(key));
    else
        key = (struct tfd_hash_key){(uintptr_t)&key, (uintptr_t)draw_key};
    /* glibc makes its stack guard of the same bytes: they are not used bare. */
    process_key.low = sip(&key, TFD_STR("low"), 2, 4);
    process_key.high = sip(&key, TFD_STR("high"), 2, 4);
}

const struct tfd_hash_key *tfd_hash_key(void)
{
    pthread_once(&drawn, draw_key);
    return &process_key;
}

uint64_t tfd_hash_str(struct tfd_str bytes)
{
    return sip(tfd_hash_key(), bytes, WORD_ROUNDS, END_ROUNDS);
}

uint64_t tfd_hash_number(uint64_t number)
{
    return tfd_hash_mix(tfd_hash_key(), number);
}
