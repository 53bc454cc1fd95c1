/*
 * element_file.c - see element_file.h.
 */
#include "kernels/data_files/element_file.h"

#include "common/proto/tensor_proto.h"
#include "config/limits.h"
#include "kernels/data_files/snapshot_files.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE 8

enum record_tag { TAG_TENSOR = 1 };
enum split_tag { TAG_METADATA = 1, TAG_SHAPE = 2, TAG_SIZE = 3 };

/* ---- Reading records ----------------------------------------------------- */

enum tfd_code tfd_element_file_open(struct tfd_element_file *f,
                                    const struct tfd_dataset *elements,
                                    struct tfd_str name,
                                    enum tfd_data_compression compression,
                                    int64_t version, struct tfd_status *st)
{
    enum tfd_code rc;

    *f = (struct tfd_element_file){.elements = elements};
    f->is_split = compression == TFD_DATA_SNAPPY && version == 1;
    tfd_bytes_init(&f->record, TFD_DATA_RECORD_SIZE_MAX);
    tfd_bytes_init(&f->unpacked, TFD_DATA_RECORD_SIZE_MAX);
    rc = tfd_data_file_open(&f->file, elements->task.files, name,
                            f->is_split ? TFD_DATA_PLAIN : compression, st);
    if (rc != TFD_OK)
        tfd_element_file_close(f);
    return rc;
}

void tfd_element_file_close(struct tfd_element_file *f)
{
    tfd_data_file_close(&f->file);
    tfd_bytes_deinit(&f->record);
    tfd_bytes_deinit(&f->unpacked);
    *f = (struct tfd_element_file){.elements = NULL};
}

/* *end: no whole one follows. */
static enum tfd_code read_record(struct tfd_element_file *f, bool *end,
                                 struct tfd_status *st)
{
    unsigned char head[HEAD_SIZE];
    uint64_t size = 0;
    size_t got;
    char *to;

    TFD_TRY(tfd_data_file_read(&f->file, head, sizeof(head), &got, st));
    for (int i = HEAD_SIZE - 1; i >= 0; i--)
        size = size << 8 | head[i];
    *end = got < sizeof(head) || size > tfd_data_file_left(&f->file);
    if (*end)
        return TFD_OK;
    if (size > TFD_DATA_RECORD_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a record of %llu bytes; at most %zu are possible",
                        (unsigned long long)size, TFD_DATA_RECORD_SIZE_MAX);
    tfd_bytes_clear(&f->record);
    to = tfd_bytes_extend(&f->record, (size_t)size);
    TFD_TRY(tfd_bytes_ok(&f->record, "a record", st));
    if (size > 0)
        TFD_TRY(tfd_data_file_read(&f->file, to, (size_t)size, &got, st));
    *end = size > 0 && got < size;
    return TFD_OK;
}

static enum tfd_code wrong_type(const struct tfd_element_file *f, int32_t at,
                                enum tfd_dtype type, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Component %d of a snapshot's element is %s, not %s",
                    (int)at, tfd_dtype_name(type),
                    tfd_dtype_name(f->elements->types[at]));
}

static enum tfd_code decode(const struct tfd_element_file *f,
                            struct tfd_str proto, int32_t at,
                            enum tfd_code code, const char *text,
                            struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_tensor_head head;

    if (tfd_tensor_proto_head(proto, &head, NULL) != TFD_OK ||
        head.shape.rank > TFD_RANK_MAX ||
        tfd_tensor_proto_decode(&head, NULL, out, NULL) != TFD_OK)
        return tfd_fail(st, code, "%s", text);
    if (out->dtype != f->elements->types[at])
        return wrong_type(f, at, out->dtype, st);
    return TFD_OK;
}

static enum tfd_code wrong_count(const struct tfd_element_file *f,
                                 struct tfd_status *st)
{
    return tfd_fail(st, TFD_DATA_LOSS,
                    "A snapshot's element has not the %d components that it "
                    "should have",
                    (int)f->elements->count);
}

/* Of a SnapshotRecord. */
static enum tfd_code read_protos(struct tfd_element_file *f,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&f->record));
    struct tfd_pb_field field;
    int32_t count = 0;

    while (tfd_pb_next(&r, &field)) {
        if (field.tag != TAG_TENSOR)
            continue;
        if (count == f->elements->count)
            return wrong_count(f, st);
        TFD_TRY(decode(f, tfd_pb_str(&r, &field), count, TFD_DATA_LOSS,
                       "Unable to parse tensor from proto.", &out[count], st));
        count++;
    }
    return count == f->elements->count ? TFD_OK : wrong_count(f, st);
}

/* ---- Split elements ------------------------------------------------------ */

struct part {
    struct tfd_shape shape;
    uint64_t size;
};

static bool read_part(struct tfd_str proto, struct part *out)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field field;
    bool ok = true;

    *out = (struct part){.size = 0};
    while (tfd_pb_next(&r, &field)) {
        if (field.tag == TAG_SHAPE)
            ok = ok && tfd_tensor_proto_shape_decode(
                           tfd_pb_str(&r, &field), &out->shape, NULL) == TFD_OK;
        else if (field.tag == TAG_SIZE)
            out->size = (uint64_t)tfd_pb_int64(&r, &field);
    }
    return ok && tfd_pb_end(&r, "TensorMetadata", NULL) == TFD_OK &&
           out->shape.rank <= TFD_RANK_MAX;
}

/* Of all components; *total: of their bytes. */
static enum tfd_code read_parts(const struct tfd_element_file *f,
                                struct part *parts, uint64_t *total,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&f->record));
    struct tfd_pb_field field;
    int32_t count = 0;

    *total = 0;
    while (tfd_pb_next(&r, &field)) {
        if (field.tag != TAG_METADATA)
            continue;
        if (count == f->elements->count)
            return wrong_count(f, st);
        if (!read_part(tfd_pb_str(&r, &field), &parts[count]) ||
            parts[count].size > TFD_DATA_RECORD_SIZE_MAX)
            return tfd_fail(st, TFD_DATA_LOSS,
                            "Could not parse SnapshotTensorMetadata");
        *total += parts[count++].size;
    }
    if (tfd_pb_end(&r, "SnapshotTensorMetadata", NULL) != TFD_OK)
        return tfd_fail(st, TFD_DATA_LOSS,
                        "Could not parse SnapshotTensorMetadata");
    return count == f->elements->count ? TFD_OK : wrong_count(f, st);
}

/* The record's bytes; there must be `total`, which a few bytes may claim to be:
 * memory is taken only where both sizes say the same. */
static enum tfd_code unpack(struct tfd_element_file *f, uint64_t total,
                            struct tfd_status *st)
{
    size_t size = 0;
    char *to;

    if (snappy_uncompressed_length(f->record.data, f->record.size, &size) !=
        SNAPPY_OK)
        return tfd_fail(st, TFD_INTERNAL,
                        "Could not get snappy uncompressed length");
    if (size != total)
        return tfd_fail(st, TFD_INTERNAL,
                        "Uncompressed size mismatch. Snappy expects %zu "
                        "whereas the tensor metadata suggests %llu",
                        size, (unsigned long long)total);
    tfd_bytes_clear(&f->unpacked);
    to = tfd_bytes_extend(&f->unpacked, size);
    TFD_TRY(tfd_bytes_ok(&f->unpacked, "an element", st));
    if (size > 0 && snappy_uncompress(f->record.data, f->record.size, to,
                                      &size) != SNAPPY_OK)
        return tfd_fail(st, TFD_INTERNAL,
                        "Failed to perform snappy decompression.");
    return TFD_OK;
}

static enum tfd_code fill_part(const struct tfd_element_file *f, int32_t at,
                               const struct part *p, struct tfd_str bytes,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const enum tfd_dtype type = f->elements->types[at];

    if (!tfd_dtype_is_pod(type))
        return decode(f, bytes, at, TFD_INTERNAL, "Could not parse Tensor", out,
                      st);
    if ((uint64_t)tfd_shape_elements(&p->shape) * tfd_dtype_size(type) !=
        p->size)
        return tfd_fail(st, TFD_INTERNAL,
                        "Component %d of a snapshot's element has %llu bytes, "
                        "which is not what its shape wants",
                        (int)at, (unsigned long long)p->size);
    TFD_TRY(tfd_tensor_new(out, type, &p->shape, st));
    if (bytes.size > 0)
        memcpy(tfd_tensor_data(out), bytes.data, bytes.size);
    tfd_tensor_normalize_bools(out);
    return TFD_OK;
}

static enum tfd_code fill_parts(struct tfd_element_file *f, struct part *parts,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    uint64_t total, at = 0;

    TFD_TRY(read_parts(f, parts, &total, st));
    TFD_TRY(read_record(f, end, st));
    if (*end)
        return TFD_OK;
    TFD_TRY(unpack(f, total, st));
    for (int32_t i = 0; i < f->elements->count; i++) {
        TFD_TRY(fill_part(
            f, i, &parts[i],
            (struct tfd_str){f->unpacked.data + at, (size_t)parts[i].size},
            &out[i], st));
        at += parts[i].size;
    }
    return TFD_OK;
}

static enum tfd_code read_split(struct tfd_element_file *f,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct part *parts = calloc((size_t)f->elements->count + 1, sizeof(*parts));
    enum tfd_code rc;

    if (!parts)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an element");
    rc = fill_parts(f, parts, out, end, st);
    free(parts);
    return rc;
}

enum tfd_code tfd_element_file_next(struct tfd_element_file *f,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st)
{
    enum tfd_code rc = read_record(f, end, st);

    if (rc != TFD_OK || *end)
        return rc;
    rc = f->is_split ? read_split(f, out, end, st) : read_protos(f, out, st);
    if (rc != TFD_OK)
        tfd_data_element_drop(out, f->elements->count);
    return rc;
}

/* ---- Writing ------------------------------------------------------------- */

enum tfd_code tfd_element_writer_open(struct tfd_element_writer *w,
                                      const struct tfd_dataset *elements,
                                      struct tfd_str name,
                                      enum tfd_data_compression compression,
                                      struct tfd_status *st)
{
    *w = (struct tfd_element_writer){.count = elements->count};
    w->is_split = compression == TFD_DATA_SNAPPY;
    tfd_bytes_init(&w->record, TFD_DATA_RECORD_SIZE_MAX);
    tfd_bytes_init(&w->bytes, TFD_DATA_RECORD_SIZE_MAX);
    return tfd_record_writer_open(&w->writer, elements->task.files, name,
                                  w->is_split ? TFD_DATA_PLAIN : compression,
                                  st);
}

void tfd_element_writer_deinit(struct tfd_element_writer *w)
{
    tfd_record_writer_deinit(&w->writer);
    tfd_bytes_deinit(&w->record);
    tfd_bytes_deinit(&w->bytes);
    *w = (struct tfd_element_writer){.count = 0};
}

static enum tfd_code put_record(struct tfd_element_writer *w,
                                struct tfd_str record, struct tfd_status *st)
{
    w->size += HEAD_SIZE + record.size;
    return tfd_record_writer_put_bare(&w->writer, record, st);
}

static enum tfd_code put_protos(struct tfd_element_writer *w,
                                const struct tfd_tensor *element,
                                struct tfd_status *st)
{
    tfd_bytes_clear(&w->record);
    for (int32_t i = 0; i < w->count; i++) {
        tfd_bytes_clear(&w->bytes);
        tfd_tensor_proto_encode(&w->bytes, &element[i], NULL);
        TFD_TRY(tfd_bytes_ok(&w->bytes, "a tensor", st));
        tfd_pb_put_str_always(&w->record, TAG_TENSOR,
                              tfd_bytes_view(&w->bytes));
    }
    TFD_TRY(tfd_bytes_ok(&w->record, "a record", st));
    return put_record(w, tfd_bytes_view(&w->record), st);
}

/* Of one component into bytes, and what it is into record. */
static void put_part(struct tfd_element_writer *w, const struct tfd_tensor *t)
{
    const size_t before = w->bytes.size;
    size_t part = tfd_pb_begin(&w->record, TAG_METADATA), shape;

    if (tfd_dtype_is_pod(t->dtype))
        tfd_bytes_add(&w->bytes, tfd_tensor_data(t),
                      (size_t)tfd_tensor_elements(t) *
                          tfd_dtype_size(t->dtype));
    else
        tfd_tensor_proto_encode(&w->bytes, t, NULL);
    shape = tfd_pb_begin(&w->record, TAG_SHAPE);
    tfd_tensor_proto_shape_encode(&w->record, &t->shape);
    tfd_pb_finish(&w->record, shape);
    tfd_pb_put_int(&w->record, TAG_SIZE, (int64_t)(w->bytes.size - before));
    tfd_pb_finish(&w->record, part);
}

static enum tfd_code put_packed(struct tfd_element_writer *w,
                                struct tfd_status *st)
{
    size_t size = snappy_max_compressed_length(w->bytes.size);
    char *packed = malloc(size);
    enum tfd_code rc;

    if (!packed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for an element");
    rc = snappy_compress(w->bytes.data ? w->bytes.data : "", w->bytes.size,
                         packed, &size) == SNAPPY_OK
             ? put_record(w, (struct tfd_str){packed, size}, st)
             : tfd_fail(st, TFD_INTERNAL, "Failed to compress using snappy.");
    free(packed);
    return rc;
}

enum tfd_code tfd_element_writer_put(struct tfd_element_writer *w,
                                     const struct tfd_tensor *element,
                                     struct tfd_status *st)
{
    for (int32_t i = 0; i < w->count; i++)
        TFD_TRY(tfd_snapshot_check_kept(&element[i], st));
    if (!w->is_split)
        return put_protos(w, element, st);
    tfd_bytes_clear(&w->record);
    tfd_bytes_clear(&w->bytes);
    for (int32_t i = 0; i < w->count; i++)
        put_part(w, &element[i]);
    TFD_TRY(tfd_bytes_ok(&w->record, "a record", st));
    TFD_TRY(tfd_bytes_ok(&w->bytes, "an element", st));
    TFD_TRY(put_record(w, tfd_bytes_view(&w->record), st));
    return put_packed(w, st);
}

enum tfd_code tfd_element_writer_finish(struct tfd_element_writer *w,
                                        struct tfd_status *st)
{
    return tfd_record_writer_finish(&w->writer, st);
}
