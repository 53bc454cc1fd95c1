/*
 * immutable_const.c - ImmutableConst: a constant whose bytes are a file's, as
 * they are in memory.
 *
 * TensorFlow maps the file; here it is read, each time, into the output, which
 * counts as every output does.  A longer file than the shape needs is no error.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"

struct file_constant {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
};

static enum tfd_code file_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct file_constant *c = state;

    TFD_TRY(tfd_node_type(p->node, "dtype", &c->dtype, st));
    if (c->dtype == TFD_RESOURCE || c->dtype == TFD_VARIANT)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Resource and variant dtypes are invalid for this op.");
    return tfd_check_attr_shape(p->node, &c->shape, st);
}

/* A truth of any byte but 0 is 1 to those who count on it. */
static void settle_truths(uint8_t *y, size_t size)
{
    for (size_t i = 0; i < size; i++)
        y[i] = y[i] != 0;
}

/* A block at a time, so that a step that has ended is not waited for. */
static enum tfd_code read_elements(struct tfd_file_access *a,
                                   struct tfd_file *f, struct tfd_tensor *t,
                                   struct tfd_status *st)
{
    const size_t size =
        (size_t)tfd_tensor_elements(t) * tfd_dtype_size(t->dtype);
    char *y = tfd_tensor_data(t);

    if (f->size < size)
        return tfd_fail(st, TFD_INTERNAL,
                        "Readonly memory region has wrong length (%llu) when "
                        "allocating %llu",
                        (unsigned long long)f->size, (unsigned long long)size);
    for (size_t at = 0; at < size && !tfd_halted();) {
        const size_t left = size - at;
        const size_t n =
            left < TFD_HALT_BLOCK_SIZE ? left : TFD_HALT_BLOCK_SIZE;

        TFD_TRY(a->read_at(a, f, at, y + at, n, st));
        at += n;
    }
    if (t->dtype == TFD_BOOL)
        settle_truths((uint8_t *)y, size);
    return TFD_OK;
}

/* What cannot be mapped is told apart, as TensorFlow does. */
static enum tfd_code open_constant(struct tfd_file_access *a,
                                   struct tfd_str name, struct tfd_file *f,
                                   struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    bool is_dir = false;

    if (a->open_read(a, name, f, &cause) != TFD_OK) {
        if (a->look(a, name, &is_dir, NULL) == TFD_OK && is_dir)
            return tfd_fail(st, TFD_NOT_FOUND, TFD_STR_FMT "; No such device",
                            TFD_STR_ARG(name));
        return tfd_status_copy(st, &cause);
    }
    if (f->size > 0)
        return TFD_OK;
    a->close(a, f);
    return tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT "; Invalid argument",
                    TFD_STR_ARG(name));
}

static enum tfd_code file_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct file_constant *c = k->state;
    struct tfd_file f = TFD_FILE_INIT;
    struct tfd_file_access *access;
    struct tfd_str name;
    enum tfd_code rc;

    TFD_TRY(tfd_node_str(k->node, "memory_region_name", &name, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(open_constant(access, name, &f, st));
    if (c->dtype == TFD_STRING)
        rc = tfd_fail(st, TFD_UNIMPLEMENTED,
                      "Sorry, DT_STRING is not currently supported for "
                      "ImmutableConstOp.");
    else
        rc = tfd_kctx_output(k, 0, c->dtype, &c->shape, st);
    if (rc == TFD_OK)
        rc = read_elements(access, &f, &k->out[0], st);
    access->close(access, &f);
    return rc;
}

static enum tfd_code file_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return tfd_node_shape_any(s->node, "shape", &s->out[0], st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "ImmutableConst",
        .outputs = "tensor: dtype",
        .attrs = "dtype: type; shape: shape; memory_region_name: string",
        .key = "dtype",
        .shape = file_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ImmutableConst", file_compute, .prepare = file_prepare,
                   .state_size = sizeof(struct file_constant),
                   .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_immutable_const = {
    .name = "immutable_const",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
