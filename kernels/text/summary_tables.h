/*
 * summary_tables.h - the connection of summary_db.h, between the files that
 * write its tables: summary_tables.c asks SQLite, summary_run.c knows what was
 * written before, summary_rows.c takes summaries apart, summary_graph.c graphs.
 *
 * A statement is compiled once, and run with values for its question marks:
 *
 *     const struct tfd_db_value values[] = {tfd_db_int(id), tfd_db_text(name)};
 *     TFD_TRY(tfd_summary_run(db, TFD_DB_ADD_USER, values, 2, st));
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_TEXT_SUMMARY_TABLES_H
#define TFD_KERNELS_TEXT_SUMMARY_TABLES_H

#include "kernels/io/sqlite_files.h"
#include "kernels/text/summary_db.h"

#if TFD_HAS_SQLITE
#include "common/base/arena.h"
#include "common/base/map.h"

enum tfd_db_statement {
    TFD_DB_BEGIN,
    TFD_DB_COMMIT,
    TFD_DB_ROLLBACK,
    TFD_DB_ADD_ID,
    TFD_DB_FIND_USER,
    TFD_DB_ADD_USER,
    TFD_DB_FIND_EXPERIMENT,
    TFD_DB_ADD_EXPERIMENT,
    TFD_DB_START_EXPERIMENT,
    TFD_DB_ADD_RUN,
    TFD_DB_START_RUN,
    TFD_DB_FINISH_RUN,
    TFD_DB_ADD_DESCRIPTION,
    TFD_DB_ADD_TAG,
    TFD_DB_ADD_TENSOR,
    TFD_DB_CLEAR_STRINGS,
    TFD_DB_ADD_STRING,
    TFD_DB_ADD_GRAPH,
    TFD_DB_ADD_NODE,
    TFD_DB_ADD_INPUT,
    TFD_DB_STATEMENTS,
};

struct tfd_db_value {
    enum {
        TFD_DB_NULL,
        TFD_DB_INT,
        TFD_DB_REAL,
        TFD_DB_TEXT,
        TFD_DB_BLOB
    } kind;
    int64_t number;
    double real;
    struct tfd_str bytes; /* borrowed while the statement runs */
};

static inline struct tfd_db_value tfd_db_int(int64_t number)
{
    return (struct tfd_db_value){.kind = TFD_DB_INT, .number = number};
}

/* The number of another row; 0 is none. */
static inline struct tfd_db_value tfd_db_id(int64_t id)
{
    return (struct tfd_db_value){.kind = id ? TFD_DB_INT : TFD_DB_NULL,
                                 .number = id};
}

static inline struct tfd_db_value tfd_db_real(double real)
{
    return (struct tfd_db_value){.kind = TFD_DB_REAL, .real = real};
}

static inline struct tfd_db_value tfd_db_text(struct tfd_str text)
{
    return (struct tfd_db_value){.kind = TFD_DB_TEXT, .bytes = text};
}

static inline struct tfd_db_value tfd_db_blob(struct tfd_str bytes)
{
    return (struct tfd_db_value){.kind = TFD_DB_BLOB, .bytes = bytes};
}

/* What is in the database already, of this writer's; 0: not yet. */
struct tfd_summary_ids {
    int64_t user, experiment, run;
    double experiment_started, run_started; /* seconds since 1970 */
};

struct tfd_summary_db {
    const struct tfd_sqlite *library;
    struct tfd_sqlite_files files;
    sqlite3 *db;
    sqlite3_stmt *statements[TFD_DB_STATEMENTS]; /* NULL: not compiled yet */
    struct tfd_arena memory; /* the names and those of tags */
    struct tfd_summary_db_names names;
    struct tfd_summary_ids ids;
    struct tfd_map tags; /* name -> id */
    int id_tier;
};

/* ---- summary_tables.c ---------------------------------------------------- */

enum tfd_code tfd_summary_tables_make(struct tfd_summary_db *db,
                                      struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_summary_run(struct tfd_summary_db *db,
                              enum tfd_db_statement statement,
                              const struct tfd_db_value *values, int count,
                              struct tfd_status *st) TFD_MUST_USE;
/* The first number of the row that is found; 0: there is none. */
enum tfd_code tfd_summary_find(struct tfd_summary_db *db,
                               enum tfd_db_statement statement,
                               const struct tfd_db_value *values, int count,
                               int64_t *number, double *real,
                               struct tfd_status *st) TFD_MUST_USE;
/* One that no other row of the database has. */
enum tfd_code tfd_summary_new_id(struct tfd_summary_db *db, int64_t *out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* ---- summary_run.c ------------------------------------------------------- */

/* What SummaryMetadata says. */
struct tfd_summary_metadata {
    struct tfd_str display_name, description, plugin_name, plugin_data;
};

/* The user, the experiment and the run are there; `wall` is when what is about
 * to be written was computed, in seconds since 1970. */
enum tfd_code tfd_summary_begin_run(struct tfd_summary_db *db, double wall,
                                    struct tfd_status *st) TFD_MUST_USE;
/* *is_new: whoever cannot commit forgets it. */
enum tfd_code tfd_summary_tag_id(struct tfd_summary_db *db, double wall,
                                 struct tfd_str tag,
                                 const struct tfd_summary_metadata *metadata,
                                 int64_t *out, bool *is_new,
                                 struct tfd_status *st) TFD_MUST_USE;
double tfd_summary_now(void);

/* ---- summary_rows.c ------------------------------------------------------ */

/* One Summary.Value, in a transaction of its own. */
enum tfd_code tfd_summary_add_value(struct tfd_summary_db *db, int64_t step,
                                    double wall, struct tfd_str value,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Commits when rc is TFD_OK; else, or when that fails, all is as it was before,
 * and so is what is known of the database.  Returns rc or the failure. */
enum tfd_code tfd_summary_end_transaction(struct tfd_summary_db *db,
                                          const struct tfd_summary_ids *before,
                                          enum tfd_code rc,
                                          struct tfd_status *st) TFD_MUST_USE;

/* ---- summary_graph.c ----------------------------------------------------- */

/* In a transaction. */
enum tfd_code tfd_summary_add_graph(struct tfd_summary_db *db,
                                    struct tfd_str graph,
                                    struct tfd_status *st) TFD_MUST_USE;
#endif

#endif
