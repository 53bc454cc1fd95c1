/*
 * gradient_loop.h - adds the gradient of a while loop to a graph: a loop that
 * runs as often, backwards.
 *
 *     forward   counts its iterations; what the gradient reads of one is pushed
 *               onto a stack
 *     backward  counts down; pops what was pushed, derives the body by the loop
 *               variables and sums up what comes for invariants
 *
 * The LoopCond identifies a loop: its variables are the values that are
 * switched by it, its frame has the name that their Enter nodes give.  It may
 * come from TF_FinishWhile() or from a GraphDef.  Loops within loops are
 * refused, and so is a body that keeps values of a conditional.
 *
 * Ownership: the walk's arena; tfd_gradient_loop_deinit() for the rest.
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_GRADIENT_LOOP_H
#define TFD_KERNELS_GRADIENT_LOOP_H

#include "common/base/id_map.h"
#include "kernels/core/gradient_walk.h"

struct tfd_gradient_variable {
    int32_t enter, switched, next; /* nodes */
    int32_t exit;                  /* -1: there is none */
    struct tfd_edge dy;            /* what has arrived at exits; none */
};

/* Where a gradient comes out of the backward loop: it belongs to `at`. */
struct tfd_gradient_end {
    struct tfd_edge at, gradient;
};

struct tfd_gradient_loop {
    struct tfd_gradient_builder *b;
    struct tfd_arena *arena;
    int32_t count; /* nodes before the gradients */
    int32_t cond;  /* LoopCond */
    struct tfd_str frame;
    int64_t parallel;
    struct tfd_gradient_variable *variables;
    int32_t variable_count;
    int32_t *invariants; /* Enter */
    int32_t invariant_count;
    int32_t *depth;  /* by node: 1 in the frame, 2 in one within, 0 outside */
    int32_t *branch; /* by node: conditionals it is in */
    const uint8_t *needed; /* by node: between x and y; the walk's */
    int32_t exits_left;    /* whose gradients have not arrived yet */

    struct tfd_str backward;       /* its frame's name */
    int32_t forward_iteration;     /* runs once in each */
    int32_t iteration;             /* likewise, backwards */
    struct tfd_id_map captured;    /* edge -> struct tfd_edge * */
    struct tfd_bytes pushes, pops; /* int32_t: nodes */
    struct tfd_gradient_end *ends;
    int32_t end_count;
};

/* The loop that this Exit leaves.  NOT_FOUND when it is none. */
enum tfd_code tfd_gradient_loop_new(struct tfd_gradient_builder *b,
                                    struct tfd_arena *arena, int32_t count,
                                    const struct tfd_node *exit,
                                    struct tfd_gradient_loop **out,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_gradient_loop_deinit(struct tfd_gradient_loop *l);
/* The variable that an Exit of the loop gives away. */
struct tfd_gradient_variable *
tfd_gradient_loop_variable(const struct tfd_gradient_loop *l,
                           const struct tfd_node *exit);

/* Once dy of the variables is there: makes ends. */
enum tfd_code tfd_gradient_loop_derive(struct tfd_gradient_loop *l,
                                       struct tfd_status *st) TFD_MUST_USE;

/* gradient_capture.c: an edge of the forward loop as the backward loop has
 * it; others stay. */
enum tfd_code tfd_gradient_loop_input(struct tfd_gradient_builder *b,
                                      struct tfd_edge e, struct tfd_edge *out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* gradient_capture.c: an Enter into a frame of this loop. */
enum tfd_code tfd_gradient_loop_enter(struct tfd_gradient_loop *l,
                                      struct tfd_edge in, struct tfd_str frame,
                                      bool constant, struct tfd_edge *out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* gradient_capture.c: a scalar of int32 that is there once after `control`;
 * -1: outside of loops. */
enum tfd_code tfd_gradient_loop_int(struct tfd_gradient_loop *l, int32_t value,
                                    int32_t control, struct tfd_edge *out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
