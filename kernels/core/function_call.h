/*
 * function_call.h - how a kernel calls functions of its graph's library.
 *
 * A kernel names its functions in prepare(), by attributes of its node, and
 * calls them from start(), as often as it likes and several at once.  A body
 * is made executable the first time it is called.  A call is a step of its own
 * within the caller's: it has the caller's step id, devices and resources, ends
 * with it when that fails or is cancelled, and counts as its depth plus one.
 * Arguments and results are in the device's memory where their types are.
 *
 * daemon/worker implements this.
 */
#ifndef TFD_KERNELS_FUNCTION_CALL_H
#define TFD_KERNELS_FUNCTION_CALL_H

#include "common/graph/function.h"
#include "kernels/core/kernel.h"

/* A function with its attributes, on one device.  Lives as long as the kernel's
 * graph; nothing to free. */
struct tfd_rt_function;

/* NOT_FOUND "Function F is not defined." */
enum tfd_code tfd_rt_function(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st) TFD_MUST_USE;
/* The same; results are in host memory, whatever the device. */
enum tfd_code tfd_rt_predicate(const struct tfd_prepare *p,
                               const struct tfd_func *f,
                               struct tfd_rt_function **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* The function that the library names as the gradient of f, or one made of f's
 * body and the gradients of its ops.  NOT_FOUND when f is no function;
 * an op without a gradient is found when it is called. */
enum tfd_code tfd_rt_gradient(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st) TFD_MUST_USE;
int32_t tfd_rt_function_in_count(const struct tfd_rt_function *f);
int32_t tfd_rt_function_out_count(const struct tfd_rt_function *f);

/* One call.  The caller's memory until done(). */
struct tfd_function_call {
    struct tfd_rt_function *function;
    struct tfd_kctx *k;     /* of the kernel that calls */
    struct tfd_tensor *in;  /* taken: left empty */
    struct tfd_tensor *out; /* empty before; filled in when it succeeds */
    /* Once, from any thread, not before tfd_function_run() was called but
     * possibly before it returns.  st is not NULL. */
    void (*done)(struct tfd_function_call *c, const struct tfd_status *st);
};
void tfd_function_run(struct tfd_function_call *c);

#endif
