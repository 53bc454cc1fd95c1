/*
 * large_text.h - memory of large strings and messages.
 *
 * malloc() asks the system for such a block and gives it back each time, and
 * then every page of it is cleared at its first use, which takes several times
 * as long as what is done with it (a TensorSummary of 32 MB: 13 ms in place of
 * 1.2).  So the last block that was given back stays here for the next one.
 *
 * Blocks are of malloc(), and free() may end each.  Whoever asks for less than
 * the least, or for more than the most, gets none, and what is given back is
 * freed: so it is for all under a sanitizer, which watches the ends of blocks.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_LARGE_TEXT_H
#define TFD_COMMON_LARGE_TEXT_H

#include <stddef.h>

#define TFD_LARGE_TEXT_MIN ((size_t)1 << 20)
#define TFD_LARGE_TEXT_MAX ((size_t)64 << 20)

/* At least *size bytes, *size being how many from now on; NULL: none is kept
 * that fits, or it would be twice as large and more. */
char *tfd_large_text_take(size_t *size);

/* `size` bytes at `data`, or NULL, that nobody uses any more. */
void tfd_large_text_give(char *data, size_t size);

#endif
