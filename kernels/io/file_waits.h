/*
 * file_waits.h - how many file operations of this process are under way.
 *
 * One of a slow disk, of NFS or of a FUSE daemon may take minutes, and its
 * thread sleeps meanwhile like one that waits for a lock; the kernel does not
 * always tell the two apart.  Who asks whether the threads make progress
 * (daemon/beat.h) asks this, too.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_FILE_WAITS_H
#define TFD_KERNELS_FILE_WAITS_H

#include "kernels/io/file.h"

/* Those of kernels/io/file_roots.h, each counted while it lasts. */
extern const struct tfd_file_access tfd_file_waits_access;

/* As it was a moment ago: no more than a read of memory. */
int tfd_file_waits(void);

#endif
