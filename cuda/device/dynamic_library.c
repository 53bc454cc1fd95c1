/*
 * dynamic_library.c - see dynamic_library.h.
 */
#include "cuda/device/dynamic_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* "NAME: cannot open shared object file" is what all names have that are
 * nowhere; a file that is there and cannot be opened, or lacks another, says
 * more. */
static void keep_reason(const char *name, char *reason, size_t size)
{
    const char *error = dlerror();
    char nowhere[128];

    snprintf(nowhere, sizeof(nowhere), "%s: cannot open", name);
    if (error && (!*reason || strncmp(error, nowhere, strlen(nowhere)) != 0))
        snprintf(reason, size, "%s", error);
}

static void list_names(const struct tfd_cuda_wanted *w, char *out, size_t size)
{
    size_t used = 0;

    for (int i = 0; i < TFD_CUDA_LIBRARY_NAMES && w->names[i]; i++)
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     i ? ", " : "", w->names[i]);
}

enum tfd_code tfd_cuda_library_open(const struct tfd_cuda_wanted *w,
                                    void **handle, struct tfd_status *st)
{
    char reason[512] = "", names[128] = "";

    *handle = NULL;
    for (int i = 0; i < TFD_CUDA_LIBRARY_NAMES && w->names[i]; i++) {
        *handle = dlopen(w->names[i], RTLD_NOW | RTLD_LOCAL);
        if (*handle)
            return TFD_OK;
        keep_reason(w->names[i], reason, sizeof(reason));
    }
    list_names(w, names, sizeof(names));
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "%s cannot be opened, tried %s: %s; version %s is needed",
                    w->title, names, reason, w->version);
}

bool tfd_cuda_library_find(void *handle, const struct tfd_cuda_symbol *s)
{
    void *f = dlsym(handle, s->name);

    /* An object and a function's address are alike to dlsym(). */
    memcpy(s->at, &f, sizeof(f));
    return f != NULL;
}

enum tfd_code tfd_cuda_library_find_all(void *handle,
                                        const struct tfd_cuda_wanted *w,
                                        const struct tfd_cuda_symbol *symbols,
                                        int count, struct tfd_status *st)
{
    for (int i = 0; i < count; i++)
        if (!tfd_cuda_library_find(handle, &symbols[i]))
            return tfd_fail(st, TFD_UNIMPLEMENTED,
                            "this %s has no %s; version %s is needed", w->title,
                            symbols[i].name, w->version);
    return TFD_OK;
}
