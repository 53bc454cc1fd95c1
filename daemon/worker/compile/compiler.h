/*
 * compiler.h - what the parts of the compiler share while one graph is made.
 *
 *     classify.c   device, kernel and kind of each node; which may go
 *     memory.c     in which memory each input and output is
 *     frames.c     which loop each node is in
 *     chains.c     elementwise nodes that run as one
 *     connect.c    nodes, slots and edges of what is left
 *     cross.c      copies between memories
 *     while_*.c    loops as code, where they may be
 *     capture_*.c  static parts, with gates before them
 *     bind_kernels.c       kernels' states, channels, feeds and fetches
 *     compile.c    all of it in order
 *
 * Numbers of graph nodes and of executed nodes are different; `exec` below maps
 * one to the other.  Everything here dies with the scratch arena.
 *
 * Threads: the one that compiles the graph.
 */
#ifndef TFD_DAEMON_WORKER_COMPILER_H
#define TFD_DAEMON_WORKER_COMPILER_H

#include "daemon/worker/compile/chains.h"
#include "daemon/worker/compile/compile.h"

/* Where a value comes from: output of an executed node, or a constant. */
struct tfd_source {
    int32_t exec;   /* -1: constant */
    int32_t output; /* or the constant's number */
};

struct tfd_plan_node {
    const struct tfd_kernel *kernel;
    const struct tfd_kernel *ports; /* says which arguments are in host memory;
                                       NULL: all */
    struct tfd_device *device;
    int32_t exec;      /* -1: not executed */
    int32_t first_out; /* of its outputs in `alias` */
    int32_t first_in;  /* of its inputs in `sources` */
    int32_t control;   /* graph node to wait for instead of this; -1: none */
    int32_t constant;  /* -1: is none */
    int32_t frame;     /* of its inputs */
    int32_t child;     /* Enter: the frame it leads into */
    int32_t data_uses, control_uses;
    struct tfd_plan_chain *chain; /* that it is the last node of; or NULL */
    uint8_t kind, route;
    bool bound;  /* a constant whose value stands in slots */
    bool elided; /* outputs are its inputs */
    bool inner;  /* computed by the last node of its chain */
    bool feeds_merge;
};

/* Several nodes that run as one. */
struct tfd_plan_chain {
    struct tfd_exec_chain *exec;
    struct tfd_edge in[TFD_CHAIN_INPUTS_MAX];
};

struct tfd_plan_frame {
    int32_t parent, depth;
    struct tfd_str name;
    int64_t parallel;
    int32_t enters;
};

struct tfd_compiler {
    const struct tfd_compile_env *env;
    struct tfd_exec *e;
    const struct tfd_graph *g;
    struct tfd_arena scratch;
    int32_t *order;
    struct tfd_plan_node *nodes;
    struct tfd_edge *alias;     /* by output: the edge that stands for it */
    struct tfd_source *sources; /* by input */
    int32_t source_count;
    struct tfd_plan_frame *frames;
    int32_t frame_count, frame_capacity;
    struct tfd_placed *placed; /* constants in other memories */
};

enum tfd_code tfd_compile_classify(struct tfd_compiler *c,
                                   struct tfd_status *st);
enum tfd_code tfd_compile_elide(struct tfd_compiler *c, struct tfd_status *st);
/* Where inputs and outputs are: the device whose memory it is; NULL: the host.
 * Elsewhere a memory is named in the same way. */
enum tfd_code tfd_compile_memory(struct tfd_compiler *c, struct tfd_status *st);
struct tfd_device *tfd_compile_in_memory(const struct tfd_compiler *c,
                                         int32_t node, int32_t input);
struct tfd_device *tfd_compile_out_memory(const struct tfd_compiler *c,
                                          int32_t node, int32_t output);
bool tfd_compile_same_memory(const struct tfd_device *a,
                             const struct tfd_device *b);
/* The number of a constant's value in another memory. */
enum tfd_code tfd_compile_place(struct tfd_compiler *c, int32_t constant,
                                struct tfd_device *to, int32_t *out,
                                struct tfd_status *st);
enum tfd_code tfd_compile_frames(struct tfd_compiler *c, struct tfd_status *st);
enum tfd_code tfd_compile_chains(struct tfd_compiler *c, struct tfd_status *st);
enum tfd_code tfd_compile_connect(struct tfd_compiler *c,
                                  struct tfd_status *st);
enum tfd_code tfd_compile_loops(struct tfd_compiler *c, struct tfd_status *st);
enum tfd_code tfd_compile_parts(struct tfd_compiler *c, struct tfd_status *st);
/* Nodes that tfd_compile_parts() may add to frame 0. */
int32_t tfd_compile_gates(const struct tfd_compiler *c);
enum tfd_code tfd_compile_bind(struct tfd_compiler *c, struct tfd_status *st);

/* Frame that the outputs of a node arrive in. */
int32_t tfd_compile_out_frame(const struct tfd_compiler *c, int32_t node);

/* The kernel that moves a value between memories. */
extern const struct tfd_kernel tfd_cross_copy_kernel;
struct tfd_copy_state {
    struct tfd_device *from, *to;
};

#endif
