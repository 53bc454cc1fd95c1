/*
 * file_configuration.c - FileSystemSetConfiguration: an option of a file
 * system, of which those that there are here have none.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file.h"

static enum tfd_code check_words(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    static const char *const names[] = {"scheme", "key", "value"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        /* Of a wrong value TensorFlow tells the scheme's shape. */
        if (k->in[i].shape.rank != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be scalar, got shape %s", names[i],
                            tfd_shape_text(&k->in[i == 2 ? 0 : i].shape, text));
    return TFD_OK;
}

static enum tfd_code configure_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_str scheme;

    TFD_TRY(check_words(k, st));
    TFD_TRY(tfd_check_str(k, 0, &scheme, st));
    if (scheme.size == 0 || tfd_str_is(scheme, "file"))
        return tfd_fail(st, TFD_UNIMPLEMENTED, "SetOption");
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "File system scheme '" TFD_STR_FMT
                    "' not found to set configuration",
                    TFD_STR_ARG(scheme));
}

static const struct tfd_opdef ops[] = {
    {
        .name = "FileSystemSetConfiguration",
        .inputs = "scheme: string, key: string, value: string",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("FileSystemSetConfiguration", configure_compute),
};

const struct tfd_family tfd_family_file_configuration = {
    .name = "file_configuration",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
