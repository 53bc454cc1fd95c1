/*
 * while_code.h - a while loop as code: what a loop runs by whose nodes are all
 * here and never wait.
 *
 *     enter:  values of the Enters      -> variables, constants
 *     begin:  variables                 -> what the condition reads
 *             nodes that run always, the condition's among them
 *             test, where the loop goes on or to `leave`
 *             variables                 -> what the body reads
 *             nodes of the body; loops within it, written out in place
 *             values of NextIterations  -> variables, to `begin`
 *     leave:  variables                 -> Exits
 *
 * One thread runs it, one iteration after the other.  Merge, Switch, Enter,
 * Exit, NextIteration and LoopCond of the loop are moves between slots; nodes
 * that only pass on or say what follows what, and constants, are gone: the
 * order of the code is one that their edges allow.
 *
 * Conditionals within a body are kept as Switch and Merge.  Which side runs is
 * known by a guard, a bit for each side of each predicate: a node of the side
 * not taken is passed over.
 *
 * Which loops are code (while_guard.c):  one LoopCond; variables of one Enter,
 * one Merge and one NextIteration; no asynchronous or blocking kernel, no Send,
 * Recv or reference; every Merge puts together the sides of one predicate; what
 * goes round never depends on a side; no Enter waits for an Exit of the same
 * loop.  Any other loop runs in frames and iterations (while_frames.c), and so
 * does one of code that is entered with a dead value, by a step that is traced,
 * or whose nodes are worth several threads.
 *
 * Ownership: the code is in its graph's arena.  Threads: the code is read-only;
 * a state belongs to the one who runs it.
 */
#ifndef TFD_DAEMON_WORKER_WHILE_CODE_H
#define TFD_DAEMON_WORKER_WHILE_CODE_H

#include "daemon/worker/compile/exec.h"

struct tfd_runner;

enum tfd_while_kind {
    TFD_WHILE_KERNEL,
    TFD_WHILE_SWITCH, /* of a conditional */
    TFD_WHILE_MERGE,
    TFD_WHILE_ENTER, /* jump: past the loop, when its guard does not hold */
    TFD_WHILE_MOVES,
    TFD_WHILE_TEST, /* jump: when the condition is false */
    TFD_WHILE_JUMP, /* to the next iteration */
    TFD_WHILE_END,
};

/* A value moves, or gets one more reference; nothing happens to none. */
struct tfd_while_move {
    int32_t from, to; /* to -1: it is dropped */
    bool last;
};

struct tfd_while_op {
    const struct tfd_exec_node *node; /* NULL: of moves */
    const struct tfd_while_move *moves;
    int32_t move_count; /* after it has run */
    int32_t in, out;    /* first slots */
    int32_t jump;
    int32_t guard;        /* must hold; -1: always does */
    int32_t sides;        /* SWITCH: first of its guards */
    const int32_t *chose; /* MERGE: guards by input */
    uint8_t kind;
    bool keeps; /* some input stays in its slot */
};

struct tfd_while_fixed {
    int32_t slot, constant;
};

struct tfd_while_code {
    const struct tfd_exec_node *unit; /* stands for the loop when it is ready */
    const struct tfd_exec_node **first;          /* Enters, by place */
    const int32_t *first_slots, *constant_slots; /* of Enters, by place */
    const int32_t *exit_slots;                   /* by place */
    int32_t first_count;
    const struct tfd_while_op *ops;
    int32_t op_count;
    const uint8_t *kept; /* by slot: not emptied by its reader */
    const struct tfd_while_fixed *fixed;
    int32_t fixed_count, slot_count, guard_count;
    int32_t in_max; /* inputs of a node at most */
};

/* A run of the code. */
struct tfd_while_state {
    struct tfd_tensor *slots;
    uint8_t *holds;             /* by guard */
    struct tfd_variable **refs; /* none, for kernels to look at */
    int32_t at;                 /* the next op */
    uint32_t rounds;            /* jumps so far, as far as they are counted */
};

enum tfd_while_end { TFD_WHILE_ENDED, TFD_WHILE_LATER, TFD_WHILE_FAILED };

/* Bytes of what a state points to; its memory begins at an address fit for a
 * tensor. */
size_t tfd_while_state_size(const struct tfd_while_code *c);
/* memory: that many bytes, zeroed. */
void tfd_while_state_init(struct tfd_while_state *l, const struct tfd_exec *e,
                          const struct tfd_while_code *c, void *memory);
/* Drops what a run left. */
void tfd_while_state_reset(struct tfd_while_state *l,
                           const struct tfd_while_code *c);
/* And the constants. */
void tfd_while_state_deinit(struct tfd_while_state *l,
                            const struct tfd_while_code *c);

/* Goes on where l stands, for a while (LATER).  A failure is the step's, or was
 * that already. */
enum tfd_while_end tfd_while_code_run(struct tfd_runner *r,
                                      const struct tfd_while_code *c,
                                      struct tfd_while_state *l);

/* Two or more of its nodes are worth a thread each, by what they have cost. */
bool tfd_while_code_is_wide(const struct tfd_exec *e,
                            const struct tfd_while_code *c);

#endif
