/*
 * sql_query.c - see sql_query.h.
 */
#include "kernels/data_sources/sql_query.h"

#include "config/limits.h"
#include "kernels/io/sqlite_files.h"

#include <stdlib.h>
#include <string.h>

#if TFD_HAS_SQLITE

/* How many instructions of a query are between two looks at its scope: some
 * tens of microseconds. */
#define STEPS_BETWEEN_LOOKS 50

struct tfd_sql_query {
    const struct tfd_sqlite *library;
    struct tfd_sqlite_files files;
    struct tfd_data_scope *scope;
    sqlite3 *db;
    sqlite3_stmt *statement;
};

/* ---- What a query may ---------------------------------------------------- */

static int is_cancelled(void *scope)
{
    return tfd_data_scope_check(scope, NULL) != TFD_OK;
}

/* Pragmas that say something and set nothing that others feel. */
static const char *const pragmas[] = {
    "application_id",   "collation_list", "compile_options",
    "database_list",    "encoding",       "foreign_key_check",
    "foreign_key_list", "freelist_count", "function_list",
    "index_info",       "index_list",     "index_xinfo",
    "integrity_check",  "module_list",    "page_count",
    "page_size",        "pragma_list",    "quick_check",
    "schema_version",   "table_info",     "table_list",
    "table_xinfo",      "user_version",
};

/* Functions whose time is the product of two sizes, within which nobody is
 * asked whether the query is cancelled. */
static const char *const slow_functions[] = {"instr", "replace", "trim",
                                             "ltrim", "rtrim"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int authorize(void *arg, int action, const char *name,
                     const char *argument, const char *database,
                     const char *within)
{
    (void)arg, (void)database, (void)within;
    if (action == SQLITE_CREATE_VTABLE || action == SQLITE_DROP_VTABLE)
        return SQLITE_DENY;
    if (action == SQLITE_FUNCTION)
        return is_one_of(argument, slow_functions, TFD_COUNT(slow_functions))
                   ? SQLITE_DENY
                   : SQLITE_OK;
    if (action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return is_one_of(name, pragmas, TFD_COUNT(pragmas)) ? SQLITE_OK
                                                        : SQLITE_DENY;
}

/* Debian's library is built with all that it can do, of which some is no thing
 * for strangers: FTS3 takes addresses of functions out of a query. */
static void restrict_database(struct tfd_sql_query *q)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
    };
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LENGTH, TFD_SQL_VALUE_SIZE_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, TFD_SQL_QUERY_SIZE_MAX},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, TFD_SQL_PATTERN_SIZE_MAX},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        q->library->db_config(q->db, options[i].option, options[i].value, NULL);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        q->library->limit(q->db, limits[i].limit, limits[i].value);
    q->library->extended_result_codes(q->db, 1);
    q->library->progress_handler(q->db, STEPS_BETWEEN_LOOKS, is_cancelled,
                                 q->scope);
    q->library->exec(q->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
    q->library->exec(q->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
    if (q->files.has_log)
        q->library->exec(q->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL,
                         NULL);
    q->library->set_authorizer(q->db, authorize, NULL);
}

/* ---- Opening ------------------------------------------------------------- */

static enum tfd_code open_files(struct tfd_sql_query *q,
                                struct tfd_str database, struct tfd_status *st)
{
    struct tfd_file_access *files = q->scope->task.files;
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_FILE_NAME_SIZE_MAX);
    tfd_sqlite_name(&name, database);
    rc = tfd_bytes_ok(&name, "a file's name", st);
    if (rc == TFD_OK && name.size > 0 && !files)
        rc = tfd_fail(st, TFD_UNIMPLEMENTED, "files cannot be read here");
    if (rc == TFD_OK)
        rc = tfd_sqlite_files_init(&q->files, q->library, files,
                                   tfd_bytes_view(&name), false, st);
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code connect(struct tfd_sql_query *q, struct tfd_str database,
                             struct tfd_status *st)
{
    const bool in_memory = q->files.base_size == 0;
    int rc = q->library->open_v2(
        in_memory ? ":memory:" : TFD_SQLITE_DATABASE, &q->db,
        SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
            (in_memory ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY),
        q->files.vfs_name);

    if (rc == SQLITE_OK) {
        restrict_database(q);
        return TFD_OK;
    }
    return tfd_fail(st, tfd_sqlite_code(rc),
                    "Sqlite::Open(" TFD_STR_FMT ") failed: %s",
                    TFD_STR_ARG(database), q->library->errstr(rc));
}

enum tfd_code tfd_sql_open(struct tfd_sql_query **out,
                           struct tfd_data_scope *scope,
                           struct tfd_str database, struct tfd_status *st)
{
    const struct tfd_sqlite *library;
    struct tfd_sql_query *q;
    enum tfd_code rc;

    TFD_TRY(tfd_sqlite(&library, st));
    q = calloc(1, sizeof(*q));
    if (!q)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a query");
    q->library = library;
    q->scope = scope;
    rc = open_files(q, database, st);
    if (rc != TFD_OK) {
        free(q);
        return rc;
    }
    rc = connect(q, database, st);
    if (rc == TFD_OK)
        *out = q;
    else
        tfd_sql_close(q);
    return rc;
}

void tfd_sql_close(struct tfd_sql_query *q)
{
    if (!q)
        return;
    q->library->finalize(q->statement);
    q->library->close(q->db);
    tfd_sqlite_files_deinit(&q->files);
    free(q);
}

/* ---- Rows ---------------------------------------------------------------- */

static enum tfd_code prepare(struct tfd_sql_query *q, struct tfd_str query,
                             int32_t columns, struct tfd_status *st)
{
    int rc = query.size > TFD_SQL_QUERY_SIZE_MAX
                 ? SQLITE_TOOBIG
                 : q->library->prepare_v2(q->db, query.data, (int)query.size,
                                          &q->statement, NULL);
    int count;

    if (rc != SQLITE_OK)
        return tfd_fail(st, tfd_sqlite_code(rc),
                        "Prepare() failed: [%d] %s: " TFD_STR_FMT, rc,
                        rc == SQLITE_TOOBIG ? q->library->errstr(rc)
                                            : q->library->errmsg(q->db),
                        TFD_STR_ARG(query));
    count = q->library->column_count(q->statement);
    if (count == columns)
        return TFD_OK;
    q->library->finalize(q->statement);
    q->statement = NULL;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "The number of columns in query (%d) must match the number "
                    "of elements in output_types (%d).",
                    count, columns);
}

enum tfd_code tfd_sql_step(struct tfd_sql_query *q, struct tfd_str query,
                           int32_t columns, bool *end, struct tfd_status *st)
{
    int rc;

    *end = false;
    if (!q->statement)
        TFD_TRY(prepare(q, query, columns, st));
    rc = q->library->step(q->statement);
    if (rc == SQLITE_ROW)
        return TFD_OK;
    *end = true;
    if (rc == SQLITE_DONE)
        return TFD_OK;
    return tfd_fail(st, tfd_sqlite_code(rc), "Step() failed: [%d] %s: %s", rc,
                    q->library->errmsg(q->db), q->library->sql(q->statement));
}

int64_t tfd_sql_int(struct tfd_sql_query *q, int32_t column)
{
    return q->library->column_int64(q->statement, column);
}

double tfd_sql_double(struct tfd_sql_query *q, int32_t column)
{
    return q->library->column_double(q->statement, column);
}

struct tfd_str tfd_sql_text(struct tfd_sql_query *q, int32_t column)
{
    const char *data = q->library->column_blob(q->statement, column);
    int size = q->library->column_bytes(q->statement, column);

    return data ? (struct tfd_str){data, (size_t)size} : TFD_STR_EMPTY;
}

#else

static enum tfd_code absent(struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "this tfd was built without SQLite (libsqlite3-dev)");
}

enum tfd_code tfd_sql_open(struct tfd_sql_query **out,
                           struct tfd_data_scope *scope,
                           struct tfd_str database, struct tfd_status *st)
{
    (void)out, (void)scope, (void)database;
    return absent(st);
}

void tfd_sql_close(struct tfd_sql_query *q)
{
    (void)q;
}

enum tfd_code tfd_sql_step(struct tfd_sql_query *q, struct tfd_str query,
                           int32_t columns, bool *end, struct tfd_status *st)
{
    (void)q, (void)query, (void)columns, (void)end;
    return absent(st);
}

int64_t tfd_sql_int(struct tfd_sql_query *q, int32_t column)
{
    (void)q, (void)column;
    return 0;
}

double tfd_sql_double(struct tfd_sql_query *q, int32_t column)
{
    (void)q, (void)column;
    return 0;
}

struct tfd_str tfd_sql_text(struct tfd_sql_query *q, int32_t column)
{
    (void)q, (void)column;
    return TFD_STR_EMPTY;
}
#endif
