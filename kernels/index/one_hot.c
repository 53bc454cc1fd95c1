/*
 * one_hot.c - OneHot: for each index a vector that has `on_value` at the index
 * and `off_value` everywhere else.
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"

enum tfd_code tfd_one_hot_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_one_hot_state *s = state;

    return tfd_node_int(p->node, "axis", &s->axis, st);
}

static enum tfd_code one_hot_shape_of(const struct tfd_shape *in, int64_t axis,
                                      int64_t depth, struct tfd_shape *out,
                                      int *at, struct tfd_status *st)
{
    if (axis < -1 || axis > in->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected axis to be -1 or between [0, %d).  But "
                        "received: %lld",
                        in->rank + 1, (long long)axis);
    if (in->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "OneHot of a tensor with %d dimensions", in->rank);
    *at = axis == -1 ? in->rank : (int)axis;
    out->rank = in->rank + 1;
    for (int d = 0; d < out->rank; d++)
        out->dim[d] = d < *at ? in->dim[d] : d == *at ? depth : in->dim[d - 1];
    return TFD_OK;
}

enum tfd_code tfd_one_hot_make(const struct tfd_kctx *k,
                               struct tfd_one_hot *out, struct tfd_status *st)
{
    int64_t axis = ((const struct tfd_one_hot_state *)k->state)->axis;
    const struct tfd_shape *in = &k->in[0].shape;
    int at = 0;

    *out = (struct tfd_one_hot){.outer = 1, .inner = 1};
    TFD_TRY(tfd_check_int(k, 1, &out->depth, st));
    if (out->depth < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "depth must be non-negative, got: %lld",
                        (long long)out->depth);
    TFD_TRY(one_hot_shape_of(in, axis, out->depth, &out->out, &at, st));
    TFD_TRY(tfd_shape_make(&out->out, out->out.dim, out->out.rank, st));
    for (int d = 0; d < in->rank; d++)
        *(d < at ? &out->outer : &out->inner) *= in->dim[d];
    return TFD_OK;
}

struct one_hot_job {
    const struct tfd_one_hot *h;
    struct tfd_kctx *k;
    int failed; /* a code: no memory for strings */
};

/* Rows are filled and marked in turns of so many bytes, while they are in a
 * cache, and columns are marked in turns of so many. */
#define ONE_HOT_FILL_SIZE (1 << 16)
#define ONE_HOT_BLOCK 256
#define ONE_HOT_MARK_SIZE 32 /* what marking one costs, in bytes filled */

/* Classes of columns [from, from + n). */
#define CLASSES(T)                              \
    do {                                        \
        const T *x = (const T *)classes + from; \
                                                \
        for (int64_t i = 0; i < n; i++)         \
            out[i] = (int64_t)x[i];             \
    } while (0)

static void read_classes(const struct tfd_tensor *t, int64_t from, int64_t n,
                         int64_t *out)
{
    const void *classes = tfd_tensor_data(t);

    if (t->dtype == TFD_UINT8)
        CLASSES(uint8_t);
    else if (t->dtype == TFD_INT8)
        CLASSES(int8_t);
    else if (t->dtype == TFD_INT32)
        CLASSES(int32_t);
    else
        CLASSES(int64_t);
}

/* A place among the columns, and of its outer row among the elements. */
struct one_hot_at {
    int64_t column, row;
};

/* Classes become places of "on" in the output; -1: nowhere. */
static void find_hot_places(const struct tfd_one_hot *h, struct one_hot_at *at,
                            int64_t n, int64_t *place)
{
    for (int64_t i = 0; i < n; i++) {
        bool is_class = place[i] >= 0 && place[i] < h->depth;

        place[i] = is_class ? at->row + place[i] * h->inner + at->column : -1;
        if (++at->column == h->inner) {
            at->column = 0;
            at->row += h->depth * h->inner;
        }
    }
}

/* Places of "on", each counted from `step` elements further than the one
 * before; those below 0 or not below `end` are nowhere. */
struct hot_places {
    const int64_t *at;
    int64_t n, end, step;
};

#define MARK(T)                                                 \
    static void mark_##T(void *out, const struct hot_places *p, \
                         const void *on)                        \
    {                                                           \
        const T value = *(const T *)on;                         \
        const uint64_t end = (uint64_t)p->end;                  \
        T *y = out;                                             \
                                                                \
        for (int64_t i = 0; i < p->n; i++, y += p->step)        \
            if ((uint64_t)p->at[i] < end)                       \
                y[p->at[i]] = value;                            \
    }

MARK(uint8_t)
MARK(uint16_t)
MARK(uint32_t)
MARK(uint64_t)
MARK(tfd_complex128)

static enum tfd_code mark(enum tfd_dtype dtype, void *y,
                          const struct hot_places *p, const void *on)
{
    switch (tfd_dtype_is_pod(dtype) ? tfd_dtype_size(dtype) : 0) {
    case 1:
        mark_uint8_t(y, p, on);
        return TFD_OK;
    case 2:
        mark_uint16_t(y, p, on);
        return TFD_OK;
    case 4:
        mark_uint32_t(y, p, on);
        return TFD_OK;
    case 8:
        mark_uint64_t(y, p, on);
        return TFD_OK;
    case 16:
        mark_tfd_complex128(y, p, on);
        return TFD_OK;
    default:
        for (int64_t i = 0; i < p->n; i++)
            if ((uint64_t)p->at[i] < (uint64_t)p->end)
                TFD_TRY(tfd_elements_copy(
                    dtype, tfd_element_at(y, dtype, i * p->step + p->at[i]), on,
                    1, NULL));
        return TFD_OK;
    }
}

/* Outer rows [begin, end): depth x inner elements of "off" each, and one "on"
 * in each column. */
static enum tfd_code one_hot_some(const struct one_hot_job *j, int64_t begin,
                                  int64_t end)
{
    const struct tfd_one_hot *h = j->h;
    enum tfd_dtype dtype = j->k->out[0].dtype;
    const int64_t row = h->depth * h->inner;
    struct one_hot_at at = {0, begin * row};
    int64_t place[ONE_HOT_BLOCK];
    struct hot_places p = {.at = place, .end = INT64_MAX};
    const void *on = tfd_tensor_data(&j->k->in[2]);
    void *y = tfd_tensor_data(&j->k->out[0]);

    if (h->inner == 1)
        p.end = p.step = h->depth;

    TFD_TRY(tfd_elements_fill(dtype, tfd_element_at(y, dtype, begin * row),
                              tfd_tensor_data(&j->k->in[3]),
                              (end - begin) * row, NULL));
    for (int64_t i = begin * h->inner; i < end * h->inner; i += ONE_HOT_BLOCK) {
        int64_t n = end * h->inner - i;

        n = n < ONE_HOT_BLOCK ? n : ONE_HOT_BLOCK;
        read_classes(&j->k->in[0], i, n, place);
        p.n = n;
        if (h->inner == 1) {
            TFD_TRY(mark(dtype, tfd_element_at(y, dtype, i * row), &p, on));
            continue;
        }
        find_hot_places(h, &at, n, place);
        TFD_TRY(mark(dtype, y, &p, on));
    }
    return TFD_OK;
}

static int64_t one_hot_row_size(const struct one_hot_job *j)
{
    return j->h->depth * j->h->inner *
           (int64_t)tfd_dtype_size(j->k->out[0].dtype);
}

static void one_hot_rows(void *arg, int64_t begin, int64_t end)
{
    struct one_hot_job *j = arg;
    const int64_t most = ONE_HOT_FILL_SIZE / one_hot_row_size(j) + 1;
    enum tfd_code rc = TFD_OK;

    for (int64_t i = begin; rc == TFD_OK && i < end && !tfd_halted(); i += most)
        rc = one_hot_some(j, i, end - i < most ? end : i + most);
    if (rc != TFD_OK)
        TFD_STORE_RELAXED(&j->failed, (int)rc);
}

static enum tfd_code one_hot_fill(struct tfd_kctx *k,
                                  const struct tfd_one_hot *h,
                                  struct tfd_status *st)
{
    struct one_hot_job j = {.h = h, .k = k};
    int64_t cost = one_hot_row_size(&j);

    cost = cost < INT32_MAX / 2 && h->inner < INT32_MAX / 100
               ? cost + ONE_HOT_MARK_SIZE * h->inner
               : INT32_MAX;
    tfd_kctx_parallel_bytes(k, h->outer, (int)cost, one_hot_rows, &j);
    return j.failed == TFD_OK
               ? TFD_OK
               : tfd_fail(st, (enum tfd_code)j.failed,
                          "no memory for the strings of %lld rows",
                          (long long)h->outer);
}

static enum tfd_code one_hot_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_one_hot h;

    TFD_TRY(tfd_one_hot_make(k, &h, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &h.out, st));
    return tfd_shape_elements(&h.out) ? one_hot_fill(k, &h, st) : TFD_OK;
}

static enum tfd_code one_hot_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    int64_t axis = -1, depth = TFD_DIM_UNKNOWN;
    int at;

    if (!s->node || s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "axis", &axis, st));
    if (s->value && s->value[1] && tfd_tensor_elements(s->value[1]) == 1)
        depth = tfd_check_int_at(s->value[1], 0);
    return one_hot_shape_of(&s->in[0], axis, depth < 0 ? -1 : depth, &s->out[0],
                            &at, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "OneHot",
        .inputs = "indices: TI, depth: int32, on_value: T, off_value: T",
        .outputs = "output: T",
        .attrs = "axis: int = -1; T: type; "
                 "TI: {uint8, int8, int32, int64} = DT_INT64",
        .checks = "depth: scalar 'depth must be a scalar, but got: %s'; "
                  "on_value: scalar 'on_value must be a scalar, but got: %s'; "
                  "off_value: scalar 'off_value must be a scalar, but got: "
                  "%s'",
        .shape = one_hot_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("OneHot", one_hot_compute, .prepare = tfd_one_hot_prepare,
                   .state_size = sizeof(struct tfd_one_hot_state)),
};

const struct tfd_family tfd_family_one_hot = {
    .name = "one_hot",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
