/*
 * roff.h - text in a manual page, for the programs that write pages from tables
 * (manual.c, ctl_manual.c).
 *
 * Threads: one.
 */
#ifndef TFD_PACKAGING_ROFF_H
#define TFD_PACKAGING_ROFF_H

#include <stdio.h>

/* As roff wants it: a dash that can be copied, no backslash that commands, no
 * dot or quote that does at the beginning of a line. */
static inline void put_roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else
            fputc(*text, stdout);
    }
}

#endif
