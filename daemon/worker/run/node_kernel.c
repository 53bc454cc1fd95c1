/*
 * node_kernel.c - runs the kernel of a ready node: fills in its inputs and
 * context, tests the definition's checks, computes, and asserts that the
 * outputs have the promised types.  See runner.h.
 */
#include "common/thread/halt.h"
#include "daemon/worker/run/runner.h"
#include "kernels/layout/long_shape.h"
#include "kernels/state/variable.h"

/* What output i is; DTYPE_INVALID: it is not there.  A reference may stand
 * where a value is expected: of a container's content (kernels/core/kept.h). */
static int output_type(const struct tfd_kctx *k, int i)
{
    if (tfd_dtype_is_ref(k->node->out_types[i]))
        return k->ref_out[i] ? k->node->out_types[i] : TFD_DTYPE_INVALID;
    if (k->gives_views && k->ref_out[i])
        return (int)k->ref_out[i]->dtype;
    return (int)k->out[i].dtype;
}

/* The kernel's promise: every output is there and of its type. */
enum tfd_code tfd_runner_check(const struct tfd_kctx *k, struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        int expected = k->node->out_types[i], is = output_type(k, i);

        if (is == expected)
            continue;
        if (is == TFD_DTYPE_INVALID)
            return tfd_fail(st, TFD_INTERNAL,
                            "Missing %d-th output from {{node " TFD_STR_FMT
                            "}}",
                            i, TFD_STR_ARG(k->node->name));
        return tfd_fail(st, TFD_INTERNAL,
                        "Output %d of type %s does not match declared output "
                        "type %s for node {{node " TFD_STR_FMT "}}",
                        i, tfd_dtype_name(is), tfd_dtype_name(expected),
                        TFD_STR_ARG(k->node->name));
    }
    return TFD_OK;
}

void tfd_runner_fill(struct tfd_kctx *k, struct tfd_step *s,
                     struct tfd_ready *item)
{
    const struct tfd_exec_node *n = item->node;

    k->kernel = n->kernel;
    k->in = item->it->slots + n->slot;
    k->in_count = n->in_count;
    k->out_count = n->out_count;
    k->state = n->state;
    k->ref = item->it->refs + n->slot;
    k->gives_views = (n->flags & TFD_EXEC_READS_LATE) != 0;
    k->node = n->node;
    k->rt = n->rt;
    k->step = s;
    k->async = item;
}

void tfd_runner_compute(struct tfd_runner *r, const struct tfd_exec_node *n)
{
    struct tfd_kctx *k = &r->k;
    enum tfd_code rc;

    if (n->flags & TFD_EXEC_CHECKS &&
        tfd_checks_run(n->node->op, k, &r->st) != TFD_OK)
        return;
    tfd_halt_at(n->flags & TFD_EXEC_MAY_HALT ? &r->step->failed : NULL);
    rc = tfd_long_wanted(k, n->flags >> TFD_EXEC_GROWTH)
             ? tfd_long_compute(k, &r->st)
             : n->kernel->compute(k, &r->st);
    tfd_halt_at(NULL);
    if (rc == TFD_OK)
        (void)!tfd_runner_check(k, &r->st);
}

void tfd_runner_prepare(struct tfd_runner *r, struct tfd_ready *item)
{
    tfd_runner_fill(&r->k, r->step, item);
    tfd_runner_outputs(r, item->it, item->node, &r->k.out, &r->k.ref_out);
}

enum tfd_code tfd_node_side(const struct tfd_exec_node *n,
                            const struct tfd_tensor *pred, int32_t *side,
                            struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    int32_t index;

    if (pred->shape.rank != 0)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "The second input must be a scalar, but it has shape %s",
            tfd_shape_text(&pred->shape, text));
    if (pred->dtype == TFD_BOOL) {
        *side = *(const tfd_bool *)tfd_tensor_data(pred) ? 1 : 0;
        return TFD_OK;
    }
    index = *(const int32_t *)tfd_tensor_data(pred);
    *side = index < 0 || index >= n->out_count ? n->out_count - 1 : index;
    return TFD_OK;
}
