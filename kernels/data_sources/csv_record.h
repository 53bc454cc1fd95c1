/*
 * csv_record.h - the fields of a text's records, as RFC 4180 has them.
 *
 *     a,"b ""c"",\nd",\r\n      two fields of text and an empty one
 *
 * A record ends with \n, \r or both, or with its file.  What is wrong in it
 * does not end it: the one behind it can be read.
 *
 * Threads: one at a time; reading waits for the disk.
 */
#ifndef TFD_KERNELS_DATA_SOURCES_CSV_RECORD_H
#define TFD_KERNELS_DATA_SOURCES_CSV_RECORD_H

#include "kernels/data_sources/data_file.h"

/* A field that is included; it is the reader's until the function returns.  A
 * failure is the record's, and its other fields follow. */
typedef enum tfd_code tfd_csv_field_fn(void *arg, struct tfd_str field,
                                       struct tfd_status *st);

struct tfd_csv_columns { /* both empty: all */
    const int64_t *selected, *excluded;
    int64_t selected_count, excluded_count;
};

struct tfd_csv_reader {
    struct tfd_data_file *file; /* borrowed */
    char delimiter;
    bool has_quotes;
    struct tfd_csv_columns columns;
    tfd_csv_field_fn *field; /* NULL: a record is skipped */
    void *arg;
    struct tfd_bytes text; /* of a field */
};

/* *end: there is no record.  The first failure counts. */
enum tfd_code tfd_csv_record(struct tfd_csv_reader *r, bool *end,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
