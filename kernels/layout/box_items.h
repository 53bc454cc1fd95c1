/*
 * box_items.h - the types that box_loops.c, box_runs.c and columns.c load and
 * store: items of 1 to 64 bytes, which may lie at any address and stand for
 * values of any type, and vectors of items, which are shuffled.
 *
 * Threads: types and macros only.
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
typedef uint64_t item64 __attribute__((vector_size(64))) TFD_ANYWHERE;

/* Vectors of such items. */
typedef uint8_t vector1 __attribute__((vector_size(16))) TFD_ANYWHERE;
typedef uint16_t vector2 __attribute__((vector_size(16))) TFD_ANYWHERE;
typedef uint32_t vector4 __attribute__((vector_size(16))) TFD_ANYWHERE;
typedef uint64_t vector8 __attribute__((vector_size(16))) TFD_ANYWHERE;

/* Those elements of two vectors of type V, counted through both. */
#if defined(__clang__)
#define PICK(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(V, a, b, ...) __builtin_shuffle(a, b, (V){__VA_ARGS__})
#endif

/* Elements of two vectors by turns: of their first halves, of the others. */
#define FIRST1 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SECOND1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define FIRST2 0, 8, 1, 9, 2, 10, 3, 11
#define SECOND2 4, 12, 5, 13, 6, 14, 7, 15
#define FIRST4 0, 4, 1, 5
#define SECOND4 2, 6, 3, 7
#define FIRST8 0, 2
#define SECOND8 1, 3

/* The item so many bytes after p: to store to, to load from. */
#define AT(type, p, at) (*(type *)((p) + (at)))
#define OF(type, p, at) (*(const type *)((p) + (at)))

#endif
