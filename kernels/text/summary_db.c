/*
 * summary_db.c - see summary_db.h: opens the database, and finds what an event
 * holds.
 */
#include "kernels/text/summary_db.h"

#include "kernels/text/summary_tables.h"

enum tfd_code tfd_summary_db_check(enum tfd_dtype dtype, struct tfd_status *st)
{
    static const bool has[TFD_DTYPE_END] = {
        [TFD_STRING] = true, [TFD_HALF] = true,       [TFD_FLOAT] = true,
        [TFD_DOUBLE] = true, [TFD_COMPLEX64] = true,  [TFD_INT8] = true,
        [TFD_INT16] = true,  [TFD_COMPLEX128] = true, [TFD_INT32] = true,
        [TFD_INT64] = true,  [TFD_UINT8] = true,      [TFD_UINT16] = true,
        [TFD_UINT32] = true, [TFD_UINT64] = true,
    };

    if (has[dtype])
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED, "%s tensors unsupported on platform",
                    tfd_dtype_name((int)dtype));
}

#if TFD_HAS_SQLITE
#include "common/base/pbio.h"
#include "common/proto/summary.pb.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#include <stdlib.h>

#define EVENT_TAG(name) tensorflow_Event_##name##_tag

/* Milliseconds that others may write meanwhile. */
#define BUSY_MS 10000

/* ---- Opening, closing ---------------------------------------------------- */

/* A file may have been made by anybody: what its tables bring along does not
 * run. */
static void restrict_connection(struct tfd_summary_db *db)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        db->library->db_config(db->db, options[i].option, options[i].value,
                               NULL);
    db->library->limit(db->db, SQLITE_LIMIT_ATTACHED, 0);
    db->library->extended_result_codes(db->db, 1);
    db->library->busy_timeout(db->db, BUSY_MS);
    db->library->exec(db->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
    db->library->exec(db->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
}

static enum tfd_code connect(struct tfd_summary_db *db, struct tfd_status *st)
{
    const bool in_memory = db->files.base_size == 0;
    int rc;

    if (db->files.has_log)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        TFD_STR_FMT " has a write-ahead log, with which it "
                                    "cannot be written here",
                        TFD_STR_ARG(db->names.database));
    rc = db->library->open_v2(in_memory ? ":memory:" : TFD_SQLITE_DATABASE,
                              &db->db,
                              SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                              db->files.vfs_name);
    if (rc != SQLITE_OK)
        return tfd_fail(
            st, tfd_sqlite_code(rc), "Sqlite::Open(" TFD_STR_FMT ") failed: %s",
            TFD_STR_ARG(db->names.database), db->library->errstr(rc));
    restrict_connection(db);
    return tfd_summary_tables_make(db, st);
}

static enum tfd_code keep_names(struct tfd_summary_db *db,
                                const struct tfd_summary_db_names *n,
                                struct tfd_status *st)
{
    db->names =
        (struct tfd_summary_db_names){tfd_arena_str(&db->memory, n->database),
                                      tfd_arena_str(&db->memory, n->experiment),
                                      tfd_arena_str(&db->memory, n->run),
                                      tfd_arena_str(&db->memory, n->user)};
    return tfd_arena_check(db->names.database.data &&
                                   db->names.experiment.data &&
                                   db->names.run.data && db->names.user.data
                               ? db
                               : NULL,
                           "names of a summary database", st);
}

static enum tfd_code open_files(struct tfd_summary_db *db,
                                struct tfd_file_access *files,
                                struct tfd_status *st)
{
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_FILE_NAME_SIZE_MAX);
    tfd_sqlite_name(&name, db->names.database);
    rc = tfd_bytes_ok(&name, "a file's name", st);
    if (rc == TFD_OK)
        rc = tfd_sqlite_files_init(&db->files, db->library, files,
                                   tfd_bytes_view(&name), true, st);
    tfd_bytes_deinit(&name);
    return rc;
}

static void db_free(struct tfd_summary_db *db)
{
    tfd_map_deinit(&db->tags);
    tfd_arena_deinit(&db->memory);
    free(db);
}

enum tfd_code tfd_summary_db_open(struct tfd_summary_db **out,
                                  struct tfd_file_access *files,
                                  const struct tfd_summary_db_names *names,
                                  struct tfd_status *st)
{
    struct tfd_summary_db *db = calloc(1, sizeof(*db));
    enum tfd_code rc;

    if (!db)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a summary database");
    tfd_arena_init(&db->memory, (size_t)TFD_GRPC_MESSAGE_SIZE_MAX);
    tfd_map_init(&db->tags);
    rc = tfd_sqlite(&db->library, st);
    if (rc == TFD_OK)
        rc = keep_names(db, names, st);
    if (rc == TFD_OK)
        rc = open_files(db, files, st);
    if (rc != TFD_OK) {
        db_free(db);
        return rc;
    }
    rc = connect(db, st);
    if (rc == TFD_OK)
        *out = db;
    else
        tfd_summary_db_close(db);
    return rc;
}

void tfd_summary_db_close(struct tfd_summary_db *db)
{
    for (int i = 0; i < TFD_DB_STATEMENTS; i++)
        db->library->finalize(db->statements[i]);
    db->library->close(db->db);
    tfd_sqlite_files_deinit(&db->files);
    db_free(db);
}

enum tfd_code tfd_summary_db_finish(struct tfd_summary_db *db,
                                    struct tfd_status *st)
{
    const struct tfd_db_value values[] = {tfd_db_real(tfd_summary_now()),
                                          tfd_db_int(db->ids.run)};

    if (!db->ids.run)
        return TFD_OK;
    return tfd_summary_run(db, TFD_DB_FINISH_RUN, values, 2, st);
}

/* ---- Events -------------------------------------------------------------- */

struct event_head {
    int64_t step;
    double wall;
    uint32_t what; /* the tag of the last of the fields that exclude each
                    * other */
    struct tfd_str graph;
};

static enum tfd_code read_head(struct tfd_str event, struct event_head *h,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(event);
    struct tfd_pb_field f;

    *h = (struct event_head){.graph = TFD_STR_EMPTY};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == EVENT_TAG(step))
            h->step = tfd_pb_int64(&r, &f);
        else if (f.tag == EVENT_TAG(wall_time))
            h->wall = tfd_pb_double(&r, &f);
        else if (f.tag >= EVENT_TAG(file_version) &&
                 f.tag < EVENT_TAG(source_metadata))
            h->what = f.tag;
        if (f.tag == EVENT_TAG(graph_def))
            h->graph = tfd_pb_str(&r, &f);
    }
    return tfd_pb_end(&r, "Event", st);
}

static enum tfd_code put_summary(struct tfd_summary_db *db,
                                 const struct event_head *h,
                                 struct tfd_str summary, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(summary);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (tfd_halted())
            return tfd_halt_fail(st);
        if (f.tag == tensorflow_Summary_value_tag)
            TFD_TRY(tfd_summary_add_value(db, h->step, h->wall,
                                          tfd_pb_str(&r, &f), st));
    }
    return tfd_pb_end(&r, "Summary", st);
}

static enum tfd_code put_graph(struct tfd_summary_db *db,
                               const struct event_head *h,
                               struct tfd_status *st)
{
    const struct tfd_summary_ids before = db->ids;
    enum tfd_code rc;

    TFD_TRY(tfd_summary_run(db, TFD_DB_BEGIN, NULL, 0, st));
    rc = tfd_summary_begin_run(db, h->wall, st);
    if (rc == TFD_OK)
        rc = tfd_summary_add_graph(db, h->graph, st);
    return tfd_summary_end_transaction(db, &before, rc, st);
}

enum tfd_code tfd_summary_db_put(struct tfd_summary_db *db,
                                 struct tfd_str event, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(event);
    struct event_head h;
    struct tfd_pb_field f;

    TFD_TRY(read_head(event, &h, st));
    if (h.what == EVENT_TAG(graph_def))
        return put_graph(db, &h, st);
    while (h.what == EVENT_TAG(summary) && tfd_pb_next(&r, &f))
        if (f.tag == EVENT_TAG(summary))
            TFD_TRY(put_summary(db, &h, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "Event", st);
}
#else
static enum tfd_code no_sqlite(struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "this tfd was built without SQLite (libsqlite3-dev)");
}

enum tfd_code tfd_summary_db_open(struct tfd_summary_db **out,
                                  struct tfd_file_access *files,
                                  const struct tfd_summary_db_names *names,
                                  struct tfd_status *st)
{
    (void)out, (void)files, (void)names;
    return no_sqlite(st);
}

enum tfd_code tfd_summary_db_put(struct tfd_summary_db *db,
                                 struct tfd_str event, struct tfd_status *st)
{
    (void)db, (void)event;
    return no_sqlite(st);
}

enum tfd_code tfd_summary_db_finish(struct tfd_summary_db *db,
                                    struct tfd_status *st)
{
    (void)db;
    return no_sqlite(st);
}

void tfd_summary_db_close(struct tfd_summary_db *db)
{
    (void)db;
}
#endif
