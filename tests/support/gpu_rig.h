/*
 * gpu_rig.h - a worker with two GPUs that are not there, for tests of what
 * daemon/worker does with devices.
 *
 * Kernels run on the threads of fake_cuda.h, so that order, completion and
 * what lies in which memory are real.  A test has a family of its kernels and
 * makes its graphs with worker_rig.h.
 */
#ifndef TFD_TESTS_SUPPORT_GPU_RIG_H
#define TFD_TESTS_SUPPORT_GPU_RIG_H

#include "daemon/gpu.h"
#include "daemon/worker/state/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/worker_rig.h"

#define GPU0 WRIG_TASK "/device:GPU:0"
#define GPU1 WRIG_TASK "/device:GPU:1"

struct gpu_rig {
    struct wrig w;
    struct tfd_gpus *gpus;
    uint64_t graph; /* of tests that have one */
    int lost;       /* atomic: devices */
};

/* ---- Kernels ------------------------------------------------------------- */

/* Where a pointer lies is what the pools say, so a tensor of the wrong memory
 * is seen here and not only on a card. */
void gpu_check_memory(const struct tfd_kctx *k, const struct tfd_tensor *t);

enum tfd_code gpu_launch(struct tfd_kctx *k, void (*kernel)(void *args),
                         const void *args, size_t size, struct tfd_status *st);

struct gpu_sum {
    const float *x, *y;
    float *z;
};

/* TestAdd of one or two inputs. */
enum tfd_code gpu_compute_add(struct tfd_kctx *k, struct tfd_status *st);

/* ---- A family ------------------------------------------------------------ */

#define GPU_OP(name_)                                         \
    {                                                         \
        .name = (name_), .inputs = "x: T", .outputs = "y: T", \
        .attrs = "T: type"                                    \
    }

#define GPU_STATEFUL(name_)                                   \
    {                                                         \
        .name = (name_), .inputs = "x: T", .outputs = "y: T", \
        .attrs = "T: type", .flags = TFD_OP_STATEFUL          \
    }

#define GPU_KERNEL(op_, compute_)                             \
    {                                                         \
        .op = (op_), .device = TFD_GPU, .compute = (compute_) \
    }

#define GPU_FLOAT (UINT32_C(1) << TFD_FLOAT)
#define GPU_INT32 (UINT32_C(1) << TFD_INT32)

static const struct tfd_borrowed gpu_borrowed[] = {
    {"Const", GPU_FLOAT, 0, 0},
    {"Const", GPU_INT32, TFD_HOST_ALL, TFD_HOST_ALL},
    {"Identity", GPU_FLOAT, 0, 0},
    {"Switch", GPU_FLOAT, 2, 0},
    {"Merge", GPU_FLOAT, 0, 2},
    {"Enter", GPU_FLOAT, 0, 0},
    {"Exit", GPU_FLOAT, 0, 0},
    {"NextIteration", GPU_FLOAT, 0, 0},
    {"LoopCond", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"NoOp", 0, 0, 0},
    {"_Send", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"_Recv", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestLess", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestCount", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"TestAtOnce", 0, TFD_HOST_ALL, TFD_HOST_ALL},
    {"VariableV2", GPU_FLOAT, 0, 0},
    {"Assign", GPU_FLOAT, 0, 0},
    {"VarHandleOp", GPU_FLOAT, 0, 1},
    {"ReadVariableOp", GPU_FLOAT, 1, 0},
    {"AssignVariableOp", GPU_FLOAT, 1, 0},
};

#define GPU_FAMILY(ops_, kernels_)                                           \
    {                                                                        \
        .name = "fakegpu", .ops = (ops_), .op_count = TFD_COUNT(ops_),       \
        .kernels = (kernels_), .kernel_count = TFD_COUNT(kernels_),          \
        .borrowed = gpu_borrowed, .borrowed_count = TFD_COUNT(gpu_borrowed), \
    }

/* ---- The rig ------------------------------------------------------------- */

struct tfd_cuda_options gpu_options(size_t memory_mib,
                                    enum tfd_cuda_graphs graphs);

void gpu_init(struct gpu_rig *r, int threads, const struct tfd_family *family,
              const struct tfd_cuda_options *o);

void gpu_deinit(struct gpu_rig *r);

/* ---- Graphs of floats ---------------------------------------------------- */

void gpu_fetch(struct wrig *w, const char *from);

void gpu_node(struct wrig *w, const char *device, const char *name,
              const char *op, const char *inputs);

void gpu_add(struct wrig *w, const char *device, const char *name,
             const char *inputs);

/* Of the device that is the next nodes'. */
void gpu_variable(struct wrig *w, const char *name, const char *shared_name,
                  const char *op);

uint64_t gpu_register(struct wrig *w);

void gpu_run(struct wrig *w, uint64_t graph);

/* ---- The one graph of a test --------------------------------------------- */

void gpu_ready(struct gpu_rig *r);

void gpu_go(struct gpu_rig *r);

/* With x as what is fed first. */
void gpu_go_with(struct gpu_rig *r, double x);

#endif
