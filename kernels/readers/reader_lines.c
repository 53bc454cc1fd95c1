/*
 * reader_lines.c - the kinds of readers whose files are read by what tf.data
 * reads them by: lines, records, pairs of LMDB; and those that take a file
 * whole, or nothing but its name.
 */
#include "kernels/readers/reader.h"

#include "common/thread/halt.h"
#include "config/limits.h"

/* ---- Lines --------------------------------------------------------------- */

/* Into r->text, without the newline and one carriage return in front of it.
 * What is empty then is a line only if it had a newline. */
static enum tfd_code read_text(struct tfd_reader *r, bool *end,
                               struct tfd_status *st)
{
    struct tfd_bytes *line = &r->text;
    bool has_newline;

    TFD_TRY(tfd_data_file_raw_line(&r->records.file, line, end, st));
    has_newline = line->size > 0 && line->data[line->size - 1] == '\n';
    line->size -= has_newline;
    line->size -= line->size > 0 && line->data[line->size - 1] == '\r';
    *end = !has_newline && line->size == 0;
    return TFD_OK;
}

static enum tfd_code lines_begin(struct tfd_reader *r, struct tfd_status *st)
{
    bool end = false;

    TFD_TRY(tfd_reader_open(r, st));
    for (int64_t i = 0; i < r->options.skip_lines && !end; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(tfd_status_copy(st, &r->broken));
        TFD_TRY(read_text(r, &end, st));
        r->number += !end;
    }
    return TFD_OK;
}

static enum tfd_code lines_next(struct tfd_reader *r,
                                struct tfd_reader_pair *out,
                                struct tfd_reader_found *found,
                                struct tfd_status *st)
{
    TFD_TRY(read_text(r, &found->at_end, st));
    found->is_pair = !found->at_end;
    if (found->at_end)
        return TFD_OK;
    return tfd_reader_put(out, r, ++r->number, tfd_bytes_view(&r->text), st);
}

const struct tfd_reader_kind tfd_reader_lines = {
    .name = "TextLineReader",
    .repeats = true,
    .begin = lines_begin,
    .next = lines_next,
    .end = tfd_reader_close,
};

/* ---- Records ------------------------------------------------------------- */

/* A key has the place of its record in the file, unpacked. */
static enum tfd_code records_next(struct tfd_reader *r,
                                  struct tfd_reader_pair *out,
                                  struct tfd_reader_found *found,
                                  struct tfd_status *st)
{
    int64_t at = (int64_t)r->records.offset;
    struct tfd_str record;

    TFD_TRY(tfd_record_file_next(&r->records, &record, &found->at_end, st));
    found->is_pair = !found->at_end;
    return found->at_end ? TFD_OK : tfd_reader_put(out, r, at, record, st);
}

const struct tfd_reader_kind tfd_reader_records = {
    .name = "TFRecordReader",
    .repeats = true,
    .begin = tfd_reader_open,
    .next = records_next,
    .end = tfd_reader_close,
};

/* ---- Pairs of LMDB ------------------------------------------------------- */

static void pairs_end(struct tfd_reader *r)
{
    tfd_lmdb_close(&r->lmdb);
}

static enum tfd_code pairs_begin(struct tfd_reader *r, struct tfd_status *st)
{
    enum tfd_code rc;

    pairs_end(r);
    rc = tfd_lmdb_open(&r->lmdb, r->files, tfd_bytes_view(&r->work), st);
    if (rc != TFD_OK)
        pairs_end(r);
    return rc;
}

static enum tfd_code pairs_next(struct tfd_reader *r,
                                struct tfd_reader_pair *out,
                                struct tfd_reader_found *found,
                                struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_str key, value;

    if (tfd_lmdb_next(&r->lmdb, &key, &value, &found->at_end, &why) != TFD_OK)
        return tfd_fail(st, why.code, "%s: " TFD_STR_FMT, why.text,
                        TFD_STR_ARG(tfd_bytes_view(&r->work)));
    found->is_pair = !found->at_end;
    if (found->at_end)
        return TFD_OK;
    TFD_TRY(tfd_tstring_set(&out->key, key, st));
    return tfd_tstring_set(&out->value, value, st);
}

const struct tfd_reader_kind tfd_reader_lmdb = {
    .name = "LMDBReader",
    .repeats = true,
    .begin = pairs_begin,
    .next = pairs_next,
    .end = pairs_end,
};

/* ---- Whole files, and names ---------------------------------------------- */

/* One that cannot be read is tried again by the next who asks. */
static enum tfd_code whole_next(struct tfd_reader *r,
                                struct tfd_reader_pair *out,
                                struct tfd_reader_found *found,
                                struct tfd_status *st)
{
    struct tfd_str name = tfd_bytes_view(&r->work);
    struct tfd_bytes content;
    enum tfd_code rc;

    tfd_bytes_init(&content, (size_t)TFD_FILE_READ_SIZE_MAX);
    rc = tfd_file_read_all(r->files, name, &content, st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(&out->key, name, st);
    if (rc == TFD_OK && content.size > 0)
        tfd_tstring_take(&out->value, content.data, content.size,
                         content.capacity);
    else
        tfd_bytes_deinit(&content);
    found->is_pair = found->at_end = rc == TFD_OK;
    return rc;
}

const struct tfd_reader_kind tfd_reader_whole = {
    .name = "WholeFileReader",
    .has_state = true,
    .next = whole_next,
};

static enum tfd_code identity_next(struct tfd_reader *r,
                                   struct tfd_reader_pair *out,
                                   struct tfd_reader_found *found,
                                   struct tfd_status *st)
{
    struct tfd_str name = tfd_bytes_view(&r->work);

    TFD_TRY(tfd_tstring_set(&out->key, name, st));
    TFD_TRY(tfd_tstring_set(&out->value, name, st));
    found->is_pair = found->at_end = true;
    return TFD_OK;
}

const struct tfd_reader_kind tfd_reader_identity = {
    .name = "IdentityReader",
    .has_state = true,
    .next = identity_next,
};
