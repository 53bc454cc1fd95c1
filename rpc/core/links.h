/*
 * links.h - numbers for the connections over which callers came, never used
 * twice.  Whoever keeps something for a caller (a session) remembers the number
 * and can ask later whether the caller is still connected; a connection can ask
 * whether anything is kept for it.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_LINKS_H
#define TFD_RPC_LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct tfd_link_row {
    uint32_t turn; /* how often the row was taken */
    uint32_t holds;
    uint32_t next; /* free row + 1; 0: none */
    bool open;
};

struct tfd_links { /* all zero: none */
    struct tfd_link_row *rows;
    uint32_t count, capacity, free;
};

void tfd_links_deinit(struct tfd_links *l);
/* 0, which is nobody's number, without memory. */
uint64_t tfd_links_add(struct tfd_links *l);
void tfd_links_remove(struct tfd_links *l, uint64_t link); /* 0 is allowed */
bool tfd_links_open(const struct tfd_links *l, uint64_t link);
/* Something is kept for it.  Those that are gone are ignored. */
void tfd_links_hold(struct tfd_links *l, uint64_t link);
void tfd_links_unhold(struct tfd_links *l, uint64_t link);
bool tfd_links_held(const struct tfd_links *l, uint64_t link);

#endif
