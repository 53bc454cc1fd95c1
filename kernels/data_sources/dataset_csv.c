/*
 * dataset_csv.c - CSVDataset: the records of texts (csv_record.h) as elements
 * of one tensor for each column.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_sources/csv_record.h"

#include "config/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT_MAX 512 /* of a field that is a number */

/* Inputs of the op; behind the defaults come the columns to be left out. */
enum {
    NAMES,
    COMPRESSION,
    BUFFER,
    HEADER,
    DELIMITER,
    QUOTES,
    NONE,
    SELECT,
    DEFAULTS
};

struct csv {
    struct tfd_dataset dataset;
    enum tfd_data_compression compression;
    bool has_header, has_quotes;
    char delimiter;
    const struct tfd_tensor *defaults; /* of the dataset's arguments */
    struct tfd_csv_columns columns;
};

struct csv_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_data_file file;
    struct tfd_csv_reader reader;
    int64_t next; /* name */
    bool is_open;
    struct tfd_tensor *out; /* while a record is read */
    int32_t have;           /* of them */
};

/* ---- Fields -------------------------------------------------------------- */

static bool ends_number(const char *text, const char *end)
{
    return end != text && end[strspn(end, " \t\n\v\f\r")] == '\0';
}

static bool parse_number(enum tfd_dtype dtype, const char *text, void *out)
{
    long long number;
    char *end;

    if (dtype == TFD_FLOAT) {
        *(float *)out = strtof(text, &end);
        return ends_number(text, end);
    }
    if (dtype == TFD_DOUBLE) {
        *(double *)out = strtod(text, &end);
        return ends_number(text, end);
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || !ends_number(text, end))
        return false;
    if (dtype == TFD_INT64)
        *(int64_t *)out = number;
    else
        *(int32_t *)out = (int32_t)number;
    return dtype == TFD_INT64 || (int32_t)number == number;
}

static bool field_number(enum tfd_dtype dtype, struct tfd_str field, void *out)
{
    char text[NUMBER_TEXT_MAX];

    if (field.size >= sizeof(text) || memchr(field.data, '\0', field.size))
        return false;
    memcpy(text, field.data, field.size);
    text[field.size] = '\0';
    return parse_number(dtype, text, out);
}

static enum tfd_code put_default(const struct csv *d, int32_t c,
                                 struct tfd_tensor *out, struct tfd_status *st)
{
    const struct tfd_tensor *value = &d->defaults[c];

    if (tfd_tensor_elements(value) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Field %d is required but missing in record!", c);
    if (value->dtype == TFD_STRING)
        return tfd_tstring_copy(tfd_tensor_data(out), tfd_tensor_data(value),
                                st);
    memcpy(tfd_tensor_data(out), tfd_tensor_data(value),
           tfd_dtype_size(value->dtype));
    return TFD_OK;
}

static enum tfd_code put_field(void *arg, struct tfd_str field,
                               struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct csv_iterator *i = arg;
    const struct csv *d = (const struct csv *)i->iterator.dataset;
    const struct tfd_tstring *none = tfd_tensor_data(&d->dataset.args[NONE]);
    const int32_t c = i->have;
    enum tfd_dtype dtype;

    if (c >= d->dataset.count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expect %d fields but have more in record",
                        d->dataset.count);
    dtype = d->dataset.types[c];
    TFD_TRY(tfd_tensor_new(&i->out[c], dtype, &scalar, st));
    i->have++;
    if (field.size == 0 || tfd_str_eq(field, tfd_tstring_view(none)))
        return put_default(d, c, &i->out[c], st);
    if (dtype == TFD_STRING)
        return tfd_tstring_set(tfd_tensor_data(&i->out[c]), field, st);
    if (field_number(dtype, field, tfd_tensor_data(&i->out[c])))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Field %d in record is not a valid %s: " TFD_STR_FMT, c,
                    tfd_dtype_name((int)dtype), TFD_STR_ARG(field));
}

/* ---- Files --------------------------------------------------------------- */

static void close_file(struct csv_iterator *i)
{
    tfd_data_file_close(&i->file);
    i->is_open = false;
}

static enum tfd_code skip_header(struct csv_iterator *i, struct tfd_status *st)
{
    bool end;

    i->reader.field = NULL;
    if (tfd_csv_record(&i->reader, &end, NULL) == TFD_OK && !end)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "Can't read header of file");
}

/* One that cannot be opened is tried again, as TensorFlow does. */
static enum tfd_code open_file(struct csv_iterator *i, struct tfd_status *st)
{
    const struct csv *d = (const struct csv *)i->iterator.dataset;
    const struct tfd_tstring *names = tfd_tensor_data(&d->dataset.args[NAMES]);
    enum tfd_code rc;

    rc = tfd_data_file_open(&i->file, d->dataset.task.files,
                            tfd_tstring_view(&names[i->next]), d->compression,
                            st);
    if (rc != TFD_OK) {
        tfd_data_file_close(&i->file);
        return rc;
    }
    i->is_open = true;
    return d->has_header ? skip_header(i, st) : TFD_OK;
}

static enum tfd_code csv_begin(struct tfd_data_iterator *it,
                               struct tfd_status *st)
{
    struct csv_iterator *i = (struct csv_iterator *)it;
    const struct csv *d = (const struct csv *)it->dataset;

    (void)st;
    i->reader = (struct tfd_csv_reader){
        .file = &i->file,
        .delimiter = d->delimiter,
        .has_quotes = d->has_quotes,
        .columns = d->columns,
        .arg = i,
    };
    tfd_bytes_init(&i->reader.text, TFD_DATA_RECORD_SIZE_MAX);
    return TFD_OK;
}

static void csv_end(struct tfd_data_iterator *it)
{
    struct csv_iterator *i = (struct csv_iterator *)it;

    close_file(i);
    tfd_bytes_deinit(&i->reader.text);
}

static enum tfd_code read_element(struct csv_iterator *i,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    const int32_t count = i->iterator.dataset->count;

    i->reader.field = put_field;
    i->out = out;
    i->have = 0;
    TFD_TRY(tfd_csv_record(&i->reader, end, st));
    if (*end || i->have == count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expect %d fields but have %d in record", count, i->have);
}

static enum tfd_code csv_next(struct tfd_data_iterator *it,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    struct csv_iterator *i = (struct csv_iterator *)it;
    const int64_t count = tfd_tensor_elements(&it->dataset->args[NAMES]);
    bool over;

    while (i->is_open || i->next < count) {
        if (!i->is_open)
            TFD_TRY(open_file(i, st));
        TFD_TRY(read_element(i, out, &over, st));
        if (!over)
            return TFD_OK;
        close_file(i);
        i->next++;
    }
    *end = true;
    return TFD_OK;
}

static const struct tfd_dataset_kind csv_kind = {
    .name = "CSV",
    .iterator_size = sizeof(struct csv_iterator),
    .begin = csv_begin,
    .next = csv_next,
    .end = csv_end,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code check_defaults(const struct tfd_kctx *k, int32_t count,
                                    struct tfd_status *st)
{
    for (int32_t i = 0; i < count; i++) {
        const struct tfd_tensor *t = &k->in[DEFAULTS + i];

        if (t->shape.rank > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Each record default should be at most rank 1");
        if (tfd_tensor_elements(t) > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "There should only be 1 default per field but "
                            "field %d has %lld",
                            i, (long long)tfd_tensor_elements(t));
    }
    return TFD_OK;
}

static enum tfd_code read_text(const struct tfd_kctx *k, int in,
                               const char *name, struct tfd_str *out,
                               struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
    return tfd_check_str(k, in, out, st);
}

static enum tfd_code read_flags(const struct tfd_kctx *k, struct csv *d,
                                struct tfd_status *st)
{
    struct tfd_str text;
    int64_t size;

    TFD_TRY(tfd_dataset_int(k, BUFFER, "buffer_size", &size, st));
    if (size <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "buffer_size should be positive");
    TFD_TRY(read_text(k, DELIMITER, "field_delim", &text, st));
    if (text.size != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "field_delim should be only 1 char");
    d->delimiter = text.data[0];
    TFD_TRY(tfd_dataset_bool(k, HEADER, "header", &d->has_header, st));
    TFD_TRY(tfd_dataset_bool(k, QUOTES, "use_quote_delim", &d->has_quotes, st));
    return read_text(k, NONE, "na_value", &text, st);
}

static enum tfd_code check_rising(const int64_t *columns, int64_t count,
                                  const char *name, struct tfd_status *st)
{
    for (int64_t i = 1; i < count; i++)
        if (columns[i - 1] >= columns[i])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s should be strictly increasing indices", name);
    if (count > 0 && columns[0] < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s should be non-negative indices", name);
    return TFD_OK;
}

static enum tfd_code check_columns(const struct tfd_csv_columns *c,
                                   int32_t count, struct tfd_status *st)
{
    if (c->selected_count > 0 && c->selected_count != count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "select_cols should match output size");
    TFD_TRY(check_rising(c->selected, c->selected_count, "select_cols", st));
    if (c->selected_count > 0 && c->excluded_count > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Either select_cols or exclude_cols should be empty");
    return check_rising(c->excluded, c->excluded_count, "exclude_cols", st);
}

static enum tfd_code read_compression(const struct tfd_kctx *k, struct csv *d,
                                      struct tfd_status *st)
{
    struct tfd_str text;

    TFD_TRY(read_text(k, COMPRESSION, "compression_type", &text, st));
    if (tfd_data_file_compression(text, &d->compression, NULL) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unsupported compression_type: " TFD_STR_FMT ".",
                    TFD_STR_ARG(text));
}

static enum tfd_code check_ranks(const struct tfd_kctx *k, int32_t count,
                                 struct tfd_status *st)
{
    struct tfd_str text;

    if (k->in[NAMES].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`filenames` must be a scalar or a vector.");
    TFD_TRY(read_text(k, COMPRESSION, "compression_type", &text, st));
    TFD_TRY(check_defaults(k, count, st));
    if (k->in[SELECT].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`select_cols` must be a vector.");
    if (k->in_count > DEFAULTS + count &&
        k->in[DEFAULTS + count].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`exclude_cols` must be a vector");
    return TFD_OK;
}

/* What it points to is held by the dataset's arguments. */
static enum tfd_code fill_csv(const struct tfd_kctx *k, struct csv *d,
                              struct tfd_status *st)
{
    const int32_t count = d->dataset.count;
    const struct tfd_tensor *args = d->dataset.args;

    TFD_TRY(check_ranks(k, count, st));
    TFD_TRY(read_flags(k, d, st));
    TFD_TRY(read_compression(k, d, st));
    d->defaults = args + DEFAULTS;
    d->columns.selected = tfd_tensor_data(&args[SELECT]);
    d->columns.selected_count = tfd_tensor_elements(&args[SELECT]);
    if (k->in_count > DEFAULTS + count) {
        d->columns.excluded = tfd_tensor_data(&args[DEFAULTS + count]);
        d->columns.excluded_count =
            tfd_tensor_elements(&args[DEFAULTS + count]);
    }
    return check_columns(&d->columns, count, st);
}

static enum tfd_code csv_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &csv_kind, sizeof(struct csv), 0, &d, st));
    rc = fill_csv(k, (struct csv *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define CSV(name_, more_)                                                    \
    {                                                                        \
        .name = (name_),                                                     \
        .inputs = "filenames: string, compression_type: string, "            \
                  "buffer_size: int64, header: bool, field_delim: string, "  \
                  "use_quote_delim: bool, na_value: string, "                \
                  "select_cols: int64, record_defaults: output_types" more_, \
        .outputs = "handle: variant",                                        \
        .attrs = "output_types: list({float,double,int32,int64,string}) "    \
                 ">= 1; output_shapes: list(shape) >= 1",                    \
        .shape = tfd_shape_scalar,                                           \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                       \
    }

static const struct tfd_opdef ops[] = {
    CSV("CSVDataset", ""),
    CSV("ExperimentalCSVDataset", ""),
    CSV("CSVDatasetV2", ", exclude_cols: int64"),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("CSVDataset", csv_compute),
    TFD_DATA_KERNEL("ExperimentalCSVDataset", csv_compute),
    TFD_DATA_KERNEL("CSVDatasetV2", csv_compute),
};

TFD_DATA_FAMILY(dataset_csv);
