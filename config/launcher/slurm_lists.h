/*
 * slurm_lists.h - the two lists in which Slurm tells a step's tasks where the
 * others are (srun(1), OUTPUT ENVIRONMENT VARIABLES):
 *
 *     hosts     n[1-3,08-10],m5,rack[2-4]-eth    one after the other, as named
 *     counts    2(x3),1                          2, 2, 2, 1
 *
 * A range has as many digits as its first number is written with.  A host has
 * one pair of brackets at most, as Slurm writes them.
 *
 * Both are read from the front, entry by entry, and need no memory; whoever
 * reads them ends at a limit of their own.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_LAUNCHER_SLURM_LISTS_H
#define TFD_CONFIG_LAUNCHER_SLURM_LISTS_H

#include "common/base/status.h"
#include "config/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct tfd_slurm_hosts {
    const char *rest;   /* of the list, behind the entry that is read */
    const char *prefix; /* of that entry */
    const char *ranges; /* what is not read of its brackets; NULL: none */
    const char *suffix;
    int prefix_size, suffix_size;
    int64_t number, last; /* of the range that is read */
    int digits;
};

struct tfd_slurm_counts {
    const char *rest;
    int64_t count;
    int64_t left; /* how often it is still to be had */
};

/* Lists are borrowed for as long as they are read. */
void tfd_slurm_hosts_init(struct tfd_slurm_hosts *h, const char *list);
void tfd_slurm_counts_init(struct tfd_slurm_counts *c, const char *list);

/* The next host; *end and an empty one behind the last.  INVALID_ARGUMENT with
 * a text for report.h where the list cannot be read. */
enum tfd_code tfd_slurm_hosts_next(struct tfd_slurm_hosts *h,
                                   char host[TFD_HOST_SIZE_MAX + 1], bool *end,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The next count, from 1 to TFD_TASKS_MAX; 0 behind the last. */
enum tfd_code tfd_slurm_counts_next(struct tfd_slurm_counts *c, int64_t *count,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
