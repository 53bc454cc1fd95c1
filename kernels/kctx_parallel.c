/*
 * kctx_parallel.c - loops of kernels, shared among the compute threads.
 *
 * A file of its own, so that a test which splits ranges in its own way needs
 * neither threads nor a runtime.
 */
#include "kernels/runtime.h"

#include "common/pool.h"

#define INLINE_NS 20000 /* below, waking a thread costs more than it saves */
#define PIECE_NS 10000

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    if (n <= 0)
        return;
    if (cost < 1)
        cost = 1;
    if (!k->rt || n <= INLINE_NS / cost)
        fn(arg, 0, n);
    else
        tfd_pool_parallel(tfd_rt_pool(k->rt), n, PIECE_NS / cost + 1, fn, arg);
}
