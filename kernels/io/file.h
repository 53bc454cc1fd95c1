/*
 * file.h - the one way by which operations of graphs reach files.
 *
 * A table of functions, so that the real files (kernels/io/file_roots.h) can be
 * bounded, a test can make the n-th write fail, and a simulation can keep files
 * in memory.
 *
 * Errors carry the code TensorFlow has for the errno and its text, "NAME; No
 * such file or directory".  Those of an open file leave the name to the caller,
 * who knows it.
 *
 * Threads: any; an open file belongs to one at a time, except that read_at()
 * may be called by several.
 */
#ifndef TFD_KERNELS_FILE_H
#define TFD_KERNELS_FILE_H

#include "common/base/str.h"

struct tfd_file {
    int fd;        /* or whatever the access makes of it; negative: not open */
    uint64_t size; /* when it was opened for reading */
};

#define TFD_FILE_INIT \
    {                 \
        -1, 0         \
    }

/* What lock() does with a range of bytes. */
enum tfd_file_lock {
    TFD_FILE_SHARE,   /* takes it, together with others who share it */
    TFD_FILE_TAKE,    /* takes it alone; one that is shared becomes such */
    TFD_FILE_RELEASE, /* lets go of it */
    TFD_FILE_ASK,     /* takes nothing: has nobody else a lock there? */
};

struct tfd_file_access {
    enum tfd_code (*open_read)(struct tfd_file_access *a, struct tfd_str name,
                               struct tfd_file *out, struct tfd_status *st);
    /* Creates; ALREADY_EXISTS when there is something of that name. */
    enum tfd_code (*open_new)(struct tfd_file_access *a, struct tfd_str name,
                              struct tfd_file *out, struct tfd_status *st);
    /* For writing behind what is there; creates what is not. */
    enum tfd_code (*open_append)(struct tfd_file_access *a, struct tfd_str name,
                                 struct tfd_file *out, struct tfd_status *st);
    /* For reading and writing anywhere; creates what is not there. */
    enum tfd_code (*open_update)(struct tfd_file_access *a, struct tfd_str name,
                                 struct tfd_file *out, struct tfd_status *st);
    /* OUT_OF_RANGE when the file ends before size bytes. */
    enum tfd_code (*read_at)(struct tfd_file_access *a, struct tfd_file *f,
                             uint64_t offset, void *data, size_t size,
                             struct tfd_status *st);
    /* Appends all of it. */
    enum tfd_code (*write)(struct tfd_file_access *a, struct tfd_file *f,
                           const void *data, size_t size,
                           struct tfd_status *st);
    /* Of a file that is open for updates: all of it at this place; a file that
     * ends before is filled up with zeros. */
    enum tfd_code (*write_at)(struct tfd_file_access *a, struct tfd_file *f,
                              uint64_t offset, const void *data, size_t size,
                              struct tfd_status *st);
    /* Of such a file: cuts it, or fills it up with zeros. */
    enum tfd_code (*resize)(struct tfd_file_access *a, struct tfd_file *f,
                            uint64_t size, struct tfd_status *st);
    enum tfd_code (*sync)(struct tfd_file_access *a, struct tfd_file *f,
                          struct tfd_status *st);
    /* Has what was written begin its way to the disk and does not wait, so that
     * the sync() of several files takes as long as that of the largest; NULL
     * where nothing takes long. */
    void (*begin_sync)(struct tfd_file_access *a, struct tfd_file *f);
    /* Waits until what begin_sync() began has left memory.  It is not durable
     * before sync(), which is soon done with a file of which nothing is under
     * way: the journal then takes several files in one turn.  A failure to
     * write is told here and not again; NULL as above. */
    enum tfd_code (*await_sync)(struct tfd_file_access *a, struct tfd_file *f,
                                struct tfd_status *st);
    /* Opens what has this name now for nothing but to close() it later: if it
     * is removed or replaced meanwhile, its room is freed by that; NULL where
     * freeing takes no time.  out stays closed where there is nothing, where
     * others would see that it is held, and where the process has few
     * descriptors left or the disk little room. */
    void (*hold)(struct tfd_file_access *a, struct tfd_str name,
                 struct tfd_file *out);
    void (*close)(struct tfd_file_access *a, struct tfd_file *f);
    /* Locks as programs on this host have them who ask each other; close() lets
     * go of them.  UNAVAILABLE, at once, when one of somebody else is in the
     * way. */
    enum tfd_code (*lock)(struct tfd_file_access *a, struct tfd_file *f,
                          enum tfd_file_lock how, uint64_t offset,
                          uint64_t size, struct tfd_status *st);
    /* Replaces `to`. */
    enum tfd_code (*rename)(struct tfd_file_access *a, struct tfd_str from,
                            struct tfd_str to, struct tfd_status *st);
    enum tfd_code (*remove)(struct tfd_file_access *a, struct tfd_str name,
                            struct tfd_status *st);
    /* One level; ALREADY_EXISTS when it is there. */
    enum tfd_code (*make_dir)(struct tfd_file_access *a, struct tfd_str name,
                              struct tfd_status *st);
    enum tfd_code (*remove_dir)(struct tfd_file_access *a, struct tfd_str name,
                                struct tfd_status *st);
    /* What there is of this name, without opening it. */
    enum tfd_code (*look)(struct tfd_file_access *a, struct tfd_str name,
                          bool *is_dir, struct tfd_status *st);
    /* Appends the names of a directory's entries, each with a NUL behind it,
     * without "." and "..", in no order. */
    enum tfd_code (*list_dir)(struct tfd_file_access *a, struct tfd_str name,
                              struct tfd_bytes *out, struct tfd_status *st);
    /* Makes what happened to the entry `name` of its directory durable. */
    enum tfd_code (*sync_dir)(struct tfd_file_access *a, struct tfd_str name,
                              struct tfd_status *st);
    /* What happens to entries of that directory from here on is never on disk
     * without what happened to them before. */
    enum tfd_code (*order_dir)(struct tfd_file_access *a, struct tfd_str name,
                               struct tfd_status *st);
};

/* The path of a name, without "SCHEME://HOST" in front; "/" where nothing but
 * that is there.  *scheme is empty for a plain name; the host says nothing, as
 * in TensorFlow. */
struct tfd_str tfd_file_path(struct tfd_str name, struct tfd_str *scheme);

/* What is before the last '/': "" for a bare name, "/" for one in it.  A scheme
 * and a host stay in front. */
struct tfd_str tfd_file_dirname(struct tfd_str name);

/* Whether opening `name`, which gave rc, failed since there is no such file: it
 * is not there, or what should be its directory is a file. */
bool tfd_file_is_missing(struct tfd_file_access *a, struct tfd_str name,
                         enum tfd_code rc);

/* The whole file appended to out.  RESOURCE_EXHAUSTED, before anything is
 * read, when it does not fit. */
enum tfd_code tfd_file_read_all(struct tfd_file_access *a, struct tfd_str name,
                                struct tfd_bytes *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* A directory with all that are missing above it. */
enum tfd_code tfd_file_make_dirs(struct tfd_file_access *a, struct tfd_str dir,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
