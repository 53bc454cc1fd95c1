/*
 * dnnl.h - oneDNN's functions, opened when one is first wanted.
 *
 * The library is large and most tasks need none of it, a ps above all, so it is
 * opened when the first large product or convolution comes, not when the
 * process starts, and tfd runs without it.  It compiles what it runs: a process
 * that may not do that is told so at INFO, once, and does not open it.
 *
 * Products are one function that versions 2 and 3 both have.  Convolutions are
 * "primitives", whose interface is another in each version: they are there when
 * tfd was built with the headers of version 2 and finds that version.
 *
 * It would share each call among threads of its own (OpenMP).  A caller is a
 * thread of the pool that has its piece already, so each is told to work alone;
 * that setting belongs to the thread and costs a store.
 *
 * A kernel of its products uses the stack pointer for its workspace, so the
 * frame of a signal that came then would be written over the heap below: calls
 * that compute stand between tfd_dnnl_begin() and tfd_dnnl_end(), which keep
 * signals away from the thread.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DNNL_H
#define TFD_KERNELS_DNNL_H

#include <stdbool.h>
#include <stdint.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define TFD_DNNL_PRIMITIVES (DNNL_VERSION_MAJOR == 2)
#else
#define TFD_DNNL_PRIMITIVES 0
#endif

struct tfd_dnnl {
    /* Matrices lie row-major, as in gemm.h. */
    int (*sgemm)(char transa, char transb, int64_t m, int64_t n, int64_t k,
                 float alpha, const float *a, int64_t lda, const float *b,
                 int64_t ldb, float beta, float *c, int64_t ldc);
#if TFD_DNNL_PRIMITIVES
    dnnl_engine_t engine; /* this machine's CPU; NULL: no primitives */
#define TFD_DNNL_FUNCTIONS(F)                         \
    F(dilated_convolution_forward_desc_init)          \
    F(dilated_convolution_backward_data_desc_init)    \
    F(dilated_convolution_backward_weights_desc_init) \
    F(primitive_desc_create)                          \
    F(primitive_desc_destroy)                         \
    F(primitive_desc_query)                           \
    F(primitive_desc_query_md)                        \
    F(primitive_create)                               \
    F(primitive_destroy)                              \
    F(primitive_execute)                              \
    F(primitive_attr_create)                          \
    F(primitive_attr_destroy)                         \
    F(primitive_attr_set_scratchpad_mode)             \
    F(reorder_primitive_desc_create)                  \
    F(memory_desc_init_by_tag)                        \
    F(memory_desc_get_size)                           \
    F(memory_desc_equal)                              \
    F(memory_create)                                  \
    F(memory_destroy)                                 \
    F(memory_set_data_handle)                         \
    F(set_primitive_cache_capacity)                   \
    F(stream_create)                                  \
    F(stream_destroy)
#define TFD_DNNL_MEMBER(name) __typeof__(dnnl_##name) *name;
    TFD_DNNL_FUNCTIONS(TFD_DNNL_MEMBER)
#endif
};

/* NULL: not installed, or not allowed.  Else the calling thread has been told
 * to work alone. */
const struct tfd_dnnl *tfd_dnnl(void);
bool tfd_dnnl_has_primitives(void);

/* What the calling thread had blocked before: a sigset_t. */
struct tfd_dnnl_signals {
    uint64_t before[16];
    bool changed;
};

/* Costs a system call each; nothing on threads that block all signals for good,
 * as those of the pool do. */
void tfd_dnnl_begin(struct tfd_dnnl_signals *s);
void tfd_dnnl_end(const struct tfd_dnnl_signals *s);

#endif
