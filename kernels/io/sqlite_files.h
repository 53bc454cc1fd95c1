/*
 * sqlite_files.h - what SQLite sees of the disk: one database, to be read, or
 * to be written as well.
 *
 * SQLite reaches files by a table of functions, its "VFS".  This one has the
 * database that a program names, below the roots (kernels/io/file.h), and its
 * journals, and nothing else; none of it can be written, unless who registers
 * it says so.
 *
 *     "database"          the file; an empty one where there is none, as
 *                         TensorFlow's query would make one; a writer makes it
 *     "database-journal"  of a writer that has died: the database is refused;
 *                         a writer, who keeps one, takes back what it had done
 *     "database-wal"      what is not in the file yet: is read
 *
 * A query locks the file against writers, and a writer against all others while
 * it writes, as SQLite does.  A database with a
 * write-ahead log is read only while nobody else has it open, since their
 * common memory is a file that is written.
 *
 * Ownership: the caller's struct outlives SQLite's connection.
 * Threads: one at a time; all functions may wait for the disk.
 */
#ifndef TFD_KERNELS_IO_SQLITE_FILES_H
#define TFD_KERNELS_IO_SQLITE_FILES_H

#include "kernels/io/sqlite_library.h"
#include "kernels/io/file.h"

#if TFD_HAS_SQLITE
#define TFD_SQLITE_DATABASE "database"

struct tfd_sqlite_files {
    sqlite3_vfs vfs;
    char vfs_name[32];
    const struct tfd_sqlite *library;
    struct tfd_file_access *access;
    struct tfd_bytes name; /* of the database's file */
    size_t base_size;      /* of it without "-wal" */
    bool has_log;          /* the database says that it has a write-ahead log */
    bool is_written;
};

/* Registers, for a database in memory where the name is empty; fails, and then
 * nothing has to be released, when the file cannot be opened. */
enum tfd_code tfd_sqlite_files_init(struct tfd_sqlite_files *f,
                                    const struct tfd_sqlite *library,
                                    struct tfd_file_access *access,
                                    struct tfd_str name, bool is_written,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_sqlite_files_deinit(struct tfd_sqlite_files *f);
#endif

#endif
