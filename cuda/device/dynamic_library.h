/*
 * dynamic_library.h - libraries of CUDA that are opened and not linked, so that
 * the same program serves where they are not installed: cuBLAS, cuDNN.
 *
 * Ownership: a library stays open until the process ends; opening it again
 * costs nothing.
 * Threads: any.
 */
#ifndef TFD_CUDA_DYNAMIC_LIBRARY_H
#define TFD_CUDA_DYNAMIC_LIBRARY_H

#include "common/base/status.h"

#include <stdbool.h>

#define TFD_CUDA_LIBRARY_NAMES 3

struct tfd_cuda_wanted {
    const char *title;                         /* "cuDNN" */
    const char *version;                       /* "9": for who reads an error */
    const char *names[TFD_CUDA_LIBRARY_NAMES]; /* the first that opens; NULL */
};

/* A function of it. */
struct tfd_cuda_symbol {
    const char *name;
    void *at; /* where its address goes, which is as large as a pointer */
};

/* UNIMPLEMENTED with the names that were tried and the linker's reason. */
enum tfd_code tfd_cuda_library_open(const struct tfd_cuda_wanted *w,
                                    void **handle,
                                    struct tfd_status *st) TFD_MUST_USE;
/* False, and NULL at s->at, when there is none. */
bool tfd_cuda_library_find(void *handle, const struct tfd_cuda_symbol *s);
/* UNIMPLEMENTED names the first that is missing. */
enum tfd_code tfd_cuda_library_find_all(void *handle,
                                        const struct tfd_cuda_wanted *w,
                                        const struct tfd_cuda_symbol *symbols,
                                        int count,
                                        struct tfd_status *st) TFD_MUST_USE;

/* Whether what kernels need is there; of matmul.cu and dnn_library.cu, for the
 * tables of driver.h. */
enum tfd_code tfd_cuda_blas_check(struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_cuda_dnn_check(struct tfd_status *st) TFD_MUST_USE;

#endif
