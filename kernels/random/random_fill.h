/*
 * random_fill.h - turns a Philox stream into the elements of a tensor: uniform,
 * uniform over integers, over all integers of a type, standard normal,
 * truncated normal; bit for bit what TensorFlow's CPU kernels make of the same
 * stream.
 *
 * Elements come in groups, one or more blocks of the stream each, and a group
 * depends on nothing but its number.  So a caller may fill ranges of groups in
 * any order, on any number of threads, and get the same tensor:
 *
 *     struct tfd_random_fill f = {generator, out, size, ...};
 *     rule = tfd_random_rule_find(TFD_RANDOM_NORMAL, TFD_FLOAT);
 *     rule->fill(&f, 0, tfd_random_groups(rule, size));
 *
 * How numbers are made from bits (bit layouts are those of IEEE 754):
 *
 *   uniform   random mantissa under the exponent of 1, minus 1: [0, 1)
 *   integers  lo + bits modulo (hi - lo), with the slight bias that has
 *   full      the bits themselves, for integers
 *   normal    Box and Muller, from two uniforms; u1 at least 1e-7
 *   truncated normals of absolute value below 2, others drawn again; each
 *             group has 64 blocks per element to draw from
 *
 * Logarithm, sine and cosine have the values of the C library's, as in
 * TensorFlow; those of floats are computed in vector lanes (vector_normal.h).
 * For half and bfloat16 they are computed in float and rounded.
 *
 * Threads: any; a fill writes only its groups' elements.
 */
#ifndef TFD_KERNELS_RANDOM_FILL_H
#define TFD_KERNELS_RANDOM_FILL_H

#include "common/base/tensor.h"
#include "kernels/random/philox_lanes.h"

enum tfd_random_kind {
    TFD_RANDOM_UNIFORM,
    TFD_RANDOM_UNIFORM_INT,
    TFD_RANDOM_FULL_INT,
    TFD_RANDOM_NORMAL,
    TFD_RANDOM_TRUNCATED_NORMAL,
};

struct tfd_random_fill {
    struct tfd_philox generator; /* at the start of the stream */
    void *out;                   /* `size` elements */
    int64_t size;
    int64_t lo, hi; /* UNIFORM_INT: lo < hi */
};

struct tfd_random_rule {
    enum tfd_random_kind kind;
    enum tfd_dtype dtype;
    int group_size;    /* elements */
    int group_cost_ns; /* rough time of one group */
    /* arg is a struct tfd_random_fill. */
    void (*fill)(void *arg, int64_t begin_group, int64_t end_group);
};

/* NULL when TensorFlow has no such kernel either. */
const struct tfd_random_rule *tfd_random_rule_find(enum tfd_random_kind kind,
                                                   enum tfd_dtype dtype);

int64_t tfd_random_groups(const struct tfd_random_rule *rule, int64_t size);

/* Two standard normals from a block; for samplers that draw as they go. */
void tfd_random_normals(const uint32_t x[4], double out[2]);
/* Four of floats from each of many blocks. */
void tfd_random_normals_lanes(const struct tfd_philox_lanes *l,
                              float out[4][TFD_PHILOX_LANES]);

#endif
