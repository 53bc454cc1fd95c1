/*
 * json_to_example.c - see json_to_example.h.  Functions follow the messages, so
 * they nest as deep as those; arrays, which may nest deeper, are counted.
 */
#include "kernels/parse/json_to_example.h"

#include "common/base/arena.h"
#include "common/base/map.h"
#include "common/base/pbio.h"
#include "common/base/tensor.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/parse/base64_text.h"
#include "kernels/parse/json_scan.h"
#include "kernels/parse/number.h"

#include <math.h>
#include <string.h>

struct list_type {
    const char *name, *json_name; /* both are known */
    const char *message, *value;  /* types, as errors name them */
    uint32_t tag;                 /* in Feature */
    enum tfd_dtype dtype;
};

#define LIST_TYPES 3

static const struct list_type list_types[LIST_TYPES] = {
    {"bytes_list", "bytesList", "message tensorflow.BytesList", "bytes", 1,
     TFD_STRING},
    {"float_list", "floatList", "message tensorflow.FloatList", "float", 2,
     TFD_FLOAT},
    {"int64_list", "int64List", "message tensorflow.Int64List", "int64", 3,
     TFD_INT64},
};

struct reader {
    struct tfd_json_scan scan;
    struct tfd_bytes *out;
    struct tfd_map names;         /* of the features of one object */
    struct tfd_arena kept;        /* those with escapes */
    const struct list_type *list; /* of the feature that is read, or NULL */
};

/* A member of an object, behind its key. */
typedef enum tfd_code member_fn(struct reader *r,
                                const struct tfd_json_token *key,
                                struct tfd_status *st);

static enum tfd_code read_object(struct reader *r, member_fn *member,
                                 struct tfd_status *st)
{
    struct tfd_json_token key;
    bool more;

    TFD_TRY(tfd_json_scan_open(&r->scan, '{', &more, st));
    while (more) {
        TFD_TRY(tfd_json_scan_key(&r->scan, &key, st));
        TFD_TRY(member(r, &key, st));
        TFD_TRY(tfd_json_scan_more(&r->scan, '}', &more, st));
    }
    return TFD_OK;
}

static bool is_null(struct reader *r)
{
    return tfd_json_scan_is(&r->scan, TFD_JSON_NULL);
}

/* A field that is null is as if it were not there. */
static enum tfd_code read_message(struct reader *r, uint32_t tag,
                                  member_fn *member, struct tfd_status *st)
{
    size_t mark;

    if (is_null(r))
        return tfd_json_scan_expect(&r->scan, "null", st);
    mark = tfd_pb_begin(r->out, tag);
    TFD_TRY(read_object(r, member, st));
    tfd_pb_finish(r->out, mark);
    return TFD_OK;
}

static enum tfd_code fail_unknown(struct reader *r,
                                  const struct tfd_json_token *key,
                                  struct tfd_status *st)
{
    return tfd_json_scan_fail(&r->scan, NULL, st,
                              "no such field: '" TFD_STR_FMT "'",
                              TFD_STR_ARG(tfd_json_scan_shown(key->text)));
}

/* ---- Values -------------------------------------------------------------- */

static enum tfd_code fail_no_number(struct reader *r, struct tfd_status *st)
{
    return tfd_json_scan_fail(&r->scan, NULL, st, "expected number or string");
}

static void put_float(struct tfd_bytes *out, float value)
{
    const char tag = 1 << 3 | TFD_PB_FIXED32;
    uint32_t bits;
    char bytes[sizeof(bits)];

    memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(uint8_t)(bits >> 8 * i);
    tfd_bytes_add(out, &tag, 1);
    tfd_bytes_add(out, bytes, sizeof(bytes));
}

static enum tfd_code read_float(struct reader *r, enum tfd_json_kind kind,
                                struct tfd_status *st)
{
    struct tfd_json_token n;

    if (kind == TFD_JSON_NUMBER)
        TFD_TRY(tfd_json_scan_number(&r->scan, &n, st));
    else if (kind == TFD_JSON_STRING)
        TFD_TRY(tfd_json_scan_string(&r->scan, &n, st));
    else
        return fail_no_number(r, st);
    if (kind == TFD_JSON_STRING &&
        !tfd_number_parse(TFD_DOUBLE, n.text, &n.value))
        return tfd_json_scan_fail(&r->scan, &n.place, st,
                                  "non-number characters in quoted number");
    if (isfinite(n.value) && !isfinite((float)n.value))
        return tfd_json_scan_fail(&r->scan, NULL, st, "float out of range");
    put_float(r->out, (float)n.value);
    return TFD_OK;
}

/* A whole number in another form: 1e3, 2.0. */
static enum tfd_code whole_of(struct reader *r, const struct tfd_json_token *n,
                              int64_t *out, struct tfd_status *st)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double value;

    if (!tfd_number_parse(TFD_DOUBLE, n->text, &value) || !isfinite(value))
        return tfd_json_scan_fail(&r->scan, &n->place, st,
                                  "invalid number: '" TFD_STR_FMT "'",
                                  TFD_STR_ARG(tfd_json_scan_shown(n->text)));
    if (value < -most || value > most)
        return tfd_json_scan_fail(&r->scan, &n->place, st,
                                  "JSON number out of range for int");
    *out = (int64_t)value;
    if (value != (double)*out)
        return tfd_json_scan_fail(
            &r->scan, &n->place, st,
            "expected integer, but JSON number had fractional part");
    return TFD_OK;
}

static bool has_space(struct tfd_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == ' ' ||
            (text.data[i] >= '\t' && text.data[i] <= '\r'))
            return true;
    return false;
}

static enum tfd_code read_int(struct reader *r, enum tfd_json_kind kind,
                              struct tfd_status *st)
{
    struct tfd_json_token n;
    int64_t value;

    if (kind == TFD_JSON_NUMBER)
        TFD_TRY(tfd_json_scan_number(&r->scan, &n, st));
    else if (kind == TFD_JSON_STRING)
        TFD_TRY(tfd_json_scan_string(&r->scan, &n, st));
    else
        return fail_no_number(r, st);
    if (kind == TFD_JSON_STRING && has_space(n.text))
        return tfd_json_scan_fail(&r->scan, NULL, st,
                                  "non-number characters in quoted number");
    if (!tfd_number_parse(TFD_INT64, n.text, &value))
        TFD_TRY(whole_of(r, &n, &value, st));
    tfd_pb_put_int_always(r->out, 1, value);
    return TFD_OK;
}

static enum tfd_code read_bytes(struct reader *r, struct tfd_status *st)
{
    struct tfd_json_token text;
    size_t mark;

    TFD_TRY(tfd_json_scan_string(&r->scan, &text, st));
    mark = tfd_pb_begin_large(r->out, 1, text.text.size / 4 * 3);
    if (tfd_base64_decode(r->out, text.text, true, NULL) != TFD_OK)
        return tfd_json_scan_fail(&r->scan, &text.place, st, "corrupt base64");
    tfd_pb_finish_large(r->out, mark, text.text.size / 4 * 3);
    return TFD_OK;
}

/* null, which an element may be. */
static enum tfd_code read_nothing(struct reader *r, struct tfd_status *st)
{
    TFD_TRY(tfd_json_scan_expect(&r->scan, "null", st));
    if (r->list->dtype == TFD_FLOAT)
        put_float(r->out, 0.0f);
    else if (r->list->dtype == TFD_INT64)
        tfd_pb_put_int_always(r->out, 1, 0);
    else
        tfd_pb_put_str_always(r->out, 1, TFD_STR_EMPTY);
    return TFD_OK;
}

static enum tfd_code read_single(struct reader *r, struct tfd_status *st)
{
    enum tfd_json_kind kind;

    if (r->list->dtype == TFD_STRING)
        return read_bytes(r, st);
    TFD_TRY(tfd_json_scan_kind(&r->scan, &kind, st));
    return r->list->dtype == TFD_FLOAT ? read_float(r, kind, st)
                                       : read_int(r, kind, st);
}

/* Behind an element: closes the arrays that end with it. */
static enum tfd_code close_arrays(struct reader *r, int *open,
                                  struct tfd_status *st)
{
    bool more = false;

    while (*open > 0 && !more) {
        TFD_TRY(tfd_json_scan_more(&r->scan, ']', &more, st));
        *open -= !more;
    }
    if (more)
        tfd_json_scan_count(&r->scan);
    return TFD_OK;
}

/* An array, and those in it, of which `open` are not closed. */
static enum tfd_code read_array(struct reader *r, struct tfd_status *st)
{
    int open = 0;
    bool more;

    do {
        if (tfd_halted())
            return TFD_OK;
        if (tfd_json_scan_is(&r->scan, TFD_JSON_ARRAY)) {
            TFD_TRY(tfd_json_scan_open(&r->scan, '[', &more, st));
            if (more) {
                open++;
                tfd_json_scan_count(&r->scan);
                continue;
            }
        } else if (is_null(r)) {
            TFD_TRY(read_nothing(r, st));
        } else {
            TFD_TRY(read_single(r, st));
        }
        TFD_TRY(close_arrays(r, &open, st));
    } while (open > 0);
    return TFD_OK;
}

/* ---- Messages ------------------------------------------------------------ */

static enum tfd_code list_member(struct reader *r,
                                 const struct tfd_json_token *key,
                                 struct tfd_status *st)
{
    if (!tfd_str_is(key->text, "value"))
        return fail_unknown(r, key, st);
    tfd_json_scan_enter(&r->scan, TFD_STR("value"), r->list->value);
    if (is_null(r))
        TFD_TRY(tfd_json_scan_expect(&r->scan, "null", st));
    else if (tfd_json_scan_is(&r->scan, TFD_JSON_ARRAY))
        TFD_TRY(read_array(r, st));
    else
        TFD_TRY(read_single(r, st));
    tfd_json_scan_leave(&r->scan);
    return TFD_OK;
}

static const struct list_type *find_list(struct tfd_str name, const char **told)
{
    for (int i = 0; i < LIST_TYPES; i++) {
        const struct list_type *t = &list_types[i];

        *told = tfd_str_is(name, t->name) ? t->name : t->json_name;
        if (tfd_str_is(name, *told))
            return t;
    }
    return NULL;
}

static enum tfd_code feature_member(struct reader *r,
                                    const struct tfd_json_token *key,
                                    struct tfd_status *st)
{
    const char *name;
    const struct list_type *found = find_list(key->text, &name);

    if (!found)
        return fail_unknown(r, key, st);
    tfd_json_scan_enter(&r->scan, tfd_str_of(name), found->message);
    if (!is_null(r)) {
        if (r->list)
            return tfd_json_scan_fail(
                &r->scan, NULL, st,
                "'%s' has already been set (either directly or as part of a "
                "oneof)",
                name);
        r->list = found;
    }
    TFD_TRY(read_message(r, found->tag, list_member, st));
    tfd_json_scan_leave(&r->scan);
    return TFD_OK;
}

/* The map borrows: a copy of the scanner's is kept. */
static enum tfd_code add_name(struct reader *r,
                              const struct tfd_json_token *key,
                              struct tfd_status *st)
{
    struct tfd_str name = key->text;
    uintptr_t value;

    if (tfd_map_get(&r->names, name, &value))
        return tfd_json_scan_fail(
            &r->scan, &key->place, st,
            "got unexpectedly-repeated repeated map key: '" TFD_STR_FMT "'",
            TFD_STR_ARG(tfd_json_scan_shown(name)));
    if (key->is_copy) {
        name = tfd_arena_str(&r->kept, name);
        TFD_TRY(tfd_arena_check(name.data, "names of features", st));
    }
    if (!tfd_map_put(&r->names, name, 0))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the names of %zu features",
                        r->names.count);
    return TFD_OK;
}

static enum tfd_code entry_member(struct reader *r,
                                  const struct tfd_json_token *key,
                                  struct tfd_status *st)
{
    size_t mark;

    if (tfd_halted())
        return tfd_halt_fail(st);
    tfd_json_scan_count(&r->scan);
    TFD_TRY(add_name(r, key, st));
    mark = tfd_pb_begin(r->out, 1);
    tfd_pb_put_str_always(r->out, 1, key->text);
    r->list = NULL;
    TFD_TRY(read_message(r, 2, feature_member, st));
    tfd_pb_finish(r->out, mark);
    return TFD_OK;
}

static enum tfd_code features_member(struct reader *r,
                                     const struct tfd_json_token *key,
                                     struct tfd_status *st)
{
    if (!tfd_str_is(key->text, "feature"))
        return fail_unknown(r, key, st);
    tfd_json_scan_enter(&r->scan, TFD_STR("feature"),
                        "message tensorflow.Features.FeatureEntry");
    if (is_null(r)) {
        TFD_TRY(tfd_json_scan_expect(&r->scan, "null", st));
    } else {
        tfd_map_deinit(&r->names);
        tfd_map_init(&r->names);
        TFD_TRY(read_object(r, entry_member, st));
    }
    tfd_json_scan_leave(&r->scan);
    return TFD_OK;
}

static enum tfd_code example_member(struct reader *r,
                                    const struct tfd_json_token *key,
                                    struct tfd_status *st)
{
    if (!tfd_str_is(key->text, "features"))
        return fail_unknown(r, key, st);
    tfd_json_scan_enter(&r->scan, TFD_STR("features"),
                        "message tensorflow.Features");
    TFD_TRY(read_message(r, 1, features_member, st));
    tfd_json_scan_leave(&r->scan);
    return TFD_OK;
}

enum tfd_code tfd_json_to_example(struct tfd_str text, struct tfd_bytes *out,
                                  struct tfd_status *st)
{
    struct reader r = {.out = out};
    enum tfd_code rc;

    tfd_json_scan_init(&r.scan, text, "type.googleapis.com/tensorflow.Example");
    tfd_map_init(&r.names);
    tfd_arena_init(&r.kept, TFD_CONVERTED_SIZE_MAX);
    rc = read_object(&r, example_member, st);
    if (rc == TFD_OK)
        rc = tfd_json_scan_end(&r.scan, st);
    if (rc == TFD_OK)
        rc = tfd_bytes_ok(out, "an Example", st);
    tfd_arena_deinit(&r.kept);
    tfd_map_deinit(&r.names);
    tfd_json_scan_deinit(&r.scan);
    return rc;
}
