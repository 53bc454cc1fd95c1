/* crosses.c - see crosses.h. */
#include "kernels/crosses/crosses.h"

#include "config/limits.h"
#include "kernels/sparse/sparse_pick.h"
#include "kernels/text/fingerprint.h"
#include "kernels/text/keyed_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT_MAX 24 /* an int64 in decimal */
#define COLUMN_COST_NS 30

/* ---- Columns ------------------------------------------------------------- */

enum tfd_code tfd_crosses_init(struct tfd_crosses *c, int columns, int split,
                               int64_t batch, struct tfd_status *st)
{
    int64_t numbers;

    *c = (struct tfd_crosses){.room = columns, .batch = batch};
    if (columns > TFD_CROSSED_COLUMNS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%d columns to cross; at most %d are possible", columns,
                        TFD_CROSSED_COLUMNS_MAX);
    if (batch < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a batch size of %" PRId64 " is negative", batch);
    if (__builtin_add_overflow(batch, 1, &numbers) ||
        __builtin_mul_overflow(numbers, (int64_t)split, &numbers))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a batch size of %" PRId64 " is too large", batch);
    c->columns = calloc((size_t)columns + 1, sizeof(*c->columns));
    if (!c->columns)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to cross %d columns", columns);
    return tfd_sparse_numbers(&c->splits, numbers, st);
}

void tfd_crosses_deinit(struct tfd_crosses *c)
{
    tfd_tensor_unref(&c->splits);
    free(c->columns);
}

int64_t *tfd_crosses_add_split(struct tfd_crosses *c,
                               const struct tfd_tensor *values)
{
    int64_t *splits = (int64_t *)tfd_tensor_data(&c->splits) + c->made;

    c->made += c->batch + 1;
    c->columns[c->count++] =
        (struct tfd_crosses_column){.values = values, .splits = splits};
    return splits;
}

void tfd_crosses_add_matrix(struct tfd_crosses *c,
                            const struct tfd_tensor *values)
{
    c->columns[c->count++] = (struct tfd_crosses_column){
        .values = values, .width = values->shape.dim[1]};
}

static int64_t first_of(const struct tfd_crosses_column *x, int64_t row)
{
    return x->splits ? x->splits[row] : row * x->width;
}

static int64_t features_of(const struct tfd_crosses_column *x, int64_t row)
{
    return x->splits ? x->splits[row + 1] - x->splits[row] : x->width;
}

/* ---- Counting ------------------------------------------------------------ */

/* False: more than an int64 counts. */
static bool count_row(const struct tfd_crosses *c, int64_t row, int64_t *count)
{
    *count = 1;
    for (int i = 0; i < c->count; i++)
        if (features_of(&c->columns[i], row) == 0) {
            *count = 0;
            return true;
        }
    for (int i = 0; i < c->count; i++)
        if (__builtin_mul_overflow(*count, features_of(&c->columns[i], row),
                                   count))
            return false;
    return true;
}

enum tfd_code tfd_crosses_starts(struct tfd_crosses *c, int64_t *starts,
                                 struct tfd_status *st)
{
    int64_t count;

    starts[0] = 0;
    c->most = 0;
    for (int64_t b = 0; b < c->batch; b++) {
        if (tfd_sparse_stops(b))
            return tfd_halt_fail(st);
        if (!count_row(c, b, &count) ||
            __builtin_add_overflow(starts[b], count, &starts[b + 1]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "row %" PRId64 " has more crosses than can be "
                            "counted",
                            b);
        c->most = count > c->most ? count : c->most;
    }
    return TFD_OK;
}

/* The bytes of a column's features in a row. */
static int64_t column_bytes(const struct tfd_crosses_column *x, int64_t row)
{
    const struct tfd_tstring *s = tfd_tensor_data(x->values);
    int64_t first = first_of(x, row), n = features_of(x, row), bytes = 0;

    if (x->values->dtype != TFD_STRING)
        return n * NUMBER_TEXT_MAX;
    for (int64_t i = first; i < first + n; i++)
        bytes += (int64_t)tfd_tstring_view(&s[i]).size;
    return bytes;
}

/* Each feature of a column is in as many crosses of its row. */
static bool add_row_bytes(const struct tfd_crosses *c, int64_t row,
                          int64_t crosses, int64_t *bytes)
{
    int64_t seps, more;

    if (__builtin_mul_overflow((int64_t)c->sep.size * (c->count - 1), crosses,
                               &seps) ||
        __builtin_add_overflow(*bytes, seps, bytes))
        return false;
    for (int i = 0; i < c->count; i++) {
        int64_t each = crosses / features_of(&c->columns[i], row);

        if (__builtin_mul_overflow(column_bytes(&c->columns[i], row), each,
                                   &more) ||
            __builtin_add_overflow(*bytes, more, bytes))
            return false;
    }
    return true;
}

static enum tfd_code check_bytes(const struct tfd_crosses *c,
                                 const int64_t *starts, struct tfd_status *st)
{
    int64_t bytes = 0;

    for (int64_t b = 0; b < c->batch; b++) {
        int64_t crosses = starts[b + 1] - starts[b];

        if (tfd_sparse_stops(b))
            return tfd_halt_fail(st);
        if (crosses == 0)
            continue;
        if (!add_row_bytes(c, b, crosses, &bytes) ||
            bytes > (int64_t)TFD_CROSSED_SIZE_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "the crosses of %" PRId64 " rows have more than "
                            "%zu bytes",
                            c->batch, TFD_CROSSED_SIZE_MAX);
    }
    return TFD_OK;
}

/* ---- Hashes -------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    return x ^ (x >> 47);
}

/* As TensorFlow joins two fingerprints. */
static uint64_t join_prints(uint64_t a, uint64_t b)
{
    const uint64_t by = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t x = a ^ by;

    x ^= mix(b * by) * by;
    x *= by;
    return mix(mix(x) * by);
}

static uint64_t print_of(const struct tfd_crosses *c,
                         const struct tfd_crosses_column *x, int64_t i)
{
    const int64_t *number = tfd_tensor_data(x->values);
    struct tfd_str s;

    if (x->values->dtype == TFD_STRING)
        s = tfd_tstring_view((struct tfd_tstring *)tfd_tensor_data(x->values) +
                             i);
    else if (c->hash == TFD_CROSSES_PLAIN ||
             (c->hash == TFD_CROSSES_PRINTS && !x->splits))
        return (uint64_t)number[i];
    else
        s = (struct tfd_str){(const char *)&number[i], 4};
    return c->hash == TFD_CROSSES_STRONG ? tfd_keyed_hash_sip(c->key, s)
                                         : tfd_fingerprint_of(s);
}

static int64_t hash_of(const struct tfd_crosses *c, const int64_t *at)
{
    uint64_t x = c->salt;

    for (int i = 0; i < c->count; i++) {
        uint64_t print = print_of(c, &c->columns[i], at[i]);

        x = i == 0 && c->hash != TFD_CROSSES_PLAIN ? print
                                                   : join_prints(x, print);
    }
    return (int64_t)(x % (uint64_t)(c->buckets > 0 ? c->buckets : INT64_MAX));
}

/* ---- Strings ------------------------------------------------------------- */

static void add_feature(struct tfd_bytes *b, const struct tfd_tensor *values,
                        int64_t i)
{
    const void *data = tfd_tensor_data(values);
    char text[NUMBER_TEXT_MAX];
    int size;

    if (values->dtype == TFD_STRING) {
        tfd_bytes_add_str(
            b, tfd_tstring_view((const struct tfd_tstring *)data + i));
        return;
    }
    size = snprintf(text, sizeof(text), "%" PRId64, ((const int64_t *)data)[i]);
    tfd_bytes_add(b, text, (size_t)size);
}

static enum tfd_code put_text(const struct tfd_crosses *c, const int64_t *at,
                              struct tfd_bytes *b, struct tfd_tstring *to,
                              struct tfd_status *st)
{
    tfd_bytes_clear(b);
    for (int i = 0; i < c->count; i++) {
        if (i > 0)
            tfd_bytes_add_str(b, c->sep);
        add_feature(b, c->columns[i].values, at[i]);
    }
    TFD_TRY(tfd_bytes_ok(b, "a cross", st));
    return tfd_tstring_set(to, tfd_bytes_view(b), st);
}

/* ---- Filling ------------------------------------------------------------- */

struct filling {
    const struct tfd_crosses *c;
    const int64_t *starts;
    struct tfd_tstring *texts; /* or numbers */
    int64_t *numbers, *places;
};

/* The next choice in row `row`. */
static void advance(const struct tfd_crosses *c, int64_t row, int64_t *at)
{
    for (int i = c->count - 1; i >= 0; i--) {
        const struct tfd_crosses_column *x = &c->columns[i];

        if (++at[i] < first_of(x, row) + features_of(x, row))
            return;
        at[i] = first_of(x, row);
    }
}

static enum tfd_code fill_row(const struct filling *f, int64_t row, int64_t *at,
                              struct tfd_bytes *b, struct tfd_status *st)
{
    const struct tfd_crosses *c = f->c;

    for (int i = 0; i < c->count; i++)
        at[i] = first_of(&c->columns[i], row);
    for (int64_t n = f->starts[row]; n < f->starts[row + 1]; n++) {
        if (tfd_sparse_stops(n))
            return tfd_halt_fail(st);
        if (f->places) {
            f->places[2 * n] = row;
            f->places[2 * n + 1] = n - f->starts[row];
        }
        if (f->texts)
            TFD_TRY(put_text(c, at, b, &f->texts[n], st));
        else
            f->numbers[n] = hash_of(c, at);
        advance(c, row, at);
    }
    return TFD_OK;
}

static enum tfd_code fill_rows(void *arg, int64_t begin, int64_t end,
                               struct tfd_status *st)
{
    const struct filling *f = arg;
    int64_t at[TFD_CROSSED_COLUMNS_MAX];
    struct tfd_bytes b;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&b, TFD_CROSSED_SIZE_MAX);
    for (int64_t row = begin; rc == TFD_OK && row < end; row++)
        rc = fill_row(f, row, at, &b, st);
    tfd_bytes_deinit(&b);
    return rc;
}

enum tfd_code tfd_crosses_fill(struct tfd_kctx *k, const struct tfd_crosses *c,
                               const int64_t *starts, int out, int64_t *places,
                               struct tfd_status *st)
{
    void *data = tfd_tensor_data(&k->out[out]);
    bool texts = k->out[out].dtype == TFD_STRING;
    struct filling f = {c, starts, texts ? data : NULL, texts ? NULL : data,
                        places};
    int64_t cost;

    if (starts[c->batch] == 0)
        return TFD_OK;
    if (texts)
        TFD_TRY(check_bytes(c, starts, st));
    cost = starts[c->batch] / c->batch * c->count * COLUMN_COST_NS;
    return tfd_kctx_try(k, c->batch, cost > INT32_MAX ? INT32_MAX : (int)cost,
                        fill_rows, &f, st);
}
