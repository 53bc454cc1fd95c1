/*
 * sdca_examples.h - the inputs of an SdcaOptimizer, checked and laid out for
 * its steps.
 *
 * Everything points into the kernel's inputs and outputs, but for one block of
 * memory that is counted as a tensor's is.
 *
 * Threads: the kernel's.
 */
#ifndef TFD_KERNELS_SDCA_EXAMPLES_H
#define TFD_KERNELS_SDCA_EXAMPLES_H

#include "kernels/core/kernel.h"

struct tfd_sdca_counts {
    int sparse, valued, dense; /* groups of features */
};

struct tfd_sdca_sparse {
    const int64_t *run;  /* [examples + 1]: where each one's features begin */
    int64_t *place;      /* by feature: of its weight */
    const float *values; /* NULL: 1 */
    const float *weights;
    float *deltas;
};

struct tfd_sdca_dense {
    const float *x;
    int64_t features;
    const float *weights;
    float *deltas;
};

struct tfd_sdca_data {
    int64_t examples;
    const float *labels, *example_weights;
    float *states; /* four of each example */
    double *norms; /* squares of the lengths of examples */
    int64_t *order, *taken;
    double *worths; /* two of each example */
    struct tfd_sdca_sparse *sparse;
    struct tfd_sdca_dense *dense;
    struct tfd_tensor memory;
};

/* The numbers of groups; at least one. */
enum tfd_code tfd_sdca_count(const struct tfd_node *n,
                             struct tfd_sdca_counts *out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Makes the outputs: deltas of zero, and the examples' states as they came.
 * tfd_sdca_drop() follows in any case. */
enum tfd_code tfd_sdca_read(struct tfd_kctx *k, const struct tfd_sdca_counts *c,
                            struct tfd_sdca_data *d,
                            struct tfd_status *st) TFD_MUST_USE;
void tfd_sdca_drop(struct tfd_sdca_data *d);

#endif
