/*
 * lstm_grad.c - gradients of cells of LSTM networks: LSTMBlockCellGrad, of one
 * step of time, BlockLSTMGrad and BlockLSTMGradV2, of all, from the last to the
 * first.
 *
 * Steps are those of lstm_cell.c; half is widened, and rounded at the end.
 */
#include "kernels/conv/image.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/nn/recurrent.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/linalg/gemm.h"

#include <string.h>

struct grad_state {
    bool peephole;
    bool second; /* V2: f before c */
};

static enum tfd_code prepare_grad(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct grad_state *s = state;

    tfd_gemm_init();
    s->second = strcmp(p->node->op->def->name, "BlockLSTMGradV2") == 0;
    return tfd_node_bool(p->node, "use_peephole", &s->peephole, st);
}

/* ---- Checks -------------------------------------------------------------- */

/* Inputs of LSTMBlockCellGrad.  BlockLSTMGrad has seq_len_max before them, and
 * h before the gradients. */
enum {
    X,
    CS_PREV,
    H_PREV,
    W,
    WCI,
    WCF,
    WCO,
    B,
    I,
    CS,
    F,
    O,
    CI,
    CO,
    CS_GRAD,
    H_GRAD,
    INPUTS
};

static const struct tfd_recurrent_rule cell_rules[] = {
    TFD_RANK_RULE(X, 2, "x must be rank 2 but is rank ", ""),
    TFD_RANK_RULE(CS_PREV, 2, "cs_prev must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(CS_PREV, 0, BATCH, "cs_prev.dims(0) != batch_size"),
    TFD_RANK_RULE(H_PREV, 2, "h_prev must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(H_PREV, 0, BATCH, "h_prev.dims(0) != batch_size"),
    TFD_SIZE_RULE(H_PREV, 1, CELL, "h_prev.dims(1) != cell_size"),
    TFD_RANK_RULE(W, 2, "w must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(W, 0, ROWS, "w.dim_size(0) != input_size + cell_size"),
    TFD_SIZE_RULE(W, 1, GATES, "w.dim_size(1) != cell_size * 4"),
    TFD_RANK_RULE(B, 1, "b must be rank 1 but is rank ", ""),
    TFD_SIZE_RULE(B, 0, GATES, "b.dim_size(0) != cell_size * 4"),
    TFD_RANK_RULE(I, 2, "i must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(I, 0, BATCH, "i.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(I, 1, CELL, "i.dim_size(1) != cell_size"),
    TFD_RANK_RULE(CS, 2, "cs must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(CS, 0, BATCH, "cs.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(CS, 1, CELL, "cs.dim_size(1) != cell_size"),
    TFD_RANK_RULE(F, 2, "f must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(F, 0, BATCH, "f.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(F, 1, CELL, "i.dim_size(1) != cell_size"),
    TFD_RANK_RULE(O, 2, "o must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(O, 0, BATCH, "o.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(O, 1, CELL, "o.dim_size(1) != cell_size"),
    TFD_RANK_RULE(CI, 2, "ci must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(CI, 0, BATCH, "ci.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(CI, 1, CELL, "ci.dim_size(1) != cell_size"),
    TFD_RANK_RULE(CO, 2, "co must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(CO, 0, BATCH, "co.dim_size(0) != batch_size"),
    TFD_SIZE_RULE(CO, 1, CELL, "co.dim_size(1) != cell_size"),
    TFD_RANK_RULE(CS_GRAD, 2, "cs_grad must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(CS_GRAD, 0, BATCH, "cs_grad_tensor.dims(0) != batch_size"),
    TFD_SIZE_RULE(CS_GRAD, 1, CELL, "cs_grad_tensor.dims(1) != cell_size"),
    TFD_RANK_RULE(H_GRAD, 2, "h_grad must be rank 2 but is rank ", ""),
    TFD_SIZE_RULE(H_GRAD, 0, BATCH, "h_grad_tensor.dims(0) != batch_size"),
    TFD_SIZE_RULE(H_GRAD, 1, CELL, "h_grad_tensor.dims(1) != cell_size"),
    TFD_RANK_RULE(WCI, 1, "wci must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(WCF, 1, "wcf must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(WCO, 1, "wco must be rank 1 but is rank ", ""),
};

static const struct tfd_recurrent_rule block_rules[] = {
    TFD_RANK_RULE(0, 0, "`seq_len_max_tensor` must be rank 0 but is rank ", ""),
    TFD_RANK_RULE(1 + X, 3, "x must be rank 3 but is rank ", ""),
    TFD_RANK_RULE(1 + CS_PREV, 2, "cs_prev must be rank 2 but is rank ", ""),
    TFD_RANK_RULE(1 + H_PREV, 2, "h_prev must be rank 2 but is rank ", ""),
    TFD_RANK_RULE(1 + W, 2, "w must be rank 2 but is rank ", ""),
};

static const struct tfd_recurrent_rule block_rest[] = {
    TFD_RANK_RULE(1 + WCI, 1, "wci must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(1 + WCF, 1, "wcf must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(1 + WCO, 1, "wco must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(1 + B, 1, "b must be rank 1 but is rank ", ""),
    TFD_RANK_RULE(1 + I, 3, "i must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + CS, 3, "cs must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + F, 3, "f must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + O, 3, "o must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + CI, 3, "ci must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + CO, 3, "co must be rank 3. Received: ", ""),
    TFD_RANK_RULE(1 + CO + 1, 3, "h must be rank 3. Received: ", ""),
};

static const char *const names[] = {
    "x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco",     "b",
    "i", "cs",      "f",      "o", "ci",  "co",  "cs_grad", "h_grad"};

/* The index of an input in the node's. */
static int input_at(bool block, int i)
{
    return !block ? i : i >= CS_GRAD ? i + 2 : i + 1;
}

/* What TensorFlow takes for granted, or reads over the end of. */
static enum tfd_code check_matrices(const struct tfd_kctx *k, bool block,
                                    const int64_t *size, struct tfd_status *st)
{
    const struct tfd_shape step = {
        3, {size[TFD_SIZE_TIME], size[TFD_SIZE_BATCH], size[TFD_SIZE_CELL]}};
    const struct tfd_shape matrix = {
        2, {size[TFD_SIZE_BATCH], size[TFD_SIZE_CELL]}};
    char text[TFD_SHAPE_TEXT_MAX], want[TFD_SHAPE_TEXT_MAX];

    for (int i = CS_PREV; block && i < INPUTS; i++) {
        const struct tfd_shape *have = &k->in[input_at(true, i)].shape;
        const struct tfd_shape *is = i >= I ? &step : &matrix;

        if (i >= W && i <= B)
            continue;
        if (!tfd_shape_equal(have, is))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must have the shape %s, but has %s", names[i],
                            tfd_shape_text(is, want),
                            tfd_shape_text(have, text));
    }
    for (int i = WCI; i <= WCO; i++) {
        const struct grad_state *s = k->state;
        int64_t n = k->in[input_at(block, i)].shape.dim[0];

        if (s->peephole && n != size[TFD_SIZE_CELL])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s.dim_size(0) != cell_size: %lld vs. %lld",
                            names[i], (long long)n,
                            (long long)size[TFD_SIZE_CELL]);
    }
    return TFD_OK;
}

static enum tfd_code check_cell_grad(const struct tfd_kctx *k, int64_t *size,
                                     struct tfd_status *st)
{
    size[TFD_SIZE_TIME] = 1;
    size[TFD_SIZE_BATCH] = tfd_recurrent_dim(k, X, 0);
    size[TFD_SIZE_INPUT] = tfd_recurrent_dim(k, X, 1);
    size[TFD_SIZE_CELL] = tfd_recurrent_dim(k, CS_PREV, 1);
    TFD_TRY(tfd_recurrent_sizes(size, st));
    TFD_TRY(
        tfd_recurrent_check(k, cell_rules, TFD_COUNT(cell_rules), size, st));
    return check_matrices(k, false, size, st);
}

static enum tfd_code check_weights(const struct tfd_kctx *k, int64_t *size,
                                   struct tfd_status *st)
{
    const struct tfd_shape *w = &k->in[1 + W].shape;

    size[TFD_SIZE_CELL] = w->dim[1] / 4;
    TFD_TRY(tfd_recurrent_sizes(size, st));
    if (size[TFD_SIZE_ROWS] != w->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "w matrix rows don't match: %lld vs. %lld",
                        (long long)size[TFD_SIZE_ROWS], (long long)w->dim[0]);
    if (w->dim[1] <= 0 || w->dim[1] % 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "w matrix columns must be a positive multiple of 4, "
                        "but got %lld",
                        (long long)w->dim[1]);
    return TFD_OK;
}

static enum tfd_code check_block_grad(const struct tfd_kctx *k, int64_t *size,
                                      int64_t *steps, struct tfd_status *st)
{
    const struct tfd_shape *b = &k->in[1 + B].shape;

    TFD_TRY(
        tfd_recurrent_check(k, block_rules, TFD_COUNT(block_rules), size, st));
    size[TFD_SIZE_TIME] = tfd_recurrent_dim(k, 1 + X, 0);
    size[TFD_SIZE_BATCH] = tfd_recurrent_dim(k, 1 + X, 1);
    size[TFD_SIZE_INPUT] = tfd_recurrent_dim(k, 1 + X, 2);
    TFD_TRY(check_weights(k, size, st));
    TFD_TRY(
        tfd_recurrent_check(k, block_rest, TFD_COUNT(block_rest), size, st));
    if (b->dim[0] != size[TFD_SIZE_GATES])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "w and b cell_size don't match: %lld vs. %lld",
                        (long long)size[TFD_SIZE_CELL], (long long)b->dim[0]);
    TFD_TRY(tfd_check_int(k, 0, steps, st));
    if (*steps < 0 || *steps > size[TFD_SIZE_TIME])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "seq_len_max must be between 0 and %lld but is %lld",
                        (long long)size[TFD_SIZE_TIME], (long long)*steps);
    return check_matrices(k, true, size, st);
}

/* ---- The work ------------------------------------------------------------ */

#define OUTPUTS_MAX 8

struct run {
    int64_t size[TFD_SIZES];
    struct tfd_image o[INPUTS + 1 + OUTPUTS_MAX]; /* h of BlockLSTMGrad */
    int outputs;
};

static float *work(struct run *r, int i)
{
    return tfd_tensor_data(&r->o[i].work);
}

static float *result(struct run *r, int i)
{
    return work(r, INPUTS + 1 + i);
}

static struct tfd_lstm lstm_of(const struct tfd_kctx *k, struct run *r)
{
    const struct grad_state *s = k->state;

    return (struct tfd_lstm){.batch = r->size[TFD_SIZE_BATCH],
                             .input = r->size[TFD_SIZE_INPUT],
                             .cell = r->size[TFD_SIZE_CELL],
                             .peephole = s->peephole,
                             .at_c = s->second ? 2 : 1,
                             .at_f = s->second ? 1 : 2,
                             .w = work(r, W),
                             .wci = work(r, WCI),
                             .wcf = work(r, WCF),
                             .wco = work(r, WCO)};
}

static struct tfd_lstm_step step_at(struct run *r, int64_t t)
{
    const int64_t n = r->size[TFD_SIZE_BATCH] * r->size[TFD_SIZE_CELL];

    return (struct tfd_lstm_step){
        .x = r->size[TFD_SIZE_INPUT] == 0
                 ? NULL
                 : work(r, X) +
                       t * r->size[TFD_SIZE_BATCH] * r->size[TFD_SIZE_INPUT],
        .cs_prev = t == 0 ? work(r, CS_PREV) : work(r, CS) + (t - 1) * n,
        .h_prev = t == 0 ? work(r, H_PREV) : work(r, INPUTS) + (t - 1) * n,
        .i = work(r, I) + t * n,
        .cs = work(r, CS) + t * n,
        .f = work(r, F) + t * n,
        .o = work(r, O) + t * n,
        .ci = work(r, CI) + t * n,
        .co = work(r, CO) + t * n,
        .cs_grad = work(r, CS_GRAD) + t * n,
        .h_grad = work(r, H_GRAD) + t * n};
}

/* Begins with zeros in all results from number `sums` on. */
static enum tfd_code begin_results(struct tfd_kctx *k, bool block, int sums,
                                   struct run *r, struct tfd_status *st)
{
    for (int i = 0; i < INPUTS; i++)
        r->o[i] = tfd_image_operand(&k->in[input_at(block, i)], false);
    r->o[INPUTS] = tfd_image_operand(&k->in[block ? 1 + CO + 1 : 0], false);
    for (int i = 0; i < r->outputs; i++)
        r->o[INPUTS + 1 + i] = tfd_image_result(i, false);
    TFD_TRY(tfd_image_begin(k, r->o, INPUTS + 1 + r->outputs, st));
    tfd_image_zero(r->o + INPUTS + 1 + sums, r->outputs - sums);
    return TFD_OK;
}

static enum tfd_code end_results(struct tfd_kctx *k, struct run *r,
                                 enum tfd_code rc, struct tfd_status *st)
{
    return tfd_image_end(k, r->o, INPUTS + 1 + r->outputs, rc, st);
}

/* Floats to work in: the caller's reference. */
static enum tfd_code floats_of(int64_t count, struct tfd_buffer **b,
                               struct tfd_status *st)
{
    *b = tfd_buffer_new((size_t)count * sizeof(float));
    if (!*b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %lld floats for gradients of an "
                        "LSTM cell",
                        (long long)count);
    return TFD_OK;
}

/* Outputs of LSTMBlockCellGrad. */
enum { CELL_CS, CELL_GATES, CELL_WCI, CELL_WCF, CELL_WCO, CELL_OUTPUTS };

static enum tfd_code run_cell_grad(struct tfd_kctx *k, struct run *r,
                                   struct tfd_status *st)
{
    struct tfd_lstm l = lstm_of(k, r);
    struct tfd_lstm_step s = step_at(r, 0);
    struct tfd_lstm_sums sums = {.wci = result(r, CELL_WCI),
                                 .wcf = result(r, CELL_WCF),
                                 .wco = result(r, CELL_WCO)};
    struct tfd_buffer *b;

    TFD_TRY(floats_of(tfd_lstm_room(&l), &b, st));
    sums.room = b->data;
    l.gates = result(r, CELL_GATES);
    s.cs_carry = result(r, CELL_CS);
    tfd_lstm_backward(k, &l, &s, &sums);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code cell_grad_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct run r = {.outputs = CELL_OUTPUTS};
    struct tfd_shape gates;
    enum tfd_code rc;

    TFD_TRY(check_cell_grad(k, r.size, st));
    TFD_TRY(tfd_shape_make(
        &gates,
        (const int64_t[]){r.size[TFD_SIZE_BATCH], r.size[TFD_SIZE_GATES]}, 2,
        st));
    TFD_TRY(tfd_kctx_output(k, CELL_CS, k->in[0].dtype, &k->in[I].shape, st));
    TFD_TRY(tfd_kctx_output(k, CELL_GATES, k->in[0].dtype, &gates, st));
    for (int i = 0; i < 3; i++)
        TFD_TRY(tfd_kctx_output(k, CELL_WCI + i, k->in[0].dtype,
                                &k->in[WCI + i].shape, st));
    rc = begin_results(k, false, CELL_WCI, &r, st);
    if (rc == TFD_OK && k->out[CELL_CS].buffer)
        rc = run_cell_grad(k, &r, st);
    return end_results(k, &r, rc, st);
}

/* The last of the steps first.  Steps from `steps` on have no gradients. */
static void run_steps(struct tfd_kctx *k, struct run *r, int64_t steps,
                      const struct tfd_lstm *l,
                      const struct tfd_lstm_sums *sums)
{
    const int64_t in = l->batch * l->input;
    const struct tfd_recurrent_product p = {l->batch, l->input, l->cell,
                                            4 * l->cell};

    if (steps < r->size[TFD_SIZE_TIME] && in > 0)
        tfd_halt_clear(result(r, X) + steps * in,
                       (size_t)((r->size[TFD_SIZE_TIME] - steps) * in) *
                           sizeof(float));
    for (int64_t t = steps - 1; t >= 0 && !tfd_halted(); t--) {
        struct tfd_lstm_step s = step_at(r, t);

        s.cs_carry = result(r, CS_PREV);
        s.h_carry = result(r, H_PREV);
        tfd_lstm_backward(k, l, &s, sums);
        tfd_recurrent_backward(k, &p, l->gates, l->w, false,
                               in ? result(r, X) + t * in : NULL,
                               result(r, H_PREV));
        tfd_recurrent_weights(k, &p, s.x, s.h_prev, l->gates, result(r, W));
    }
}

/* Outputs of BlockLSTMGrad: as its inputs x to b. */
static enum tfd_code run_block_grad(struct tfd_kctx *k, struct run *r,
                                    int64_t steps, struct tfd_status *st)
{
    struct tfd_lstm l = lstm_of(k, r);
    struct tfd_lstm_sums sums = {.wci = result(r, WCI),
                                 .wcf = result(r, WCF),
                                 .wco = result(r, WCO),
                                 .b = result(r, B)};
    const int64_t gates = l.batch * l.cell * 4;
    struct tfd_buffer *b;

    TFD_TRY(floats_of(gates + tfd_lstm_room(&l), &b, st));
    l.gates = b->data;
    sums.room = l.gates + gates;
    run_steps(k, r, steps, &l, &sums);
    tfd_buffer_unref(b);
    return TFD_OK;
}

static enum tfd_code block_grad_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct run r = {.outputs = OUTPUTS_MAX};
    int64_t steps = 0;
    enum tfd_code rc;

    TFD_TRY(check_block_grad(k, r.size, &steps, st));
    for (int i = 0; i < OUTPUTS_MAX; i++)
        TFD_TRY(tfd_kctx_output(k, i, k->in[1].dtype, &k->in[1 + i].shape, st));
    rc = begin_results(k, true, CS_PREV, &r, st);
    if (rc == TFD_OK && k->out[CS_PREV].buffer)
        rc = run_block_grad(k, &r, steps, st);
    return end_results(k, &r, rc, st);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code cell_grad_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    struct tfd_shape prev = {2, {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&prev, &s->in[CS_PREV], st));
    s->out[CELL_CS] = prev;
    s->out[CELL_GATES] = (struct tfd_shape){2, {prev.dim[0], TFD_DIM_UNKNOWN}};
    for (int i = 0; i < 3; i++)
        s->out[CELL_WCI + i] = s->in[WCI + i];
    return TFD_OK;
}

static enum tfd_code block_grad_shape(struct tfd_shape_ctx *s,
                                      struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < OUTPUTS_MAX; i++)
        s->out[i] = s->in[1 + i];
    return TFD_OK;
}

#define CELL_INPUTS                                                     \
    "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T, " \
    "i: T, cs: T, f: T, o: T, ci: T, co: T, "
#define ATTRS "use_peephole: bool; T: {half, float}"
#define BLOCK(op)                                                             \
    {                                                                         \
        .name = (op),                                                         \
        .inputs =                                                             \
            "seq_len_max: int64, " CELL_INPUTS "h: T, cs_grad: T, h_grad: T", \
        .outputs = "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, "  \
                   "wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",        \
        .attrs = ATTRS, .shape = block_grad_shape,                            \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "LSTMBlockCellGrad",
        .inputs = CELL_INPUTS "cs_grad: T, h_grad: T",
        .outputs = "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, "
                   "wco_grad: T",
        .attrs = ATTRS,
        .shape = cell_grad_shape,
    },
    BLOCK("BlockLSTMGrad"),
    BLOCK("BlockLSTMGradV2"),
};

#define ROW(op, name, compute)                             \
    TFD_KERNEL(op, name, compute, .prepare = prepare_grad, \
               .state_size = sizeof(struct grad_state),    \
               .flags = TFD_KERNEL_HEAVY)
#define ROWS(name)                                      \
    ROW("LSTMBlockCellGrad", name, cell_grad_compute),  \
        ROW("BlockLSTMGrad", name, block_grad_compute), \
        ROW("BlockLSTMGradV2", name, block_grad_compute)

static const struct tfd_kernel kernels[] = {ROWS(FLOAT), ROWS(HALF)};

const struct tfd_family tfd_family_lstm_grad = {
    .name = "lstm_grad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
