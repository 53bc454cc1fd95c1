/*
 * lapack.h - the routines of LAPACK that kernels call, by the names of their
 * Fortran symbols, which OpenBLAS has.
 *
 * Matrices lie column after column.  Arguments are what the routines' manual
 * pages say; lengths of one-letter texts come last, as Fortran compilers pass
 * them.  Threads: any.
 */
#ifndef TFD_KERNELS_LAPACK_H
#define TFD_KERNELS_LAPACK_H

#include "common/base/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* p: the letter of the type, T: the type, R: of its real numbers, q: "or" or
 * "un", the letters of orthogonal matrices. */
#define TFD_LAPACK_COMMON(p, T, R, q)                                        \
    void p##geqrf_(const int *m, const int *n, T *a, const int *lda, T *tau, \
                   T *work, const int *lwork, int *info);                    \
    void p##q##gqr_(const int *m, const int *n, const int *k, T *a,          \
                    const int *lda, const T *tau, T *work, const int *lwork, \
                    int *info);                                              \
    void p##potrf_(const char *uplo, const int *n, T *a, const int *lda,     \
                   int *info, size_t uplo_size);                             \
    void p##getrf_(const int *m, const int *n, T *a, const int *lda,         \
                   int *pivots, int *info);                                  \
    void p##getrs_(const char *trans, const int *n, const int *nrhs,         \
                   const T *a, const int *lda, const int *pivots, T *b,      \
                   const int *ldb, int *info, size_t trans_size);

/* The same, of solvers. */
#define TFD_LAPACK_SOLVE(p, T)                                       \
    void p##potrs_(const char *uplo, const int *n, const int *nrhs,  \
                   const T *a, const int *lda, T *b, const int *ldb, \
                   int *info, size_t uplo_size);

#define TFD_LAPACK_REAL(p, T)                                                  \
    TFD_LAPACK_COMMON(p, T, T, or)                                             \
    TFD_LAPACK_SOLVE(p, T)                                                     \
    void p##gelsy_(const int *m, const int *n, const int *nrhs, T *a,          \
                   const int *lda, T *b, const int *ldb, int *jpvt,            \
                   const T *rcond, int *rank, T *work, const int *lwork,       \
                   int *info);                                                 \
    void p##syevd_(const char *jobz, const char *uplo, const int *n, T *a,     \
                   const int *lda, T *w, T *work, const int *lwork,            \
                   int *iwork, const int *liwork, int *info, size_t jobz_size, \
                   size_t uplo_size);                                          \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a,         \
                   const int *lda, T *s, T *u, const int *ldu, T *vt,          \
                   const int *ldvt, T *work, const int *lwork, int *iwork,     \
                   int *info, size_t jobz_size);

#define TFD_LAPACK_COMPLEX(p, T, R)                                           \
    TFD_LAPACK_COMMON(p, T, R, un)                                            \
    TFD_LAPACK_SOLVE(p, T)                                                    \
    void p##gelsy_(const int *m, const int *n, const int *nrhs, T *a,         \
                   const int *lda, T *b, const int *ldb, int *jpvt,           \
                   const R *rcond, int *rank, T *work, const int *lwork,      \
                   R *rwork, int *info);                                      \
    void p##heevd_(const char *jobz, const char *uplo, const int *n, T *a,    \
                   const int *lda, R *w, T *work, const int *lwork, R *rwork, \
                   const int *lrwork, int *iwork, const int *liwork,          \
                   int *info, size_t jobz_size, size_t uplo_size);            \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a,        \
                   const int *lda, R *s, T *u, const int *ldu, T *vt,         \
                   const int *ldvt, T *work, const int *lwork, R *rwork,      \
                   int *iwork, int *info, size_t jobz_size);                  \
    void p##geev_(const char *jobvl, const char *jobvr, const int *n, T *a,   \
                  const int *lda, T *w, T *vl, const int *ldvl, T *vr,        \
                  const int *ldvr, T *work, const int *lwork, R *rwork,       \
                  int *info, size_t jobvl_size, size_t jobvr_size);

TFD_LAPACK_REAL(s, float)
TFD_LAPACK_REAL(d, double)
TFD_LAPACK_COMPLEX(c, tfd_complex64, float)
TFD_LAPACK_COMPLEX(z, tfd_complex128, double)
void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a,
            const int *lda, double *wr, double *wi, double *vl, const int *ldvl,
            double *vr, const int *ldvr, double *work, const int *lwork,
            int *info, size_t jobvl_size, size_t jobvr_size);
/* `select` is not called where sort is "N". */
void zgees_(const char *jobvs, const char *sort,
            int (*select)(const tfd_complex128 *), const int *n,
            tfd_complex128 *a, const int *lda, int *sdim, tfd_complex128 *w,
            tfd_complex128 *vs, const int *ldvs, tfd_complex128 *work,
            const int *lwork, double *rwork, int *bwork, int *info,
            size_t jobvs_size, size_t sort_size);

#ifdef __cplusplus
}
#endif

#endif
