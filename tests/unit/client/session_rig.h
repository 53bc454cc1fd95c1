/*
 * session_rig.h - sessions of the C API: opened in process or on a server of
 * this process, and run for one value.
 */
#ifndef TFD_TESTS_UNIT_SESSION_RIG_H
#define TFD_TESTS_UNIT_SESSION_RIG_H

#include "tests/support/graph.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static inline TF_Session *open_session(struct fixture *f, const char *target)
{
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Session *s;

    TF_SetTarget(o, target);
    s = TF_NewSession(f->g, o, f->st);
    TF_DeleteSessionOptions(o);
    return s;
}

/* Runs one fetch; NAN and the status when it fails. */
static inline float run1(struct fixture *f, TF_Session *s, TF_Output fetch)
{
    TF_Tensor *t = NULL;
    float value = -12345;

    TF_SessionRun(s, NULL, NULL, NULL, 0, &fetch, &t, 1, NULL, 0, NULL, f->st);
    if (t && TF_TensorType(t) == TF_FLOAT)
        value = *(float *)TF_TensorData(t);
    TF_DeleteTensor(t);
    return value;
}

static inline void run_target(struct fixture *f, TF_Session *s,
                              TF_Operation *op)
{
    const TF_Operation *targets[] = {op};

    TF_SessionRun(s, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL,
                  f->st);
}

/* job "worker" with one task on any port. */
static const char server_def[] =
    "\x0a\x1b\x0a\x19\x0a\x06worker\x12\x0f\x08\x00\x12\x0blocalhost:0"
    "\x12\x06worker\x18\x00";

static inline TF_Server *start_server_of(struct fixture *f, const char *def,
                                         size_t size)
{
    TF_Server *server = TF_NewServer(def, size, f->st);

    expect(f, TF_OK, "");
    TF_ServerStart(server, f->st);
    expect(f, TF_OK, "");
    return server;
}

static inline TF_Server *start_server(struct fixture *f)
{
    return start_server_of(f, server_def, sizeof(server_def) - 1);
}

static const char *native_target(TF_Server *server, char *text, size_t size)
{
    snprintf(text, size, "tfd%s", TF_ServerTarget(server) + strlen("grpc"));
    return text;
}

#endif
