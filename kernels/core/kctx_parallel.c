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
 *
 * A loop that goes through its memory from the beginning, after another one
 * did, finds nothing of it in a cache which is a little too small for all: what
 * it asks for next is what was thrown out last.  So large loops go to and fro,
 * and each begins with what the one before has left.
 */
#include "kernels/core/runtime.h"

#include "common/base/clock.h"
#include "common/thread/cost.h"
#include "common/thread/pool.h"

/* Below, handing over costs more than it saves. */
#define INLINE_PS (INT64_C(4000) * TFD_COST_HOP_NS)
#define PIECE_PS (INT64_C(2000) * TFD_COST_HOP_NS)

/* Below, nobody helps with a loop over large operands even where many follow
 * each other: with two threads 768 KB take up to 1.2 times as long, 1 MB
 * 0.6, 1.5 MB 0.55 to 0.95 (Zen 5). */
#define HALVES_PS (INT64_C(2000) * TFD_COST_HOP_NS)
/* So many in a row, each so soon after the last one, are worth waking somebody
 * who is awake for the next ones then. */
#define IN_A_ROW 4
#define SOON_NS 50000
/* Where nobody came so often, the others have better things to do for a while.
 */
#define VAIN_MAX 4
#define REST_NS 1000000

#define NEAR_SIZE (1 << 20) /* half of such a cache, or all of a small one */

/* Bytes over which a loop turns: less stays in such a cache anyway, unless
 * the memory happens to lie so that some of its sets get too much, and of more
 * it keeps too little.  Adding 64,000 floats (768 KB) takes 0.85 times as long
 * so where it lies badly, and the same time elsewhere; 64,000 doubles (1.5 MB)
 * 0.8, 500,000 floats (6 MB) 0.96, 4,000,000 1.1 (Zen 5). */
#define TURN_SIZE (500 << 10)
#define TURN_SIZE_MAX (6 << 20)
#define TURN_BLOCK (200 << 10)
#define TURN_ALIGNED 64 /* elements, as in the pool */

static void share_out(struct tfd_pool *pool, int64_t n, int64_t grain,
                      bool back, tfd_range_fn *fn, void *arg)
{
    if (back)
        tfd_pool_parallel_back(pool, n, grain, fn, arg);
    else
        tfd_pool_parallel(pool, n, grain, fn, arg);
}

static void share(struct tfd_kctx *k, int64_t n, int64_t ps, bool back,
                  tfd_range_fn *fn, void *arg)
{
    if (!k->rt || n <= INLINE_PS / ps)
        fn(arg, 0, n);
    else
        share_out(tfd_rt_pool(k->rt), n, PIECE_PS / ps + 1, back, fn, arg);
}

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    if (n > 0)
        share(k, n, (int64_t)(cost < 1 ? 1 : cost) * 1000, false, fn, arg);
}

static int64_t bytes_ps(int64_t n, int64_t size)
{
    return size * (n <= NEAR_SIZE / size ? TFD_COST_COPY_NEAR_PS
                                         : TFD_COST_COPY_FAR_PS);
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    if (n > 0)
        share(k, n, bytes_ps(n, bytes < 1 ? 1 : bytes), false, fn, arg);
}

/* ---- To and fro ---------------------------------------------------------- */

struct back {
    tfd_range_fn *fn;
    void *arg;
    int64_t block; /* elements */
};

/* The blocks of [begin, end), the last one first. */
static void run_back(void *arg, int64_t begin, int64_t end)
{
    const struct back *b = arg;

    while (begin < end) {
        const int64_t at = begin + (end - begin - 1) / b->block * b->block;

        b->fn(b->arg, at, end);
        end = at;
    }
}

/* Of loops that are shared in halves: the clock at the last one, how many
 * there were in a row, how often nobody came, and until when nobody is asked.
 */
static _Thread_local struct {
    int64_t last_ns, rest_until_ns;
    int row, vain;
} halves;

static bool is_in_a_row(int64_t now)
{
    if (now - halves.last_ns > SOON_NS)
        halves.row = 0;
    else if (halves.row < IN_A_ROW)
        halves.row++;
    halves.last_ns = now;
    return halves.row == IN_A_ROW && now >= halves.rest_until_ns;
}

/* Whole vectors, so that the same elements are in one, and the same are left
 * over at the end, whether the loop is cut or not. */
static int64_t half_of(int64_t n)
{
    const int64_t half = n - n / 2;

    return half <= TURN_ALIGNED
               ? half
               : (half + TURN_ALIGNED - 1) / TURN_ALIGNED * TURN_ALIGNED;
}

static void run_halves(struct tfd_pool *pool, int64_t n, bool back,
                       tfd_range_fn *fn, void *arg)
{
    const int64_t now = (int64_t)tfd_clock_now_ns();

    if (!is_in_a_row(now)) {
        fn(arg, 0, n);
        return;
    }
    share_out(pool, n, half_of(n), back, fn, arg);
    halves.vain = tfd_pool_had_help() ? 0 : halves.vain + 1;
    if (halves.vain < VAIN_MAX)
        return;
    halves.vain = 0;
    halves.rest_until_ns = now + REST_NS;
}

/* What is done to each element does not depend on how the loop is cut. */
static void share_stream(struct tfd_kctx *k, int64_t n, int64_t ps, bool back,
                         tfd_range_fn *fn, void *arg)
{
    if (n < 2 || n > INLINE_PS / ps || n <= HALVES_PS / ps ||
        tfd_kctx_threads(k) < 2)
        share(k, n, ps, back, fn, arg);
    else
        run_halves(tfd_rt_pool(k->rt), n, back, fn, arg);
}

static void share_back(struct tfd_kctx *k, int64_t n, int64_t ps, int64_t size,
                       tfd_range_fn *fn, void *arg)
{
    struct back b = {fn, arg, size < TURN_BLOCK ? TURN_BLOCK / size : 1};

    if (b.block > TURN_ALIGNED)
        b.block -= b.block % TURN_ALIGNED;
    share_stream(k, n, ps, true, run_back, &b);
}

void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg)
{
    static _Thread_local bool at_end; /* where the last such loop ended */
    const int64_t held = s->held < 1 ? 1 : s->held;
    const int64_t ps = s->cost > 0 ? (int64_t)s->cost * 1000
                                   : bytes_ps(n, s->moved < 1 ? 1 : s->moved);

    if (n <= 0)
        return;
    if (n > TURN_SIZE / held && n <= TURN_SIZE_MAX / held) {
        at_end = !at_end;
        if (!at_end) {
            share_back(k, n, ps, held, fn, arg);
            return;
        }
    }
    share_stream(k, n, ps, false, fn, arg);
}
