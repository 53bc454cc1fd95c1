/*
 * machine.c - see machine.h.
 *
 * Limits of parent groups apply too, so the smallest value on the way from the
 * process's group to the root counts.
 */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "config/machine.h"

#include "config/limits.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define PATH_SIZE 4352

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "re");
    bool ok;

    if (!f)
        return false;
    ok = fgets(line, (int)size, f) != NULL;
    fclose(f);
    return ok;
}

/* The path of the process's group below ROOT, from a line "0::/path". */
static bool own_group(char *group, size_t size)
{
    char line[PATH_SIZE];
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool found = false;

    if (!f)
        return false;
    while (!found && fgets(line, sizeof(line), f)) {
        found = strncmp(line, "0::/", 4) == 0;
        if (found)
            snprintf(group, size, "%.*s", (int)strcspn(line + 3, "\n"),
                     line + 3);
    }
    fclose(f);
    return found;
}

int32_t tfd_machine_quota(const char *cpu_max)
{
    char *end;
    int64_t quota = strtoll(cpu_max, &end, 10);
    int64_t period = strtoll(end, NULL, 10);

    if (quota <= 0 || period <= 0 || quota > INT64_MAX - period)
        return 0;
    quota = (quota + period - 1) / period;
    return quota > TFD_THREADS_MAX ? TFD_THREADS_MAX : (int32_t)quota;
}

static int64_t memory_of(const char *line)
{
    char *end;
    int64_t bytes = strtoll(line, &end, 10);

    return end == line || bytes <= 0 ? 0 : bytes;
}

static int64_t quota_of(const char *line)
{
    return tfd_machine_quota(line);
}

/* The smallest value above 0 of `file` in the own group and all above it. */
static int64_t smallest_in_groups(const char *file,
                                  int64_t (*read)(const char *line))
{
    char group[PATH_SIZE - 256];
    char path[PATH_SIZE];
    char line[128];
    int64_t least = 0;
    char *slash = group;

    if (!own_group(group, sizeof(group)))
        return 0;
    while (slash) {
        int64_t value = 0;

        snprintf(path, sizeof(path), ROOT "%s/%s", group, file);
        if (read_line(path, line, sizeof(line)))
            value = read(line);
        if (value > 0 && (least == 0 || value < least))
            least = value;
        slash = strrchr(group, '/');
        if (slash)
            *slash = '\0';
    }
    return least;
}

static int64_t quota_v1(void)
{
    char quota[64], period[64], both[160];

    if (!read_line(ROOT "/cpu/cpu.cfs_quota_us", quota, sizeof(quota)) ||
        !read_line(ROOT "/cpu/cpu.cfs_period_us", period, sizeof(period)))
        return 0;
    snprintf(both, sizeof(both), "%.*s %s", (int)strcspn(quota, "\n"), quota,
             period);
    return tfd_machine_quota(both);
}

int32_t tfd_machine_cores(void)
{
    int64_t quota = smallest_in_groups("cpu.max", quota_of);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t cores = online < 1 ? 1 : online;
    cpu_set_t mask;

    if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
        cores = CPU_COUNT(&mask);
    if (quota == 0)
        quota = quota_v1();
    if (quota > 0 && quota < cores)
        cores = quota;
    return cores > TFD_THREADS_MAX ? TFD_THREADS_MAX : (int32_t)cores;
}

int64_t tfd_machine_memory(void)
{
    int64_t limit = smallest_in_groups("memory.max", memory_of);
    int64_t pages = sysconf(_SC_PHYS_PAGES);
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t physical = pages > 0 && page > 0 ? pages * page : 0;
    char line[64];

    if (limit == 0 &&
        read_line(ROOT "/memory/memory.limit_in_bytes", line, sizeof(line)))
        limit = memory_of(line);
    if (limit == 0 || (physical > 0 && physical < limit))
        return physical;
    return limit;
}
