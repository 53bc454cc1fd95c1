/*
 * sqlite_library.c - see sqlite_library.h.
 */
#include "kernels/io/sqlite_library.h"

#if TFD_HAS_SQLITE
#include "config/limits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct {
    pthread_once_t once;
    struct tfd_sqlite functions;
    const char *lacks; /* NULL: it is there */
} library = {.once = PTHREAD_ONCE_INIT};

/* A function's address as C has it; dlsym() gives an object's. */
static void find_sqlite(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
    if (!*(void **)function && !library.lacks)
        library.lacks = name;
}

static void load_sqlite(void)
{
    void *handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        library.lacks = "libsqlite3.so.0";
        return;
    }
#define FIND(name) \
    find_sqlite(handle, "sqlite3_" #name, &library.functions.name);
    TFD_SQLITE_FUNCTIONS(FIND)
#undef FIND
    if (!library.lacks)
        library.functions.hard_heap_limit64(TFD_SQL_MEMORY_SIZE_MAX);
}

enum tfd_code tfd_sqlite(const struct tfd_sqlite **out, struct tfd_status *st)
{
    if (pthread_once(&library.once, load_sqlite) != 0)
        return tfd_fail(st, TFD_INTERNAL, "SQLite cannot be opened");
    if (library.lacks)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "SQLite is not installed here (no %s); of Debian's "
                        "packages it is libsqlite3-0",
                        library.lacks);
    *out = &library.functions;
    return TFD_OK;
}

/* ---- Errors -------------------------------------------------------------- */

struct code_row {
    int sqlite;
    enum tfd_code code;
};

/* All others are UNKNOWN. */
static const struct code_row codes[] = {
    {SQLITE_ABORT, TFD_ABORTED},
    {SQLITE_READONLY, TFD_FAILED_PRECONDITION},
    {SQLITE_MISMATCH, TFD_FAILED_PRECONDITION},
    {SQLITE_MISUSE, TFD_INTERNAL},
    {SQLITE_INTERNAL, TFD_INTERNAL},
    {SQLITE_RANGE, TFD_OUT_OF_RANGE},
    {SQLITE_CANTOPEN, TFD_INVALID_ARGUMENT},
    {SQLITE_CONSTRAINT, TFD_INVALID_ARGUMENT},
    {SQLITE_NOTFOUND, TFD_INVALID_ARGUMENT},
    {SQLITE_NOTADB, TFD_INVALID_ARGUMENT},
    {SQLITE_CORRUPT, TFD_DATA_LOSS},
    {SQLITE_AUTH, TFD_PERMISSION_DENIED},
    {SQLITE_PERM, TFD_PERMISSION_DENIED},
    {SQLITE_FULL, TFD_RESOURCE_EXHAUSTED},
    {SQLITE_TOOBIG, TFD_RESOURCE_EXHAUSTED},
    {SQLITE_NOLFS, TFD_RESOURCE_EXHAUSTED},
    {SQLITE_BUSY, TFD_UNAVAILABLE},
    {SQLITE_LOCKED, TFD_UNAVAILABLE},
    {SQLITE_PROTOCOL, TFD_UNAVAILABLE},
    {SQLITE_NOMEM, TFD_UNAVAILABLE},
    {SQLITE_INTERRUPT, TFD_CANCELLED},
};

enum tfd_code tfd_sqlite_code(int sqlite)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].sqlite == (sqlite & 0xff))
            return codes[i].code;
    return TFD_UNKNOWN;
}

/* ---- Names --------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_decoded(struct tfd_bytes *out, struct tfd_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == '%' && text.size - i > 2 && digit_of(text.data[i + 1]) >= 0 &&
            digit_of(text.data[i + 2]) >= 0) {
            c = (char)(digit_of(text.data[i + 1]) * 16 +
                       digit_of(text.data[i + 2]));
            i += 2;
        }
        tfd_bytes_add(out, &c, 1);
    }
}

/* The path of "file:PATH", "file://HOST/PATH", each perhaps with ?OPTIONS,
 * which change nothing here. */
static void add_path(struct tfd_bytes *out, struct tfd_str uri)
{
    const size_t scheme = sizeof("file:") - 1;
    struct tfd_str path = {uri.data + scheme, uri.size - scheme};
    size_t size = 0;

    if (tfd_str_starts(path, "//")) {
        size_t host = 2;

        while (host < path.size && path.data[host] != '/')
            host++;
        path = (struct tfd_str){path.data + host, path.size - host};
    }
    while (size < path.size && path.data[size] != '?' && path.data[size] != '#')
        size++;
    add_decoded(out, (struct tfd_str){path.data, size});
}

void tfd_sqlite_name(struct tfd_bytes *out, struct tfd_str database)
{
    if (tfd_str_starts(database, "file:"))
        add_path(out, database);
    else if (!tfd_str_is(database, ":memory:"))
        tfd_bytes_add_str(out, database);
}
#else
typedef int tfd_no_sqlite; /* C wants something in a file */
#endif
