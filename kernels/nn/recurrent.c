/*
 * recurrent.c - see recurrent.h.
 *
 * The matrix [x, h] that TensorFlow puts together is two products here, the
 * second added to the first.
 */
#include "kernels/nn/recurrent.h"

#include "kernels/linalg/gemm.h"

/* ---- Checks -------------------------------------------------------------- */

int64_t tfd_recurrent_dim(const struct tfd_kctx *k, int arg, int dim)
{
    const struct tfd_shape *s = &k->in[arg].shape;

    return dim < s->rank ? s->dim[dim] : 0;
}

enum tfd_code tfd_recurrent_sizes(int64_t *size, struct tfd_status *st)
{
    const int64_t most = INT64_MAX / 8;

    if (size[TFD_SIZE_CELL] > most || size[TFD_SIZE_INPUT] > most)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "A cell of %lld units with %lld inputs is too large",
                        (long long)size[TFD_SIZE_CELL],
                        (long long)size[TFD_SIZE_INPUT]);
    size[TFD_SIZE_ROWS] = size[TFD_SIZE_INPUT] + size[TFD_SIZE_CELL];
    size[TFD_SIZE_DOUBLE] = 2 * size[TFD_SIZE_CELL];
    size[TFD_SIZE_GATES] = 4 * size[TFD_SIZE_CELL];
    return TFD_OK;
}

enum tfd_code tfd_recurrent_check(const struct tfd_kctx *k,
                                  const struct tfd_recurrent_rule *rule,
                                  int count, const int64_t *size,
                                  struct tfd_status *st)
{
    for (int i = 0; i < count; i++) {
        const struct tfd_recurrent_rule *r = &rule[i];
        const struct tfd_shape *have = &k->in[r->arg].shape;

        if (r->rank >= 0) {
            if (have->rank != r->rank)
                return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s%d%s", r->text,
                                have->rank, r->end);
        } else if (tfd_recurrent_dim(k, r->arg, r->dim) != size[r->size]) {
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s: %lld vs. %lld",
                            r->text,
                            (long long)tfd_recurrent_dim(k, r->arg, r->dim),
                            (long long)size[r->size]);
        }
    }
    return TFD_OK;
}

/* ---- Products ------------------------------------------------------------ */

static void run_product(struct tfd_kctx *k, const struct tfd_gemm *g)
{
    if (k)
        tfd_gemm_parallel(k, g);
    else
        tfd_gemm(g);
}

void tfd_recurrent_forward(struct tfd_kctx *k,
                           const struct tfd_recurrent_product *p,
                           const float *x, const float *h, const float *w,
                           float *c)
{
    struct tfd_gemm g = {.dtype = TFD_FLOAT,
                         .m = p->batch,
                         .n = p->wide,
                         .k = p->input,
                         .a = x,
                         .b = w,
                         .c = c,
                         .lda = p->input,
                         .ldb = p->wide,
                         .ldc = p->wide};

    if (p->input > 0)
        run_product(k, &g);
    g.add = p->input > 0;
    g.k = g.lda = p->cell;
    g.a = h;
    g.b = w + p->input * p->wide;
    run_product(k, &g);
}

void tfd_recurrent_backward(struct tfd_kctx *k,
                            const struct tfd_recurrent_product *p,
                            const float *dc, const float *w, bool add,
                            float *dx, float *dh)
{
    struct tfd_gemm g = {.dtype = TFD_FLOAT,
                         .transpose_b = true,
                         .add = add,
                         .m = p->batch,
                         .n = p->input,
                         .k = p->wide,
                         .a = dc,
                         .b = w,
                         .c = dx,
                         .lda = p->wide,
                         .ldb = p->wide,
                         .ldc = p->input};

    if (p->input > 0)
        tfd_gemm_parallel(k, &g);
    g.add = false;
    g.n = g.ldc = p->cell;
    g.b = w + p->input * p->wide;
    g.c = dh;
    tfd_gemm_parallel(k, &g);
}

void tfd_recurrent_weights(struct tfd_kctx *k,
                           const struct tfd_recurrent_product *p,
                           const float *x, const float *h, const float *dc,
                           float *dw)
{
    struct tfd_gemm g = {.dtype = TFD_FLOAT,
                         .transpose_a = true,
                         .add = true,
                         .m = p->input,
                         .n = p->wide,
                         .k = p->batch,
                         .a = x,
                         .b = dc,
                         .c = dw,
                         .lda = p->input,
                         .ldb = p->wide,
                         .ldc = p->wide};

    if (p->input > 0)
        tfd_gemm_parallel(k, &g);
    g.m = g.lda = p->cell;
    g.a = h;
    g.c = dw + p->input * p->wide;
    tfd_gemm_parallel(k, &g);
}
