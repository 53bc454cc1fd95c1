/*
 * flags_parse.h - what the parts of flags.c share: the state while the sources
 * are read.  Included by config/flags*.c only.
 *
 * Threads: one at a time.
 */
#ifndef TFD_CONFIG_FLAGS_PARSE_H
#define TFD_CONFIG_FLAGS_PARSE_H

#include "config/options.h"
#include "config/tf_config.h"

#define TFD_FLAGS_PATH_SIZE 320

struct tfd_flags_parse {
    struct tfd_config *out;
    struct tfd_settings settings;
    struct tfd_tf_config tf;
    enum tfd_option_origin cluster_origin; /* who named the cluster */
    struct tfd_report errors;
    /* Arguments that are no options, of a tool (flags_tool.h). */
    const char **words;
    size_t word_count, words_max;
};

/* Notes what an origin said about an option; mistakes go to errors. */
void tfd_flags_put(struct tfd_flags_parse *p, int option,
                   enum tfd_option_origin origin, const char *text);

/* The text of an option, if it was said by this origin; else NULL. */
const char *tfd_flags_said(const struct tfd_flags_parse *p, const char *name,
                           enum tfd_option_origin origin);

/* Reads the command line into the settings and words. */
void tfd_flags_scan(struct tfd_flags_parse *p, int argc, char *const argv[]);

/* Whether a switch is set, before anything is applied. */
bool tfd_flags_on(const struct tfd_flags_parse *p, const char *name);

/* flags_file.c: reads the file of --config, if one is named. */
void tfd_flags_read_file(struct tfd_flags_parse *p);

/* flags_cluster.c: fixes the cluster and this task from all sources. */
void tfd_flags_choose_cluster(struct tfd_flags_parse *p);

#endif
