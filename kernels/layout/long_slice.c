/*
 * long_slice.c - ops on long shapes that take, repeat or reorder parts.
 *
 * Neighbouring dimensions of which all is taken (not repeated, that stay side
 * by side) are one.
 */
#include "kernels/core/check.h"
#include "kernels/layout/long_view.h"

#include <stdio.h>
#include <string.h>

/* Runs of dimensions, and what the op does along each. */
struct runs {
    int count;
    int64_t dim[TFD_RANK_LONG_MAX];
    int64_t by[2][TFD_RANK_LONG_MAX];
};

/* ---- Slice --------------------------------------------------------------- */

static enum tfd_code check_slice(const struct tfd_dims *d, int i, int64_t begin,
                                 int64_t *size, struct tfd_status *st)
{
    if (begin < 0 || begin > d->at[i])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected begin[%d] in [0, %lld], but got %lld", i,
                        (long long)d->at[i], (long long)begin);
    if (*size == -1)
        *size = d->at[i] - begin;
    if (*size < 0 || *size > d->at[i] - begin)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected size[%d] in [0, %lld], but got %lld", i,
                        (long long)(d->at[i] - begin), (long long)*size);
    return TFD_OK;
}

static enum tfd_code check_size_input(const struct tfd_kctx *k, int rank,
                                      struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    const struct tfd_shape vector = {1, {rank}};

    if (tfd_shape_equal(&k->in[1].shape, &vector) &&
        tfd_shape_equal(&k->in[2].shape, &vector))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected begin and size arguments to be 1-D tensors of "
                    "size %d, but got shapes %s and %s instead.",
                    rank, tfd_shape_text(&k->in[1].shape, a),
                    tfd_shape_text(&k->in[2].shape, b));
}

/* A dimension that is taken whole joins the one before it. */
static void add_slice(struct runs *r, int64_t dim, int64_t begin, int64_t size)
{
    if (r->count > 0 && size == dim) {
        r->dim[r->count - 1] *= dim;
        r->by[0][r->count - 1] *= dim;
        r->by[1][r->count - 1] *= dim;
        return;
    }
    r->dim[r->count] = dim;
    r->by[0][r->count] = begin;
    r->by[1][r->count++] = size;
}

static enum tfd_code read_slice(const struct tfd_kctx *k,
                                const struct tfd_dims *d, struct runs *r,
                                struct tfd_dims *out, struct tfd_status *st)
{
    TFD_TRY(check_size_input(k, d->rank, st));
    r->count = 0;
    out->rank = 0;
    for (int i = 0; i < d->rank; i++) {
        int64_t begin = tfd_check_int_at(&k->in[1], i);
        int64_t size = tfd_check_int_at(&k->in[2], i);

        TFD_TRY(check_slice(d, i, begin, &size, st));
        TFD_TRY(tfd_dims_push(out, size, st));
        add_slice(r, d->at[i], begin, size);
    }
    return TFD_OK;
}

enum tfd_code tfd_long_slice(struct tfd_kctx *k, const struct tfd_long_row *row,
                             struct tfd_status *st)
{
    struct tfd_small_ints room[2];
    struct tfd_long_view v;
    struct tfd_dims d, out;
    struct runs r;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(read_slice(k, &d, &r, &out, st));
    if (r.count > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "SliceOp : Unhandled input dimensions");
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, r.dim, r.count);
    for (int i = 0; i < 2; i++)
        v.k.in[1 + i] =
            tfd_small_ints(&room[i], k->in[1 + i].dtype, r.by[i], r.count);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}

/* ---- StridedSlice -------------------------------------------------------- */

/* What the entries of begin, end and strides stand for: so many dimensions of
 * the input, and of the output, before and after those of the ellipsis (which
 * stands at the end where there is none). */
struct entries {
    int taken[2], made[2];
};

static enum tfd_code read_entries(const struct tfd_kctx *k, struct entries *e,
                                  struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]);
    int64_t ellipsis, added, shrunk;
    int side = 0;

    TFD_TRY(tfd_node_int(k->node, "ellipsis_mask", &ellipsis, st));
    TFD_TRY(tfd_node_int(k->node, "new_axis_mask", &added, st));
    TFD_TRY(tfd_node_int(k->node, "shrink_axis_mask", &shrunk, st));
    *e = (struct entries){{0, 0}, {0, 0}};
    if (k->in[1].shape.rank != 1 || n >= 32)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected begin, end, and strides to be 1D equal size "
                        "tensors of less than 32 entries, but got %lld",
                        (long long)n);
    for (int i = 0; i < (int)n; i++) {
        if (ellipsis >> i & 1 && side == 0) {
            side = 1;
        } else if (added >> i & 1) {
            e->made[side]++;
        } else {
            e->taken[side]++;
            e->made[side] += !(shrunk >> i & 1);
        }
    }
    return TFD_OK;
}

/* All dimensions of the ellipsis are one, which is taken whole. */
enum tfd_code tfd_long_strided_slice(struct tfd_kctx *k,
                                     const struct tfd_long_row *row,
                                     struct tfd_status *st)
{
    struct tfd_dims d, got, out = {.rank = 0};
    int64_t dim[TFD_RANK_MAX];
    struct tfd_long_view v;
    struct entries e;
    enum tfd_code rc;
    int end;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(read_entries(k, &e, st));
    end = d.rank - e.taken[1];
    if (e.taken[0] + e.taken[1] >= TFD_RANK_MAX || end <= e.taken[0])
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Unhandled input dimensions %d",
                        d.rank);
    memcpy(dim, d.at, sizeof(*dim) * (size_t)e.taken[0]);
    dim[e.taken[0]] = tfd_dims_product(&d, e.taken[0], end);
    memcpy(dim + e.taken[0] + 1, d.at + end, sizeof(*dim) * (size_t)e.taken[1]);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, dim, e.taken[0] + 1 + e.taken[1]);
    rc = tfd_long_view_run(&v, st);
    tfd_long_view_deinit(&v);
    TFD_TRY(rc);
    tfd_dims_of(&got, &k->out[0].shape);
    TFD_TRY(tfd_dims_add(&out, &got, 0, e.made[0], st));
    TFD_TRY(tfd_dims_add(&out, &d, e.taken[0], end, st));
    TFD_TRY(tfd_dims_add(&out, &got, e.made[0] + 1, got.rank, st));
    return tfd_dims_shape(&out, &k->out[0].shape, st);
}

/* ---- Tile ---------------------------------------------------------------- */

static enum tfd_code read_tile(const struct tfd_kctx *k,
                               const struct tfd_dims *d, struct runs *r,
                               struct tfd_dims *out, struct tfd_status *st)
{
    if (k->in[1].shape.rank != 1 || k->in[1].shape.dim[0] != d->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected multiples argument to be a vector of length "
                        "%d but got length %lld",
                        d->rank, (long long)tfd_tensor_elements(&k->in[1]));
    r->count = 0;
    out->rank = 0;
    for (int i = 0; i < d->rank; i++) {
        int64_t times = tfd_check_int_at(&k->in[1], i), made;

        if (times < 0 || __builtin_mul_overflow(d->at[i], times, &made))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected multiples[%d] >= 0, but got %lld", i,
                            (long long)times);
        TFD_TRY(tfd_dims_push(out, made, st));
        if (r->count > 0 && times == 1) {
            r->dim[r->count - 1] *= d->at[i];
            continue;
        }
        r->dim[r->count] = d->at[i];
        r->by[0][r->count++] = times;
    }
    return TFD_OK;
}

enum tfd_code tfd_long_tile(struct tfd_kctx *k, const struct tfd_long_row *row,
                            struct tfd_status *st)
{
    struct tfd_small_ints room;
    struct tfd_shape shape;
    struct tfd_long_view v;
    struct tfd_dims d, out;
    struct runs r;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(read_tile(k, &d, &r, &out, st));
    TFD_TRY(tfd_dims_shape(&out, &shape, st));
    if (r.count > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Tile along %d dimensions; at most %d are supported",
                        r.count, TFD_RANK_MAX);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    tfd_long_see(&v, 0, r.dim, r.count);
    v.k.in[1] = tfd_small_ints(&room, k->in[1].dtype, r.by[0], r.count);
    rc = tfd_long_view_run(&v, st);
    if (rc == TFD_OK)
        k->out[0].shape = shape;
    tfd_long_view_deinit(&v);
    return rc;
}

/* ---- Transpose ----------------------------------------------------------- */

static enum tfd_code fail_missing_dim(const int *perm, int rank, int missing,
                                      struct tfd_status *st)
{
    char text[4 * TFD_RANK_LONG_MAX + 1];
    size_t used = 0;

    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
                                 i ? "," : "", perm[i]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%d is missing from {%s}.",
                    missing, text);
}

static enum tfd_code read_perm(const struct tfd_kctx *k, int rank, int *perm,
                               struct tfd_status *st)
{
    bool seen[TFD_RANK_LONG_MAX] = {false};

    if (k->in[1].shape.rank != 1 || k->in[1].shape.dim[0] != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "transpose expects a vector of size %d. But input(1) "
                        "is a vector of size %lld",
                        rank, (long long)tfd_tensor_elements(&k->in[1]));
    for (int i = 0; i < rank; i++) {
        int64_t given = tfd_check_int_at(&k->in[1], i);
        int64_t at = given < 0 ? given + rank : given;

        if (at < 0 || at >= rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%lld is out of range [0 .. %d)", (long long)given,
                            rank);
        perm[i] = (int)at;
        seen[at] = true;
    }
    for (int i = 0; i < rank; i++)
        if (!seen[i])
            return fail_missing_dim(perm, rank, i, st);
    return TFD_OK;
}

/* Dimensions that stay side by side become one run; those of 1 are left out.
 * by[0] is the permutation of the runs. */
static void find_runs(const struct tfd_dims *d, const int *perm, struct runs *r)
{
    int number[TFD_RANK_LONG_MAX], order[TFD_RANK_LONG_MAX];
    int run[TFD_RANK_LONG_MAX], count = 0, wide = 0;
    bool starts[TFD_RANK_LONG_MAX];

    for (int i = 0; i < d->rank; i++)
        number[i] = d->at[i] == 1 ? wide : wide++;
    for (int i = 0; i < d->rank; i++)
        if (d->at[perm[i]] != 1)
            order[count++] = number[perm[i]];
    for (int j = 0; j < count; j++)
        starts[order[j]] = j == 0 || order[j] != order[j - 1] + 1;

    r->count = 0;
    for (int i = 0; i < d->rank; i++) {
        if (d->at[i] == 1)
            continue;
        if (starts[number[i]])
            r->dim[r->count++] = d->at[i];
        else
            r->dim[r->count - 1] *= d->at[i];
        run[number[i]] = r->count - 1;
    }
    for (int j = 0, at = 0; j < count; j++)
        if (starts[order[j]])
            r->by[0][at++] = run[order[j]];
}

static enum tfd_code run_perm(struct tfd_long_view *v, const int64_t *dim,
                              const int64_t *perm, int rank,
                              struct tfd_status *st)
{
    enum tfd_dtype dtype = v->k.in[1].dtype;
    struct tfd_small_ints room;

    tfd_long_see(v, 0, dim, rank);
    v->k.in[1] = tfd_small_ints(&room, dtype, perm, rank);
    return tfd_long_view_run(v, st);
}

/* [a, b, c] to [b, a, c], with run `i` as b; the runs follow. */
static enum tfd_code bring_to_front(struct tfd_long_view *v, struct runs *r,
                                    int i, struct tfd_status *st)
{
    static const int64_t swap[3] = {1, 0, 2};
    int64_t dim[3] = {1, r->dim[i], 1}, front = r->dim[i];

    for (int j = 0; j < r->count; j++)
        if (j != i)
            dim[j < i ? 0 : 2] *= r->dim[j];
    memmove(r->dim + 1, r->dim, sizeof(*r->dim) * (size_t)i);
    r->dim[0] = front;
    for (int j = 0; j < r->count; j++) { /* where the runs are now */
        if (r->by[0][j] == i)
            r->by[0][j] = 0;
        else if (r->by[0][j] < i)
            r->by[0][j]++;
    }
    return run_perm(v, dim, swap, 3, st);
}

/* Runs are too many for the kernel: one after the other, from the last. */
static enum tfd_code run_by_run(struct tfd_long_view *v, struct runs *r,
                                struct tfd_status *st)
{
    struct tfd_tensor *out = v->k.out, done = v->k.in[0], next;
    const struct tfd_tensor perm = v->k.in[1];
    enum tfd_code rc = TFD_OK;

    for (int i = r->count - 1; i >= 0 && rc == TFD_OK; i--) {
        next = (struct tfd_tensor)TFD_TENSOR_INIT;
        v->k.in[0] = done;
        v->k.in[1] = perm;
        v->k.out = &next;
        rc = bring_to_front(v, r, (int)r->by[0][i], st);
        if (i < r->count - 1)
            tfd_tensor_unref(&done);
        done = next;
    }
    *out = done;
    return rc;
}

enum tfd_code tfd_long_transpose(struct tfd_kctx *k,
                                 const struct tfd_long_row *row,
                                 struct tfd_status *st)
{
    struct tfd_dims d, out = {.rank = 0};
    int perm[TFD_RANK_LONG_MAX];
    struct tfd_shape shape;
    struct tfd_long_view v;
    struct runs r;
    enum tfd_code rc;

    (void)row;
    tfd_dims_of(&d, &k->in[0].shape);
    TFD_TRY(read_perm(k, d.rank, perm, st));
    for (int i = 0; i < d.rank; i++)
        TFD_TRY(tfd_dims_push(&out, d.at[perm[i]], st));
    TFD_TRY(tfd_dims_shape(&out, &shape, st));
    find_runs(&d, perm, &r);
    TFD_TRY(tfd_long_view_init(&v, k, st));
    rc = r.count <= TFD_RANK_MAX ? run_perm(&v, r.dim, r.by[0], r.count, st)
                                 : run_by_run(&v, &r, st);
    tfd_long_view_deinit(&v);
    if (rc == TFD_OK)
        k->out[0].shape = shape;
    return rc;
}
