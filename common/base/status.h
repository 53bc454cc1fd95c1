/*
 * status.h - how every function in tfd that can fail says so.
 *
 * Such a function returns an enum tfd_code and takes the caller's
 * struct tfd_status as its last argument:
 *
 *     enum tfd_code tfd_plan_place(struct tfd_plan *p, struct tfd_status *st);
 *
 * Three rules make this enough for the whole program:
 *
 *   1. The caller owns the status, normally on its stack.  Nothing is
 *      allocated, so running out of memory can itself be reported and an
 *      error nobody looks at leaks nothing.
 *   2. The first failure wins.  Cleanup after a failure may fail too, and the
 *      user must still read the cause, not the echo.  Code that recovers from
 *      a failure calls tfd_status_clear() before it goes on.
 *   3. Codes are the canonical RPC codes, number for number, because they
 *      travel: as grpc-status in a trailer and in the body of an error frame.
 *
 * A status argument may be NULL when only the code matters.
 * Broken invariants are not errors: use assert(), which stays on in releases.
 *
 * Threads: any; a status belongs to one thread at a time.
 */
#ifndef TFD_COMMON_STATUS_H
#define TFD_COMMON_STATUS_H

#include <stdarg.h>

#define TFD_MUST_USE __attribute__((warn_unused_result))
#define TFD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* name, number on the wire.  The numbers are fixed by the protocol. */
#define TFD_CODES(X)          \
    X(OK, 0)                  \
    X(CANCELLED, 1)           \
    X(UNKNOWN, 2)             \
    X(INVALID_ARGUMENT, 3)    \
    X(DEADLINE_EXCEEDED, 4)   \
    X(NOT_FOUND, 5)           \
    X(ALREADY_EXISTS, 6)      \
    X(PERMISSION_DENIED, 7)   \
    X(RESOURCE_EXHAUSTED, 8)  \
    X(FAILED_PRECONDITION, 9) \
    X(ABORTED, 10)            \
    X(OUT_OF_RANGE, 11)       \
    X(UNIMPLEMENTED, 12)      \
    X(INTERNAL, 13)           \
    X(UNAVAILABLE, 14)        \
    X(DATA_LOSS, 15)          \
    X(UNAUTHENTICATED, 16)

enum tfd_code {
#define X(name, number) TFD_##name = number,
    TFD_CODES(X)
#undef X
};

/* Long enough for TensorFlow's longest texts (a placement error lists devices),
 * below its own cut at 3072; longer text is cut and ends in "..." so that the
 * cut is visible. */
#define TFD_STATUS_TEXT_MAX 2044

struct tfd_status {
    enum tfd_code code;
    char text[TFD_STATUS_TEXT_MAX]; /* always terminated; "" while OK */
};

#define TFD_STATUS_INIT \
    {                   \
        TFD_OK, ""      \
    }

/*
 * Records a failure unless one is already recorded.  Returns the code the
 * caller should return, so a failure is one line:
 *
 *     return tfd_fail(st, TFD_NOT_FOUND, "no device named %s", name);
 *
 * code must not be TFD_OK.
 */
enum tfd_code tfd_fail(struct tfd_status *st, enum tfd_code code,
                       const char *fmt, ...) TFD_PRINTF(3, 4);

/* Puts context in front of a recorded failure ("job worker/task 3: ...").
 * Does nothing while the status is OK.  Each layer that knows something the
 * layer below did not adds its part once. */
void tfd_status_context(struct tfd_status *st, const char *fmt, ...)
    TFD_PRINTF(2, 3);

/* Copies a failure under rule 2 and returns from->code. */
enum tfd_code tfd_status_copy(struct tfd_status *to,
                              const struct tfd_status *from);

/* Forgets a failure that the caller has dealt with. */
void tfd_status_clear(struct tfd_status *st);

/* "NOT_FOUND" for TFD_NOT_FOUND; "UNKNOWN" for a number that is no code, since
 * numbers also arrive from peers that may be newer than we are. */
const char *tfd_code_name(enum tfd_code code);

/* Returns from the calling function when expr fails.  Only for functions that
 * hold nothing; one that holds something uses `goto out` (CONTRIBUTING.md).
 */
#define TFD_TRY(expr)               \
    do {                            \
        enum tfd_code rc_ = (expr); \
        if (rc_ != TFD_OK)          \
            return rc_;             \
    } while (0)

#endif
