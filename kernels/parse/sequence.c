/*
 * sequence.c - finds the features and the rows that are wanted, and checks
 * them: see sequence.h.
 *
 * A feature that is missing has no list at all (list.data is NULL), one that is
 * empty has an empty one.  What cannot be read has a negative count.
 */
#include "kernels/parse/sequence.h"

#include "common/thread/halt.h"
#include "config/limits.h"

#include <stdlib.h>

#define ROWS_MIN 16

enum { CONTEXT = TFD_SEQUENCE_CONTEXT, LISTS = TFD_SEQUENCE_LISTS };

struct finder {
    const struct tfd_sequence_spec *spec;
    const struct tfd_sequence_batch *batch;
    int64_t examples;
    struct tfd_map by_key[2];
    int *source[2];                 /* the first want of the same key */
    struct tfd_feature *context;    /* of all examples, each with all wants */
    struct tfd_sequence_rows *rows; /* of each list */
    int64_t *lengths, *starts;      /* starts: of this example's rows */
    int64_t total;                  /* rows of all lists */
};

/* ---- What is wanted ------------------------------------------------------ */

static enum tfd_code both_forms(const struct tfd_example_want *a,
                                const struct tfd_example_want *b, int part,
                                struct tfd_status *st)
{
    bool is_dense =
        a->form == TFD_EXAMPLE_DENSE || b->form == TFD_EXAMPLE_DENSE;

    if (a->form == b->form)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s feature " TFD_STR_FMT " cannot be both %s and sparse",
                    part == CONTEXT ? "Context" : "Sequence",
                    TFD_STR_ARG(a->key), is_dense ? "dense" : "ragged");
}

static enum tfd_code map_wants(struct finder *f, int part,
                               struct tfd_status *st)
{
    const struct tfd_example_want *w = f->spec->wants[part];

    for (int i = 0; i < f->spec->count[part]; i++) {
        uintptr_t first = (uintptr_t)i;

        if (tfd_map_get(&f->by_key[part], w[i].key, &first)) {
            if (!f->batch->is_alone)
                TFD_TRY(both_forms(&w[i], &w[first], part, st));
        } else if (!tfd_map_put(&f->by_key[part], w[i].key, (uintptr_t)i)) {
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for the names of %d features",
                            f->spec->count[part]);
        }
        f->source[part][i] = (int)first;
    }
    return TFD_OK;
}

/* -1: nobody wants it. */
static int find_key(const struct finder *f, int part, struct tfd_str key)
{
    uintptr_t i;

    return tfd_map_get(&f->by_key[part], key, &i) ? (int)i : -1;
}

/* ---- Finding ------------------------------------------------------------- */

static bool is_well_formed(struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field))
        ;
    return !r.failed;
}

/* A single example takes what it does not know for an empty feature. */
static void read_feature(const struct finder *f, struct tfd_str message,
                         struct tfd_feature *out)
{
    if (tfd_feature_read(message, out, NULL) == TFD_OK)
        return;
    *out = (struct tfd_feature){.list = TFD_STR_EMPTY};
    if (!f->batch->is_alone || !is_well_formed(message))
        out->count = -1;
}

static enum tfd_code add_row(struct finder *f, struct tfd_sequence_rows *rows,
                             struct tfd_str message, struct tfd_status *st)
{
    int64_t room = rows->room ? 2 * rows->room : ROWS_MIN;
    struct tfd_feature *at;

    if (++f->total > TFD_SEQUENCE_ROWS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "lists of features have more than %lld rows",
                        (long long)TFD_SEQUENCE_ROWS_MAX);
    if (rows->count == rows->room) {
        at = realloc(rows->at, (size_t)room * sizeof(*at));
        if (!at)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "no memory for %lld rows", (long long)room);
        rows->at = at;
        rows->room = room;
    }
    read_feature(f, message, &rows->at[rows->count++]);
    return TFD_OK;
}

/* Of several lists of one name the last is meant. */
static enum tfd_code find_rows(struct finder *f, int64_t example, int want,
                               struct tfd_str list, bool *damaged,
                               struct tfd_status *st)
{
    struct tfd_sequence_rows *rows = &f->rows[want];
    struct tfd_pb_reader r = tfd_pb_reader_of(list);
    struct tfd_pb_field field;

    rows->count = f->starts[want];
    while (tfd_pb_next(&r, &field))
        if (field.tag == 1 && field.wire == TFD_PB_BYTES)
            TFD_TRY(add_row(f, rows, field.bytes, st));
    *damaged = r.failed;
    rows->lengths[example] = rows->count - f->starts[want];
    return TFD_OK;
}

/* The entries of a context's features, or of the feature lists. */
static enum tfd_code find_entries(struct finder *f, int64_t example, int part,
                                  struct tfd_str map, bool *damaged,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(map);
    struct tfd_pb_field field;
    struct tfd_pb_entry e;

    while (!*damaged && tfd_pb_next(&r, &field)) {
        int want;

        if (field.tag != 1 || field.wire != TFD_PB_BYTES)
            continue;
        *damaged = !tfd_pb_map_entry(field.bytes, &e);
        want = *damaged ? -1 : find_key(f, part, e.key);
        if (want >= 0 && part == CONTEXT)
            read_feature(f, e.value,
                         &f->context[example * f->spec->count[CONTEXT] + want]);
        else if (want >= 0)
            TFD_TRY(find_rows(f, example, want, e.value, damaged, st));
    }
    *damaged |= r.failed;
    return TFD_OK;
}

static struct tfd_str example_name(const struct finder *f, int64_t example)
{
    const struct tfd_example_batch *b = &f->batch->examples;

    return b->names ? tfd_tstring_view(&b->names[example])
                    : TFD_STR("<unknown>");
}

static enum tfd_code damaged_example(const struct finder *f, int64_t example,
                                     struct tfd_status *st)
{
    struct tfd_str text =
        tfd_tstring_view(&f->batch->examples.serialized[example]);

    if (f->batch->is_alone)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Could not parse example input, value: '" TFD_STR_FMT
                        "'",
                        TFD_STR_ARG(text));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid protocol message input, example id: " TFD_STR_FMT,
                    TFD_STR_ARG(example_name(f, example)));
}

static enum tfd_code find_in_sequence(struct finder *f, int64_t example,
                                      struct tfd_status *st)
{
    struct tfd_str text =
        tfd_tstring_view(&f->batch->examples.serialized[example]);
    struct tfd_pb_reader r = tfd_pb_reader_of(text);
    struct tfd_pb_field field;
    bool damaged = false;

    if (tfd_halted())
        return tfd_halt_fail(st);
    for (int i = 0; i < f->spec->count[LISTS]; i++) {
        f->starts[i] = f->rows[i].count;
        f->rows[i].lengths[example] = -1;
    }
    while (!damaged && tfd_pb_next(&r, &field))
        if ((field.tag == 1 || field.tag == 2) && field.wire == TFD_PB_BYTES)
            TFD_TRY(find_entries(f, example, field.tag == 1 ? CONTEXT : LISTS,
                                 field.bytes, &damaged, st));
    return damaged || r.failed ? damaged_example(f, example, st) : TFD_OK;
}

/* ---- Checking contexts --------------------------------------------------- */

/* A dense feature of a single example must not be empty, either. */
static bool has_type(const struct finder *f, const struct tfd_example_want *w,
                     const struct tfd_feature *x)
{
    if (x->count < 0)
        return false;
    if (x->dtype == TFD_DTYPE_INVALID)
        return !f->batch->is_alone || w->form != TFD_EXAMPLE_DENSE;
    return x->dtype == w->dtype;
}

/* What has been damaged of a single example is told so. */
static enum tfd_code check_context_type(const struct finder *f, int64_t example,
                                        const struct tfd_example_want *w,
                                        const struct tfd_feature *x,
                                        struct tfd_status *st)
{
    if (!x->list.data || has_type(f, w, x))
        return TFD_OK;
    if (f->batch->is_alone && x->count < 0)
        return damaged_example(f, example, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Name: " TFD_STR_FMT ", Context feature: " TFD_STR_FMT
                    ".  Data types don't match. Expected type: %s",
                    TFD_STR_ARG(example_name(f, example)), TFD_STR_ARG(w->key),
                    tfd_dtype_name((int)w->dtype));
}

/* Strings of a single example have words of their own, too. */
static enum tfd_code wrong_row(const struct finder *f, int64_t example,
                               const struct tfd_example_want *w, int64_t row,
                               const struct tfd_feature *x,
                               struct tfd_status *st)
{
    bool is_text = f->batch->is_alone && w->dtype == TFD_STRING;
    const char *type = is_text ? "bytes" : tfd_dtype_name((int)w->dtype);
    char shape[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Name: " TFD_STR_FMT ", Key%s " TFD_STR_FMT
        ", Index: %lld.  Number of %s%svalues != expected.  "
        "%s size: %lld but output shape: %s",
        TFD_STR_ARG(example_name(f, example)), is_text ? "" : ":",
        TFD_STR_ARG(w->key), (long long)row, f->batch->is_alone ? type : "",
        f->batch->is_alone ? " " : "", is_text ? "Values" : "values",
        (long long)x->count, tfd_shape_text(&w->shape, shape));
}

static enum tfd_code missing_feature(const struct finder *f, int64_t example,
                                     const struct tfd_example_want *w,
                                     struct tfd_status *st)
{
    if (f->batch->is_alone)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Name: " TFD_STR_FMT ", Context feature '" TFD_STR_FMT
                        "' is required but could not be found.",
                        TFD_STR_ARG(example_name(f, example)),
                        TFD_STR_ARG(w->key));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Feature: " TFD_STR_FMT
                    " (data type: %s) is required but could not be found.",
                    TFD_STR_ARG(w->key), tfd_dtype_name((int)w->dtype));
}

/* first: of the want's features, one for each example. */
static enum tfd_code check_most(const struct finder *f,
                                const struct tfd_example_want *w,
                                const struct tfd_feature *first, int step,
                                struct tfd_status *st)
{
    int64_t want = tfd_shape_elements(&w->shape), most = 0;

    if (tfd_tensor_elements(w->absent) > 0)
        most = want;
    for (int64_t i = 0; i < f->examples; i++)
        most = first[i * step].count > most ? first[i * step].count : most;
    if (most == want)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Inconsistent max number of elements for feature " TFD_STR_FMT
        ": expected %lld, but found %lld",
        TFD_STR_ARG(w->key), (long long)want, (long long)most);
}

static enum tfd_code check_dense(const struct finder *f,
                                 const struct tfd_example_want *w,
                                 const struct tfd_feature *first, int step,
                                 struct tfd_status *st)
{
    int64_t want = tfd_shape_elements(&w->shape);

    if (!f->batch->is_alone)
        TFD_TRY(check_most(f, w, first, step, st));
    for (int64_t i = 0; i < f->examples; i++) {
        const struct tfd_feature *x = &first[i * step];

        if (!x->list.data && tfd_tensor_elements(w->absent) > 0)
            continue;
        if (!x->list.data)
            return missing_feature(f, i, w, st);
        if (x->count != want && f->batch->is_alone)
            return wrong_row(f, i, w, 0, x, st);
        if (x->count != want)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Unexpected number of elements in example " TFD_STR_FMT,
                TFD_STR_ARG(example_name(f, i)));
    }
    return TFD_OK;
}

static enum tfd_code check_context(const struct finder *f,
                                   struct tfd_status *st)
{
    const struct tfd_example_want *w = f->spec->wants[CONTEXT];
    int count = f->spec->count[CONTEXT];

    for (int i = 0; i < count; i++) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        for (int64_t e = 0; e < f->examples; e++)
            TFD_TRY(check_context_type(
                f, e, &w[i], &f->context[e * count + f->source[CONTEXT][i]],
                st));
    }
    for (int i = 0; i < count; i++)
        if (w[i].form == TFD_EXAMPLE_DENSE)
            TFD_TRY(check_dense(f, &w[i], f->context + f->source[CONTEXT][i],
                                count, st));
    return TFD_OK;
}

/* ---- Checking lists ------------------------------------------------------ */

static enum tfd_code check_row(const struct finder *f, int64_t example,
                               const struct tfd_example_want *w, int64_t row,
                               const struct tfd_feature *x,
                               struct tfd_status *st)
{
    bool is_dense = w->form == TFD_EXAMPLE_DENSE;

    if (f->batch->is_alone && x->count < 0)
        return damaged_example(f, example, st);
    if (!has_type(f, w, x))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Name: " TFD_STR_FMT ", Feature %s: " TFD_STR_FMT
                        ", Index: %lld.  Data types don't match. Expected "
                        "type: %s",
                        TFD_STR_ARG(example_name(f, example)),
                        f->batch->is_alone && !is_dense ? "List" : "list",
                        TFD_STR_ARG(w->key), (long long)row,
                        tfd_dtype_name((int)w->dtype));
    if (!is_dense || x->count == tfd_shape_elements(&w->shape))
        return TFD_OK;
    return wrong_row(f, example, w, row, x, st);
}

static enum tfd_code check_list(const struct finder *f,
                                const struct tfd_example_want *w,
                                const struct tfd_sequence_rows *rows,
                                struct tfd_status *st)
{
    const struct tfd_feature *x = rows->at;

    if (tfd_halted())
        return tfd_halt_fail(st);
    for (int64_t e = 0; e < f->examples; e++) {
        if (rows->lengths[e] < 0 && w->form == TFD_EXAMPLE_DENSE && !w->absent)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Name: " TFD_STR_FMT ", Feature list '" TFD_STR_FMT
                            "' is required but could not be found.  Did you "
                            "mean to include it in "
                            "feature_list_dense_missing_assumed_empty or "
                            "feature_list_dense_defaults?",
                            TFD_STR_ARG(example_name(f, e)),
                            TFD_STR_ARG(w->key));
        for (int64_t row = 0; row < rows->lengths[e]; row++, x++)
            TFD_TRY(check_row(f, e, w, row, x, st));
    }
    return TFD_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static enum tfd_code fill_all(const struct finder *f,
                              struct tfd_sequence_value *values[2],
                              struct tfd_status *st)
{
    const struct tfd_sequence_spec *s = f->spec;
    bool is_single = f->batch->examples.is_single;

    for (int i = 0; i < s->count[CONTEXT]; i++)
        TFD_TRY(tfd_example_fill(&s->wants[CONTEXT][i],
                                 f->context + f->source[CONTEXT][i],
                                 s->count[CONTEXT], f->examples, is_single,
                                 &values[CONTEXT][i].of, st));
    for (int i = 0; i < s->count[LISTS]; i++)
        TFD_TRY(tfd_sequence_fill(&s->wants[LISTS][i],
                                  &f->rows[f->source[LISTS][i]], f->examples,
                                  is_single, &values[LISTS][i], st));
    return TFD_OK;
}

static enum tfd_code parse_sequences(struct finder *f,
                                     struct tfd_sequence_value *values[2],
                                     struct tfd_status *st)
{
    const struct tfd_sequence_spec *s = f->spec;

    for (int part = 0; part < 2; part++)
        TFD_TRY(map_wants(f, part, st));
    for (int64_t i = 0; i < f->examples; i++)
        TFD_TRY(find_in_sequence(f, i, st));
    TFD_TRY(check_context(f, st));
    for (int i = 0; i < s->count[LISTS]; i++)
        TFD_TRY(check_list(f, &s->wants[LISTS][i],
                           &f->rows[f->source[LISTS][i]], st));
    return fill_all(f, values, st);
}

static enum tfd_code finder_init(struct finder *f, struct tfd_status *st)
{
    size_t examples = (size_t)f->examples + 1;
    size_t context = (size_t)f->spec->count[CONTEXT] + 1;
    size_t lists = (size_t)f->spec->count[LISTS] + 1;

    tfd_map_init(&f->by_key[CONTEXT]);
    tfd_map_init(&f->by_key[LISTS]);
    f->source[CONTEXT] = calloc(context, sizeof(*f->source[0]));
    f->source[LISTS] = calloc(lists, sizeof(*f->source[0]));
    f->context = calloc(examples, context * sizeof(*f->context));
    f->rows = calloc(lists, sizeof(*f->rows));
    f->starts = calloc(lists, sizeof(*f->starts));
    f->lengths = calloc(examples, lists * sizeof(*f->lengths));
    if (!f->source[CONTEXT] || !f->source[LISTS] || !f->context || !f->rows ||
        !f->starts || !f->lengths)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the features of %lld examples",
                        (long long)f->examples);
    for (size_t i = 0; i < lists; i++)
        f->rows[i].lengths = f->lengths + i * examples;
    return TFD_OK;
}

static void finder_deinit(struct finder *f)
{
    for (int i = 0; f->rows && i < f->spec->count[LISTS]; i++)
        free(f->rows[i].at);
    for (int part = 0; part < 2; part++) {
        tfd_map_deinit(&f->by_key[part]);
        free(f->source[part]);
    }
    free(f->context);
    free(f->rows);
    free(f->starts);
    free(f->lengths);
}

static void drop_sequence_values(struct tfd_sequence_value *values, int count)
{
    for (int i = 0; i < count; i++) {
        tfd_tensor_unref(&values[i].of.values);
        tfd_tensor_unref(&values[i].of.indices);
        tfd_tensor_unref(&values[i].of.extent);
        tfd_tensor_unref(&values[i].inner);
    }
}

enum tfd_code tfd_sequence_parse(const struct tfd_sequence_spec *s,
                                 const struct tfd_sequence_batch *b,
                                 struct tfd_sequence_value *values[2],
                                 struct tfd_status *st)
{
    struct finder f = {
        .spec = s,
        .batch = b,
        .examples = b->examples.count,
    };
    enum tfd_code rc = finder_init(&f, st);

    if (rc == TFD_OK)
        rc = parse_sequences(&f, values, st);
    for (int part = 0; rc != TFD_OK && part < 2; part++)
        drop_sequence_values(values[part], s->count[part]);
    finder_deinit(&f);
    return rc;
}
