/*
 * jpeg_library.c - see jpeg_library.h.
 */
#include "kernels/codec/jpeg_library.h"

#if TFD_HAS_JPEG
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct {
    pthread_once_t once;
    struct tfd_jpeg functions;
    const char *lacks; /* NULL: it is there */
} library = {.once = PTHREAD_ONCE_INIT};

/* A function's address as C has it; dlsym() gives an object's. */
static void find_jpeg(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
    if (!*(void **)function && !library.lacks)
        library.lacks = name;
}

static void load_jpeg(void)
{
    void *handle = dlopen("libjpeg.so.62", RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        library.lacks = "libjpeg.so.62";
        return;
    }
#define FIND(name) find_jpeg(handle, "jpeg_" #name, &library.functions.name);
    TFD_JPEG_FUNCTIONS(FIND)
#undef FIND
}

enum tfd_code tfd_jpeg_library(const struct tfd_jpeg **out,
                               struct tfd_status *st)
{
    if (pthread_once(&library.once, load_jpeg) != 0)
        return tfd_fail(st, TFD_INTERNAL, "libjpeg cannot be opened");
    if (library.lacks)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "libjpeg-turbo is not installed here (no %s); of "
                        "Debian's packages it is libjpeg62-turbo",
                        library.lacks);
    *out = &library.functions;
    return TFD_OK;
}
#else
typedef int tfd_no_jpeg; /* C wants something in a file */
#endif
