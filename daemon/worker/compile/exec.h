/*
 * exec.h - a registered graph in the form the executor runs: dense arrays and
 * integers, made once by compile.c, read-only and shared by all its steps.
 *
 *     node  --edges-->  slots of the consumers' inputs
 *
 * Each input of each node has a slot of its own, consecutive for a node, so a
 * kernel finds its inputs as an array.  A producer writes into the slots of
 * its consumers and counts down what they still wait for; the last consumer
 * gets the producer's reference itself, so a kernel may write its output over
 * an input that nobody else reads.
 *
 * Slots, counts and everything else that a step changes lie in an iteration
 * (step.h), laid out by the frame they belong to: frame 0 is the graph outside
 * of loops, every while loop is one more.  A node has an index within its
 * frame (`local`), which its edges name; nodes of other frames cannot be
 * reached but through Enter and Exit.
 *
 * What is not here any more: Identity and NoOp that only pass on, constants
 * that wait for nothing (their value stands in the slots from the start), the
 * graph's names but for messages.
 *
 * Threads: any; read-only once made.
 */
#ifndef TFD_DAEMON_WORKER_EXEC_H
#define TFD_DAEMON_WORKER_EXEC_H

#include "daemon/worker/state/device.h"
#include "kernels/core/registry.h"

struct tfd_step;
struct tfd_function_table;
struct tfd_while_code;
struct tfd_parts;
struct tfd_exec_chain;
struct tfd_node_samples;

enum tfd_exec_kind {
    TFD_EXEC_KERNEL, /* compute() */
    TFD_EXEC_ASYNC,  /* start() */
    TFD_EXEC_CONST,  /* a constant that waits for control inputs */
    TFD_EXEC_NOOP,
    TFD_EXEC_PASS, /* inputs are outputs: Identity, Enter, Exit, LoopCond */
    TFD_EXEC_FEED,
    TFD_EXEC_FETCH,
    TFD_EXEC_SWITCH,
    TFD_EXEC_MERGE,
    TFD_EXEC_LOOP,  /* a whole loop, as code; no node of the graph */
    TFD_EXEC_GATE,  /* before a static part (captures.h); nor is it */
    TFD_EXEC_CHAIN, /* several nodes as one (kernels/core/chain.h) */
    TFD_EXEC_SEND,  /* a Send that may be put off (late_send.c) */
    TFD_EXEC_KIND_COUNT
};

/* Where the outputs go. */
enum tfd_exec_route {
    TFD_ROUTE_HERE,     /* the same iteration */
    TFD_ROUTE_ENTER,    /* the first iteration of a loop inside */
    TFD_ROUTE_CONSTANT, /* every iteration of a loop inside */
    TFD_ROUTE_EXIT,     /* the iteration that the loop is in */
    TFD_ROUTE_NEXT,     /* the next iteration */
};

enum tfd_exec_flag {
    TFD_EXEC_RUNS_DEAD = 1 << 0,  /* Send, Recv */
    TFD_EXEC_NEVER_DEAD = 1 << 1, /* ControlTrigger */
    TFD_EXEC_CHECKS = 1 << 2,     /* the definition has checks */
    TFD_EXEC_REF_IN = 1 << 3,     /* some input arrives as a reference */
    TFD_EXEC_REF_OUT = 1 << 4,    /* some output is a reference */
    TFD_EXEC_UNINITIALIZED = 1 << 5 /* takes references without a value */,
    TFD_EXEC_FIXED_IN = 1 << 6,   /* some input is a constant's slot */
    TFD_EXEC_EXPENSIVE = 1 << 7,  /* known to be worth a thread */
    TFD_EXEC_INDEX_USED = 1 << 8, /* Merge: somebody reads value_index */
    TFD_EXEC_READS_LATE = 1 << 9, /* leaves references to its consumers */
    TFD_EXEC_STREAM = 1 << 10,    /* enqueues on its device's stream */
    TFD_EXEC_MAY_HALT = 1 << 11,  /* its outputs are all that it writes */
};

/* The bits above are an enum tfd_long_growth (kernels/layout/long_shape.h). */
#define TFD_EXEC_GROWTH 12

struct tfd_exec_edge {
    int32_t local;  /* the consumer, in its frame */
    int32_t slot;   /* in its frame; of Merge too; -1: control edge */
    int32_t output; /* of the producer; TFD_CONTROL */
    bool last;      /* nobody reads this output after it */
    bool merge;     /* the consumer is a Merge */
};

struct tfd_exec_node {
    const struct tfd_kernel *kernel;
    void *state;
    const struct tfd_node *node;        /* name and types */
    const struct tfd_exec_chain *chain; /* CHAIN: its nodes; else NULL */
    struct tfd_rt *rt;
    const struct tfd_exec_edge *edges;
    int32_t edge_count;
    int32_t local;
    int32_t slot; /* of its first input */
    int32_t in_count, out_count;
    int32_t out;    /* first of its places for outputs; -1: on the stack */
    int32_t async;  /* its struct tfd_async; -1 */
    int32_t merge;  /* its struct tfd_merge; -1 */
    int32_t value;  /* CONST: constant; FEED, FETCH: position; routes ENTER and
                       CONSTANT, LOOP: frame; GATE: part */
    int32_t shares; /* of its only output beyond the first, with no Merge among
                       its consumers; -1: else */
    int32_t place;  /* routes other than HERE: among their like in the frame */
    uint16_t flags;
    uint8_t kind;
    uint8_t route;
};

/* Outputs a kernel leaves on the stack of the executor at most. */
#define TFD_EXEC_STACK_OUTPUTS 4

/* A constant's value in a slot of every iteration. */
struct tfd_exec_fixed {
    int32_t slot;
    int32_t constant;
};

/* The layout of one iteration. */
struct tfd_exec_frame {
    int32_t parent; /* -1: frame 0 */
    const char *name;
    uint64_t name_hash; /* TensorFlow's, for rendezvous keys */
    const struct tfd_exec_node **nodes;
    const int32_t *pending;  /* by node: what it waits for at first */
    const uint8_t *is_fixed; /* by slot */
    const struct tfd_exec_fixed *fixed;
    int32_t node_count, slot_count, fixed_count;
    int32_t async_count, merge_count, out_count;
    /* of loops */
    int32_t enter_count; /* Enter nodes that lead into it */
    int32_t first_count, constant_count, exit_count, next_count;
    int32_t parallel; /* iterations at once */
    const struct tfd_exec_node **constants, **exits, **nexts; /* by place */
    const struct tfd_exec_node *unit;                         /* of kind LOOP */
    const struct tfd_while_code *code; /* NULL: runs node by node */
};

struct tfd_exec_feed {
    const struct tfd_exec_node *node; /* NULL: nobody reads it */
    const char *key;                  /* the whole rendezvous key */
};

/* One end of an edge that leaves the graph: a Send or Recv node. */
struct tfd_exec_channel {
    bool sends;
    bool pushes;  /* the other end is a tfd: by number, not by key */
    bool local;   /* the other end is in this task */
    int32_t peer; /* else its number in the cluster, found when registered */
    const char *device; /* at the other end */
    uint32_t number;    /* of the push */
    uint64_t hash;   /* in the step's rendezvous, frame and iteration apart */
    const char *key; /* up to and without ";FRAME:ITERATION" */
};

/* What prepare() made, to be released with the graph; shared states belong to
 * the session. */
struct tfd_exec_state {
    const struct tfd_kernel *kernel;
    void *state;
};

/* A device that kernels enqueue on, and how many do. */
struct tfd_exec_ahead {
    struct tfd_device *device;
    int32_t nodes;
};

/* See node_cost.c; atomics. */
struct tfd_node_cost {
    uint32_t ns;      /* 0: not known yet */
    uint32_t last_ns; /* what its newest run took; 0: there was none */
};

struct tfd_exec {
    struct tfd_arena arena;
    struct tfd_graph *graph;
    struct tfd_function_table *functions; /* owned; NULL: none, or a body */
    struct tfd_exec_node *nodes;
    int32_t node_count;
    struct tfd_exec_frame *frames;
    int32_t frame_count;
    const struct tfd_exec_node **roots; /* wait for nothing */
    int32_t root_count;
    /* Of the graph's Const nodes, in their order; then copies of them in other
     * memories. */
    struct tfd_tensor *constants;
    int32_t constant_count;
    struct tfd_exec_feed *feeds, *fetches;
    int32_t feed_count, fetch_count;
    struct tfd_exec_channel *channels;
    int32_t channel_count, channel_capacity;
    int32_t local_channels; /* that need the step's rendezvous */
    struct tfd_exec_state *states;
    int32_t state_count;
    struct tfd_exec_ahead *ahead;
    int32_t ahead_count;
    bool has_loops;
    bool replaces;     /* some node may give a variable other memory */
    bool late_fetches; /* some fetch is read again when a step ends */
    bool late_sends;   /* some Send may be put off */
    bool has_async;    /* else a step ends on the thread that began it */
    bool blocks;       /* some kernel waits for a disk */
    bool leftovers;    /* a step may end with values in slots */
    /* Measured.  Loop thread, but for the nodes' (atomics). */
    uint64_t steps;
    uint32_t cost_ns;  /* of a step */
    int32_t expensive; /* nodes worth a thread */
    struct tfd_node_cost *node_costs;
    struct tfd_node_samples *samples;
    struct tfd_parts *parts; /* NULL: it has none */
    /* Where its bytes count as long as it is there, and those of its steps;
     * atomic; NULL: nowhere. */
    size_t *memory;
    size_t size; /* of those, its own */
};

#endif
