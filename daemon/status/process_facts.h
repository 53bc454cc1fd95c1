/*
 * process_facts.h - what the kernel says of this process, by the names that
 * Prometheus' own libraries give it.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_STATUS_PROCESS_FACTS_H
#define TFD_DAEMON_STATUS_PROCESS_FACTS_H

struct tfd_process_facts { /* 0: /proc does not say */
    double cpu_seconds;    /* user and system, since the start */
    double open_fds;
    double max_fds; /* the soft limit; -1: none */
    double virtual_bytes, resident_bytes;
    double threads;
    double start_seconds; /* since 1970 */
};

void tfd_process_facts(struct tfd_process_facts *out);

#endif
