/*
 * loop_thread.c - see loop_thread.h.
 */
#include "client/session/loop_thread.h"

#include "common/thread/lock.h"
#include "config/flags.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

static struct tfd_lock lock = TFD_LOCK_INIT(TFD_LOCK_SERVER);
static struct {
    struct tfd_loop *loop;
    pthread_t thread;
    int users;
} shared; /* under lock */

static void *run_loop_thread(void *arg)
{
    tfd_loop_run(arg);
    return NULL;
}

static enum tfd_code start_thread(struct tfd_status *st)
{
    int rc;

    shared.loop = tfd_loop_new(st);
    if (!shared.loop)
        return st->code;
    tfd_loop_spin(shared.loop, TFD_SPIN_US);
    rc = pthread_create(&shared.thread, NULL, run_loop_thread, shared.loop);
    if (rc == 0)
        return TFD_OK;
    tfd_loop_free(shared.loop);
    shared.loop = NULL;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "Cannot start a thread for connections: %s", strerror(rc));
}

struct tfd_loop *tfd_loop_thread_get(struct tfd_status *st)
{
    struct tfd_loop *loop = NULL;

    tfd_lock(&lock);
    if (shared.users > 0 || start_thread(st) == TFD_OK) {
        shared.users++;
        loop = shared.loop;
    }
    tfd_unlock(&lock);
    return loop;
}

static void stop_on_loop(struct tfd_post *p)
{
    (void)p;
    tfd_loop_stop(shared.loop);
}

/* The lock is held throughout, so that a new user waits for the end of this
 * loop and then starts another. */
void tfd_loop_thread_put(void)
{
    struct tfd_post stop = {.run = stop_on_loop};

    tfd_lock(&lock);
    assert(shared.users > 0);
    if (--shared.users == 0) {
        tfd_loop_post(shared.loop, &stop);
        pthread_join(shared.thread, NULL);
        tfd_loop_free(shared.loop);
        shared.loop = NULL;
    }
    tfd_unlock(&lock);
}
