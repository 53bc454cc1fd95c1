/*
 * refusals.h - texts of the C API that are TensorFlow's, word for word.
 *
 * The tests that use it call nothing but tensorflow/c/c_api.h, so that the same
 * file can be linked with TensorFlow's library: tests/conformance/capi_texts.py
 * does that, with -DTFD_ORACLE, and every row must hold there as well.  Rows of
 * which TensorFlow's library dies, or which are ours on purpose, have OURS in
 * front of their text.
 */
#ifndef TFD_TESTS_SUPPORT_REFUSALS_H
#define TFD_TESTS_SUPPORT_REFUSALS_H

#include "tests/support/graph.h"

#include <stdlib.h>

#define OURS "\x01"

#ifdef TFD_ORACLE
#define IS_ORACLE 1
#else
#define IS_ORACLE 0
#endif

/* Not for this library. */
static inline int is_skipped(const char *text)
{
    return IS_ORACLE && text && *text == *OURS;
}

/* Definitions become "Op<NAME>": theirs have more to say than ours; and a
 * computer's name becomes "HOST". */
static inline void fold_text(const char *text, char *out, size_t size)
{
    static const char begin[] = "Op<name=", host[] = "in binary running on ";
    const char *op, *end, *at;

    snprintf(out, size, "%s", text);
    op = strstr(out, begin);
    end = strrchr(out, '>');
    if (op && end && (at = strchr(op, ';')) && at < end) {
        char rest[4096], name[256];

        snprintf(rest, sizeof(rest), "%s", end);
        snprintf(name, sizeof(name), "%.*s", (int)(at - op) - 8, op + 8);
        out[op - out] = '\0';
        snprintf(out + strlen(out), size - strlen(out), "Op<%s%s", name, rest);
    }
    op = strstr(out, host);
    if (op && (at = strstr(op, ". Make"))) {
        char rest[4096];

        snprintf(rest, sizeof(rest), "%s", at);
        out[op - out + (long)sizeof(host) - 1] = '\0';
        snprintf(out + strlen(out), size - strlen(out), "HOST%s", rest);
    }
}

/* text NULL: the call succeeded. */
static inline int check_refusal(struct fixture *f, const char *row,
                                TF_Code code, const char *text)
{
    char folded[8192];

    if (!text)
        text = "";
    else if (*text == *OURS)
        text++;
    fold_text(TF_Message(f->st), folded, sizeof(folded));
    if (TF_GetCode(f->st) == code && !strcmp(folded, text))
        return 0;
    print_error("%s: expected %d '%s'\n", row, (int)code, text);
    print_error("%s: and got  %d '%s'\n", row, (int)TF_GetCode(f->st), folded);
    return 1;
}

/* A row begins with a graph of its own. */
static inline void begin_row(struct fixture *f)
{
    TF_DeleteGraph(f->g);
    f->g = TF_NewGraph();
    TF_SetStatus(f->st, TF_OK, "");
}

#endif
