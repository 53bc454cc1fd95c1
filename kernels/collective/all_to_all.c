/*
 * all_to_all.c - each member's row i goes to member i, which gets row j from
 * member j.  Keys are TensorFlow's: the two ranks without anything between.
 */
#include "kernels/collective/collective_state.h"
#include "kernels/core/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    struct tfd_collective *c;
    struct tfd_kctx *k;
    int size, rank;
    int64_t row; /* elements */
    struct tfd_collective_part **part;
};

static enum tfd_code exchange(struct rows *r, int with, struct tfd_status *st)
{
    char tail[TFD_COLLECTIVE_TAIL_MAX];
    struct tfd_tensor row;
    enum tfd_code rc;

    if (with == r->rank)
        return TFD_OK;
    snprintf(tail, sizeof(tail), "%d%d", with, r->rank);
    TFD_TRY(tfd_collective_ask(r->c, with, tail, r->row, &r->part[with], st));
    TFD_TRY(
        tfd_collective_slice(&r->k->in[0], with * r->row, r->row, &row, st));
    snprintf(tail, sizeof(tail), "%d%d", r->rank, with);
    rc = tfd_collective_send(r->c, tail, &row, st);
    tfd_tensor_unref(&row);
    return rc;
}

/* Row `from` of the output. */
static enum tfd_code put_row(struct rows *r, int from, struct tfd_status *st)
{
    const size_t size = (size_t)r->row * tfd_dtype_size(r->k->in[0].dtype);
    char *out = (char *)tfd_tensor_data(&r->k->out[0]) + (size_t)from * size;
    struct tfd_tensor came;

    if (from == r->rank) {
        memcpy(out,
               (const char *)tfd_tensor_data(&r->k->in[0]) +
                   (size_t)from * size,
               size);
        return TFD_OK;
    }
    TFD_TRY(tfd_collective_wait(r->c, r->part[from], &came, st));
    memcpy(out, tfd_tensor_data(&came), size);
    tfd_tensor_unref(&came);
    return TFD_OK;
}

static enum tfd_code run_rows(struct rows *r, struct tfd_status *st)
{
    for (int i = 0; i < r->size; i++)
        TFD_TRY(exchange(r, i, st));
    for (int i = 0; i < r->size; i++)
        TFD_TRY(put_row(r, i, st));
    return TFD_OK;
}

static enum tfd_code check_rows(const struct tfd_tensor *in, int size,
                                struct tfd_status *st)
{
    if (in->shape.rank > 0 && in->shape.dim[0] == size)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "input to all-to-all first dimension size (%lld) must be "
                    "the same as the group size (%d)",
                    in->shape.rank > 0 ? (long long)in->shape.dim[0] : 0LL,
                    size);
}

enum tfd_code tfd_collective_all_to_all(struct tfd_collective *c,
                                        struct tfd_status *st)
{
    struct tfd_kctx *k = tfd_collective_kctx(c);
    const struct tfd_tensor *in = &k->in[0];
    struct rows r = {
        .c = c,
        .k = k,
        .size = tfd_collective_spec_of(c)->group_size,
        .rank = tfd_collective_rank(c),
    };
    enum tfd_code rc;

    TFD_TRY(check_rows(in, r.size, st));
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &in->shape, st));
    r.row = tfd_tensor_elements(in) / r.size;
    if (r.row == 0)
        return TFD_OK;
    r.part = calloc((size_t)r.size, sizeof(*r.part));
    if (!r.part)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a group of %d", r.size);
    rc = run_rows(&r, st);
    free(r.part);
    return rc;
}
