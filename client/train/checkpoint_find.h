/*
 * checkpoint_find.h - the checkpoints that lie in a directory, whatever its
 * file `checkpoint` says.
 *
 * Threads: any.  Blocks on files.
 */
#ifndef TFD_CLIENT_CHECKPOINT_FIND_H
#define TFD_CLIENT_CHECKPOINT_FIND_H

#include "kernels/io/file.h"

/* The prefix with the highest number, "DIR/NAME-12", of those that are whole
 * (checkpoint_check.h), but not `except`; the caller frees.  NULL where there
 * is none, or no memory.  *any: there is one, if damaged. */
char *tfd_checkpoint_find(struct tfd_file_access *access, const char *dir,
                          const char *except, bool *any);

#endif
