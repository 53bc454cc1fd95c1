/*
 * assign_group.c - CollectiveAssignGroupV2: which of several groups a device is
 * in, when each row of a matrix lists the devices of one.
 */
#include "kernels/core/check.h"

#include <inttypes.h>
#include <stddef.h>

static enum tfd_code check_inputs(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    static const struct {
        const char *name;
        int rank;
    } rows[] = {{"group_assignment", 2}, {"device_index", 0}, {"base_key", 0}};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 1; i < 4; i++) {
        const struct tfd_shape *s = &k->in[i % 3].shape;

        if (s->rank != rows[i % 3].rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a %s, but received tensor of shape: %s",
                            rows[i % 3].name,
                            rows[i % 3].rank ? "2-d Tensor" : "scalar",
                            tfd_shape_text(s, text));
    }
    return TFD_OK;
}

static enum tfd_code check_key(int64_t group, int32_t base, int32_t *key,
                               struct tfd_status *st)
{
    *key = (int32_t)((uint32_t)base + (uint32_t)group);
    if (*key != 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Using the reserved group_key = 0 is not allowed: group_id "
                    "= %" PRId64 ", base_key = %d",
                    group, (int)base);
}

static enum tfd_code find_group(const struct tfd_tensor *groups, int32_t device,
                                int32_t base, int32_t *key,
                                struct tfd_status *st)
{
    const int32_t *index = tfd_tensor_data(groups);
    const int64_t devices = tfd_tensor_elements(groups);
    const int64_t size = groups->shape.dim[1];

    for (int64_t i = 0; i < devices; i++) {
        if (i % size == 0)
            TFD_TRY(check_key(i / size, base, key, st));
        if (index[i] < 0 || index[i] >= devices)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Not all items in group_assignment are within [0, "
                            "number of devices): item %" PRId64 " is %d",
                            i, (int)index[i]);
        if (index[i] == device)
            return TFD_OK;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "device_index %d is not found in group_assignment",
                    (int)device);
}

static enum tfd_code assign_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    int32_t key = 0;

    TFD_TRY(check_inputs(k, st));
    TFD_TRY(find_group(&k->in[0], *(const int32_t *)tfd_tensor_data(&k->in[1]),
                       *(const int32_t *)tfd_tensor_data(&k->in[2]), &key, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)k->in[0].shape.dim[1];
    *(int32_t *)tfd_tensor_data(&k->out[1]) = key;
    return TFD_OK;
}

static enum tfd_code two_scalars(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->out[1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {{
    .name = "CollectiveAssignGroupV2",
    .inputs = "group_assignment: int32, device_index: int32, base_key: int32",
    .outputs = "group_size: int32, group_key: int32",
    .attrs = "",
    .shape = two_scalars,
    .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
}};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("CollectiveAssignGroupV2", assign_compute),
};

const struct tfd_family tfd_family_assign_group = {
    .name = "assign_group",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
