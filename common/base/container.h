/*
 * container.h - from a member to the struct that it is part of: how posts,
 * timers and jobs find what they belong to.
 */
#ifndef TFD_COMMON_CONTAINER_H
#define TFD_COMMON_CONTAINER_H

#include <stddef.h>

#define TFD_CONTAINER_OF(pointer, type, member) \
    ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
