/*
 * late_close.h - files that were replaced are closed by somebody who has time.
 *
 * A file of which no name is left is freed when the last who has it open closes
 * it.  That takes as long as to write it where the filesystem tells the disk
 * which blocks are free; who saves a checkpoint over an older one need not
 * wait.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LATE_CLOSE_H
#define TFD_KERNELS_LATE_CLOSE_H

#include "common/thread/crew.h"
#include "kernels/io/file.h"

/* An index and a data file. */
enum { TFD_LATE_CLOSE_FILES = 2 };

/* Takes the open ones of these files over.  `access` outlives the crew's work.
 * Closes them before it returns where the crew has nobody for it. */
void tfd_late_close(struct tfd_crew *crew, struct tfd_file_access *access,
                    struct tfd_file files[TFD_LATE_CLOSE_FILES]);

#endif
