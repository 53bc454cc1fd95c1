/*
 * flags_tool.h - the configuration of a tool beside the daemon, by the rules of
 * flags.h: flags, else the file of --config, else defaults, read by the same
 * readers; and what TF_CONFIG says of the task that a tool shall speak to.
 *
 * A tool's options are a table of its own (options.h) with a row "config".  Its
 * fields lie in a struct that begins with a struct tfd_config, in whose fields
 * the rows help, version and config may lie.
 *
 * Threads: call before any thread starts.
 */
#ifndef TFD_CONFIG_FLAGS_TOOL_H
#define TFD_CONFIG_FLAGS_TOOL_H

#include "config/options.h"

struct tfd_flags_tool {
    const struct tfd_option_table *table;
    const char **words; /* arguments that are no options; of argv */
    size_t word_count, words_max;
};

/* Fills *out, all zero before, whose texts the tool frees in every case.
 * TFD_FLAGS_RUN, or an exit code with a line for each mistake in err.  help and
 * version are not checked further. */
int tfd_flags_tool_parse(struct tfd_flags_tool *t, struct tfd_config *out,
                         int argc, char *const argv[], FILE *err);

/* The cluster of the text of TF_CONFIG, which has jobs of its own afterwards,
 * and the task that it is for (job_name, "" where it is not said).  False with
 * lines in errors. */
bool tfd_flags_tool_cluster(const char *tf_config, struct tfd_cluster *out,
                            struct tfd_report *errors);

#endif
