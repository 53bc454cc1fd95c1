/*
 * reader_state.c - what a reader has done so far, as TensorFlow writes it:
 *
 *     ReaderBaseState { work_started = 1, work_finished = 2,
 *                       num_records_produced = 3: int64, current_work = 4 }
 */
#include "kernels/readers/reader.h"

#include "common/base/pbio.h"

#include <inttypes.h>
#include <string.h>

enum { STARTED = 1, FINISHED = 2, PRODUCED = 3, WORK = 4 };

enum tfd_code tfd_reader_save(const struct tfd_reader *r, struct tfd_bytes *out,
                              struct tfd_status *st)
{
    if (!r->options.kind->has_state)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Reader SerializeState");
    tfd_pb_put_int(out, STARTED, r->started);
    tfd_pb_put_int(out, FINISHED, r->finished);
    tfd_pb_put_int(out, PRODUCED, r->produced);
    tfd_pb_put_str(out, WORK, tfd_bytes_view(&r->work));
    return tfd_bytes_ok(out, "the state of a reader", st);
}

/* As C writes a string: \n, \", \377. */
static void add_escaped(struct tfd_bytes *b, struct tfd_str s)
{
    static const char from[] = "\n\r\t\"'\\", to[] = "nrt\"'\\";

    for (size_t i = 0; i < s.size; i++) {
        const char *at = s.data[i] ? strchr(from, s.data[i]) : NULL;
        unsigned char c = (unsigned char)s.data[i];

        if (at)
            tfd_bytes_printf(b, "\\%c", to[at - from]);
        else if (c < 0x20 || c >= 0x7f)
            tfd_bytes_printf(b, "\\%03o", c);
        else
            tfd_bytes_add(b, &s.data[i], 1);
    }
}

static enum tfd_code refuse_bytes(const struct tfd_reader *r,
                                  struct tfd_str state, struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    if (state.size > TFD_STATUS_TEXT_MAX)
        state.size = TFD_STATUS_TEXT_MAX;
    tfd_bytes_init(&b, 8 * TFD_STATUS_TEXT_MAX);
    add_escaped(&b, state);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Could not parse state for %s: " TFD_STR_FMT, r->name,
                  TFD_STR_ARG(tfd_bytes_view(&b)));
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code read_fields(struct tfd_reader *r, struct tfd_str state,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader reader = tfd_pb_reader_of(state);
    struct tfd_pb_field f;

    while (tfd_pb_next(&reader, &f)) {
        bool is_number = f.wire == TFD_PB_VARINT;

        if (f.tag == STARTED && is_number)
            r->started = (int64_t)f.number;
        else if (f.tag == FINISHED && is_number)
            r->finished = (int64_t)f.number;
        else if (f.tag == PRODUCED && is_number)
            r->produced = (int64_t)f.number;
        else if (f.tag == WORK && f.wire == TFD_PB_BYTES) {
            tfd_bytes_clear(&r->work);
            tfd_bytes_add_str(&r->work, f.bytes);
        }
    }
    if (reader.failed)
        return refuse_bytes(r, state, st);
    return tfd_bytes_ok(&r->work, "the name of a file", st);
}

#define COUNT_MAX (INT64_MAX / 2) /* so that counting on does not overflow */

static enum tfd_code refuse_numbers(const struct tfd_reader *r,
                                    const char *what, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s when restoring in %s: work_started: %" PRId64
                    " work_finished: %" PRId64
                    " num_records_produced: %" PRId64,
                    what, r->name, r->started, r->finished, r->produced);
}

static enum tfd_code restore(struct tfd_reader *r, struct tfd_str state,
                             struct tfd_status *st)
{
    if (!r->options.kind->has_state)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Reader RestoreState");
    TFD_TRY(read_fields(r, state, st));
    if (r->started < 0 || r->finished < 0 || r->produced < 0)
        return refuse_numbers(r, "Unexpected negative value", st);
    if (r->started > COUNT_MAX || r->finished > COUNT_MAX ||
        r->produced > COUNT_MAX)
        return refuse_numbers(r, "A number that is too large", st);
    if (r->started > r->finished)
        return refuse_numbers(r, "Inconsistent work started vs. finished", st);
    return TFD_OK;
}

enum tfd_code tfd_reader_restore(struct tfd_reader *r, struct tfd_str state,
                                 struct tfd_status *st)
{
    enum tfd_code rc;

    if (r->options.kind->has_state)
        tfd_reader_clear(r);
    rc = restore(r, state, st);
    if (rc != TFD_OK)
        tfd_reader_clear(r);
    return rc;
}
