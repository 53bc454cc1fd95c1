/*
 * opdef.h - definitions of operations: as a family writes them, and parsed.
 *
 * A definition is text in TensorFlow's own notation, so that it can be compared
 * with TensorFlow's at a glance:
 *
 *     inputs   "a: T, b: N * T, ref: Ref(T), values: Tvalues, axis: int32"
 *     outputs  the same
 *     attrs    "T: {float, half} = DT_FLOAT; N: int >= 1; Tvalues: list(type);
 *               transpose_a: bool = false; container: string = ''; s: shape"
 *              types may be named in groups: numbertype, realnumbertype, type
 *     checks   constraints on the values that arrive, tested before a kernel
 *              runs: "shape: vector; axis: scalar; x: rank>=1; y: like x;
 *              ids: nonempty; n: one" (words: scalar vector matrix rank=N
 *              rank>=N rank<=N one nonempty like NAME).  Words in quotes
 *              behind them are what a failure says, where TensorFlow has its
 *              own: %s in them is the shape, %d the rank
 *     key      the type attribute by which kernels are chosen ("T" if NULL)
 *
 * A set holds the definitions of all families; it is built once (by
 * kernels/core/registry.c) and shared by all threads afterwards.  A definition
 * is parsed when it is first looked up: a program names a few dozen of the
 * 1,400, and parsing all of them took half of the server's start.
 */
#ifndef TFD_COMMON_OPDEF_H
#define TFD_COMMON_OPDEF_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/base/tensor.h"
#include "common/thread/lock.h"

struct tfd_shape_ctx;
struct tfd_grad;
typedef enum tfd_code tfd_shape_fn(struct tfd_shape_ctx *s,
                                   struct tfd_status *st);
typedef enum tfd_code tfd_grad_fn(struct tfd_grad *g, struct tfd_status *st);

enum tfd_op_flag {
    TFD_OP_STATEFUL = 1 << 0,
    TFD_OP_COMMUTATIVE = 1 << 1,
    TFD_OP_METADATA = 1 << 2,         /* Shape, Rank, Size: reads no elements */
    TFD_OP_UNINITIALIZED_OK = 1 << 3, /* takes references without a value */
    TFD_OP_NO_GRADIENT = 1 << 4,      /* gradient is known to be none */
    TFD_OP_STEP_STATE = 1 << 5,       /* what it changes ends with its step */
    /* v1 control flow; the executor runs these itself */
    TFD_OP_SWITCH = 1 << 8,
    TFD_OP_MERGE = 1 << 9,
    TFD_OP_ENTER = 1 << 10,
    TFD_OP_EXIT = 1 << 11,
    TFD_OP_NEXT_ITERATION = 1 << 12,
    TFD_OP_LOOP_COND = 1 << 13,
    TFD_OP_SEND = 1 << 14,
    TFD_OP_RECV = 1 << 15,
    TFD_OP_CONTROL_TRIGGER = 1 << 16,
    TFD_OP_CONST = 1 << 17,
    TFD_OP_IDENTITY = 1 << 18, /* passes its inputs on: may be elided */
    TFD_OP_NOOP = 1 << 19,
    TFD_OP_FUNCTION = 1 << 20, /* a call of the function of this name */
    TFD_OP_HOME = 1 << 21,     /* runs graphs that arrive as values */
};

struct tfd_opdef {
    const char *name;
    const char *inputs;  /* "features: T" */
    const char *outputs; /* "activations: T" */
    const char *attrs;   /* "T: realnumbertype" */
    const char *checks;  /* NULL: none */
    const char *key;     /* NULL: "T" */
    tfd_shape_fn *shape; /* NULL: outputs of unknown shape */
    tfd_grad_fn *grad;   /* NULL: not differentiable */
    uint32_t flags;
};

/* ---- Parsed -------------------------------------------------------------- */

enum tfd_attr_kind {
    TFD_ATTR_STRING,
    TFD_ATTR_INT,
    TFD_ATTR_FLOAT,
    TFD_ATTR_BOOL,
    TFD_ATTR_TYPE,
    TFD_ATTR_SHAPE,
    TFD_ATTR_TENSOR,
    TFD_ATTR_FUNC,
};

/* Of an attribute that may be any type. */
#define TFD_OP_TYPES_ALL (~UINT32_C(0))

struct tfd_op_attr {
    struct tfd_str name; /* terminated */
    enum tfd_attr_kind kind;
    bool list;
    bool has_default;
    bool has_minimum;
    struct tfd_str default_value;  /* an AttrValue message */
    int64_t minimum;               /* of an int, or of a list's length */
    uint32_t types;                /* TYPE: bit n set: type number n allowed */
    const struct tfd_str *strings; /* allowed values; string_count of them */
    int string_count;
};

struct tfd_op_arg {
    struct tfd_str name;
    bool ref;
    enum tfd_dtype dtype; /* INVALID: given by an attribute */
    int type_attr;        /* index into attrs, or -1 */
    int number_attr;      /* N * T, or -1 */
    int list_attr;        /* list(type), or -1 */
};

enum tfd_check_kind {
    TFD_CHECK_RANK_MIN,
    TFD_CHECK_RANK_MAX,
    TFD_CHECK_ONE,
    TFD_CHECK_NONEMPTY,
    TFD_CHECK_LIKE,
};

struct tfd_check {
    enum tfd_check_kind kind;
    int arg;              /* index into inputs of the definition */
    int value;            /* rank, or the other argument */
    struct tfd_str words; /* what a failure says; empty: what all say */
};

struct tfd_op {
    const struct tfd_opdef *def;
    struct tfd_str name;
    uint32_t flags;
    const struct tfd_op_arg *in, *out;
    int in_count, out_count; /* of arguments, not of tensors */
    const struct tfd_op_attr *attrs;
    int attr_count;
    int key_attr; /* or -1 */
    const struct tfd_check *checks;
    int check_count;
    int index;  /* in the set; FUNCTION: of the op that runs it, or -1 */
    int parsed; /* only def, name and index are valid before */
};

/* Where definitions are parsed while other threads look some up. */
struct tfd_op_parser {
    struct tfd_lock lock;
    struct tfd_arena arena;
};

struct tfd_op_set {
    struct tfd_arena arena;
    struct tfd_op_parser *parser; /* NULL: the set is empty */
    struct tfd_map by_name;       /* -> struct tfd_op * */
    int count;
};

void tfd_op_set_init(struct tfd_op_set *s);
void tfd_op_set_deinit(struct tfd_op_set *s);
/* INTERNAL when the name is missing or taken. */
enum tfd_code tfd_op_set_add(struct tfd_op_set *s, const struct tfd_opdef *def,
                             struct tfd_status *st) TFD_MUST_USE;
/* Parses all definitions: INTERNAL when the text of one is wrong.  The tests
 * call it for those that the program has. */
enum tfd_code tfd_op_set_check(const struct tfd_op_set *s,
                               struct tfd_status *st) TFD_MUST_USE;
/* NULL: there is none, or, as the log says, it cannot be parsed. */
const struct tfd_op *tfd_op_find(const struct tfd_op_set *s,
                                 struct tfd_str name);
/* The op's index without parsing it, or -1. */
int tfd_op_index(const struct tfd_op_set *s, struct tfd_str name);
const struct tfd_op_attr *tfd_op_attr_find(const struct tfd_op *op,
                                           struct tfd_str name);
/* "Op<name=Relu; signature=features:T -> activations:T; attr=T:type,...>" as
 * TensorFlow's messages show definitions. */
void tfd_op_summary(const struct tfd_op *op, struct tfd_bytes *out);
/* OpDef message, for clients that ask (TF_GetAllOpList). */
void tfd_op_encode(const struct tfd_op *op, struct tfd_bytes *out);

#endif
