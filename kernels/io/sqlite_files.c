/*
 * sqlite_files.c - see sqlite_files.h.
 *
 * SQLite locks three places of a database: one that a writer holds who waits
 * for readers to go (PENDING), one of who means to write (RESERVED), and a
 * range that readers share and a writer has alone.
 */
#include "kernels/io/sqlite_files.h"

#if TFD_HAS_SQLITE
#include "config/limits.h"

#include <stdio.h>
#include <string.h>

#define PENDING_BYTE 0x40000000u
#define RESERVED_BYTE (PENDING_BYTE + 1)
#define SHARED_FIRST (PENDING_BYTE + 2)
#define SHARED_SIZE 510u

/* In a database's first bytes. */
#define HEADER_SIZE 20
#define READ_VERSION_AT 19
#define WITH_A_LOG 2

struct open_file { /* SQLite's memory */
    sqlite3_file base;
    struct tfd_sqlite_files *files;
    struct tfd_file file;
    bool is_database;
};

/* ---- Names --------------------------------------------------------------- */

/* The database's file, or what lies beside it. */
static struct tfd_str name_beside(struct tfd_sqlite_files *f,
                                  const char *suffix)
{
    f->name.size = f->base_size;
    tfd_bytes_add_str(&f->name, tfd_str_of(suffix));
    return tfd_bytes_view(&f->name);
}

/* NULL: SQLite's name is none that there can be. */
static const char *suffix_of(const char *name)
{
    const size_t size = sizeof(TFD_SQLITE_DATABASE) - 1;

    if (!name || strncmp(name, TFD_SQLITE_DATABASE, size) != 0)
        return NULL;
    name += size;
    return !*name || !strcmp(name, "-journal") || !strcmp(name, "-wal") ? name
                                                                        : NULL;
}

/* ---- An open file -------------------------------------------------------- */

static void shut(struct open_file *o)
{
    if (o->file.fd >= 0)
        o->files->access->close(o->files->access, &o->file);
    o->file = (struct tfd_file)TFD_FILE_INIT;
}

static int file_close(sqlite3_file *file)
{
    shut((struct open_file *)file);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *data, int size,
                     sqlite3_int64 offset)
{
    struct open_file *o = (struct open_file *)file;
    const uint64_t at = (uint64_t)offset;
    uint64_t have = 0;

    if (offset >= 0 && at < o->file.size)
        have = o->file.size - at;
    if (have > (uint64_t)size)
        have = (uint64_t)size;
    if (have > 0 &&
        o->files->access->read_at(o->files->access, &o->file, at, data,
                                  (size_t)have, NULL) != TFD_OK)
        return SQLITE_IOERR_READ;
    if (have == (uint64_t)size)
        return SQLITE_OK;
    memset((char *)data + have, 0, (size_t)size - (size_t)have);
    return SQLITE_IOERR_SHORT_READ;
}

static int error_of(enum tfd_code rc, int else_)
{
    return rc == TFD_RESOURCE_EXHAUSTED ? SQLITE_FULL : else_;
}

static int file_write(sqlite3_file *file, const void *data, int size,
                      sqlite3_int64 offset)
{
    struct open_file *o = (struct open_file *)file;
    struct tfd_file_access *a = o->files->access;
    const uint64_t end = (uint64_t)offset + (uint64_t)size;
    enum tfd_code rc;

    if (!o->files->is_written || offset < 0)
        return SQLITE_READONLY;
    rc = a->write_at(a, &o->file, (uint64_t)offset, data, (size_t)size, NULL);
    if (rc != TFD_OK)
        return error_of(rc, SQLITE_IOERR_WRITE);
    if (o->file.size < end)
        o->file.size = end;
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct open_file *o = (struct open_file *)file;
    struct tfd_file_access *a = o->files->access;
    enum tfd_code rc;

    if (!o->files->is_written || size < 0)
        return SQLITE_READONLY;
    rc = a->resize(a, &o->file, (uint64_t)size, NULL);
    if (rc != TFD_OK)
        return error_of(rc, SQLITE_IOERR_TRUNCATE);
    o->file.size = (uint64_t)size;
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct open_file *o = (struct open_file *)file;
    struct tfd_file_access *a = o->files->access;

    (void)flags;
    return !o->files->is_written || a->sync(a, &o->file, NULL) == TFD_OK
               ? SQLITE_OK
               : SQLITE_IOERR_FSYNC;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((struct open_file *)file)->file.size;
    return SQLITE_OK;
}

/* ---- Locks --------------------------------------------------------------- */

static bool lock_at(struct open_file *o, enum tfd_file_lock how,
                    uint64_t offset, uint64_t size)
{
    struct tfd_file_access *a = o->files->access;

    return o->file.fd < 0 ||
           a->lock(a, &o->file, how, offset, size, NULL) == TFD_OK;
}

static int share_database(struct open_file *o)
{
    bool has;

    if (!lock_at(o, TFD_FILE_SHARE, PENDING_BYTE, 1))
        return SQLITE_BUSY;
    has = lock_at(o, TFD_FILE_SHARE, SHARED_FIRST, SHARED_SIZE);
    lock_at(o, TFD_FILE_RELEASE, PENDING_BYTE, 1);
    if (!has)
        return SQLITE_BUSY;
    return SQLITE_OK;
}

/* From now on nobody writes: how much there is may be another size than when
 * the file was opened. */
static int share_as_it_is(struct open_file *o)
{
    struct tfd_file_access *a = o->files->access;
    struct tfd_file now = TFD_FILE_INIT;
    int rc = share_database(o);

    if (rc != SQLITE_OK || o->file.fd < 0)
        return rc;
    if (a->open_read(a, name_beside(o->files, ""), &now, NULL) != TFD_OK)
        return SQLITE_IOERR_LOCK;
    o->file.size = now.size;
    a->close(a, &now);
    return SQLITE_OK;
}

/* One writer at a time announces itself, and waits for readers to go before it
 * writes to the database. */
static int lock_to_write(struct open_file *o, int level)
{
    if (level == SQLITE_LOCK_RESERVED)
        return lock_at(o, TFD_FILE_TAKE, RESERVED_BYTE, 1) ? SQLITE_OK
                                                           : SQLITE_BUSY;
    return lock_at(o, TFD_FILE_TAKE, PENDING_BYTE, 1) &&
                   lock_at(o, TFD_FILE_TAKE, SHARED_FIRST, SHARED_SIZE)
               ? SQLITE_OK
               : SQLITE_BUSY;
}

/* A log is read by who has the database alone. */
static int file_lock(sqlite3_file *file, int level)
{
    struct open_file *o = (struct open_file *)file;

    if (!o->is_database)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED)
        return share_as_it_is(o);
    if (o->files->is_written)
        return lock_to_write(o, level);
    return o->files->has_log &&
                   lock_at(o, TFD_FILE_ASK, SHARED_FIRST, SHARED_SIZE)
               ? SQLITE_OK
               : SQLITE_BUSY;
}

static int file_unlock(sqlite3_file *file, int level)
{
    struct open_file *o = (struct open_file *)file;

    if (!o->is_database)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_NONE)
        lock_at(o, TFD_FILE_RELEASE, PENDING_BYTE, 2 + SHARED_SIZE);
    else if (!lock_at(o, TFD_FILE_SHARE, SHARED_FIRST, SHARED_SIZE) ||
             !lock_at(o, TFD_FILE_RELEASE, PENDING_BYTE, 2))
        return SQLITE_IOERR_UNLOCK;
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *file, int *out)
{
    *out = !lock_at((struct open_file *)file, TFD_FILE_ASK, RESERVED_BYTE, 1);
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    (void)file, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1, /* neither shared memory nor mapped files */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_traits,
};

/* ---- The table ----------------------------------------------------------- */

/* A database or a log that is not there is an empty one. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                    int flags, int *out_flags)
{
    struct tfd_sqlite_files *f = vfs->pAppData;
    struct open_file *o = (struct open_file *)file;
    const char *suffix = suffix_of(name);
    enum tfd_code rc;

    *o = (struct open_file){.files = f, .file = TFD_FILE_INIT};
    if (!suffix || flags & (SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL |
                            SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_SUBJOURNAL))
        return SQLITE_CANTOPEN;
    o->is_database = !*suffix;
    if (f->is_written)
        rc = f->access->open_update(f->access, name_beside(f, suffix), &o->file,
                                    NULL);
    else
        rc = f->access->open_read(f->access, name_beside(f, suffix), &o->file,
                                  NULL);
    if (rc != TFD_OK && f->is_written)
        return SQLITE_CANTOPEN;
    if (rc != TFD_OK && (rc != TFD_NOT_FOUND || !strcmp(suffix, "-journal")))
        return SQLITE_CANTOPEN;
    o->base.pMethods = &methods;
    if (out_flags && f->is_written)
        *out_flags = flags;
    else if (out_flags)
        *out_flags = SQLITE_OPEN_READONLY |
                     (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct tfd_sqlite_files *f = vfs->pAppData;
    const char *suffix = suffix_of(name);
    struct tfd_str file;
    enum tfd_code rc;

    if (!f->is_written || !suffix || !*suffix)
        return SQLITE_READONLY;
    file = name_beside(f, suffix);
    rc = f->access->remove(f->access, file, NULL);
    if (rc == TFD_NOT_FOUND)
        return SQLITE_IOERR_DELETE_NOENT;
    if (rc == TFD_OK && sync)
        rc = f->access->sync_dir(f->access, file, NULL);
    return rc == TFD_OK ? SQLITE_OK : SQLITE_IOERR_DELETE;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    struct tfd_sqlite_files *f = vfs->pAppData;
    const char *suffix = suffix_of(name);
    struct tfd_file file = TFD_FILE_INIT;

    *out = suffix && (flags == SQLITE_ACCESS_EXISTS || f->is_written) &&
           f->access->open_read(f->access, name_beside(f, suffix), &file,
                                NULL) == TFD_OK;
    if (file.fd >= 0)
        f->access->close(f->access, &file);
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size,
                         char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK
                                                          : SQLITE_CANTOPEN;
}

static void *vfs_load(sqlite3_vfs *vfs, const char *name)
{
    (void)vfs, (void)name;
    return NULL;
}

static void vfs_load_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    snprintf(text, (size_t)size, "libraries are not loaded");
}

/* Time, chance and sleep are those of the system. */
static sqlite3_vfs *system_of(sqlite3_vfs *vfs)
{
    return ((struct tfd_sqlite_files *)vfs->pAppData)->library->vfs_find(NULL);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    return system_of(vfs)->xRandomness(system_of(vfs), size, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    return system_of(vfs)->xSleep(system_of(vfs), us);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
    return system_of(vfs)->xCurrentTime(system_of(vfs), out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs, (void)size, (void)text;
    return 0;
}

/* ---- Setting up ---------------------------------------------------------- */

/* What the file is.  That there is none is no failure where one could be. */
static enum tfd_code look_at(struct tfd_sqlite_files *f, struct tfd_status *st)
{
    struct tfd_str name = name_beside(f, ""), dir = tfd_file_dirname(name);
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_file file = TFD_FILE_INIT;
    char header[HEADER_SIZE];
    bool is_dir = true;

    if (f->access->open_read(f->access, name, &file, &why) == TFD_OK) {
        f->has_log = file.size >= HEADER_SIZE &&
                     f->access->read_at(f->access, &file, 0, header,
                                        sizeof(header), NULL) == TFD_OK &&
                     header[READ_VERSION_AT] == WITH_A_LOG;
        f->access->close(f->access, &file);
        return TFD_OK;
    }
    if (why.code == TFD_PERMISSION_DENIED)
        return tfd_status_copy(st, &why);
    if (why.code == TFD_NOT_FOUND &&
        (dir.size == 0 ||
         f->access->look(f->access, dir, &is_dir, NULL) == TFD_OK))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Sqlite::Open(" TFD_STR_FMT
                    ") failed: unable to open database file",
                    TFD_STR_ARG(name));
}

static void fill_vfs(struct tfd_sqlite_files *f)
{
    snprintf(f->vfs_name, sizeof(f->vfs_name), "tfd-%p", (void *)f);
    f->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct open_file),
        .mxPathname = 64,
        .zName = f->vfs_name,
        .pAppData = f,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_name,
        .xDlOpen = vfs_load,
        .xDlError = vfs_load_error,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_last_error,
    };
}

enum tfd_code tfd_sqlite_files_init(struct tfd_sqlite_files *f,
                                    const struct tfd_sqlite *library,
                                    struct tfd_file_access *access,
                                    struct tfd_str name, bool is_written,
                                    struct tfd_status *st)
{
    enum tfd_code rc;

    *f = (struct tfd_sqlite_files){
        .library = library, .access = access, .is_written = is_written};
    tfd_bytes_init(&f->name, TFD_FILE_NAME_SIZE_MAX + 16);
    tfd_bytes_add_str(&f->name, name);
    f->base_size = f->name.size;
    rc = tfd_bytes_ok(&f->name, "a file's name", st);
    if (rc == TFD_OK && name.size > 0)
        rc = look_at(f, st);
    fill_vfs(f);
    if (rc == TFD_OK && library->vfs_register(&f->vfs, 0) != SQLITE_OK)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a database");
    if (rc != TFD_OK)
        tfd_bytes_deinit(&f->name);
    return rc;
}

void tfd_sqlite_files_deinit(struct tfd_sqlite_files *f)
{
    f->library->vfs_unregister(&f->vfs);
    tfd_bytes_deinit(&f->name);
}
#else
typedef int tfd_no_sqlite; /* C wants something in a file */
#endif
