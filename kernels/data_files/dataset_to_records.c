/*
 * dataset_to_records.c - the strings of a dataset into a TFRecord file, which
 * appears when it is whole.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/whole.h"
#include "kernels/data_files/record_writer.h"

/* ---- Elements ------------------------------------------------------------ */

static enum tfd_code put_element(struct tfd_record_writer *to,
                                 const struct tfd_tensor *e,
                                 struct tfd_status *st)
{
    const struct tfd_tstring *text = tfd_tensor_data(e);

    if (e->shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a record is a scalar, and not a tensor of %d "
                        "dimensions",
                        e->shape.rank);
    return tfd_record_writer_put(to, tfd_tstring_view(text), st);
}

static enum tfd_code put_all(struct tfd_record_writer *to, struct tfd_whole *w,
                             struct tfd_status *st)
{
    bool end = false;

    for (;;) {
        struct tfd_tensor e = TFD_TENSOR_INIT;
        enum tfd_code rc = tfd_data_next(w->it, &e, &end, st);

        if (rc == TFD_OK && !end)
            rc = put_element(to, &e, st);
        tfd_tensor_unref(&e);
        if (rc != TFD_OK || end)
            return rc;
    }
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
static enum tfd_code find_compression(struct tfd_str name,
                                      enum tfd_data_compression *out,
                                      struct tfd_status *st)
{
    if (tfd_data_file_compression(name, out, NULL) != TFD_OK)
        *out = TFD_DATA_PLAIN;
    if (!tfd_str_is(name, "SNAPPY"))
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "compression_type SNAPPY; ZLIB and GZIP are possible");
}

static enum tfd_code records_run(struct tfd_whole *w, struct tfd_status *st)
{
    enum tfd_data_compression compression;
    struct tfd_record_writer to;
    struct tfd_str name, kind;
    enum tfd_code rc;

    TFD_TRY(check_scalar(w->k, 1, "filename", &name, st));
    TFD_TRY(check_scalar(w->k, 2, "compression_type", &kind, st));
    TFD_TRY(check_dataset(w->it->dataset, st));
    TFD_TRY(find_compression(kind, &compression, st));
    TFD_TRY(tfd_record_writer_open(&to, w->scope->task.files, name, compression,
                                   st));
    rc = put_all(&to, w, st);
    if (rc == TFD_OK)
        rc = tfd_record_writer_finish(&to, st);
    tfd_record_writer_deinit(&to);
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
