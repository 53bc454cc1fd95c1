/*
 * trainer.h - a TFD_Trainer as its files see it: trainer.c makes one from
 * options, trainer_run.c trains, trainer_save.c saves and restores,
 * trainer_sync.c keeps workers in step, trainer_queues.c fills the model's
 * queues.
 *
 * Threads: those of tfd/train.h.
 */
#ifndef TFD_CLIENT_TRAINER_H
#define TFD_CLIENT_TRAINER_H

#include "client/train/checkpoints.h"
#include "client/session/backend.h"
#include "client/train/train.h"
#include "client/train/trainer_graph.h"

/* The chief's thread of a training in step. */
struct tfd_sync_runner {
    pthread_t thread;
    bool started;
    bool ending;               /* atomic: the session is about to be closed */
    TF_Status *status;         /* the thread's */
    struct tfd_status failure; /* its own; read once it has ended */
};

struct TFD_Trainer {
    TFD_TrainerOptions o; /* strings are owned */
    struct tfd_server *server;
    struct tfd_trainer_graph training;
    struct tfd_bytes config; /* ConfigProto of its sessions */
    struct tfd_checkpoints checkpoints;
    bool has_checkpoints;
    TF_Status *status; /* for calls of the C API */
    struct tfd_lock lock;
    struct tfd_cond stop_cond;
    bool stop;           /* under lock */
    TF_Session *session; /* changes under lock */
    bool prepared_once;  /* there was a try with values */
    int64_t step;        /* as last seen */
    int64_t saved_step;  /* -1: not saved yet */
    int64_t saved_us;
    int64_t save_again_us; /* after a failure: not before; 0: none failed */
    int64_t save_pause_us; /* between the last two tries */
    int64_t pause_us;
    struct tfd_sync_runner sync;
    struct tfd_trainer_queues *queues; /* of a session; NULL: it has none */
};

void tfd_trainer_say(const TFD_Trainer *t, const char *fmt, ...)
    TFD_PRINTF(2, 3);

/* trainer_save.c; nothing without checkpoints. */

/* Now, whatever comes of it. */
enum tfd_code tfd_trainer_save(TFD_Trainer *t,
                               struct tfd_status *st) TFD_MUST_USE;
/* After a step, when it is time.  A disk that takes nothing is no failure. */
enum tfd_code tfd_trainer_save_when_due(TFD_Trainer *t,
                                        struct tfd_status *st) TFD_MUST_USE;
/* A task is about to stop, and waits for us: UNAVAILABLE once all is saved, as
 * with this session it has what it needs to go on from when it is back. */
enum tfd_code tfd_trainer_save_and_leave(TFD_Trainer *t,
                                         struct tfd_status *st) TFD_MUST_USE;
/* At the end: a disk that takes nothing is tried some times more. */
enum tfd_code tfd_trainer_save_last(TFD_Trainer *t,
                                    struct tfd_status *st) TFD_MUST_USE;
/* *restored false: there is no checkpoint. */
enum tfd_code tfd_trainer_restore(TFD_Trainer *t, bool *restored,
                                  struct tfd_status *st) TFD_MUST_USE;

/* A session is prepared: begins what a training in step needs; nothing for
 * another one. */
enum tfd_code tfd_trainer_sync_begin(TFD_Trainer *t,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Ends it, closing the session.  st is what the session came to; a failure of
 * the thread takes the place of one that followed from it. */
enum tfd_code tfd_trainer_sync_end(TFD_Trainer *t,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The same for the model's queues: threads of a session that is prepared fill
 * them until its end. */
enum tfd_code tfd_trainer_queues_begin(TFD_Trainer *t,
                                       struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_trainer_queues_end(TFD_Trainer *t,
                                     struct tfd_status *st) TFD_MUST_USE;

#endif
