/*
 * edit.h - a copy of a graph's newest nodes that can be changed while functions
 * are inlined; nodes of a graph itself cannot be changed once they are added.
 *
 * Nodes keep their numbers; new ones follow.  Numbers below `first` are nodes
 * of the graph that stay as they are.  A node that is replaced stays under its
 * name, so that it can be fetched, but says who stands for its outputs and for
 * its end: edges to it are followed there when everything is written back.
 *
 * The first failure is kept and everything does nothing from then on, so what
 * lowers a node reads as a list of the nodes it makes.
 *
 * Ownership: one arena.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_REWRITE_EDIT_H
#define TFD_DAEMON_REWRITE_EDIT_H

#include "common/graph/function_body.h"

/* A function that was expanded, and where: calls form a tree. */
struct tfd_edit_call {
    const struct tfd_function *function;
    int32_t parent; /* -1: the client's graph */
    int32_t depth;
};

struct tfd_edit_node {
    struct tfd_node n; /* no types; ids of edges are those of the edit */
    int32_t control_capacity;
    int32_t attr_capacity;
    int32_t call;             /* that it came from, or -1 */
    struct tfd_edge *forward; /* by output; NULL: it is its own */
    int32_t forward_end;      /* -1: its own */
    int32_t written;          /* its number in the graph, once there */
    int32_t next;             /* input to look at next */
    bool on_path;
};

struct tfd_edit {
    struct tfd_graph *g;
    int32_t first;
    struct tfd_edit_node **nodes; /* number first + i */
    int32_t count, capacity;
    int32_t taken; /* of them: the graph's own */
    struct tfd_edit_call *calls;
    int32_t call_count, call_capacity;
    struct tfd_arena arena;
    struct tfd_map names; /* of the nodes */
    int64_t suffix;       /* of made-up names */
    bool across_tasks;    /* functions.h */
    bool conditional;     /* a Switch or Enter of the client's: see inline.c */
    enum tfd_code code;   /* the first failure */
    struct tfd_status *st;
};

/* Takes the graph's nodes from `first` on over. */
void tfd_edit_begin(struct tfd_edit *e, struct tfd_graph *g, int32_t first,
                    struct tfd_status *st);
/* Puts them back; the graph keeps nothing of them after a failure. */
enum tfd_code tfd_edit_end(struct tfd_edit *e) TFD_MUST_USE;

struct tfd_edit_node *tfd_edit_at(const struct tfd_edit *e, int32_t id);
struct tfd_str tfd_edit_name(const struct tfd_edit *e, int32_t id);
struct tfd_str tfd_edit_device(const struct tfd_edit *e, int32_t id);
/* Who produces this value now. */
struct tfd_edge tfd_edit_follow(const struct tfd_edit *e, struct tfd_edge edge);

/* What a new node shall be. */
struct tfd_edit_spec {
    struct tfd_str name; /* taken as it is, made different if it is not new */
    const char *op;
    struct tfd_str device;
    const struct tfd_edge *in;
    int32_t in_count;
    int32_t call;
};
/* Its number; -1 after a failure. */
int32_t tfd_edit_add(struct tfd_edit *e, const struct tfd_edit_spec *spec);
/* "prefix/infix/_7" (infix NULL: "prefix/_7"), which no node has. */
struct tfd_str tfd_edit_new_name(struct tfd_edit *e, struct tfd_str prefix,
                                 const char *infix);
struct tfd_str tfd_edit_join(struct tfd_edit *e, struct tfd_str a,
                             const char *between, struct tfd_str b);
void tfd_edit_control(struct tfd_edit *e, int32_t id, int32_t waits_for);
/* value: an AttrValue; copied. */
void tfd_edit_attr(struct tfd_edit *e, int32_t id, const char *name,
                   struct tfd_bytes *take_value);
void tfd_edit_colocate(struct tfd_edit *e, int32_t id, struct tfd_str with);
/* id becomes what its name can be fetched by: an IdentityN of these values, or
 * a NoOp when there are none, that waits for `end`.  Whoever read or waited for
 * it reads `outputs` and waits for `end`. */
void tfd_edit_replace(struct tfd_edit *e, int32_t id,
                      const struct tfd_edge *outputs, int32_t count,
                      int32_t end);
/* Room in the arena; NULL after a failure. */
void *tfd_edit_array(struct tfd_edit *e, int32_t count, size_t size);
bool tfd_edit_ok(const struct tfd_edit *e);
enum tfd_code tfd_edit_fail(struct tfd_edit *e, enum tfd_code rc);

#endif
