/*
 * summary_tables.c - see summary_tables.h.
 */
#include "kernels/text/summary_tables.h"

#if TFD_HAS_SQLITE
#include "common/base/entropy.h"

#include <limits.h>

/* ---- The tables ---------------------------------------------------------- */

#define TABLE(name, columns) "CREATE TABLE IF NOT EXISTS " name " (" columns ")"
#define INDEX(name, of) "CREATE UNIQUE INDEX IF NOT EXISTS " name " ON " of

static const char *const tables[] = {
    /* More than the 32 bits it has, so it becomes 0, as TensorFlow's does. */
    "PRAGMA application_id=4276988910",
    "PRAGMA user_version=0",
    TABLE("Ids", "id INTEGER PRIMARY KEY"),
    TABLE("Descriptions", "id INTEGER PRIMARY KEY, description TEXT"),
    TABLE("Tensors", "rowid INTEGER PRIMARY KEY, series INTEGER, step INTEGER, "
                     "dtype INTEGER, computed_time REAL, shape TEXT, "
                     "data BLOB"),
    INDEX("TensorSeriesStepIndex",
          "Tensors (series, step) WHERE series IS NOT NULL AND step IS NOT "
          "NULL"),
    TABLE("TensorStrings",
          "rowid INTEGER PRIMARY KEY, tensor_rowid INTEGER NOT NULL, "
          "idx INTEGER NOT NULL, data BLOB"),
    INDEX("TensorStringIndex", "TensorStrings (tensor_rowid, idx)"),
    TABLE("Tags", "rowid INTEGER PRIMARY KEY, run_id INTEGER, "
                  "tag_id INTEGER NOT NULL, inserted_time DOUBLE, "
                  "tag_name TEXT, display_name TEXT, plugin_name TEXT, "
                  "plugin_data BLOB"),
    INDEX("TagIdIndex", "Tags (tag_id)"),
    INDEX("TagRunNameIndex", "Tags (run_id, tag_name) WHERE run_id IS NOT NULL "
                             "AND tag_name IS NOT NULL"),
    TABLE("Runs", "rowid INTEGER PRIMARY KEY, experiment_id INTEGER, "
                  "run_id INTEGER NOT NULL, inserted_time REAL, "
                  "started_time REAL, finished_time REAL, run_name TEXT"),
    INDEX("RunIdIndex", "Runs (run_id)"),
    INDEX("RunNameIndex",
          "Runs (experiment_id, run_name) WHERE run_name IS NOT NULL"),
    TABLE("Experiments",
          "rowid INTEGER PRIMARY KEY, user_id INTEGER, "
          "experiment_id INTEGER NOT NULL, inserted_time REAL, "
          "started_time REAL, is_watching INTEGER, experiment_name TEXT"),
    INDEX("ExperimentIdIndex", "Experiments (experiment_id)"),
    INDEX("ExperimentNameIndex", "Experiments (user_id, experiment_name) "
                                 "WHERE experiment_name IS NOT NULL"),
    TABLE("Users", "rowid INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, "
                   "inserted_time REAL, user_name TEXT, email TEXT"),
    INDEX("UserIdIndex", "Users (user_id)"),
    INDEX("UserNameIndex", "Users (user_name) WHERE user_name IS NOT NULL"),
    INDEX("UserEmailIndex", "Users (email) WHERE email IS NOT NULL"),
    TABLE("Graphs", "rowid INTEGER PRIMARY KEY, run_id INTEGER, "
                    "graph_id INTEGER NOT NULL, inserted_time REAL, "
                    "graph_def BLOB"),
    INDEX("GraphIdIndex", "Graphs (graph_id)"),
    INDEX("GraphRunIndex", "Graphs (run_id) WHERE run_id IS NOT NULL"),
    TABLE("Nodes", "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, "
                   "node_id INTEGER NOT NULL, node_name TEXT, op TEXT, "
                   "device TEXT, node_def BLOB"),
    INDEX("NodeIdIndex", "Nodes (graph_id, node_id)"),
    INDEX("NodeNameIndex",
          "Nodes (graph_id, node_name) WHERE node_name IS NOT NULL"),
    TABLE("NodeInputs", "rowid INTEGER PRIMARY KEY, graph_id INTEGER NOT NULL, "
                        "node_id INTEGER NOT NULL, idx INTEGER NOT NULL, "
                        "input_node_id INTEGER NOT NULL, "
                        "input_node_idx INTEGER, is_control INTEGER"),
    INDEX("NodeInputsIndex", "NodeInputs (graph_id, node_id, idx)"),
};

static const char *const statements[TFD_DB_STATEMENTS] = {
    [TFD_DB_BEGIN] = "BEGIN IMMEDIATE",
    [TFD_DB_COMMIT] = "COMMIT",
    [TFD_DB_ROLLBACK] = "ROLLBACK",
    [TFD_DB_ADD_ID] = "INSERT OR IGNORE INTO Ids (id) VALUES (?) RETURNING id",
    [TFD_DB_FIND_USER] = "SELECT user_id, 0 FROM Users WHERE user_name = ?",
    [TFD_DB_ADD_USER] = "INSERT INTO Users (user_id, user_name, inserted_time) "
                        "VALUES (?, ?, ?)",
    [TFD_DB_FIND_EXPERIMENT] =
        "SELECT experiment_id, started_time FROM Experiments "
        "WHERE user_id IS ? AND experiment_name = ?",
    [TFD_DB_ADD_EXPERIMENT] =
        "INSERT INTO Experiments (user_id, experiment_id, experiment_name, "
        "inserted_time, started_time, is_watching) VALUES (?, ?, ?, ?, ?, 0)",
    [TFD_DB_START_EXPERIMENT] =
        "UPDATE Experiments SET started_time = ? WHERE experiment_id = ?",
    [TFD_DB_ADD_RUN] =
        "INSERT OR REPLACE INTO Runs (experiment_id, run_id, run_name, "
        "inserted_time, started_time) VALUES (?, ?, ?, ?, ?)",
    [TFD_DB_START_RUN] = "UPDATE Runs SET started_time = ? WHERE run_id = ?",
    [TFD_DB_FINISH_RUN] = "UPDATE Runs SET finished_time = ? WHERE run_id = ?",
    [TFD_DB_ADD_DESCRIPTION] =
        "INSERT OR REPLACE INTO Descriptions (id, description) VALUES (?, ?)",
    [TFD_DB_ADD_TAG] =
        "INSERT INTO Tags (run_id, tag_id, tag_name, inserted_time, "
        "display_name, plugin_name, plugin_data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [TFD_DB_ADD_TENSOR] =
        "INSERT OR REPLACE INTO Tensors (series, step, computed_time, dtype, "
        "shape, data) VALUES (?, ?, ?, ?, ?, ?)",
    [TFD_DB_CLEAR_STRINGS] = "DELETE FROM TensorStrings WHERE tensor_rowid = ?",
    [TFD_DB_ADD_STRING] =
        "INSERT INTO TensorStrings (tensor_rowid, idx, data) VALUES (?, ?, ?)",
    [TFD_DB_ADD_GRAPH] = "INSERT OR REPLACE INTO Graphs (run_id, graph_id, "
                         "inserted_time, graph_def) VALUES (?, ?, ?, ?)",
    [TFD_DB_ADD_NODE] = "INSERT INTO Nodes (graph_id, node_id, node_name, op, "
                        "device, node_def) VALUES (?, ?, ?, ?, ?, ?)",
    [TFD_DB_ADD_INPUT] =
        "INSERT INTO NodeInputs (graph_id, node_id, idx, input_node_id, "
        "input_node_idx, is_control) VALUES (?, ?, ?, ?, ?, ?)",
};

/* ---- Statements ---------------------------------------------------------- */

static enum tfd_code fail_sql(const struct tfd_summary_db *db, int rc,
                              const char *doing, const char *sql,
                              struct tfd_status *st)
{
    return tfd_fail(st, tfd_sqlite_code(rc), "%s failed: [%d] %s: %s", doing,
                    rc, db->library->errmsg(db->db), sql);
}

static enum tfd_code compile(struct tfd_summary_db *db, const char *sql,
                             sqlite3_stmt **out, struct tfd_status *st)
{
    int rc = db->library->prepare_v2(db->db, sql, -1, out, NULL);

    return rc == SQLITE_OK ? TFD_OK : fail_sql(db, rc, "Prepare()", sql, st);
}

enum tfd_code tfd_summary_tables_make(struct tfd_summary_db *db,
                                      struct tfd_status *st)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        sqlite3_stmt *s;
        int rc;

        TFD_TRY(compile(db, tables[i], &s, st));
        rc = db->library->step(s);
        if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            (void)!fail_sql(db, rc, "Step()", tables[i], st);
        db->library->finalize(s);
        if (rc != SQLITE_DONE && rc != SQLITE_ROW)
            return tfd_sqlite_code(rc);
    }
    return TFD_OK;
}

static int bind(const struct tfd_sqlite *library, sqlite3_stmt *s, int at,
                const struct tfd_db_value *v)
{
    const char *bytes = v->bytes.data ? v->bytes.data : "";

    if ((v->kind == TFD_DB_TEXT || v->kind == TFD_DB_BLOB) &&
        v->bytes.size > INT_MAX)
        return SQLITE_TOOBIG;
    switch (v->kind) {
    case TFD_DB_INT:
        return library->bind_int64(s, at, v->number);
    case TFD_DB_REAL:
        return library->bind_double(s, at, v->real);
    case TFD_DB_TEXT:
        return library->bind_text(s, at, bytes, (int)v->bytes.size,
                                  SQLITE_STATIC);
    case TFD_DB_BLOB:
        return library->bind_blob(s, at, bytes, (int)v->bytes.size,
                                  SQLITE_STATIC);
    case TFD_DB_NULL:
        break;
    }
    return SQLITE_OK; /* what is not bound is NULL */
}

/* To its end; what the first row has is kept. */
static int step_through(const struct tfd_sqlite *library, sqlite3_stmt *s,
                        int64_t *number, double *real)
{
    int rc = library->step(s);

    if (rc == SQLITE_ROW && number)
        *number = library->column_int64(s, 0);
    if (rc == SQLITE_ROW && real)
        *real = library->column_double(s, 1);
    while (rc == SQLITE_ROW)
        rc = library->step(s);
    return rc;
}

enum tfd_code tfd_summary_find(struct tfd_summary_db *db,
                               enum tfd_db_statement statement,
                               const struct tfd_db_value *values, int count,
                               int64_t *number, double *real,
                               struct tfd_status *st)
{
    const struct tfd_sqlite *library = db->library;
    const char *sql = statements[statement];
    sqlite3_stmt **s = &db->statements[statement];
    int rc = SQLITE_OK;

    if (!*s)
        TFD_TRY(compile(db, sql, s, st));
    for (int i = 0; i < count && rc == SQLITE_OK; i++)
        rc = bind(library, *s, i + 1, &values[i]);
    if (rc == SQLITE_OK)
        rc = step_through(library, *s, number, real);
    if (rc != SQLITE_DONE)
        (void)!fail_sql(db, rc, "Step()", sql, st);
    library->reset(*s);
    library->clear_bindings(*s);
    return rc == SQLITE_DONE ? TFD_OK : tfd_sqlite_code(rc);
}

enum tfd_code tfd_summary_run(struct tfd_summary_db *db,
                              enum tfd_db_statement statement,
                              const struct tfd_db_value *values, int count,
                              struct tfd_status *st)
{
    return tfd_summary_find(db, statement, values, count, NULL, NULL, st);
}

/* ---- Ids ----------------------------------------------------------------- */

/* Numbers up to these, so that they are short in the file and for people; one
 * that is taken already leads to longer ones. */
static const uint64_t id_tiers[] = {0x7fffff, 0x7fffffff, 0x7fffffffffff};

#define ID_TIER_LAST (int)(sizeof(id_tiers) / sizeof(id_tiers[0]) - 1)
#define ID_TRIES 21

enum tfd_code tfd_summary_new_id(struct tfd_summary_db *db, int64_t *out,
                                 struct tfd_status *st)
{
    for (int i = 0; i < ID_TRIES; i++) {
        int64_t added = 0;
        uint64_t drawn;
        struct tfd_db_value id;

        TFD_TRY(tfd_entropy_u64(&drawn, st));
        drawn &= id_tiers[db->id_tier];
        id = tfd_db_int(drawn ? (int64_t)drawn : 1);
        TFD_TRY(tfd_summary_find(db, TFD_DB_ADD_ID, &id, 1, &added, NULL, st));
        if (added) {
            *out = added;
            return TFD_OK;
        }
        if (db->id_tier < ID_TIER_LAST)
            db->id_tier++;
    }
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "the Ids of a summary database are used up: %d drawn ones "
                    "were there already",
                    ID_TRIES);
}
#else
typedef int tfd_no_summary_tables; /* C wants something in a file */
#endif
