/*
 * file_draft.h - a file that appears whole or not at all.
 *
 * It is written under a temporary name in the same directory, made durable, and
 * then takes over its name in one step:
 *
 *     TFD_TRY(tfd_file_draft_open(&d, a, name, st));
 *     rc = tfd_file_draft_write(&d, data, size, st);     as often as needed
 *     rc = rc ? rc : tfd_file_draft_seal(&d, st);        on disk, still hidden
 *     rc = rc ? rc : tfd_file_draft_publish(&d, st);     the name is taken over
 *                                                        for good
 *     tfd_file_draft_deinit(&d);             removes one that is not published
 *
 * Several files in one directory are begun (tfd_file_draft_begin) and sealed
 * together (tfd_file_draft_seal_both), so that the disk has all of them at
 * once; and all but the last precede (tfd_file_draft_precede) what is published
 * last, which makes all of them durable.
 *
 * A draft that is passing will have another name, in another directory, before
 * anybody needs it after a power cut: no directory is synced for it.
 *
 * After a failed write or seal nothing but deinit may follow: a disk that
 * failed once to store a page says so once.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_FILE_DRAFT_H
#define TFD_KERNELS_FILE_DRAFT_H

#include "kernels/io/file.h"

/* Longer names the system refuses anyway. */
#define TFD_FILE_DRAFT_NAME_MAX 8192

struct tfd_file_draft {
    struct tfd_file_access *access;
    struct tfd_file file;
    struct tfd_bytes name;
    struct tfd_bytes temporary; /* name and ".tempstate" and a random number */
    bool exists;                /* under its temporary name */
    bool passing;               /* false when opened */
};

enum tfd_code tfd_file_draft_open(struct tfd_file_draft *d,
                                  struct tfd_file_access *a,
                                  struct tfd_str name,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_draft_write(struct tfd_file_draft *d, const void *data,
                                   size_t size,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Nothing more is written: the bytes begin their way to the disk. */
void tfd_file_draft_begin(struct tfd_file_draft *d);
enum tfd_code tfd_file_draft_seal(struct tfd_file_draft *d,
                                  struct tfd_status *st) TFD_MUST_USE;
/* Both, which were begun. */
enum tfd_code tfd_file_draft_seal_both(struct tfd_file_draft *one,
                                       struct tfd_file_draft *two,
                                       struct tfd_status *st) TFD_MUST_USE;
/* The name is taken over, and is on disk before what happens in its directory
 * from here on. */
enum tfd_code tfd_file_draft_precede(struct tfd_file_draft *d,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_file_draft_publish(struct tfd_file_draft *d,
                                     struct tfd_status *st) TFD_MUST_USE;
/* The three of them: the file is there with these contents. */
enum tfd_code tfd_file_draft_put(struct tfd_file_draft *d,
                                 struct tfd_str contents,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_file_draft_deinit(struct tfd_file_draft *d);

#endif
