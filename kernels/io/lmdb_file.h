/*
 * lmdb_file.h - the keys and values of an LMDB database, in their order.
 *
 * An LMDB database is a file of pages that make a B+ tree.  liblmdb maps the
 * file and believes it; this reader copies a page at a time and checks all that
 * it follows, so that a damaged file, or one that is written at the moment, is
 * an error and no crash.
 *
 *     page 0, 1   meta: magic, version, page size, the tree's root; the one of
 *                 the later transaction counts
 *     branch      [key, page] ...
 *     leaf        [key, value] ...     a large value is on pages of its own
 *     dups        the values of one key: a page within the leaf, or a tree
 *
 *     page: [u64 number][u16 size of an entry][u16 flags][u16 lower][u16 upper]
 *           [u16 offset of each entry]... up to lower; entries from upper on
 *     entry: [u16 low][u16 high][u16 flags][u16 size of key][key][value]
 *           low and high are the value's size, of a branch the page
 *
 * Numbers are little-endian, as the machines that run tfd write them.  A named
 * database within the file is an entry whose value is its record, as for who
 * reads the unnamed one with liblmdb.
 *
 * Ownership: the caller's struct.  Threads: one at a time; all functions wait
 * for the disk.
 */
#ifndef TFD_KERNELS_IO_LMDB_FILE_H
#define TFD_KERNELS_IO_LMDB_FILE_H

#include "config/limits.h"
#include "kernels/io/file.h"

struct tfd_lmdb_level {
    char *page;
    size_t size;          /* of the page */
    uint32_t next, count; /* entries */
    bool is_leaf, is_fixed;
};

/* Where it is in a tree: the page of each level, the root's first. */
struct tfd_lmdb_tree {
    struct tfd_lmdb_level level[TFD_LMDB_DEPTH_MAX];
    int depth;         /* levels in use; 0: at the end */
    size_t fixed_size; /* of an entry of pages that have nothing but keys */
};

struct tfd_lmdb_file { /* all zero: not open */
    struct tfd_file_access *access;
    struct tfd_file file;
    bool is_open;
    size_t page_size;
    uint64_t page_count, visited;
    int steps; /* pages looked at for the next pair */
    struct tfd_lmdb_tree keys, dups;
    struct tfd_str key;     /* of the dups */
    struct tfd_bytes value; /* that is on pages of its own */
};

/* The database in a file, or in the file "data.mdb" of a directory.  Errors are
 * INVALID_ARGUMENT with liblmdb's texts, and the name. */
enum tfd_code tfd_lmdb_open(struct tfd_lmdb_file *l, struct tfd_file_access *a,
                            struct tfd_str name,
                            struct tfd_status *st) TFD_MUST_USE;
void tfd_lmdb_close(struct tfd_lmdb_file *l); /* one that is not open, too */
/* The next key with its value, the file's until the next call; *end: there is
 * none.  A failure leaves the name to the caller; then the file can only be
 * closed. */
enum tfd_code tfd_lmdb_next(struct tfd_lmdb_file *l, struct tfd_str *key,
                            struct tfd_str *value, bool *end,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
