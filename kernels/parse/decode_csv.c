/*
 * decode_csv.c - DecodeCSV: the fields of records, of which each string is one,
 * as tensors of their types.
 *
 * The rules are stricter than those of a file's records (csv_record.h), as in
 * TensorFlow: no field without quotes has a newline in it, though one may stand
 * in front of it, and what stands behind a closing quote is the delimiter.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/parse/number.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX TFD_QUEUE_COMPONENTS_MAX

#define FIELD_COST_NS 80

struct csv_state {
    char delimiter;
    bool has_quotes;
    struct tfd_str none; /* a field that is missing; the graph's */
    int64_t *selected;   /* NULL: all columns */
    int selected_count;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code check_selected(const int64_t *s, int count, int outputs,
                                    struct tfd_status *st)
{
    if (count != outputs)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "select_cols should match output size");
    for (int i = 0; i < count; i++)
        if (s[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "select_cols should be non-negative indices");
    for (int i = 1; i < count; i++)
        if (s[i] <= s[i - 1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "select_cols should be strictly increasing "
                            "indices");
    return TFD_OK;
}

static enum tfd_code read_selected(const struct tfd_node *n,
                                   struct csv_state *s, struct tfd_status *st)
{
    s->selected = calloc(COLUMNS_MAX, sizeof(*s->selected));
    if (!s->selected)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for columns");
    TFD_TRY(tfd_node_ints(n, "select_cols", s->selected, COLUMNS_MAX,
                          &s->selected_count, st));
    if (s->selected_count == 0)
        return TFD_OK;
    return check_selected(s->selected, s->selected_count, n->out_count, st);
}

static enum tfd_code csv_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct csv_state *s = state;
    struct tfd_str delimiter;

    TFD_TRY(tfd_node_str(p->node, "field_delim", &delimiter, st));
    TFD_TRY(tfd_node_bool(p->node, "use_quote_delim", &s->has_quotes, st));
    TFD_TRY(tfd_node_str(p->node, "na_value", &s->none, st));
    if (delimiter.size != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "field_delim should be only 1 char");
    s->delimiter = delimiter.data[0];
    return read_selected(p->node, s, st);
}

static void csv_release(void *state)
{
    free(((struct csv_state *)state)->selected);
}

/* ---- Fields -------------------------------------------------------------- */

struct splitter {
    const struct csv_state *state;
    struct tfd_str record;
    size_t at;
    int64_t column;
    struct tfd_bytes text; /* of a field in quotes */
};

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

static enum tfd_code read_unquoted(struct splitter *s, struct tfd_str *field,
                                   struct tfd_status *st)
{
    const struct csv_state *c = s->state;
    const size_t begin = s->at;

    for (; s->at < s->record.size; s->at++) {
        char x = s->record.data[s->at];

        if (x == c->delimiter)
            break;
        if (is_newline(x) || (c->has_quotes && x == '"'))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Unquoted fields cannot have quotes/CRLFs inside");
    }
    *field = (struct tfd_str){s->record.data + begin, s->at - begin};
    s->at++; /* the delimiter */
    return TFD_OK;
}

/* At a quotation mark: its field ends with it. */
static bool is_last_quote(const struct splitter *s)
{
    return s->at + 1 == s->record.size ||
           s->record.data[s->at + 1] == s->state->delimiter;
}

/* Behind the first quotation mark. */
static enum tfd_code read_quoted(struct splitter *s, struct tfd_str *field,
                                 struct tfd_status *st)
{
    tfd_bytes_clear(&s->text);
    for (; s->at < s->record.size; s->at++) {
        char x = s->record.data[s->at];

        if (x == '"' && is_last_quote(s)) {
            *field = tfd_bytes_view(&s->text);
            s->at += 2;
            return tfd_bytes_ok(&s->text, "a field", st);
        }
        if (x == '"' && s->record.data[++s->at] != '"')
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Quote inside a string has to be escaped by "
                            "another quote");
        tfd_bytes_add(&s->text, &x, 1);
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Quoted field has to end with quote followed by delim or "
                    "end");
}

/* *is_there: there is one more field; *field is the record's, or the
 * splitter's until the next call. */
static enum tfd_code next_field(struct splitter *s, bool *is_there,
                                struct tfd_str *field, struct tfd_status *st)
{
    const struct tfd_str *r = &s->record;

    while (s->at < r->size && is_newline(r->data[s->at]))
        s->at++;
    *is_there = s->at < r->size;
    if (*is_there && s->state->has_quotes && r->data[s->at] == '"') {
        s->at++;
        return read_quoted(s, field, st);
    }
    if (*is_there)
        return read_unquoted(s, field, st);
    /* An empty one behind the last delimiter, but once. */
    *is_there = r->size > 0 && r->data[r->size - 1] == s->state->delimiter &&
                s->at != SIZE_MAX;
    s->at = SIZE_MAX;
    *field = TFD_STR_EMPTY;
    return TFD_OK;
}

/* ---- Records ------------------------------------------------------------- */

static enum tfd_code put_missing(struct tfd_kctx *k, int64_t record, int c,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *missing = &k->in[1 + c];
    const enum tfd_dtype dtype = k->out[c].dtype;

    if (tfd_tensor_elements(missing) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Field %d is required but missing in record %lld!", c,
                        (long long)record);
    return tfd_elements_copy(
        dtype, tfd_element_at(tfd_tensor_data(&k->out[c]), dtype, record),
        tfd_tensor_data(missing), 1, st);
}

static enum tfd_code put_field(struct tfd_kctx *k, int64_t record, int c,
                               struct tfd_str field, struct tfd_status *st)
{
    const struct csv_state *s = k->state;
    const enum tfd_dtype dtype = k->out[c].dtype;
    void *to = tfd_element_at(tfd_tensor_data(&k->out[c]), dtype, record);

    if (field.size == 0 || tfd_str_eq(field, s->none))
        return put_missing(k, record, c, st);
    if (dtype == TFD_STRING)
        return tfd_tstring_set(to, field, st);
    if (tfd_number_parse(dtype, field, to))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Field %d in record %lld is not a valid %s: " TFD_STR_FMT,
                    c, (long long)record, tfd_dtype_name((int)dtype),
                    TFD_STR_ARG(field));
}

static bool is_wanted(const struct splitter *s, int have)
{
    const struct csv_state *c = s->state;

    return c->selected_count == 0 || c->selected[have] == s->column;
}

static enum tfd_code wrong_count(const struct tfd_kctx *k, int64_t record,
                                 int64_t have, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Expect %d fields but have %lld in record %lld",
                    k->out_count, (long long)have, (long long)record);
}

/* A failure of the record's form comes before those of its fields. */
static enum tfd_code count_fields(struct tfd_kctx *k, struct splitter *s,
                                  int64_t record, struct tfd_status *st)
{
    const int wanted = s->state->selected_count;
    struct tfd_str field;
    int64_t have = 0;
    bool is_there = true;

    while (is_there && (wanted == 0 || have < wanted)) {
        TFD_TRY(next_field(s, &is_there, &field, st));
        have += is_there && is_wanted(s, (int)have);
        s->column++;
    }
    return have == k->out_count ? TFD_OK : wrong_count(k, record, have, st);
}

static enum tfd_code read_record(struct tfd_kctx *k, struct splitter *s,
                                 int64_t record, struct tfd_status *st)
{
    struct tfd_str field = TFD_STR_EMPTY;
    bool is_there;

    s->at = 0;
    s->column = 0;
    TFD_TRY(count_fields(k, s, record, st));
    s->at = 0;
    s->column = 0;
    for (int have = 0; have < k->out_count; s->column++) {
        TFD_TRY(next_field(s, &is_there, &field, st));
        if (is_wanted(s, have))
            TFD_TRY(put_field(k, record, have++, field, st));
    }
    return TFD_OK;
}

static enum tfd_code check_defaults(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    for (int c = 0; c < k->out_count; c++) {
        const struct tfd_tensor *t = &k->in[1 + c];

        if (t->shape.rank > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Each record default should be at most rank 1");
        if (tfd_tensor_elements(t) > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "There should only be 1 default per field but "
                            "field %d has %lld",
                            c, (long long)tfd_tensor_elements(t));
    }
    return TFD_OK;
}

static enum tfd_code read_records(void *arg, int64_t begin, int64_t end,
                                  struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tstring *records = tfd_tensor_data(&k->in[0]);
    struct splitter s = {.state = k->state};
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&s.text, TFD_CONVERTED_SIZE_MAX);
    for (int64_t i = begin; i < end && rc == TFD_OK && !tfd_halted(); i++) {
        s.record = tfd_tstring_view(&records[i]);
        rc = read_record(k, &s, i, st);
    }
    tfd_bytes_deinit(&s.text);
    return rc;
}

/* Threads share the records; a failure is to be that of the first record that
 * has one, whoever came upon which, so it is looked for again in their order.
 */
static enum tfd_code csv_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const int64_t n = tfd_tensor_elements(&k->in[0]);
    struct tfd_status any = {0};

    TFD_TRY(check_defaults(k, st));
    for (int c = 0; c < k->out_count; c++)
        TFD_TRY(tfd_kctx_output(k, c, (enum tfd_dtype)k->node->out_types[c],
                                &k->in[0].shape, st));
    if (tfd_kctx_try(k, n, FIELD_COST_NS * k->out_count, read_records, k,
                     &any) == TFD_OK)
        return TFD_OK;
    tfd_status_clear(&any);
    return read_records(k, 0, n, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code csv_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    for (int i = 1; i < s->in_count; i++) {
        const struct tfd_shape *d = &s->in[i];

        if (d->rank == TFD_RANK_UNKNOWN)
            continue;
        if (d->rank > 1 || (d->rank == 1 && d->dim[0] > 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Shape of a default must be a length-0 or length-1 "
                            "vector, or a scalar.");
    }
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = s->in[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DecodeCSV",
        .inputs = "records: string, record_defaults: OUT_TYPE",
        .outputs = "output: OUT_TYPE",
        .attrs = "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; "
                 "field_delim: string = ','; use_quote_delim: bool = true; "
                 "na_value: string = ''; select_cols: list(int) = []",
        .shape = csv_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DecodeCSV", csv_compute, .prepare = csv_prepare,
                   .release = csv_release,
                   .state_size = sizeof(struct csv_state),
                   .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_decode_csv = {
    .name = "decode_csv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
