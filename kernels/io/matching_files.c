/*
 * matching_files.c - MatchingFiles: the names that patterns stand for, sorted.
 */
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/io/file_glob.h"

#include <stdlib.h>

static int64_t count_names(struct tfd_str names)
{
    struct tfd_str name;
    int64_t count = 0;

    while (tfd_file_glob_next(&names, &name))
        count++;
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static enum tfd_code put_names(struct tfd_kctx *k, struct tfd_str names,
                               struct tfd_status *st)
{
    int64_t count = count_names(names);
    struct tfd_tstring *y;
    struct tfd_shape shape;
    struct tfd_str *sorted;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_shape_make(&shape, &count, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &shape, st));
    sorted = calloc((size_t)count + 1, sizeof(*sorted));
    if (!sorted)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of %lld files",
                        (long long)count);
    for (int64_t i = 0; i < count; i++)
        (void)tfd_file_glob_next(&names, &sorted[i]);
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_names);
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; rc == TFD_OK && i < count; i++)
        rc = tfd_tstring_set(&y[i], sorted[i], st);
    free(sorted);
    return rc;
}

static enum tfd_code matching_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *patterns = tfd_tensor_data(&k->in[0]);
    struct tfd_file_access *access;
    struct tfd_bytes names;
    enum tfd_code rc;

    TFD_TRY(tfd_file_check(k, &access, st));
    tfd_bytes_init(&names, TFD_FILE_NAMES_SIZE_MAX);
    rc = TFD_OK;
    for (int64_t i = 0; rc == TFD_OK && i < tfd_tensor_elements(&k->in[0]); i++)
        rc = tfd_file_glob(access, tfd_tstring_view(&patterns[i]), &names, st);
    if (rc == TFD_OK)
        rc = put_names(k, tfd_bytes_view(&names), st);
    tfd_bytes_deinit(&names);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "MatchingFiles",
        .inputs = "pattern: string",
        .outputs = "filenames: string",
        .attrs = "",
        .checks = "pattern: rank<=1 'Input patterns tensor must be scalar or "
                  "vector, but had shape: %s'",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("MatchingFiles", matching_compute,
                   .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_matching_files = {
    .name = "matching_files",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
