/*
 * limits.c - what this machine can do at most, for tests/bench/ops: answers a
 * line of standard output to each line of standard input until that ends.
 *
 *     copy BYTES THREADS              GB/s of a[i] = b[i], read and written
 *     triad BYTES THREADS             GB/s of a[i] = b[i] + s * c[i]
 *     gemm float|double M N K         GFLOP/s of a product of matrices
 *     clock                           GHz, by a chain of products
 *
 * BYTES are those that one pass moves.  A thread works on its own part, as
 * often as the time allows; what counts is the best of a few short stretches,
 * as others may use the machine.  A product is OpenBLAS', or that of oneDNN
 * where its library is there and is faster; how many threads they use they are
 * told by the environment (OPENBLAS_NUM_THREADS, OMP_NUM_THREADS).
 */
#define _POSIX_C_SOURCE 200809L

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STRETCHES = 5, THREADS_MAX = 64 };
static const double STRETCH_SECONDS = 0.01;

/* Of oneDNN: the status is 0 where it computed. */
typedef int sgemm_fn(char, char, int64_t, int64_t, int64_t, float,
                     const float *, int64_t, const float *, int64_t, float,
                     float *, int64_t);

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *allocated(size_t size)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 64, size ? size : 64) != 0) {
        fprintf(stderr, "limits: no memory for %zu bytes\n", size);
        exit(1);
    }
    memset(memory, 0, size);
    return memory;
}

/* ---- Memory -------------------------------------------------------------- */

struct mover {
    pthread_t thread;
    float *a, *b, *c; /* c NULL: a copy */
    size_t count;
    double rate; /* passes a second */
};

static void move_once(const struct mover *m)
{
    float *restrict a = m->a;
    const float *restrict b = m->b, *restrict c = m->c;

    if (!c) {
        memcpy(a, b, m->count * sizeof *a);
        return;
    }
    for (size_t i = 0; i < m->count; i++)
        a[i] = b[i] + 3.0F * c[i];
}

/* A pass that nobody reads must not be left out. */
static void *move_repeatedly(void *arg)
{
    struct mover *m = arg;

    for (int s = 0; s < STRETCHES; s++) {
        double start = seconds_now(), took;
        int64_t passes = 0;

        do {
            move_once(m);
            __asm__ volatile("" : : "r"(m->a) : "memory");
            passes++;
            took = seconds_now() - start;
        } while (took < STRETCH_SECONDS);
        if ((double)passes / took > m->rate)
            m->rate = (double)passes / took;
    }
    return NULL;
}

static double memory_rate(bool triad, size_t bytes, int threads)
{
    struct mover movers[THREADS_MAX] = {0};
    size_t count = bytes / (triad ? 3 : 2) / sizeof(float) / (size_t)threads;
    double rate = 0;

    for (int t = 0; t < threads; t++) {
        struct mover *m = &movers[t];

        m->count = count;
        m->a = allocated(count * sizeof(float));
        m->b = allocated(count * sizeof(float));
        m->c = triad ? allocated(count * sizeof(float)) : NULL;
    }
    for (int t = 0; t < threads; t++)
        if (pthread_create(&movers[t].thread, NULL, move_repeatedly,
                           &movers[t]) != 0)
            exit(1);
    for (int t = 0; t < threads; t++) {
        pthread_join(movers[t].thread, NULL);
        rate +=
            movers[t].rate * (double)(count * sizeof(float)) * (triad ? 3 : 2);
        free(movers[t].a);
        free(movers[t].b);
        free(movers[t].c);
    }
    return rate * 1e-9;
}

/* ---- Products ------------------------------------------------------------ */

struct product {
    int m, n, k;
    void *a, *b, *c;
    sgemm_fn *dnnl; /* NULL: OpenBLAS */
    bool is_double;
};

static bool multiply(const struct product *p)
{
    if (p->dnnl)
        return p->dnnl('N', 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0,
                       p->c, p->n) == 0;
    if (p->is_double)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k,
                    1, p->a, p->k, p->b, p->n, 0, p->c, p->n);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k,
                    1, p->a, p->k, p->b, p->n, 0, p->c, p->n);
    return true;
}

/* Products a second; 0 where the library refuses. */
static double product_rate(const struct product *p)
{
    double best = 0;

    if (!multiply(p))
        return 0;
    for (int s = 0; s < STRETCHES; s++) {
        double start = seconds_now(), took;
        int64_t passes = 0;

        do {
            (void)multiply(p);
            passes++;
            took = seconds_now() - start;
        } while (took < STRETCH_SECONDS);
        if ((double)passes / took > best)
            best = (double)passes / took;
    }
    return best;
}

static sgemm_fn *dnnl_sgemm(void)
{
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2"};
    sgemm_fn *found = NULL;

    for (int i = 0; i < 2 && !found; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library)
            *(void **)&found = dlsym(library, "dnnl_sgemm");
    }
    return found;
}

static double gemm_rate(const char *type, int m, int n, int k)
{
    struct product p = {.m = m, .n = n, .k = k};
    size_t size = strcmp(type, "double") == 0 ? sizeof(double) : sizeof(float);
    double best, other;

    p.is_double = size == sizeof(double);
    p.a = allocated((size_t)m * (size_t)k * size);
    p.b = allocated((size_t)k * (size_t)n * size);
    p.c = allocated((size_t)m * (size_t)n * size);
    best = product_rate(&p);
    if (!p.is_double && (p.dnnl = dnnl_sgemm())) {
        other = product_rate(&p);
        best = other > best ? other : best;
    }
    free(p.a);
    free(p.b);
    free(p.c);
    return best * 2e-9 * m * n * k;
}

/* ---- The clock ----------------------------------------------------------- */

/* A product that waits for the one before it takes three cycles, on what has
 * vectors of 32 bytes; additions of constants may take none. */
static double clock_rate(void)
{
    enum { CHAIN = 8, CYCLES = 3, TIMES = 1 << 18 };
    double best = 0;

    for (int s = 0; s < STRETCHES; s++) {
        double start = seconds_now(), rate;
        uint64_t x = (uint64_t)s + 1;

        for (int i = 0; i < TIMES; i++)
            for (int j = 0; j < CHAIN; j++) {
                x *= 0x9E3779B97F4A7C15;
                __asm__ volatile("" : "+r"(x));
            }
        rate = (double)CHAIN * CYCLES * TIMES / (seconds_now() - start);
        best = rate > best ? rate : best;
    }
    return best * 1e-9;
}

/* ---- Questions ----------------------------------------------------------- */

static bool answer(const char *line)
{
    char type[8];
    unsigned long long bytes;
    int m, n, k, threads;

    if (strcmp(line, "clock\n") == 0)
        printf("%.3f\n", clock_rate());
    else if ((sscanf(line, "copy %llu %d", &bytes, &threads) == 2 ||
              sscanf(line, "triad %llu %d", &bytes, &threads) == 2) &&
             threads >= 1 && threads <= THREADS_MAX)
        printf("%.3f\n", memory_rate(line[0] == 't', bytes, threads));
    else if (sscanf(line, "gemm %7s %d %d %d", type, &m, &n, &k) == 4 &&
             m > 0 && n > 0 && k > 0)
        printf("%.3f\n", gemm_rate(type, m, n, k));
    else
        return false;
    return fflush(stdout) == 0;
}

int main(void)
{
    char line[128];

    while (fgets(line, sizeof line, stdin))
        if (!answer(line)) {
            fprintf(stderr, "limits: what is %s", line);
            return 1;
        }
    return 0;
}
