/*
 * code_points.h - code points of Unicode out of strings of any encoding that
 * ICU knows, and into strings of UTF-8, UTF-16 and UTF-32 (big endian).
 *
 * Threads: any; a reader belongs to one.
 */
#ifndef TFD_KERNELS_CODE_POINTS_H
#define TFD_KERNELS_CODE_POINTS_H

#include "common/graph/graph.h"
#include "kernels/text/icu.h"

#define TFD_CODE_POINT_MAX 0x10ffff

/* ---- What is wrong with a text ------------------------------------------- */

/* The attributes that say what becomes of it. */
struct tfd_code_point_errors {
    bool strict, ignore;
    bool replace_controls; /* those below U+0020, too */
    bool strict_controls;  /* which are errors then, where errors are strict */
    int32_t replacement;
};

/* Reads `errors` and `replacement_char`; INVALID_ARGUMENT for a replacement
 * that is no code point. */
enum tfd_code tfd_code_points_errors(const struct tfd_node *n,
                                     struct tfd_code_point_errors *out,
                                     struct tfd_status *st) TFD_MUST_USE;

/* ---- Reading ------------------------------------------------------------- */

/* Takes a code point, and where it begins in the string. */
typedef void tfd_code_point_fn(void *arg, int32_t point, size_t begin);

struct tfd_code_points {
    const struct tfd_icu *icu;
    struct UConverter *converter;
    struct tfd_code_point_errors errors;
    bool wrong; /* the converter has met what is no text */
};

/* INVALID_ARGUMENT for an encoding that ICU does not know. */
enum tfd_code tfd_code_points_open(struct tfd_code_points *r,
                                   struct tfd_str encoding,
                                   const struct tfd_code_point_errors *errors,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_code_points_close(struct tfd_code_points *r);
/* As in TensorFlow an encoding's state goes on from string to string.
 * INVALID_ARGUMENT when errors are strict and the string has one. */
enum tfd_code tfd_code_points_read(struct tfd_code_points *r, struct tfd_str s,
                                   tfd_code_point_fn *fn, void *arg,
                                   struct tfd_status *st) TFD_MUST_USE;

/* ---- Writing ------------------------------------------------------------- */

/* Appends a code point; half of a surrogate pair is U+FFFD in UTF-8. */
typedef void tfd_code_point_put_fn(struct tfd_bytes *out, int32_t point);
/* Of "UTF-8", "UTF-16-BE", "UTF-32-BE". */
tfd_code_point_put_fn *tfd_code_points_put(struct tfd_str encoding);

#endif
