/*
 * checkpoint.c - SaveV2, RestoreV2, MergeV2Checkpoints, and SaveSlices and Save
 * of the older format, over the readers and writers of both formats.
 *
 * Everything is checked before the first file is made.  RestoreV2 works in
 * TensorFlow's order, so that of several errors the same one is reported: first
 * every name is looked up as given, then types are compared and tensors read in
 * the order in which they lie in the data files.
 */
#define _GNU_SOURCE 1 /* nanosleep */

#include "common/base/clock.h"
#include "common/thread/halt.h"
#include "kernels/checkpoint/bundle_merge.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/core/check.h"
#include "kernels/checkpoint/checkpoint_reader.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/io/file_check.h"
#include "kernels/checkpoint/save_counts.h"
#include "kernels/checkpoint/slices_writer.h"

#include <stdlib.h>
#include <time.h>

/* Inputs in front of the tensors. */
enum { SAVE_FIXED = 2, SAVE_SLICES_FIXED = 3, SAVE_V2_FIXED = 3 };

static struct tfd_str string_at(const struct tfd_tensor *t, int64_t i)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    return tfd_tstring_view(&s[i]);
}

/* ---- Pieces of tensors --------------------------------------------------- */

/* What a spec says about the tensor that is saved as it. */
static enum tfd_code parse_piece(struct tfd_str spec,
                                 const struct tfd_tensor *t,
                                 struct tfd_shape *whole,
                                 struct tfd_tensor_slice *slice,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape piece;

    TFD_TRY(tfd_tensor_slice_parse(spec, whole, slice, &piece, st));
    if (tfd_shape_equal(&piece, &t->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Slice in shape_and_slice specification does not match the "
                    "shape of the tensor to  save: " TFD_STR_FMT ", tensor: %s",
                    TFD_STR_ARG(spec), tfd_shape_text(&t->shape, text));
}

/* ---- SaveV2 -------------------------------------------------------------- */

/* tensor_names and shape_and_slices, inputs 1 and 2 of SaveV2 and RestoreV2. */
static enum tfd_code check_counts(const struct tfd_kctx *k, int64_t count,
                                  const char *comma, const char *what,
                                  struct tfd_status *st)
{
    int64_t names = tfd_tensor_elements(&k->in[1]);
    int64_t slices = tfd_tensor_elements(&k->in[2]);

    if (names != slices)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "tensor_names and shape_and_slices have different "
                        "number of elements: %lld vs. %lld",
                        (long long)names, (long long)slices);
    if (names != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Got %lld tensor names%s but %lld %s.",
                        (long long)names, comma, (long long)count, what);
    return TFD_OK;
}

/* Runs one of the functions that save, and counts it. */
static enum tfd_code save_counted(struct tfd_kctx *k, int fixed,
                                  enum tfd_code (*save)(struct tfd_kctx *k,
                                                        int fixed,
                                                        struct tfd_status *st),
                                  struct tfd_status *st)
{
    int64_t begun_us = tfd_clock_now_us();
    enum tfd_code rc = save(k, fixed, st);
    uint64_t bytes = 0;

    for (int i = fixed; i < k->in_count; i++)
        bytes += tfd_tensor_size(&k->in[i]);
    tfd_save_counts_add((uint64_t)(tfd_clock_now_us() - begun_us), bytes,
                        rc != TFD_OK);
    return rc;
}

static enum tfd_code save_one(struct tfd_bundle_writer *w, struct tfd_str name,
                              struct tfd_str spec, const struct tfd_tensor *t,
                              struct tfd_status *st)
{
    struct tfd_tensor_slice slice;
    struct tfd_shape whole;

    if (spec.size == 0)
        return tfd_bundle_writer_add(w, name, t, st);
    TFD_TRY(parse_piece(spec, t, &whole, &slice, st));
    return tfd_bundle_writer_add_slice(w, name, &whole, &slice, t, st);
}

static enum tfd_code save_v2(struct tfd_kctx *k, int fixed,
                             struct tfd_status *st)
{
    int count = k->in_count - fixed;
    struct tfd_file_access *access;
    struct tfd_bundle_writer w;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(check_counts(k, count, "", "tensors", st));
    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(tfd_bundle_writer_open(&w, access, string_at(&k->in[0], 0), st));
    for (int i = 0; i < count && rc == TFD_OK; i++)
        rc = save_one(&w, string_at(&k->in[1], i), string_at(&k->in[2], i),
                      &k->in[fixed + i], st);
    if (rc == TFD_OK)
        rc = tfd_bundle_writer_finish(&w, st);
    if (rc == TFD_OK)
        tfd_late_close(k->rt ? tfd_rt_crew(k->rt) : NULL, access, w.replaced);
    tfd_bundle_writer_deinit(&w);
    return rc;
}

static enum tfd_code save_v2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return save_counted(k, SAVE_V2_FIXED, save_v2, st);
}

/* ---- SaveSlices, Save ---------------------------------------------------- */

static enum tfd_code check_v1(const struct tfd_kctx *k, int fixed,
                              struct tfd_status *st)
{
    int64_t names = tfd_tensor_elements(&k->in[1]);
    int64_t slices =
        fixed == SAVE_FIXED ? names : tfd_tensor_elements(&k->in[2]);

    if (names != k->in_count - fixed)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected totally %lld inputs as input #1 (which is a "
                        "string tensor of saved names) contains %lld names, "
                        "but received %d inputs",
                        (long long)(names + fixed), (long long)names,
                        k->in_count);
    if (slices != names)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %lld elements for the tensor shapes and "
                        "slices but got %lld",
                        (long long)names, (long long)slices);
    return TFD_OK;
}

static enum tfd_code add_v1(struct tfd_slices_writer *w, struct tfd_str name,
                            struct tfd_str spec, const struct tfd_tensor *t,
                            struct tfd_status *st)
{
    struct tfd_tensor_slice slice = tfd_tensor_slice_all(t->shape.rank);
    struct tfd_shape whole = t->shape;

    if (spec.size > 0)
        TFD_TRY(parse_piece(spec, t, &whole, &slice, st));
    return tfd_slices_writer_add(w, name, &whole, &slice, t, st);
}

static enum tfd_code save_v1(struct tfd_kctx *k, int fixed,
                             struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_slices_writer w;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(check_v1(k, fixed, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    tfd_slices_writer_init(&w);
    for (int i = 0; i < k->in_count - fixed && rc == TFD_OK; i++)
        rc = add_v1(&w, string_at(&k->in[1], i),
                    fixed == SAVE_FIXED ? TFD_STR_EMPTY
                                        : string_at(&k->in[2], i),
                    &k->in[fixed + i], st);
    if (rc == TFD_OK)
        rc = tfd_slices_writer_finish(&w, access, string_at(&k->in[0], 0), st);
    tfd_slices_writer_deinit(&w);
    return rc;
}

static enum tfd_code save_slices_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    return save_counted(k, SAVE_SLICES_FIXED, save_v1, st);
}

static enum tfd_code save_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return save_counted(k, SAVE_FIXED, save_v1, st);
}

/* ---- RestoreV2 ----------------------------------------------------------- */

/* Longer than a status, so that a status shows that it was cut. */
#define MISMATCHES_SIZE_MAX (2 * TFD_STATUS_TEXT_MAX)

/* How long an index may be away while its checkpoint is saved again, how often
 * it is looked for, and data files of how many tasks. */
#define SAVED_AGAIN_MS 2000
#define LOOK_MS 10
#define SHARDS_LOOKED_FOR 64

/* Where a tensor that is to be restored lies. */
struct place {
    int output;
    int32_t shard;
    uint64_t offset;
    enum tfd_dtype dtype;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->output < y->output ? -1 : x->output > y->output;
}

static enum tfd_dtype wanted_dtype(const struct tfd_kctx *k, int output)
{
    return (enum tfd_dtype)k->node->out_types[output];
}

static enum tfd_code find_tensors(const struct tfd_kctx *k,
                                  struct tfd_bundle_reader *r,
                                  struct place *places, struct tfd_status *st)
{
    for (int i = 0; i < k->out_count; i++) {
        struct tfd_bundle_entry e;

        TFD_TRY(tfd_bundle_reader_find(r, string_at(&k->in[1], i), &e, st));
        places[i] = (struct place){i, e.shard_id, e.offset, e.dtype};
    }
    qsort(places, (size_t)k->out_count, sizeof(*places), compare_places);
    return TFD_OK;
}

/* All tensors of another type in one error, as who renamed variables wants. */
static enum tfd_code check_types(const struct tfd_kctx *k,
                                 const struct place *places,
                                 struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&text, MISMATCHES_SIZE_MAX);
    for (int i = 0; i < k->out_count; i++) {
        enum tfd_dtype want = wanted_dtype(k, places[i].output);

        if (places[i].dtype == want)
            continue;
        tfd_bytes_printf(&text,
                         "%stensor_name = " TFD_STR_FMT "; expected dtype %s "
                         "does not equal original dtype %s",
                         rc == TFD_OK ? "" : "\n",
                         TFD_STR_ARG(string_at(&k->in[1], places[i].output)),
                         tfd_dtype_name(want), tfd_dtype_name(places[i].dtype));
        rc = TFD_INVALID_ARGUMENT;
    }
    if (rc != TFD_OK)
        tfd_fail(st, rc, "%.*s", (int)text.size, text.data ? text.data : "");
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code restore_one(struct tfd_kctx *k,
                                 struct tfd_checkpoint_reader *r, int i,
                                 struct tfd_status *st)
{
    return tfd_checkpoint_reader_restore(r, string_at(&k->in[1], i),
                                         string_at(&k->in[2], i),
                                         wanted_dtype(k, i), &k->out[i], st);
}

static enum tfd_code restore_bundle(struct tfd_kctx *k,
                                    struct tfd_checkpoint_reader *r,
                                    struct tfd_status *st)
{
    struct place *places = calloc((size_t)k->out_count, sizeof(*places));
    enum tfd_code rc;

    if (!places)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for %d names", k->out_count);
    rc = find_tensors(k, &r->u.bundle, places, st);
    if (rc == TFD_OK)
        rc = check_types(k, places, st);
    for (int i = 0; i < k->out_count && rc == TFD_OK; i++)
        rc = restore_one(k, r, places[i].output, st);
    free(places);
    return rc;
}

/* The number of shards that a checkpoint of this prefix has, by its first data
 * file; 0: there is none, or more than are looked for. */
static int32_t count_shards(struct tfd_file_access *access,
                            struct tfd_str prefix)
{
    struct tfd_file file;
    struct tfd_bytes name;
    int32_t found = 0;

    tfd_bytes_init(&name, TFD_FILE_DRAFT_NAME_MAX);
    for (int32_t n = 1; n <= SHARDS_LOOKED_FOR && found == 0; n++) {
        tfd_bytes_clear(&name);
        tfd_bundle_data_name(&name, prefix, 0, n);
        if (!name.failed && access->open_read(access, tfd_bytes_view(&name),
                                              &file, NULL) == TFD_OK) {
            access->close(access, &file);
            found = n;
        }
    }
    tfd_bytes_deinit(&name);
    return found;
}

static void pause_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000,
                         .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&t, NULL);
}

/* Whoever saves a checkpoint again, of which there is one already, takes the
 * old index away before the new data comes (bundle_merge.c), and brings the new
 * one a moment later.  A task that was stopped may do so as late as when others
 * restore what they had lost with it. */
static enum tfd_code open_checkpoint(struct tfd_checkpoint_reader *r,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix,
                                     struct tfd_status *st)
{
    struct tfd_status cause;
    enum tfd_code rc;

    for (int64_t waited = 0;; waited += LOOK_MS) {
        tfd_status_clear(&cause);
        rc = tfd_checkpoint_reader_open(r, access, prefix, &cause);
        if (rc != TFD_NOT_FOUND || waited >= SAVED_AGAIN_MS || tfd_halted() ||
            count_shards(access, prefix) == 0)
            return tfd_status_copy(st, &cause);
        pause_ms(LOOK_MS);
    }
}

static enum tfd_code restore_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_checkpoint_reader r;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(check_counts(k, k->out_count, ",", "expected dtypes", st));
    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(open_checkpoint(&r, access, string_at(&k->in[0], 0), st));
    if (!r.v1)
        rc = restore_bundle(k, &r, st);
    else
        for (int i = 0; i < k->out_count && rc == TFD_OK; i++)
            rc = restore_one(k, &r, i, st);
    tfd_checkpoint_reader_close(&r);
    return rc;
}

/* Only a slice says what its shape is. */
static enum tfd_code restore_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *specs =
        s->value && s->in_count == 3 ? s->value[2] : NULL;

    if (!specs || tfd_tensor_elements(specs) != s->out_count)
        return TFD_OK;
    for (int i = 0; i < s->out_count; i++) {
        struct tfd_str spec = string_at(specs, i);
        struct tfd_tensor_slice slice;
        struct tfd_shape whole;

        if (spec.size > 0)
            TFD_TRY(
                tfd_tensor_slice_parse(spec, &whole, &slice, &s->out[i], st));
    }
    return TFD_OK;
}

/* ---- MergeV2Checkpoints -------------------------------------------------- */

struct merge {
    bool delete_old_dirs, allow_missing_files;
};

static enum tfd_code merge_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct merge *m = state;

    TFD_TRY(tfd_node_bool(p->node, "delete_old_dirs", &m->delete_old_dirs, st));
    return tfd_node_bool(p->node, "allow_missing_files",
                         &m->allow_missing_files, st);
}

static enum tfd_code merge_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    size_t count = (size_t)tfd_tensor_elements(&k->in[0]);
    struct tfd_str prefix = string_at(&k->in[1], 0), *parts;
    const struct merge *m = k->state;
    struct tfd_file_access *access;
    enum tfd_code rc;

    TFD_TRY(tfd_file_check(k, &access, st));
    parts = calloc(count ? count : 1, sizeof(*parts));
    if (!parts)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "out of memory for %zu prefixes", count);
    for (size_t i = 0; i < count; i++)
        parts[i] = string_at(&k->in[0], (int64_t)i);
    rc = tfd_bundle_merge(access, parts, count, prefix, m->allow_missing_files,
                          st);
    if (rc == TFD_OK && m->delete_old_dirs)
        tfd_bundle_merge_remove_dirs(access, parts, count, prefix);
    free(parts);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "SaveV2",
        .inputs = "prefix: string, tensor_names: string, "
                  "shape_and_slices: string, tensors: dtypes",
        .outputs = "",
        .attrs = "dtypes: list(type) >= 1",
        .checks = "prefix: one; tensor_names: vector; shape_and_slices: vector",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "RestoreV2",
        .inputs = "prefix: string, tensor_names: string, "
                  "shape_and_slices: string",
        .outputs = "tensors: dtypes",
        .attrs = "dtypes: list(type) >= 1",
        .checks = "prefix: one; tensor_names: vector; shape_and_slices: vector",
        .shape = restore_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "MergeV2Checkpoints",
        .inputs = "checkpoint_prefixes: string, destination_prefix: string",
        .outputs = "",
        .attrs = "delete_old_dirs: bool = true; "
                 "allow_missing_files: bool = false",
        .checks = "checkpoint_prefixes: vector; destination_prefix: scalar",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SaveSlices",
        .inputs = "filename: string, tensor_names: string, "
                  "shapes_and_slices: string, data: T",
        .outputs = "",
        .attrs = "T: list(type) >= 1",
        .checks = "filename: one",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Save",
        .inputs = "filename: string, tensor_names: string, data: T",
        .outputs = "",
        .attrs = "T: list(type) >= 1",
        .checks = "filename: one",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("SaveV2", save_v2_compute, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("RestoreV2", restore_compute, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("MergeV2Checkpoints", merge_compute,
                   .prepare = merge_prepare, .state_size = sizeof(struct merge),
                   .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("SaveSlices", save_slices_compute,
                   .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("Save", save_compute, .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_checkpoint = {
    .name = "checkpoint",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
