/*
 * sql_query.h - the rows of one query of a SQLite database.
 *
 * Database and query come from a program on the network, so the database is
 * opened to be read (sqlite_files.h), no other can be attached, no library
 * loaded, no setting changed that outlives the query, and a query ends when its
 * scope is cancelled.
 *
 *     open     the file is looked for
 *     step     a row; the first prepares the query
 *     int...   values of that row, converted as SQLite converts them
 *
 * Errors have TensorFlow's texts.
 *
 * Ownership: the caller's until close; files and scope outlive it.
 * Threads: one at a time; the scope's, as all of it may wait for the disk.
 */
#ifndef TFD_KERNELS_DATA_SOURCES_SQL_QUERY_H
#define TFD_KERNELS_DATA_SOURCES_SQL_QUERY_H

#include "kernels/data/data_scope.h"

struct tfd_sql_query;

/* The database is a file's name, or a URI of one; ":memory:" and "" are empty
 * ones. */
enum tfd_code tfd_sql_open(struct tfd_sql_query **out,
                           struct tfd_data_scope *scope,
                           struct tfd_str database,
                           struct tfd_status *st) TFD_MUST_USE;
void tfd_sql_close(struct tfd_sql_query *q); /* NULL is nothing */

/* *end: there are no more rows, also after a failure that ends the query. */
enum tfd_code tfd_sql_step(struct tfd_sql_query *q, struct tfd_str query,
                           int32_t columns, bool *end,
                           struct tfd_status *st) TFD_MUST_USE;
int64_t tfd_sql_int(struct tfd_sql_query *q, int32_t column);
double tfd_sql_double(struct tfd_sql_query *q, int32_t column);
/* The row's until the next step. */
struct tfd_str tfd_sql_text(struct tfd_sql_query *q, int32_t column);

#endif
