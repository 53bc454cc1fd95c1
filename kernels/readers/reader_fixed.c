/*
 * reader_fixed.c - the reader of records that all have one length.
 *
 *     file: [header] [record] [record] ... [footer]
 *             hop between the beginnings of two records, if they have another
 *
 * A record is there when as many bytes as the footer has come behind it, so
 * both are read ahead.  What is left over is no error, other than in tf.data.
 */
#include "kernels/readers/reader.h"

#include "common/thread/halt.h"

#include <string.h>

/* Bytes of the file that are not wanted; *left: how many it did not have. */
static enum tfd_code drop_bytes(struct tfd_reader *r, int64_t size,
                                int64_t *left, struct tfd_status *st)
{
    char junk[4096];

    *left = size;
    while (*left > 0) {
        size_t want =
            *left < (int64_t)sizeof(junk) ? (size_t)*left : sizeof(junk);
        size_t got;

        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(tfd_data_file_read(&r->records.file, junk, want, &got, st));
        *left -= (int64_t)got;
        if (got < want)
            return TFD_OK;
    }
    return TFD_OK;
}

static enum tfd_code fixed_begin(struct tfd_reader *r, struct tfd_status *st)
{
    bool is_plain = r->options.compression == TFD_DATA_PLAIN;
    int64_t left;

    TFD_TRY(tfd_reader_open(r, st));
    if (r->options.header == 0)
        return TFD_OK;
    TFD_TRY(tfd_status_copy(st, &r->broken));
    TFD_TRY(drop_bytes(r, r->options.header, &left, st));
    if (left == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_OUT_OF_RANGE, "%s",
                    is_plain ? "reached end of file" : "EOF reached");
}

/* A record and the footer's bytes, as many as there are. */
static enum tfd_code read_ahead(struct tfd_reader *r, struct tfd_status *st)
{
    size_t want = (size_t)(r->options.record + r->options.footer);
    size_t have = r->text.size, got;
    char *to;

    if (have >= want)
        return TFD_OK;
    to = tfd_bytes_extend(&r->text, want - have);
    if (!to)
        return tfd_bytes_ok(&r->text, "a record", st);
    TFD_TRY(tfd_data_file_read(&r->records.file, to, want - have, &got, st));
    r->text.size = have + got;
    return TFD_OK;
}

/* To where the next record begins. */
static enum tfd_code hop(struct tfd_reader *r, struct tfd_status *st)
{
    const struct tfd_reader_options *o = &r->options;
    int64_t far = o->hop > 0 ? o->hop : o->record;
    size_t kept = r->text.size, gone;
    int64_t left;

    gone = (uint64_t)far < kept ? (size_t)far : kept;
    if (gone < kept)
        memmove(r->text.data, r->text.data + gone, kept - gone);
    r->text.size = kept - gone;
    return drop_bytes(r, far - (int64_t)gone, &left, st);
}

static enum tfd_code fixed_next(struct tfd_reader *r,
                                struct tfd_reader_pair *out,
                                struct tfd_reader_found *found,
                                struct tfd_status *st)
{
    const struct tfd_reader_options *o = &r->options;
    struct tfd_str record;

    TFD_TRY(read_ahead(r, st));
    found->at_end = r->text.size < (size_t)(o->record + o->footer);
    if (found->at_end)
        return TFD_OK;
    record = (struct tfd_str){r->text.data, (size_t)o->record};
    TFD_TRY(tfd_reader_put(out, r, r->number++, record, st));
    found->is_pair = true;
    return hop(r, st);
}

const struct tfd_reader_kind tfd_reader_fixed = {
    .name = "FixedLengthRecordReader",
    .repeats = true,
    .begin = fixed_begin,
    .next = fixed_next,
    .end = tfd_reader_close,
};
