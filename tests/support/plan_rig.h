/*
 * plan_rig.h - a session over three workers whose graph has nodes on each of
 * them, for tests of its plans and steps.
 */
#ifndef TFD_TESTS_SUPPORT_PLAN_RIG_H
#define TFD_TESTS_SUPPORT_PLAN_RIG_H

#include "tests/support/master_rig.h"

static struct mrig rig;

#define PS "From /job:ps/replica:0/task:0:\n"
#define PS1 "From /job:ps/replica:0/task:1:\n"
#define OWN "From /job:worker/replica:0/task:0:\n"
#define RULE "\n=====================\n"

/* "c" on the master, "i" on ps 0, "k" on both ps. */
#define NODES                                                         \
    "c Const; p Placeholder; d Const - /job:ps; i Relu d /job:ps; "   \
    "e Const - /job:ps/task:1; k Add i,e /job:ps/task:1; n NoOp ^k; " \
    "q Relu p"

static inline struct tfd_session *open_session(void)
{
    mrig_open(&rig, 3);
    return mrig_session(&rig, NODES);
}

static inline void hold(enum fake_kind kind)
{
    for (int i = 0; i < 3; i++)
        rig.worker[i].mode[kind] = FAKE_HOLD;
}

#endif
