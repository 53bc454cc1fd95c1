/*
 * example.c - finds the features that are wanted, and checks them.
 *
 * Examples of one kind name their features in one order mostly, so what the
 * n-th name of the one before led to is tried first.
 */
#include "kernels/parse/example.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- What is wanted ------------------------------------------------------ */

int64_t tfd_example_stride(const struct tfd_example_want *w)
{
    int64_t n = 1;

    for (int i = tfd_example_is_variable(w); i < w->shape.rank; i++)
        n *= w->shape.dim[i];
    return n;
}

static bool fits_shape(const struct tfd_shape *declared,
                       const struct tfd_shape *have)
{
    struct tfd_shape both = *declared;

    return tfd_shape_merge(&both, have, NULL) == TFD_OK;
}

/* d: its number among the dense ones. */
static enum tfd_code check_default(const struct tfd_example_want *w, int d,
                                   struct tfd_status *st)
{
    char declared[TFD_SHAPE_TEXT_MAX], have[TFD_SHAPE_TEXT_MAX];
    int64_t elements = tfd_tensor_elements(w->absent);

    (void)tfd_shape_text(&w->shape, declared);
    (void)tfd_shape_text(&w->absent->shape, have);
    if (tfd_example_is_variable(w) && elements != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "dense_shape[%d] is a variable length shape: %s, "
                        "therefore def_value[%d] must contain a single element "
                        "(the padding element).  But its shape is: %s",
                        d, declared, d, have);
    if (!tfd_example_is_variable(w) && elements > 0 &&
        !fits_shape(&w->shape, &w->absent->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "def_value[%d].shape() == %s is not compatible with "
                        "dense_shapes_[%d] == %s",
                        d, have, d, declared);
    return TFD_OK;
}

enum tfd_code tfd_example_spec_init(struct tfd_example_spec *s,
                                    const struct tfd_example_want *wants,
                                    int count, struct tfd_status *st)
{
    int dense = 0;

    s->wants = wants;
    s->count = count;
    tfd_map_init(&s->by_key);
    for (int i = 0; i < count; i++) {
        uintptr_t other;

        if (wants[i].form == TFD_EXAMPLE_DENSE)
            TFD_TRY(check_default(&wants[i], dense++, st));
        if (tfd_map_get(&s->by_key, wants[i].key, &other))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "the feature " TFD_STR_FMT
                            " is asked for more than once",
                            TFD_STR_ARG(wants[i].key));
        if (!tfd_map_put(&s->by_key, wants[i].key, (uintptr_t)i))
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for the names of %d features", count);
    }
    return TFD_OK;
}

void tfd_example_spec_deinit(struct tfd_example_spec *s)
{
    tfd_map_deinit(&s->by_key);
}

/* ---- Finding features ---------------------------------------------------- */

#define GUESSES 64

struct guess {
    struct tfd_str key;
    int want; /* -1: none */
};

struct finder {
    const struct tfd_example_spec *spec;
    const struct tfd_example_batch *batch;
    struct tfd_feature *features; /* of all examples, each with all wants */
    struct guess guesses[GUESSES];
};

static int find_want(struct finder *f, int entry, struct tfd_str key)
{
    struct guess *g = entry < GUESSES ? &f->guesses[entry] : NULL;
    uintptr_t value;
    int want;

    if (g && g->key.data && tfd_str_eq(g->key, key))
        return g->want;
    want = tfd_map_get(&f->spec->by_key, key, &value) ? (int)value : -1;
    if (g)
        *g = (struct guess){key, want};
    return want;
}

/* Of several features of one name the last is meant. */
static enum tfd_code find_features(struct finder *f, struct tfd_str features,
                                   struct tfd_feature *out, int *entry,
                                   bool *damaged, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(features);
    struct tfd_pb_field field;
    struct tfd_pb_entry e;

    while (tfd_pb_next(&r, &field)) {
        int want;

        if (field.tag != 1)
            continue;
        if (field.wire != TFD_PB_BYTES || !tfd_pb_map_entry(field.bytes, &e)) {
            *damaged = true;
            return TFD_OK;
        }
        want = find_want(f, (*entry)++, e.key);
        if (want >= 0)
            TFD_TRY(tfd_feature_read(e.value, &out[want], st));
    }
    *damaged = r.failed;
    return TFD_OK;
}

static enum tfd_code find_in_example(struct finder *f, int64_t number,
                                     struct tfd_status *st)
{
    struct tfd_str example = tfd_tstring_view(&f->batch->serialized[number]);
    struct tfd_feature *out = f->features + number * f->spec->count;
    struct tfd_pb_reader r = tfd_pb_reader_of(example);
    struct tfd_pb_field field;
    bool damaged = false;
    int entry = 0;

    while (!damaged && tfd_pb_next(&r, &field)) {
        if (field.tag != 1)
            continue;
        damaged = field.wire != TFD_PB_BYTES;
        if (!damaged)
            TFD_TRY(find_features(f, field.bytes, out, &entry, &damaged, st));
    }
    if (!damaged && !r.failed)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Could not parse example input, value: '" TFD_STR_FMT "'",
                    TFD_STR_ARG(example));
}

/* ---- Checking them ------------------------------------------------------- */

/* "Name: N, " of a batch; "" of a single example. */
static struct tfd_str name_of(const struct tfd_example_batch *b, int64_t number)
{
    return b->names ? tfd_tstring_view(&b->names[number])
                    : TFD_STR("<unknown>");
}

static enum tfd_code wrong_feature(const struct tfd_example_batch *b,
                                   const struct tfd_example_want *w,
                                   int64_t number, const char *why,
                                   struct tfd_status *st)
{
    if (b->is_single)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Key: " TFD_STR_FMT ".  %s",
                        TFD_STR_ARG(w->key), why);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Name: " TFD_STR_FMT ", Key: " TFD_STR_FMT
                    ", Index: %lld.  %s",
                    TFD_STR_ARG(name_of(b, number)), TFD_STR_ARG(w->key),
                    (long long)number, why);
}

static enum tfd_code wrong_type(const struct tfd_example_batch *b,
                                const struct tfd_example_want *w,
                                const struct tfd_feature *f, int64_t number,
                                struct tfd_status *st)
{
    const char *have = tfd_dtype_name((int)f->dtype);
    const char *want = tfd_dtype_name((int)w->dtype);
    bool is_dense = w->form == TFD_EXAMPLE_DENSE;
    char why[160];

    snprintf(why, sizeof(why),
             is_dense ? "Data types don't match. Data type: %s but expected "
                        "type: %s"
                      : "Data types don't match. Expected type: %s, Actual "
                        "type: %s",
             is_dense ? have : want, is_dense ? want : have);
    return wrong_feature(b, w, number, why, st);
}

static const char *list_name(enum tfd_dtype dtype)
{
    if (dtype == TFD_STRING)
        return "bytes";
    return dtype == TFD_FLOAT ? "float" : "int64";
}

static enum tfd_code wrong_count(const struct tfd_example_batch *b,
                                 const struct tfd_example_want *w,
                                 const struct tfd_feature *f, int64_t number,
                                 struct tfd_status *st)
{
    char why[200 + TFD_SHAPE_TEXT_MAX], shape[TFD_SHAPE_TEXT_MAX];
    const char *list = list_name(w->dtype);

    (void)tfd_shape_text(&w->shape, shape);
    if (b->is_single && tfd_example_is_variable(w))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Error while parsing feature with key " TFD_STR_FMT
                        ": number of elements should be divisible by %lld, "
                        "found %lld instead",
                        TFD_STR_ARG(w->key), (long long)tfd_example_stride(w),
                        (long long)f->count);
    if (b->is_single)
        snprintf(why, sizeof(why),
                 "Can't parse serialized Example: Some %s_list slice was not "
                 "parsed.",
                 list);
    else if (tfd_example_is_variable(w))
        snprintf(why, sizeof(why),
                 "Number of %s values is not a multiple of stride length. Saw "
                 "%lld values but output shape is: %s",
                 list, (long long)f->count, shape);
    else
        snprintf(why, sizeof(why),
                 "Number of %s values != expected.  Values size: %lld but "
                 "output shape: %s",
                 list, (long long)f->count, shape);
    return wrong_feature(b, w, number, why, st);
}

static enum tfd_code check_missing(const struct tfd_example_batch *b,
                                   const struct tfd_example_want *w,
                                   int64_t number, struct tfd_status *st)
{
    const char *type = tfd_dtype_name((int)w->dtype);

    if (w->form != TFD_EXAMPLE_DENSE || tfd_tensor_elements(w->absent) > 0)
        return TFD_OK;
    if (b->is_single)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Feature: " TFD_STR_FMT
                        " (data type: %s) is required but could not be found.",
                        TFD_STR_ARG(w->key), type);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Name: " TFD_STR_FMT ", Feature: " TFD_STR_FMT
                    " (data type: %s) is required but could not be found.",
                    TFD_STR_ARG(name_of(b, number)), TFD_STR_ARG(w->key), type);
}

static bool has_right_count(const struct tfd_example_want *w,
                            const struct tfd_feature *f)
{
    int64_t stride;

    if (w->form != TFD_EXAMPLE_DENSE)
        return true;
    stride = tfd_example_stride(w);
    if (!tfd_example_is_variable(w))
        return f->count == stride;
    return stride > 0 ? f->count % stride == 0 : f->count == 0;
}

static enum tfd_code check_feature(const struct tfd_example_batch *b,
                                   const struct tfd_example_want *w,
                                   const struct tfd_feature *f, int64_t number,
                                   struct tfd_status *st)
{
    if (f->dtype == TFD_DTYPE_INVALID)
        return TFD_OK;
    if (f->dtype != w->dtype)
        return wrong_type(b, w, f, number, st);
    if (f->count < 0)
        return wrong_feature(b, w, number, "Can't parse serialized Example.",
                             st);
    if (has_right_count(w, f))
        return TFD_OK;
    return wrong_count(b, w, f, number, st);
}

static enum tfd_code check_example(const struct finder *f, int64_t number,
                                   struct tfd_status *st)
{
    const struct tfd_feature *have = f->features + number * f->spec->count;
    const struct tfd_example_want *w = f->spec->wants;

    for (int i = 0; i < f->spec->count; i++)
        TFD_TRY(check_feature(f->batch, &w[i], &have[i], number, st));
    for (int i = 0; i < f->spec->count; i++)
        if (have[i].dtype == TFD_DTYPE_INVALID)
            TFD_TRY(check_missing(f->batch, &w[i], number, st));
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static void drop_values(struct tfd_example_value *values, int count)
{
    for (int i = 0; i < count; i++) {
        tfd_tensor_unref(&values[i].values);
        tfd_tensor_unref(&values[i].indices);
        tfd_tensor_unref(&values[i].extent);
    }
}

static enum tfd_code parse_all(struct finder *f,
                               struct tfd_example_value *values,
                               struct tfd_status *st)
{
    const struct tfd_example_spec *s = f->spec;

    for (int64_t i = 0; i < f->batch->count; i++) {
        TFD_TRY(find_in_example(f, i, st));
        TFD_TRY(check_example(f, i, st));
    }
    for (int i = 0; i < s->count; i++)
        TFD_TRY(tfd_example_fill(&s->wants[i], f->features + i, s->count,
                                 f->batch->count, f->batch->is_single,
                                 &values[i], st));
    return TFD_OK;
}

enum tfd_code tfd_example_parse(const struct tfd_example_spec *s,
                                const struct tfd_example_batch *b,
                                struct tfd_example_value *values,
                                struct tfd_status *st)
{
    size_t width = (size_t)(s->count > 0 ? s->count : 1);
    struct finder *f;
    enum tfd_code rc;

    if (s->count == 0)
        return TFD_OK;
    f = calloc(1, sizeof(*f));
    if (f) {
        f->spec = s;
        f->batch = b;
        f->features =
            calloc((size_t)b->count + 1, width * sizeof(*f->features));
    }
    if (f && f->features)
        rc = parse_all(f, values, st);
    else
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      "no memory for %d features of %lld examples", s->count,
                      (long long)b->count);
    if (rc != TFD_OK)
        drop_values(values, s->count);
    if (f)
        free(f->features);
    free(f);
    return rc;
}
