/*
 * large_text.h - memory of large strings and messages.
 *
 * malloc() asks the system for such a block and gives it back each time, and
 * then every page of it is cleared at its first use, which takes several times
 * as long as what is done with it (a TensorSummary of 32 MB: 13 ms in place of
 * 1.2).  So the last block that was given back stays here for the next one, as
 * long as the program runs.
 *
 * Blocks are of malloc(), and free() may end each.  None is kept below the
 * least size or above the most, nor where a sanitizer watches (watched.h).
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_LARGE_TEXT_H
#define TFD_COMMON_LARGE_TEXT_H

#include <stddef.h>

#define TFD_LARGE_TEXT_MIN ((size_t)1 << 20)
#define TFD_LARGE_TEXT_MAX ((size_t)64 << 20)

/* A block of at least *size bytes and at most `most`; *size is how many from
 * now on.  NULL: none is kept that fits. */
char *tfd_large_text_take(size_t *size, size_t most);

/* Of `data`, which may be NULL, nobody uses the `size` bytes any more.  The
 * block has so many, or more. */
void tfd_large_text_give(char *data, size_t size);

#endif
