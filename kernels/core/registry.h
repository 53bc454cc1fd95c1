/*
 * registry.h - all families together: definitions by name, kernels by op, type
 * and device.
 *
 * Built once at start from families.def and read-only from then on; refuses
 * duplicates and kernels without a definition.  What would take long at each
 * start, the text of the definitions and the types of the kernels, is checked
 * by tfd_registry_check(), which the tests call.
 *
 * Threads: any, after tfd_registry_init().
 */
#ifndef TFD_KERNELS_REGISTRY_H
#define TFD_KERNELS_REGISTRY_H

#include "kernels/core/kernel.h"

struct tfd_registry {
    struct tfd_op_set ops;
    struct tfd_arena arena;
    /* by op index: its kernels */
    const struct tfd_kernel ***kernels;
    int *kernel_count;
    bool has_gpu; /* kernels for one: a build with CUDA */
};

/* All CPU families (kernels/core/all.c); those of GPUs follow them in the array
 * that the registry is made of (cuda/device/cuda.h). */
extern const struct tfd_family *const tfd_families[];
extern const int tfd_family_count;

enum tfd_code tfd_registry_init(struct tfd_registry *r,
                                const struct tfd_family *const *families,
                                int count, struct tfd_status *st) TFD_MUST_USE;
void tfd_registry_deinit(struct tfd_registry *r);
/* INTERNAL naming the family where a definition cannot be parsed or a kernel
 * has a type that its op does not come in, or no function. */
enum tfd_code tfd_registry_check(const struct tfd_registry *r,
                                 const struct tfd_family *const *families,
                                 int count, struct tfd_status *st) TFD_MUST_USE;

/* The kernel for a node on a kind of device, chosen by the op's key attribute;
 * NULL when there is none. */
const struct tfd_kernel *tfd_registry_kernel(const struct tfd_registry *r,
                                             const struct tfd_node *n,
                                             enum tfd_device_kind device);

/* The loop (`range`, elementwise.h) of an elementwise op on a CPU, for kernels
 * that do what several ops do; NULL when there is none. */
tfd_range_fn *tfd_registry_loop(const char *op, enum tfd_dtype dtype);

/* Tests the definition's checks against the inputs of one execution.
 * INVALID_ARGUMENT naming the argument, its shape and what it must be. */
enum tfd_code tfd_checks_run(const struct tfd_op *op, const struct tfd_kctx *k,
                             struct tfd_status *st) TFD_MUST_USE;

/* Runs the shape function and checks its result against reason; outputs of
 * ops without one stay unknown. */
enum tfd_code tfd_registry_infer(struct tfd_shape_ctx *s,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
