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

#include "common/base/min.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_math.h"

#include <string.h>

#define COST_NS 3 /* of a unit, five functions */

struct steps {
    const struct tfd_lstm *l;
    const struct tfd_lstm_step *s;
    float *wci, *wcf, *wco, *b;
};

/* ---- Forward ------------------------------------------------------------- */

/* Outputs of units [first, first + TILE) of a row, or fewer.  They are computed
 * here before they are copied, since the compiler uses no vectors where each of
 * seven outputs may lie over each input. */
#define TILE 128
struct tile {
    float i[TILE], cs[TILE], f[TILE], o[TILE], ci[TILE], co[TILE], h[TILE];
};

TFD_VECTOR void bend_tile(const struct tfd_lstm *l, const float *gate,
                          const float *prev, int64_t first, int64_t count,
                          bool peephole, struct tile *t)
{
    const int64_t n = l->cell, at_c = l->at_c * n, at_f = l->at_f * n;
    const float clip = l->clip > 0 ? l->clip : INFINITY;
    const float forget_bias = l->forget_bias, *b = l->b + first;
    /* Without peepholes they may be of no elements, and NULL. */
    const float *wci = peephole ? l->wci + first : NULL;
    const float *wcf = peephole ? l->wcf + first : NULL;
    const float *wco = peephole ? l->wco + first : NULL;

    for (int64_t c = 0; c < count; c++) {
        float sum;

        t->i[c] = tfd_vector_logistic(gate[c] + b[c] +
                                      (peephole ? prev[c] * wci[c] : 0));
        t->ci[c] = tfd_vector_tanh(gate[at_c + c] + b[at_c + c]);
        t->f[c] =
            tfd_vector_logistic(gate[at_f + c] + b[at_f + c] + forget_bias +
                                (peephole ? prev[c] * wcf[c] : 0));
        sum = t->i[c] * t->ci[c] + t->f[c] * prev[c];
        sum = sum > clip ? clip : sum;
        t->cs[c] = sum < -clip ? -clip : sum;
        t->co[c] = tfd_vector_tanh(t->cs[c]);
        t->o[c] = tfd_vector_logistic(gate[3 * n + c] + b[3 * n + c] +
                                      (peephole ? t->cs[c] * wco[c] : 0));
        t->h[c] = t->o[c] * t->co[c];
    }
}

/* Inlined, so that the tile is known to be nowhere else. */
TFD_VECTOR void copy_tile(const struct tfd_lstm_step *s, int64_t at,
                          int64_t count, const struct tile *t)
{
    const size_t size = (size_t)count * sizeof(float);

    memcpy(s->i + at, t->i, size);
    memcpy(s->cs + at, t->cs, size);
    memcpy(s->f + at, t->f, size);
    memcpy(s->o + at, t->o, size);
    memcpy(s->ci + at, t->ci, size);
    memcpy(s->co + at, t->co, size);
    memcpy(s->h + at, t->h, size);
}

TFD_SIMD_LOOP(forward_rows)
{
    const struct steps *a = arg;
    const struct tfd_lstm *l = a->l;
    const int64_t n = l->cell;
    struct tile t;

    for (int64_t row = begin; row < end; row++)
        for (int64_t c = 0; c < n; c += TILE) {
            const int64_t at = row * n + c, count = tfd_min(n - c, TILE);
            const float *gate = l->gates + 4 * row * n + c;
            const float *prev = a->s->cs_prev + at;

            if (l->peephole)
                bend_tile(l, gate, prev, c, count, true, &t);
            else
                bend_tile(l, gate, prev, c, count, false, &t);
            copy_tile(a->s, at, count, &t);
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
