/*
 * checkpoints.h - the file `checkpoint` of a directory: which checkpoints there
 * are, the latest one, and the removal of the oldest.
 *
 *     model_checkpoint_path: "model.ckpt-200"
 *     all_model_checkpoint_paths: "model.ckpt-100"
 *     all_model_checkpoint_paths: "model.ckpt-200"
 *     all_model_checkpoint_timestamps: 1700000000.25
 *     ...
 *
 * as TensorFlow writes it (CheckpointState as text).  Paths that lie in the
 * directory are relative to it.  The checkpoints themselves are written by
 * operations of the graph.
 *
 * The file is replaced in one step after the checkpoint it names is complete,
 * and only then are old ones removed.
 *
 * Threads: one at a time.  Blocks on files.
 */
#ifndef TFD_CLIENT_CHECKPOINTS_H
#define TFD_CLIENT_CHECKPOINTS_H

#include "kernels/io/file_roots.h"

/* More are in no directory that is kept. */
#define TFD_CHECKPOINTS_MAX 10000

struct tfd_checkpoint {
    char *path;  /* absolute prefix; owned */
    double time; /* seconds since 1970 */
};

struct tfd_checkpoints {
    struct tfd_file_roots files; /* any file: this is the operator's process */
    bool has_files;
    char *dir;                   /* absolute; owned */
    int max_to_keep;             /* 0: all */
    struct tfd_checkpoint *list; /* oldest first */
    int count, capacity;
    /* Of the file `checkpoint`: DATA_LOSS, or NOT_FOUND when it is there and
     * names none. */
    struct tfd_status damage;
    char *found;    /* tfd_checkpoints_good() */
    bool found_any; /* it has looked, and there is one, if damaged */
};

/* Makes the directory where there is none and reads its file.  DATA_LOSS when
 * that is damaged.  On failure nothing is held. */
enum tfd_code tfd_checkpoints_open(struct tfd_checkpoints *c, const char *dir,
                                   int max_to_keep,
                                   struct tfd_status *st) TFD_MUST_USE;
/* The same, but DATA_LOSS is only noted in c->damage, and nothing of the file
 * is believed. */
enum tfd_code tfd_checkpoints_open_damaged(struct tfd_checkpoints *c,
                                           const char *dir, int max_to_keep,
                                           struct tfd_status *st) TFD_MUST_USE;
void tfd_checkpoints_close(struct tfd_checkpoints *c);

/* The latest one's prefix; NULL when there is none.  DATA_LOSS when its index
 * is missing; then *path names it, too. */
enum tfd_code tfd_checkpoints_latest(struct tfd_checkpoints *c,
                                     const char **path,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Of those before the latest one, the latest that is whole; else the one of the
 * directory with the highest number; NULL when none is.  Reads them
 * (checkpoint_check.h).  Valid until the next call. */
const char *tfd_checkpoints_good(struct tfd_checkpoints *c);

/* The prefix for a checkpoint of this step; the caller frees.  NULL without
 * memory. */
char *tfd_checkpoints_path(const struct tfd_checkpoints *c, int64_t step);
/* It could not be written: removes what there is of it, unless it is one of
 * those that are kept. */
void tfd_checkpoints_discard(struct tfd_checkpoints *c, const char *path);
/* It is complete: names it the latest, removes what is too many.  When the file
 * cannot be written nothing is removed, and the next one tries again. */
enum tfd_code tfd_checkpoints_add(struct tfd_checkpoints *c, const char *path,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
