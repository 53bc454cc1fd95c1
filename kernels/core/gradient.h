/*
 * gradient.h - the vocabulary in which gradient functions are written.
 *
 * A gradient adds a handful of nodes.  A struct tfd_gradient remembers the
 * first failure and does nothing from then on, so a formula reads as one:
 *
 *     struct tfd_gradient b = tfd_gradient_begin(g, st);
 *     struct tfd_edge two = tfd_gradient_scalar(&b, x, 2);
 *
 *     g->dx[0] = tfd_gradient_op2(&b, "Mul", two, g->dy[0]);
 *     return b.code;
 *
 * The nodes are those that TensorFlow's Python gradients build, so numbers
 * agree, shortcuts for shapes known while building included.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_GRADIENT_H
#define TFD_KERNELS_GRADIENT_H

#include "kernels/core/kernel.h"

struct tfd_gradient {
    struct tfd_grad *g;
    struct tfd_status *st;
    enum tfd_code code; /* what the gradient function returns */
};

struct tfd_gradient tfd_gradient_begin(struct tfd_grad *g,
                                       struct tfd_status *st);

/* A node with one output; no edge after a failure. */
struct tfd_edge tfd_gradient_op(struct tfd_gradient *b, const char *op,
                                const struct tfd_edge *in, int in_count);
struct tfd_edge tfd_gradient_op1(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x);
struct tfd_edge tfd_gradient_op2(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x, struct tfd_edge y);
struct tfd_edge tfd_gradient_op3(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x, struct tfd_edge y,
                                 struct tfd_edge z);
/* The same with the attributes named in `flags`, which NULL ends, set to true;
 * TFD_GRADIENT_FLAGS of them at most. */
#define TFD_GRADIENT_FLAGS 4
struct tfd_edge tfd_gradient_op_flags(struct tfd_gradient *b, const char *op,
                                      const struct tfd_edge *in, int in_count,
                                      const char *const *flags);
/* The same with the attribute that the forward node has under this name. */
struct tfd_edge tfd_gradient_op_like(struct tfd_gradient *b, const char *op,
                                     const struct tfd_edge *in, int in_count,
                                     const char *attr);
/* The same with out_count outputs and those of the attributes named in `names`,
 * which NULL ends, that the forward node has; TFD_GRADIENT_NAMES at most. */
#define TFD_GRADIENT_NAMES 8
void tfd_gradient_copying(struct tfd_gradient *b, const char *op,
                          const struct tfd_edge *in, int in_count,
                          const char *const *names, struct tfd_edge *out,
                          int out_count);
/* The same with attributes that are said here: a bool 'b', an int 'i' or a type
 * 't'.  A name that is NULL ends them; TFD_GRADIENT_NAMES at most. */
struct tfd_gradient_attr {
    const char *name;
    char kind;
    int64_t value;
};
void tfd_gradient_with(struct tfd_gradient *b, const char *op,
                       const struct tfd_edge *in, int in_count,
                       const struct tfd_gradient_attr *attrs,
                       struct tfd_edge *out, int out_count);
struct tfd_edge tfd_gradient_cast(struct tfd_gradient *b, struct tfd_edge x,
                                  enum tfd_dtype to);

enum tfd_dtype tfd_gradient_dtype(const struct tfd_gradient *b,
                                  struct tfd_edge e);
/* What arrived at output i of the forward node; zeros where nothing did. */
struct tfd_edge tfd_gradient_given(struct tfd_gradient *b, int i);
/* x itself where it is real. */
struct tfd_edge tfd_gradient_conj(struct tfd_gradient *b, struct tfd_edge x);
/* A scalar constant of the type of `like`. */
struct tfd_edge tfd_gradient_scalar(struct tfd_gradient *b,
                                    struct tfd_edge like, double value);
/* A vector of int32; a scalar when count is -1. */
struct tfd_edge tfd_gradient_ints(struct tfd_gradient *b, const int32_t *values,
                                  int count);
/* The shape of x as a vector of int32: a constant when it is known. */
struct tfd_edge tfd_gradient_shape(struct tfd_gradient *b, struct tfd_edge x);
/* Values of a Const of integers; false when e is none or has more than max. */
bool tfd_gradient_const_ints(const struct tfd_gradient *b, struct tfd_edge e,
                             int64_t *values, int max, int *count);

/* Sums dx and dy, which have the shape of the broadcast of x and y, back to
 * the shapes of x and y.  Either may be none. */
void tfd_gradient_reduce(struct tfd_gradient *b, struct tfd_edge x,
                         struct tfd_edge y, struct tfd_edge *dx,
                         struct tfd_edge *dy);
/* Of an op of one input: what flows there is dy times the slope. */
enum tfd_code tfd_gradient_slope(struct tfd_gradient *b,
                                 struct tfd_edge slope) TFD_MUST_USE;

#endif
