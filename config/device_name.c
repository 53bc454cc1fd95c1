/*
 * device_name.c - see device_name.h.
 *
 * The parser takes one "/key:value" after another.  A table maps each prefix
 * to what follows it, so an old spelling is a row and not a case.
 */
#include "config/device_name.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_alpha(c) || is_digit(c) || c == '_';
}

static void skip(struct tfd_str *rest, size_t size)
{
    rest->data += size;
    rest->size -= size;
}

static bool take_prefix(struct tfd_str *rest, const char *prefix)
{
    size_t size = strlen(prefix);

    if (rest->size < size || memcmp(rest->data, prefix, size) != 0)
        return false;
    skip(rest, size);
    return true;
}

/* A word that starts with a letter, into a zeroed array of max + 1 bytes. */
static bool take_word(struct tfd_str *rest, char *out, size_t max)
{
    size_t size = 0;

    if (rest->size == 0 || !is_alpha(rest->data[0]))
        return false;
    while (size < rest->size && is_word(rest->data[size]))
        size++;
    if (size > max)
        return false;
    memset(out, 0, max + 1);
    memcpy(out, rest->data, size);
    skip(rest, size);
    return true;
}

static bool take_number(struct tfd_str *rest, int32_t *out)
{
    int64_t value = 0;
    size_t size = 0;

    while (size < rest->size && is_digit(rest->data[size])) {
        value = value * 10 + (rest->data[size++] - '0');
        if (value > INT32_MAX)
            return false;
    }
    if (size == 0)
        return false;
    skip(rest, size);
    *out = (int32_t)value;
    return true;
}

/* The value after a prefix, or "*", which unsays the part. */
static bool take_part(struct tfd_str *rest, enum tfd_device_part part,
                      struct tfd_device_name *n)
{
    int32_t *numbers[] = {
        [TFD_DEVICE_REPLICA] = &n->replica,
        [TFD_DEVICE_TASK] = &n->task,
        [TFD_DEVICE_ID] = &n->id,
    };

    n->has &= ~(uint32_t)part;
    if (take_prefix(rest, "*"))
        return true;
    n->has |= part;
    if (part == TFD_DEVICE_JOB)
        return take_word(rest, n->job, TFD_JOB_NAME_SIZE_MAX);
    if (part == TFD_DEVICE_TYPE)
        return take_word(rest, n->type, TFD_DEVICE_TYPE_SIZE_MAX);
    return take_number(rest, numbers[part]);
}

/* "/device:TYPE" with or without ":ID". */
static bool take_device(struct tfd_str *rest, struct tfd_device_name *n)
{
    if (!take_part(rest, TFD_DEVICE_TYPE, n))
        return false;
    n->has &= ~(uint32_t)TFD_DEVICE_ID;
    return !take_prefix(rest, ":") || take_part(rest, TFD_DEVICE_ID, n);
}

static bool take_field(struct tfd_str *rest, struct tfd_device_name *n)
{
    static const struct {
        const char *prefix;
        enum tfd_device_part part;
        const char *type; /* of an old spelling */
    } fields[] = {
        {"/job:", TFD_DEVICE_JOB, NULL},
        {"/replica:", TFD_DEVICE_REPLICA, NULL},
        {"/task:", TFD_DEVICE_TASK, NULL},
        {"/device:", TFD_DEVICE_TYPE, NULL},
        {"/cpu:", TFD_DEVICE_ID, "CPU"},
        {"/CPU:", TFD_DEVICE_ID, "CPU"},
        {"/gpu:", TFD_DEVICE_ID, "GPU"},
        {"/GPU:", TFD_DEVICE_ID, "GPU"},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!take_prefix(rest, fields[i].prefix))
            continue;
        if (fields[i].part == TFD_DEVICE_TYPE)
            return take_device(rest, n);
        if (fields[i].type) {
            memset(n->type, 0, sizeof(n->type));
            memcpy(n->type, fields[i].type, strlen(fields[i].type));
            n->has |= TFD_DEVICE_TYPE;
        }
        return take_part(rest, fields[i].part, n);
    }
    return false;
}

/* What is not said has one representation, so that names can be compared. */
static void clear_unsaid(struct tfd_device_name *n)
{
    if (!(n->has & TFD_DEVICE_JOB))
        memset(n->job, 0, sizeof(n->job));
    if (!(n->has & TFD_DEVICE_REPLICA))
        n->replica = 0;
    if (!(n->has & TFD_DEVICE_TASK))
        n->task = 0;
    if (!(n->has & TFD_DEVICE_TYPE))
        memset(n->type, 0, sizeof(n->type));
    if (!(n->has & TFD_DEVICE_ID))
        n->id = 0;
}

enum tfd_code tfd_device_name_parse(struct tfd_str text,
                                    struct tfd_device_name *out,
                                    struct tfd_status *st)
{
    struct tfd_str rest = text;
    bool ok = text.size <= TFD_DEVICE_TEXT_SIZE_MAX;

    memset(out, 0, sizeof(*out));
    if (text.size == 1 && text.data[0] == '/')
        return TFD_OK;
    while (ok && rest.size > 0)
        ok = take_field(&rest, out);
    if (!ok) {
        memset(out, 0, sizeof(*out));
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Malformed device specification '" TFD_STR_FMT "'",
                        TFD_STR_ARG(text));
    }
    clear_unsaid(out);
    return TFD_OK;
}

struct tfd_device_name tfd_device_name_of(const char *job, int32_t task,
                                          const char *type, int32_t id)
{
    struct tfd_device_name n = {.has = TFD_DEVICE_ALL_PARTS};
    struct tfd_str job_rest = {job, strlen(job)};
    struct tfd_str type_rest = {type, strlen(type)};
    bool job_ok = take_word(&job_rest, n.job, TFD_JOB_NAME_SIZE_MAX);
    bool type_ok = take_word(&type_rest, n.type, TFD_DEVICE_TYPE_SIZE_MAX);

    assert(job_ok && job_rest.size == 0);
    assert(type_ok && type_rest.size == 0);
    assert(task >= 0 && id >= 0);
    n.task = task;
    n.id = id;
    return n;
}

/* Appends to text, which is known to be large enough. */
static void TFD_PRINTF(2, 3) append(char *text, const char *fmt, ...)
{
    size_t used = strlen(text);
    size_t room = TFD_DEVICE_NAME_TEXT_SIZE - used;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(text + used, room, fmt, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < room);
}

void tfd_device_name_format(const struct tfd_device_name *name,
                            char text[TFD_DEVICE_NAME_TEXT_SIZE])
{
    text[0] = '\0';
    if (name->has & TFD_DEVICE_JOB)
        append(text, "/job:%s", name->job);
    if (name->has & TFD_DEVICE_REPLICA)
        append(text, "/replica:%d", name->replica);
    if (name->has & TFD_DEVICE_TASK)
        append(text, "/task:%d", name->task);
    if (!(name->has & TFD_DEVICE_TYPE))
        return; /* as TensorFlow: a number without a type is not printed */
    if (name->has & TFD_DEVICE_ID)
        append(text, "/device:%s:%d", name->type, name->id);
    else
        append(text, "/device:%s:*", name->type);
}

void tfd_device_name_task(const struct tfd_device_name *name,
                          char text[TFD_DEVICE_NAME_TEXT_SIZE])
{
    assert(name->has & TFD_DEVICE_JOB);
    assert(name->has & TFD_DEVICE_TASK);
    text[0] = '\0';
    append(text, "/job:%s/replica:%d/task:%d", name->job, name->replica,
           name->task);
}

bool tfd_device_name_job_ok(struct tfd_str job)
{
    char word[TFD_JOB_NAME_SIZE_MAX + 1];

    return take_word(&job, word, TFD_JOB_NAME_SIZE_MAX) && job.size == 0;
}

bool tfd_device_name_type_ok(struct tfd_str type)
{
    char word[TFD_DEVICE_TYPE_SIZE_MAX + 1];

    return take_word(&type, word, TFD_DEVICE_TYPE_SIZE_MAX) && type.size == 0;
}

bool tfd_device_name_complete(const struct tfd_device_name *name)
{
    return name->has == TFD_DEVICE_ALL_PARTS;
}

/* The parts that a and b both say and say differently. */
static uint32_t conflicts(const struct tfd_device_name *a,
                          const struct tfd_device_name *b)
{
    uint32_t differ = 0;

    if (a->task != b->task)
        differ |= TFD_DEVICE_TASK;
    if (a->id != b->id)
        differ |= TFD_DEVICE_ID;
    if (a->replica != b->replica)
        differ |= TFD_DEVICE_REPLICA;
    if (strcmp(a->job, b->job) != 0)
        differ |= TFD_DEVICE_JOB;
    if (strcmp(a->type, b->type) != 0)
        differ |= TFD_DEVICE_TYPE;
    return differ & a->has & b->has;
}

bool tfd_device_name_eq(const struct tfd_device_name *a,
                        const struct tfd_device_name *b)
{
    return a->has == b->has && conflicts(a, b) == 0;
}

bool tfd_device_name_same_task(const struct tfd_device_name *a,
                               const struct tfd_device_name *b)
{
    uint32_t task = TFD_DEVICE_JOB | TFD_DEVICE_REPLICA | TFD_DEVICE_TASK;

    return (a->has & b->has & task) == task && !(conflicts(a, b) & task);
}

bool tfd_device_name_covers(const struct tfd_device_name *pattern,
                            const struct tfd_device_name *name)
{
    return (pattern->has & ~name->has) == 0 && conflicts(pattern, name) == 0;
}

bool tfd_device_name_intersects(const struct tfd_device_name *a,
                                const struct tfd_device_name *b)
{
    return conflicts(a, b) == 0;
}

/* Copies the parts in `which`, all of them said by `from`. */
static void copy_parts(struct tfd_device_name *name, uint32_t which,
                       const struct tfd_device_name *from)
{
    if (which & TFD_DEVICE_JOB)
        memcpy(name->job, from->job, sizeof(name->job));
    if (which & TFD_DEVICE_REPLICA)
        name->replica = from->replica;
    if (which & TFD_DEVICE_TASK)
        name->task = from->task;
    if (which & TFD_DEVICE_TYPE)
        memcpy(name->type, from->type, sizeof(name->type));
    if (which & TFD_DEVICE_ID)
        name->id = from->id;
    name->has |= which;
}

void tfd_device_name_fill(struct tfd_device_name *name,
                          const struct tfd_device_name *from)
{
    copy_parts(name, from->has & ~name->has, from);
}

/* Fails for the first conflict, in the order in which TensorFlow looks. */
static enum tfd_code merge_fail(uint32_t parts,
                                const struct tfd_device_name *into,
                                const struct tfd_device_name *from,
                                struct tfd_status *st)
{
    static const struct {
        enum tfd_device_part part;
        const char *plural;
    } names[] = {
        {TFD_DEVICE_JOB, "jobs"},   {TFD_DEVICE_REPLICA, "replicas"},
        {TFD_DEVICE_TASK, "tasks"}, {TFD_DEVICE_TYPE, "types"},
        {TFD_DEVICE_ID, "ids"},
    };
    char a[TFD_DEVICE_NAME_TEXT_SIZE];
    char b[TFD_DEVICE_NAME_TEXT_SIZE];
    size_t i = 0;

    while (!(parts & names[i].part))
        i++;
    tfd_device_name_format(into, a);
    tfd_device_name_format(from, b);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot merge devices with incompatible %s: '%s' and '%s'",
                    names[i].plural, a, b);
}

enum tfd_code tfd_device_name_merge(struct tfd_device_name *into,
                                    const struct tfd_device_name *from,
                                    enum tfd_device_merge mode,
                                    struct tfd_status *st)
{
    uint32_t kind = TFD_DEVICE_TYPE | TFD_DEVICE_ID;
    uint32_t wrong = conflicts(into, from);
    uint32_t copy = from->has & ~into->has;

    if (wrong & ~kind || (wrong && mode == TFD_DEVICE_MERGE_STRICT))
        return merge_fail(wrong, into, from, st);

    if (mode == TFD_DEVICE_MERGE_OVERRIDE) {
        copy |= wrong;
    } else if (wrong & TFD_DEVICE_TYPE) {
        /* The number of a device means nothing for another type. */
        into->has &= ~kind;
        copy &= ~kind;
    } else {
        into->has &= ~wrong;
    }
    copy_parts(into, copy, from);
    clear_unsaid(into);
    return TFD_OK;
}
