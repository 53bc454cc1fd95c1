/*
 * icu.c - see icu.h.
 *
 * The file's name ends with the version, as do the symbols, so the versions are
 * tried from one that does not exist yet down to one that all systems have
 * passed.  A name that is not there costs some microseconds, once.
 */
#include "kernels/text/icu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define VERSION_NEWEST 99
#define VERSION_OLDEST 60 /* of 2017; earlier ones replace other bytes */

static struct {
    pthread_once_t once;
    bool found;
    struct tfd_icu functions;
} library = {.once = PTHREAD_ONCE_INIT};

static bool find_function(void *handle, const char *name, int version,
                          void *into)
{
    char symbol[80];
    void *found;

    snprintf(symbol, sizeof(symbol), "%s_%d", name, version);
    found = dlsym(handle, symbol);
    memcpy(into, &found, sizeof(found));
    return found != NULL;
}

static bool find_functions(void *handle, int version)
{
    struct tfd_icu *f = &library.functions;
    bool found = true;

#define X(name, type, parameters) \
    found = found && find_function(handle, #name, version, &f->name);
    TFD_ICU_FUNCTIONS(X)
#undef X
    return found;
}

static void load_library(void)
{
    for (int v = VERSION_NEWEST; v >= VERSION_OLDEST && !library.found; v--) {
        char name[32];
        void *handle;

        snprintf(name, sizeof(name), "libicuuc.so.%d", v);
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle && !(library.found = find_functions(handle, v)))
            dlclose(handle);
    }
}

enum tfd_code tfd_icu_get(const struct tfd_icu **out, struct tfd_status *st)
{
    if (pthread_once(&library.once, load_library) != 0 || !library.found)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "this op wants ICU (libicuuc.so.%d or later), which "
                        "is not installed where the server runs; in Debian 12 "
                        "it is the package libicu72",
                        VERSION_OLDEST);
    *out = &library.functions;
    return TFD_OK;
}
