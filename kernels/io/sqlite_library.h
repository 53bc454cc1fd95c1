/*
 * sqlite_library.h - SQLite's functions, opened when one is first wanted.
 *
 * Few programs have databases, so the library is opened when one is wanted, and
 * tfd runs without it.  Its header (libsqlite3-dev) has to be there when tfd is
 * built.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_IO_SQLITE_LIBRARY_H
#define TFD_KERNELS_IO_SQLITE_LIBRARY_H

#include "common/base/str.h"

#if __has_include(<sqlite3.h>)
#include <sqlite3.h>
#define TFD_HAS_SQLITE 1
#else
#define TFD_HAS_SQLITE 0
#endif

#if TFD_HAS_SQLITE
#define TFD_SQLITE_FUNCTIONS(F) \
    F(bind_blob)                \
    F(bind_double)              \
    F(bind_int64)               \
    F(bind_text)                \
    F(busy_timeout)             \
    F(clear_bindings)           \
    F(close)                    \
    F(column_blob)              \
    F(column_bytes)             \
    F(column_count)             \
    F(column_double)            \
    F(column_int64)             \
    F(db_config)                \
    F(errmsg)                   \
    F(errstr)                   \
    F(exec)                     \
    F(extended_result_codes)    \
    F(finalize)                 \
    F(hard_heap_limit64)        \
    F(last_insert_rowid)        \
    F(limit)                    \
    F(open_v2)                  \
    F(prepare_v2)               \
    F(progress_handler)         \
    F(reset)                    \
    F(set_authorizer)           \
    F(sql)                      \
    F(step)                     \
    F(vfs_find)                 \
    F(vfs_register)             \
    F(vfs_unregister)

struct tfd_sqlite {
#define TFD_SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
    TFD_SQLITE_FUNCTIONS(TFD_SQLITE_MEMBER)
};

/* UNIMPLEMENTED, naming the package, when it is not installed. */
enum tfd_code tfd_sqlite(const struct tfd_sqlite **out,
                         struct tfd_status *st) TFD_MUST_USE;
/* TensorFlow's code for one of SQLite's. */
enum tfd_code tfd_sqlite_code(int sqlite);
/* The file that a database's name means: a path, or "file:PATH" with options,
 * which change nothing here; "" is none, and so is ":memory:". */
void tfd_sqlite_name(struct tfd_bytes *out, struct tfd_str database);
#endif

#endif
