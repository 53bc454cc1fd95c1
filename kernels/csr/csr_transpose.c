/*
 * csr_transpose.c - SparseMatrixTranspose: rows become columns, in each matrix
 * of a batch; of complex ones with `conjugate` the conjugates, too.
 *
 * Elements are counted by column, then put behind the others of theirs, row by
 * row, so that those of a new row are in order.
 */
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/check.h"
#include "kernels/csr/csr_flip.h"

#include <inttypes.h>

static enum tfd_code check_kind(const struct tfd_kctx *k,
                                const struct tfd_csr *m, struct tfd_status *st)
{
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(k->node, "type", &dtype, st));
    if (m->dtype == dtype)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "dtype of input is not equal to 'type': %s vs. %s",
                    tfd_dtype_name((int)m->dtype), tfd_dtype_name((int)dtype));
}

static enum tfd_code transpose_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_csr_parts p;
    struct tfd_csr m;
    bool conjugate;
    enum tfd_code rc;

    TFD_TRY(tfd_csr_read(k, 0, &m, st));
    TFD_TRY(check_kind(k, &m, st));
    TFD_TRY(tfd_node_bool(k->node, "conjugate", &conjugate, st));
    rc = tfd_csr_flip(&m, conjugate, &p, st);
    if (rc == TFD_OK)
        rc = tfd_csr_give(k, &p, st);
    tfd_csr_parts_drop(&p);
    return rc;
}

static enum tfd_code transpose_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    static const char *const names[] = {"type", "conjugate", NULL};

    tfd_gradient_copying(&b, "SparseMatrixTranspose", g->dy, 1, names, g->dx,
                         1);
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseMatrixTranspose",
        .inputs = "input: variant",
        .outputs = "output: variant",
        .attrs = "conjugate: bool = false; "
                 "type: {float, double, complex64, complex128}",
        .key = "type",
        .shape = tfd_shape_scalar,
        .grad = transpose_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("SparseMatrixTranspose", FLOAT, transpose_compute),
    TFD_KERNEL("SparseMatrixTranspose", DOUBLE, transpose_compute),
    TFD_KERNEL("SparseMatrixTranspose", COMPLEX64, transpose_compute),
    TFD_KERNEL("SparseMatrixTranspose", COMPLEX128, transpose_compute),
};

const struct tfd_family tfd_family_csr_transpose = {
    .name = "csr_transpose",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
