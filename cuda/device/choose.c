/*
 * choose.c - see choose.h.
 */
#include "cuda/device/choose.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
/* What TensorFlow leaves to the driver: 300 MiB or a twentieth, and less of
 * small cards. */
#define SMALL_MEMORY (2048 * MIB)
#define SMALL_RESERVE (225 * MIB)
#define RESERVE (300 * MIB)
/* A card with as many is none that only drives a screen. */
#define PROCESSORS_MIN 8

/* ---- CUDA_VISIBLE_DEVICES ------------------------------------------------ */

bool tfd_cuda_hides_all(const char *environment)
{
    if (!environment)
        return false;
    while (*environment == ' ')
        environment++;
    if (strncmp(environment, "GPU-", 4) == 0 ||
        strncmp(environment, "MIG-", 4) == 0)
        return false;
    return *environment < '0' || *environment > '9';
}

/* ---- visible_device_list ------------------------------------------------- */

/* The number at *text, which ends at one of `ends`; *text moves behind it. */
static bool read_number(const char **text, const char *ends, size_t *out)
{
    char *end;

    while (**text == ' ')
        ++*text;
    if (**text < '0' || **text > '9')
        return false;
    *out = strtoull(*text, &end, 10);
    while (*end == ' ')
        end++;
    if (*end && !strchr(ends, *end))
        return false;
    *text = end;
    return true;
}

static enum tfd_code add_ordinal(int *ordinals, int *count, size_t n,
                                 int visible, struct tfd_status *st)
{
    if (n >= (size_t)visible)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'visible_device_list' listed an invalid GPU id '%zu' "
                        "but visible device count is %d",
                        n, visible);
    for (int i = 0; i < *count; i++)
        if (ordinals[i] == (int)n)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "visible_device_list contained a duplicate entry: "
                            "%zu",
                            n);
    ordinals[(*count)++] = (int)n;
    return TFD_OK;
}

/* ordinals has TFD_CUDA_DEVICES_MAX entries, and visible is no more. */
static enum tfd_code list_ordinals(const char *list, int visible, int *ordinals,
                                   int *count, struct tfd_status *st)
{
    const char *at = list;
    size_t n;

    *count = 0;
    if (!list || !*list) {
        for (int i = 0; i < visible; i++)
            ordinals[(*count)++] = i;
        return TFD_OK;
    }
    for (;;) {
        if (!read_number(&at, ",", &n))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Could not parse entry in 'visible_device_list': "
                            "'%.40s'. visible_device_list = %.80s",
                            at, list);
        TFD_TRY(add_ordinal(ordinals, count, n, visible, st));
        if (!*at)
            return TFD_OK;
        at++;
    }
}

/* ---- Cards that are too small -------------------------------------------- */

void tfd_cuda_describe(int ordinal, const struct tfd_cuda_properties *p,
                       char *out, size_t size)
{
    snprintf(out, size,
             "device: %d, name: %.100s, pci bus id: %s, compute capability: "
             "%d.%d",
             ordinal, p->name, p->bus, p->major, p->minor);
}

/* One more sentence. */
TFD_PRINTF(2, 3)
static void add_why(struct tfd_cuda_choices *out, const char *fmt, ...)
{
    size_t used = strlen(out->why);
    va_list args;

    if (used > 0 && used + 1 < sizeof(out->why))
        out->why[used++] = ' ';
    va_start(args, fmt);
    (void)!vsnprintf(out->why + used, sizeof(out->why) - used, fmt, args);
    va_end(args);
}

static bool read_count(const char *text, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || n < 0 || n > INT32_MAX)
        return false;
    while (isspace((unsigned char)*end))
        end++;
    *out = (int)n;
    return *end == '\0';
}

/* p: the cards that are visible. */
static int processors_min(const struct tfd_cuda_options *o,
                          const struct tfd_cuda_properties *p, int count,
                          struct tfd_cuda_choices *out)
{
    int largest = 0, n;

    for (int i = 0; i < count; i++)
        if (p[i].processors > largest)
            largest = p[i].processors;
    if (largest > PROCESSORS_MIN)
        largest = PROCESSORS_MIN;
    if (!o->processors_min || !*o->processors_min)
        return largest;
    if (read_count(o->processors_min, &n))
        return n;
    add_why(out,
            "Invalid minimum GPU multiprocessor count: [%.40s]. Using the "
            "default value: %d",
            o->processors_min, largest);
    return largest;
}

static bool is_enough(const struct tfd_cuda_driver *driver, int ordinal,
                      const struct tfd_cuda_properties *p, int processors,
                      struct tfd_cuda_choices *out)
{
    int capability = driver->capability_min;
    char card[256];

    tfd_cuda_describe(ordinal, p, card, sizeof(card));
    if (p->major * 10 + p->minor < capability) {
        add_why(out,
                "Ignoring visible gpu device (%s) with Cuda compute capability "
                "%d.%d. The minimum required Cuda capability is %d.%d.",
                card, p->major, p->minor, capability / 10, capability % 10);
        return false;
    }
    if (p->processors < processors) {
        add_why(out,
                "Ignoring visible gpu device (%s) with core count: %d. The "
                "minimum required count is %d. You can adjust this requirement "
                "with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT.",
                card, p->processors, processors);
        return false;
    }
    return true;
}

/* Of *count ordinals keeps those that are enough. */
static int leave_out(const struct tfd_cuda_driver *driver,
                     const struct tfd_cuda_options *o, int *ordinals,
                     int *count, struct tfd_cuda_choices *out)
{
    struct tfd_cuda_properties p[TFD_CUDA_DEVICES_MAX];
    int kept = 0, processors;

    for (int i = 0; i < *count; i++) {
        int error = driver->properties(ordinals[i], &p[i]);

        if (error)
            return error;
    }
    processors = processors_min(o, p, *count, out);
    for (int i = 0; i < *count; i++)
        if (is_enough(driver, ordinals[i], &p[i], processors, out))
            ordinals[kept++] = ordinals[i];
    *count = kept;
    return TFD_CUDA_OK;
}

/* ---- Memory -------------------------------------------------------------- */

static enum tfd_code no_answer(const struct tfd_cuda_driver *driver, int error,
                               struct tfd_cuda_choices *out)
{
    snprintf(out->why, sizeof(out->why), "the driver answers: %s",
             driver->error_text(error));
    out->count = 0;
    return TFD_OK;
}

static size_t nearly_all(size_t free_size)
{
    size_t reserve = free_size / 20;

    if (free_size < SMALL_MEMORY)
        reserve = SMALL_RESERVE;
    else if (reserve < RESERVE)
        reserve = RESERVE;
    return free_size > reserve ? free_size - reserve : 0;
}

static size_t one_limit(const struct tfd_cuda_options *o, size_t free_size,
                        size_t total)
{
    if (o->memory_limit > 0)
        return (size_t)o->memory_limit;
    if (o->memory_fraction > 0)
        return (size_t)((double)total * o->memory_fraction);
    return nearly_all(free_size);
}

/* The limits of the devices within one GPU, from "1024,2048;..."; *text moves
 * behind them. */
static enum tfd_code add_virtual(const char **text, int ordinal,
                                 const struct tfd_cuda_options *o,
                                 struct tfd_cuda_choices *out,
                                 struct tfd_status *st)
{
    for (;;) {
        size_t mib;

        if (!read_number(text, ",;", &mib) || mib == 0 || mib > SIZE_MAX / MIB)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "virtual devices \"%.80s\": not memory in MiB such "
                            "as 1024,2048;4096",
                            o->virtual_limits);
        if (out->count == TFD_CUDA_DEVICES_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "virtual devices \"%.80s\": more than %d",
                            o->virtual_limits, TFD_CUDA_DEVICES_MAX);
        out->choice[out->count++] =
            (struct tfd_cuda_choice){ordinal, mib * MIB};
        if (**text != ',')
            break;
        ++*text;
    }
    if (**text == ';')
        ++*text;
    return TFD_OK;
}

static enum tfd_code choose_virtual(const struct tfd_cuda_options *o,
                                    const int *ordinals, int count,
                                    struct tfd_cuda_choices *out,
                                    struct tfd_status *st)
{
    const char *at = o->virtual_limits;

    if (o->memory_fraction > 0 || o->memory_limit > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "It's invalid to set per_process_gpu_memory_fraction "
                        "when virtual_devices is set.");
    for (int i = 0; i < count && *at; i++)
        TFD_TRY(add_virtual(&at, ordinals[i], o, out, st));
    if (*at)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "virtual devices \"%.80s\" are of more GPUs than the "
                        "%d that may be taken",
                        o->virtual_limits, count);
    return TFD_OK;
}

static enum tfd_code choose_whole(const struct tfd_cuda_driver *driver,
                                  const struct tfd_cuda_options *o,
                                  const int *ordinals, int count,
                                  struct tfd_cuda_choices *out)
{
    for (int i = 0; i < count; i++) {
        size_t free_size = 0, total = 0;
        /* Makes a context, which takes memory of the card. */
        int error = driver->use(ordinals[i]);

        if (!error)
            error = driver->memory_info(&free_size, &total);
        if (error)
            return no_answer(driver, error, out);
        out->choice[out->count++] = (struct tfd_cuda_choice){
            ordinals[i], one_limit(o, free_size, total)};
    }
    return TFD_OK;
}

/* ---- All together -------------------------------------------------------- */

static bool none(struct tfd_cuda_choices *out, const char *why)
{
    snprintf(out->why, sizeof(out->why), "%s", why);
    return true;
}

/* Without troubling the driver, which may take its time. */
static bool is_off(const struct tfd_cuda_driver *driver,
                   const struct tfd_cuda_options *o,
                   struct tfd_cuda_choices *out)
{
    if (!driver)
        return none(out, "built without CUDA");
    if (o->count_max == 0)
        return none(out, "switched off by --device_count or the role");
    if (tfd_cuda_hides_all(o->environment)) {
        snprintf(out->why, sizeof(out->why),
                 "switched off by CUDA_VISIBLE_DEVICES=%.80s", o->environment);
        return true;
    }
    return false;
}

static bool has_none(const struct tfd_cuda_driver *driver, int error,
                     struct tfd_cuda_choices *out)
{
    if (error == TFD_CUDA_OLD_DRIVER)
        return none(out, "no driver, or one too old for this build");
    if (error == TFD_CUDA_NO_DEVICE || (!error && out->physical == 0))
        return none(out, "no card that the driver shows");
    if (error)
        (void)!no_answer(driver, error, out);
    return error != 0;
}

/* Without them most steps would fail; TensorFlow takes no GPU then. */
static bool has_libraries(const struct tfd_cuda_driver *driver,
                          struct tfd_cuda_choices *out)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (driver->libraries(&st) == TFD_OK)
        return true;
    add_why(out, "Cannot dlopen some GPU libraries: %s", st.text);
    return false;
}

static enum tfd_code check_options(const struct tfd_cuda_options *o,
                                   struct tfd_status *st)
{
    if (!(o->memory_fraction >= 0 && o->memory_fraction <= 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a GPU memory fraction of %g; give one from 0 to 1",
                        o->memory_fraction);
    if (o->memory_limit < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a GPU memory limit of %lld bytes",
                        (long long)o->memory_limit);
    return TFD_OK;
}

enum tfd_code tfd_cuda_choose(const struct tfd_cuda_driver *driver,
                              const struct tfd_cuda_options *o,
                              struct tfd_cuda_choices *out,
                              struct tfd_status *st)
{
    int ordinals[TFD_CUDA_DEVICES_MAX];
    int count, error;

    memset(out, 0, sizeof(*out));
    TFD_TRY(check_options(o, st));
    if (is_off(driver, o, out))
        return TFD_OK;
    error = driver->device_count(&out->physical);
    if (has_none(driver, error, out))
        return TFD_OK;
    if (out->physical > TFD_CUDA_DEVICES_MAX)
        out->physical = TFD_CUDA_DEVICES_MAX;
    TFD_TRY(list_ordinals(o->visible, out->physical, ordinals, &count, st));
    if (!has_libraries(driver, out))
        return TFD_OK;
    error = leave_out(driver, o, ordinals, &count, out);
    if (error)
        return no_answer(driver, error, out);
    if (count == 0)
        return TFD_OK;
    if (o->count_max >= 0 && count > o->count_max)
        count = o->count_max;
    if (o->virtual_limits && *o->virtual_limits)
        return choose_virtual(o, ordinals, count, out, st);
    return choose_whole(driver, o, ordinals, count, out);
}
