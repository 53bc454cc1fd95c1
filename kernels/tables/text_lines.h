/*
 * text_lines.h - the lines of a vocabulary: a text file with a word in each
 * line, none of them empty.
 *
 *     TFD_TRY(tfd_text_lines_open(&l, access, name, -1, st));
 *     while rc is OK and there are more:
 *         rc = tfd_text_lines_next(&l, &more, st);
 *         ...                             l.line, whose number is l.count
 *         l.count++;
 *     tfd_text_lines_close(&l);
 *
 * Errors are TensorFlow's.  Threads: one at a time; opening waits for the disk.
 */
#ifndef TFD_KERNELS_TABLES_TEXT_LINES_H
#define TFD_KERNELS_TABLES_TEXT_LINES_H

#include "kernels/io/file.h"

struct tfd_text_lines {
    struct tfd_str name;
    struct tfd_bytes contents; /* of the file, which is read whole */
    size_t at;
    int64_t max;   /* lines that are wanted; -1: all */
    int64_t count; /* of lines before this one */
    struct tfd_str line;
};

/* Close it whatever comes of this. */
enum tfd_code tfd_text_lines_open(struct tfd_text_lines *l,
                                  struct tfd_file_access *access,
                                  struct tfd_str name, int64_t max,
                                  struct tfd_status *st) TFD_MUST_USE;
void tfd_text_lines_close(struct tfd_text_lines *l);
/* Back to the first line. */
void tfd_text_lines_rewind(struct tfd_text_lines *l);
/* *more is false behind the last line that is wanted. */
enum tfd_code tfd_text_lines_next(struct tfd_text_lines *l, bool *more,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
