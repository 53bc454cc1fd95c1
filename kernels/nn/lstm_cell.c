/*
 * lstm_cell.c - see recurrent.h: one step of an LSTM cell, and its gradient.
 *
 *     i = logistic(gate i + cs_prev * wci)       ci = tanh(gate c)
 *     f = logistic(gate f + bias + cs_prev * wcf)
 *     cs = i * ci + f * cs_prev, clipped         co = tanh(cs)
 *     o = logistic(gate o + cs * wco)            h = o * co
 *
 * where the gates are [x, h_prev] * w + b; wci, wcf and wco ("peepholes") are
 * there where the node says so.
 */
#include "kernels/nn/recurrent.h"

#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#define COST_NS 12 /* of a unit, four functions */

struct steps {
    const struct tfd_lstm *l;
    const struct tfd_lstm_step *s;
    float *wci, *wcf, *wco, *b;
};

/* ---- Forward ------------------------------------------------------------- */

TFD_SIMD_LOOP(forward_rows)
{
    const struct steps *a = arg;
    const struct tfd_lstm *l = a->l;
    const struct tfd_lstm_step *s = a->s;
    const int64_t n = l->cell;
    const float clip = l->clip > 0 ? l->clip : INFINITY;

    for (int64_t row = begin; row < end; row++) {
        const float *gate_i = l->gates + row * 4 * n;
        const float *gate_c = gate_i + l->at_c * n;
        const float *gate_f = gate_i + l->at_f * n, *gate_o = gate_i + 3 * n;
        const float *b = l->b, *b_c = b + l->at_c * n, *b_f = b + l->at_f * n;
        const float *prev = s->cs_prev + row * n;
        float *i = s->i + row * n, *cs = s->cs + row * n;
        float *f = s->f + row * n, *o = s->o + row * n;
        float *ci = s->ci + row * n, *co = s->co + row * n;
        float *h = s->h + row * n;

        for (int64_t c = 0; c < n; c++) {
            float peep_i = l->peephole ? prev[c] * l->wci[c] : 0;
            float peep_f = l->peephole ? prev[c] * l->wcf[c] : 0;
            float sum;

            i[c] = tfd_vector_logistic(gate_i[c] + b[c] + peep_i);
            ci[c] = tfd_vector_tanh(gate_c[c] + b_c[c]);
            f[c] = tfd_vector_logistic(gate_f[c] + b_f[c] + l->forget_bias +
                                       peep_f);
            sum = i[c] * ci[c] + f[c] * prev[c];
            sum = sum > clip ? clip : sum;
            cs[c] = sum < -clip ? -clip : sum;
            co[c] = tfd_vector_tanh(cs[c]);
            o[c] = tfd_vector_logistic(gate_o[c] + b[3 * n + c] +
                                       (l->peephole ? cs[c] * l->wco[c] : 0));
            h[c] = o[c] * co[c];
        }
    }
}
TFD_SIMD_CLONES_WIDE(forward_rows)

static int cost_of_row(const struct tfd_lstm *l)
{
    return l->cell < INT32_MAX / COST_NS ? (int)(l->cell * COST_NS) : INT32_MAX;
}

void tfd_lstm_forward(struct tfd_kctx *k, const struct tfd_lstm *l,
                      const struct tfd_lstm_step *s)
{
    const struct tfd_recurrent_product p = {l->batch, l->input, l->cell,
                                            4 * l->cell};
    struct steps a = {.l = l, .s = s};

    tfd_recurrent_forward(k, &p, s->x, s->h_prev, l->w, l->gates);
    tfd_kctx_parallel(k, l->batch, cost_of_row(l), forward_rows, &a);
}

/* ---- Backward ------------------------------------------------------------ */

TFD_SIMD_LOOP(backward_rows)
{
    const struct steps *a = arg;
    const struct tfd_lstm *l = a->l;
    const struct tfd_lstm_step *s = a->s;
    const int64_t n = l->cell;

    for (int64_t row = begin; row < end; row++) {
        float *di = l->gates + row * 4 * n, *dci = di + l->at_c * n;
        float *df = di + l->at_f * n, *dout = di + 3 * n;

        for (int64_t c = 0; c < n; c++) {
            const int64_t at = row * n + c;
            const float i = s->i[at], f = s->f[at], o = s->o[at];
            const float ci = s->ci[at], co = s->co[at];
            float dh = s->h_grad[at] + (s->h_carry ? s->h_carry[at] : 0);
            float up = o * (1 - o) * dh * co;
            float dcs = (1 - co * co) * dh * o + s->cs_grad[at] +
                        s->cs_carry[at] + (l->peephole ? up * l->wco[c] : 0);
            float in = i * (1 - i) * dcs * ci;
            float kept = f * (1 - f) * dcs * s->cs_prev[at];

            dout[c] = up;
            di[c] = in;
            df[c] = kept;
            dci[c] = (1 - ci * ci) * dcs * i;
            s->cs_carry[at] =
                dcs * f + (l->peephole ? in * l->wci[c] + kept * l->wcf[c] : 0);
        }
    }
}
TFD_SIMD_CLONES_WIDE(backward_rows)

void tfd_lstm_backward(struct tfd_kctx *k, const struct tfd_lstm *l,
                       const struct tfd_lstm_step *s)
{
    struct steps a = {.l = l, .s = s};

    tfd_kctx_parallel(k, l->batch, cost_of_row(l), backward_rows, &a);
}

/* Columns of the cell. */
static void sum_columns(void *arg, int64_t begin, int64_t end)
{
    const struct steps *a = arg;
    const struct tfd_lstm *l = a->l;
    const int64_t n = l->cell;

    for (int64_t row = 0; row < l->batch; row++) {
        const float *d = l->gates + row * 4 * n;
        const float *prev = a->s->cs_prev + row * n, *cs = a->s->cs + row * n;

        for (int64_t c = begin; l->peephole && c < end; c++) {
            a->wci[c] += d[c] * prev[c];
            a->wcf[c] += d[l->at_f * n + c] * prev[c];
            a->wco[c] += d[3 * n + c] * cs[c];
        }
        for (int gate = 0; a->b && gate < 4; gate++)
            for (int64_t c = begin; c < end; c++)
                a->b[gate * n + c] += d[gate * n + c];
    }
}

void tfd_lstm_sums(struct tfd_kctx *k, const struct tfd_lstm *l,
                   const struct tfd_lstm_step *s, float *wci, float *wcf,
                   float *wco, float *b)
{
    struct steps a = {l, s, wci, wcf, wco, b};

    if (l->peephole || b)
        tfd_kctx_parallel(
            k, l->cell, (int)(l->batch < 100000000 ? l->batch * 2 : 200000000),
            sum_columns, &a);
}
