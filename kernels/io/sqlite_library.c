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
#else
typedef int tfd_no_sqlite; /* C wants something in a file */
#endif
