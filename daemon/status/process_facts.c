/*
 * process_facts.c - see process_facts.h.  /proc/self/stat is "PID (NAME) STATE
 * ...", in proc(5); the name may hold anything, and fields are counted from its
 * last bracket.
 */
#define _GNU_SOURCE 1
#include "daemon/status/process_facts.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n;

    if (!f)
        return false;
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
    return n > 0;
}

/* When the system was started, since 1970.  The file counts the interrupts of
 * each processor, which takes long where there are many: it is read once. */
static double boot_seconds;
static pthread_once_t boot_once = PTHREAD_ONCE_INIT;

static void find_boot(void)
{
    char text[8192];
    const char *at;
    unsigned long long seconds = 0;
    FILE *f = fopen("/proc/stat", "re");

    if (!f)
        return;
    while (fgets(text, sizeof(text), f)) {
        at = strstr(text, "btime ");
        if (at == text && sscanf(at, "btime %llu", &seconds) == 1)
            break;
    }
    fclose(f);
    boot_seconds = (double)seconds;
}

static void read_stat(struct tfd_process_facts *out)
{
    char text[2048];
    const char *at;
    unsigned long long user, system, threads, start, size;
    long long resident;
    double tick = (double)sysconf(_SC_CLK_TCK);

    if (!read_text("/proc/self/stat", text, sizeof(text)))
        return;
    at = strrchr(text, ')');
    if (!at || sscanf(at,
                      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu "
                      "%*d %*d %*d %*d %llu %*d %llu %llu %lld",
                      &user, &system, &threads, &start, &size, &resident) != 6)
        return;
    out->cpu_seconds = (double)(user + system) / tick;
    out->threads = (double)threads;
    out->virtual_bytes = (double)size;
    out->resident_bytes = (double)resident * (double)sysconf(_SC_PAGESIZE);
    (void)pthread_once(&boot_once, find_boot);
    out->start_seconds = boot_seconds + (double)start / tick;
}

/* Since Linux 6.2 the folder's size is how many there are.  To read a thousand
 * names of it takes a third of a millisecond; without the one that is read,
 * then. */
static double count_fds(void)
{
    struct stat folder;
    DIR *d;
    int count = -1;

    if (stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0)
        return (double)folder.st_size;
    d = opendir("/proc/self/fd");
    if (!d)
        return 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

void tfd_process_facts(struct tfd_process_facts *out)
{
    struct rlimit files;

    memset(out, 0, sizeof(*out));
    read_stat(out);
    out->open_fds = count_fds();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->max_fds =
            files.rlim_cur == RLIM_INFINITY ? -1 : (double)files.rlim_cur;
}
