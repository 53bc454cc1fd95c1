/*
 * recurrent.h - what the cells of recurrent networks share: checks of shapes
 * by tables, products that are added up, and the LSTM cell itself.
 *
 * All matrices are of float and lie row-major without gaps.  A cell's weights
 * are [input + cell, gates * cell]: the rows for x, then those for h.
 *
 * Threads: each call shares its work among the compute threads of k.
 */
#ifndef TFD_KERNELS_RECURRENT_H
#define TFD_KERNELS_RECURRENT_H

#include "kernels/core/kernel.h"

enum tfd_recurrent_size {
    TFD_SIZE_TIME,
    TFD_SIZE_BATCH,
    TFD_SIZE_INPUT,
    TFD_SIZE_CELL,
    TFD_SIZE_ROWS,   /* input + cell */
    TFD_SIZE_DOUBLE, /* 2 * cell */
    TFD_SIZE_GATES,  /* 4 * cell */
    TFD_SIZES
};

/* An input has this rank (rank >= 0), or one of its dimensions this size.  The
 * text says what is wrong, up to the numbers. */
struct tfd_recurrent_rule {
    int arg, rank;
    int dim;
    enum tfd_recurrent_size size;
    const char *text;
    const char *end; /* behind a rank */
};

#define TFD_RANK_RULE(arg, rank, text, end) \
    {                                       \
        arg, rank, 0, TFD_SIZES, text, end  \
    }
#define TFD_SIZE_RULE(arg, dim, size, text)     \
    {                                           \
        arg, -1, dim, TFD_SIZE_##size, text, "" \
    }

/* The other sizes from batch, input and cell; RESOURCE_EXHAUSTED for those that
 * are too large to reckon with. */
enum tfd_code tfd_recurrent_sizes(int64_t *size,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Dimension `dim` of an input, 0 where it has not so many. */
int64_t tfd_recurrent_dim(const struct tfd_kctx *k, int arg, int dim);
/* INVALID_ARGUMENT by the first rule that is broken. */
enum tfd_code tfd_recurrent_check(const struct tfd_kctx *k,
                                  const struct tfd_recurrent_rule *rule,
                                  int count, const int64_t *size,
                                  struct tfd_status *st) TFD_MUST_USE;

/* c = [a, h] * w + (c, where added): a has `input` columns, h `cell`, and w
 * `wide`.  k NULL: on this thread alone. */
struct tfd_recurrent_product {
    int64_t batch, input, cell, wide;
};
void tfd_recurrent_forward(struct tfd_kctx *k,
                           const struct tfd_recurrent_product *p,
                           const float *x, const float *h, const float *w,
                           float *c);
/* dx = dc * w' (rows for x), added to dx where `add`; dh = dc * w' (those for
 * h). */
void tfd_recurrent_backward(struct tfd_kctx *k,
                            const struct tfd_recurrent_product *p,
                            const float *dc, const float *w, bool add,
                            float *dx, float *dh);
/* dw += [x, h]' * dc. */
void tfd_recurrent_weights(struct tfd_kctx *k,
                           const struct tfd_recurrent_product *p,
                           const float *x, const float *h, const float *dc,
                           float *dw);

/* ---- LSTM (lstm_cell.c) ---------------------------------------------------
 */

struct tfd_lstm {
    int64_t batch, input, cell;
    float forget_bias, clip; /* clip <= 0: none */
    bool peephole;
    int at_c, at_f; /* gates lie i, c, f, o or i, f, c, o: 1 or 2 */
    const float *w, *wci, *wcf, *wco, *b;
    float *gates; /* [batch][4][cell] to work in; dgates of the gradient */
};

/* One step of time: [batch][cell] each, but x. */
struct tfd_lstm_step {
    const float *x, *cs_prev, *h_prev;
    float *i, *cs, *f, *o, *ci, *co, *h;
    /* Gradients: what comes from above, and from the step behind (h_carry NULL:
     * there is none, and nothing in cs_carry), which becomes that of the step
     * before. */
    const float *cs_grad, *h_grad;
    float *cs_carry;
    const float *h_carry;
};

/* k NULL: on this thread alone. */
void tfd_lstm_forward(struct tfd_kctx *k, const struct tfd_lstm *l,
                      const struct tfd_lstm_step *s);

/* Where gradients of peepholes are added up, and of b (NULL: they are not).
 * room: tfd_lstm_room() floats to work in. */
struct tfd_lstm_sums {
    float *wci, *wcf, *wco, *b;
    float *room;
};

/* No unit: 0. */
int64_t tfd_lstm_room(const struct tfd_lstm *l);
/* Fills gates and cs_carry, and adds to the sums. */
void tfd_lstm_backward(struct tfd_kctx *k, const struct tfd_lstm *l,
                       const struct tfd_lstm_step *s,
                       const struct tfd_lstm_sums *sums);

#endif
