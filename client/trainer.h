/*
 * trainer.h - a TFD_Trainer as its two files see it: trainer.c makes one from
 * options, trainer_run.c trains.
 *
 * Threads: those of tfd/train.h.
 */
#ifndef TFD_CLIENT_TRAINER_H
#define TFD_CLIENT_TRAINER_H

#include "client/checkpoints.h"
#include "client/session.h"
#include "client/train.h"
#include "client/training.h"

struct TFD_Trainer {
    TFD_TrainerOptions o; /* strings are owned */
    struct tfd_server *server;
    struct tfd_training training;
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
    int64_t pause_us;
};

#endif
