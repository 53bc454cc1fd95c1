/*
 * build.h - work on a session's graph that may take long: reading it, expanding
 * functions, placing nodes, making plans.
 *
 *     tfd_build_start -> [its turn] -> work, on a thread of the master's
 *                                   -> done, on the loop thread
 *
 * The builds of one session run one after another, in the order in which they
 * were started, so whoever comes after an extension sees it; those of other
 * sessions, their steps and everything else go on meanwhile.  A build that is
 * not large runs at once on the loop thread when no other is under way.
 *
 * While one is under way the session's graph and the devices of its nodes are
 * its own: whoever wants to read them on the loop thread does so in the done()
 * of a build, which need not have any work().
 *
 * Ownership: embedded in what it builds, which lives until done(); it holds the
 * session.  Threads: loop thread but work().
 */
#ifndef TFD_DAEMON_MASTER_BUILD_H
#define TFD_DAEMON_MASTER_BUILD_H

#include "common/thread/pool.h"
#include "rpc/conn/loop.h"

struct tfd_session;

struct tfd_build {
    void (*work)(struct tfd_build *b); /* any thread; NULL: nothing */
    void (*done)(struct tfd_build *b); /* once; may free it */
    bool large;
    bool stop; /* atomic: nobody wants it; work() may end early */
    /* -- */
    struct tfd_session *session;
    struct tfd_build *next;
    struct tfd_job job;
    struct tfd_post post;
};

/* work, done and large are set, all else is zero.  done() may be called before
 * this returns. */
void tfd_build_start(struct tfd_session *s, struct tfd_build *b);
void tfd_build_stop(struct tfd_build *b);
/* All that work and are not done. */
void tfd_build_stop_all(struct tfd_session *s);

#endif
