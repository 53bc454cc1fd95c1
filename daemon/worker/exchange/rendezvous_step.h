/*
 * rendezvous_step.h - the rendezvous of one step as the table of all steps has
 * it: what rendezvous.c and rendezvous_table.c share.  See rendezvous.h.
 *
 * The table owns it and its step borrows it; when it is cleaned up while the
 * step runs, the step has it alone until it ends and hands it back.  Only
 * memory may be missing, and each function says what happens then.
 *
 * Threads: these functions and the table's fields, the loop thread; what is the
 * lock's, any.
 */
#ifndef TFD_DAEMON_WORKER_RENDEZVOUS_STEP_H
#define TFD_DAEMON_WORKER_RENDEZVOUS_STEP_H

#include "common/thread/lock.h"
#include "daemon/worker/exchange/rendezvous.h"

struct tfd_rendezvous_entry;

struct tfd_rendezvous {
    int64_t step;
    struct tfd_lock lock;
    struct tfd_rendezvous_entry *entries; /* lock's, as what follows */
    size_t capacity, used;                /* used: entries that are not FREE */
    bool aborted;
    struct tfd_status status;
    /* the table's: loop thread */
    bool listed, has_begun;
    bool held; /* until it is cleaned up; among the users */
    int users; /* that run */
    size_t parked_size;
    uint32_t parked_count;
    int64_t since_us;
    struct tfd_rendezvous *next; /* among those kept */
};

/* Without entries yet; NULL without memory. */
struct tfd_rendezvous *tfd_rendezvous_new(void);
/* Nobody waits any more, and neither the table nor a step has it; values that
 * were left are dropped. */
void tfd_rendezvous_free(struct tfd_rendezvous *r);
/* The same, but it stays, as new and with the room it had. */
void tfd_rendezvous_reset(struct tfd_rendezvous *r);

/* Makes room for about so many keys, if there is memory. */
void tfd_rendezvous_reserve(struct tfd_rendezvous *r, int keys);
/* Nothing was left in it and nobody waits, nor was it aborted. */
bool tfd_rendezvous_is_empty(struct tfd_rendezvous *r);

#endif
