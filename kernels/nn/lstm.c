/*
 * lstm.c - cells of LSTM networks: LSTMBlockCell, one step of time, BlockLSTM
 * and BlockLSTMV2, all of them.
 *
 * Steps are those of lstm_cell.c; half is widened, and rounded at the end.
 * Steps from seq_len_max on are not computed, and zero.
 */
#include "kernels/conv/image.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/nn/recurrent.h"

#include "common/base/alloc.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/runtime.h"
#include "kernels/linalg/gemm.h"

#include <string.h>

enum output { OUT_I, OUT_CS, OUT_F, OUT_O, OUT_CI, OUT_CO, OUT_H, OUTPUTS };

struct lstm_state {
    float forget_bias, clip;
    bool peephole;
    bool second; /* V2: f before c */
};

static enum tfd_code prepare_lstm(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct lstm_state *s = state;
    const char *name = p->node->op->def->name;

    tfd_gemm_init();
    s->second = strcmp(name, "BlockLSTMV2") == 0;
    if (!s->second)
        TFD_TRY(tfd_node_float(p->node, "forget_bias", &s->forget_bias, st));
    TFD_TRY(tfd_node_float(p->node, "cell_clip", &s->clip, st));
    return tfd_node_bool(p->node, "use_peephole", &s->peephole, st);
}

/* ---- Checks -------------------------------------------------------------- */

/* Inputs of LSTMBlockCell; those of BlockLSTM are one further. */
enum { X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B, INPUTS };

static const struct tfd_recurrent_rule cell_rules[] = {
    TFD_RANK_RULE(X, 2, "x_tensor must be rank 2 but is rank ", "."),
    TFD_RANK_RULE(CS_PREV, 2, "cs_prev_tensor must be rank 2 but is rank ",
                  "."),
    TFD_RANK_RULE(H_PREV, 2, "h_prev_tensor must be rank 2 but is rank ", "."),
    TFD_RANK_RULE(W, 2, "w_tensor must be rank 2 but is rank ", "."),
    TFD_RANK_RULE(B, 1, "b_tensor must be rank 1 but is rank ", "."),
    TFD_SIZE_RULE(CS_PREV, 0, BATCH, "cs_prev.dims(0) != batch_size"),
    TFD_SIZE_RULE(H_PREV, 0, BATCH, "h_prev.dims(0) != batch_size"),
    TFD_SIZE_RULE(H_PREV, 1, CELL, "h_prev.dims(1) != cell_size"),
    TFD_SIZE_RULE(W, 0, ROWS, "w.dim_size(0) != input_size + cell_size"),
    TFD_SIZE_RULE(W, 1, GATES, "w.dim_size(1) != cell_size * 4"),
    TFD_SIZE_RULE(B, 0, GATES, "b.dim_size(0) != cell_size * 4"),
    TFD_RANK_RULE(WCI, 1, "wci_tensor must be rank 1 but is rank ", "."),
    TFD_RANK_RULE(WCF, 1, "wcf_tensor must be rank 1 but is rank ", "."),
    TFD_RANK_RULE(WCO, 1, "wco_tensor must be rank 1 but is rank ", "."),
};

/* TensorFlow reads on behind those that are shorter. */
static const struct tfd_recurrent_rule peephole_rules[] = {
    TFD_SIZE_RULE(WCI, 0, CELL, "wci.dim_size(0) != cell_size"),
    TFD_SIZE_RULE(WCF, 0, CELL, "wcf.dim_size(0) != cell_size"),
    TFD_SIZE_RULE(WCO, 0, CELL, "wco.dim_size(0) != cell_size"),
};

static const struct tfd_recurrent_rule block_rules[] = {
    TFD_RANK_RULE(0, 0, "`seq_len_max_tensor` must be rank 0 but is rank ", ""),
    TFD_SIZE_RULE(1 + CS_PREV, 0, BATCH, "cs_prev.dims(0) != batch_size"),
    TFD_SIZE_RULE(1 + H_PREV, 0, BATCH, "h_prev.dims(0) != batch_size"),
    TFD_SIZE_RULE(1 + H_PREV, 1, CELL, "h_prev.dims(1) != cell_size"),
    TFD_SIZE_RULE(1 + W, 0, ROWS, "w.dim_size(0) != input_size + cell_size"),
    TFD_SIZE_RULE(1 + W, 1, GATES, "w.dim_size(1) != cell_size * 4"),
    TFD_SIZE_RULE(1 + WCI, 0, CELL, "wci.dim_size(0) != cell_size"),
    TFD_SIZE_RULE(1 + WCF, 0, CELL, "wcf.dim_size(0) != cell_size"),
    TFD_SIZE_RULE(1 + WCO, 0, CELL, "wco.dim_size(0) != cell_size"),
    TFD_SIZE_RULE(1 + B, 0, GATES, "b.dim_size(0) != cell_size * 4"),
};

static enum tfd_code check_cell(const struct tfd_kctx *k, int64_t *size,
                                struct tfd_status *st)
{
    const struct lstm_state *s = k->state;

    size[TFD_SIZE_TIME] = 1;
    size[TFD_SIZE_BATCH] = tfd_recurrent_dim(k, X, 0);
    size[TFD_SIZE_INPUT] = tfd_recurrent_dim(k, X, 1);
    size[TFD_SIZE_CELL] = tfd_recurrent_dim(k, CS_PREV, 1);
    TFD_TRY(tfd_recurrent_sizes(size, st));
    TFD_TRY(
        tfd_recurrent_check(k, cell_rules, TFD_COUNT(cell_rules), size, st));
    if (size[TFD_SIZE_BATCH] == 0 || size[TFD_SIZE_CELL] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "cs_prev_tensor is empty, has shape: (%lld,%lld).",
                        (long long)size[TFD_SIZE_BATCH],
                        (long long)size[TFD_SIZE_CELL]);
    return s->peephole
               ? tfd_recurrent_check(k, peephole_rules,
                                     TFD_COUNT(peephole_rules), size, st)
               : TFD_OK;
}

static enum tfd_code check_block(const struct tfd_kctx *k, int64_t *size,
                                 struct tfd_status *st)
{
    size[TFD_SIZE_TIME] = tfd_recurrent_dim(k, 1 + X, 0);
    size[TFD_SIZE_BATCH] = tfd_recurrent_dim(k, 1 + X, 1);
    size[TFD_SIZE_INPUT] = tfd_recurrent_dim(k, 1 + X, 2);
    size[TFD_SIZE_CELL] = tfd_recurrent_dim(k, 1 + CS_PREV, 1);
    TFD_TRY(tfd_recurrent_sizes(size, st));
    return tfd_recurrent_check(k, block_rules, TFD_COUNT(block_rules), size,
                               st);
}

static enum tfd_code check_steps_max(const struct tfd_kctx *k, int64_t time,
                                     int64_t *steps, struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, 0, steps, st));
    if (*steps < 0 || *steps > time)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "seq_len_max must be between 0 and %lld but is %lld",
                        (long long)time, (long long)*steps);
    return TFD_OK;
}

/* ---- The work ------------------------------------------------------------ */

struct run {
    int64_t size[TFD_SIZES];
    int64_t steps;
    int first; /* input x */
    struct tfd_image o[INPUTS + OUTPUTS];
};

static float *work(struct run *r, int i)
{
    return tfd_tensor_data(&r->o[i].work);
}

static struct tfd_lstm lstm_of(const struct tfd_kctx *k, struct run *r)
{
    const struct lstm_state *s = k->state;

    return (struct tfd_lstm){.batch = r->size[TFD_SIZE_BATCH],
                             .input = r->size[TFD_SIZE_INPUT],
                             .cell = r->size[TFD_SIZE_CELL],
                             .forget_bias = s->forget_bias,
                             .clip = s->clip,
                             .peephole = s->peephole,
                             .at_c = s->second ? 2 : 1,
                             .at_f = s->second ? 1 : 2,
                             .w = work(r, W),
                             .wci = work(r, WCI),
                             .wcf = work(r, WCF),
                             .wco = work(r, WCO),
                             .b = work(r, B)};
}

/* Of rows from `row` on. */
static struct tfd_lstm_step step_at(struct run *r, int64_t t, int64_t row)
{
    const int64_t n = r->size[TFD_SIZE_BATCH] * r->size[TFD_SIZE_CELL];
    const int64_t at = row * r->size[TFD_SIZE_CELL];
    float *out[OUTPUTS];

    for (int i = 0; i < OUTPUTS; i++)
        out[i] = work(r, INPUTS + i) + t * n + at;
    return (struct tfd_lstm_step){
        .x = r->size[TFD_SIZE_INPUT] == 0
                 ? NULL
                 : work(r, X) + (t * r->size[TFD_SIZE_BATCH] + row) *
                                    r->size[TFD_SIZE_INPUT],
        .cs_prev = t == 0 ? work(r, CS_PREV) + at : out[OUT_CS] - n,
        .h_prev = t == 0 ? work(r, H_PREV) + at : out[OUT_H] - n,
        .i = out[OUT_I],
        .cs = out[OUT_CS],
        .f = out[OUT_F],
        .o = out[OUT_O],
        .ci = out[OUT_CI],
        .co = out[OUT_CO],
        .h = out[OUT_H]};
}

/* Rows of a batch know nothing of each other: where there are many, a band of
 * them goes through all steps, so that its gates stay in a cache. */
#define BAND_FLOATS 131072 /* of gates */
#define BAND_MIN 256       /* rows, beside which it is little to pack w again */

struct bands {
    struct run *r;
    struct tfd_lstm l;
    int64_t rows; /* of a band */
};

static void run_bands(void *arg, int64_t begin, int64_t end)
{
    const struct bands *b = arg;
    const int64_t first = begin * b->rows;
    struct tfd_lstm l = b->l;

    l.gates += first * 4 * l.cell;
    for (int64_t i = begin; i < end; i++) {
        l.batch = tfd_min(b->l.batch - i * b->rows, b->rows);
        for (int64_t t = 0; t < b->r->steps && !tfd_halted(); t++) {
            const struct tfd_lstm_step s = step_at(b->r, t, i * b->rows);

            tfd_lstm_forward(NULL, &l, &s);
        }
    }
}

/* False: there are not as many rows. */
static bool run_in_bands(struct tfd_kctx *k, struct run *r,
                         const struct tfd_lstm *l)
{
    const int64_t threads = tfd_kctx_threads(k);
    struct bands b = {r, *l, BAND_FLOATS / 4 / l->cell};
    const double ns =
        (double)b.rows * (double)l->cell * (double)(l->input + l->cell) / 5;
    int64_t count;

    if (b.rows < BAND_MIN || b.rows * (threads + 1) > l->batch)
        return false;
    count = (l->batch + b.rows - 1) / b.rows;
    tfd_kctx_parallel(k, count, ns < 1e9 ? (int)ns : 1000000000, run_bands, &b);
    return true;
}

static enum tfd_code run_steps(struct tfd_kctx *k, struct run *r,
                               struct tfd_status *st)
{
    const int64_t n = r->size[TFD_SIZE_BATCH] * r->size[TFD_SIZE_CELL];
    struct tfd_lstm l = lstm_of(k, r);
    struct tfd_buffer *b = tfd_buffer_new((size_t)n * 4 * sizeof(float));
    bool banded;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the gates of %lld units",
                        (long long)n);
    l.gates = b->data;
    banded = run_in_bands(k, r, &l);
    for (int64_t t = 0; !banded && t < r->steps && !tfd_halted(); t++) {
        const struct tfd_lstm_step s = step_at(r, t, 0);

        tfd_lstm_forward(k, &l, &s);
    }
    for (int i = 0; i < OUTPUTS; i++)
        tfd_halt_clear(work(r, INPUTS + i) + r->steps * n,
                       (size_t)((r->size[TFD_SIZE_TIME] - r->steps) * n) *
                           sizeof(float));
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code run_lstm(struct tfd_kctx *k, struct run *r,
                              const struct tfd_shape *shape,
                              struct tfd_status *st)
{
    enum tfd_code rc;

    for (int i = 0; i < OUTPUTS; i++)
        TFD_TRY(tfd_kctx_output(k, i, k->in[r->first].dtype, shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    for (int i = 0; i < INPUTS; i++)
        r->o[i] = tfd_image_operand(&k->in[r->first + i], false);
    for (int i = 0; i < OUTPUTS; i++)
        r->o[INPUTS + i] = tfd_image_result(i, false);
    rc = tfd_image_begin(k, r->o, INPUTS + OUTPUTS, st);
    if (rc == TFD_OK)
        rc = run_steps(k, r, st);
    return tfd_image_end(k, r->o, INPUTS + OUTPUTS, rc, st);
}

static enum tfd_code cell_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct run r = {.steps = 1};
    struct tfd_shape shape;

    TFD_TRY(check_cell(k, r.size, st));
    TFD_TRY(tfd_shape_make(
        &shape,
        (const int64_t[]){r.size[TFD_SIZE_BATCH], r.size[TFD_SIZE_CELL]}, 2,
        st));
    return run_lstm(k, &r, &shape, st);
}

static enum tfd_code block_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct run r = {.first = 1};
    struct tfd_shape shape;

    TFD_TRY(check_block(k, r.size, st));
    TFD_TRY(check_steps_max(k, r.size[TFD_SIZE_TIME], &r.steps, st));
    TFD_TRY(tfd_shape_make(&shape,
                           (const int64_t[]){r.size[TFD_SIZE_TIME],
                                             r.size[TFD_SIZE_BATCH],
                                             r.size[TFD_SIZE_CELL]},
                           3, st));
    return run_lstm(k, &r, &shape, st);
}

/* ---- Shapes, gradient ---------------------------------------------------- */

static enum tfd_code lstm_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const int first = s->in_count - INPUTS;
    struct tfd_shape x = {first ? 3 : 2,
                          {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape prev = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&x, &s->in[first + X], st));
    TFD_TRY(tfd_shape_merge(&prev, &s->in[first + CS_PREV], st));
    x.dim[first ? 2 : 1] = prev.dim[1];
    for (int i = 0; i < OUTPUTS; i++)
        s->out[i] = x;
    return TFD_OK;
}

/* TensorFlow takes BlockLSTMGrad for V2, too, which mixes up its gates c and f;
 * this is the derivative. */
static enum tfd_code block_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"use_peephole", NULL};
    const bool second = strcmp(g->node->op->def->name, "BlockLSTMV2") == 0;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[1 + INPUTS + OUTPUTS + 2], out[INPUTS];
    const int above[] = {OUT_CS, OUT_H};
    int n = 0;

    for (int i = 0; i < 1 + INPUTS; i++)
        in[n++] = g->x[i];
    for (int i = 0; i < OUTPUTS; i++)
        in[n++] = g->y[i];
    for (int i = 0; i < 2; i++)
        in[n++] = g->dy[above[i]].node >= 0
                      ? g->dy[above[i]]
                      : tfd_gradient_op1(&b, "ZerosLike", g->y[above[i]]);
    tfd_gradient_copying(&b, second ? "BlockLSTMGradV2" : "BlockLSTMGrad", in,
                         n, names, out, INPUTS);
    for (int i = 0; i < INPUTS; i++)
        g->dx[1 + i] = out[i];
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define CELL_INPUTS \
    "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
#define CELL_OUTPUTS "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
#define CELL_TYPES "use_peephole: bool = false; T: {half, float}"
#define BLOCK_CHECKS                                                   \
    "x: rank=3 'x must be 3D'; cs_prev: matrix 'cs_prev must be 2D'; " \
    "h_prev: matrix 'h_prev must be 2D'; w: matrix 'w must be 2D'; "   \
    "wci: vector 'wci must be 1D'; wcf: vector 'wcf must be 1D'; "     \
    "wco: vector 'wco must be 1D'; b: vector 'b must be 1D'"

static const struct tfd_opdef ops[] = {
    {
        .name = "LSTMBlockCell",
        .inputs = CELL_INPUTS,
        .outputs = CELL_OUTPUTS,
        .attrs =
            "forget_bias: float = 1.0; cell_clip: float = 3.0; " CELL_TYPES,
        .shape = lstm_shape,
    },
    {
        .name = "BlockLSTM",
        .inputs = "seq_len_max: int64, " CELL_INPUTS,
        .outputs = CELL_OUTPUTS,
        .attrs =
            "forget_bias: float = 1.0; cell_clip: float = 3.0; " CELL_TYPES,
        .checks = BLOCK_CHECKS,
        .shape = lstm_shape,
        .grad = block_gradient,
    },
    {
        .name = "BlockLSTMV2",
        .inputs = "seq_len_max: int64, " CELL_INPUTS,
        .outputs = CELL_OUTPUTS,
        .attrs = "cell_clip: float = 0.0; " CELL_TYPES,
        .checks = BLOCK_CHECKS,
        .shape = lstm_shape,
        .grad = block_gradient,
    },
};

#define ROW(op, name, compute)                             \
    TFD_KERNEL(op, name, compute, .prepare = prepare_lstm, \
               .state_size = sizeof(struct lstm_state),    \
               .flags = TFD_KERNEL_HEAVY)
#define ROWS(name)                             \
    ROW("LSTMBlockCell", name, cell_compute),  \
        ROW("BlockLSTM", name, block_compute), \
        ROW("BlockLSTMV2", name, block_compute)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT), ROWS(HALF)};

const struct tfd_family tfd_family_lstm = {
    .name = "lstm",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
