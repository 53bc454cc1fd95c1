/*
 * hash.h - hash functions for tables whose keys come from outside.
 *
 * Whoever knows the hash function of a table can choose names that all fall on
 * one place of it, and each look-up then walks over all of them.  So the
 * function depends on a key of 128 random bits that is drawn once in each
 * process: hashes differ between processes and must never be written down,
 * sent, or decide an order that anybody sees.
 *
 * Bytes are hashed by SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012; one round a word and three at the end, as in the
 * tables of CPython and Rust), numbers by a product with the key.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_HASH_H
#define TFD_COMMON_HASH_H

#include "common/base/str.h"

struct tfd_hash_key {
    uint64_t low, high; /* the first and the last 8 bytes, little endian */
};

/* SipHash with so many rounds after each word of 8 bytes, and at the end. */
uint64_t tfd_hash_sip(const struct tfd_hash_key *key, struct tfd_str bytes,
                      int word_rounds, int end_rounds);

/* This process's key. */
const struct tfd_hash_key *tfd_hash_key(void);

/* Of names and other bytes; all 64 bits are good. */
uint64_t tfd_hash_str(struct tfd_str bytes);

/* Of a number; all 64 bits are good enough to choose a place by. */
static inline uint64_t tfd_hash_mix(const struct tfd_hash_key *key,
                                    uint64_t number)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)(number ^ key->low) * (key->high | 1);

    /* Each half of the product alone forgets some of the bits. */
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The same with this process's key. */
uint64_t tfd_hash_number(uint64_t number);

#endif
