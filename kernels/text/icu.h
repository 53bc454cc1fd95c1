/*
 * icu.h - the functions of ICU (International Components for Unicode) that ops
 * use: case mapping, converters of encodings, scripts.
 *
 * Few graphs need them, so the library is opened at an op's first use and stays
 * open: a server that has no such graph pays neither time nor memory.  Its
 * symbols carry its version (ucnv_open_72), which is found out by trying.
 *
 * The types are ICU's, which its stable C interface fixes: UChar is a uint16_t,
 * UChar32 an int32_t, UErrorCode an int, above 0 for a failure.
 *
 * Threads: any.  A converter belongs to one thread at a time.
 */
#ifndef TFD_KERNELS_ICU_H
#define TFD_KERNELS_ICU_H

#include "common/base/str.h"

struct UConverter;

/* What a converter calls where bytes are no character: `reason` says why. */
typedef void tfd_icu_callback_fn(const void *context, void *args,
                                 const char *bytes, int32_t size, int reason,
                                 int *error);
enum {
    TFD_ICU_UNASSIGNED = 0, /* reasons; those above are no errors of the text */
    TFD_ICU_ILLEGAL = 1,
    TFD_ICU_IRREGULAR = 2,
    TFD_ICU_BUFFER_OVERFLOW = 15, /* an error: there is more than fits */
};

/* X(name, type of the result, parameters) */
#define TFD_ICU_FUNCTIONS(X)                                              \
    X(u_strFromUTF8WithSub, uint16_t *,                                   \
      (uint16_t * to, int32_t capacity, int32_t * size, const char *from, \
       int32_t from_size, int32_t substitute, int32_t *substituted,       \
       int *error))                                                       \
    X(u_strToUTF8, char *,                                                \
      (char *to, int32_t capacity, int32_t *size, const uint16_t *from,   \
       int32_t from_size, int *error))                                    \
    X(u_strToLower, int32_t,                                              \
      (uint16_t * to, int32_t capacity, const uint16_t *from,             \
       int32_t from_size, const char *locale, int *error))                \
    X(u_strToUpper, int32_t,                                              \
      (uint16_t * to, int32_t capacity, const uint16_t *from,             \
       int32_t from_size, const char *locale, int *error))                \
    X(ucnv_open, struct UConverter *, (const char *name, int *error))     \
    X(ucnv_close, void, (struct UConverter * converter))                  \
    X(ucnv_reset, void, (struct UConverter * converter))                  \
    X(ucnv_getNextUChar, int32_t,                                         \
      (struct UConverter * converter, const char **at, const char *end,   \
       int *error))                                                       \
    X(ucnv_setToUCallBack, void,                                          \
      (struct UConverter * converter, tfd_icu_callback_fn * fn,           \
       const void *context, tfd_icu_callback_fn **old_fn,                 \
       const void **old_context, int *error))                             \
    X(UCNV_TO_U_CALLBACK_SUBSTITUTE, void,                                \
      (const void *context, void *args, const char *bytes, int32_t size,  \
       int reason, int *error))                                           \
    X(uscript_getScript, int32_t, (int32_t character, int *error))

struct tfd_icu {
#define X(name, type, parameters) type(*name) parameters;
    TFD_ICU_FUNCTIONS(X)
#undef X
};

/* FAILED_PRECONDITION, which names the package, when there is no ICU here. */
enum tfd_code tfd_icu_get(const struct tfd_icu **out,
                          struct tfd_status *st) TFD_MUST_USE;

#endif
