/*
 * shape_long.c - the packed form of shape_long.h.
 */
#include "common/base/shape_long.h"

#include "common/base/atomic.h"

#include <string.h>

enum { BITS = 64 * TFD_RANK_MAX };

bool tfd_shape_long_made;

/* ---- Bits ---------------------------------------------------------------- */

struct bits {
    uint64_t word[TFD_RANK_MAX];
    int at; /* beyond BITS: more were put than fit */
};

static void put_bit(struct bits *b, int bit)
{
    if (bit && b->at < BITS)
        b->word[b->at / 64] |= UINT64_C(1) << b->at % 64;
    b->at++;
}

static int take_bits(struct bits *b)
{
    int bit = (int)(b->word[b->at / 64] >> b->at % 64 & 1);

    b->at++;
    return bit;
}

/* Elias gamma: as many zeros as bits follow the first one. */
static void put_gamma(struct bits *b, uint64_t n)
{
    int high = 63 - __builtin_clzll(n);

    for (int i = 0; i < high; i++)
        put_bit(b, 0);
    for (int i = high; i >= 0; i--)
        put_bit(b, (int)(n >> i & 1));
}

static uint64_t take_gamma(struct bits *b)
{
    uint64_t n = 1;
    int high = 0;

    while (!take_bits(b))
        high++;
    while (high-- > 0)
        n = n << 1 | (uint64_t)take_bits(b);
    return n;
}

/* ---- Dimensions ---------------------------------------------------------- */

static void put_dim(struct bits *b, int64_t dim)
{
    put_bit(b, dim != 1);
    if (dim == 1)
        return;
    put_bit(b, dim < 1);
    if (dim < 1)
        put_bit(b, dim == TFD_DIM_UNKNOWN);
    else
        put_gamma(b, (uint64_t)dim - 1);
}

static int64_t take_dim(struct bits *b)
{
    if (!take_bits(b))
        return 1;
    if (!take_bits(b))
        return (int64_t)take_gamma(b) + 1;
    return take_bits(b) ? TFD_DIM_UNKNOWN : 0;
}

enum tfd_code tfd_shape_pack(struct tfd_shape *out, const int64_t *dim,
                             int rank, struct tfd_status *st)
{
    struct bits b = {.at = 0};

    for (int i = 0; i < rank; i++)
        put_dim(&b, dim[i]);
    if (b.at > BITS)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "A shape of %d dimensions has more zero or unknown "
                        "ones than are supported",
                        rank);
    out->rank = rank;
    memcpy(out->dim, b.word, sizeof(b.word));
    TFD_STORE_RELAXED(&tfd_shape_long_made, true);
    return TFD_OK;
}

void tfd_shape_dims(const struct tfd_shape *s, int64_t *dim)
{
    struct bits b = {.at = 0};

    if (!tfd_shape_is_long(s)) {
        for (int i = 0; i < s->rank; i++)
            dim[i] = s->dim[i];
        return;
    }
    memcpy(b.word, s->dim, sizeof(b.word));
    for (int i = 0; i < s->rank; i++)
        dim[i] = take_dim(&b);
}
