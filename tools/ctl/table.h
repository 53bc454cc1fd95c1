/*
 * table.h - an array of JSON objects as columns.
 *
 *     NAME                                   TYPE  MEMORY
 *     /job:ps/replica:0/task:0/device:CPU:0  CPU   256 MiB
 *
 * On a terminal the columns fit its width, the widest ones are cut, spare ones
 * at the end are left out, and the head has colour; elsewhere nothing is cut
 * and nothing has colour.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_TABLE_H
#define TFD_TOOLS_CTL_TABLE_H

#include "tools/ctl/ctl.h"

enum tfd_ctl_format {
    TFD_CTL_PLAIN, /* texts, numbers, booleans as they are */
    TFD_CTL_BYTES,
    TFD_CTL_SPARE_BYTES, /* the same; at the end: where there is room */
    TFD_CTL_US,
    TFD_CTL_MS,
    TFD_CTL_SECONDS,
    TFD_CTL_STATE, /* has a colour of its own */
};

struct tfd_ctl_column {
    const char *title;
    const char *key; /* "a.b": of an object within the row's */
    enum tfd_ctl_format format;
};

/* What is missing, or null, is "-". */
void tfd_ctl_table(const struct tfd_ctl *c, const json_t *rows,
                   const struct tfd_ctl_column *columns, size_t count);

#define TFD_CTL_CELL_SIZE 4096

/* A value as a table shows it. */
void tfd_ctl_table_cell(const json_t *v, enum tfd_ctl_format format, char *text,
                        size_t size);

/* The columns of the terminal that c->to is; 0: it is none. */
size_t tfd_ctl_terminal(const struct tfd_ctl *c);

#endif
