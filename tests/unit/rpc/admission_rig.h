/*
 * admission_rig.h - one struct tfd_admission on a simulated network with a
 * clock of its own (fake_net.h), and up to PLACES requests that ask it for
 * room; notes in which order they are admitted and which are late.
 */
#ifndef TFD_TESTS_UNIT_ADMISSION_RIG_H
#define TFD_TESTS_UNIT_ADMISSION_RIG_H

#include "rpc/core/admission.h"

#include "common/base/alloc.h"
#include "rpc/core/links.h"

#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MB (UINT64_C(1) << 20)
#define MS UINT64_C(1000)
#define PLACES 8

static struct {
    struct tfd_loop net;
    struct tfd_admission admission;
    struct tfd_admission_ticket tickets[PLACES];
    int order[PLACES]; /* of admission */
    int admitted;
    unsigned late; /* bits by place */
    bool computing;
} rig;

static inline void admitted(struct tfd_admission_ticket *t)
{
    assert_true(rig.admitted < PLACES);
    assert_false(t->waiting);
    rig.order[rig.admitted++] = (int)(t - rig.tickets);
}

static inline bool computing(void *ctx)
{
    (void)ctx;
    return rig.computing;
}

static inline void rig_open(uint64_t limit)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    tfd_admission_init(&rig.admission, &rig.net);
    tfd_admission_limit(&rig.admission, limit, computing, NULL);
    for (int i = 0; i < PLACES; i++)
        rig.tickets[i].admitted = admitted;
    rig.computing = true;
    net_advance(&rig.net, 60 * 1000 * MS);
    rig.admission.admitted_us = rig.net.now_us; /* just now */
}

static inline void rig_close(void)
{
    for (int i = 0; i < PLACES; i++)
        tfd_admission_leave(&rig.admission, &rig.tickets[i]);
    assert_int_equal(rig.admission.waiting, 0);
    assert_int_equal(rig.admission.waiting_size, 0);
    tfd_admission_deinit(&rig.admission);
    net_close(&rig.net);
}

static inline bool announce(int i, uint64_t size)
{
    return tfd_admission_announce(&rig.admission, &rig.tickets[i], size);
}

static inline bool came(int i, uint64_t size)
{
    return tfd_admission_came(&rig.admission, &rig.tickets[i], size);
}

/* Sixteen times as much has come as is asked for now, in no time. */
static inline bool ask(int i, uint64_t size)
{
    rig.tickets[i].come = size;
    return announce(i, size);
}

/* All of it lies in buffers now, or never will. */
static inline void took(int i)
{
    struct tfd_admission_ticket *t = &rig.tickets[i];

    tfd_admission_forget(&rig.admission, t, t->come, t->owed);
}

#endif
