/*
 * dnnl.c - see dnnl.h.
 */
#define _GNU_SOURCE 1

#include "kernels/linalg/dnnl.h"

#include "common/base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void threads_fn(int count);

static struct {
    pthread_once_t once;
    struct tfd_dnnl functions;
    threads_fn *set_threads;
} library = {.once = PTHREAD_ONCE_INIT};

/* Primitives are those of the first. */
static const char *const names[] = {"libdnnl.so.2", "libdnnl.so.3"};

/* A function's address as C has it; dlsym() gives an object's. */
static bool find_dnnl(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
    return *(void **)function != NULL;
}

#if TFD_DNNL_PRIMITIVES
static void find_primitives(void *handle)
{
    struct tfd_dnnl *f = &library.functions;
    __typeof__(dnnl_engine_create) *create;
    bool found = find_dnnl(handle, "dnnl_engine_create", &create);

#define FIND(name) found = found && find_dnnl(handle, "dnnl_" #name, &f->name);
    TFD_DNNL_FUNCTIONS(FIND)
#undef FIND
    if (!found || create(&f->engine, dnnl_cpu, 0) != dnnl_success)
        f->engine = NULL;
    else /* what is kept is kept here (conv_primitives.h) */
        f->set_primitive_cache_capacity(0);
}
#endif

/* The library compiles while it runs, which a service may be denied; it would
 * not say so, but be of no use. */
static bool may_make_code(void)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool may;

    if (page == MAP_FAILED)
        return false;
    may = mprotect(page, size, PROT_READ | PROT_EXEC) == 0;
    munmap(page, size);
    return may;
}

static void load_library(void)
{
    void *handle = NULL;
    size_t i = 0;

    for (; !handle && i < sizeof(names) / sizeof(*names); i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    if (!may_make_code()) {
        tfd_log(TFD_LOG_INFO, "no_onednn",
                "why=\"memory may not become code (with systemd: "
                "MemoryDenyWriteExecute)\"");
        dlclose(handle);
        return;
    }
    find_dnnl(handle, "dnnl_sgemm", &library.functions.sgemm);
    /* Of the OpenMP that the library itself is linked to; a build that has
     * none starts no threads. */
    find_dnnl(handle, "omp_set_num_threads", &library.set_threads);
#if TFD_DNNL_PRIMITIVES
    if (i == 1)
        find_primitives(handle);
#endif
}

const struct tfd_dnnl *tfd_dnnl(void)
{
    if (pthread_once(&library.once, load_library) != 0 ||
        !library.functions.sgemm)
        return NULL;
    if (library.set_threads)
        library.set_threads(1);
    return &library.functions;
}

bool tfd_dnnl_has_primitives(void)
{
#if TFD_DNNL_PRIMITIVES
    return tfd_dnnl() && tfd_dnnl()->engine;
#else
    return false;
#endif
}

/* ---- Signals ------------------------------------------------------------- */

#define NUMBERS_END 32 /* of signals that are not for real time */

static bool blocks_all(const sigset_t *blocked)
{
    for (int number = 1; number < NUMBERS_END; number++)
        if (number != SIGKILL && number != SIGSTOP &&
            sigismember(blocked, number) != 1)
            return false;
    return true;
}

void tfd_dnnl_begin(struct tfd_dnnl_signals *s)
{
    static _Thread_local bool always;
    sigset_t all, before;

    _Static_assert(sizeof(before) <= sizeof(s->before), "it has room");
    s->changed = false;
    if (always)
        return;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    always = blocks_all(&before);
    s->changed = !always;
    memcpy(s->before, &before, sizeof(before));
}

void tfd_dnnl_end(const struct tfd_dnnl_signals *s)
{
    sigset_t before;

    if (!s->changed)
        return;
    memcpy(&before, s->before, sizeof(before));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
