/*
 * while_graph.h - what the parts of the compiler of loops share while they look
 * at one connected graph (exec.h) and write the code of its loops
 * (while_code.h).
 *
 *     while_graph.c   inputs by consumer, an order within each frame
 *     while_guard.c   when each node runs, and which loops may be code
 *     while_slots.c   slots of one loop, and what goes into them
 *     while_emit.c    its code
 *     while_compile.c all of it in order
 *
 * Nodes are named by their number in the exec, frames by theirs, a loop within
 * a frame, where it stands for one node, by the complement of its frame.
 *
 * Ownership: everything but the code is in the scratch arena.  Threads: the one
 * that compiles.
 */
#ifndef TFD_DAEMON_WORKER_WHILE_GRAPH_H
#define TFD_DAEMON_WORKER_WHILE_GRAPH_H

#include "daemon/worker/compile/while_code.h"

/* Where the value of a slot comes from; node -1: constant `output`. */
struct tfd_while_input {
    int32_t node, output;
};

/* A side of a predicate, within another.  Of each frame three are made first:
 * what always runs, what runs when the condition is false, and when it is true.
 */
struct tfd_while_guard {
    int32_t parent; /* -1: of a frame's first */
    int32_t first;  /* of the sides of its predicate */
    int32_t count;  /* of sides */
    int32_t depth;
    int32_t next;   /* of first ones: the next of the same node; -1 */
    int32_t output; /* of that node: the predicate */
    uint8_t phase;
};

enum tfd_while_phase {
    TFD_WHILE_ALWAYS,
    TFD_WHILE_LEAVING,
    TFD_WHILE_BODY,
    TFD_WHILE_PHASES
};

enum tfd_while_role {
    TFD_WHILE_PLAIN,
    TFD_WHILE_VARIABLE, /* a Merge */
    TFD_WHILE_GATE,     /* a Switch by the condition of the loop */
};

struct tfd_while_graph {
    struct tfd_exec *e;
    struct tfd_arena *scratch;
    /* by frame */
    int32_t *slot_base; /* of its slots in `inputs` */
    int32_t *order_first, *order_end;
    int32_t *enter_first; /* and one more */
    int32_t *root;        /* first of its guards */
    int32_t *unit_guard;  /* of the Enters that lead into it; -1 */
    int32_t *condition;   /* its LoopCond; -1 */
    int32_t *gate;        /* one of its Switches by it; -1 */
    bool *in_order;       /* `order` has all of it */
    bool *may_be_code;
    bool *waits; /* for an Exit of its own, or may do */
    /* by node */
    int32_t *frame;
    int32_t *control_first; /* and one more */
    int32_t *guard;
    int32_t *sides;      /* Switch: guard of its first output */
    int32_t *predicates; /* sides of its outputs as predicates; -1 */
    int32_t *passes;     /* nodes that only pass on, up to it in a row */
    uint8_t *role;
    /* by the arrays above */
    struct tfd_while_input *inputs;
    int32_t *controls;
    int32_t *enters;
    int32_t *order;
    struct tfd_while_guard *guards;
    int32_t guard_count;
};

static inline int32_t tfd_while_number(const struct tfd_while_graph *g,
                                       const struct tfd_exec_node *x)
{
    return (int32_t)(x - g->e->nodes);
}

static inline bool tfd_while_enters(const struct tfd_exec_node *x)
{
    return x->route == TFD_ROUTE_ENTER || x->route == TFD_ROUTE_CONSTANT;
}

/* Input i of a node. */
struct tfd_while_input tfd_while_input(const struct tfd_while_graph *g,
                                       int32_t node, int32_t i);
/* Its source, past nodes of the same frame that only pass on. */
struct tfd_while_input tfd_while_source(const struct tfd_while_graph *g,
                                        int32_t node, int32_t i);
/* The frame in which outputs of a node arrive. */
int32_t tfd_while_out_frame(const struct tfd_while_graph *g, int32_t node);

enum tfd_code tfd_while_graph_make(struct tfd_while_graph *g,
                                   struct tfd_status *st) TFD_MUST_USE;
/* When input i of a node is live. */
int32_t tfd_while_guard_of(const struct tfd_while_graph *g, int32_t node,
                           int32_t i);
enum tfd_code tfd_while_guard_all(struct tfd_while_graph *g,
                                  struct tfd_status *st) TFD_MUST_USE;
/* ---- while_slots.c --------------------------------------------------------
 */

/* What a slot is filled with: a source, a constant (the complement of its
 * number), or TFD_WHILE_UNFILLED, which is filled by a move of its loop. */
#define TFD_WHILE_UNFILLED INT32_MIN

struct tfd_while_source {
    int32_t first; /* of the slots it fills, in `filled`; and of the next */
    bool keeps;    /* an Enter of a constant */
    uint8_t phase; /* of the loop around, when it is there */
};

/* Of one loop and those inside of it. */
struct tfd_while_slots {
    struct tfd_while_graph *g;
    int32_t top; /* the frame */
    int32_t *frames;
    int32_t frame_count, node_count;
    /* by node of the graph */
    int32_t *in;     /* its slot, or the first of its inputs */
    int32_t *out;    /* first of its outputs */
    int32_t *source; /* first of its sources: by output; of a variable by phase,
                        of an Enter of a constant one */
    /* by slot */
    int32_t *filled_by;
    uint8_t *kept;
    int32_t count, capacity;
    struct tfd_while_source *sources; /* and one more */
    int32_t source_count;
    int32_t *filled;
    int32_t in_max;
};

/* graph, top and the arrays by node and frame are set. */
enum tfd_code tfd_while_slots_make(struct tfd_while_slots *s,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Not one of moves, or of nothing. */
bool tfd_while_is_run(const struct tfd_while_graph *g, int32_t node);
uint8_t tfd_while_phase(const struct tfd_while_graph *g, int32_t item);

/* ---- while_emit.c ---------------------------------------------------------
 */

/* Writes the code of a loop and of all loops within it, which may be code.
 * s: the arrays by node and frame, used again from loop to loop; bits: by
 * guard, -1 at first. */
enum tfd_code tfd_while_emit(const struct tfd_while_slots *s, int32_t *bits,
                             int32_t frame, struct tfd_status *st) TFD_MUST_USE;

#endif
