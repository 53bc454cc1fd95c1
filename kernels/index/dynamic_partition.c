/*
 * dynamic_partition.c - DynamicPartition: each row of the data to the output
 * that its number names.
 *
 * One pass counts, which gives the outputs their sizes and finds numbers out of
 * range; a second copies, run by run of rows that go to the same output.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"
#include "kernels/layout/rows.h"
#include "kernels/index/scatter.h"

#include <stdlib.h>

static enum tfd_code count_rows(const struct tfd_tensor *numbers, int outputs,
                                int64_t *count, struct tfd_status *st)
{
    const int32_t *number = tfd_tensor_data(numbers);
    int64_t n = tfd_tensor_elements(numbers);
    int64_t bad = tfd_rows_bad(number, TFD_INT32, n, outputs);
    char place[TFD_SCATTER_PLACE_MAX];

    if (bad < n)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "partitions%s = %d is not in [0, %d)",
                        tfd_scatter_place(&numbers->shape, bad, place),
                        number[bad], outputs);
    for (int64_t i = 0; i < n; i++)
        count[number[i]]++;
    return TFD_OK;
}

/* Rows of one element: next[] is the address that each output's next one gets.
 */
#define PUT(T)                                                           \
    static void put_##T(const void *x, const int32_t *number, int64_t n, \
                        void **next)                                     \
    {                                                                    \
        const T *from = x;                                               \
                                                                         \
        for (int64_t i = 0; i < n; i++) {                                \
            T *to = next[number[i]];                                     \
                                                                         \
            *to = from[i];                                               \
            next[number[i]] = to + 1;                                    \
        }                                                                \
    }

PUT(uint8_t)
PUT(uint16_t)
PUT(uint32_t)
PUT(uint64_t)
PUT(tfd_complex128)

static const struct {
    size_t size;
    void (*put)(const void *x, const int32_t *number, int64_t n, void **next);
} puts_of[] = {
    {1, put_uint8_t},  {2, put_uint16_t},        {4, put_uint32_t},
    {8, put_uint64_t}, {16, put_tfd_complex128},
};

/* next: memory for an address an output. */
static void put_elements(struct tfd_kctx *k, void **next)
{
    const struct tfd_tensor *x = &k->in[0];
    size_t size = tfd_dtype_size(x->dtype);

    for (int i = 0; i < k->out_count; i++)
        next[i] = tfd_tensor_data(&k->out[i]);
    for (int i = 0; i < TFD_COUNT(puts_of); i++)
        if (puts_of[i].size == size)
            puts_of[i].put(tfd_tensor_data(x), tfd_tensor_data(&k->in[1]),
                           tfd_tensor_elements(x), next);
}

#define ROW_MAX (1 << 16) /* bytes, between two looks at halt.h */

/* Rows of several, of numbers: by the loop that moves so many bytes, or past
 * the caches.  False: they are too long for that. */
static bool put_wide_rows(struct tfd_kctx *k, void **next)
{
    const int32_t *number = tfd_tensor_data(&k->in[1]);
    const int64_t n = tfd_tensor_elements(&k->in[1]);
    const int64_t all = tfd_tensor_elements(&k->in[0]) *
                        (int64_t)tfd_dtype_size(k->in[0].dtype);
    const char *from = tfd_tensor_data(&k->in[0]);
    struct tfd_box_nest row = {.rows = 1, .count = n ? all / n : 0};
    tfd_box_loop *loop = tfd_box_run_of(row.count);
    bool past = tfd_lines_worth(all, all);

    if (row.count > ROW_MAX)
        return false;
    for (int i = 0; i < k->out_count; i++) {
        next[i] = tfd_tensor_data(&k->out[i]);
        past =
            past && tfd_rows_streams((size_t)all, next[i], (size_t)row.count);
    }
    for (int64_t i = 0; row.count && i < n && !tfd_halted(); i++) {
        char *to = next[number[i]];

        if (past)
            tfd_lines_stream(to, from, (size_t)row.count);
        else
            loop(&row, to, from);
        next[number[i]] = to + row.count;
        from += row.count;
    }
    if (past)
        tfd_lines_end();
    return true;
}

enum tfd_code tfd_dynamic_partition_outputs(struct tfd_kctx *k,
                                            const int64_t *count,
                                            struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t dim[TFD_RANK_MAX + 1];
    int rank = 1;

    for (int d = k->in[1].shape.rank; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    for (int i = 0; i < k->out_count; i++) {
        struct tfd_shape out;

        dim[0] = count[i];
        TFD_TRY(tfd_shape_make(&out, dim, rank, st));
        TFD_TRY(tfd_kctx_output(k, i, k->in[0].dtype, &out, st));
    }
    return TFD_OK;
}

/* at[]: rows that each output has already. */
static enum tfd_code copy_to_partitions(struct tfd_kctx *k, int64_t *at,
                                        struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const int32_t *number = tfd_tensor_data(&k->in[1]);
    int64_t n = tfd_tensor_elements(&k->in[1]);
    int64_t inner = n ? tfd_tensor_elements(x) / n : 0;

    for (int64_t i = 0, run; i < n; i += run) {
        void *to = tfd_tensor_data(&k->out[number[i]]);

        for (run = 1; i + run < n && number[i + run] == number[i];)
            run++;
        TFD_TRY(tfd_elements_copy(
            x->dtype, tfd_element_at(to, x->dtype, at[number[i]] * inner),
            tfd_element_of(tfd_tensor_data(x), x->dtype, i * inner),
            inner ? run * inner : 0, st));
        at[number[i]] += run;
    }
    return TFD_OK;
}

enum tfd_code tfd_dynamic_partition_check(const struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *numbers = &k->in[1].shape;
    char data[TFD_SHAPE_TEXT_MAX], text[TFD_SHAPE_TEXT_MAX];
    bool fits = numbers->rank <= x->rank;

    for (int d = 0; fits && d < numbers->rank; d++)
        fits = numbers->dim[d] == x->dim[d];
    if (fits)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "data.shape must start with partitions.shape, got "
                    "data.shape = %s, partitions.shape = %s",
                    tfd_shape_text(x, data), tfd_shape_text(numbers, text));
}

#define FEW_OUTPUTS 16 /* whose counters need no memory */

static enum tfd_code partition(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t few[2 * FEW_OUTPUTS] = {0}, *count = few;
    bool numbers = tfd_dtype_is_pod(k->in[0].dtype);
    enum tfd_code rc;

    TFD_TRY(tfd_dynamic_partition_check(k, st));
    if (k->out_count > FEW_OUTPUTS)
        count = calloc((size_t)k->out_count, 2 * sizeof(*count));
    if (!count)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d counters",
                        k->out_count);
    rc = count_rows(&k->in[1], k->out_count, count, st);
    if (rc == TFD_OK)
        rc = tfd_dynamic_partition_outputs(k, count, st);
    if (rc == TFD_OK && numbers && k->in[0].shape.rank == k->in[1].shape.rank)
        put_elements(k, (void **)(count + k->out_count));
    else if (rc == TFD_OK &&
             !(numbers && put_wide_rows(k, (void **)(count + k->out_count))))
        rc = copy_to_partitions(k, count + k->out_count, st);
    if (count != few)
        free(count);
    return rc;
}

static enum tfd_code partition_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    int64_t dim[TFD_RANK_MAX + 1] = {TFD_DIM_UNKNOWN};
    int rank = 1;

    if (x->rank == TFD_RANK_UNKNOWN || s->in[1].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    for (int d = s->in[1].rank; d < x->rank; d++)
        dim[rank++] = x->dim[d];
    for (int i = 0; i < s->out_count; i++)
        TFD_TRY(tfd_shape_make_partial(&s->out[i], dim, rank, st));
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* 0, 1, 2, ... in the shape of the partitions. */
static struct tfd_edge row_numbers(struct tfd_gradient *b,
                                   struct tfd_edge partitions)
{
    static const int32_t zero = 0, one = 1;
    struct tfd_edge shape = tfd_gradient_shape(b, partitions);
    struct tfd_edge count =
        tfd_gradient_op2(b, "Prod", shape, tfd_gradient_ints(b, &zero, 1));
    struct tfd_edge numbers =
        tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1), count,
                         tfd_gradient_ints(b, &one, -1));

    return tfd_gradient_op2(b, "Reshape", numbers, shape);
}

/* An op with an attribute that counts inputs or outputs. */
static void emit_counted(struct tfd_gradient *b, const char *op,
                         const struct tfd_edge *in, int in_count,
                         const char *name, int count, struct tfd_edge *out,
                         int out_count)
{
    struct tfd_attr attr = {.name = tfd_str_of(name)};
    struct tfd_bytes value;

    tfd_bytes_init(&value, 64);
    tfd_attr_put_int(&value, count);
    attr.value = tfd_bytes_view(&value);
    if (b->code == TFD_OK)
        b->code = tfd_bytes_ok(&value, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, &attr, 1, out,
                                      out_count, b->st);
    tfd_bytes_deinit(&value);
}

/* The rows' numbers are partitioned as the rows were, which says where each row
 * of a gradient came from. */
static enum tfd_code partition_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge list[2 * TFD_GRAD_LIST_MAX], in[2], joined;
    int n = g->node->out_count;

    if (n > TFD_GRAD_LIST_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "gradient of %d partitions, more than %d", n,
                        TFD_GRAD_LIST_MAX);
    in[0] = row_numbers(&b, g->x[1]);
    in[1] = g->x[1];
    emit_counted(&b, "DynamicPartition", in, 2, "num_partitions", n, list, n);
    for (int i = 0; i < n; i++)
        list[n + i] = g->dy[i].node >= 0
                          ? g->dy[i]
                          : tfd_gradient_op1(&b, "ZerosLike", g->y[i]);
    emit_counted(&b, "ParallelDynamicStitch", list, 2 * n, "N", n, &joined, 1);
    g->dx[0] = tfd_gradient_op2(&b, "Reshape", joined,
                                tfd_gradient_shape(&b, g->x[0]));
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "DynamicPartition",
        .inputs = "data: T, partitions: int32",
        .outputs = "outputs: num_partitions * T",
        .attrs = "num_partitions: int >= 1; T: type",
        .shape = partition_shape,
        .grad = partition_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DynamicPartition", partition),
};

const struct tfd_family tfd_family_dynamic_partition = {
    .name = "dynamic_partition",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
