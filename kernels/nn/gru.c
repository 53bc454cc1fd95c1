/*
 * gru.c - cells of GRU networks: GRUBlockCell, one step of time, and its
 * gradient.
 *
 *     r, u = logistic([x, h_prev] * w_ru + b_ru)
 *     c = tanh([x, h_prev * r] * w_c + b_c)
 *     h = u * h_prev + (1 - u) * c
 */
#include "kernels/nn/recurrent.h"

#include "common/base/alloc.h"
#include "common/base/min.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include <string.h>

/* ---- Checks -------------------------------------------------------------- */

enum { X, H_PREV, W_RU, W_C, B_RU, B_C, R, U, C, D_H };

/* The gradient has them all, the cell those before r. */
static const struct tfd_recurrent_rule rules[] = {
    TFD_RANK_RULE(X, 2, "Rank of x must be 2, got ", ""),
    TFD_RANK_RULE(H_PREV, 2, "Rank of h_prev must be 2, got ", ""),
    TFD_SIZE_RULE(H_PREV, 0, BATCH, "h_prev.dims(0) != batch_size"),
    TFD_RANK_RULE(W_RU, 2, "Rank of w_ru_ must be 2, got ", ""),
    TFD_SIZE_RULE(W_RU, 0, ROWS, "w_ru.dim_size(0) != input_size + cell_size"),
    TFD_SIZE_RULE(W_RU, 1, DOUBLE, "w_ru.dim_size(1) != cell_size * 2"),
    TFD_RANK_RULE(W_C, 2, "Rank of w_c must be 2, got ", ""),
    TFD_SIZE_RULE(W_C, 0, ROWS, "w_c.dim_size(0) != input_size + cell_size"),
    TFD_SIZE_RULE(W_C, 1, CELL, "w_c.dim_size(1) != cell_size"),
    TFD_RANK_RULE(B_RU, 1, "Rank of b_ru must be 1, got ", ""),
    TFD_SIZE_RULE(B_RU, 0, DOUBLE, "b_ru.dim_size(0) != cell_size * 2"),
    TFD_RANK_RULE(B_C, 1, "Rank of b_c must be 1, got ", ""),
    TFD_SIZE_RULE(B_C, 0, CELL, "b_c.dim_size(0) != cell_size"),
    TFD_RANK_RULE(R, 2, "Rank of r must be 2, got ", ""),
    TFD_SIZE_RULE(R, 0, BATCH, "r.dims(0) != batch_size"),
    TFD_SIZE_RULE(R, 1, CELL, "r.dims(1) != cell_size"),
    TFD_RANK_RULE(U, 2, "Rank of u must be 2, got ", ""),
    TFD_SIZE_RULE(U, 0, BATCH, "u.dims(0) != batch_size"),
    TFD_SIZE_RULE(U, 1, CELL, "u.dims(1) != cell_size"),
    TFD_RANK_RULE(C, 2, "Rank of w_c must be 2, got ", ""),
    TFD_SIZE_RULE(C, 0, BATCH, "c.dims(0) != batch_size"),
    TFD_SIZE_RULE(C, 1, CELL, "c.dims(1) != cell_size"),
    TFD_RANK_RULE(D_H, 2, "Rank of d_h must be 2, got ", ""),
    TFD_SIZE_RULE(D_H, 0, BATCH, "d_h.dims(0) != batch_size"),
    TFD_SIZE_RULE(D_H, 1, CELL, "d_h.dims(1) != cell_size"),
};

static enum tfd_code check_gru(const struct tfd_kctx *k, int64_t *size,
                               struct tfd_status *st)
{
    int count = TFD_COUNT(rules);

    while (rules[count - 1].arg >= k->in_count)
        count--;
    size[TFD_SIZE_BATCH] = tfd_recurrent_dim(k, X, 0);
    size[TFD_SIZE_INPUT] = tfd_recurrent_dim(k, X, 1);
    size[TFD_SIZE_CELL] = tfd_recurrent_dim(k, H_PREV, 1);
    TFD_TRY(tfd_recurrent_sizes(size, st));
    return tfd_recurrent_check(k, rules, count, size, st);
}

/* ---- Loops --------------------------------------------------------------- */

struct gru {
    int64_t batch, input, cell;
    const float *in[D_H + 1];
    float *out[4];
    float *gates;  /* [batch][2][cell]: r and u, or their gradients */
    float *hidden; /* [batch][cell]: h_prev * r, or the gradient of that */
};

#define COST_NS 6 /* of a unit */

/* Results for columns [first, first + TILE) of a row, or fewer.  They are
 * computed here before they are copied, since the compiler uses no vectors
 * where each output may lie over each input. */
#define TILE 128

struct tile {
    float a[TILE], b[TILE], c[TILE];
};

TFD_VECTOR void copy_tile(float *to, const float *tile, int64_t count)
{
    memcpy(to, tile, (size_t)count * sizeof(float));
}

/* Part `c` of row `row`, whose elements lie from `at` on. */
#define EACH_TILE(g, row, c, at, count)                                     \
    for (int64_t row = begin; row < end; row++)                             \
        for (int64_t c = 0, at = row * (g)->cell, count;                    \
             c < (g)->cell && (count = tfd_min((g)->cell - c, TILE), true); \
             c += TILE, at += TILE)

TFD_VECTOR void open_tile(const float *gate, const float *bias, int64_t n,
                          const float *prev, int64_t count, struct tile *t)
{
    for (int64_t i = 0; i < count; i++) {
        t->a[i] = tfd_vector_logistic(gate[i] + bias[i]);
        t->b[i] = tfd_vector_logistic(gate[n + i] + bias[n + i]);
        t->c[i] = prev[i] * t->a[i];
    }
}

TFD_SIMD_LOOP(open_gates)
{
    const struct gru *g = arg;
    struct tile t;

    EACH_TILE(g, row, c, at, count)
    {
        open_tile(g->gates + row * 2 * g->cell + c, g->in[B_RU] + c, g->cell,
                  g->in[H_PREV] + at, count, &t);
        copy_tile(g->out[0] + at, t.a, count);
        copy_tile(g->out[1] + at, t.b, count);
        copy_tile(g->hidden + at, t.c, count);
    }
}
TFD_SIMD_CLONES_WIDE(open_gates)

TFD_VECTOR void mix_tile(const float *sum, const float *bias, const float *u,
                         const float *prev, int64_t count, struct tile *t)
{
    for (int64_t i = 0; i < count; i++) {
        t->a[i] = tfd_vector_tanh(sum[i] + bias[i]);
        t->b[i] = u[i] * (prev[i] - t->a[i]) + t->a[i];
    }
}

TFD_SIMD_LOOP(mix_states)
{
    const struct gru *g = arg;
    struct tile t;

    EACH_TILE(g, row, c, at, count)
    {
        mix_tile(g->out[2] + at, g->in[B_C] + c, g->out[1] + at,
                 g->in[H_PREV] + at, count, &t);
        copy_tile(g->out[2] + at, t.a, count);
        copy_tile(g->out[3] + at, t.b, count);
    }
}
TFD_SIMD_CLONES_WIDE(mix_states)

/* Outputs of the gradient. */
enum { D_X, D_H_PREV, D_C_BAR, D_RU_BAR };

TFD_VECTOR void bend_tile(const struct gru *g, int64_t at, int64_t count,
                          struct tile *t)
{
    const float *u = g->in[U] + at, *c = g->in[C] + at;
    const float *dh = g->in[D_H] + at, *prev = g->in[H_PREV] + at;

    for (int64_t i = 0; i < count; i++) {
        t->a[i] = dh[i] * (1 - u[i]) * (1 - c[i] * c[i]);
        t->b[i] = dh[i] * (prev[i] - c[i]) * u[i] * (1 - u[i]);
    }
}

TFD_SIMD_LOOP(bend_candidates)
{
    const struct gru *g = arg;
    struct tile t;

    EACH_TILE(g, row, c, at, count)
    {
        bend_tile(g, at, count, &t);
        copy_tile(g->out[D_C_BAR] + at, t.a, count);
        copy_tile(g->gates + (row * 2 + 1) * g->cell + c, t.b, count);
    }
}
TFD_SIMD_CLONES(bend_candidates)

TFD_VECTOR void reset_tile(const struct gru *g, int64_t at, int64_t count,
                           struct tile *t)
{
    const float *r = g->in[R] + at, *hidden = g->hidden + at;
    const float *prev = g->in[H_PREV] + at;

    for (int64_t i = 0; i < count; i++)
        t->a[i] = hidden[i] * prev[i] * r[i] * (1 - r[i]);
}

TFD_SIMD_LOOP(bend_resets)
{
    const struct gru *g = arg;
    struct tile t;

    EACH_TILE(g, row, c, at, count)
    {
        reset_tile(g, at, count, &t);
        copy_tile(g->gates + row * 2 * g->cell + c, t.a, count);
    }
}
TFD_SIMD_CLONES(bend_resets)

TFD_VECTOR void sum_tile(const struct gru *g, int64_t at, int64_t count,
                         struct tile *t)
{
    const float *r = g->in[R] + at, *hidden = g->hidden + at;
    const float *dh = g->in[D_H] + at, *u = g->in[U] + at;
    const float *sum = g->out[D_H_PREV] + at;

    for (int64_t i = 0; i < count; i++)
        t->a[i] = sum[i] + (hidden[i] * r[i] + dh[i] * u[i]);
}

TFD_SIMD_LOOP(sum_states)
{
    const struct gru *g = arg;
    struct tile t;

    EACH_TILE(g, row, c, at, count)
    {
        sum_tile(g, at, count, &t);
        copy_tile(g->out[D_H_PREV] + at, t.a, count);
    }
}
TFD_SIMD_CLONES(sum_states)

/* ---- Kernels ------------------------------------------------------------- */

static int cost_of_row(const struct gru *g)
{
    return g->cell < INT32_MAX / COST_NS ? (int)(g->cell * COST_NS) : INT32_MAX;
}

static struct gru gru_of(struct tfd_kctx *k, const int64_t *size)
{
    struct gru g = {.batch = size[TFD_SIZE_BATCH],
                    .input = size[TFD_SIZE_INPUT],
                    .cell = size[TFD_SIZE_CELL]};

    for (int i = 0; i < k->in_count; i++)
        g.in[i] = tfd_tensor_data(&k->in[i]);
    for (int i = 0; i < k->out_count; i++)
        g.out[i] = tfd_tensor_data(&k->out[i]);
    return g;
}

static enum tfd_code buffer_of(const struct gru *g, int64_t each,
                               struct tfd_buffer **out, struct tfd_status *st)
{
    const int64_t n = g->batch * g->cell * each;

    *out = tfd_buffer_new((size_t)n * sizeof(float));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for a GRU cell",
                        (long long)n);
    return TFD_OK;
}

static void prepare_products(const struct gru *g,
                             struct tfd_recurrent_product *ru,
                             struct tfd_recurrent_product *c)
{
    *ru = (struct tfd_recurrent_product){g->batch, g->input, g->cell,
                                         2 * g->cell};
    *c = (struct tfd_recurrent_product){g->batch, g->input, g->cell, g->cell};
}

static enum tfd_code gru_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t size[TFD_SIZES];
    struct tfd_recurrent_product ru, c;
    struct tfd_buffer *b;
    struct gru g;

    TFD_TRY(check_gru(k, size, st));
    for (int i = 0; i < 4; i++)
        TFD_TRY(tfd_kctx_output(k, i, TFD_FLOAT, &k->in[H_PREV].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    g = gru_of(k, size);
    TFD_TRY(buffer_of(&g, 3, &b, st));
    g.gates = b->data;
    g.hidden = g.gates + g.batch * 2 * g.cell;
    prepare_products(&g, &ru, &c);
    tfd_recurrent_forward(k, &ru, g.in[X], g.in[H_PREV], g.in[W_RU], g.gates);
    tfd_kctx_parallel(k, g.batch, cost_of_row(&g), open_gates, &g);
    tfd_recurrent_forward(k, &c, g.in[X], g.hidden, g.in[W_C], g.out[2]);
    tfd_kctx_parallel(k, g.batch, cost_of_row(&g), mix_states, &g);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code grad_outputs(struct tfd_kctx *k, const int64_t *size,
                                  struct tfd_status *st)
{
    struct tfd_shape gates;

    TFD_TRY(tfd_shape_make(
        &gates, (const int64_t[]){size[TFD_SIZE_BATCH], size[TFD_SIZE_DOUBLE]},
        2, st));
    TFD_TRY(tfd_kctx_output(k, D_X, TFD_FLOAT, &k->in[X].shape, st));
    TFD_TRY(tfd_kctx_output(k, D_H_PREV, TFD_FLOAT, &k->in[H_PREV].shape, st));
    TFD_TRY(tfd_kctx_output(k, D_C_BAR, TFD_FLOAT, &k->in[H_PREV].shape, st));
    return tfd_kctx_output(k, D_RU_BAR, TFD_FLOAT, &gates, st);
}

static enum tfd_code gru_grad_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t size[TFD_SIZES];
    struct tfd_recurrent_product ru, c;
    struct tfd_buffer *b;
    struct gru g;

    TFD_TRY(check_gru(k, size, st));
    TFD_TRY(grad_outputs(k, size, st));
    if (!k->out[D_H_PREV].buffer) {
        tfd_elements_clear(&k->out[D_X]);
        return TFD_OK;
    }
    g = gru_of(k, size);
    TFD_TRY(buffer_of(&g, 1, &b, st));
    g.gates = g.out[D_RU_BAR];
    g.hidden = b->data;
    prepare_products(&g, &ru, &c);
    tfd_kctx_parallel(k, g.batch, cost_of_row(&g), bend_candidates, &g);
    tfd_recurrent_backward(k, &c, g.out[D_C_BAR], g.in[W_C], false, g.out[D_X],
                           g.hidden);
    tfd_kctx_parallel(k, g.batch, cost_of_row(&g), bend_resets, &g);
    tfd_recurrent_backward(k, &ru, g.gates, g.in[W_RU], true, g.out[D_X],
                           g.out[D_H_PREV]);
    tfd_kctx_parallel(k, g.batch, cost_of_row(&g), sum_states, &g);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code prepare_gru(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    (void)p;
    (void)state;
    (void)st;
    tfd_gemm_init();
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code gru_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape h = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&h, &s->in[H_PREV], st));
    for (int i = 0; i < 4; i++)
        s->out[i] = h;
    return TFD_OK;
}

static enum tfd_code gru_grad_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    TFD_TRY(gru_shape(s, st));
    s->out[D_X] = s->in[X];
    s->out[D_RU_BAR].dim[1] = TFD_DIM_UNKNOWN;
    return TFD_OK;
}

#define CELL_INPUTS "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"

static const struct tfd_opdef ops[] = {
    {
        .name = "GRUBlockCell",
        .inputs = CELL_INPUTS,
        .outputs = "r: T, u: T, c: T, h: T",
        .attrs = "T: {float}",
        .shape = gru_shape,
    },
    {
        .name = "GRUBlockCellGrad",
        .inputs = CELL_INPUTS ", r: T, u: T, c: T, d_h: T",
        .outputs = "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
        .attrs = "T: {float}",
        .shape = gru_grad_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("GRUBlockCell", FLOAT, gru_compute, .prepare = prepare_gru,
               .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL("GRUBlockCellGrad", FLOAT, gru_grad_compute,
               .prepare = prepare_gru, .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_gru = {
    .name = "gru",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
