/*
 * timeline.c - see timeline.h.
 */
#include "tools/ctl/timeline.h"

#include "tools/ctl/report.h"

#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "common/proto/step_stats.pb.h"

#include <stdlib.h>
#include <string.h>

#define TAG(name) tensorflow_##name##_tag
#define LANES_MAX 256
#define TEXT_SIZE_MAX 4096

struct tfd_ctl_event {
    int64_t start_us, duration_us; /* of the task's clock */
    int64_t step;
    size_t device;
    int lane;
    const char *kind; /* "node", "transfer", "step" */
    char *name, *label;
};

struct tfd_ctl_device {
    char *name;
    size_t task_size; /* "/job:ps/replica:0/task:0", which it begins with */
    /* By how much its task's times may be shifted, from all steps. */
    int64_t least_us, most_us;
    int64_t lane_end_us[LANES_MAX];
};

void tfd_ctl_timeline_init(struct tfd_ctl_timeline *t)
{
    memset(t, 0, sizeof(*t));
}

void tfd_ctl_timeline_deinit(struct tfd_ctl_timeline *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->events[i].name);
        free(t->events[i].label);
    }
    for (size_t i = 0; i < t->device_count; i++)
        free(t->devices[i].name);
    free(t->events);
    free(t->devices);
}

static enum tfd_code no_memory(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a trace");
}

static char *copy_text(struct tfd_str s)
{
    char *copy = malloc(s.size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, s.data, s.size);
    copy[s.size] = '\0';
    return copy;
}

/* ---- Devices ------------------------------------------------------------- */

static size_t task_size_of(const char *device)
{
    const char *end = strstr(device, "/device:");
    const char *old = strstr(device, "/task:");

    if (end)
        return (size_t)(end - device);
    if (!old)
        return strlen(device);
    old += strlen("/task:");
    return (size_t)(old - device) + strcspn(old, "/");
}

static enum tfd_code find_device(struct tfd_ctl_timeline *t,
                                 struct tfd_str name, size_t *at,
                                 struct tfd_status *st)
{
    struct tfd_ctl_device *d;

    for (*at = 0; *at < t->device_count; (*at)++)
        if (tfd_str_is(name, t->devices[*at].name))
            return TFD_OK;
    if (t->device_count == TFD_CTL_DEVICES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a trace of more than %d devices", TFD_CTL_DEVICES_MAX);
    d = realloc(t->devices, (t->device_count + 1) * sizeof(*d));
    if (!d)
        return no_memory(st);
    t->devices = d;
    d = &t->devices[t->device_count];
    memset(d, 0, sizeof(*d));
    d->least_us = INT64_MIN;
    d->most_us = INT64_MAX;
    d->name = copy_text(name);
    if (!d->name)
        return no_memory(st);
    d->task_size = task_size_of(d->name);
    t->device_count++;
    return TFD_OK;
}

/* ---- Events -------------------------------------------------------------- */

static struct tfd_ctl_event *new_event(struct tfd_ctl_timeline *t,
                                       struct tfd_status *st)
{
    struct tfd_ctl_event *e;

    if (t->count == TFD_CTL_EVENTS_MAX) {
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "a trace of more than %d nodes; trace fewer steps",
                       TFD_CTL_EVENTS_MAX);
        return NULL;
    }
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 256;

        e = realloc(t->events, capacity * sizeof(*e));
        if (!e)
            return (void)no_memory(st), NULL;
        t->events = e;
        t->capacity = capacity;
    }
    e = &t->events[t->count++];
    memset(e, 0, sizeof(*e));
    return e;
}

/* Times from outside: those that no clock shows are not believed. */
static bool is_time(int64_t us)
{
    return us > 0 && us < INT64_MAX / 4;
}

/* What tasks say of a value that came from another one. */
static const char *kind_of(struct tfd_str node)
{
    return tfd_str_is(node, "RecvTensor") ? "transfer" : "node";
}

static enum tfd_code add_node(struct tfd_ctl_timeline *t, size_t device,
                              struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str name = TFD_STR_EMPTY, label = TFD_STR_EMPTY;
    int64_t start = 0, end = 0;
    struct tfd_ctl_event *e;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == TAG(NodeExecStats_node_name))
            name = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(NodeExecStats_timeline_label))
            label = tfd_pb_str(&r, &f);
        else if (f.tag == TAG(NodeExecStats_all_start_micros))
            start = tfd_pb_int64(&r, &f);
        else if (f.tag == TAG(NodeExecStats_all_end_rel_micros))
            end = tfd_pb_int64(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NodeExecStats", st));
    if (!is_time(start) || end < 0 || !is_time(end + 1))
        return TFD_OK;
    e = new_event(t, st);
    if (!e)
        return st->code;
    *e = (struct tfd_ctl_event){.start_us = start,
                                .duration_us = end,
                                .step = t->steps,
                                .device = device,
                                .kind = kind_of(name),
                                .name = copy_text(name),
                                .label = copy_text(label)};
    return e->name && e->label ? TFD_OK : no_memory(st);
}

static enum tfd_code add_device(struct tfd_ctl_timeline *t,
                                struct tfd_str proto, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    size_t device;

    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(DeviceStepStats_device))
            name = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "DeviceStepStats", st));
    TFD_TRY(find_device(t, name, &device, st));
    r = tfd_pb_reader_of(proto);
    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(DeviceStepStats_node_stats))
            TFD_TRY(add_node(t, device, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "DeviceStepStats", st);
}

static enum tfd_code add_devices(struct tfd_ctl_timeline *t,
                                 struct tfd_str stats, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(stats);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(StepStats_dev_stats))
            TFD_TRY(add_device(t, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "StepStats", st);
}

/* ---- Clocks -------------------------------------------------------------- */

/* What the events of one step, from `first` on, allow. */
static void bound_shifts(struct tfd_ctl_timeline *t, size_t first,
                         int64_t begin_us, int64_t end_us)
{
    for (size_t i = first; i < t->count; i++) {
        const struct tfd_ctl_event *e = &t->events[i];
        struct tfd_ctl_device *d = &t->devices[e->device];
        int64_t least = begin_us - e->start_us;
        int64_t most = end_us - (e->start_us + e->duration_us);

        d->least_us = least > d->least_us ? least : d->least_us;
        d->most_us = most < d->most_us ? most : d->most_us;
    }
}

static bool same_task(const struct tfd_ctl_device *a,
                      const struct tfd_ctl_device *b)
{
    return a->task_size == b->task_size &&
           memcmp(a->name, b->name, a->task_size) == 0;
}

/* The shift of a task, whose devices have one clock: none where that fits. */
static int64_t shift_of(const struct tfd_ctl_timeline *t,
                        const struct tfd_ctl_device *of)
{
    int64_t least = INT64_MIN, most = INT64_MAX;

    for (size_t i = 0; i < t->device_count; i++) {
        const struct tfd_ctl_device *d = &t->devices[i];

        if (!same_task(of, d))
            continue;
        least = d->least_us > least ? d->least_us : least;
        most = d->most_us < most ? d->most_us : most;
    }
    if ((least <= 0 && most >= 0) || least == INT64_MIN)
        return 0;
    return least / 2 + most / 2;
}

enum tfd_code tfd_ctl_timeline_add(struct tfd_ctl_timeline *t,
                                   struct tfd_str metadata, int64_t begin_us,
                                   int64_t end_us, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(metadata);
    size_t first = t->count;
    struct tfd_pb_field f;

    if (!is_time(begin_us) || !is_time(end_us) || end_us < begin_us)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a step from %lld to %lld us: no times",
                        (long long)begin_us, (long long)end_us);
    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(RunMetadata_step_stats))
            TFD_TRY(add_devices(t, tfd_pb_str(&r, &f), st));
    TFD_TRY(tfd_pb_end(&r, "RunMetadata", st));
    bound_shifts(t, first, begin_us, end_us);
    t->steps++;
    return TFD_OK;
}

enum tfd_code tfd_ctl_timeline_add_span(struct tfd_ctl_timeline *t,
                                        const struct tfd_ctl_step_span *span,
                                        struct tfd_status *st)
{
    struct tfd_bytes text;
    struct tfd_ctl_event *e;
    size_t device;

    tfd_bytes_init(&text, TEXT_SIZE_MAX);
    tfd_bytes_printf(&text, TFD_STR_FMT "/steps", TFD_STR_ARG(span->task));
    if (tfd_bytes_ok(&text, "the name of a task", st) == TFD_OK)
        (void)!find_device(t, tfd_bytes_view(&text), &device, st);
    tfd_bytes_clear(&text);
    e = st->code == TFD_OK ? new_event(t, st) : NULL;
    if (e) {
        tfd_bytes_printf(&text, "step %lld", (long long)span->id);
        *e =
            (struct tfd_ctl_event){.start_us = span->begin_us,
                                   .duration_us = span->end_us - span->begin_us,
                                   .step = t->steps - 1,
                                   .device = device,
                                   .kind = "step",
                                   .name = copy_text(tfd_bytes_view(&text)),
                                   .label = copy_text(span->session)};
        t->span_count++;
        if (!e->name || !e->label)
            (void)no_memory(st);
    }
    tfd_bytes_deinit(&text);
    return st->code;
}

/* ---- The file ------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const struct tfd_ctl_event *x = a, *y = b;

    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->duration_us < y->duration_us   ? 1
           : x->duration_us > y->duration_us ? -1
                                             : 0;
}

/* Threads of a process of the file show no two events at a time. */
static void give_lanes(struct tfd_ctl_timeline *t)
{
    qsort(t->events, t->count, sizeof(*t->events), by_start);
    for (size_t i = 0; i < t->count; i++) {
        struct tfd_ctl_event *e = &t->events[i];
        struct tfd_ctl_device *d = &t->devices[e->device];
        int lane = 0;

        while (lane + 1 < LANES_MAX && d->lane_end_us[lane] > e->start_us)
            lane++;
        e->lane = lane;
        d->lane_end_us[lane] = e->start_us + e->duration_us;
    }
}

static json_t *event_json(const struct tfd_ctl_event *e, int64_t shift_us)
{
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:i, s:{s:o, s:I}}", "ph", "X", "cat",
        e->kind, "name", tfd_ctl_text(tfd_str_of(e->name)), "ts",
        (json_int_t)(e->start_us + shift_us), "dur", (json_int_t)e->duration_us,
        "pid", (json_int_t)e->device, "tid", e->lane, "args", "label",
        tfd_ctl_text(tfd_str_of(e->label)), "step", (json_int_t)e->step);
}

static void add_names(struct tfd_ctl_timeline *t, json_t *list)
{
    for (size_t i = 0; i < t->device_count; i++)
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:{s:o}}", "ph", "M", "name",
                      "process_name", "pid", (json_int_t)i, "args", "name",
                      tfd_ctl_text(tfd_str_of(t->devices[i].name))));
}

static json_t *shifts_json(const struct tfd_ctl_timeline *t)
{
    json_t *shifts = json_object();

    for (size_t i = 0; i < t->device_count; i++) {
        const struct tfd_ctl_device *d = &t->devices[i];
        json_t *name = tfd_ctl_text((struct tfd_str){d->name, d->task_size});

        if (name)
            json_object_set_new(shifts, json_string_value(name),
                                json_integer(shift_of(t, d)));
        json_decref(name);
    }
    return shifts;
}

json_t *tfd_ctl_timeline_json(struct tfd_ctl_timeline *t)
{
    int64_t *shifts = calloc(t->device_count + 1, sizeof(*shifts));
    json_t *list = json_array();

    if (!shifts || !list)
        return free(shifts), json_decref(list), NULL;
    for (size_t i = 0; i < t->device_count; i++)
        shifts[i] = shift_of(t, &t->devices[i]);
    give_lanes(t);
    add_names(t, list);
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(
            list, event_json(&t->events[i], shifts[t->events[i].device]));
    free(shifts);
    return json_pack("{s:o, s:s, s:{s:I, s:o}}", "traceEvents", list,
                     "displayTimeUnit", "ms", "otherData", "steps",
                     (json_int_t)t->steps, "clock_shift_us", shifts_json(t));
}
