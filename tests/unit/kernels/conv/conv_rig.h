/*
 * conv_rig.h - the runtime that convolutions need, as little of it as they do:
 * pools of threads, of which each test asks all.
 *
 * Who includes it defines FEW_THREADS first: so many share the images (or
 * volumes) of a batch; 8 are more than there are, and 0 are none.
 */
#ifndef TFD_TESTS_UNIT_CONV_RIG_H
#define TFD_TESTS_UNIT_CONV_RIG_H

#include "common/thread/pool.h"
#include "kernels/core/runtime.h"
#include "kernels/linalg/gemm.h"

#include <stdlib.h>

struct tfd_rt {
    struct tfd_pool *pool;
};

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    return rt->pool;
}

static const int threads[] = {FEW_THREADS, 8, 0};

static struct tfd_rt runtimes[3];

static int start(void **state)
{
    (void)state;
    tfd_gemm_init();
    for (size_t i = 0; i < TFD_COUNT(threads); i++)
        runtimes[i].pool = threads[i] ? tfd_pool_new(threads[i], NULL) : NULL;
    return !runtimes[0].pool || !runtimes[1].pool;
}

static int stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < TFD_COUNT(threads); i++)
        if (runtimes[i].pool)
            tfd_pool_free(runtimes[i].pool);
    return 0;
}

#endif
