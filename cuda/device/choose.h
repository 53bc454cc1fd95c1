/*
 * choose.h - which GPUs a task takes, and how much of their memory.
 *
 *     CUDA_VISIBLE_DEVICES   what the driver shows to this process at all
 *     visible                of those, the ones to take, in this order
 *     virtual_limits         several devices within one
 *
 * Rules and texts of errors are TensorFlow's (GPUOptions).  Pure, but for what
 * it asks of the driver's table.
 *
 * Threads: any.
 */
#ifndef TFD_CUDA_CHOOSE_H
#define TFD_CUDA_CHOOSE_H

#include "cuda/device/driver.h"

#define TFD_CUDA_DEVICES_MAX 32

/* Whether kernels are captured and launched together (capture.h). */
enum tfd_cuda_graphs {
    TFD_CUDA_GRAPHS_AUTO, /* where a trial shows that it pays */
    TFD_CUDA_GRAPHS_ON,
    TFD_CUDA_GRAPHS_OFF,
};

struct tfd_cuda_options {
    int count_max;           /* cards; -1: all */
    const char *environment; /* CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *visible;     /* "1,0"; NULL or "": all */
    /* TF_MIN_GPU_MULTIPROCESSOR_COUNT: cards with fewer are left out; NULL or
     * "": those with fewer than 8 are, beside a larger one */
    const char *processors_min;
    int64_t memory_limit;   /* bytes of each device; 0: as follows */
    double memory_fraction; /* of all memory; 0: nearly all that is free */
    bool allow_growth;
    enum tfd_cuda_graphs graphs;
    /* "1024,2048;4096": MiB of the devices within each GPU; NULL or "": one */
    const char *virtual_limits;
};

struct tfd_cuda_choice {
    int ordinal;
    size_t memory_limit;
};

struct tfd_cuda_choices {
    struct tfd_cuda_choice choice[TFD_CUDA_DEVICES_MAX];
    int count;
    int physical;   /* GPUs that the driver shows */
    char why[2048]; /* there is none, or which were left out; "" */
};

/* Whether CUDA_VISIBLE_DEVICES shows no GPU whatever the driver has: its list
 * ends at the first entry that is neither a number nor a name. */
bool tfd_cuda_hides_all(const char *environment);

/* As TensorFlow writes it; programs take it apart. */
void tfd_cuda_describe(int ordinal, const struct tfd_cuda_properties *p,
                       char *out, size_t size);

/* Finds out; count 0 with a reason is no failure.  driver NULL: a build without
 * CUDA.  INVALID_ARGUMENT for options that say nothing sensible. */
enum tfd_code tfd_cuda_choose(const struct tfd_cuda_driver *driver,
                              const struct tfd_cuda_options *o,
                              struct tfd_cuda_choices *out,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
