/*
 * training_saver.h - a saver for a MetaGraphDef without one.
 *
 * Threads: who builds the training.
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
