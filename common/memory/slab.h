/*
 * slab.h - blocks of some hundred kilobytes, several in the huge pages of a
 * slab.
 *
 * Mapped by itself such a block lies in pages of 4 KiB, wherever the kernel has
 * some.  Which sets of a second cache they fall into is chance then: three
 * blocks that are three quarters of it together do not all stay there.  In a
 * huge page they lie one behind the other (Zen 5, 1 MiB: a sum of two times
 * 64,000 floats takes 3.2 us, in pages of 4 KiB 3.8 to 5.4).
 *
 * The blocks of a slab are of one size, and begin on a page.  The pages of one
 * that is given back go back to the kernel at once, and the slab with its last
 * block.  Huge pages are asked for; where the kernel has none, all works as
 * well.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_SLAB_H
#define TFD_COMMON_SLAB_H

#include <stddef.h>

#define TFD_SLAB_BLOCK_MIN ((size_t)128 << 10)
#define TFD_SLAB_BLOCK_MAX ((size_t)1028 << 10)

/* size: between those two.  NULL: the system gives no memory. */
void *tfd_slab_take(size_t size);
void tfd_slab_give(void *block);

#endif
