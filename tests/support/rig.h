/*
 * rig.h - a server and its callers in one loop, for tests of rpc/.
 *
 * A test starts things, then lets the loop run until so many events have come
 * in (rig_run); every callback counts one (rig_tick).  Nothing sleeps: a test
 * that waits for something that does not happen is ended by the watchdog.
 */
#ifndef TFD_TESTS_SUPPORT_RIG_H
#define TFD_TESTS_SUPPORT_RIG_H

#include "common/base/alloc.h"
#include "common/base/container.h"
#include "rpc/conn/conn.h"
#include "rpc/core/sniff.h"
#include "rpc/core/channel.h"
#include "rpc/native/frame.h"
#include "rpc/native/native_io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RIG_WATCHDOG_US (100 * 1000 * 1000) /* sanitizers on busy cores */
#define RIG_HELD_MAX 2048

struct rig {
    struct tfd_loop *loop;
    struct tfd_service *service;
    struct tfd_listener *listener;
    struct tfd_sniff sniff;
    struct tfd_timer watchdog;
    char address[32];
    int awaited;
    bool timed_out;
    struct tfd_call *held[RIG_HELD_MAX]; /* calls of hold(), unanswered */
    int held_count;
    int cancelled_count;
    uint64_t one_way_size; /* bytes of one-way messages that arrived */
    int one_way_count;
};

extern const struct tfd_peer_info rig_self;

void rig_tick(struct rig *r);

void rig_bark(struct tfd_timer *t);

void rig_run(struct rig *r, int events);

/* ---- Handlers ------------------------------------------------------------ */

/* The request comes back, payloads too. */
void rig_echo(void *self, struct tfd_call *call);

/* Kept until rig_release(). */
void rig_hold(void *self, struct tfd_call *call);

void rig_release(struct rig *r);

/* ---- Life ---------------------------------------------------------------- */

struct rig *rig_new(void);

/* Checks, once per millisecond, whether the last connection is gone. */
struct rig_end {
    struct tfd_timer timer;
    struct rig *rig;
};

void rig_free(struct rig *r);

/* ---- A peer that sends bytes of its own ---------------------------------- */

struct rig_raw {
    struct rig *rig;
    struct tfd_conn *conn;
    struct tfd_bytes in;
    struct tfd_status why;
    bool closed;
    bool connected;
    bool tick_connected;
    size_t tick_at; /* ticks when so many bytes are here; 0: only at the end */
    uint8_t part[4096];
};

size_t rig_raw_space(void *self, uint8_t **at);

enum tfd_code rig_raw_commit(void *self, size_t n, struct tfd_status *st);

extern const struct tfd_conn_handler rig_raw_handler;

struct rig_raw *rig_raw_new(struct rig *r, const char *address);

void rig_raw_free(struct rig_raw *w);

/* ---- Calls --------------------------------------------------------------- */

extern const struct tfd_outcall_options rig_patient;
extern const struct tfd_outcall_options rig_hasty;

struct tfd_message rig_text(const char *text);

struct rig_result {
    struct rig *rig;
    int done; /* how often done() was called */
    enum tfd_code code;
    char text[256];
    uint64_t size; /* of protobuf and payloads */
    uint64_t sum;  /* of the bytes of the payloads */
    uint32_t payload_count;
};

void rig_done(void *ctx, const struct tfd_status *st,
              const struct tfd_incoming *response);

struct tfd_channel *rig_channel(struct rig *r, const char *address,
                                enum tfd_protocol protocol);

/* A buffer whose bytes depend on their place. */
struct tfd_buffer *rig_buffer(size_t size);

#endif
