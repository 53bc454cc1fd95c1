/*
 * npy_head.h - the head of a file .npy: a dictionary as Python writes it.
 *
 * Threads: any.
 */
#ifndef TFD_TOOLS_NPY_HEAD_H
#define TFD_TOOLS_NPY_HEAD_H

#include "common/base/str.h"
#include "common/base/tensor.h"

#define TFD_CTL_NPY_HEAD_MAX ((size_t)64 << 10)
#define TFD_CTL_NPY_ITEM_MAX (INT64_C(1) << 30)

struct tfd_ctl_npy_head {
    enum tfd_dtype dtype;
    int64_t item_size; /* bytes in the file */
    char kind;         /* of NumPy: b i u f c S U V */
    bool swapped;      /* the file's bytes are the other way round */
    bool fortran;      /* the first dimension changes first */
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

/* INVALID_ARGUMENT saying what is wrong with it. */
enum tfd_code tfd_ctl_npy_head_read(struct tfd_str text,
                                    struct tfd_ctl_npy_head *h,
                                    struct tfd_status *st) TFD_MUST_USE;

/* Appends it, with all that is in front of the elements. */
enum tfd_code tfd_ctl_npy_head_write(const struct tfd_tensor *t,
                                     int64_t string_size, struct tfd_bytes *b,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
