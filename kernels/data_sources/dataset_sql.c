/*
 * dataset_sql.c - the rows of a query of a database.
 *
 * A query that was cancelled is asked again by the next call, and the rows that
 * were taken are left out; so a query should say in which order it wants them.
 */
#include "kernels/data/data_table.h"
#include "kernels/data_sources/sql_query.h"

#include <stdlib.h>
#include <string.h>

struct sql {
    struct tfd_dataset dataset;
    struct tfd_tensor database, query; /* scalars */
};

struct sql_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_sql_query *query; /* NULL: not open */
    int64_t taken;               /* rows */
    bool is_over;
};

static void sql_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct sql *)d)->database);
    tfd_tensor_unref(&((struct sql *)d)->query);
}

static void sql_end(struct tfd_data_iterator *it)
{
    tfd_sql_close(((struct sql_iterator *)it)->query);
}

static struct tfd_str text_of(const struct tfd_tensor *scalar)
{
    return tfd_tstring_view(tfd_tensor_data(scalar));
}

/* ---- Rows ---------------------------------------------------------------- */

static enum tfd_code step(struct sql_iterator *i, struct tfd_status *st)
{
    const struct sql *d = (const struct sql *)i->iterator.dataset;

    return tfd_sql_step(i->query, text_of(&d->query), d->dataset.count,
                        &i->is_over, st);
}

/* Opens the database where that has not been done, and goes to the next row. */
static enum tfd_code next_row(struct sql_iterator *i, struct tfd_status *st)
{
    const struct sql *d = (const struct sql *)i->iterator.dataset;
    const bool is_first = !i->query;

    if (is_first)
        TFD_TRY(tfd_sql_open(&i->query, i->iterator.scope,
                             text_of(&d->database), st));
    for (int64_t n = 0; is_first && !i->is_over && n < i->taken; n++)
        TFD_TRY(step(i, st));
    return i->is_over ? TFD_OK : step(i, st);
}

/* An integer is cut to its type, as TensorFlow cuts it. */
static enum tfd_code fill_value(struct tfd_sql_query *q, int32_t column,
                                struct tfd_tensor *out, struct tfd_status *st)
{
    const int64_t number =
        out->dtype == TFD_STRING ? 0 : tfd_sql_int(q, column);
    void *data = tfd_tensor_data(out);

    if (out->dtype == TFD_STRING)
        return tfd_tstring_set(data, tfd_sql_text(q, column), st);
    if (out->dtype == TFD_DOUBLE)
        *(double *)data = tfd_sql_double(q, column);
    else if (out->dtype == TFD_BOOL)
        *(bool *)data = number != 0;
    else /* the low bytes come first */
        memcpy(data, &number, tfd_dtype_size(out->dtype));
    return TFD_OK;
}

static enum tfd_code fill_row(struct sql_iterator *i, struct tfd_tensor *out,
                              struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct tfd_dataset *d = i->iterator.dataset;
    enum tfd_code rc = TFD_OK;

    for (int32_t c = 0; rc == TFD_OK && c < d->count; c++) {
        rc = tfd_tensor_new(&out[c], d->types[c], &scalar, st);
        if (rc == TFD_OK)
            rc = fill_value(i->query, c, &out[c], st);
    }
    if (rc != TFD_OK)
        tfd_data_element_drop(out, d->count);
    return rc;
}

static enum tfd_code sql_next(struct tfd_data_iterator *it,
                              struct tfd_tensor *out, bool *end,
                              struct tfd_status *st)
{
    struct sql_iterator *i = (struct sql_iterator *)it;
    enum tfd_code rc = i->is_over ? TFD_OK : next_row(i, st);

    if (rc == TFD_CANCELLED) {
        tfd_sql_close(i->query);
        i->query = NULL;
        i->is_over = false;
    }
    *end = i->is_over;
    if (rc != TFD_OK || *end)
        return rc;
    i->taken++;
    return fill_row(i, out, st);
}

static const struct tfd_dataset_kind sql_kind = {
    .name = "Sql",
    .iterator_size = sizeof(struct sql_iterator),
    .next = sql_next,
    .end = sql_end,
    .release = sql_release,
};

/* ---- Making -------------------------------------------------------------- */

static bool is_column_type(enum tfd_dtype type)
{
    static const enum tfd_dtype types[] = {
        TFD_STRING, TFD_INT8,   TFD_INT16, TFD_INT32,  TFD_INT64,
        TFD_UINT8,  TFD_UINT16, TFD_BOOL,  TFD_DOUBLE,
    };

    for (size_t i = 0; i < TFD_COUNT(types); i++)
        if (types[i] == type)
            return true;
    return false;
}

static enum tfd_code sql_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_dataset_prepare_plain(p, state, st));
    for (int32_t i = 0; i < m->count; i++)
        if (!is_column_type(m->types[i]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Each element of `output_types_` must be one of: "
                            "DT_STRING, DT_INT8, DT_INT16, DT_INT32, DT_INT64, "
                            "DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE ");
    for (int32_t i = 0; i < m->count; i++)
        if (m->shapes[i].rank != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Each element of `output_shapes_` must be a "
                            "scalar.");
    return TFD_OK;
}

static enum tfd_code check_scalar(const struct tfd_kctx *k, int in,
                                  const char *name, struct tfd_status *st)
{
    if (k->in[in].shape.rank == 0)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
}

static enum tfd_code sql_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str driver;
    struct tfd_dataset *d;

    TFD_TRY(check_scalar(k, 0, "driver_name", st));
    TFD_TRY(check_scalar(k, 1, "data_source_name", st));
    TFD_TRY(check_scalar(k, 2, "query", st));
    driver = text_of(&k->in[0]);
    if (!tfd_str_is(driver, "sqlite"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The database type, " TFD_STR_FMT
                        ", is not supported by SqlDataset. The set of "
                        "supported databases is: {'sqlite'}.",
                        TFD_STR_ARG(driver));
    TFD_TRY(tfd_dataset_make(k, &sql_kind, sizeof(struct sql), 0, &d, st));
    ((struct sql *)d)->database = tfd_tensor_ref(&k->in[1]);
    ((struct sql *)d)->query = tfd_tensor_ref(&k->in[2]);
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SQL(name_)                                                \
    TFD_DATA_OP(name_,                                            \
                "driver_name: string, data_source_name: string, " \
                "query: string",                                  \
                "", "", TFD_OP_STATEFUL)
#define SQL_KERNEL(name_)                                      \
    TFD_KERNEL_ANY(name_, sql_compute, .prepare = sql_prepare, \
                   .release = tfd_dataset_maker_release,       \
                   .state_size = sizeof(struct tfd_dataset_maker))

static const struct tfd_opdef ops[] = {
    SQL("SqlDataset"),
    SQL("ExperimentalSqlDataset"),
};

static const struct tfd_kernel kernels[] = {
    SQL_KERNEL("SqlDataset"),
    SQL_KERNEL("ExperimentalSqlDataset"),
};

TFD_DATA_FAMILY(dataset_sql);
