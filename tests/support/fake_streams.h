/*
 * fake_streams.h - streams, events and graphs of cuda/device/driver.h without a
 * card.
 *
 * A stream is a thread that works off what is enqueued, so order and completion
 * are real and the thread sanitizer sees what is not ordered.  fake_launch() is
 * a kernel launch.  A stream can be held, so that a test sees what has not
 * waited.  What CUDA forbids while a stream captures, or does not promise, ends
 * the test.
 *
 * `fake` below says what the machine is and which calls fail.
 */
#ifndef TFD_TESTS_SUPPORT_FAKE_STREAMS_H
#define TFD_TESTS_SUPPORT_FAKE_STREAMS_H

#include "cuda/device/driver.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAKE_DEVICES 4
#define FAKE_MIB ((size_t)1 << 20)
#define FAKE_ARGS 64
#define FAKE_INVALID 1 /* of CUDA: cudaErrorInvalidValue */

enum fake_kind { FAKE_KERNEL, FAKE_COPY, FAKE_RECORD, FAKE_WAIT, FAKE_HOLD };

/* One record of an event; who waits for it is not concerned by later ones. */
struct fake_mark {
    int refs;
    bool passed;
};

struct fake_event {
    struct fake_mark *mark; /* the last; NULL: none */
};

/* What a stream that captured was given. */
struct fake_graph {
    struct fake_op *first, *last;
    int under_way; /* ops of its launches */
};

struct fake_op {
    struct fake_op *next;
    enum fake_kind kind;
    struct fake_graph *graph; /* that it was launched with */
    void (*kernel)(void *args);
    char args[FAKE_ARGS];
    void *to;
    const void *from;
    size_t size;
    struct fake_mark *mark;
};

struct fake_stream {
    pthread_t thread;
    struct fake_op *first, *last;
    struct fake_graph *captured; /* while it captures */
    pthread_t capturer;
    bool stopping;
};

struct fake_machine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int devices;
    size_t total[FAKE_DEVICES], used[FAKE_DEVICES];
    int count_error;  /* of device_count() */
    int broken;       /* what every call answers from now on */
    int copy_error;   /* what the next copy answers */
    int stream_error; /* what stream_make() answers */
    int map_error;    /* what map() answers */
    int peer_error;   /* what peer_access() answers */
    int peers;        /* calls of it that went well */
    int begin_error, end_error, launch_error; /* of captures and graphs */
    size_t host_total, host_used;
    int allocations, streams, events, host_allocations, graphs; /* out */
    int mappings;           /* of memory that is shared; now */
    int maps;               /* and made so far */
    int let_go;             /* of held streams */
    int asked;              /* calls that only a driver can answer */
    int uses[FAKE_DEVICES]; /* calls that made a device a thread's */

    const char *missing; /* what is said of libraries; NULL: they are there */
};
extern struct fake_machine fake;

int fake_state(void);

void fake_break(int error);

/* ---- Streams ------------------------------------------------------------- */

int fake_stream_make(void **stream);

int fake_stream_release(void *stream);

/* A kernel: runs with a copy of its arguments when the stream comes to it. */
int fake_launch(void *stream, void (*kernel)(void *args), const void *args,
                size_t size);

/* What is enqueued after it waits for fake_let_go(). */
void fake_hold(void *stream);

void fake_let_go(void);

/* ---- Events -------------------------------------------------------------- */

int fake_event_make(void **event);

int fake_event_release(void *event);

int fake_event_record(void *event, void *stream);

int fake_stream_wait(void *stream, void *event);

int fake_event_query(void *event);

int fake_event_wait(void *event);

/* ---- Copies -------------------------------------------------------------- */

int fake_copy(void *to, const void *from, size_t size,
              enum tfd_cuda_direction direction, void *stream);

int fake_copy_runs(void *to, size_t to_step, const void *from, size_t from_step,
                   size_t size, size_t count, void *stream);

int fake_copy_peer(void *to, int to_device, const void *from, int from_device,
                   size_t size, void *stream);

/* ---- Graphs -------------------------------------------------------------- */

int fake_capture_begin(void *stream);

int fake_capture_end(void *stream, void **graph);

int fake_graph_launch(void *graph, void *stream);

int fake_graph_release(void *graph);

#endif
