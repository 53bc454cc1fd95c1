/*
 * summary_rows.c - values of summaries into tensors, as TensorBoard wants them,
 * and those into rows.
 *
 *     simple_value   a scalar                              "scalars"
 *     histo          a matrix: from, to, how many          "histograms"
 *     image          strings: width, height, file          "images"
 *     audio          strings: file, nothing                "audio"
 *     tensor         itself                                as its metadata says
 */
#include "kernels/text/summary_tables.h"

#if TFD_HAS_SQLITE
#include "common/proto/summary.pb.h"
#include "common/proto/tensor_proto.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define VALUE_TAG(name) tensorflow_Summary_Value_##name##_tag
#define HISTO_TAG(name) tensorflow_HistogramProto_##name##_tag
#define IMAGE_TAG(name) tensorflow_Summary_Image_##name##_tag
#define AUDIO_TAG(name) tensorflow_Summary_Audio_##name##_tag

/* ---- Tensors ------------------------------------------------------------- */

/* One value of a summary on its way into the tables. */
struct value_row {
    int64_t step;
    double wall; /* seconds since 1970 */
    struct tfd_str tag;
    struct tfd_summary_metadata metadata;
};

static enum tfd_code add_strings(struct tfd_summary_db *db, int64_t row,
                                 const struct tfd_tensor *t,
                                 struct tfd_status *st)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);
    const int64_t n = tfd_tensor_elements(t);
    struct tfd_db_value values[3] = {tfd_db_int(row)};

    TFD_TRY(tfd_summary_run(db, TFD_DB_CLEAR_STRINGS, values, 1, st));
    for (int64_t i = 0; i < n; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        values[1] = tfd_db_int(i);
        values[2] = tfd_db_blob(tfd_tstring_view(&s[i]));
        TFD_TRY(tfd_summary_run(db, TFD_DB_ADD_STRING, values, 3, st));
    }
    return TFD_OK;
}

static void put_dims(struct tfd_bytes *b, const struct tfd_shape *s)
{
    for (int i = 0; i < s->rank; i++)
        tfd_bytes_printf(b, "%s%lld", i ? "," : "", (long long)s->dim[i]);
}

/* Numbers as they lie in memory, one string as its bytes; several have rows of
 * their own.  No numbers are NULL, as TensorFlow has them in a graph. */
static struct tfd_db_value data_of(const struct tfd_tensor *t)
{
    if (t->dtype != TFD_STRING && tfd_tensor_elements(t) > 0)
        return tfd_db_blob(
            (struct tfd_str){tfd_tensor_data(t), tfd_tensor_size(t)});
    if (t->dtype == TFD_STRING && t->shape.rank == 0)
        return tfd_db_blob(tfd_tstring_view(tfd_tensor_data(t)));
    return (struct tfd_db_value){.kind = TFD_DB_NULL};
}

static enum tfd_code add_tensor(struct tfd_summary_db *db, int64_t tag,
                                const struct value_row *v,
                                const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    struct tfd_db_value values[6];
    struct tfd_bytes shape;
    enum tfd_code rc;

    tfd_bytes_init(&shape, 1024);
    put_dims(&shape, &t->shape);
    values[0] = tfd_db_int(tag);
    values[1] = tfd_db_int(v->step);
    values[2] = tfd_db_real(v->wall);
    values[3] = tfd_db_int(t->dtype);
    values[4] = tfd_db_text(tfd_bytes_view(&shape));
    values[5] = data_of(t);
    rc = tfd_bytes_ok(&shape, "a shape", st);
    if (rc == TFD_OK)
        rc = tfd_summary_run(db, TFD_DB_ADD_TENSOR, values, 6, st);
    tfd_bytes_deinit(&shape);
    if (rc == TFD_OK && t->dtype == TFD_STRING && t->shape.rank > 0)
        rc = add_strings(db, db->library->last_insert_rowid(db->db), t, st);
    return rc;
}

enum tfd_code tfd_summary_end_transaction(struct tfd_summary_db *db,
                                          const struct tfd_summary_ids *before,
                                          enum tfd_code rc,
                                          struct tfd_status *st)
{
    if (rc == TFD_OK)
        rc = tfd_summary_run(db, TFD_DB_COMMIT, NULL, 0, st);
    if (rc != TFD_OK) {
        (void)!tfd_summary_run(db, TFD_DB_ROLLBACK, NULL, 0, NULL);
        db->ids = *before;
    }
    return rc;
}

static enum tfd_code add_value(struct tfd_summary_db *db,
                               const struct value_row *v,
                               const struct tfd_tensor *t,
                               struct tfd_status *st)
{
    const struct tfd_summary_ids before = db->ids;
    bool is_new = false;
    enum tfd_code rc;
    int64_t tag;

    TFD_TRY(tfd_summary_run(db, TFD_DB_BEGIN, NULL, 0, st));
    rc = tfd_summary_tag_id(db, v->wall, v->tag, &v->metadata, &tag, &is_new,
                            st);
    if (rc == TFD_OK)
        rc = add_tensor(db, tag, v, t, st);
    rc = tfd_summary_end_transaction(db, &before, rc, st);
    if (rc != TFD_OK && is_new)
        tfd_map_remove(&db->tags, v->tag);
    return rc;
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code put_proto(struct tfd_summary_db *db, struct value_row *v,
                               struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_tensor_head head;
    struct tfd_tensor t = {0};
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_proto_head(proto, &head, st));
    TFD_TRY(tfd_summary_db_check(head.dtype, st));
    if (head.shape.rank > TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "a tensor of %d dimensions; at most %d can be",
                        head.shape.rank, TFD_RANK_MAX);
    TFD_TRY(tfd_tensor_proto_decode(&head, NULL, &t, st));
    rc = add_value(db, v, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static void name_plugin(struct value_row *v, const char *name)
{
    if (v->metadata.plugin_name.size == 0)
        v->metadata.plugin_name = tfd_str_of(name);
}

static enum tfd_code put_scalar(struct tfd_summary_db *db, struct value_row *v,
                                uint32_t bits, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t = {0};
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&t, TFD_FLOAT, &scalar, st));
    memcpy(tfd_tensor_data(&t), &bits, sizeof(bits));
    name_plugin(v, "scalars");
    rc = add_value(db, v, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

/* A repeated double of a message, packed or not, into every third element;
 * returns how many there are, of which `most` are taken; -1: damage. */
static int64_t take_doubles(struct tfd_str message, uint32_t tag, int64_t most,
                            double *to)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    int64_t count = 0;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_str packed = f.bytes;

        if (f.tag != tag)
            continue;
        if (f.wire == TFD_PB_FIXED64)
            packed = (struct tfd_str){(const char *)&f.number, sizeof(double)};
        else if (f.wire != TFD_PB_BYTES || packed.size % sizeof(double))
            return -1;
        for (; packed.size > 0; packed.size -= sizeof(double), count++) {
            if (count < most)
                memcpy(&to[3 * count], packed.data, sizeof(double));
            packed.data += sizeof(double);
        }
    }
    return r.failed ? -1 : count;
}

static enum tfd_code put_histogram(struct tfd_summary_db *db,
                                   struct value_row *v, struct tfd_str histo,
                                   struct tfd_status *st)
{
    const int64_t n = take_doubles(histo, HISTO_TAG(bucket), 0, NULL);
    const struct tfd_shape shape = {2, {n, 3}};
    struct tfd_tensor t = {0};
    enum tfd_code rc;
    double *row;

    if (n < 0 || n != take_doubles(histo, HISTO_TAG(bucket_limit), 0, NULL))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "size mismatch");
    TFD_TRY(tfd_tensor_new(&t, TFD_DOUBLE, &shape, st));
    row = tfd_tensor_data(&t);
    if (n > 0) {
        (void)take_doubles(histo, HISTO_TAG(bucket_limit), n, row + 1);
        (void)take_doubles(histo, HISTO_TAG(bucket), n, row + 2);
    }
    for (int64_t i = 0; i < n; i++)
        row[3 * i] = i == 0 ? DBL_MIN : row[3 * i - 2];
    name_plugin(v, "histograms");
    rc = add_value(db, v, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

/* The strings are borrowed. */
static enum tfd_code put_texts(struct tfd_summary_db *db, struct value_row *v,
                               const struct tfd_shape *shape,
                               const struct tfd_str *strings,
                               struct tfd_status *st)
{
    struct tfd_tensor t = {0};
    enum tfd_code rc = tfd_tensor_new(&t, TFD_STRING, shape, st);
    struct tfd_tstring *to;

    if (rc != TFD_OK)
        return rc;
    to = tfd_tensor_data(&t);
    for (int64_t i = 0; i < tfd_tensor_elements(&t) && rc == TFD_OK; i++)
        rc = tfd_tstring_set(&to[i], strings[i], st);
    if (rc == TFD_OK)
        rc = add_value(db, v, &t, st);
    tfd_tensor_unref(&t);
    return rc;
}

static enum tfd_code put_image(struct tfd_summary_db *db, struct value_row *v,
                               struct tfd_str image, struct tfd_status *st)
{
    static const struct tfd_shape three = {1, {3}};
    struct tfd_pb_reader r = tfd_pb_reader_of(image);
    struct tfd_str strings[3] = {0};
    int32_t width = 0, height = 0;
    char sizes[2][16];
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == IMAGE_TAG(width))
            width = tfd_pb_int32(&r, &f);
        else if (f.tag == IMAGE_TAG(height))
            height = tfd_pb_int32(&r, &f);
        else if (f.tag == IMAGE_TAG(encoded_image_string))
            strings[2] = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "Summary.Image", st));
    snprintf(sizes[0], sizeof(sizes[0]), "%d", width);
    snprintf(sizes[1], sizeof(sizes[1]), "%d", height);
    strings[0] = tfd_str_of(sizes[0]);
    strings[1] = tfd_str_of(sizes[1]);
    name_plugin(v, "images");
    return put_texts(db, v, &three, strings, st);
}

static enum tfd_code put_audio(struct tfd_summary_db *db, struct value_row *v,
                               struct tfd_str audio, struct tfd_status *st)
{
    static const struct tfd_shape pair = {2, {1, 2}};
    struct tfd_pb_reader r = tfd_pb_reader_of(audio);
    struct tfd_str strings[2] = {TFD_STR_EMPTY, TFD_STR_EMPTY};
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == AUDIO_TAG(encoded_audio_string))
            strings[0] = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "Summary.Audio", st));
    name_plugin(v, "audio");
    return put_texts(db, v, &pair, strings, st);
}

/* ---- Summaries ----------------------------------------------------------- */

/* SummaryMetadata { plugin_data = 1 { plugin_name = 1, content = 2 },
 *                   display_name = 2, summary_description = 3 } */
static bool read_metadata(struct tfd_str message,
                          struct tfd_summary_metadata *m)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message), plugin;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == 2)
            m->display_name = tfd_pb_str(&r, &f);
        if (f.tag == 3)
            m->description = tfd_pb_str(&r, &f);
        if (f.tag != 1)
            continue;
        plugin = tfd_pb_reader_of(tfd_pb_str(&r, &f));
        while (tfd_pb_next(&plugin, &f)) {
            if (f.tag == 1)
                m->plugin_name = tfd_pb_str(&plugin, &f);
            if (f.tag == 2)
                m->plugin_data = tfd_pb_str(&plugin, &f);
        }
        if (plugin.failed)
            return false;
    }
    return !r.failed;
}

static bool is_content(uint32_t tag)
{
    return tag == VALUE_TAG(simple_value) || tag == VALUE_TAG(image) ||
           tag == VALUE_TAG(histo) || tag == VALUE_TAG(audio) ||
           tag == VALUE_TAG(tensor) || tag == 3; /* an old histogram's */
}

enum tfd_code tfd_summary_add_value(struct tfd_summary_db *db, int64_t step,
                                    double wall, struct tfd_str value,
                                    struct tfd_status *st)
{
    struct value_row v = {.step = step, .wall = wall, .tag = TFD_STR_EMPTY};
    struct tfd_pb_reader r = tfd_pb_reader_of(value);
    struct tfd_pb_field f, content = {0};

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == VALUE_TAG(tag))
            v.tag = tfd_pb_str(&r, &f);
        else if (f.tag == VALUE_TAG(metadata) &&
                 !read_metadata(tfd_pb_str(&r, &f), &v.metadata))
            r.failed = true;
        else if (is_content(f.tag))
            content = f;
    }
    if (content.tag &&
        content.wire != (content.tag == VALUE_TAG(simple_value) ? TFD_PB_FIXED32
                                                                : TFD_PB_BYTES))
        r.failed = true;
    TFD_TRY(tfd_pb_end(&r, "Summary.Value", st));
    switch (content.tag) {
    case VALUE_TAG(simple_value):
        return put_scalar(db, &v, (uint32_t)content.number, st);
    case VALUE_TAG(image):
        return put_image(db, &v, content.bytes, st);
    case VALUE_TAG(histo):
        return put_histogram(db, &v, content.bytes, st);
    case VALUE_TAG(audio):
        return put_audio(db, &v, content.bytes, st);
    case VALUE_TAG(tensor):
        return put_proto(db, &v, content.bytes, st);
    default:
        return TFD_OK;
    }
}
#else
typedef int tfd_no_summary_rows; /* C wants something in a file */
#endif
