/*
 * alloc.h - buffers of tensors in host memory, and their accounting.
 *
 * Freed buffers are kept in size classes (powers of two and the halves between)
 * and handed out again, so that a step in steady state neither calls malloc
 * nor faults pages; touching fresh pages costs three times a copy.  What is
 * kept is bounded by TFD_BUFFER_CACHE_MAX and can be given back with _trim().
 *
 * Data is aligned to TFD_BUFFER_ALIGN bytes.  Threads: any.
 */
#ifndef TFD_COMMON_ALLOC_H
#define TFD_COMMON_ALLOC_H

#include "common/base/tensor.h"

#define TFD_BUFFER_ALIGN 64

/* Memory that is not the host's: where a device's kernels leave their outputs.
 * Embedded by its device.  Threads: any. */
struct tfd_memory {
    /* size is not 0; contents are undefined.  RESOURCE_EXHAUSTED with the sizes
     * when there is no room. */
    struct tfd_buffer *(*make)(struct tfd_memory *m, size_t size,
                               struct tfd_status *st);
    void (*release)(struct tfd_buffer *b); /* what its buffers have */
    /* Between two of its buffers: `count` runs of `size` bytes that are
     * to_step and from_step apart, in the order of the stream. */
    enum tfd_code (*copy_runs)(struct tfd_memory *m, void *stream, void *to,
                               size_t to_step, const void *from,
                               size_t from_step, size_t size, size_t count,
                               struct tfd_status *st);
};

/* tfd_tensor_new() in another memory (NULL: the host's), for types of plain
 * bytes. */
enum tfd_code tfd_tensor_new_in(struct tfd_tensor *out, struct tfd_memory *m,
                                enum tfd_dtype dtype,
                                const struct tfd_shape *shape,
                                struct tfd_status *st) TFD_MUST_USE;

/* NULL when there is no memory or the limit would be passed.  Contents are
 * undefined; size 0 gives a buffer of 0 bytes. */
struct tfd_buffer *tfd_buffer_new(size_t size);

/* The same for bytes that a peer has announced and may never send: of these
 * only those count that tfd_buffer_charge() says have come, so announcing
 * much takes neither memory nor its accounting.  NULL also where it could never
 * fit. */
struct tfd_buffer *tfd_buffer_new_empty(size_t size);
/* The same for what the loop thread fills itself, a little in each turn: not in
 * huge pages, as the kernel clears one whole on its first byte, which takes up
 * to 5 ms in a virtual machine. */
struct tfd_buffer *tfd_buffer_new_in_pages(size_t size);
/* The first `size` bytes of such a buffer count from now on, at most all; less
 * than before changes nothing.  False when the limit would be passed. */
bool tfd_buffer_charge(struct tfd_buffer *b, size_t size) TFD_MUST_USE;

/* A buffer that shows `size` bytes of parent from offset; holds a reference, of
 * a slice's parent where parent is one. */
struct tfd_buffer *tfd_buffer_slice(struct tfd_buffer *parent, size_t offset,
                                    size_t size);
/* Others may show the same bytes, even where b has one reference. */
bool tfd_buffer_is_slice(const struct tfd_buffer *b);
/* A slice that keeps more than twice the bytes that it shows; who holds a value
 * for long makes a copy. */
bool tfd_buffer_is_small_slice(const struct tfd_buffer *b);

/* What buffers made here have as `release`, except slices; for those who put a
 * function of their own there that does something first.  A buffer that has it
 * shares its bytes with no other. */
void tfd_buffer_release(struct tfd_buffer *b);

struct tfd_alloc_stats {
    size_t in_use;   /* bytes of live buffers, as asked for; no slices */
    size_t cached;   /* bytes kept for reuse, as they lie in memory, also where
                        they have been given out and nothing has come yet */
    size_t peak;     /* of in_use */
    uint64_t allocs; /* calls of malloc and mmap made */
};

void tfd_alloc_stats(struct tfd_alloc_stats *out);
void tfd_alloc_limit(size_t bytes); /* 0: none; applies to new buffers */
void tfd_alloc_trim(void);          /* gives every cached buffer back */

/* Replaces TFD_BUFFER_CACHE_MAX.  0 keeps nothing, which tests under the
 * address sanitizer want: a use after free then is one. */
void tfd_alloc_cache_limit(size_t bytes);

#endif
