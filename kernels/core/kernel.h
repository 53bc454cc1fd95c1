/*
 * kernel.h - what a family of operations gives the runtime, and what the
 * runtime gives a kernel.
 *
 * One file holds one family: definitions, shape functions, CPU kernels and
 * gradients side by side, closed by the table that publishes them.  The CUDA
 * kernels of family F are in cuda/F.cu and are published the same way.  All
 * families are listed in kernels/core/families.def.  There is no other place to
 * register anything, and no code that runs before main() to do it.
 *
 * Choosing a kernel (op, element type, device) and reading its attributes
 * (prepare) happens once, when a graph is registered.  Running one costs an
 * indirect call and no lookup.
 *
 * Before compute() the runtime has checked: number and types of inputs, the
 * definition's `checks`.  What a check cannot say, compute() tests itself with
 * the helpers of kernels/core/check.h.
 *
 * Threads: shape and gradient functions are pure.  compute() runs on a compute
 * thread and must not block; waiting kernels are asynchronous.
 */
#ifndef TFD_KERNELS_KERNEL_H
#define TFD_KERNELS_KERNEL_H

#include "common/graph/graph.h"
#include "common/base/status.h"
#include "common/base/tensor.h"

struct tfd_kernel;
struct tfd_memory;   /* alloc.h */
struct tfd_rt;       /* a device of a task, as kernels see it: runtime.h */
struct tfd_step;     /* the step being run: runtime.h */
struct tfd_variable; /* what a reference refers to: variable.h */

/* ---- Shape inference ---------------------------------------------------- */

struct tfd_shape_ctx {
    const struct tfd_node *node; /* attributes; NULL in some tests */
    const struct tfd_shape *in;
    int in_count;
    /* Inputs known while building: value[i] is a tensor or NULL. */
    const struct tfd_tensor *const *value;
    struct tfd_shape *out; /* preset to unknown rank */
    int out_count;
    const struct tfd_graph *graph; /* the node's, for texts; NULL: without */
};

/* ---- Gradients ---------------------------------------------------------- */

struct tfd_grad {
    struct tfd_graph *graph;
    const struct tfd_node *node; /* the forward node */
    const struct tfd_edge *x;    /* inputs of the forward node */
    const struct tfd_edge *y;    /* its outputs */
    const struct tfd_edge *dy;   /* gradients of its outputs; may be none */
    struct tfd_edge *dx; /* to fill in: gradients of its inputs; preset none */
    void *builder;       /* the client's: names, devices, control edges */
};

/* Inputs of one list whose gradient a gradient function can write. */
#define TFD_GRAD_LIST_MAX 256

/* Adds a node with out_count outputs; attributes beyond the types of its inputs
 * are given as AttrValue messages.  Type attributes follow from the inputs. */
enum tfd_code tfd_grad_emit_attrs(struct tfd_grad *g, const char *op,
                                  const struct tfd_edge *in, int in_count,
                                  const struct tfd_attr *attrs, int attr_count,
                                  struct tfd_edge *out, int out_count,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Adds a node with one output and returns that output in *out. */
enum tfd_code tfd_grad_emit(struct tfd_grad *g, const char *op,
                            const struct tfd_edge *in, int in_count,
                            struct tfd_edge *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* A Const: vector (count >= 0) or scalar (count -1) of int32. */
enum tfd_code tfd_grad_int32(struct tfd_grad *g, const int32_t *values,
                             int count, struct tfd_edge *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* A scalar Const of a type, converted from double. */
enum tfd_code tfd_grad_scalar(struct tfd_grad *g, enum tfd_dtype dtype,
                              double value, struct tfd_edge *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* The shape of a tensor as far as it is known while building, for gradients
 * that need no Shape op then.  True when it is fully known. */
bool tfd_grad_shape(const struct tfd_grad *g, struct tfd_edge e,
                    struct tfd_shape *out);

/* ---- Kernels ------------------------------------------------------------ */

/* Works on elements [begin, end); called from several threads at once. */
typedef void tfd_range_fn(void *arg, int64_t begin, int64_t end);

/* One execution of one node.  Filled in by the executor, or by a test. */
struct tfd_kctx {
    const struct tfd_kernel *kernel;
    struct tfd_tensor *in; /* values; empty where ref[i] is set */
    int in_count;
    struct tfd_tensor *out; /* owned by the executor once compute() returns */
    int out_count;
    void *stream;              /* of a GPU: where to enqueue; else NULL */
    struct tfd_memory *memory; /* of a GPU: of its outputs; NULL: the host's */
    void *state;               /* what prepare() made; shared by all steps */
    struct tfd_variable *const *ref; /* by input; NULL where it is a value */
    struct tfd_variable **ref_out;   /* by output; set for reference outputs */
    bool gives_views; /* outputs may be references instead: tfd_kept_give() */
    const struct tfd_node *node; /* name and types, for messages */
    struct tfd_rt *rt;
    struct tfd_step *step;
    void *async; /* the executor's, for kernels with start() */
};

/* The handle that is input `in`; NULL where it has no element. */
const struct tfd_handle *tfd_kctx_handle(const struct tfd_kctx *k, int in);

/* Gives output `out` the type and shape of input `in`.  Takes over the input's
 * buffer when this kernel is its last reader, so y may be x in place; in[]
 * stays as it is and may be read on, by the old pointers too.  (The buffer gets
 * one more reference; the executor drops its own with the inputs, as always.)
 */
enum tfd_code tfd_kctx_output_like(struct tfd_kctx *k, int in, int out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* A new output.  The shape comes from tfd_shape_make() or a tensor. */
enum tfd_code tfd_kctx_output(struct tfd_kctx *k, int out, enum tfd_dtype dtype,
                              const struct tfd_shape *shape,
                              struct tfd_status *st) TFD_MUST_USE;

/* Where output `out` lies; NULL: in the host's memory, as ever on a CPU. */
struct tfd_memory *tfd_kctx_memory(const struct tfd_kctx *k, int out);

/* Output `out` of this type and shape in the buffer of the first input of the
 * set `candidates` (bits) that has as many elements of the same size and no
 * other reader, else new.  For elementwise kernels. */
enum tfd_code tfd_kctx_output_reuse(struct tfd_kctx *k, uint32_t candidates,
                                    int out, enum tfd_dtype dtype,
                                    const struct tfd_shape *shape,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Output `out` is input `in` itself, another shape with as many elements at
 * most; shares the buffer (Identity, Reshape, Squeeze). */
void tfd_kctx_output_alias(struct tfd_kctx *k, int in, int out,
                           const struct tfd_shape *shape);

/* The rows of t, along its first dimension, begin at multiples of
 * TFD_BUFFER_ALIGN: each may lie in memory of its own. */
bool tfd_rows_aligned(const struct tfd_tensor *t);

/* Output `out` is of this shape and shows the elements of input `in` from
 * number `first` on; for those who know where TensorFlow shares the memory,
 * which is seen of a reference variable.  False: the caller makes a copy, as
 * where little of a large value would keep all of it. */
bool tfd_kctx_output_part(struct tfd_kctx *k, int in, int out,
                          const struct tfd_shape *shape, int64_t first);

/* Splits [0, n) over the compute pool and waits.  cost is a rough number of
 * nanoseconds per element; below about 20 microseconds it stays on the calling
 * thread, because waking another costs more. */
void tfd_kctx_parallel(struct tfd_kctx *k, int64_t n, int cost,
                       tfd_range_fn *fn, void *arg);
/* The same for a loop that may fail: the first failure, of whichever range; the
 * others may be done or not. */
typedef enum tfd_code tfd_try_fn(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st);
enum tfd_code tfd_kctx_try(struct tfd_kctx *k, int64_t n, int cost,
                           tfd_try_fn *fn, void *arg,
                           struct tfd_status *st) TFD_MUST_USE;
/* tfd_kctx_parallel() for a loop that is as quick as memory: `bytes` is what it
 * reads and writes for an element. */
void tfd_kctx_parallel_bytes(struct tfd_kctx *k, int64_t n, int bytes,
                             tfd_range_fn *fn, void *arg);
/* What a loop over elements of large operands takes for each. */
struct tfd_stream {
    int cost;  /* nanoseconds; 0: it is as quick as memory */
    int moved; /* bytes it reads and writes */
    int held;  /* bytes of memory: less where a result lies where an operand did
                */
};
/* The same for such a loop, which may begin at the end, in blocks, where the
 * last one on this thread has ended. */
void tfd_kctx_parallel_turns(struct tfd_kctx *k, int64_t n,
                             const struct tfd_stream *s, tfd_range_fn *fn,
                             void *arg);

/* Where a GPU row has an input or an output of a node. */
bool tfd_kernel_host_in(const struct tfd_kernel *k, const struct tfd_node *n,
                        int in);
bool tfd_kernel_host_out(const struct tfd_kernel *k, const struct tfd_node *n,
                         int out);

typedef enum tfd_code tfd_compute_fn(struct tfd_kctx *k, struct tfd_status *st);

/* An asynchronous kernel: returns at once; then, from any thread and exactly
 * once, possibly before start() has returned, tfd_kctx_finish(k, st). */
typedef void tfd_start_fn(struct tfd_kctx *k);
void tfd_kctx_finish(struct tfd_kctx *k, const struct tfd_status *st);

/* Reads the node's attributes into state (zeroed, state_size bytes), once per
 * registered graph; with TFD_KERNEL_SHARED once per session and node name, so
 * that graphs of one session share it (random streams, queues).  release()
 * follows in any case: after a failure it finds what prepare() has left. */
struct tfd_prepare {
    const struct tfd_node *node;
    struct tfd_rt *rt; /* NULL in some tests */
    /* The loop of an op's kernel on the CPU, for kernels that are made of
     * several ops; NULL for an op without one (tfd_registry_loop). */
    tfd_range_fn *(*loop)(const char *op, enum tfd_dtype dtype);
};
typedef enum tfd_code tfd_prepare_fn(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st);
typedef void tfd_release_fn(void *state);

enum tfd_kernel_flag {
    TFD_KERNEL_SHARED = 1 << 0,
    TFD_KERNEL_BLOCKS = 1 << 1, /* waits for a disk: never on the loop thread */
    TFD_KERNEL_HEAVY = 1 << 2,  /* known to cost more than a thread hop */
    TFD_KERNEL_DEAD = 1 << 3,   /* runs on dead inputs too (Send, Recv) */
    /* Of a GPU row: arguments of types that no device holds are in host memory,
     * too; for lists of several types. */
    TFD_KERNEL_BY_TYPE = 1 << 4,
    /* start() waits for others, not for the device, and enqueues nothing. */
    TFD_KERNEL_WAITS = 1 << 5,
    /* All that compute() does, once inputs are broadcast, is to run `range`
     * over a struct tfd_row (elementwise.h), which cannot fail. */
    TFD_KERNEL_ROW = 1 << 6,
    /* The same; but inputs are not broadcast. */
    TFD_KERNEL_PAIR = 1 << 7,
};

enum tfd_device_kind { TFD_CPU, TFD_GPU };

struct tfd_kernel {
    const char *op;
    enum tfd_dtype dtype; /* of the key attribute; INVALID matches every type */
    enum tfd_device_kind device;
    tfd_compute_fn *compute;
    tfd_range_fn *range; /* the loop for this type, when compute() shares */
    tfd_prepare_fn *prepare;
    tfd_release_fn *release;
    size_t state_size;
    tfd_start_fn *start; /* instead of compute */
    uint32_t flags;
    uint32_t host_in, host_out; /* bits: arguments in host memory (GPU rows) */
};

/* Every argument of a GPU row: its kernel runs on the CPU. */
#define TFD_HOST_ALL (~UINT32_C(0))

/* A row: TFD_KERNEL(op, type name, compute [, range] [, .prepare = ...]). */
#define TFD_KERNEL(op_, type_, ...)                           \
    {                                                         \
        .op = (op_), .dtype = TFD_##type_, .device = TFD_CPU, \
        .compute = __VA_ARGS__                                \
    }
/* The same for every element type (key attribute not looked at). */
#define TFD_KERNEL_ANY(op_, ...)                               \
    {                                                          \
        .op = (op_), .device = TFD_CPU, .compute = __VA_ARGS__ \
    }

/* A CPU kernel that serves a GPU as well, since it only passes values on, or
 * since its arguments stay in host memory: the registry makes a GPU row for
 * each of the types. */
struct tfd_borrowed {
    const char *op;
    uint32_t types; /* bits by enum tfd_dtype; 0: all, the key is not asked */
    uint32_t host_in, host_out;
};

/* ---- What a family publishes -------------------------------------------- */

struct tfd_family {
    const char *name;
    const struct tfd_opdef *ops; /* NULL in cuda/, which only adds kernels */
    int op_count;
    const struct tfd_kernel *kernels;
    int kernel_count;
    const struct tfd_borrowed *borrowed; /* from any family */
    int borrowed_count;
};

#define TFD_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#endif
