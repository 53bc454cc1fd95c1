/*
 * box_items.h - what the loops of box_loops.c and box_runs.c load and store:
 * items of a power of two bytes, which may lie at any address and stand for
 * values of any type.
 */
#ifndef TFD_KERNELS_BOX_ITEMS_H
#define TFD_KERNELS_BOX_ITEMS_H

#include <stdint.h>

#define TFD_ANYWHERE __attribute__((aligned(1), may_alias))

typedef uint8_t item1 TFD_ANYWHERE;
typedef uint16_t item2 TFD_ANYWHERE;
typedef uint32_t item4 TFD_ANYWHERE;
typedef uint64_t item8 TFD_ANYWHERE;
typedef uint64_t item16 __attribute__((vector_size(16))) TFD_ANYWHERE;
typedef uint64_t item32 __attribute__((vector_size(32))) TFD_ANYWHERE;

/* The item so many bytes after p: to store to, to load from. */
#define AT(type, p, at) (*(type *)((p) + (at)))
#define OF(type, p, at) (*(const type *)((p) + (at)))

#endif
