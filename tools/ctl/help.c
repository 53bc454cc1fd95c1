/*
 * help.c - the tables as text.
 */
#include "tools/ctl/ctl.h"

#include <string.h>

#define WIDTH 80
#define COLUMN 14 /* where the words about a verb start */

static void put_wrapped(FILE *to, const char *text)
{
    size_t column = COLUMN;

    while (*text) {
        size_t size = strcspn(text, " ");

        if (column > COLUMN && column + 1 + size > WIDTH) {
            fprintf(to, "\n%*s", COLUMN, "");
            column = COLUMN;
        }
        column += (size_t)fprintf(to, "%s%.*s", column > COLUMN ? " " : "",
                                  (int)size, text);
        text += size + (text[size] == ' ');
    }
    fputc('\n', to);
}

static void put_options(const struct tfd_ctl_verb *v, FILE *to)
{
    for (size_t i = 0; i < tfd_ctl_options.count; i++)
        if (!v || tfd_ctl_verb_takes(v, tfd_ctl_options.rows[i].name))
            tfd_help_option(to, &tfd_ctl_options.rows[i]);
}

void tfd_ctl_help(FILE *to)
{
    fputs("usage: tfdctl VERB [WORD ...] [--name=value ...]\n"
          "\n"
          "Asks a server of a TensorFlow cluster, or looks at its files.\n"
          "\n"
          "Verbs:\n",
          to);
    for (size_t i = 0; i < tfd_ctl_verb_count; i++) {
        fprintf(to, "  %-*s", COLUMN - 2, tfd_ctl_verbs[i].name);
        put_wrapped(to, tfd_ctl_verbs[i].help);
    }
    fputs("\nOptions:\n", to);
    put_options(NULL, to);
    fputs("\nDurations: 250ms, 60s, 5m, 2h; a plain number is seconds.\n"
          "Exit: 0 done, 1 the answer is no, 2 a file cannot be read or "
          "written, 64 usage,\n"
          "      69 no server answers, 70 the server refuses, 71 system, "
          "78 configuration.\n",
          to);
}

/* One line for each of the words that " | " divides. */
static void put_usage(const struct tfd_ctl_verb *v, FILE *to)
{
    const char *words = v->words;

    do {
        const char *end = strstr(words, " | ");
        size_t size = end ? (size_t)(end - words) : strlen(words);

        fprintf(to, "%s tfdctl %s%s%.*s [--name=value ...]\n",
                words == v->words ? "usage:" : "      ", v->name,
                size > 0 ? " " : "", (int)size, words);
        words = end ? end + 3 : NULL;
    } while (words);
}

void tfd_ctl_help_verb(const struct tfd_ctl_verb *v, FILE *to)
{
    put_usage(v, to);
    fprintf(to, "\n%*s", COLUMN, "");
    put_wrapped(to, v->help);
    fputs("\nOptions:\n", to);
    put_options(v, to);
}
