/*
 * machine.h - how much of this machine the process may use.
 *
 * A container sees all cores and all memory of its host; what it was granted
 * stands in its control group (version 2, and version 1 where that is all
 * there is).
 *
 * Threads: any; reads files, so not on the loop thread.
 */
#ifndef TFD_CONFIG_MACHINE_H
#define TFD_CONFIG_MACHINE_H

#include <stdint.h>

/* Cores: the smaller of the affinity mask and the group's quota, rounded up;
 * at least 1. */
int32_t tfd_machine_cores(void);

/* Bytes: the smaller of physical memory and the group's limit; 0 where neither
 * can be read. */
int64_t tfd_machine_memory(void);

/* The cores that a cpu.max such as "150000 100000" grants, rounded up; 0 for
 * no quota ("max 100000") and for anything else. */
int32_t tfd_machine_quota(const char *cpu_max);

#endif
