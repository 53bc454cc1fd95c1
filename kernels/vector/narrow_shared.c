/* narrow_shared.c - halves as floats, on all compute threads; see narrow.h. */
#include "kernels/vector/narrow.h"

#include "kernels/core/kernel.h"

struct conversion {
    enum tfd_dtype dtype; /* the narrow one */
    const void *in;
    void *out;
};

/* Of an element and its float. */
static const int BYTES = (int)(sizeof(uint16_t) + sizeof(float));

static void widen_range(void *arg, int64_t begin, int64_t end)
{
    const struct conversion *c = arg;

    tfd_narrow_widen(c->dtype, (const uint16_t *)c->in + begin,
                     (float *)c->out + begin, end - begin);
}

static void round_range(void *arg, int64_t begin, int64_t end)
{
    const struct conversion *c = arg;

    tfd_narrow_round(c->dtype, (const float *)c->in + begin,
                     (uint16_t *)c->out + begin, end - begin);
}

void tfd_narrow_widen_shared(struct tfd_kctx *k, enum tfd_dtype t,
                             const void *in, float *out, int64_t n)
{
    struct conversion c = {t, in, out};

    tfd_kctx_parallel_bytes(k, n, BYTES, widen_range, &c);
}

void tfd_narrow_round_shared(struct tfd_kctx *k, enum tfd_dtype t,
                             const float *in, void *out, int64_t n)
{
    struct conversion c = {t, in, out};

    tfd_kctx_parallel_bytes(k, n, BYTES, round_range, &c);
}
