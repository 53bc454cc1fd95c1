/*
 * save_counts.h - what the ops that write checkpoints did in this process:
 * SaveV2, SaveSlices and Save, whoever runs them.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SAVE_COUNTS_H
#define TFD_KERNELS_SAVE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_save_counts {
    uint64_t saves, failures; /* the second: of those */
    uint64_t bytes;           /* of the tensors that were saved */
    uint64_t took_us;         /* the last that was good; 0: there was none */
    uint64_t wall_us;         /* when that ended, since 1970 */
};

void tfd_save_counts_add(uint64_t took_us, uint64_t bytes, bool failed);
void tfd_save_counts(struct tfd_save_counts *out);

#endif
