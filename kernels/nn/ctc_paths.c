/*
 * ctc_paths.c - see ctc_paths.h.
 *
 * Between the labels, before and behind them blanks are put: U symbols.  Each
 * path through them moves on by none, one or (past a blank) two in a step.
 * alpha[t][u] is the logarithm of the sum of all beginnings of paths that end
 * at u in step t, beta[t][u] that of all ends of paths behind it; these two
 * matrices are all that an item of the batch needs besides the outputs.  The
 * probabilities of the classes lie in the gradient until it takes their place.
 *
 * (Alex Graves, Supervised Sequence Labelling with Recurrent Neural Networks,
 * chapter 7.)
 */
#include "kernels/nn/ctc_paths.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/vector/double_functions.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_functions.h"

#include <inttypes.h>
#include <string.h>

/* Rows of alpha and beta have `width` places, the first two of which lie before
 * symbol 0, where no path has been. */
struct item {
    const struct tfd_ctc_item *i;
    int64_t symbols, width;
    double *alpha, *beta; /* [steps][width] */
    double *y, *part;     /* of all classes in a step */
    double *chance;       /* of all symbols: log(y), [steps][width] */
    double *stay;         /* 0 where paths may stay, else log(0) */
    double *skip;         /* likewise, where they may come past a blank */
    double *ends;         /* of a step: beta, and the chance to get there */
    double *none;         /* zeros */
};

static int64_t blank_of(const struct item *m)
{
    return m->i->classes - 1;
}

static int64_t symbol_at(const struct item *m, int64_t u)
{
    return u % 2 ? m->i->label[u / 2] : blank_of(m);
}

static int64_t row_at(const struct item *m, int64_t t)
{
    return (t * m->i->batch + m->i->b) * m->i->classes;
}

struct logits {
    double *y;
    double most;
};

TFD_SIMD_LOOP(exponentials)
{
    const struct logits *l = arg;
    double *y = l->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = tfd_double_exp(y[i] - l->most);
}
TFD_SIMD_CLONES_WIDE(exponentials)

/* Softmax of each step, into the gradient. */
static void probabilities(const struct item *m)
{
    const int64_t n = m->i->classes;

    for (int64_t t = 0; t < m->i->steps && !tfd_halted(); t++) {
        struct logits l = {m->y, -(double)INFINITY};
        double sum = 0;

        tfd_ctc_load(m->i->inputs, row_at(m, t), n, m->y);
        for (int64_t i = 0; i < n; i++)
            l.most = m->y[i] > l.most ? m->y[i] : l.most;
        exponentials(&l, 0, n);
        for (int64_t i = 0; i < n; i++)
            sum += m->y[i];
        for (int64_t i = 0; i < n; i++)
            m->y[i] /= sum;
        tfd_ctc_store(m->i->gradient, row_at(m, t), n, m->y);
    }
}

static double *chance_at(const struct item *m, int64_t t)
{
    return m->chance + t * m->width;
}

static double *find_chances(const struct item *m, int64_t t)
{
    double *chance = chance_at(m, t), blank;

    tfd_ctc_load(m->i->gradient, row_at(m, t), m->i->classes, m->y);
    blank = log(m->y[blank_of(m)]);
    for (int64_t u = 0; u < m->symbols; u++)
        chance[u] = u % 2 ? log(m->y[m->i->label[u / 2]]) : blank;
    return chance;
}

static void find_ways(const struct item *m)
{
    const bool merge = m->i->merge;

    for (int64_t u = 0; u < m->width; u++) {
        const bool skip = u % 2 == 1 && u > 1 && u < m->symbols &&
                          !(merge && symbol_at(m, u) == symbol_at(m, u - 2));

        m->stay[u] = merge || u % 2 == 0 ? 0 : -(double)INFINITY;
        m->skip[u] = skip ? 0 : -(double)INFINITY;
        m->ends[u] = -(double)INFINITY;
        m->none[u] = 0;
    }
}

/* tfd_ctc_add() in vectors. */
TFD_VECTOR double add_logs(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    const float apart = (float)(least - most);
    const float in = apart < -87 ? -87 : apart;
    const float e = apart < -87 ? 0 : tfd_vector_exp_inside(in);
    const double sum = most + (double)tfd_vector_log1p(e);

    return least == -(double)INFINITY ? most : sum;
}

/* What may be, by stay or skip; a sum with log(0) would let a NaN pass. */
TFD_VECTOR double only(double x, double may)
{
    return may < 0 ? may : x;
}

/* One step of all symbols, from the neighbour on one side: those who stay, who
 * come from the next place, and past one. */
struct moves {
    double *to;
    const double *same, *next, *past, *stay, *skip, *chance;
};

TFD_SIMD_LOOP(sum_moves)
{
    const struct moves *w = arg;
    double *to = w->to;
    const double *same = w->same, *next = w->next, *past = w->past;
    const double *stay = w->stay, *skip = w->skip, *chance = w->chance;

    for (int64_t u = begin; u < end; u++)
        to[u] = chance[u] + add_logs(add_logs(only(same[u], stay[u]), next[u]),
                                     only(past[u], skip[u]));
}
TFD_SIMD_CLONES_WIDE(sum_moves)

/* Symbols [first, end) that a path can be at in step t, and still end. */
static int64_t first_at(const struct item *m, int64_t t)
{
    const int64_t first = m->symbols - 2 * (m->i->steps - t);

    return first > 0 ? first : 0;
}

static int64_t end_at(const struct item *m, int64_t t)
{
    const int64_t end = 2 * (t + 1);

    return end < m->symbols ? end : m->symbols;
}

/* Where the loss is a double, TensorFlow's last digits are those of the C
 * library's functions. */
static void move(const struct item *m, struct moves w, int64_t begin,
                 int64_t end)
{
    if (m->i->inputs->dtype == TFD_FLOAT) {
        sum_moves(&w, begin, end);
        return;
    }
    for (int64_t u = begin; u < end; u++)
        w.to[u] =
            w.chance[u] +
            tfd_ctc_add(tfd_ctc_add(only(w.same[u], w.stay[u]), w.next[u]),
                        only(w.past[u], w.skip[u]));
}

static double *clear_row(const struct item *m, double *rows, int64_t t)
{
    double *row = rows + t * m->width;

    for (int64_t u = 0; u < m->width; u++)
        row[u] = -(double)INFINITY;
    return row + 2;
}

static void forward(const struct item *m)
{
    for (int64_t t = 0; t < m->i->steps && !tfd_halted(); t++) {
        double *now = clear_row(m, m->alpha, t);
        const double *last = now - m->width, *chance = find_chances(m, t);

        for (int64_t u = 0; t == 0 && u < 2 && u < m->symbols; u++)
            now[u] = chance[u];
        if (t > 0)
            move(m,
                 (struct moves){now, last, last - 1, last - 2, m->stay, m->skip,
                                chance},
                 first_at(m, t), end_at(m, t));
    }
}

static void backward(const struct item *m)
{
    for (int64_t t = m->i->steps - 1; t >= 0 && !tfd_halted(); t--) {
        double *now = clear_row(m, m->beta, t);
        const double *next = now + m->width, *chance;

        if (t == m->i->steps - 1) {
            for (int64_t u = m->symbols > 1 ? m->symbols - 2 : 0;
                 u < m->symbols; u++)
                now[u] = 0;
            continue;
        }
        chance = chance_at(m, t + 1);
        for (int64_t u = 0; u < m->symbols; u++)
            m->ends[u] = next[u] + chance[u];
        move(m,
             (struct moves){now, m->ends, m->ends + 1, m->ends + 2, m->stay,
                            m->skip + 2, m->none},
             first_at(m, t), end_at(m, t));
    }
}

/* How likely the labels are, by their paths through step t. */
static double all_paths(const struct item *m, int64_t t)
{
    double sum = -(double)INFINITY;

    for (int64_t u = 0; u < m->symbols; u++)
        sum = tfd_ctc_add(sum, m->alpha[t * m->width + 2 + u] +
                                   m->beta[t * m->width + 2 + u]);
    return sum;
}

struct shares {
    double *to, all;
    const double *alpha, *beta;
};

/* Of all paths, those that are at a symbol. */
TFD_SIMD_LOOP(find_shares)
{
    const struct shares *w = arg;
    const double *alpha = w->alpha, *beta = w->beta, all = w->all;
    double *to = w->to;

    for (int64_t u = begin; u < end; u++)
        to[u] = (double)tfd_vector_exp((float)(alpha[u] + beta[u] - all));
}
TFD_SIMD_CLONES_WIDE(find_shares)

/* From each probability what paths have of it is taken off. */
static void differentiate(const struct item *m, double all)
{
    const int64_t n = m->i->classes;

    for (int64_t t = 0; t < m->i->steps && !tfd_halted(); t++) {
        const int64_t at = t * m->width + 2;

        find_shares(&(struct shares){m->ends, all, m->alpha + at, m->beta + at},
                    0, m->symbols);
        memset(m->part, 0, (size_t)n * sizeof(*m->part));
        for (int64_t u = 0; u < m->symbols; u++)
            m->part[symbol_at(m, u)] += m->ends[u];
        tfd_ctc_load(m->i->gradient, row_at(m, t), n, m->y);
        for (int64_t i = 0; i < n; i++)
            m->y[i] -= m->part[i];
        tfd_ctc_store(m->i->gradient, row_at(m, t), n, m->y);
    }
}

/* The same with sums of logarithms, as TensorFlow has them.  Of classes that
 * are no label nothing is taken off, unless `all` is no number. */
static void differentiate_exactly(const struct item *m, double all)
{
    const int64_t n = m->i->classes;

    for (int64_t t = 0; t < m->i->steps && !tfd_halted(); t++) {
        const int64_t at = t * m->width + 2;

        for (int64_t i = 0; i < n; i++)
            m->part[i] = -(double)INFINITY;
        for (int64_t u = 0; u < m->symbols; u++) {
            double *sum = &m->part[symbol_at(m, u)];

            *sum = tfd_ctc_add(*sum, m->alpha[at + u] + m->beta[at + u]);
        }
        tfd_ctc_load(m->i->gradient, row_at(m, t), n, m->y);
        for (int64_t i = 0; i < n; i++)
            if (isnan(all) || m->part[i] > -(double)INFINITY)
                m->y[i] -= (double)expf((float)(m->part[i] - all));
        tfd_ctc_store(m->i->gradient, row_at(m, t), n, m->y);
    }
}

static struct tfd_buffer *item_buffer(struct item *m)
{
    const int64_t most = INT64_MAX / 16 / (int64_t)sizeof(double);
    const int64_t n = m->i->classes;
    struct tfd_buffer *b;
    int64_t rows;

    if (m->width > most / m->i->steps)
        return NULL;
    rows = m->i->steps * m->width;
    b = tfd_buffer_new((size_t)(3 * rows + 2 * n + 4 * m->width) *
                       sizeof(double));
    if (!b)
        return NULL;
    m->alpha = b->data;
    m->beta = m->alpha + rows;
    m->chance = m->beta + rows;
    m->y = m->chance + rows;
    m->part = m->y + n;
    m->stay = m->part + n;
    m->skip = m->stay + m->width;
    m->ends = m->skip + m->width;
    m->none = m->ends + m->width;
    return b;
}

enum tfd_code tfd_ctc_paths_measure(const struct tfd_ctc_item *i, double *loss,
                                    struct tfd_status *st)
{
    struct item m = {
        .i = i, .symbols = 2 * i->labels + 1, .width = 2 * i->labels + 3};
    struct tfd_buffer *b = item_buffer(&m);
    double all;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating 3 x %" PRId64 " x %" PRId64
                        " logarithms for CTCLoss",
                        i->steps, m.symbols);
    find_ways(&m);
    probabilities(&m);
    forward(&m);
    backward(&m);
    all = all_paths(&m, 0);
    /* Without a path the gradient is what the probabilities are. */
    if (i->inputs->dtype == TFD_FLOAT && all > -(double)INFINITY)
        differentiate(&m, all);
    else if (all != -(double)INFINITY) /* NaN is also that of other classes */
        differentiate_exactly(&m, all);
    *loss = -all;
    tfd_buffer_unref(b);
    return TFD_OK;
}
