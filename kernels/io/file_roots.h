/*
 * file_roots.h - files below directories the operator named with --file_root.
 *
 * A graph comes from the network and names files as it likes.  A name, absolute
 * or relative to the working directory, is resolved by the system's kernel and
 * must end below a root: "..", symbolic links and links of /proc that lead out
 * are refused with PERMISSION_DENIED, which also hides whether anything is
 * there.  No roots: every file is refused.  The root "/" admits all.  Only
 * regular files are read; a FIFO, socket or device is never opened.
 *
 * What is not prevented: a hard link below a root to a file elsewhere.
 *
 * Threads: any, once set up.
 */
#ifndef TFD_KERNELS_FILE_ROOTS_H
#define TFD_KERNELS_FILE_ROOTS_H

#include "kernels/io/file.h"

/* Longest name, with the working directory put in front; PATH_MAX of Linux. */
#define TFD_FILE_NAME_MAX 4096
#define TFD_FILE_ROOT_DIRS_MAX 64

struct tfd_file_root {
    int fd;
    char *given; /* absolute */
    char *real;  /* without symbolic links */
};

struct tfd_file_roots {
    struct tfd_file_access access; /* first: one is the other */
    struct tfd_file_root root[TFD_FILE_ROOT_DIRS_MAX];
    int count;
    /* The kernel is older than openat2 (5.6) or a sandbox forbids it: names
     * are resolved, compared, and then opened, which somebody able to swap
     * links below a root at that moment can defeat. */
    bool by_comparison;
};

/* The functions of each; whoever has made one may put functions that call these
 * in their place (kernels/io/file_waits.h). */
extern const struct tfd_file_access tfd_file_roots_access;

/* Opens what exists, below a root; for file_roots_list.c. */
enum tfd_code tfd_file_roots_open(struct tfd_file_access *a,
                                  struct tfd_str name, int flags, int *fd,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_roots_append(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_file *out,
                                    struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_roots_look(struct tfd_file_access *a,
                                  struct tfd_str name, bool *is_dir,
                                  struct tfd_status *st) TFD_MUST_USE;
/* file_roots_update.c */
enum tfd_code tfd_file_roots_update(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_file *out,
                                    struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_roots_write_at(struct tfd_file_access *a,
                                      struct tfd_file *f, uint64_t offset,
                                      const void *data, size_t size,
                                      struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_roots_resize(struct tfd_file_access *a,
                                    struct tfd_file *f, uint64_t size,
                                    struct tfd_status *st) TFD_MUST_USE;
/* file_roots_list.c */
void tfd_file_roots_begin_sync(struct tfd_file_access *a, struct tfd_file *f);
enum tfd_code tfd_file_roots_await_sync(struct tfd_file_access *a,
                                        struct tfd_file *f,
                                        struct tfd_status *st) TFD_MUST_USE;
/* file_roots.c: what an errno of an open file is called. */
enum tfd_code tfd_file_roots_fail(struct tfd_status *st, int number);
void tfd_file_roots_hold(struct tfd_file_access *a, struct tfd_str name,
                         struct tfd_file *out);
enum tfd_code tfd_file_roots_order_dir(struct tfd_file_access *a,
                                       struct tfd_str name,
                                       struct tfd_status *st) TFD_MUST_USE;
/* file_roots_lock.c */
enum tfd_code tfd_file_roots_lock(struct tfd_file_access *a, struct tfd_file *f,
                                  enum tfd_file_lock how, uint64_t offset,
                                  uint64_t size,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_roots_list(struct tfd_file_access *a,
                                  struct tfd_str name, struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Fails when one is no directory; then nothing has to be released. */
enum tfd_code tfd_file_roots_init(struct tfd_file_roots *r,
                                  const char *const *dirs, int count,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_file_roots_deinit(struct tfd_file_roots *r);

#endif
