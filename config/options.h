/*
 * options.h - the table of all options: a row is read from the command line
 * and the file, printed by --help and --print_config, and explains itself.
 *
 * A new option is a row in options.c and a field of struct tfd_config.
 *
 * Threads: read-only tables.
 */
#ifndef TFD_CONFIG_OPTIONS_H
#define TFD_CONFIG_OPTIONS_H

#include "config/flags.h"

#define TFD_OPTIONS_MAX 64

struct tfd_option;

/* Reads text into the option's field of *c.  On failure the text says what is
 * wrong and what to write. */
typedef enum tfd_code tfd_option_read_fn(const struct tfd_option *o,
                                         const char *text, struct tfd_config *c,
                                         struct tfd_status *st);

struct tfd_option {
    const char *group; /* heading of --help */
    const char *name;
    const char *value;    /* "PORT"; NULL: a switch */
    const char *fallback; /* the default; NULL: none */
    const char *help;
    tfd_option_read_fn *read; /* NULL: flags.c reads it with the cluster */
    size_t offset;            /* of the field in struct tfd_config */
    int64_t min, max;         /* of a number */
    const char *const *words; /* of a choice, ends in NULL */
    bool repeated;
    bool of_training; /* says nothing without --train */
};

extern const struct tfd_option tfd_options[];
extern const size_t tfd_option_count;

/* The options of a program: the daemon's, or those of a tool, whose fields lie
 * in a struct that begins with a struct tfd_config (flags_tool.h). */
struct tfd_option_table {
    const char *program; /* "tfd": begins lines about mistakes */
    const struct tfd_option *rows;
    size_t count; /* at most TFD_OPTIONS_MAX */
};

extern const struct tfd_option_table tfd_option_daemon;

/* The row, or -1.  nearest() is the row somebody may have meant, or -1. */
int tfd_option_find(const struct tfd_option_table *t, const char *name,
                    size_t size);
int tfd_option_nearest(const struct tfd_option_table *t, const char *name);

/* Readers of texts, switches, durations, and numbers of 32 and 64 bits: for
 * the tables of tools. */
tfd_option_read_fn tfd_option_read_text;
tfd_option_read_fn tfd_option_read_bool;
tfd_option_read_fn tfd_option_read_duration;
tfd_option_read_fn tfd_option_read_int32;
tfd_option_read_fn tfd_option_read_int64;

enum tfd_option_origin {
    TFD_ORIGIN_DEFAULT,
    TFD_ORIGIN_FILE,
    TFD_ORIGIN_SLURM,
    TFD_ORIGIN_TF_CONFIG,
    TFD_ORIGIN_FLAG,
};

/* What one option was set to, as text; texts are owned. */
struct tfd_setting {
    enum tfd_option_origin origin;
    size_t count; /* 0: not set; above 1 only where repeated */
    char *texts[TFD_FILE_ROOTS_MAX];
};

struct tfd_settings {
    const struct tfd_option_table *table;
    struct tfd_setting of[TFD_OPTIONS_MAX];
    const char *file; /* of TFD_ORIGIN_FILE; borrowed */
};

void tfd_settings_deinit(struct tfd_settings *s);

/* Replaces what an origin of lower rank said; of the same origin the last text
 * stays, or all of them where the option is repeated.  RESOURCE_EXHAUSTED when
 * there are too many. */
enum tfd_code tfd_settings_put(struct tfd_settings *s, int option,
                               enum tfd_option_origin origin, const char *text,
                               struct tfd_status *st) TFD_MUST_USE;

/* The text of an option by name; its default where it is not set. */
const char *tfd_settings_text(const struct tfd_settings *s, const char *name);
enum tfd_option_origin tfd_settings_origin(const struct tfd_settings *s,
                                           const char *name);

/* The path of an option in messages: "--port", "FILE: port". */
void tfd_settings_path(const struct tfd_settings *s, int option, char *path,
                       size_t size);

/* Reads every setting into *c. */
void tfd_settings_apply(const struct tfd_settings *s, struct tfd_config *c,
                        struct tfd_report *errors);

/* ---- help.c -------------------------------------------------------------- */

void tfd_help_print(FILE *to);
/* An option with its explanation, within 80 columns. */
void tfd_help_option(FILE *to, const struct tfd_option *o);
void tfd_help_version(FILE *to);
/* One line per option and per task of the cluster: value and origin. */
void tfd_help_config(const struct tfd_settings *s, const struct tfd_config *c,
                     enum tfd_option_origin cluster_origin, FILE *to);

#endif
