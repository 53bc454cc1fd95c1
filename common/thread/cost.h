/*
 * cost.h - what it costs to hand work to a thread, to wake one, and to move a
 * byte: the figures by which the program decides whether work is shared.
 *
 *     hop      a job goes to a thread that is awake, and its result comes back
 *     wake     from waking a thread that sleeps until it runs
 *     copy     a byte from a core's second level cache, and from further away
 *
 * The figures are constants, so that a program decides alike in every run and
 * on every machine; what a machine really has, tfd_cost_probe() measures, and
 * --print_config shows both.  They were found on servers of several kinds,
 * virtual ones among them; being wrong by a factor of two costs little, since
 * whatever is near such a limit takes about as long either way.
 *
 * Decided by them: which steps stay on the loop thread (executor.c), which
 * nodes are worth another thread (node_cost.c), how long a step has a thread
 * (runner.c), how loops are cut (kctx_parallel.c), and what a wait was
 * (spin.c). docs/decisions/0009-cost-constants.md says why they are no measured
 * ones.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_COST_H
#define TFD_COMMON_COST_H

#include <stdint.h>
#include <stdio.h>

#define TFD_COST_HOP_NS 5000
#define TFD_COST_WAKE_NS 60000
#define TFD_COST_COPY_NEAR_PS 12
#define TFD_COST_COPY_FAR_PS 40

/* As measured; 0: this machine would not tell (no thread, no memory). */
struct tfd_cost {
    int64_t hop_ns, wake_ns;
    int64_t copy_near_ps, copy_far_ps;
};

/* Takes a few milliseconds, and a thread and 8 MiB meanwhile. */
void tfd_cost_probe(struct tfd_cost *out);
/* A line for each figure: what is reckoned with, and what was measured. */
void tfd_cost_print(const struct tfd_cost *c, FILE *to);

#endif
