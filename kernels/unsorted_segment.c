/*
 * unsorted_segment.c - UnsortedSegmentSum: rows of data added up by the number
 * of the segment that each belongs to.
 *
 *     output[segment_ids[i, ...]] += data[i, ...]
 *
 * Rows with a negative number belong to none.
 */
#include "kernels/families.h"

#include "common/half.h"
#include "kernels/check.h"
#include "kernels/complex_math.h"
#include "kernels/element.h"
#include "kernels/gradient.h"

struct rows {
    const struct tfd_tensor *ids;
    const void *from;
    void *to;
    int64_t inner;
};

static int64_t id_at(const struct tfd_tensor *ids, int64_t i)
{
    if (ids->dtype == TFD_INT16)
        return ((const int16_t *)tfd_tensor_data(ids))[i];
    return tfd_check_int_at(ids, i);
}

#define ADD_ROWS(T, OP)                                        \
    static void add_##T(void *arg, int64_t begin, int64_t end) \
    {                                                          \
        const struct rows *r = arg;                            \
                                                               \
        for (int64_t i = begin; i < end; i++) {                \
            int64_t id = id_at(r->ids, i);                     \
            const T *from = (const T *)r->from + i * r->inner; \
            T *to = (T *)r->to + id * r->inner;                \
                                                               \
            for (int64_t n = 0; id >= 0 && n < r->inner; n++)  \
                to[n] = OP(T, to[n], from[n]);                 \
        }                                                      \
    }

#define INT_OP(T, a, b) ((T)((uint64_t)(a) + (uint64_t)(b)))
#define FLOAT_OP(T, a, b) ((a) + (b))
#define HALF_OP(T, a, b) T##_from_float(T##_to_float(a) + T##_to_float(b))
#define COMPLEX_OP(T, a, b) T##_add(a, b)
#define INT_ADD(name, number, T) ADD_ROWS(T, INT_OP)
#define FLOAT_ADD(name, number, T) ADD_ROWS(T, FLOAT_OP)
#define HALF_ADD(name, number, T) ADD_ROWS(T, HALF_OP)
#define COMPLEX_ADD(name, number, T) ADD_ROWS(T, COMPLEX_OP)

TFD_INT_DTYPES(INT_ADD)
TFD_FLOAT_DTYPES(FLOAT_ADD)
TFD_HALF_DTYPES(HALF_ADD)
TFD_COMPLEX_DTYPES(COMPLEX_ADD)

static enum tfd_code check_prefix(const struct tfd_shape *data,
                                  const struct tfd_shape *ids,
                                  struct tfd_status *st)
{
    char have[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];
    bool good = ids->rank <= data->rank;

    for (int d = 0; good && d < ids->rank; d++)
        good = ids->dim[d] == data->dim[d];
    if (good)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "data.shape = %s does not start with segment_ids.shape = "
                    "%s",
                    tfd_shape_text(data, have), tfd_shape_text(ids, want));
}

static enum tfd_code check_ids(const struct tfd_tensor *ids, int64_t segments,
                               struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(ids);

    for (int64_t i = 0; i < n; i++)
        if (id_at(ids, i) >= segments)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "segment_ids[%lld] = %lld is out of range [0, %lld)",
                (long long)i, (long long)id_at(ids, i), (long long)segments);
    return TFD_OK;
}

static enum tfd_code output_shape(const struct tfd_shape *data,
                                  const struct tfd_shape *ids, int64_t segments,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    if (data->rank - ids->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "segments of more than %d dimensions",
                        TFD_RANK_MAX - 1);
    *out = (struct tfd_shape){1, {segments}};
    for (int d = ids->rank; d < data->rank; d++)
        out->dim[out->rank++] = data->dim[d];
    return tfd_shape_make_partial(out, out->dim, out->rank, st);
}

static enum tfd_code sum_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *data = &k->in[0], *ids = &k->in[1];
    struct rows r = {.ids = ids, .from = tfd_tensor_data(data)};
    struct tfd_shape out;
    int64_t segments;

    TFD_TRY(tfd_check_int(k, 2, &segments, st));
    if (segments < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input num_segments == %lld must not be negative.",
                        (long long)segments);
    TFD_TRY(check_prefix(&data->shape, &ids->shape, st));
    TFD_TRY(check_ids(ids, segments, st));
    TFD_TRY(output_shape(&data->shape, &ids->shape, segments, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, data->dtype, &out, st));
    r.to = tfd_tensor_data(&k->out[0]);
    if (!r.to)
        return TFD_OK;
    tfd_elements_zero(data->dtype, r.to, tfd_shape_elements(&out));
    r.inner = tfd_shape_elements(&out) / segments;
    if (r.from)
        k->kernel->range(&r, 0, tfd_tensor_elements(ids));
    return TFD_OK;
}

static enum tfd_code sum_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *n = s->value ? s->value[2] : NULL;
    int64_t segments = TFD_DIM_UNKNOWN;

    if (n && tfd_tensor_elements(n) == 1 && tfd_check_int_at(n, 0) >= 0)
        segments = tfd_check_int_at(n, 0);
    if (s->in[0].rank < 0 || s->in[1].rank < 0 ||
        s->in[1].rank > s->in[0].rank ||
        s->in[0].rank - s->in[1].rank == TFD_RANK_MAX)
        return TFD_OK;
    return output_shape(&s->in[0], &s->in[1], segments, &s->out[0], st);
}

/* ---- Gradient ------------------------------------------------------------ */

/* Whether each id is a segment's, with a 1 for each dimension of a row. */
static struct tfd_edge belongs(struct tfd_gradient *b, struct tfd_edge zero)
{
    const int32_t one = 1;
    struct tfd_edge good =
        tfd_gradient_op2(b, "GreaterEqual", b->g->x[1], zero);
    struct tfd_edge ones = tfd_gradient_op1(b, "Shape", b->g->dy[0]);
    struct tfd_edge shape[3];

    /* Of the rows: the shape of dy without its first, as ones. */
    shape[2] = tfd_gradient_ints(b, &(int32_t){0}, -1);
    ones = tfd_gradient_op1(b, "OnesLike", ones);
    ones = tfd_gradient_op3(b, "Slice", ones, tfd_gradient_ints(b, &one, 1),
                            tfd_gradient_ints(b, &(int32_t){-1}, 1));
    shape[0] = tfd_gradient_op1(b, "Shape", b->g->x[1]);
    shape[1] = ones;
    return tfd_gradient_op2(b, "Reshape", good,
                            tfd_gradient_op(b, "ConcatV2", shape, 3));
}

static enum tfd_code sum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zero = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);
    struct tfd_edge ids = tfd_gradient_op2(&b, "Maximum", g->x[1], zero);
    struct tfd_edge axis = tfd_gradient_ints(&b, &(int32_t){0}, -1);
    struct tfd_edge rows =
        tfd_gradient_op3(&b, "GatherV2", g->dy[0], ids, axis);

    g->dx[0] = tfd_gradient_op3(&b, "SelectV2", belongs(&b, zero), rows,
                                tfd_gradient_op1(&b, "ZerosLike", rows));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UnsortedSegmentSum",
        .inputs = "data: T, segment_ids: Tindices, num_segments: Tnumsegments",
        .outputs = "output: T",
        .attrs = "T: numbertype; Tindices: {int16, int32, int64}; "
                 "Tnumsegments: {int32, int64} = DT_INT32",
        .checks = "num_segments: scalar",
        .key = "T",
        .shape = sum_shape,
        .grad = sum_gradient,
    },
};

#define ROW(name, number, T) \
    TFD_KERNEL("UnsortedSegmentSum", name, sum_compute, add_##T),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ROW) TFD_HALF_DTYPES(ROW) TFD_COMPLEX_DTYPES(ROW)};

const struct tfd_family tfd_family_unsorted_segment = {
    .name = "unsorted_segment",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
