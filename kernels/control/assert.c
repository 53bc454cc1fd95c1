/*
 * assert.c - Assert: fails the step with the values that are to be shown.
 *
 *     assertion failed: [hello] [[0 1 2...]...]
 *
 * The text is TensorFlow's, which tests match on (kernels/core/summarize.h).
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/summarize.h"

/* ---- Assert -------------------------------------------------------------- */

static enum tfd_code assert_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_node_int(p->node, "summarize", state, st);
}

static enum tfd_code assert_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_bytes b;
    struct tfd_str text;
    bool holds;

    TFD_TRY(tfd_check_bool(k, 0, &holds, st));
    if (holds)
        return TFD_OK;
    tfd_bytes_init(&b, 4 * TFD_STATUS_TEXT_MAX); /* the status cuts it */
    for (int i = 1; i < k->in_count; i++) {
        tfd_bytes_add_str(&b, tfd_str_of(i > 1 ? " [" : "["));
        tfd_summarize(&b, &k->in[i], *(const int64_t *)k->state);
        tfd_bytes_add_str(&b, tfd_str_of("]"));
    }
    text = tfd_bytes_view(&b);
    tfd_fail(st, TFD_INVALID_ARGUMENT, "assertion failed: %.*s", (int)text.size,
             text.data);
    tfd_bytes_deinit(&b);
    return TFD_INVALID_ARGUMENT;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Assert",
        .inputs = "condition: bool, data: T",
        .attrs = "T: list(type) >= 1; summarize: int = 3",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Assert", assert_cpu, .prepare = assert_prepare,
                   .state_size = sizeof(int64_t)),
};

const struct tfd_family tfd_family_assert = {
    .name = "assert",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
