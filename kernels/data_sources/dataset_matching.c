/*
 * dataset_matching.c - MatchingFilesDataset: the names that patterns stand for,
 * pattern by pattern, each's in order.
 */
#include "kernels/data/data_table.h"
#include "kernels/io/file_glob.h"

#include "config/limits.h"

#include <stdlib.h>

struct matching {
    struct tfd_dataset dataset;
    struct tfd_tensor patterns;
};

struct matching_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_bytes names; /* of a pattern */
    struct tfd_str *sorted;
    int64_t count, at, next; /* pattern */
    bool any;
};

static void matching_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct matching *)d)->patterns);
}

static enum tfd_code matching_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    (void)st;
    tfd_bytes_init(&((struct matching_iterator *)it)->names,
                   TFD_FILE_NAMES_SIZE_MAX);
    return TFD_OK;
}

static void matching_end(struct tfd_data_iterator *it)
{
    struct matching_iterator *i = (struct matching_iterator *)it;

    tfd_bytes_deinit(&i->names);
    free(i->sorted);
}

static int compare_names(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static enum tfd_code sort_names(struct matching_iterator *i,
                                struct tfd_status *st)
{
    struct tfd_str rest = tfd_bytes_view(&i->names), name;
    int64_t count = 0;

    while (tfd_file_glob_next(&rest, &name))
        count++;
    free(i->sorted);
    i->sorted = calloc((size_t)count + 1, sizeof(*i->sorted));
    i->count = i->at = 0;
    if (!i->sorted)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of %lld files",
                        (long long)count);
    rest = tfd_bytes_view(&i->names);
    while (tfd_file_glob_next(&rest, &name))
        i->sorted[i->count++] = name;
    qsort(i->sorted, (size_t)count, sizeof(*i->sorted), compare_names);
    return TFD_OK;
}

static enum tfd_code next_pattern(struct matching_iterator *i,
                                  struct tfd_status *st)
{
    const struct matching *d = (const struct matching *)i->iterator.dataset;
    const struct tfd_tstring *patterns = tfd_tensor_data(&d->patterns);
    struct tfd_file_access *files = d->dataset.task.files;

    if (!files)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    tfd_bytes_clear(&i->names);
    TFD_TRY(tfd_file_glob(files, tfd_tstring_view(&patterns[i->next]),
                          &i->names, st));
    i->next++;
    return sort_names(i, st);
}

static enum tfd_code matching_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct matching_iterator *i = (struct matching_iterator *)it;
    static const struct tfd_shape scalar = {0, {0}};
    int64_t patterns =
        tfd_tensor_elements(&((const struct matching *)it->dataset)->patterns);

    while (i->at >= i->count && i->next < patterns)
        TFD_TRY(next_pattern(i, st));
    *end = i->at >= i->count;
    if (*end && !i->any)
        return tfd_fail(st, TFD_NOT_FOUND, "Don't find any matched files");
    if (*end)
        return TFD_OK;
    i->any = true;
    TFD_TRY(tfd_tensor_new(out, TFD_STRING, &scalar, st));
    return tfd_tstring_set(tfd_tensor_data(out), i->sorted[i->at++], st);
}

static const struct tfd_dataset_kind matching_kind = {
    .name = "MatchingFiles",
    .iterator_size = sizeof(struct matching_iterator),
    .begin = matching_begin,
    .next = matching_next,
    .end = matching_end,
    .release = matching_release,
};

static enum tfd_code matching_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, &matching_kind, sizeof(struct matching), 0, &d,
                             st));
    ((struct matching *)d)->patterns = tfd_tensor_ref(&k->in[0]);
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define MATCHING(name_)                                                       \
    {                                                                         \
        .name = (name_), .inputs = "patterns: string",                        \
        .outputs = "handle: variant", .attrs = "", .shape = tfd_shape_scalar, \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                        \
    }

static const struct tfd_opdef ops[] = {
    MATCHING("MatchingFilesDataset"),
    MATCHING("ExperimentalMatchingFilesDataset"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("MatchingFilesDataset", matching_compute),
    TFD_DATA_KERNEL("ExperimentalMatchingFilesDataset", matching_compute),
};

TFD_DATA_FAMILY(dataset_matching);
