/*
 * h2_memory.h - the memory of one HTTP/2 session, so that an idle one costs a
 * page.
 *
 * A session of nghttp2 begins with a buffer for the largest frame and tables
 * for headers and streams, of which an idle one uses next to nothing; spread
 * over the heap they cost three times what they hold.  Here everything that is
 * made with the session lies in one mapping: what is always used in front, the
 * beginning of the buffer right behind it, the tables at the back.
 *
 * Threads: those of the session, one at a time.
 */
#ifndef TFD_RPC_H2_MEMORY_H
#define TFD_RPC_H2_MEMORY_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

struct tfd_h2_memory {
    nghttp2_mem mem; /* for nghttp2_session_*_new3() */
    char *map;       /* NULL: all comes from the heap */
    size_t front, back;
    bool making; /* the session: later blocks come from the heap */
};

/* Before and after the session is made; the struct does not move. */
void tfd_h2_memory_init(struct tfd_h2_memory *m);
void tfd_h2_memory_made(struct tfd_h2_memory *m);
/* When it has been deleted. */
void tfd_h2_memory_deinit(struct tfd_h2_memory *m);

#endif
