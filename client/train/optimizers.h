/*
 * optimizers.h - TFD_Minimize() in two halves, the one that computes gradients
 * and the one that applies them, so that sync_replicas.c can collect the
 * gradients of all workers between the two.
 *
 * Threads: as in tfd/train.h.
 */
#ifndef TFD_CLIENT_OPTIMIZERS_H
#define TFD_CLIENT_OPTIMIZERS_H

#include "client/train/model.h"

struct tfd_optimizer_row {
    const char *name;
    const char *apply;
    const char *slot; /* suffix of the slot's name; NULL: none */
    float slot_initial;
    const char *last; /* name of an input after the gradient; NULL: none */
    float last_value;
};

struct tfd_minimizing {
    TFD_Scope *s;
    const struct tfd_optimizer_row *o;
    struct tfd_str prefix; /* "Adagrad" */
    float rate;
    TF_Output rate_of_step;   /* takes the place of rate where it is set */
    TFD_Variable **variables; /* the trainable ones */
    TF_Output *gradients;     /* no operation: the loss does not depend on it */
    TF_Operation **updates;
    int count;
    int update_count;
    TF_Status *status;
};

/* Lists the variables and adds the gradients.  s, a rate and status are set.
 * False when the status says why. */
bool tfd_optimizers_begin(struct tfd_minimizing *m, const char *optimizer,
                          TF_Output loss);
/* Adds the updates by m->gradients and counts the step; NULL on failure. */
TF_Operation *tfd_optimizers_end(struct tfd_minimizing *m);

struct tfd_str tfd_optimizers_device(const TFD_Variable *v);
struct tfd_str tfd_variable_name(const TFD_Variable *v);

#endif
