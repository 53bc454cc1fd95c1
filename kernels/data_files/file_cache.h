/*
 * file_cache.h - a dataset's elements kept in files: the first complete pass
 * writes them, later passes read them, in this program or another.
 *
 * The files are a bundle as TensorFlow's caches are: element 3's second tensor
 * has the key "      3_1".  While a pass writes, NAME_0.lockfile says so, and
 * another that would write is refused.  A pass that ends early leaves nothing.
 *
 * Threads: as for the iterators of any dataset (kernels/data/dataset.h).
 */
#ifndef TFD_KERNELS_DATA_FILES_FILE_CACHE_H
#define TFD_KERNELS_DATA_FILES_FILE_CACHE_H

#include "kernels/data/maker.h"

/* Output 0 is the dataset in input 0, cached in files of this name. */
enum tfd_code tfd_file_cache_make(struct tfd_kctx *k, struct tfd_str name,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
