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
    struct steps a = {l, s};

    tfd_recurrent_forward(k, &p, s->x, s->h_prev, l->w, l->gates);
    if (k)
        tfd_kctx_parallel(k, l->batch, cost_of_row(l), forward_rows, &a);
    else
        forward_rows(&a, 0, l->batch);
}

/* ---- Backward ------------------------------------------------------------
 *
 * What rows give to gradients of peepholes and of b is added up while it is in
 * a tile.  Rows are cut in bands for that, of which each has sums of its own;
 * the cut depends on sizes only, so that sums are the same with any number of
 * threads.
 */

#define BANDS_MAX 64
#define BAND_UNITS 4096 /* some 10 microseconds */
#define BAND_MIN 16     /* rows, beside which sums of their own are little */

struct bands {
    const struct tfd_lstm *l;
    const struct tfd_lstm_step *s;
    struct tfd_lstm_sums sums;
    int64_t rows, count; /* rows of a band */
};

/* Gradients of units [first, first + TILE) of a row, or fewer, as above; carry:
 * what comes from the step behind, and goes to the one before. */
struct slopes {
    float dh[TILE], i[TILE], c[TILE], f[TILE], o[TILE], carry[TILE];
};

/* What comes from above and from the step behind. */
TFD_VECTOR void add_carry(const struct tfd_lstm_step *s, int64_t at,
                          int64_t count, struct slopes *d)
{
    const float *grad = s->h_grad + at, *carry = s->cs_carry + at;
    const float *h_carry = s->h_carry ? s->h_carry + at : NULL;

    for (int64_t c = 0; !h_carry && c < count; c++) {
        d->dh[c] = grad[c] + 0;
        d->carry[c] = 0;
    }
    for (int64_t c = 0; h_carry && c < count; c++) {
        d->dh[c] = grad[c] + h_carry[c];
        d->carry[c] = carry[c];
    }
}

TFD_VECTOR void slope_tile(const struct tfd_lstm *l,
                           const struct tfd_lstm_step *s, int64_t at,
                           int64_t first, int64_t count, bool peephole,
                           struct slopes *d)
{
    const float *gate_i = s->i + at, *gate_f = s->f + at, *gate_o = s->o + at;
    const float *gate_c = s->ci + at, *bent = s->co + at;
    const float *prev = s->cs_prev + at, *cs_grad = s->cs_grad + at;
    /* Without peepholes they may be of no elements, and NULL. */
    const float *wci = peephole ? l->wci + first : NULL;
    const float *wcf = peephole ? l->wcf + first : NULL;
    const float *wco = peephole ? l->wco + first : NULL;

    for (int64_t c = 0; c < count; c++) {
        const float i = gate_i[c], f = gate_f[c], o = gate_o[c];
        const float ci = gate_c[c], co = bent[c], dh = d->dh[c];
        float up = o * (1 - o) * dh * co;
        float dcs = (1 - co * co) * dh * o + cs_grad[c] + d->carry[c] +
                    (peephole ? up * wco[c] : 0);
        float in = i * (1 - i) * dcs * ci;
        float kept = f * (1 - f) * dcs * prev[c];

        d->o[c] = up;
        d->i[c] = in;
        d->f[c] = kept;
        d->c[c] = (1 - ci * ci) * dcs * i;
        d->carry[c] = dcs * f + (peephole ? in * wci[c] + kept * wcf[c] : 0);
    }
}

/* Inlined, as copy_tile(). */
TFD_VECTOR void copy_slopes(const struct tfd_lstm *l,
                            const struct tfd_lstm_step *s, int64_t row,
                            int64_t first, int64_t count,
                            const struct slopes *d)
{
    const size_t size = (size_t)count * sizeof(float);
    const int64_t n = l->cell;
    float *gate = l->gates + row * 4 * n + first;

    memcpy(gate, d->i, size);
    memcpy(gate + l->at_c * n, d->c, size);
    memcpy(gate + l->at_f * n, d->f, size);
    memcpy(gate + 3 * n, d->o, size);
    memcpy(s->cs_carry + row * n + first, d->carry, size);
}

TFD_VECTOR void add_products(float *sum, const float *a, const float *b,
                             int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += a[i] * b[i];
}

TFD_VECTOR void add_row(float *sum, const float *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += a[i];
}

TFD_VECTOR void add_slopes(const struct bands *b,
                           const struct tfd_lstm_sums *to, int64_t at,
                           int64_t first, int64_t count, const struct slopes *d)
{
    const int64_t n = b->l->cell;
    const float *prev = b->s->cs_prev + at;

    if (b->l->peephole) {
        add_products(to->wci + first, d->i, prev, count);
        add_products(to->wcf + first, d->f, prev, count);
        add_products(to->wco + first, d->o, b->s->cs + at, count);
    }
    if (to->b) {
        add_row(to->b + first, d->i, count);
        add_row(to->b + b->l->at_c * n + first, d->c, count);
        add_row(to->b + b->l->at_f * n + first, d->f, count);
        add_row(to->b + 3 * n + first, d->o, count);
    }
}

/* Those of a band lie as they do in the results, one after the other. */
#define SUMS 7 /* for each unit */

static struct tfd_lstm_sums sums_of(const struct bands *b, int64_t band)
{
    const int64_t n = b->l->cell;
    float *at = b->sums.room;

    if (b->count == 1)
        return b->sums;
    at += band * SUMS * n;
    return (struct tfd_lstm_sums){.wci = at,
                                  .wcf = at + n,
                                  .wco = at + 2 * n,
                                  .b = b->sums.b ? at + 3 * n : NULL};
}

TFD_SIMD_LOOP(backward_bands)
{
    const struct bands *b = arg;
    const int64_t n = b->l->cell;
    struct slopes d;

    for (int64_t band = begin; band < end; band++) {
        const struct tfd_lstm_sums to = sums_of(b, band);
        const int64_t last = tfd_min(b->l->batch, (band + 1) * b->rows);

        if (b->count > 1)
            memset(to.wci, 0, (size_t)(SUMS * n) * sizeof(float));
        for (int64_t row = band * b->rows; row < last; row++)
            for (int64_t c = 0; c < n; c += TILE) {
                const int64_t at = row * n + c, count = tfd_min(n - c, TILE);

                add_carry(b->s, at, count, &d);
                if (b->l->peephole)
                    slope_tile(b->l, b->s, at, c, count, true, &d);
                else
                    slope_tile(b->l, b->s, at, c, count, false, &d);
                copy_slopes(b->l, b->s, row, c, count, &d);
                add_slopes(b, &to, at, c, count, &d);
            }
    }
}
TFD_SIMD_CLONES_WIDE(backward_bands)

TFD_SIMD_LOOP(add_bands)
{
    const struct bands *b = arg;
    const int64_t n = b->l->cell;

    for (int64_t band = begin; band < end; band++) {
        const struct tfd_lstm_sums own = sums_of(b, band);

        if (b->l->peephole) {
            add_row(b->sums.wci, own.wci, n);
            add_row(b->sums.wcf, own.wcf, n);
            add_row(b->sums.wco, own.wco, n);
        }
        if (own.b)
            add_row(b->sums.b, own.b, 4 * n);
    }
}
TFD_SIMD_CLONES(add_bands)

static int64_t rows_of_band(const struct tfd_lstm *l)
{
    const int64_t least = tfd_max(BAND_MIN, BAND_UNITS / tfd_max(1, l->cell));

    return tfd_max(least, (l->batch + BANDS_MAX - 1) / BANDS_MAX);
}

static int64_t bands_of(const struct tfd_lstm *l)
{
    const int64_t rows = rows_of_band(l);

    return (l->batch + rows - 1) / rows;
}

int64_t tfd_lstm_room(const struct tfd_lstm *l)
{
    return bands_of(l) * SUMS * l->cell;
}

void tfd_lstm_backward(struct tfd_kctx *k, const struct tfd_lstm *l,
                       const struct tfd_lstm_step *s,
                       const struct tfd_lstm_sums *sums)
{
    struct bands b = {l, s, *sums, rows_of_band(l), bands_of(l)};
    const double ns = (double)b.rows * (double)l->cell * COST_NS;

    tfd_kctx_parallel(k, b.count, ns < 1e9 ? (int)ns : 1000000000,
                      backward_bands, &b);
    if (b.count > 1)
        add_bands(&b, 0, b.count);
}
