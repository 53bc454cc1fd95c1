/*
 * slices_reader.c - the table of contents is read at the start, values when
 * they are asked for.
 */
#include "kernels/checkpoint/slices_reader.h"

#include "kernels/io/file_draft.h"
#include "kernels/checkpoint/slices_proto.h"

#include <stdlib.h>

/* ---- The table of contents ------------------------------------------------
 */

struct meta {
    struct tfd_str name, shape;
    int32_t dtype;
};

static enum tfd_code grow_slices(struct tfd_slices_reader *r,
                                 struct tfd_status *st)
{
    size_t capacity = r->capacity ? 2 * r->capacity : 16;
    struct tfd_slices_tensor *tensors = NULL;

    if (r->count < r->capacity)
        return TFD_OK;
    if (r->count < TFD_SLICES_TENSORS_MAX)
        tensors = realloc(r->tensors, capacity * sizeof(*tensors));
    if (!tensors)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "checkpoint with more than %zu tensors", r->count);
    r->tensors = tensors;
    r->capacity = capacity;
    return TFD_OK;
}

/* A name may come again, with more slices of the same tensor. */
static enum tfd_code check_same_tensor(const struct tfd_slices_tensor *t,
                                       enum tfd_dtype dtype,
                                       const struct tfd_shape *shape,
                                       struct tfd_status *st)
{
    char old[TFD_SHAPE_TEXT_MAX], new[TFD_SHAPE_TEXT_MAX];

    if (!tfd_shape_equal(&t->set.shape, shape))
        return tfd_fail(
            st, TFD_INTERNAL,
            "Incompatible tensor shapes detected for tensor " TFD_STR_FMT
            ": existing = %s, new = %s",
            TFD_STR_ARG(t->name), tfd_shape_text(&t->set.shape, old),
            tfd_shape_text(shape, new));
    if (t->set.dtype != dtype)
        return tfd_fail(
            st, TFD_INTERNAL,
            "Incompatible tensor types detected for tensor " TFD_STR_FMT
            ": existing = %s, new = %s",
            TFD_STR_ARG(t->name), tfd_dtype_name(t->set.dtype),
            tfd_dtype_name(dtype));
    return TFD_OK;
}

static enum tfd_code find_or_add(struct tfd_slices_reader *r,
                                 const struct meta *m,
                                 struct tfd_slices_tensor **t,
                                 struct tfd_status *st)
{
    enum tfd_dtype dtype = (enum tfd_dtype)m->dtype;
    struct tfd_shape shape;
    uintptr_t number;

    if (!tfd_dtype_valid(m->dtype) ||
        tfd_slices_check_dtype(dtype, NULL) != TFD_OK)
        return tfd_fail(st, TFD_DATA_LOSS, "tensor " TFD_STR_FMT " has type %d",
                        TFD_STR_ARG(m->name), m->dtype);
    TFD_TRY(tfd_checkpoint_take_shape(m->shape, &shape, st));
    if (tfd_map_get(&r->by_name, m->name, &number)) {
        *t = &r->tensors[number];
        return check_same_tensor(*t, dtype, &shape, st);
    }
    TFD_TRY(grow_slices(r, st));
    if (!tfd_map_put(&r->by_name, m->name, r->count))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    *t = &r->tensors[r->count++];
    (*t)->name = m->name;
    tfd_slice_set_init(&(*t)->set, dtype, &shape);
    return TFD_OK;
}

/* Slices come after what they are of, but a message may have any order, so it
 * is gone through twice. */
static enum tfd_code take_tensor(struct tfd_slices_reader *r,
                                 struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader in = tfd_pb_reader_of(proto);
    struct meta m = {TFD_STR_EMPTY, TFD_STR_EMPTY, 0};
    struct tfd_tensor_slice slice;
    struct tfd_slices_tensor *t = NULL;
    struct tfd_pb_field f;

    while (tfd_pb_next(&in, &f)) {
        if (f.tag == TFD_SLICES_TENSOR(name))
            m.name = tfd_pb_str(&in, &f);
        else if (f.tag == TFD_SLICES_TENSOR(shape))
            m.shape = tfd_pb_str(&in, &f);
        else if (f.tag == TFD_SLICES_TENSOR(type))
            m.dtype = tfd_pb_int32(&in, &f);
    }
    TFD_TRY(tfd_pb_end(&in, "SavedSliceMeta", st));
    TFD_TRY(find_or_add(r, &m, &t, st));
    in = tfd_pb_reader_of(proto);
    while (tfd_pb_next(&in, &f)) {
        if (f.tag != TFD_SLICES_TENSOR(slice))
            continue;
        TFD_TRY(tfd_tensor_slice_take(tfd_pb_str(&in, &f), &slice, st));
        TFD_TRY(tfd_slice_set_add(&t->set, &slice, st));
    }
    return tfd_pb_end(&in, "SavedSliceMeta", st);
}

static enum tfd_code take_meta(struct tfd_slices_reader *r,
                               struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader in = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&in, &f)) {
        if (f.tag == TFD_SLICES_META(tensor))
            TFD_TRY(take_tensor(r, tfd_pb_str(&in, &f), st));
        else if (f.tag == TFD_SLICES_META(versions))
            TFD_TRY(tfd_checkpoint_check_version(tfd_pb_str(&in, &f), st));
    }
    return tfd_pb_end(&in, "SavedTensorSliceMeta", st);
}

/* The message's only field of this number; "" when it has none. */
static enum tfd_code take_part(struct tfd_str proto, uint32_t tag,
                               struct tfd_str *part, struct tfd_status *st)
{
    struct tfd_pb_reader in = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *part = TFD_STR_EMPTY;
    while (tfd_pb_next(&in, &f))
        if (f.tag == tag)
            *part = tfd_pb_str(&in, &f);
    return tfd_pb_end(&in, "SavedTensorSlices", st);
}

static enum tfd_code read_contents(struct tfd_slices_reader *r,
                                   struct tfd_status *st)
{
    struct tfd_table_reader *table = &r->table.reader;
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_str meta;

    if (tfd_table_seek(table, TFD_STR_EMPTY, &cause) == TFD_OK &&
        table->valid && table->key.size == 0) {
        tfd_bytes_add_str(&r->contents, table->value);
        TFD_TRY(tfd_bytes_ok(&r->contents, "contents of a checkpoint", st));
        if (take_part(tfd_bytes_view(&r->contents), TFD_SLICES(meta), &meta,
                      &cause) == TFD_OK)
            return take_meta(r, meta, st);
    }
    return tfd_fail(st, TFD_INTERNAL,
                    "Failed to find the saved tensor slices at the beginning "
                    "of the checkpoint file: " TFD_STR_FMT,
                    TFD_STR_ARG(tfd_bytes_view(&r->file_name)));
}

static enum tfd_code open_table(struct tfd_slices_reader *r,
                                struct tfd_file_access *access,
                                struct tfd_status *st)
{
    struct tfd_str name = tfd_bytes_view(&r->file_name);
    struct tfd_status cause = TFD_STATUS_INIT;
    enum tfd_code rc = tfd_bundle_table_open(&r->table, access, name, &cause);

    if (tfd_file_is_missing(access, name, rc))
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Unsuccessful TensorSliceReader constructor: Failed to "
                        "find any matching files for " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    if (rc == TFD_DATA_LOSS)
        return tfd_fail(st, rc,
                        "Unable to open table file " TFD_STR_FMT
                        ": DATA_LOSS: %s: perhaps your file is in a different "
                        "file format and you need to use a different restore "
                        "operator?",
                        TFD_STR_ARG(name), cause.text);
    return tfd_status_copy(st, &cause);
}

static void free_contents(struct tfd_slices_reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        tfd_slice_set_deinit(&r->tensors[i].set);
    free(r->tensors);
    tfd_map_deinit(&r->by_name);
    tfd_bytes_deinit(&r->contents);
    tfd_bytes_deinit(&r->file_name);
}

enum tfd_code tfd_slices_reader_open(struct tfd_slices_reader *r,
                                     struct tfd_file_access *access,
                                     struct tfd_str name, struct tfd_status *st)
{
    enum tfd_code rc;

    r->tensors = NULL;
    r->count = r->capacity = 0;
    tfd_map_init(&r->by_name);
    tfd_bytes_init(&r->contents, UINT32_MAX);
    tfd_bytes_init(&r->file_name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_add_str(&r->file_name, name);
    rc = tfd_bytes_ok(&r->file_name, "name of a checkpoint", st);
    if (rc == TFD_OK)
        rc = open_table(r, access, st);
    if (rc != TFD_OK) {
        free_contents(r);
        return rc;
    }
    rc = read_contents(r, st);
    if (rc != TFD_OK)
        tfd_slices_reader_close(r);
    return rc;
}

void tfd_slices_reader_close(struct tfd_slices_reader *r)
{
    tfd_bundle_table_close(&r->table);
    free_contents(r);
}

/* ---- Values ---------------------------------------------------------------
 */

static enum tfd_code find_slices(struct tfd_slices_reader *r,
                                 struct tfd_str name,
                                 const struct tfd_slices_tensor **t,
                                 struct tfd_status *st)
{
    uintptr_t number;

    if (!tfd_map_get(&r->by_name, name, &number))
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Tensor name \"" TFD_STR_FMT
                        "\" not found in checkpoint files " TFD_STR_FMT,
                        TFD_STR_ARG(name),
                        TFD_STR_ARG(tfd_bytes_view(&r->file_name)));
    *t = &r->tensors[number];
    return TFD_OK;
}

enum tfd_code tfd_slices_reader_find(struct tfd_slices_reader *r,
                                     struct tfd_str name, enum tfd_dtype *dtype,
                                     struct tfd_shape *shape,
                                     struct tfd_status *st)
{
    const struct tfd_slices_tensor *t = NULL;

    TFD_TRY(find_slices(r, name, &t, st));
    *dtype = t->set.dtype;
    *shape = t->set.shape;
    return TFD_OK;
}

struct load {
    struct tfd_slices_reader *r;
    const struct tfd_slices_tensor *t;
};

/* Every element has a byte at least, so a shape can be refused before its
 * tensor is made. */
static enum tfd_code decode_piece(const struct load *l, struct tfd_str values,
                                  const struct tfd_shape *piece,
                                  struct tfd_tensor *out, struct tfd_status *st)
{
    enum tfd_code rc;

    if ((uint64_t)tfd_shape_elements(piece) > values.size)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "slice of %lld elements has %zu bytes",
                        (long long)tfd_shape_elements(piece), values.size);
    TFD_TRY(tfd_tensor_new(out, l->t->set.dtype, piece, st));
    rc = tfd_slices_take_values(values, out, st);
    if (rc != TFD_OK)
        tfd_tensor_unref(out);
    return rc;
}

static enum tfd_code load_slice(void *ctx, const struct tfd_tensor_slice *slice,
                                const struct tfd_shape *piece,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    struct load *l = ctx;
    struct tfd_table_reader *table = &l->r->table.reader;
    struct tfd_str data, values;
    struct tfd_bytes key;
    enum tfd_code rc;

    tfd_bytes_init(&key, SIZE_MAX);
    tfd_tensor_slice_put_key(&key, l->t->name, slice);
    rc = tfd_bytes_ok(&key, "key of a slice", st);
    if (rc == TFD_OK)
        rc = tfd_table_seek(table, tfd_bytes_view(&key), st);
    if (rc == TFD_OK &&
        (!table->valid || !tfd_str_eq(table->key, tfd_bytes_view(&key))))
        rc = tfd_fail(st, TFD_DATA_LOSS,
                      "checkpoint lacks a slice of tensor " TFD_STR_FMT
                      " that it lists",
                      TFD_STR_ARG(l->t->name));
    tfd_bytes_deinit(&key);
    TFD_TRY(rc);
    TFD_TRY(take_part(table->value, TFD_SLICES(data), &data, st));
    TFD_TRY(take_part(data, TFD_SLICES_SLICE(data), &values, st));
    return decode_piece(l, values, piece, out, st);
}

enum tfd_code tfd_slices_reader_read(struct tfd_slices_reader *r,
                                     struct tfd_str name,
                                     const struct tfd_tensor_slice *slice,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st)
{
    struct load l = {.r = r};
    struct tfd_tensor_slice all;

    TFD_TRY(find_slices(r, name, &l.t, st));
    all = tfd_tensor_slice_all(l.t->set.shape.rank);
    if (!slice)
        slice = &all;
    if (!tfd_slice_set_covers(&l.t->set, slice))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Error copying slice data");
    return tfd_slice_set_read(&l.t->set, slice, load_slice, &l, out, st);
}
