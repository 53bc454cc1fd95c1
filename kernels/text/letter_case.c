/*
 * letter_case.c - see letter_case.h.
 *
 * A string goes to UTF-16, from one case to the other, and back; each step asks
 * for more room until the result fits.
 */
#define _DEFAULT_SOURCE 1 /* strnlen */
#include "kernels/text/letter_case.h"

#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/text/icu.h"

#include <stdlib.h>
#include <string.h>

#define STRINGS_BETWEEN_LOOKS 1024
#define REPLACEMENT 0xfffd

struct units {
    uint16_t *data;
    int32_t capacity;
};

struct mapper {
    const struct tfd_icu *icu;
    bool upper;
    struct units from, to;
};

static enum tfd_code units_reserve(struct units *u, int32_t capacity,
                                   struct tfd_status *st)
{
    uint16_t *data;

    if (capacity <= u->capacity)
        return TFD_OK;
    data = realloc(u->data, (size_t)capacity * sizeof(*data));
    if (!data)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a string of %d characters", capacity);
    *u = (struct units){data, capacity};
    return TFD_OK;
}

static enum tfd_code check_result(int error, struct tfd_status *st)
{
    return error <= 0
               ? TFD_OK
               : tfd_fail(st, TFD_INTERNAL,
                          "ICU's case mapping failed with error %d", error);
}

/* The string in UTF-16 in the other case: how many units m->to has. */
static enum tfd_code map_units(struct mapper *m, struct tfd_str s,
                               int32_t *count, struct tfd_status *st)
{
    int32_t units;
    int error = 0;

    TFD_TRY(units_reserve(&m->from, (int32_t)s.size + 1, st));
    m->icu->u_strFromUTF8WithSub(m->from.data, m->from.capacity, &units, s.data,
                                 (int32_t)s.size, REPLACEMENT, NULL, &error);
    TFD_TRY(check_result(error, st));
    TFD_TRY(units_reserve(&m->to, 3 * units + 1, st));
    error = 0;
    *count = (m->upper ? m->icu->u_strToUpper : m->icu->u_strToLower)(
        m->to.data, m->to.capacity, m->from.data, units, "", &error);
    return check_result(error, st);
}

static enum tfd_code map_string(struct mapper *m, struct tfd_str s,
                                struct tfd_tstring *y, struct tfd_status *st)
{
    int32_t units, size = 0;
    int error = 0;

    s.size = s.size ? strnlen(s.data, s.size) : 0;
    if (s.size > TFD_LETTERS_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a string of %zu bytes, the case of at most %d changes",
                        s.size, TFD_LETTERS_SIZE_MAX);
    TFD_TRY(map_units(m, s, &units, st));
    m->icu->u_strToUTF8(NULL, 0, &size, m->to.data, units, &error);
    if (error != TFD_ICU_BUFFER_OVERFLOW)
        TFD_TRY(check_result(error, st));
    TFD_TRY(tfd_tstring_resize(y, (size_t)size, st));
    error = 0;
    if (size > 0)
        m->icu->u_strToUTF8(tfd_tstring_room(y), size, &size, m->to.data, units,
                            &error);
    return check_result(error, st);
}

enum tfd_code tfd_letter_case(const struct tfd_letter_case *c,
                              const struct tfd_tstring *x,
                              struct tfd_tstring *y, int64_t count,
                              struct tfd_status *st)
{
    struct mapper m = {.upper = c->upper};
    enum tfd_code rc = tfd_icu_get(&m.icu, st);

    for (int64_t i = 0; i < count && rc == TFD_OK; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        rc = map_string(&m, tfd_tstring_view(&x[i]), &y[i], st);
    }
    free(m.from.data);
    free(m.to.data);
    return rc;
}
