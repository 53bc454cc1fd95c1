/*
 * restore.c - Restore, RestoreSlice: one tensor of a checkpoint of format V1,
 * whose slices may be in several files, the shards that a pattern names.
 *
 *     "model-*"  -->  model-0: a[0:2]     a  <--  both files
 *                     model-1: a[2:3], b
 *
 * With a preferred shard that one alone is opened at first, and the others when
 * something is missing there; then one that cannot be read is passed over, as
 * in TensorFlow.
 */
#include "common/thread/halt.h"
#include "kernels/checkpoint/slices_reader.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/io/file_glob.h"

#include "config/limits.h"

#include <stdlib.h>

struct shard {
    struct tfd_str name; /* in the list of names */
    struct tfd_slices_reader reader;
    bool open;
};

struct shards {
    struct tfd_file_access *access;
    struct tfd_bytes names;
    struct shard *of;
    int count;
};

/* ---- Files --------------------------------------------------------------- */

static int compare_shards(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;

    return tfd_str_cmp(x->name, y->name);
}

static enum tfd_code list_shards(struct shards *s, struct tfd_str pattern,
                                 struct tfd_status *st)
{
    struct tfd_str names, name;
    int count = 0;

    TFD_TRY(tfd_file_glob(s->access, pattern, &s->names, st));
    TFD_TRY(tfd_bytes_ok(&s->names, "names of checkpoint files", st));
    names = tfd_bytes_view(&s->names);
    while (tfd_file_glob_next(&names, &name))
        count++;
    if (count == 0)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Unsuccessful TensorSliceReader constructor: Failed to "
                        "find any matching files for " TFD_STR_FMT,
                        TFD_STR_ARG(pattern));
    if (count > TFD_RESTORE_SHARDS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%d checkpoint files match " TFD_STR_FMT
                        "; at most %d can be read at once",
                        count, TFD_STR_ARG(pattern), TFD_RESTORE_SHARDS_MAX);
    s->of = calloc((size_t)count, sizeof(*s->of));
    if (!s->of)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for %d checkpoint files", count);
    names = tfd_bytes_view(&s->names);
    while (tfd_file_glob_next(&names, &name))
        s->of[s->count++].name = name;
    qsort(s->of, (size_t)s->count, sizeof(*s->of), compare_shards);
    return TFD_OK;
}

static enum tfd_code open_shard(struct shards *s, int i, struct tfd_status *st)
{
    if (s->of[i].open)
        return TFD_OK;
    TFD_TRY(
        tfd_slices_reader_open(&s->of[i].reader, s->access, s->of[i].name, st));
    s->of[i].open = true;
    return TFD_OK;
}

static enum tfd_code open_rest(struct shards *s, struct tfd_status *st)
{
    for (int i = 0; i < s->count; i++)
        TFD_TRY(open_shard(s, i, st));
    return TFD_OK;
}

/* All that can be read. */
static void open_others(struct shards *s)
{
    for (int i = 0; i < s->count && !tfd_halted(); i++)
        (void)!open_shard(s, i, NULL);
}

static void close_shards(struct shards *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->of[i].open)
            tfd_slices_reader_close(&s->of[i].reader);
    free(s->of);
    tfd_bytes_deinit(&s->names);
}

/* ---- The tensor ---------------------------------------------------------- */

static const struct tfd_slices_tensor *tensor_in(const struct shard *f,
                                                 struct tfd_str name)
{
    uintptr_t number;

    return f->open && tfd_map_get(&f->reader.by_name, name, &number)
               ? &f->reader.tensors[number]
               : NULL;
}

static enum tfd_code check_alike(const struct tfd_slices_tensor *t,
                                 const struct tfd_slice_set *all,
                                 struct tfd_status *st)
{
    char old[TFD_SHAPE_TEXT_MAX], new[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&t->set.shape, &all->shape))
        return tfd_fail(
            st, TFD_INTERNAL,
            "Incompatible tensor shapes detected for tensor " TFD_STR_FMT
            ": existing = %s, new = %s",
            TFD_STR_ARG(t->name), tfd_shape_text(&all->shape, old),
            tfd_shape_text(&t->set.shape, new));
    if (t->set.dtype != all->dtype)
        return tfd_fail(
            st, TFD_INTERNAL,
            "Incompatible tensor types detected for tensor " TFD_STR_FMT
            ": existing = %s, new = %s",
            TFD_STR_ARG(t->name), tfd_dtype_name(all->dtype),
            tfd_dtype_name(t->set.dtype));
    return TFD_OK;
}

/* The slices of all files that are open; false in *found: none has the name.
 * *all is to be released in any case. */
static enum tfd_code collect_slices(const struct shards *s, struct tfd_str name,
                                    struct tfd_slice_set *all, bool *found,
                                    struct tfd_status *st)
{
    static const struct tfd_shape none = {0, {0}};

    *found = false;
    tfd_slice_set_init(all, TFD_FLOAT, &none);
    for (int i = 0; i < s->count; i++) {
        const struct tfd_slices_tensor *t = tensor_in(&s->of[i], name);

        if (!t)
            continue;
        if (!*found)
            tfd_slice_set_init(all, t->set.dtype, &t->set.shape);
        *found = true;
        TFD_TRY(check_alike(t, all, st));
        for (size_t j = 0; j < t->set.count; j++)
            TFD_TRY(tfd_slice_set_add(all, &t->set.slices[j], st));
    }
    return TFD_OK;
}

struct restoring {
    struct shards *shards;
    struct tfd_str name;
};

/* A stored slice, out of the file that has it. */
static enum tfd_code load_stored(void *ctx,
                                 const struct tfd_tensor_slice *slice,
                                 const struct tfd_shape *piece,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    const struct restoring *r = ctx;

    (void)piece;
    for (int i = 0; i < r->shards->count; i++) {
        struct shard *f = &r->shards->of[i];
        const struct tfd_slices_tensor *t = tensor_in(f, r->name);

        if (t && tfd_slice_set_covers(&t->set, slice))
            return tfd_slices_reader_read(&f->reader, r->name, slice, out, st);
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Error copying slice data");
}

/* What is wanted of a tensor of this shape: a slice, or all of it. */
static enum tfd_code wanted_slice(const struct tfd_slice_set *all,
                                  struct tfd_str spec,
                                  struct tfd_tensor_slice *want,
                                  struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape whole, piece;

    *want = tfd_tensor_slice_all(all->shape.rank);
    if (spec.size == 0)
        return TFD_OK;
    TFD_TRY(tfd_tensor_slice_parse(spec, &whole, want, &piece, st));
    if (tfd_shape_equal(&whole, &all->shape))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Shape in shape_and_slice spec does not match the shape in "
                    "the save file: %s, save file shape: %s",
                    tfd_shape_text(&whole, a), tfd_shape_text(&all->shape, b));
}

static enum tfd_code check_found(const struct tfd_kctx *k,
                                 const struct tfd_slice_set *all, bool found,
                                 struct tfd_str pattern, struct tfd_str name,
                                 struct tfd_status *st)
{
    int want = k->node->out_types[0];

    if (!found)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Tensor name \"" TFD_STR_FMT
                        "\" not found in checkpoint files " TFD_STR_FMT,
                        TFD_STR_ARG(name), TFD_STR_ARG(pattern));
    if ((int)all->dtype == want)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expected to restore a tensor of type %s, got a tensor of "
                    "type %s instead: tensor_name = " TFD_STR_FMT,
                    tfd_dtype_name(want), tfd_dtype_name((int)all->dtype),
                    TFD_STR_ARG(name));
}

/* ---- Kernels ------------------------------------------------------------- */

/* The first string of an input, which has one at least. */
static struct tfd_str first_string(const struct tfd_kctx *k, int in)
{
    const struct tfd_tstring *s = tfd_tensor_data(&k->in[in]);

    return tfd_tstring_view(s);
}

/* The slices of the name in the files that are open, and what is wanted. */
static enum tfd_code look_up(struct tfd_kctx *k, const struct restoring *r,
                             struct tfd_slice_set *all,
                             struct tfd_tensor_slice *want,
                             struct tfd_status *st)
{
    struct tfd_str spec = k->in_count > 2 ? first_string(k, 2) : TFD_STR_EMPTY;
    bool found;

    TFD_TRY(collect_slices(r->shards, r->name, all, &found, st));
    TFD_TRY(check_found(k, all, found, first_string(k, 0), r->name, st));
    return wanted_slice(all, spec, want, st);
}

static enum tfd_code read_tensor(struct tfd_kctx *k, struct restoring *r,
                                 bool may_open, struct tfd_status *st)
{
    struct tfd_slice_set all;
    struct tfd_tensor_slice want;
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc = look_up(k, r, &all, &want, &why);

    if (may_open && (rc == TFD_NOT_FOUND ||
                     (rc == TFD_OK && !tfd_slice_set_covers(&all, &want)))) {
        open_others(r->shards);
        tfd_slice_set_deinit(&all);
        tfd_status_clear(&why);
        rc = look_up(k, r, &all, &want, &why);
    }
    if (rc != TFD_OK)
        tfd_status_copy(st, &why);
    else if (!tfd_slice_set_covers(&all, &want))
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT, "Error copying slice data");
    else
        rc = tfd_slice_set_read(&all, &want, load_stored, r, &k->out[0], st);
    tfd_slice_set_deinit(&all);
    return rc;
}

static enum tfd_code restore_found(struct tfd_kctx *k, struct shards *s,
                                   struct tfd_status *st)
{
    struct restoring r = {s, first_string(k, 1)};
    int64_t preferred = *(const int64_t *)k->state;
    bool one = preferred >= 0 && s->count > 1;

    if (one && preferred >= s->count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "preferred_shard is %lld, and there are %d files",
                        (long long)preferred, s->count);
    if (one)
        TFD_TRY(open_shard(s, (int)preferred, st));
    else
        TFD_TRY(open_rest(s, st));
    return read_tensor(k, &r, one, st);
}

static enum tfd_code check_strings(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[0]);

    if (count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input 0 (file_pattern) must be a string scalar; got a "
                        "tensor of %lld elements",
                        (long long)count);
    for (int i = 1; i < k->in_count; i++)
        if (tfd_tensor_elements(&k->in[i]) < 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %d (%s) must have at least 1 elements", i,
                            i == 1 ? "file_pattern" : "shapes_and_slices");
    return TFD_OK;
}

static enum tfd_code restore_v1_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct shards s = {.count = 0};
    enum tfd_code rc;

    TFD_TRY(check_strings(k, st));
    TFD_TRY(tfd_file_check(k, &s.access, st));
    tfd_bytes_init(&s.names, TFD_RESTORE_NAMES_SIZE_MAX);
    rc = list_shards(&s, first_string(k, 0), st);
    if (rc == TFD_OK)
        rc = restore_found(k, &s, st);
    close_shards(&s);
    return rc;
}

static enum tfd_code restore_v1_prepare(const struct tfd_prepare *p,
                                        void *state, struct tfd_status *st)
{
    int64_t *preferred = state;

    TFD_TRY(tfd_node_int(p->node, "preferred_shard", preferred, st));
    if (*preferred >= -1)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attribute 'preferred_shard' must be greater or equal to "
                    "-1");
}

/* Only a slice says what its shape is. */
static enum tfd_code slice_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *spec = s->value ? s->value[2] : NULL;
    const struct tfd_tstring *text;
    struct tfd_tensor_slice slice;
    struct tfd_shape whole;

    if (!spec || tfd_tensor_elements(spec) < 1)
        return TFD_OK;
    text = tfd_tensor_data(spec);
    if (tfd_tstring_view(text).size == 0)
        return TFD_OK;
    return tfd_tensor_slice_parse(tfd_tstring_view(text), &whole, &slice,
                                  &s->out[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS "dt: type; preferred_shard: int = -1"

static const struct tfd_opdef ops[] = {
    {
        .name = "Restore",
        .inputs = "file_pattern: string, tensor_name: string",
        .outputs = "tensor: dt",
        .attrs = ATTRS,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "RestoreSlice",
        .inputs = "file_pattern: string, tensor_name: string, "
                  "shape_and_slice: string",
        .outputs = "tensor: dt",
        .attrs = ATTRS,
        .shape = slice_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define RESTORES(name_)                                                      \
    TFD_KERNEL_ANY(name_, restore_v1_compute, .prepare = restore_v1_prepare, \
                   .state_size = sizeof(int64_t), .flags = TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    RESTORES("Restore"),
    RESTORES("RestoreSlice"),
};

const struct tfd_family tfd_family_restore = {
    .name = "restore",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
