/*
 * select.c - elements of one tensor or another, by a condition:
 *
 *     SelectV2(c, t, e)   all three are broadcast
 *     Select(c, t, e)     t and e have one shape; c has it too, or is a scalar,
 *                         or a vector that chooses among the first dimension
 *
 * Elements are moved, not looked at, so loops come by size.  A condition that
 * is one element for the whole result makes the result t or e itself, without
 * a copy where the shape allows.
 */
#include "kernels/core/families.h"

#include "common/base/atomic.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/layout/chosen_rows.h"
#include "kernels/layout/lines.h"

#include <string.h>

/* ---- Loops --------------------------------------------------------------- */

struct row {
    const tfd_bool *c;
    const void *t, *e;
    void *y;
    int c_step, t_step, e_step;
    enum tfd_dtype dtype;
    int *failed;
};

/* The usual steps are constants, so that the compiler can vectorise. */
#define DEFINE_LOOP(T)                                                        \
    static inline __attribute__((always_inline)) void choose_##T(             \
        const struct row *r, int64_t begin, int64_t end, int cs, int ts,      \
        int es)                                                               \
    {                                                                         \
        const T *t = r->t, *e = r->e;                                         \
        T *y = r->y;                                                          \
                                                                              \
        for (int64_t i = begin; i < end; i++) {                               \
            const T yes = t[i * ts], no = e[i * es];                          \
                                                                              \
            y[i] = r->c[i * cs] ? yes : no;                                   \
        }                                                                     \
    }                                                                         \
                                                                              \
    /* One condition for all of them. */                                      \
    static void take_##T(const struct row *r, int64_t begin, int64_t end)     \
    {                                                                         \
        const T *x = *r->c ? r->t : r->e;                                     \
        const T first = *x;                                                   \
        T *y = r->y;                                                          \
                                                                              \
        if (*r->c ? r->t_step : r->e_step)                                    \
            memmove(y + begin, x + begin, (size_t)(end - begin) * sizeof(T)); \
        else                                                                  \
            for (int64_t i = begin; i < end; i++)                             \
                y[i] = first;                                                 \
    }                                                                         \
                                                                              \
    TFD_SIMD_LOOP(loop_##T)                                                   \
    {                                                                         \
        const struct row *r = arg;                                            \
                                                                              \
        if (!r->c_step) {                                                     \
            take_##T(r, begin, end);                                          \
            return;                                                           \
        }                                                                     \
        if (r->t_step && r->e_step)                                           \
            choose_##T(r, begin, end, 1, 1, 1);                               \
        else if (r->t_step)                                                   \
            choose_##T(r, begin, end, 1, 1, 0);                               \
        else if (r->e_step)                                                   \
            choose_##T(r, begin, end, 1, 0, 1);                               \
        else                                                                  \
            choose_##T(r, begin, end, 1, 0, 0);                               \
    }                                                                         \
                                                                              \
    TFD_SIMD_CLONES_WIDE(loop_##T)

DEFINE_LOOP(uint8_t)
DEFINE_LOOP(uint16_t)
DEFINE_LOOP(uint32_t)
DEFINE_LOOP(uint64_t)

DEFINE_LOOP(tfd_complex128)

/* Strings and handles. */
static void loop_owned(void *arg, int64_t begin, int64_t end)
{
    const struct row *r = arg;

    for (int64_t i = begin; i < end; i++) {
        const void *from = r->c[i * r->c_step]
                               ? tfd_element_of(r->t, r->dtype, i * r->t_step)
                               : tfd_element_of(r->e, r->dtype, i * r->e_step);

        if (tfd_elements_copy(r->dtype, tfd_element_at(r->y, r->dtype, i), from,
                              1, NULL) != TFD_OK)
            TFD_STORE_RELAXED(r->failed, 1);
    }
}

/* ---- Running them -------------------------------------------------------- */

struct rows {
    const struct tfd_broadcast *plan;
    struct row row;
    tfd_range_fn *loop;
};

/* A condition for each row of as many elements on both sides. */
static void take_rows(const struct rows *rows, int64_t begin, int64_t end)
{
    const struct tfd_broadcast *p = rows->plan;
    const struct row *r = &rows->row;
    const size_t item = tfd_dtype_size(r->dtype);
    const size_t size = item * (size_t)p->row_size;
    char *y = (char *)r->y + size * (size_t)begin;
    struct tfd_broadcast_at at;

    tfd_broadcast_seek(p, begin, &at);
    for (int64_t i = begin; i < end; i++, y += size) {
        const char *yes = (const char *)r->t + (size_t)at.offset[1] * item;
        const char *no = (const char *)r->e + (size_t)at.offset[2] * item;
        const char *from = r->c[at.offset[0]] ? yes : no;

        if (from != y) /* the result may take an input's place */
            memcpy(y, from, size);
        tfd_broadcast_next(p, &at);
    }
}

/* The same where the conditions are a vector. */
static void take_listed(const struct rows *rows, int64_t begin, int64_t end)
{
    const struct row *r = &rows->row;
    const struct tfd_broadcast *p = rows->plan;
    const size_t size = tfd_dtype_size(r->dtype) * (size_t)p->row_size;
    struct tfd_chosen_rows chosen = {
        .c = r->c,
        .yes = r->t,
        .no = r->e,
        .to = r->y,
        .c_step = p->step[0][0],
        .yes_step = p->step[1][0] ? size : 0,
        .no_step = p->step[2][0] ? size : 0,
        .size = size,
        .count = p->rows,
    };

    tfd_chosen_rows_take(&chosen, begin, end);
}

static void run_select_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *rows = arg;
    const struct tfd_broadcast *p = rows->plan;
    enum tfd_dtype dtype = rows->row.dtype;
    struct tfd_broadcast_at at;

    if (!rows->row.c_step && rows->row.t_step && rows->row.e_step &&
        tfd_dtype_is_pod(dtype)) {
        (p->rank == 1 ? take_listed : take_rows)(rows, begin, end);
        return;
    }
    tfd_broadcast_seek(p, begin, &at);
    for (int64_t i = begin; i < end; i++, tfd_broadcast_next(p, &at)) {
        struct row row = rows->row;

        row.c += at.offset[0];
        row.t = tfd_element_of(row.t, dtype, at.offset[1]);
        row.e = tfd_element_of(row.e, dtype, at.offset[2]);
        row.y = tfd_element_at(row.y, dtype, i * p->row_size);
        rows->loop(&row, 0, p->row_size);
    }
}

/* A nearest cache holds it, both its sides, and both of the next; of larger
 * ones memory is read and written by turns. */
#define PAST_BLOCK_SIZE 2048

/* One row of all, past the caches: block by block (lines.h). */
static void choose_past(void *arg, int64_t begin, int64_t end)
{
    _Alignas(64) char place[TFD_LINES_PLACE];
    const struct rows *rows = arg;
    const struct row *r = &rows->row;
    const int64_t size = (int64_t)tfd_dtype_size(r->dtype);
    const int64_t most = PAST_BLOCK_SIZE / size;

    for (int64_t i = begin; i < end; i += most) {
        const int64_t n = end - i < most ? end - i : most;
        char *y = (char *)r->y + i * size;
        struct row some = *r;

        some.c += i;
        some.t = (const char *)r->t + i * r->t_step * size;
        some.e = (const char *)r->e + i * r->e_step * size;
        some.y = tfd_lines_block(place, y);
        if (n < end - i) {
            tfd_lines_fetch(some.c + n, n);
            tfd_lines_fetch((const char *)some.t + n * size,
                            r->t_step * n * size);
            tfd_lines_fetch((const char *)some.e + n * size,
                            r->e_step * n * size);
        }
        rows->loop(&some, 0, n);
        tfd_lines_put(y, some.y, n * size);
    }
    tfd_lines_end();
}

/* A condition for every element of a result that takes no input's place. */
static bool goes_past(const struct rows *rows, int64_t n)
{
    const struct row *r = &rows->row;
    const int64_t size = n * (int64_t)tfd_dtype_size(r->dtype);

    return tfd_dtype_is_pod(r->dtype) && r->c_step && r->y != r->t &&
           r->y != r->e &&
           tfd_lines_worth(size, (r->t_step + r->e_step) * size);
}

#define ROW_COST 400 /* of beginning a row, in bytes */

static void run_select(struct tfd_kctx *k, struct rows *rows)
{
    int64_t n = rows->plan->row_size, count = rows->plan->rows;

    if (count == 1 && n <= TFD_ELEMENTWISE_FEW)
        rows->loop(&rows->row, 0, n);
    else if (count == 1 && goes_past(rows, n))
        tfd_kctx_parallel(k, n, 1, choose_past, rows);
    else if (count == 1)
        tfd_kctx_parallel(k, n, 1, rows->loop, &rows->row);
    else
        tfd_kctx_parallel_bytes(k, count,
                                ROW_COST +
                                    (int)(n < 1000000 ? n : 1000000) * 3 *
                                        (int)tfd_dtype_size(rows->row.dtype),
                                run_select_rows, rows);
}

/* in[] are the shapes by which the three operands are seen. */
static enum tfd_code choose_values(struct tfd_kctx *k,
                                   const struct tfd_shape *out,
                                   const struct tfd_shape *const *in,
                                   struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[1].dtype;
    struct tfd_broadcast plan;
    struct rows rows = {.plan = &plan, .loop = k->kernel->range};
    int failed = 0;

    TFD_TRY(tfd_kctx_output_reuse(k, 6, 0, dtype, out, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    tfd_broadcast_plan(&plan, out, in, 3);
    rows.row = (struct row){
        .c = k->in[0].buffer->data,
        .t = k->in[1].buffer->data,
        .e = k->in[2].buffer->data,
        .y = k->out[0].buffer->data,
        .c_step = plan.row_step[0],
        .t_step = plan.row_step[1],
        .e_step = plan.row_step[2],
        .dtype = dtype,
        .failed = &failed,
    };
    run_select(k, &rows);
    if (failed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when copying elements of type %s",
                        tfd_dtype_name((int)dtype));
    return TFD_OK;
}

/* True when the condition is one element and the chosen side is the result. */
static bool take_whole(struct tfd_kctx *k, const struct tfd_shape *out)
{
    const tfd_bool *c = tfd_tensor_data(&k->in[0]);
    int side;

    if (!c || tfd_tensor_elements(&k->in[0]) != 1)
        return false;
    side = *c ? 1 : 2;
    if (!tfd_shape_equal(&k->in[side].shape, out))
        return false;
    tfd_kctx_output_alias(k, side, 0, out);
    return true;
}

/* ---- SelectV2 ------------------------------------------------------------ */

static enum tfd_code fail_broadcast(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    char c[TFD_SHAPE_TEXT_MAX], t[TFD_SHAPE_TEXT_MAX], e[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "condition %s, then %s, and else %s must be broadcastable",
                    tfd_shape_text(&k->in[0].shape, c),
                    tfd_shape_text(&k->in[1].shape, t),
                    tfd_shape_text(&k->in[2].shape, e));
}

enum tfd_code tfd_select_v2_shape(const struct tfd_kctx *k,
                                  struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *c = &k->in[0].shape, *t = &k->in[1].shape,
                           *e = &k->in[2].shape;

    if (!tfd_broadcast_fits(t, e))
        return fail_broadcast(k, st);
    TFD_TRY(tfd_broadcast_shape(t, e, out, st));
    if (!tfd_broadcast_fits(c, out))
        return fail_broadcast(k, st);
    return tfd_broadcast_shape(c, out, out, st);
}

static enum tfd_code select_v2_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape c = k->in[0].shape, t = k->in[1].shape,
                           e = k->in[2].shape;
    const struct tfd_shape *const in[] = {&c, &t, &e};
    struct tfd_shape out;

    TFD_TRY(tfd_select_v2_shape(k, &out, st));
    if (take_whole(k, &out))
        return TFD_OK;
    return choose_values(k, &out, in, st);
}

/* ---- Select -------------------------------------------------------------- */

static enum tfd_code fail_sides(const struct tfd_kctx *k, struct tfd_status *st)
{
    char t[TFD_SHAPE_TEXT_MAX], e[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "'then' and 'else' must have the same size.  but received: "
                    "%s vs. %s",
                    tfd_shape_text(&k->in[1].shape, t),
                    tfd_shape_text(&k->in[2].shape, e));
}

static enum tfd_code check_same_shape(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    char first[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_str name = k->node ? k->node->name : TFD_STR_EMPTY;

    for (int i = 1; i < 3; i++)
        if (!tfd_shape_equal(&k->in[0].shape, &k->in[i].shape))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Inputs to operation " TFD_STR_FMT " of type Select must have "
                "the same size and shape.  Input 0: %s != input %d: %s",
                TFD_STR_ARG(name), tfd_shape_text(&k->in[0].shape, first), i,
                tfd_shape_text(&k->in[i].shape, other));
    return TFD_OK;
}

/* The condition is a vector and the sides are not: seen as [n, 1, ...]. */
static enum tfd_code view_batches(const struct tfd_kctx *k, struct tfd_shape *c,
                                  struct tfd_status *st)
{
    const struct tfd_shape *t = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'then' must be at least a vector, but saw shape: %s",
                        tfd_shape_text(t, text));
    if (t->dim[0] != c->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Number of batches of 'then' must match size of "
                        "'cond', but saw: %lld vs. %lld",
                        (long long)t->dim[0], (long long)c->dim[0]);
    if (!tfd_shape_equal(t, &k->in[2].shape))
        return fail_sides(k, st);
    c->rank = t->rank;
    for (int i = 1; i < t->rank; i++)
        c->dim[i] = 1;
    return TFD_OK;
}

enum tfd_code tfd_select_condition(const struct tfd_kctx *k,
                                   struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_shape *t = &k->in[1].shape;

    *out = k->in[0].shape;
    if (out->rank == 0)
        return tfd_shape_equal(t, &k->in[2].shape) ? TFD_OK : fail_sides(k, st);
    if (out->rank == 1 && t->rank != 1)
        return view_batches(k, out, st);
    return check_same_shape(k, st);
}

static enum tfd_code select_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape t = k->in[1].shape, e = k->in[2].shape;
    struct tfd_shape c;
    const struct tfd_shape *const in[] = {&c, &t, &e};

    TFD_TRY(tfd_select_condition(k, &c, st));
    if (c.rank == 0) {
        (void)take_whole(k, &t);
        return TFD_OK;
    }
    return choose_values(k, &t, in, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code broadcast_with(struct tfd_shape_ctx *s,
                                    const struct tfd_shape *a,
                                    const struct tfd_shape *b,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    const struct tfd_shape in[] = {*a, *b};
    struct tfd_shape_ctx two = *s;

    *out = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    two.in = in;
    two.in_count = 2;
    two.out = out;
    two.out_count = 1;
    return tfd_shape_broadcast2(&two, st);
}

static enum tfd_code select_v2_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    struct tfd_shape sides;

    TFD_TRY(broadcast_with(s, &s->in[1], &s->in[2], &sides, st));
    return broadcast_with(s, &s->in[0], &sides, &s->out[0], st);
}

static enum tfd_code select_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape out = s->in[1], c = s->in[0];

    TFD_TRY(tfd_shape_merge(&out, &s->in[2], st));
    s->out[0] = out;
    if (c.rank <= 0 || out.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (c.rank == 1) {
        if (out.rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shapes must be equal rank, but are 0 and 1");
        out.rank = 1;
    }
    return tfd_shape_merge(&out, &c, st);
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code select_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zeros = tfd_gradient_op1(&b, "ZerosLike", g->x[1]);

    g->dx[1] = tfd_gradient_op3(&b, "Select", g->x[0], g->dy[0], zeros);
    g->dx[2] = tfd_gradient_op3(&b, "Select", g->x[0], zeros, g->dy[0]);
    return b.code;
}

static enum tfd_code select_v2_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge zero = tfd_gradient_scalar(&b, g->dy[0], 0);
    struct tfd_edge none = TFD_EDGE_NONE;

    g->dx[1] = tfd_gradient_op3(&b, "SelectV2", g->x[0], g->dy[0], zero);
    g->dx[2] = tfd_gradient_op3(&b, "SelectV2", g->x[0], zero, g->dy[0]);
    tfd_gradient_reduce(&b, g->x[1], g->y[0], &g->dx[1], &none);
    tfd_gradient_reduce(&b, g->x[2], g->y[0], &g->dx[2], &none);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Select",
        .inputs = "condition: bool, t: T, e: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = select_shape,
        .grad = select_gradient,
    },
    {
        .name = "SelectV2",
        .inputs = "condition: bool, t: T, e: T",
        .outputs = "output: T",
        .attrs = "T: type",
        .shape = select_v2_shape,
        .grad = select_v2_gradient,
    },
};

#define KERNELS(name, loop)                       \
    TFD_KERNEL("Select", name, select_cpu, loop), \
        TFD_KERNEL("SelectV2", name, select_v2_cpu, loop),

static const struct tfd_kernel kernels[] = {
    KERNELS(BOOL, loop_uint8_t) KERNELS(INT8, loop_uint8_t)
        KERNELS(UINT8, loop_uint8_t) KERNELS(INT16, loop_uint16_t)
            KERNELS(UINT16, loop_uint16_t) KERNELS(HALF, loop_uint16_t)
                KERNELS(BFLOAT16, loop_uint16_t) KERNELS(INT32, loop_uint32_t)
                    KERNELS(UINT32, loop_uint32_t) KERNELS(FLOAT, loop_uint32_t)
                        KERNELS(INT64, loop_uint64_t)
                            KERNELS(UINT64, loop_uint64_t)
                                KERNELS(DOUBLE, loop_uint64_t)
                                    KERNELS(COMPLEX64, loop_uint64_t)
                                        KERNELS(COMPLEX128, loop_tfd_complex128)
                                            KERNELS(STRING, loop_owned)
                                                KERNELS(RESOURCE, loop_owned)};

const struct tfd_family tfd_family_select = {
    .name = "select",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
