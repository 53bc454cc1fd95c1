/*
 * checkpoint.h - the four looks at checkpoints; see verbs.c.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_CHECKPOINT_H
#define TFD_TOOLS_CTL_CHECKPOINT_H

#include "tools/ctl/ctl.h"

tfd_ctl_fn tfd_ctl_checkpoint_ls, tfd_ctl_checkpoint_show,
    tfd_ctl_checkpoint_verify, tfd_ctl_checkpoint_diff;

#endif
