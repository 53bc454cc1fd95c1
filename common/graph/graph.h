/*
 * graph.h - nodes, data and control edges, versions.
 *
 * A graph only grows.  Nodes are numbered from 0 in the order they were added
 * and never move or change, except for inputs of Merge that were missing when
 * it was added (loops).  All memory is the graph's arena.
 *
 * Adding a node checks it against its definition: number and types of inputs,
 * attributes (kind, allowed values, defaults).  The device's name is only taken
 * over; placement reads it.  Texts are TensorFlow's where clients match on
 * them.
 *
 * Ownership: counted.  A graph that is only read may be shared by threads;
 * growing it needs that nobody else reads (a session swaps versions).
 */
#ifndef TFD_COMMON_GRAPH_H
#define TFD_COMMON_GRAPH_H

#include "common/graph/opdef.h"

/* One output of one node; output -1 (TFD_CONTROL) is the control edge. */
struct tfd_edge {
    int32_t node; /* -1: none */
    int32_t output;
};

#define TFD_EDGE_NONE ((struct tfd_edge){-1, 0})
#define TFD_CONTROL (-1)

struct tfd_attr {
    struct tfd_str name;
    struct tfd_str value; /* an AttrValue message */
};

struct tfd_node {
    int32_t id;
    struct tfd_str name; /* terminated */
    const struct tfd_op *op;
    struct tfd_str device; /* as requested; "" when not */
    struct tfd_edge *in;   /* data inputs */
    int32_t in_count;
    int32_t *control; /* nodes this one waits for */
    int32_t control_count;
    const struct tfd_attr *attrs; /* as given: defaults are not filled in */
    int32_t attr_count;
    const uint8_t *in_types;  /* expected, by input; with TFD_REF if so */
    const uint8_t *out_types; /* by output; with TFD_REF if so */
    int32_t out_count;
};

/* Of GraphDefs that TensorFlow 2.21 writes, and that we do. */
#define TFD_GRAPH_DEF_VERSION 2474

struct tfd_versions {
    int32_t producer, min_consumer; /* 0: the GraphDef does not say */
};

struct tfd_graph {
    int refs;
    struct tfd_arena arena;
    const struct tfd_op_set *ops;
    struct tfd_node **nodes;
    int32_t count;
    int32_t capacity;
    struct tfd_map by_name; /* -> node id */
    struct tfd_versions versions;
    struct tfd_str library; /* FunctionDefLibrary message; "" when none */
    /* Whose functions are this graph's, too; counted; NULL: only its own. */
    struct tfd_graph *library_of;
    /* The library read (function.h), newest first. */
    struct tfd_function *functions;
    struct tfd_map function_by_name; /* -> struct tfd_function * */
    struct tfd_map gradient_by_name; /* function -> struct tfd_gradient_def */
};

/* What a new node shall be.  Strings and arrays are copied. */
struct tfd_node_spec {
    struct tfd_str name;
    struct tfd_str op;
    struct tfd_str device;
    const struct tfd_edge *in;
    int32_t in_count;
    const int32_t *control;
    int32_t control_count;
    const struct tfd_attr *attrs;
    int32_t attr_count;
    bool any_name; /* a client's graph: checked when it is sent */
};

struct tfd_graph *tfd_graph_new(const struct tfd_op_set *ops,
                                struct tfd_status *st);
struct tfd_graph *tfd_graph_ref(struct tfd_graph *g);
void tfd_graph_unref(struct tfd_graph *g);

/* Adds one node; *out may be NULL.  Type attributes that the inputs determine
 * may be missing from the spec.  INVALID_ARGUMENT for a bad node, NOT_FOUND
 * "Op type not registered 'X' in binary running on ..." for an unknown op. */
enum tfd_code tfd_graph_add(struct tfd_graph *g,
                            const struct tfd_node_spec *spec,
                            struct tfd_node **out,
                            struct tfd_status *st) TFD_MUST_USE;
/* Gives input `input` of a Merge node its edge, once. */
enum tfd_code tfd_graph_set_input(struct tfd_graph *g, struct tfd_node *n,
                                  int32_t input, struct tfd_edge from,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_graph_add_control(struct tfd_graph *g, struct tfd_node *n,
                                    int32_t from,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Forgets the nodes from `count` on, which no earlier node may refer to: for a
 * caller who finds after an import that it cannot keep it.  Their memory stays
 * the arena's. */
void tfd_graph_truncate(struct tfd_graph *g, int32_t count);
/* A letter, digit or one of "._", then also "/-\\>". */
bool tfd_graph_name_ok(struct tfd_str name);
/* INVALID_ARGUMENT "Node 'NAME': Node name contains invalid characters". */
enum tfd_code tfd_graph_name_check(struct tfd_str name,
                                   struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT "Duplicate node name in graph: 'NAME'". */
enum tfd_code tfd_graph_check_unused(const struct tfd_graph *g,
                                     struct tfd_str name,
                                     struct tfd_status *st) TFD_MUST_USE;
struct tfd_node *tfd_graph_find(const struct tfd_graph *g, struct tfd_str name);

/* "node", "node:1" -> an edge, checked against the node's outputs.  "^node"
 * gives output TFD_CONTROL. */
enum tfd_code tfd_graph_endpoint(const struct tfd_graph *g, struct tfd_str text,
                                 struct tfd_edge *out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Type of an output, with TFD_REF if it is a reference. */
int tfd_graph_type(const struct tfd_graph *g, struct tfd_edge e);

/* All nodes, producers before consumers; edges from NextIteration to Merge do
 * not count.  Iterative.  INVALID_ARGUMENT naming a node when there is a
 * cycle.  *order has graph->count entries in arena. */
enum tfd_code tfd_graph_order(const struct tfd_graph *g,
                              struct tfd_arena *arena, int32_t **order,
                              struct tfd_status *st) TFD_MUST_USE;

/* Arguments of the definition to inputs: first input and number of inputs of
 * argument arg of this node. */
void tfd_node_arg(const struct tfd_node *n, int arg, int32_t *first,
                  int32_t *count);
/* The other way round: the argument that an input or an output belongs to. */
int tfd_node_in_arg(const struct tfd_node *n, int32_t input);
int tfd_node_out_arg(const struct tfd_node *n, int32_t output);

/* "{{node y}} = MatMul[T=DT_FLOAT, ...](a, b:1, ^c)": a node as TensorFlow's
 * messages show it, with the attributes that it leaves to the definition. */
void tfd_node_summary(const struct tfd_graph *g, const struct tfd_node *n,
                      struct tfd_bytes *out);

/* ---- Attributes (attr.c): the node's value, else the op's default -------- */

/* False when the node has none and the op has no default. */
bool tfd_node_attr(const struct tfd_node *n, const char *name,
                   struct tfd_str *value);
/* INVALID_ARGUMENT when it is missing or of another kind. */
enum tfd_code tfd_node_int(const struct tfd_node *n, const char *name,
                           int64_t *out, struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_float(const struct tfd_node *n, const char *name,
                             float *out, struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_bool(const struct tfd_node *n, const char *name,
                            bool *out, struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_type(const struct tfd_node *n, const char *name,
                            enum tfd_dtype *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* The bytes live as long as the graph. */
enum tfd_code tfd_node_str(const struct tfd_node *n, const char *name,
                           struct tfd_str *out,
                           struct tfd_status *st) TFD_MUST_USE;
/* Partial shapes allowed; of the second long ones, too (shape_long.h). */
enum tfd_code tfd_node_shape(const struct tfd_node *n, const char *name,
                             struct tfd_shape *out,
                             struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_shape_any(const struct tfd_node *n, const char *name,
                                 struct tfd_shape *out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* A new reference; the caller unrefs. */
enum tfd_code tfd_node_tensor(const struct tfd_node *n, const char *name,
                              struct tfd_tensor *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* Only its shape, which may be long, without reading the elements. */
enum tfd_code tfd_node_tensor_shape(const struct tfd_node *n, const char *name,
                                    struct tfd_shape *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Lists: at most max elements are written, *count is how many there are;
 * more than max fails.  Element kind as in the function's name. */
enum tfd_code tfd_node_ints(const struct tfd_node *n, const char *name,
                            int64_t *out, int max, int *count,
                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_floats(const struct tfd_node *n, const char *name,
                              float *out, int max, int *count,
                              struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_strs(const struct tfd_node *n, const char *name,
                            struct tfd_str *out, int max, int *count,
                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_types(const struct tfd_node *n, const char *name,
                             enum tfd_dtype *out, int max, int *count,
                             struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_node_shapes(const struct tfd_node *n, const char *name,
                              struct tfd_shape *out, int max, int *count,
                              struct tfd_status *st) TFD_MUST_USE;

/* AttrValue messages, appended to b. */
void tfd_attr_put_int(struct tfd_bytes *b, int64_t v);
void tfd_attr_put_float(struct tfd_bytes *b, float v);
void tfd_attr_put_bool(struct tfd_bytes *b, bool v);
void tfd_attr_put_type(struct tfd_bytes *b, int dtype);
void tfd_attr_put_str(struct tfd_bytes *b, struct tfd_str v);
void tfd_attr_put_shape(struct tfd_bytes *b, const struct tfd_shape *v);
void tfd_attr_put_tensor(struct tfd_bytes *b, const struct tfd_tensor *v);
void tfd_attr_put_strs(struct tfd_bytes *b, const struct tfd_str *v, int count);
void tfd_attr_put_ints(struct tfd_bytes *b, const int64_t *v, int count);
void tfd_attr_put_floats(struct tfd_bytes *b, const float *v, int count);
void tfd_attr_put_types(struct tfd_bytes *b, const int *v, int count);
void tfd_attr_put_shapes(struct tfd_bytes *b, const struct tfd_shape *v,
                         int count);

#endif
