/*
 * views.c - tfdctl status, sessions, variables, steps, top: parts of the
 * document of a task (/status.json) and of its last steps (/steps) as tables.
 *
 * A part is an object with a "list", or a list.  What a row lacks is "-", so
 * that a document of another version is shown as far as it goes.
 */
#include "tools/ctl/report.h"
#include "tools/ctl/status.h"
#include "tools/ctl/table.h"

#include <poll.h>
#include <string.h>

#define TOP_MS 1000
#define TOP_ROWS 12
#define STEPS_SHOWN 20 /* of the last ones, where nobody says how many */
#define WAITS_SIZE 400

/* A part of a page, and its columns. */
struct view {
    const char *key; /* of --json, too */
    const struct tfd_ctl_column *columns;
    size_t count;
};

#define VIEW(key, columns)                                   \
    {                                                        \
        key, columns, sizeof(columns) / sizeof((columns)[0]) \
    }

static const struct tfd_ctl_column task_columns[] = {
    {"TASK", "name", TFD_CTL_PLAIN},
    {"ADDRESS", "address", TFD_CTL_PLAIN},
    {"STATE", "state", TFD_CTL_STATE},
    {"UP", "up_seconds", TFD_CTL_SECONDS},
    {"SESSIONS", "sessions", TFD_CTL_PLAIN},
    {"RUNNING", "steps_running", TFD_CTL_PLAIN},
    {"STEPS", "steps_done", TFD_CTL_PLAIN},
    {"MEMORY", "memory_bytes", TFD_CTL_BYTES},
    {"ROUND TRIP", "round_trip_us", TFD_CTL_US},
    {"WHY", "why", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column session_columns[] = {
    {"SESSION", "session", TFD_CTL_PLAIN},
    {"CLIENT", "client", TFD_CTL_PLAIN},
    {"STATE", "state", TFD_CTL_STATE},
    {"AGE", "age_seconds", TFD_CTL_SECONDS},
    {"IDLE", "idle_seconds", TFD_CTL_SECONDS},
    {"STEPS", "steps_done", TFD_CTL_PLAIN},
    {"FAILED", "steps_failed", TFD_CTL_PLAIN},
    {"RUNNING", "steps_running", TFD_CTL_PLAIN},
    {"NODES", "nodes", TFD_CTL_PLAIN},
    {"MEMORY", "memory_bytes", TFD_CTL_BYTES},
    {"RECEIVED", "received_bytes", TFD_CTL_SPARE_BYTES},
    {"SENT", "sent_bytes", TFD_CTL_SPARE_BYTES},
};

static const struct tfd_ctl_column context_columns[] = {
    {"CONTEXT", "context", TFD_CTL_PLAIN},
    {"CLIENT", "client", TFD_CTL_PLAIN},
    {"AGE", "age_seconds", TFD_CTL_SECONDS},
    {"IDLE", "idle_seconds", TFD_CTL_SECONDS},
    {"RUNS", "runs_done", TFD_CTL_PLAIN},
    {"RUNNING", "calls_running", TFD_CTL_PLAIN},
    {"VALUES", "values", TFD_CTL_PLAIN},
    {"FUNCTIONS", "functions", TFD_CTL_PLAIN},
    {"MEMORY", "memory_bytes", TFD_CTL_BYTES},
    {"RECEIVED", "received_bytes", TFD_CTL_SPARE_BYTES},
    {"SENT", "sent_bytes", TFD_CTL_SPARE_BYTES},
};

static const struct tfd_ctl_column resource_columns[] = {
    {"KIND", "kind", TFD_CTL_PLAIN},
    {"NAME", "name", TFD_CTL_PLAIN},
    {"CONTAINER", "container", TFD_CTL_PLAIN},
    {"SIZE", "bytes", TFD_CTL_BYTES},
    {"TYPE", "dtype", TFD_CTL_PLAIN},
    {"SHAPE", "shape", TFD_CTL_PLAIN},
    {"COUNT", "count", TFD_CTL_PLAIN},
    {"CAPACITY", "capacity", TFD_CTL_PLAIN},
    {"DEVICE", "device", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column running_columns[] = {
    {"STEP", "step", TFD_CTL_PLAIN},
    {"SESSION", "session", TFD_CTL_PLAIN},
    {"PLAN", "plan", TFD_CTL_PLAIN},
    {"AGE", "age_seconds", TFD_CTL_SECONDS},
    {"PARTS", "parts", TFD_CTL_PLAIN},
    {"RUNNING", "parts_running", TFD_CTL_PLAIN},
    {"WAITS FOR", "waits_for", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column waiting_columns[] = {
    {"STEP", "step", TFD_CTL_PLAIN},
    {"TASK", "task", TFD_CTL_PLAIN},
    {"SINCE", "seconds", TFD_CTL_SECONDS},
    {"WAITS FOR", "waits", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column kept_columns[] = {
    {"STEP", "step", TFD_CTL_PLAIN},
    {"NAME", "name", TFD_CTL_PLAIN},
    {"TOTAL", "total_us", TFD_CTL_US},
    {"PLAN", "plan_us", TFD_CTL_US},
    {"START", "start_us", TFD_CTL_US},
    {"HERE", "here_us", TFD_CTL_US},
    {"OTHERS", "others_us", TFD_CTL_US},
    {"ANSWER", "answer_us", TFD_CTL_US},
    {"SLOWEST", "slowest", TFD_CTL_PLAIN},
    {"OUTCOME", "outcome", TFD_CTL_STATE},
    {"ERROR", "error", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column plan_columns[] = {
    {"SESSION", "session", TFD_CTL_PLAIN},
    {"PLAN", "plan", TFD_CTL_PLAIN},
    {"STATE", "state", TFD_CTL_STATE},
    {"NODES", "nodes", TFD_CTL_PLAIN},
    {"RUNNING", "steps_running", TFD_CTL_PLAIN},
    {"STEPS", "steps_ended", TFD_CTL_PLAIN},
    {"MEAN", "mean_us", TFD_CTL_US},
    {"P99", "p99_us", TFD_CTL_US},
    {"FETCHES", "fetches", TFD_CTL_PLAIN},
    {"SLOWEST HERE", "slowest_text", TFD_CTL_PLAIN},
};

static const struct tfd_ctl_column part_columns[] = {
    {"GRAPH", "graph", TFD_CTL_PLAIN},
    {"SESSION", "session", TFD_CTL_PLAIN},
    {"MASTER", "master", TFD_CTL_PLAIN},
    {"NODES", "nodes", TFD_CTL_PLAIN},
    {"STEPS", "steps_ended", TFD_CTL_PLAIN},
    {"MEAN HERE", "mean_us", TFD_CTL_US},
    {"SLOWEST", "slowest_text", TFD_CTL_PLAIN},
};

/* ---- Parts --------------------------------------------------------------- */

/* Borrowed; NULL: the document has no such list. */
static json_t *list_of(const json_t *doc, const char *key)
{
    json_t *part = tfd_ctl_status_part(doc, key);

    if (json_is_object(part))
        part = json_object_get(part, "list");
    return json_is_array(part) ? part : NULL;
}

static json_t *first_rows(const json_t *rows, int64_t n)
{
    json_t *first = json_array();

    for (size_t i = 0; i < json_array_size(rows) && (int64_t)i < n; i++)
        json_array_append(first, json_array_get(rows, i));
    return first;
}

static void add_text(char *text, const char *before, const json_t *value)
{
    size_t used = strlen(text);

    if (json_is_string(value) && *json_string_value(value))
        snprintf(text + used, WAITS_SIZE - used, "%s%s", used > 0 ? before : "",
                 json_string_value(value));
}

/* The tasks that owe a step something, with what each says of it, as one text
 * beside the list. */
static void describe_waits(json_t *step)
{
    char text[WAITS_SIZE] = "";
    json_t *wait;
    size_t i;

    if (!json_is_object(step) || json_object_get(step, "waits_for"))
        return;
    json_array_foreach(json_object_get(step, "waits"), i, wait)
    {
        add_text(text, ", ", json_object_get(wait, "task"));
        add_text(text, ": ", json_object_get(wait, "text"));
    }
    if (*text)
        json_object_set_new(step, "waits_for", tfd_ctl_text(tfd_str_of(text)));
}

/* The slowest ops of a row, as one text beside the list. */
static void describe_slowest(json_t *row)
{
    char text[WAITS_SIZE] = "", share[32];
    json_t *op;
    size_t i, used;

    if (!json_is_object(row))
        return;
    json_array_foreach(json_object_get(row, "slowest"), i, op)
    {
        snprintf(share, sizeof(share), " %.0f %%",
                 100 * json_number_value(json_object_get(op, "share")));
        add_text(text, ", ", json_object_get(op, "op"));
        add_text(text, " ", json_object_get(op, "name"));
        used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s", share);
    }
    if (*text)
        json_object_set_new(row, "slowest_text",
                            tfd_ctl_text(tfd_str_of(text)));
}

static const struct {
    const struct tfd_ctl_column *of;
    void (*describe)(json_t *row);
} described[] = {
    {running_columns, describe_waits},
    {plan_columns, describe_slowest},
    {part_columns, describe_slowest},
};

static void describe_rows(const struct view *v, json_t *rows)
{
    json_t *row;
    size_t i;

    for (size_t d = 0; d < sizeof(described) / sizeof(described[0]); d++)
        if (described[d].of == v->columns)
            json_array_foreach(rows, i, row) described[d].describe(row);
}

static void show_rows(const struct tfd_ctl *c, const struct view *v,
                      const json_t *rows)
{

    if (json_array_size(rows) == 0) {
        fputs("none\n", c->to);
        return;
    }
    describe_rows(v, (json_t *)rows);
    tfd_ctl_table(c, rows, v->columns, v->count);
}

/* Those lists of a document that it has, one below the other. */
static int show_lists(struct tfd_ctl *c, const json_t *doc,
                      const struct view *views, size_t count, int64_t rows_max)
{
    json_t *answer = json_object();
    int code = TFD_CTL_DONE;

    for (size_t i = 0; i < count; i++) {
        json_t *list = list_of(doc, views[i].key), *rows;

        if (!list)
            continue;
        rows = first_rows(list, rows_max);
        if (!c->json && count > 1)
            fprintf(c->to, "%s%s: %zu\n", json_object_size(answer) ? "\n" : "",
                    views[i].key, json_array_size(list));
        if (!c->json)
            show_rows(c, &views[i], rows);
        json_object_set_new(answer, views[i].key, rows);
    }
    if (json_object_size(answer) == 0)
        code = tfd_ctl_fail(c, TFD_CTL_REFUSED,
                            "the server says nothing of it: another version");
    else if (c->json)
        code = tfd_ctl_put_json(c, json_incref(answer), code);
    json_decref(answer);
    return code;
}

static int show_page(struct tfd_ctl *c, const char *page,
                     const struct view *views, size_t count, int64_t rows_max)
{
    json_t *doc;
    int code = tfd_ctl_status_get(c, page, &doc);

    if (code == TFD_CTL_DONE)
        code = show_lists(c, doc, views, count, rows_max);
    json_decref(doc);
    return code;
}

int tfd_ctl_sessions(struct tfd_ctl *c)
{
    static const struct view views[] = {VIEW("sessions", session_columns),
                                        VIEW("contexts", context_columns)};

    return show_page(c, TFD_CTL_STATUS_PAGE, views, 2, INT64_MAX);
}

int tfd_ctl_variables(struct tfd_ctl *c)
{
    static const struct view views[] = {VIEW("resources", resource_columns)};

    return show_page(c, TFD_CTL_STATUS_PAGE, views, 1, INT64_MAX);
}

/* ---- Steps --------------------------------------------------------------- */

/* What waits on each task of the cluster, of whatever session. */
static json_t *waiting_of(const json_t *doc)
{
    json_t *all = json_array(), *task, *wait, *row;
    size_t i, k;

    json_array_foreach(list_of(doc, "cluster.tasks"), i, task)
    {
        json_array_foreach(json_object_get(task, "waiting"), k, wait)
        {
            row = json_is_object(wait) ? json_copy(wait) : NULL;
            if (row && json_is_string(json_object_get(task, "name")))
                json_object_set(row, "task", json_object_get(task, "name"));
            json_array_append_new(all, row);
        }
    }
    return all;
}

/* Both pages as one document: {"running", "waiting", "kept"}. */
static int get_steps(struct tfd_ctl *c, json_t **both)
{
    json_t *doc, *kept = NULL, *list;
    int code = tfd_ctl_status_get(c, TFD_CTL_STATUS_PAGE, &doc);

    *both = json_object();
    if (code == TFD_CTL_DONE) {
        list = list_of(doc, "steps");
        if (list)
            json_object_set(*both, "running", list);
        json_object_set_new(*both, "waiting", waiting_of(doc));
        code = tfd_ctl_status_get(c, "/steps", &kept);
    }
    list = json_object_get(kept, "kept");
    if (list)
        json_object_set(*both, "kept", list);
    json_decref(doc);
    json_decref(kept);
    return code;
}

int tfd_ctl_steps(struct tfd_ctl *c)
{
    static const struct view views[] = {VIEW("running", running_columns),
                                        VIEW("waiting", waiting_columns),
                                        VIEW("kept", kept_columns)};
    int64_t rows_max = c->steps > 0 ? c->steps
                       : c->json    ? INT64_MAX
                                    : STEPS_SHOWN;
    json_t *both;
    int code = get_steps(c, &both);

    if (code == TFD_CTL_DONE)
        code = show_lists(c, both, views, 3, rows_max);
    json_decref(both);
    return code;
}

/* ---- All of it ----------------------------------------------------------- */

static const struct {
    const char *end;
    enum tfd_ctl_format format;
} units[] = {
    {"bytes", TFD_CTL_BYTES},
    {"seconds", TFD_CTL_SECONDS},
    {"_us", TFD_CTL_US},
};

/* The end of a key says what its number is. */
static enum tfd_ctl_format format_of(const char *key)
{
    size_t size = strlen(key);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t end = strlen(units[i].end);

        if (size >= end && strcmp(key + size - end, units[i].end) == 0)
            return units[i].format;
    }
    return TFD_CTL_PLAIN;
}

static void add_field(json_t *rows, const char *head, const char *key,
                      const json_t *value)
{
    char text[TFD_CTL_CELL_SIZE];
    const char *between = *head ? "." : "";

    tfd_ctl_table_cell(value, format_of(key), text, sizeof(text));
    json_array_append_new(rows,
                          json_pack("{s:s++, s:o}", "field", head, between, key,
                                    "value", tfd_ctl_text(tfd_str_of(text))));
}

static void add_fields(json_t *rows, const char *head, const json_t *o)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        if (!json_is_object(value) && !json_is_array(value))
            add_field(rows, head, key, value);
    }
}

/* The document's own fields and those of its parts, without their lists; the
 * configuration has a page of its own. */
static json_t *fields_of(const json_t *doc)
{
    json_t *rows = json_array(), *value;
    const char *key;

    add_fields(rows, "", doc);
    json_object_foreach((json_t *)doc, key, value)
    {
        if (json_is_object(value) && strcmp(key, "configuration") != 0)
            add_fields(rows, key, value);
    }
    return rows;
}

static const struct view tasks_view = VIEW("cluster.tasks", task_columns);

int tfd_ctl_status(struct tfd_ctl *c)
{
    static const struct tfd_ctl_column columns[] = {
        {"FIELD", "field", TFD_CTL_PLAIN}, {"VALUE", "value", TFD_CTL_PLAIN}};
    json_t *doc, *rows;
    int code = tfd_ctl_status_get(c, TFD_CTL_STATUS_PAGE, &doc);

    if (code != TFD_CTL_DONE)
        return code;
    if (c->json)
        return tfd_ctl_put_json(c, doc, code);
    rows = fields_of(doc);
    tfd_ctl_table(c, rows, columns, 2);
    json_decref(rows);
    if (list_of(doc, tasks_view.key)) {
        fputc('\n', c->to);
        show_rows(c, &tasks_view, list_of(doc, tasks_view.key));
    }
    json_decref(doc);
    return code;
}

/* ---- Top ----------------------------------------------------------------- */

static int show_top(struct tfd_ctl *c)
{
    static const struct view views[] = {
        VIEW("cluster.tasks", task_columns), VIEW("steps", running_columns),
        VIEW("plans", plan_columns),         VIEW("parts", part_columns),
        VIEW("sessions", session_columns),
    };
    json_t *doc;
    int code = tfd_ctl_status_get(c, TFD_CTL_STATUS_PAGE, &doc);

    if (code != TFD_CTL_DONE)
        return code;
    if (tfd_ctl_terminal(c) > 0 && !c->once)
        fputs("\033[H\033[2J", c->to);
    code = show_lists(c, doc, views, sizeof(views) / sizeof(views[0]),
                      c->json ? INT64_MAX : TOP_ROWS);
    fflush(c->to);
    json_decref(doc);
    return ferror(c->to) ? TFD_CTL_OS : code;
}

/* Until somebody ends it, or the server ends. */
int tfd_ctl_top(struct tfd_ctl *c)
{
    for (;;) {
        int code = show_top(c);

        if (code != TFD_CTL_DONE || c->once || c->json)
            return code;
        poll(NULL, 0, TOP_MS);
    }
}
