/*
 * abort.c - Abort: ends its step, ABORTED, with a message of the graph.
 *
 * In TensorFlow it ends the process, with a message or, exit_without_error,
 * without one.  A daemon that serves others is not one client's to end: here
 * the step fails, in both cases.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"

static enum tfd_code abort_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str message;
    bool quiet;

    TFD_TRY(tfd_node_bool(k->node, "exit_without_error", &quiet, st));
    TFD_TRY(tfd_node_str(k->node, "error_msg", &message, st));
    if (quiet)
        return tfd_fail(st, TFD_ABORTED,
                        "Abort_op asked to exit without an error, which ends "
                        "this step alone");
    return tfd_fail(st, TFD_ABORTED,
                    "Abort_op intentional failure; " TFD_STR_FMT,
                    TFD_STR_ARG(message));
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Abort",
        .attrs = "error_msg: string = ''; exit_without_error: bool = false",
        .shape = tfd_shape_none,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Abort", abort_compute),
};

const struct tfd_family tfd_family_abort = {
    .name = "abort",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
