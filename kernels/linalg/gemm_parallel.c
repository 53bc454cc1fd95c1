/*
 * gemm_parallel.c - one product on all compute threads.
 *
 * Large products are cut into one piece of C per thread, along its longer side,
 * so that each piece packs its own part of one matrix and all of the other;
 * huge ones into more, so that nobody computes for long what nobody wants any
 * more (common/thread/halt.h).
 */
#include "kernels/linalg/gemm.h"

#include "common/thread/halt.h"
#include "kernels/core/runtime.h"

/* Of one core, to know when cutting pays. */
#define FLOPS_PER_NS 40
/* 100 microseconds; packing is repeated for each piece. */
#define PIECE_FLOPS 4.0e6
/* 100 milliseconds, beside which packing again is nothing. */
#define LARGE_FLOPS 4.0e9

struct pieces {
    struct tfd_gemm whole;
    bool by_rows;
    int64_t size; /* rows or columns in a piece */
};

static size_t offset(const struct tfd_gemm *g, int64_t row, int64_t column,
                     int64_t ld)
{
    return (size_t)(row * ld + column) * tfd_dtype_size(g->dtype);
}

static struct tfd_gemm piece_of(const struct pieces *p, int64_t i)
{
    struct tfd_gemm g = p->whole;
    int64_t first = i * p->size;

    if (p->by_rows) {
        g.m = g.m - first < p->size ? g.m - first : p->size;
        g.a = (const char *)g.a + (g.transpose_a ? offset(&g, 0, first, g.lda)
                                                 : offset(&g, first, 0, g.lda));
        g.c = (char *)g.c + offset(&g, first, 0, g.ldc);
    } else {
        g.n = g.n - first < p->size ? g.n - first : p->size;
        g.b = (const char *)g.b + (g.transpose_b ? offset(&g, first, 0, g.ldb)
                                                 : offset(&g, 0, first, g.ldb));
        g.c = (char *)g.c + offset(&g, 0, first, g.ldc);
    }
    return g;
}

static void multiply_pieces(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        struct tfd_gemm g = piece_of(arg, i);

        tfd_gemm(&g);
    }
}

void tfd_gemm_parallel(struct tfd_kctx *k, const struct tfd_gemm *g)
{
    struct pieces p = {.whole = *g, .by_rows = g->m >= g->n};
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    int64_t threads = tfd_kctx_threads(k);
    int64_t side = p.by_rows ? g->m : g->n;
    int64_t count = (int64_t)(flops / PIECE_FLOPS);
    int64_t large = (int64_t)(flops / LARGE_FLOPS);
    int cost = (int)(PIECE_FLOPS / FLOPS_PER_NS);

    count = count < threads ? count : threads;
    count = count > large ? count : large;
    count = count < side ? count : side;
    if (count <= 1) {
        p.size = side;
        multiply_pieces(&p, 0, 1);
        return;
    }
    p.size = (side + count - 1) / count;
    count = (side + p.size - 1) / p.size;
    tfd_kctx_parallel(k, count, cost, multiply_pieces, &p);
}
