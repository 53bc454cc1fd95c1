/*
 * data_file.h - a file that is read from its beginning to its end, as it is or
 * compressed (zlib, gzip, or Snappy in blocks:
 *
 *     block: [u32 size, its high byte first][compressed bytes]
 *
 * each compressed by itself).
 *
 * Threads: one at a time; reading waits for the disk.
 */
#ifndef TFD_KERNELS_DATA_SOURCES_DATA_FILE_H
#define TFD_KERNELS_DATA_SOURCES_DATA_FILE_H

#include "kernels/io/file.h"

enum tfd_data_compression {
    TFD_DATA_PLAIN,
    TFD_DATA_ZLIB,
    TFD_DATA_GZIP,
    TFD_DATA_SNAPPY,
};

struct tfd_data_unpack; /* of a compressed file */

struct tfd_data_file { /* all zero: not open */
    struct tfd_file_access *access;
    struct tfd_file file;
    bool is_open;
    uint64_t offset; /* bytes read of the file */
    char *buffer;    /* what was read and not taken yet: [at, have) */
    size_t at, have;
    struct tfd_data_unpack *unpack; /* NULL: plain */
};

/* "", "ZLIB", "GZIP": what datasets of a program's files may have. */
enum tfd_code tfd_data_file_compression(struct tfd_str name,
                                        enum tfd_data_compression *out,
                                        struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_data_file_open(struct tfd_data_file *f,
                                 struct tfd_file_access *a, struct tfd_str name,
                                 enum tfd_data_compression compression,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_data_file_close(struct tfd_data_file *f);
/* *got < size: the file has ended. */
enum tfd_code tfd_data_file_read(struct tfd_data_file *f, void *data,
                                 size_t size, size_t *got,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Bytes that can still come at most: nobody knows of a compressed file. */
uint64_t tfd_data_file_left(const struct tfd_data_file *f);
/* The bytes up to a newline, without it and without carriage returns; *end:
 * there is none.  The bytes are the buffer's until the next call. */
enum tfd_code tfd_data_file_line(struct tfd_data_file *f, struct tfd_bytes *out,
                                 bool *end, struct tfd_status *st) TFD_MUST_USE;
/* The same with all of its bytes, the newline too, if there is one. */
enum tfd_code tfd_data_file_raw_line(struct tfd_data_file *f,
                                     struct tfd_bytes *out, bool *end,
                                     struct tfd_status *st) TFD_MUST_USE;

/* What is there without waiting, at least a byte unless the file has ended; the
 * buffer's until the next call. */
enum tfd_code tfd_data_file_peek(struct tfd_data_file *f, struct tfd_str *out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* So many of the bytes that were there are taken. */
void tfd_data_file_skip(struct tfd_data_file *f, size_t size);

#endif
