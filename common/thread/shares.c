/* shares.c - see shares.h. */
#include "common/thread/shares.h"

#include "common/base/atomic.h"

static uint64_t packed(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static uint32_t low_of(uint64_t left)
{
    return (uint32_t)left;
}

static uint32_t high_of(uint64_t left)
{
    return (uint32_t)(left >> 32);
}

static int share_of(const struct tfd_shares *s, int index)
{
    return index >= 0 && index < s->threads
               ? (int)((int64_t)index * s->count / s->threads)
               : 0;
}

void tfd_shares_init(struct tfd_shares *s, int64_t piece_count, int threads,
                     int host, bool back)
{
    int64_t begin = 0;

    s->threads = threads < 1 ? 1 : threads;
    s->count = s->threads < TFD_SHARES_MAX ? s->threads : TFD_SHARES_MAX;
    if (s->count > piece_count)
        s->count = (int)piece_count;
    s->host = share_of(s, host);
    s->piece_count = piece_count;
    s->back = back;
    for (int i = 0; i < s->count; i++) {
        const int64_t end = piece_count * (i + 1) / s->count;

        s->share[i].left = packed((uint32_t)begin, (uint32_t)end);
        begin = end;
    }
}

void tfd_shares_init_alone(struct tfd_shares *s, int64_t piece_count, bool back)
{
    tfd_shares_init(s, piece_count, 1, 0, back);
}

struct tfd_shares_place tfd_shares_host(const struct tfd_shares *s)
{
    return (struct tfd_shares_place){.own = s->host};
}

struct tfd_shares_place tfd_shares_guest(const struct tfd_shares *s, int index)
{
    struct tfd_shares_place p = {.own = share_of(s, index)};

    if (p.own == s->host)
        p.own = (p.own + 1) % s->count;
    p.guest = p.own == s->host;
    return p;
}

/* The first piece of a share, or its last one; -1: it has none. */
static int64_t take_of(struct tfd_share *share, bool last)
{
    uint64_t left = TFD_LOAD_RELAXED(&share->left);

    while (low_of(left) < high_of(left)) {
        const uint32_t low = low_of(left), high = high_of(left);
        const uint64_t rest =
            last ? packed(low, high - 1) : packed(low + 1, high);

        if (TFD_COMPARE_EXCHANGE(&share->left, &left, rest))
            return last ? high - 1 : low;
    }
    return -1;
}

int64_t tfd_shares_take(struct tfd_shares *s, struct tfd_shares_place *p)
{
    for (; p->empty < s->count; p->empty++) {
        const bool others = p->empty > 0 || p->guest;
        const int of = (p->own + p->empty) % s->count;
        const int64_t piece = take_of(&s->share[of], others != s->back);

        if (piece >= 0)
            return piece;
    }
    return -1;
}

int64_t tfd_shares_left(const struct tfd_shares *s)
{
    int64_t left = 0;

    for (int i = 0; i < s->count; i++) {
        const uint64_t of = TFD_LOAD_RELAXED(&s->share[i].left);

        left += high_of(of) - low_of(of);
    }
    return left;
}
