/*
 * gemm_dnnl.c - products of floats by oneDNN.
 *
 * The library is large and most tasks need none of it, a ps above all, so it is
 * opened when the first large product comes, not when the process starts, and
 * tfd runs without it.  Its C interface has had this function unchanged in all
 * versions 2 and 3; the declaration is that of dnnl.h.
 *
 * It would share each product among threads of its own (OpenMP).  A caller is a
 * thread of the pool that has its piece already, so each is told to work alone;
 * that setting belongs to the thread and costs a store.
 */
#include "kernels/gemm.h"

#include <dlfcn.h>
#include <pthread.h>

typedef int sgemm_fn(char transa, char transb, int64_t m, int64_t n, int64_t k,
                     float alpha, const float *a, int64_t lda, const float *b,
                     int64_t ldb, float beta, float *c, int64_t ldc);
typedef void threads_fn(int count);

static struct {
    pthread_once_t once;
    sgemm_fn *sgemm; /* NULL: not installed */
    threads_fn *set_threads;
} library = {.once = PTHREAD_ONCE_INIT};

static const char *const names[] = {"libdnnl.so.2", "libdnnl.so.3"};

/* A function's address as C has it; dlsym() gives an object's. */
static void find(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
}

static void load(void)
{
    void *handle = NULL;

    for (size_t i = 0; !handle && i < sizeof(names) / sizeof(*names); i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    find(handle, "dnnl_sgemm", &library.sgemm);
    /* Of the OpenMP that the library itself is linked to; a build that has
     * none starts no threads. */
    find(handle, "omp_set_num_threads", &library.set_threads);
}

static char letter(bool transpose)
{
    return transpose ? 'T' : 'N';
}

bool tfd_gemm_dnnl(const struct tfd_gemm *g)
{
    if (pthread_once(&library.once, load) != 0 || !library.sgemm)
        return false;
    if (library.set_threads)
        library.set_threads(1);
    return library.sgemm(letter(g->transpose_a), letter(g->transpose_b), g->m,
                         g->n, g->k, 1, g->a, g->lda, g->b, g->ldb, g->add,
                         g->c, g->ldc) == 0;
}
