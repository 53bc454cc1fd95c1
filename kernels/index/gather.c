/*
 * gather.c - rows by index: Gather, GatherV2, ResourceGather.
 *
 * With axis a and b batch dimensions the input is [batch][outer][dim][inner]
 * and the result [batch][outer][indices][inner]: runs of `inner` elements.
 * Indices are all checked first; then threads share the rows (rows.h).
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/index/gather.h"
#include "kernels/index/gather_grad.h"
#include "kernels/layout/rows.h"
#include "kernels/index/scatter.h"
#include "kernels/state/variable.h"

#define COUNTED_NS 50 /* of a string, or more */
#define STRINGS_BETWEEN_LOOKS 4096

static int64_t index_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_INT16)
        return ((const int16_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

static int64_t product_of_dims(const struct tfd_shape *s, int from, int to)
{
    int64_t n = 1;

    for (int d = from; d < to; d++)
        n *= s->dim[d];
    return n;
}

static enum tfd_code add_dims(struct tfd_shape *out, const struct tfd_shape *s,
                              int from, int to, struct tfd_status *st)
{
    for (int d = from; d < to; d++) {
        if (out->rank == TFD_RANK_MAX)
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "gathering to more than %d dimensions",
                            TFD_RANK_MAX);
        out->dim[out->rank++] = s->dim[d];
    }
    return TFD_OK;
}

static enum tfd_code check_batch(const struct tfd_shape *x,
                                 const struct tfd_shape *i, int batch, int axis,
                                 struct tfd_status *st)
{
    if (batch > axis || batch > i->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_dims (%d) must be less than or equal to axis "
                        "(%d) and rank(indices) (%d)",
                        batch, axis, i->rank);
    for (int d = 0; d < batch; d++)
        if (x->dim[d] != i->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "params.shape[%d]: %lld should be equal to "
                            "indices.shape[%d]: %lld",
                            d, (long long)x->dim[d], d, (long long)i->dim[d]);
    return TFD_OK;
}

static enum tfd_code plan_gather(const struct tfd_shape *x,
                                 const struct tfd_shape *i, int axis, int batch,
                                 struct tfd_gather *p, struct tfd_status *st)
{
    TFD_TRY(check_batch(x, i, batch, axis, st));
    p->batch = product_of_dims(x, 0, batch);
    p->outer = product_of_dims(x, batch, axis);
    p->dim = x->dim[axis];
    p->inner = product_of_dims(x, axis + 1, x->rank);
    p->count = product_of_dims(i, batch, i->rank);
    p->out.rank = 0;
    TFD_TRY(add_dims(&p->out, x, 0, axis, st));
    TFD_TRY(add_dims(&p->out, i, batch, i->rank, st));
    TFD_TRY(add_dims(&p->out, x, axis + 1, x->rank, st));
    return tfd_shape_make(&p->out, p->out.dim, p->out.rank, st);
}

static enum tfd_code bad_index(const struct tfd_tensor *indices, int64_t at,
                               int64_t limit, struct tfd_status *st)
{
    char place[TFD_SCATTER_PLACE_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "indices%s = %lld is not in [0, %lld)",
                    tfd_scatter_place(&indices->shape, at, place),
                    (long long)index_at(indices, at), (long long)limit);
}

static enum tfd_code check_gather_indices(struct tfd_kctx *k,
                                          const struct tfd_tensor *indices,
                                          int64_t limit, struct tfd_status *st)
{
    int64_t bad = tfd_rows_bad_in(k, indices, limit);

    return bad < tfd_tensor_elements(indices)
               ? bad_index(indices, bad, limit, st)
               : TFD_OK;
}

/* ---- Plans --------------------------------------------------------------- */

enum tfd_code tfd_gather_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct tfd_gather_state *s = state;

    return tfd_node_int(p->node, "batch_dims", &s->batch_dims, st);
}

static enum tfd_code batch_dims(const struct tfd_kctx *k,
                                const struct tfd_shape *indices, int *out,
                                struct tfd_status *st)
{
    int64_t b = ((const struct tfd_gather_state *)k->state)->batch_dims;

    if (b < -indices->rank || b > indices->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected batch_dims in the range [%d, %d], but got "
                        "%lld",
                        -indices->rank, indices->rank, (long long)b);
    *out = (int)(b < 0 ? b + indices->rank : b);
    return TFD_OK;
}

static enum tfd_code no_scalar(const struct tfd_shape *x, struct tfd_status *st)
{
    if (x->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "params must be at least 1 dimensional");
    return TFD_OK;
}

enum tfd_code tfd_gather_make(const struct tfd_kctx *k, struct tfd_gather *out,
                              struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *i = &k->in[1].shape;
    int64_t axis;
    int batch = 0;

    TFD_TRY(no_scalar(x, st));
    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "axis must be scalar");
    TFD_TRY(tfd_check_int(k, 2, &axis, st));
    TFD_TRY(batch_dims(k, i, &batch, st));
    if (axis < -x->rank || axis >= x->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank %llu but is rank %d",
                        axis < 0 ? -(unsigned long long)axis
                                 : (unsigned long long)axis + 1,
                        x->rank);
    return plan_gather(x, i, (int)(axis < 0 ? axis + x->rank : axis), batch,
                       out, st);
}

enum tfd_code tfd_gather_make_rows(const struct tfd_kctx *k,
                                   const struct tfd_shape *x,
                                   struct tfd_gather *out,
                                   struct tfd_status *st)
{
    int batch = 0;

    TFD_TRY(batch_dims(k, &k->in[1].shape, &batch, st));
    TFD_TRY(no_scalar(x, st));
    return plan_gather(x, &k->in[1].shape, batch, batch, out, st);
}

/* ---- Kernels ------------------------------------------------------------- */

struct job {
    const struct tfd_gather *plan;
    const struct tfd_tensor *x, *indices;
    tfd_rows_fn *copy; /* NULL: row by row, by tfd_elements_copy() */
    bool strings;      /* rows are strings */
    void *y;
    int64_t block; /* rows between two looks at halt.h */
    int failed;    /* a code */
};

/* n rows to row `to` of the output, of those from row `from` on, by indices
 * from `at` on. */
static void copy_bytes(struct job *j, int64_t to, int64_t from, int64_t at,
                       int64_t n)
{
    size_t size = tfd_dtype_size(j->x->dtype) * (size_t)j->plan->inner;

    j->copy((char *)j->y + (size_t)to * size,
            (const char *)tfd_tensor_data(j->x) + (size_t)from * size, size,
            tfd_element_of(tfd_tensor_data(j->indices), j->indices->dtype, at),
            n);
}

/* Strings one by one: where the next ones lie the processor cannot know, and
 * their memory is asked for before they are copied. */
#define AHEAD 12

static void copy_strings(struct job *j, int64_t to, int64_t from, int64_t at,
                         int64_t n)
{
    const struct tfd_tstring *x =
        (const struct tfd_tstring *)tfd_tensor_data(j->x) + from;
    struct tfd_tstring *y = (struct tfd_tstring *)j->y + to;

    for (int64_t i = 0; i < n; i++) {
        enum tfd_code rc;

        if (i < n - AHEAD)
            __builtin_prefetch(&x[index_at(j->indices, at + i + AHEAD)]);
        rc = tfd_tstring_copy(&y[i], &x[index_at(j->indices, at + i)], NULL);
        if (rc != TFD_OK)
            TFD_STORE_RELAXED(&j->failed, (int)rc);
    }
}

static void copy_each(struct job *j, int64_t to, int64_t from, int64_t at,
                      int64_t n)
{
    enum tfd_dtype dtype = j->x->dtype;
    int64_t inner = j->plan->inner;

    for (int64_t i = 0; i < n; i++) {
        int64_t row = from + index_at(j->indices, at + i);
        enum tfd_code rc = tfd_elements_copy(
            dtype, tfd_element_at(j->y, dtype, (to + i) * inner),
            tfd_element_of(tfd_tensor_data(j->x), dtype, row * inner), inner,
            NULL);

        if (rc != TFD_OK)
            TFD_STORE_RELAXED(&j->failed, (int)rc);
    }
}

/* Rows [begin, end) of the output, which lie in groups of `count` by the
 * indices of one batch. */
static void copy_gathered(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    const struct tfd_gather *p = j->plan;
    int64_t group = begin / p->count, i = begin % p->count;

    while (begin < end && !tfd_halted()) {
        int64_t n = end - begin < p->count - i ? end - begin : p->count - i;

        n = n < j->block ? n : j->block;
        (j->copy      ? copy_bytes
         : j->strings ? copy_strings
                      : copy_each)(j, begin, group * p->dim,
                                   group / p->outer * p->count + i, n);
        begin += n;
        i += n;
        if (i == p->count) {
            i = 0;
            group++;
        }
    }
}

static enum tfd_code gather_slices(struct tfd_kctx *k,
                                   const struct tfd_tensor *x,
                                   const struct tfd_gather *p,
                                   struct tfd_status *st)
{
    size_t size = tfd_dtype_size(x->dtype) * (size_t)p->inner;
    struct job j = {.plan = p, .x = x, .indices = &k->in[1], .block = 1};
    int cost = COUNTED_NS;

    TFD_TRY(check_gather_indices(k, j.indices, p->dim, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &p->out, st));
    j.y = tfd_tensor_data(&k->out[0]);
    if (!j.y || tfd_tensor_elements(x) == 0)
        return TFD_OK;
    if (tfd_dtype_is_pod(x->dtype)) {
        cost = tfd_rows_cost(size);
        if (size < TFD_HALT_BLOCK_SIZE) {
            j.copy = tfd_rows_gather_from(tfd_tensor_size(x), size,
                                          j.indices->dtype);
            j.block = (int64_t)(TFD_HALT_BLOCK_SIZE / size);
        }
    }
    if (x->dtype == TFD_STRING && p->inner == 1) {
        j.strings = true;
        j.block = STRINGS_BETWEEN_LOOKS;
    }
    tfd_kctx_parallel(k, p->batch * p->outer * p->count, cost, copy_gathered,
                      &j);
    return j.failed == TFD_OK
               ? TFD_OK
               : tfd_fail(st, (enum tfd_code)j.failed,
                          "no memory for the strings of %lld rows",
                          (long long)(p->batch * p->outer * p->count));
}

static enum tfd_code gather_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_gather p;

    TFD_TRY(tfd_gather_make(k, &p, st));
    return gather_slices(k, &k->in[0], &p, st);
}

static enum tfd_code gather_rows(struct tfd_kctx *k,
                                 const struct tfd_tensor *value,
                                 struct tfd_status *st)
{
    struct tfd_gather p;

    TFD_TRY(tfd_gather_make_rows(k, &value->shape, &p, st));
    return gather_slices(k, value, &p, st);
}

/* Of an op without the attribute: no batch. */
static enum tfd_code first_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    (void)p;
    (void)st;
    ((struct tfd_gather_state *)state)->batch_dims = 0;
    return TFD_OK;
}

static enum tfd_code gather_first(struct tfd_kctx *k, struct tfd_status *st)
{
    return gather_rows(k, &k->in[0], st);
}

static enum tfd_code resource_gather(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_kctx_with_value(k, gather_rows, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code gather_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0], *i = &s->in[1];
    int64_t b = 0;
    int axis;

    if (!s->node || !s->value || !s->value[2] ||
        tfd_tensor_elements(s->value[2]) != 1 || x->rank == TFD_RANK_UNKNOWN ||
        i->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(
        tfd_check_axis(tfd_check_int_at(s->value[2], 0), x->rank, &axis, st));
    TFD_TRY(tfd_node_int(s->node, "batch_dims", &b, st));
    b = b < 0 ? b + i->rank : b;
    if (b < 0 || b > i->rank || b > axis)
        return TFD_OK;
    s->out[0].rank = 0;
    TFD_TRY(add_dims(&s->out[0], x, 0, axis, st));
    TFD_TRY(add_dims(&s->out[0], i, (int)b, i->rank, st));
    return add_dims(&s->out[0], x, axis + 1, x->rank, st);
}

static enum tfd_code first_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0], *i = &s->in[1];

    if (x->rank == TFD_RANK_UNKNOWN || i->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(no_scalar(x, st));
    s->out[0].rank = 0;
    TFD_TRY(add_dims(&s->out[0], i, 0, i->rank, st));
    return add_dims(&s->out[0], x, 1, x->rank, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Gather",
        .inputs = "params: Tparams, indices: Tindices",
        .outputs = "output: Tparams",
        .attrs = "validate_indices: bool = true; Tparams: type; "
                 "Tindices: {int32, int64}",
        .key = "Tparams",
        .shape = first_shape,
        .grad = tfd_gather_first_gradient,
    },
    {
        .name = "GatherV2",
        .inputs = "params: Tparams, indices: Tindices, axis: Taxis",
        .outputs = "output: Tparams",
        .attrs = "batch_dims: int = 0; Tparams: type; "
                 "Tindices: {int16, int32, int64}; Taxis: {int32, int64}",
        .key = "Tparams",
        .shape = gather_shape,
        .grad = tfd_gather_gradient,
    },
    {
        .name = "ResourceGather",
        .inputs = "resource: resource, indices: Tindices",
        .outputs = "output: dtype",
        .attrs = "batch_dims: int = 0; validate_indices: bool = true; "
                 "dtype: type; Tindices: {int32, int64}",
        .checks = "resource: scalar",
        .key = "dtype",
        .grad = tfd_gather_resource_gradient,
        .flags = TFD_OP_STATEFUL,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Gather", gather_first, .prepare = first_prepare,
                   .state_size = sizeof(struct tfd_gather_state)),
    TFD_KERNEL_ANY("GatherV2", gather_compute, .prepare = tfd_gather_prepare,
                   .state_size = sizeof(struct tfd_gather_state)),
    TFD_KERNEL_ANY("ResourceGather", resource_gather,
                   .prepare = tfd_gather_prepare,
                   .state_size = sizeof(struct tfd_gather_state)),
};

const struct tfd_family tfd_family_gather = {
    .name = "gather",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
