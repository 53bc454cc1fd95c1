/*
 * checkpoint_text.h - reads and writes CheckpointState as protobuf text, which
 * is what the file `checkpoint` of a directory holds: one "key: value" after
 * another, values strings or numbers, comments from '#' to the end of a line.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CLIENT_CHECKPOINT_TEXT_H
#define TFD_CLIENT_CHECKPOINT_TEXT_H

#include "common/base/str.h"

struct tfd_checkpoint_text {
    struct tfd_str rest;
    int line; /* from 1 */
    bool failed;
    struct tfd_str key;
    struct tfd_bytes value; /* of a string, without quotes and escapes */
    double number;          /* of a number */
};

void tfd_checkpoint_text_init(struct tfd_checkpoint_text *t,
                              struct tfd_str text);
void tfd_checkpoint_text_deinit(struct tfd_checkpoint_text *t);
/* The next field; false at the end and at a mistake (then `failed`). */
bool tfd_checkpoint_text_next(struct tfd_checkpoint_text *t);

/* A string in quotes, escaped as protobuf does. */
void tfd_checkpoint_text_quote(struct tfd_bytes *b, struct tfd_str s);

#endif
