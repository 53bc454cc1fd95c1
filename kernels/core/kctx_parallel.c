/*
 * kctx_parallel.c - loops of kernels, shared among the compute threads.
 *
 * A file of its own, so that a test which splits ranges in its own way needs
 * neither threads nor a runtime.
 *
 * How long a loop takes is known in two ways: by the time of an element, or,
 * where arithmetic is cheaper than memory, by the bytes that it moves.  These
 * cost little while all of them fit into a core's own cache, as they do when
 * one small op follows another, and several times as much when they come from
 * further away.
 */
#include "kernels/core/runtime.h"

#include "common/thread/cost.h"
#include "common/thread/pool.h"

/* Below, handing over costs more than it saves. */
#define INLINE_PS (INT64_C(4000) * TFD_COST_HOP_NS)
#define PIECE_PS (INT64_C(2000) * TFD_COST_HOP_NS)

#define NEAR_SIZE (1 << 20) /* half of such a cache, or all of a small one */

static void share(struct tfd_kctx *k, int64_t n, int64_t ps, tfd_range_fn *fn,
                  void *arg)
{
    if (!k->rt || n <= INLINE_PS / ps)
        fn(arg, 0, n);
    else
        tfd_pool_parallel(tfd_rt_pool(k->rt), n, PIECE_PS / ps + 1, fn, arg);
}

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    if (n > 0)
        share(k, n, (int64_t)(cost < 1 ? 1 : cost) * 1000, fn, arg);
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    int64_t size = bytes < 1 ? 1 : bytes;

    if (n > 0)
        share(k, n,
              size * (n <= NEAR_SIZE / size ? TFD_COST_COPY_NEAR_PS
                                            : TFD_COST_COPY_FAR_PS),
              fn, arg);
}
