/*
 * kctx_try.c - loops that may fail, shared among the compute threads.
 */
#include "kernels/core/kernel.h"

#include "common/base/atomic.h"
#include "common/thread/halt.h"

struct tried {
    tfd_try_fn *fn;
    void *arg;
    struct tfd_status *st;
    int failed; /* who sets it writes *st and the code */
    enum tfd_code code;
};

static void try_range(void *arg, int64_t begin, int64_t end)
{
    struct tried *t = arg;
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_code code;

    if (tfd_halted())
        return;
    code = t->fn(t->arg, begin, end, &st);
    if (code == TFD_OK || TFD_EXCHANGE(&t->failed, 1))
        return;
    t->code = code;
    if (t->st)
        *t->st = st;
}

enum tfd_code tfd_kctx_try(struct tfd_kctx *k, int64_t n, int cost,
                           tfd_try_fn *fn, void *arg, struct tfd_status *st)
{
    struct tried t = {fn, arg, st, 0, TFD_OK};

    tfd_kctx_parallel(k, n, cost, try_range, &t);
    return t.code;
}
