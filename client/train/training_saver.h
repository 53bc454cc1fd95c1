/*
 * training_saver.h - adds the operations that save and restore all global
 * variables to a MetaGraphDef that was exported without a saver, so that a
 * trainer can write checkpoints of it.
 *
 * Threads: the one that builds the trainer's graph.
 */
#ifndef TFD_CLIENT_TRAINING_SAVER_H
#define TFD_CLIENT_TRAINING_SAVER_H

#include "client/train/metagraph.h"
#include "client/train/trainer_graph.h"

/* Adds operations that save and restore the global variables, on the scope's
 * device, and says which they are; nothing where there are no variables. */
enum tfd_code tfd_trainer_graph_add_saver(struct tfd_trainer_graph *t,
                                          const struct tfd_meta_graph *meta,
                                          TFD_Scope *scope, TF_Status *status,
                                          struct tfd_status *st) TFD_MUST_USE;

#endif
