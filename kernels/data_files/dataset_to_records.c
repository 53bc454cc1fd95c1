/*
 * dataset_to_records.c - the strings of a dataset into a TFRecord file
 * (kernels/data_sources/dataset_files.c says what one is), which appears when
 * it is whole.
 */
#include "common/base/crc32c.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/whole.h"
#include "kernels/io/file_draft.h"

#include <stdlib.h>
#include <zlib.h>

#define CHUNK_SIZE ((size_t)64 << 10)
#define ZLIB_BITS 15
#define GZIP_BITS (15 + 16)

struct recording {
    struct tfd_file_draft draft;
    bool packs;
    z_stream z;
    unsigned char packed[CHUNK_SIZE];
    struct tfd_status *st;
};

/* ---- Bytes --------------------------------------------------------------- */

static enum tfd_code pack(struct recording *r, const void *data, size_t size,
                          int flush)
{
    int rc;

    r->z.next_in = (unsigned char *)(uintptr_t)data;
    r->z.avail_in = (unsigned)size;
    do {
        r->z.next_out = r->packed;
        r->z.avail_out = (unsigned)CHUNK_SIZE;
        rc = deflate(&r->z, flush);
        if (rc == Z_STREAM_ERROR)
            return tfd_fail(r->st, TFD_INTERNAL, "deflate() failed");
        TFD_TRY(tfd_file_draft_write(&r->draft, r->packed,
                                     CHUNK_SIZE - r->z.avail_out, r->st));
    } while (r->z.avail_out == 0);
    return TFD_OK;
}

static enum tfd_code put_bytes(struct recording *r, const void *data,
                               size_t size)
{
    return r->packs ? pack(r, data, size, Z_NO_FLUSH)
                    : tfd_file_draft_write(&r->draft, data, size, r->st);
}

static void put_little(uint8_t *out, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static enum tfd_code put_record(struct recording *r, struct tfd_str text)
{
    uint8_t head[12], tail[4];

    if (text.size > TFD_DATA_RECORD_SIZE_MAX)
        return tfd_fail(r->st, TFD_RESOURCE_EXHAUSTED,
                        "a record of %zu bytes; at most %zu are possible",
                        text.size, TFD_DATA_RECORD_SIZE_MAX);
    put_little(head, text.size, 8);
    put_little(head + 8, tfd_crc32c_mask(tfd_crc32c(head, 8)), 4);
    put_little(tail, tfd_crc32c_mask(tfd_crc32c(text.data, text.size)), 4);
    TFD_TRY(put_bytes(r, head, sizeof(head)));
    TFD_TRY(put_bytes(r, text.data, text.size));
    return put_bytes(r, tail, sizeof(tail));
}

/* ---- Elements ------------------------------------------------------------ */

static enum tfd_code put_element(struct recording *r,
                                 const struct tfd_tensor *e)
{
    const struct tfd_tstring *text = tfd_tensor_data(e);

    if (e->shape.rank != 0)
        return tfd_fail(r->st, TFD_INVALID_ARGUMENT,
                        "a record is a scalar, and not a tensor of %d "
                        "dimensions",
                        e->shape.rank);
    return put_record(r, tfd_tstring_view(text));
}

static enum tfd_code put_all(struct recording *r, struct tfd_whole *w)
{
    bool end = false;

    for (;;) {
        struct tfd_tensor e = TFD_TENSOR_INIT;
        enum tfd_code rc = tfd_data_next(w->it, &e, &end, r->st);

        if (rc == TFD_OK && !end)
            rc = put_element(r, &e);
        tfd_tensor_unref(&e);
        if (rc != TFD_OK || end)
            return rc;
    }
}

static enum tfd_code write_file(struct recording *r, struct tfd_whole *w)
{
    TFD_TRY(put_all(r, w));
    if (r->packs)
        TFD_TRY(pack(r, NULL, 0, Z_FINISH));
    TFD_TRY(tfd_file_draft_seal(&r->draft, r->st));
    return tfd_file_draft_publish(&r->draft, r->st);
}

/* ---- The operation ------------------------------------------------------- */

static enum tfd_code check_dataset(const struct tfd_dataset *d,
                                   struct tfd_status *st)
{
    if (d->count != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ToTFRecordOp currently only support datasets of 1 "
                        "single column, but got %d",
                        d->count);
    if (d->types[0] != TFD_STRING)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "ToTFRecordOp currently only supports DT_STRING "
                        "dataypes, but got %s",
                        tfd_dtype_name((int)d->types[0]));
    return TFD_OK;
}

static enum tfd_code check_scalar(const struct tfd_kctx *k, int in,
                                  const char *name, struct tfd_str *out,
                                  struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
    return tfd_check_str(k, in, out, st);
}

/* A name that TensorFlow does not know stands for none, there as here. */
static enum tfd_code begin_packing(struct recording *r, struct tfd_str kind)
{
    int bits = tfd_str_is(kind, "GZIP") ? GZIP_BITS : ZLIB_BITS;

    if (tfd_str_is(kind, "SNAPPY"))
        return tfd_fail(r->st, TFD_UNIMPLEMENTED,
                        "compression_type SNAPPY; ZLIB and GZIP are possible");
    if (!tfd_str_is(kind, "GZIP") && !tfd_str_is(kind, "ZLIB"))
        return TFD_OK;
    if (deflateInit2(&r->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return tfd_fail(r->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to compress a file");
    r->packs = true;
    return TFD_OK;
}

static enum tfd_code records_run(struct tfd_whole *w, struct tfd_status *st)
{
    struct tfd_str name, kind;
    struct recording *r;
    enum tfd_code rc;

    TFD_TRY(check_scalar(w->k, 1, "filename", &name, st));
    TFD_TRY(check_scalar(w->k, 2, "compression_type", &kind, st));
    TFD_TRY(check_dataset(w->it->dataset, st));
    r = calloc(1, sizeof(*r));
    if (!r)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for records");
    r->st = st;
    rc = tfd_file_draft_open(&r->draft, w->scope->task.files, name, st);
    if (rc == TFD_OK) {
        rc = begin_packing(r, kind);
        if (rc == TFD_OK)
            rc = write_file(r, w);
        tfd_file_draft_deinit(&r->draft);
    }
    if (r->packs)
        (void)deflateEnd(&r->z);
    free(r);
    return rc;
}

static void records_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, "ToTFRecordOpIterator::Root", records_run);
}

/* ---- Tables -------------------------------------------------------------- */

#define RECORDS(name_)                                         \
    {                                                          \
        .name = (name_),                                       \
        .inputs = "input_dataset: variant, filename: string, " \
                  "compression_type: string",                  \
        .shape = tfd_shape_none,                               \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,         \
    }

static const struct tfd_opdef ops[] = {
    RECORDS("DatasetToTFRecord"),
    RECORDS("ExperimentalDatasetToTFRecord"),
};

#define KERNEL(name_)                                   \
    TFD_KERNEL_ANY(name_, NULL, .start = records_start, \
                   .flags = TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    KERNEL("DatasetToTFRecord"),
    KERNEL("ExperimentalDatasetToTFRecord"),
};

const struct tfd_family tfd_family_dataset_to_records = {
    .name = "dataset_to_records",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
