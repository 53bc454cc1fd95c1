/*
 * step_ring_json.c - the ring as JSON, with nothing that a signal handler may
 * not call: a record is put together in a fixed buffer, by hand.
 */
#include "daemon/master/record/step_ring.h"

#include <string.h>

/* A record whose texts are all escaped, and its numbers, fit. */
#define RECORD_TEXT_SIZE 2048

struct text {
    char bytes[RECORD_TEXT_SIZE];
    size_t used;
};

static void add(struct text *t, const char *data, size_t size)
{
    size_t room = sizeof(t->bytes) - t->used;

    if (size > room)
        size = room;
    memcpy(t->bytes + t->used, data, size);
    t->used += size;
}

static void add_literal(struct text *t, const char *literal)
{
    add(t, literal, strlen(literal));
}

static void add_number(struct text *t, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    add(t, digits + at, sizeof(digits) - at);
}

/* The length of a character of UTF-8 that is whole; 0: it is none.  Only what
 * is too long for its value, or no character, is let through, which readers
 * take. */
static size_t character_size(const char *at)
{
    unsigned char c = (unsigned char)*at;
    size_t size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    if (c > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0; /* the end of the text, too */
    if (size == 3 && ((c == 0xe0 && (unsigned char)at[1] < 0xa0) ||
                      (c == 0xed && (unsigned char)at[1] >= 0xa0)))
        return 0;
    if (size == 4 && ((c == 0xf0 && (unsigned char)at[1] < 0x90) ||
                      (c == 0xf4 && (unsigned char)at[1] >= 0x90)))
        return 0;
    return size;
}

/* A text may be cut, or change while it is read: its size bounds it. */
static void add_string(struct text *t, const char *from, size_t size)
{
    char copy[TFD_STEP_ERROR_SIZE + 1] = {0};
    const char *at = copy;

    memcpy(copy, from, size - 1);
    add_literal(t, "\"");
    while (*at) {
        size_t n = character_size(at);

        if (*at == '"' || *at == '\\')
            add(t, "\\", 1);
        if (*at == '\n' || *at == '\t')
            add_literal(t, *at == '\n' ? "\\n" : "\\t");
        else if (n == 0 || (unsigned char)*at < 0x20 || *at == 0x7f)
            add(t, "?", 1);
        else
            add(t, at, n);
        at += n ? n : 1;
    }
    add_literal(t, "\"");
}

static void add_field(struct text *t, const char *name, uint64_t value)
{
    add_literal(t, ",\"");
    add_literal(t, name);
    add_literal(t, "\":");
    add_number(t, value);
}

static void add_text_field(struct text *t, const char *name, const char *value,
                           size_t size)
{
    add_literal(t, ",\"");
    add_literal(t, name);
    add_literal(t, "\":");
    add_string(t, value, size);
}

static void add_outcome(struct text *t, const struct tfd_step_record *r)
{
    add_literal(t, ",\"outcome\":\"");
    add_literal(t, r->code == TFD_STEP_RUNNING
                       ? "RUNNING"
                       : tfd_code_name((enum tfd_code)r->code));
    add_literal(t, "\"");
    add_text_field(t, "error", r->error, sizeof(r->error));
}

static void add_record(struct text *t, const struct tfd_step_record *r,
                       const struct tfd_step_origin *o)
{
    add_literal(t, "{\"step\":\"");
    add_number(t, (uint64_t)r->id);
    add_literal(t, "\"");
    add_text_field(t, "session", r->session, sizeof(r->session));
    add_field(t, "plan", r->plan);
    add_text_field(t, "name", r->name, sizeof(r->name));
    add_field(t, "begun_us", o->wall_us - (o->now_us - r->begun_us));
    add_field(t, "plan_us", r->plan_us);
    add_field(t, "start_us", r->start_us);
    add_field(t, "here_us", r->here_us);
    add_field(t, "others_us", r->others_us);
    add_field(t, "answer_us", r->answer_us);
    add_field(t, "total_us", r->total_us);
    add_field(t, "parts", (uint64_t)r->parts);
    add_text_field(t, "slowest", r->slowest, sizeof(r->slowest));
    add_field(t, "fed_bytes", r->fed);
    add_field(t, "fetched_bytes", r->fetched);
    add_literal(t, r->partial ? ",\"partial\":true" : ",\"partial\":false");
    add_outcome(t, r);
    add_literal(t, "}");
}

static bool write_head(const struct tfd_step_origin *o,
                       const struct tfd_step_sink *sink)
{
    struct text t = {.used = 0};
    char task[TFD_STEP_ERROR_SIZE] = {0};

    for (size_t i = 0; i < sizeof(task) - 1 && o->task[i]; i++)
        task[i] = o->task[i];
    add_literal(&t, "{\"version\":1");
    add_text_field(&t, "task", task, sizeof(task));
    add_field(&t, "steps", o->steps);
    add_literal(&t, ",\"kept\":[");
    return sink->put(sink->ctx, t.bytes, t.used);
}

bool tfd_step_ring_write(const struct tfd_step_ring *r,
                         const struct tfd_step_origin *o,
                         const struct tfd_step_sink *sink)
{
    int count = r->records ? tfd_step_ring_count(r) : 0;

    if (!write_head(o, sink))
        return false;
    for (int age = 0; age < count; age++) {
        struct text t = {.used = 0};

        add_literal(&t, age == 0 ? "\n" : ",\n");
        add_record(&t, tfd_step_ring_at(r, age), o);
        if (!sink->put(sink->ctx, t.bytes, t.used))
            return false;
    }
    return sink->put(sink->ctx, "\n]}\n", 4);
}
