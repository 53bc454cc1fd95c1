/*
 * summary_db.h - summaries in an SQLite database: the file behind
 * CreateSummaryDbWriter.
 *
 *     Users <- Experiments <- Runs <- Tags <- Tensors <- TensorStrings
 *                              ^- Graphs <- Nodes, NodeInputs
 *     Ids             every number that one row names another by
 *     Descriptions    of tags
 *
 * The tables are TensorFlow's (tensorflow/core/summary/schema.cc), and so is
 * what is in them, with two exceptions.  TensorFlow keeps a thousand rows of
 * Tensors for each tag, without a type, so that it may fill them in later, and
 * leaves half of them; here rows are added as they come.  And a value is there
 * with its tag or not at all, as is a graph with its nodes: each is one
 * transaction.
 *
 * Others may have the database open.  While one of them writes, a writer here
 * waits for some seconds, and then fails with UNAVAILABLE.
 *
 * Threads: one at a time; all functions wait for the disk.
 */
#ifndef TFD_KERNELS_TEXT_SUMMARY_DB_H
#define TFD_KERNELS_TEXT_SUMMARY_DB_H

#include "common/base/tensor.h"
#include "kernels/io/file.h"

struct tfd_summary_db;

struct tfd_summary_db_names {
    struct tfd_str database; /* a file's name; "" for one in memory */
    struct tfd_str experiment, run, user; /* "": none */
};

/* Makes the file and the tables that are not there. */
enum tfd_code tfd_summary_db_open(struct tfd_summary_db **out,
                                  struct tfd_file_access *files,
                                  const struct tfd_summary_db_names *names,
                                  struct tfd_status *st) TFD_MUST_USE;
/* UNIMPLEMENTED for types that the tables do not have: bool, bfloat16, ... */
enum tfd_code tfd_summary_db_check(enum tfd_dtype dtype,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Adds what an Event holds: values of a summary, or a graph; anything else is
 * passed over. */
enum tfd_code tfd_summary_db_put(struct tfd_summary_db *db,
                                 struct tfd_str event,
                                 struct tfd_status *st) TFD_MUST_USE;
/* The run ends now, as far as is known. */
enum tfd_code tfd_summary_db_finish(struct tfd_summary_db *db,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_summary_db_close(struct tfd_summary_db *db);

#endif
