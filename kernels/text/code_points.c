/*
 * code_points.c - see code_points.h.
 *
 * A converter calls back where bytes are no text, which the reader remembers
 * for the code point that comes next: the one that ICU puts in their place.
 */
#include "kernels/text/code_points.h"

#include "common/base/unicode.h"
#include "common/thread/halt.h"
#include "config/limits.h"

#define POINTS_BETWEEN_LOOKS 65536
#define REPLACEMENT 0xfffd
#define FIRST_VISIBLE 0x20

enum tfd_code tfd_code_points_errors(const struct tfd_node *n,
                                     struct tfd_code_point_errors *out,
                                     struct tfd_status *st)
{
    struct tfd_str policy;
    int64_t replacement;

    TFD_TRY(tfd_node_str(n, "errors", &policy, st));
    TFD_TRY(tfd_node_int(n, "replacement_char", &replacement, st));
    if (replacement < 0 || replacement > TFD_CODE_POINT_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "replacement_char out of unicode codepoint range");
    out->strict = tfd_str_is(policy, "strict");
    out->ignore = tfd_str_is(policy, "ignore");
    out->replacement = (int32_t)replacement;
    return TFD_OK;
}

/* ---- Reading ------------------------------------------------------------- */

static void note_wrong(const void *context, void *args, const char *bytes,
                       int32_t size, int reason, int *error)
{
    /* ICU hands the reader back as it was given. */
    struct tfd_code_points *r = (struct tfd_code_points *)(uintptr_t)context;

    if (reason <= TFD_ICU_IRREGULAR)
        r->wrong = true;
    r->icu->UCNV_TO_U_CALLBACK_SUBSTITUTE(NULL, args, bytes, size, reason,
                                          error);
}

static enum tfd_code open_converter(struct tfd_code_points *r,
                                    struct tfd_str encoding,
                                    struct tfd_status *st)
{
    char name[TFD_ENCODING_NAME_SIZE_MAX] = "";
    tfd_icu_callback_fn *old;
    const void *old_context;
    int error = 0;

    if (encoding.size > 0 && encoding.size < sizeof(name)) {
        memcpy(name, encoding.data, encoding.size);
        r->converter = r->icu->ucnv_open(name, &error);
    }
    if (!r->converter || error > 0)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Could not create converter for input encoding: " TFD_STR_FMT,
            TFD_STR_ARG(encoding));
    r->icu->ucnv_setToUCallBack(r->converter, note_wrong, r, &old, &old_context,
                                &error);
    return error > 0 ? tfd_fail(st, TFD_INTERNAL,
                                "ICU takes no callback: error %d", error)
                     : TFD_OK;
}

enum tfd_code tfd_code_points_open(struct tfd_code_points *r,
                                   struct tfd_str encoding,
                                   const struct tfd_code_point_errors *errors,
                                   struct tfd_status *st)
{
    enum tfd_code rc;

    *r = (struct tfd_code_points){.errors = *errors};
    TFD_TRY(tfd_icu_get(&r->icu, st));
    rc = open_converter(r, encoding, st);
    if (rc != TFD_OK)
        tfd_code_points_close(r);
    return rc;
}

void tfd_code_points_close(struct tfd_code_points *r)
{
    if (r->converter)
        r->icu->ucnv_close(r->converter);
    r->converter = NULL;
}

enum tfd_code tfd_code_points_read(struct tfd_code_points *r, struct tfd_str s,
                                   tfd_code_point_fn *fn, void *arg,
                                   struct tfd_status *st)
{
    const char *at = s.data, *end = s.data + s.size;

    for (size_t n = 0; at < end; n++) {
        const struct tfd_code_point_errors *e = &r->errors;
        size_t begin = (size_t)(at - s.data);
        bool controls;
        int error = 0;
        int32_t point;

        if (n % POINTS_BETWEEN_LOOKS == POINTS_BETWEEN_LOOKS - 1 &&
            tfd_halted())
            break;
        r->wrong = false;
        point = r->icu->ucnv_getNextUChar(r->converter, &at, end, &error);
        if (error > 0)
            at = end;
        controls = e->replace_controls && point < FIRST_VISIBLE;
        if (e->strict && (r->wrong || (controls && e->strict_controls)))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid formatting on input string");
        if (!r->wrong && !controls)
            fn(arg, point, begin);
        else if (!e->ignore)
            fn(arg, e->replacement, begin);
    }
    return TFD_OK;
}

/* ---- Writing ------------------------------------------------------------- */

static void put_utf8(struct tfd_bytes *out, int32_t point)
{
    const uint32_t p = (uint32_t)point;
    char bytes[TFD_UTF8_SIZE_MAX];

    tfd_bytes_add(
        out, bytes,
        tfd_unicode_put(tfd_unicode_is_surrogate(p) ? REPLACEMENT : p, bytes));
}

static void put_unit(struct tfd_bytes *out, uint32_t unit)
{
    uint8_t bytes[2] = {(uint8_t)(unit >> 8), (uint8_t)unit};

    tfd_bytes_add(out, bytes, sizeof(bytes));
}

static void put_utf16(struct tfd_bytes *out, int32_t point)
{
    uint32_t p = (uint32_t)point;

    if (p >= 0x10000) {
        put_unit(out, 0xd800 + ((p - 0x10000) >> 10));
        p = 0xdc00 + (p & 0x3ff);
    }
    put_unit(out, p);
}

static void put_utf32(struct tfd_bytes *out, int32_t point)
{
    put_unit(out, (uint32_t)point >> 16);
    put_unit(out, (uint32_t)point & 0xffff);
}

tfd_code_point_put_fn *tfd_code_points_put(struct tfd_str encoding)
{
    if (tfd_str_is(encoding, "UTF-16-BE"))
        return put_utf16;
    return tfd_str_is(encoding, "UTF-32-BE") ? put_utf32 : put_utf8;
}
