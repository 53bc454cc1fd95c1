/*
 * captured.h - the captured form of one static part (captures.h), and the
 * state of one run of its gate; shared by capture_kernels.c, which captures,
 * and capture_run.c, which decides and launches.
 *
 * Threads: those of the step that has the part.
 */
#ifndef TFD_DAEMON_WORKER_CAPTURED_H
#define TFD_DAEMON_WORKER_CAPTURED_H

#include "daemon/worker/run/captures.h"
#include "daemon/worker/run/runner.h"

struct tfd_captured_input {
    struct tfd_tensor value; /* in host memory: what it was; else where kernels
                                read it, if it is copied there */
    const void *at;          /* else where it lies */
    bool copied;
};

enum tfd_captured_origin {
    TFD_ORIGIN_CAPTURE, /* the capture's memory */
    TFD_ORIGIN_INPUT,   /* an input's buffer, passed on */
    TFD_ORIGIN_ALWAYS,  /* a constant, or in host memory */
};

struct tfd_captured_value {
    struct tfd_tensor tensor;
    struct tfd_tensor copy; /* of one launch */
    enum tfd_captured_origin origin;
    int32_t input;
    int32_t refs; /* when nobody else holds it */
    int32_t held; /* times that somebody did */
};

struct tfd_captured {
    struct tfd_capture *capture;
    const struct tfd_device_captures *hooks;
    struct tfd_captured_input *in;
    struct tfd_captured_value *out;
};

struct tfd_gate_run {
    struct tfd_runner *r;
    struct tfd_iter *it;
    struct tfd_part *part;
    struct tfd_captured *c;
    /* While it captures: */
    struct tfd_tensor *slots; /* like the iteration's */
    struct tfd_tensor *out;
    struct tfd_variable **out_refs; /* none */
    int32_t next_value;
};

/* Input i of the part, as the step has it. */
struct tfd_tensor *tfd_captured_input(const struct tfd_gate_run *x, int32_t i);
/* References that an output has, its own among them. */
int32_t tfd_captured_references(const struct tfd_captured_value *v);

/* Captures the part: part->captured and x->c.  False, with nothing changed,
 * when that cannot be, or not on this thread. */
bool tfd_capture_kernels(struct tfd_gate_run *x);
/* Lets go what was captured, if anything was. */
void tfd_captured_free(struct tfd_part *p);

#endif
