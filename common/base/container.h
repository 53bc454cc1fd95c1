/*
 * container.h - finds the struct that a member is part of (container_of).
 * Posts, timers and jobs are embedded in what they belong to, and their
 * callbacks get back to it this way.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_COMMON_CONTAINER_H
#define TFD_COMMON_CONTAINER_H

#include <stddef.h>

#define TFD_CONTAINER_OF(pointer, type, member) \
    ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
