/*
 * crew.h - threads for work that waits: for a disk, for a step, for a buffer
 * with room.
 *
 * A compute thread must not wait, so what has to gets one of these.  A thread
 * is made when none is idle and ends when enough others are; there are no more
 * than `max`.  A job may wait for another job, as each has a thread of its own.
 *
 *     struct reader { struct tfd_job job; ... };
 *     reader->job.run = reader_run;
 *     TFD_TRY(tfd_crew_submit(crew, &reader->job, st));
 *
 * Threads: any may submit.  Not under a lock of rank TFD_LOCK_POOL or further
 * in.
 */
#ifndef TFD_COMMON_CREW_H
#define TFD_COMMON_CREW_H

#include "common/thread/pool.h"

struct tfd_crew;

/* NULL without memory. */
struct tfd_crew *tfd_crew_new(int max, struct tfd_status *st);
/* When nobody is at work any more; ends the threads.  Not from one of them. */
void tfd_crew_free(struct tfd_crew *c);

/* Runs the job on a thread at once.  run() may free it or submit it again.
 * RESOURCE_EXHAUSTED when all are at work, or there can be no more. */
enum tfd_code tfd_crew_submit(struct tfd_crew *c, struct tfd_job *job,
                              struct tfd_status *st) TFD_MUST_USE;

/* Threads at work. */
int tfd_crew_busy(struct tfd_crew *c);
/* False when nobody is at work.  Else fn(arg) is called once, when that is so;
 * by a thread of the crew. */
bool tfd_crew_when_idle(struct tfd_crew *c, void (*fn)(void *arg), void *arg);

#endif
