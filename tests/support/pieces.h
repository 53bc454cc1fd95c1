/*
 * pieces.h - threads that share a loop, as a test of the loop alone sees them:
 * pieces of a length that the test sets, the last one first, so that a piece
 * that counts on another shows.
 *
 * For programs of one file: it defines tfd_kctx_parallel() and its like.
 */
#ifndef TFD_TESTS_SUPPORT_PIECES_H
#define TFD_TESTS_SUPPORT_PIECES_H

#include "kernels/core/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t piece; /* elements or rows that a thread gets */

void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg)
{
    int64_t size = piece;

    (void)k;
    assert_true(cost > 0);
    for (int64_t end = n; end > 0; end -= size) {
        size = end % piece ? end % piece : piece;
        fn(arg, end - size, end);
    }
}

void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg)
{
    tfd_kctx_parallel(k, n, bytes, fn, arg);
}

void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg)
{
    tfd_kctx_parallel(k, n, s->cost > 0 ? s->cost : s->moved, fn, arg);
}

#endif
