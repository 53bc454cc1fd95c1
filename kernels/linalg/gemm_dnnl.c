/*
 * gemm_dnnl.c - products of floats by oneDNN.
 */
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/dnnl.h"

static char letter(bool transpose)
{
    return transpose ? 'T' : 'N';
}

bool tfd_gemm_dnnl(const struct tfd_gemm *g)
{
    const struct tfd_dnnl *f = tfd_dnnl();
    struct tfd_dnnl_signals signals;
    bool done;

    if (!f)
        return false;
    tfd_dnnl_begin(&signals);
    done = f->sgemm(letter(g->transpose_a), letter(g->transpose_b), g->m, g->n,
                    g->k, 1, g->a, g->lda, g->b, g->ldb, g->add, g->c,
                    g->ldc) == 0;
    tfd_dnnl_end(&signals);
    return done;
}
