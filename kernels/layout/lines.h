/*
 * lines.h - large results written past the caches: a result is made block by
 * block in a place of its own, whatever the lengths of its pieces, and goes to
 * memory in whole lines, none of which is read before it is written.
 *
 *     _Alignas(64) char place[TFD_LINES_PLACE];
 *     char *block = tfd_lines_block(place, to);
 *
 *     (make `size` bytes at block, at most TFD_LINES_SIZE)
 *     tfd_lines_put(to, block, size);
 *     ...
 *     tfd_lines_end();
 *
 * Threads: any; each has its own place.
 */
#ifndef TFD_KERNELS_LINES_H
#define TFD_KERNELS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFD_LINES_SIZE 8192
#define TFD_LINES_PLACE (TFD_LINES_SIZE + 64)

/* Whether a result of so many bytes, made of so many, is better written so:
 * together they are more than the last cache keeps. */
bool tfd_lines_worth(int64_t to, int64_t from);
/* The same of rows that go as they are, by so many threads at once: two of them
 * copy through the caches as quickly as memory takes it, until it is more than
 * these keep. */
bool tfd_lines_worth_shared(int threads, int64_t to, int64_t from);

/* Where in the place what goes to `to` is made: as far from a line's begin. */
static inline char *tfd_lines_block(char *place, const void *to)
{
    return place + (uintptr_t)to % 64;
}

void tfd_lines_put(char *to, const char *block, int64_t size);
/* Asks for what the block after this one is made of: while a block is stored no
 * processor reads ahead, and after it each begins to see where reads go anew
 * (Zen 5: Select of 4,000,000 doubles 1,700 us in place of 3,200). */
static inline void tfd_lines_fetch(const void *from, int64_t size)
{
    for (int64_t at = 0; at < size; at += 64)
        __builtin_prefetch((const char *)from + at);
}

/* Copies `size` bytes past the caches; whole lines, and `to` is where one
 * begins. */
void tfd_lines_stream(void *to, const void *from, size_t size);
/* After a thread's last one. */
void tfd_lines_end(void);

/* Rows that lie one behind the other, and go with gaps in between to where each
 * begins `row_to` bytes after the one before. */
struct tfd_lines_rows {
    int64_t rows, row_to;
    int64_t size; /* bytes of a row, at least TFD_LINES_ROW_MIN */
    char gap[64]; /* what gaps hold, as in the lines of what is written */
};

#define TFD_LINES_ROW_MIN 128

/* Writes them past the caches without a place in between: each line is made of
 * what it holds of rows and gaps.  Only where the processor has what it takes.
 */
bool tfd_lines_has_rows(void);
void tfd_lines_put_rows(const struct tfd_lines_rows *r, char *to,
                        const char *from);

#endif
