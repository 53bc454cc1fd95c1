/*
 * table_text.c - static tables that are filled from a text file: of each line
 * the number, the whole text or a column is the key, another the value.
 *
 * The file is read whole before the table is locked.
 */
#include "common/base/atomic.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/tables/lookup_table.h"
#include "kernels/tables/text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT_MAX 512 /* of a field that is a number */

enum { WHOLE_LINE = -2, LINE_NUMBER = -1 }; /* else: a column, from 0 on */

struct state {
    int64_t key_index, value_index, vocab_size, offset;
    char delimiter;
};

struct reading {
    const struct state *state;
    struct tfd_text_lines lines;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code text_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct state *s = state;
    struct tfd_str delimiter;

    TFD_TRY(tfd_node_int(p->node, "key_index", &s->key_index, st));
    TFD_TRY(tfd_node_int(p->node, "value_index", &s->value_index, st));
    TFD_TRY(tfd_node_int(p->node, "vocab_size", &s->vocab_size, st));
    TFD_TRY(tfd_node_int(p->node, "offset", &s->offset, st));
    TFD_TRY(tfd_node_str(p->node, "delimiter", &delimiter, st));
    if (delimiter.size != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "delimiter should be only 1 char");
    s->delimiter = delimiter.data[0];
    return TFD_OK;
}

static enum tfd_code check_number(int64_t index, enum tfd_dtype dtype,
                                  const char *what, const char *small,
                                  struct tfd_status *st)
{
    if (index != LINE_NUMBER || dtype == TFD_INT64)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s index for line number requires table %s dtype of "
                    "int64, got %s",
                    what, small, tfd_dtype_name((int)dtype));
}

/* ---- Columns ------------------------------------------------------------- */

/* Column `index`; false where the line has not that many.  *count: how many it
 * has then. */
static bool column(const struct reading *r, int64_t index, struct tfd_str *out,
                   int64_t *count)
{
    struct tfd_str rest = r->lines.line;

    for (*count = 1;; ++*count) {
        const char *end =
            rest.size ? memchr(rest.data, r->state->delimiter, rest.size)
                      : NULL;

        *out = (struct tfd_str){rest.data,
                                end ? (size_t)(end - rest.data) : rest.size};
        if (*count == index + 1 || !end)
            return *count == index + 1;
        rest.size -= out->size + 1;
        rest.data = end + 1;
    }
}

static enum tfd_code check_columns(const struct reading *r,
                                   struct tfd_status *st)
{
    int64_t key = r->state->key_index, value = r->state->value_index;
    int64_t last = key > value ? key : value, count;
    struct tfd_str field;

    if (last < 0 || column(r, last, &field, &count))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid number of columns in " TFD_STR_FMT
                    " line %lld (" TFD_STR_FMT ") : expected at least %lld "
                    "got %lld",
                    TFD_STR_ARG(r->lines.name), (long long)r->lines.count,
                    TFD_STR_ARG(r->lines.line), (long long)last + 1,
                    (long long)count);
}

/* ---- Fields -------------------------------------------------------------- */

union item {
    struct tfd_tstring text;
    int32_t i32;
    int64_t i64;
    float f;
    double d;
};

/* All of the text, but for spaces around it, was read. */
static bool read_to_end(const char *text, const char *end)
{
    return end != text && end[strspn(end, " \t\n\v\f\r")] == '\0';
}

static bool read_number(enum tfd_dtype dtype, const char *text, union item *out)
{
    char *end;
    long long number;

    if (dtype == TFD_FLOAT) {
        out->f = strtof(text, &end);
        return read_to_end(text, end);
    }
    if (dtype == TFD_DOUBLE) {
        out->d = strtod(text, &end);
        return read_to_end(text, end);
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || !read_to_end(text, end))
        return false;
    if (dtype == TFD_INT64) {
        out->i64 = number;
        return true;
    }
    out->i32 = (int32_t)number;
    return out->i32 == number;
}

static enum tfd_code read_field(const struct reading *r, struct tfd_str field,
                                enum tfd_dtype dtype, union item *out,
                                struct tfd_status *st)
{
    char text[NUMBER_TEXT_MAX];

    if (dtype == TFD_STRING) {
        tfd_tstring_borrow(&out->text, field);
        return TFD_OK;
    }
    if (dtype == TFD_BOOL)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Data type bool not supported.");
    if (field.size < sizeof(text) &&
        !(field.size && memchr(field.data, '\0', field.size))) {
        memcpy(text, field.data, field.size);
        text[field.size] = '\0';
        if (read_number(dtype, text, out))
            return TFD_OK;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Field " TFD_STR_FMT " in line %lld is not a valid %s.",
                    TFD_STR_ARG(field), (long long)r->lines.count,
                    tfd_dtype_name((int)dtype));
}

static enum tfd_code read_item(const struct reading *r, int64_t index,
                               enum tfd_dtype dtype, union item *out,
                               struct tfd_status *st)
{
    struct tfd_str field = r->lines.line;
    int64_t count;

    memset(out, 0, sizeof(*out));
    if (index == LINE_NUMBER) {
        out->i64 =
            (int64_t)((uint64_t)r->lines.count + (uint64_t)r->state->offset);
        return TFD_OK;
    }
    if (index >= 0)
        (void)column(r, index, &field, &count);
    return read_field(r, field, dtype, out, st);
}

/* ---- The table ----------------------------------------------------------- */

static enum tfd_code put_line(struct reading *r, struct tfd_table *t,
                              struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_buffer holder = {.refs = 1};
    struct tfd_tensor key_tensor = {t->spec.key_dtype, scalar, &holder};
    union item key, value;

    TFD_TRY(check_columns(r, st));
    TFD_TRY(read_item(r, r->state->key_index, t->spec.key_dtype, &key, st));
    TFD_TRY(
        read_item(r, r->state->value_index, t->spec.value_dtype, &value, st));
    holder.data = &key;
    holder.size = sizeof(key);
    return tfd_table_put_once(t, tfd_table_key_at(&key_tensor, 0), &value, st);
}

/* What came before a failure stays, and waits for the next try. */
static enum tfd_code fill_lines(struct reading *r, struct tfd_table *t,
                                struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    bool more = true;

    tfd_lock(&t->lock);
    if (!tfd_table_ready(t)) {
        while (rc == TFD_OK && more) {
            rc = tfd_text_lines_next(&r->lines, &more, st);
            if (rc == TFD_OK && more)
                rc = put_line(r, t, st);
            r->lines.count++;
        }
        if (rc == TFD_OK)
            TFD_STORE_RELEASE(&t->initialized, 1);
    }
    tfd_unlock(&t->lock);
    return rc;
}

static enum tfd_code check_inputs(struct tfd_kctx *k, const struct tfd_table *t,
                                  struct tfd_status *st)
{
    const struct state *s = k->state;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(tfd_table_check_static(k, t, st));
    if (tfd_tensor_elements(&k->in[1]) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "filename should be a single string, but got %s",
                        tfd_shape_text(&k->in[1].shape, text));
    TFD_TRY(check_number(s->key_index, t->spec.key_dtype, "Key", "key", st));
    return check_number(s->value_index, t->spec.value_dtype, "Value", "value",
                        st);
}

static enum tfd_code fill_from_file(struct tfd_kctx *k, struct tfd_table *t,
                                    struct tfd_status *st)
{
    struct reading r = {.state = k->state};
    struct tfd_file_access *access;
    enum tfd_code rc;

    TFD_TRY(check_inputs(k, t, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    rc = tfd_text_lines_open(&r.lines, access,
                             tfd_tstring_view(tfd_tensor_data(&k->in[1])),
                             r.state->vocab_size, st);
    if (rc == TFD_OK)
        rc = fill_lines(&r, t, st);
    tfd_text_lines_close(&r.lines);
    return rc;
}

static enum tfd_code text_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_table *t;
    enum tfd_code rc;

    TFD_TRY(tfd_table_find(k, &t, st));
    rc = fill_from_file(k, t, st);
    tfd_resource_unref(&t->resource);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, handle_, flags_)                                            \
    {                                                                         \
        .name = name_, .inputs = handle_ ", filename: string", .outputs = "", \
        .attrs = "key_index: int >= -2; value_index: int >= -2; "             \
                 "vocab_size: int >= -1 = -1; delimiter: string = '\t'; "     \
                 "offset: int = 0",                                           \
        .shape = tfd_shape_none, .flags = (flags_) | TFD_OP_NO_GRADIENT,      \
    }

static const struct tfd_opdef ops[] = {
    OP("InitializeTableFromTextFile", "table_handle: Ref(string)", 0),
    OP("InitializeTableFromTextFileV2", "table_handle: resource",
       TFD_OP_STATEFUL),
};

#define KERNEL(name_)                                            \
    TFD_KERNEL_ANY(name_, text_compute, .prepare = text_prepare, \
                   .state_size = sizeof(struct state),           \
                   .flags = TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    KERNEL("InitializeTableFromTextFile"),
    KERNEL("InitializeTableFromTextFileV2"),
};

const struct tfd_family tfd_family_table_text = {
    .name = "table_text",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
