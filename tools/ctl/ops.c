/*
 * ops.c - tfdctl ops: the operations of this build, and what a graph wants
 * beyond them, which is daemon/missing_ops.h's answer.
 */
#define _GNU_SOURCE 1 /* open_memstream() */

#include "tools/ctl/report.h"
#include "tools/ctl/table.h"

#include "daemon/status/kernels_page.h"
#include "daemon/missing_ops.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_MAX ((size_t)16 << 20)

/* Takes the next line of a text, without its end; false after the last. */
static bool next_line(char **rest, char **line)
{
    size_t size = strcspn(*rest, "\n");

    *line = *rest;
    if (!**rest)
        return false;
    *rest += size + ((*rest)[size] == '\n');
    (*line)[size] = '\0';
    return true;
}

/* ---- What there is ------------------------------------------------------- */

/* "OP DEVICE MEMORY ATTR=type,type", or "*" for the last. */
static json_t *read_row(char *line)
{
    char *op = strtok_r(line, " ", &line);
    char *device = strtok_r(NULL, " ", &line);
    char *memory = strtok_r(NULL, " ", &line);
    char *types = strtok_r(NULL, " ", &line);

    if (!op || !device || !memory)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:s}", "op", op, "device", device,
                     "memory", memory, "types", types ? types : "*");
}

static json_t *list_ops(struct tfd_status *st)
{
    struct tfd_registry registry;
    struct tfd_bytes page;
    json_t *list = json_array();
    char *rest, *line;

    if (tfd_registry_init(&registry, tfd_families, tfd_family_count, st))
        return json_decref(list), NULL;
    tfd_bytes_init(&page, PAGE_MAX);
    tfd_kernels_page_write(&registry, &page);
    tfd_bytes_add(&page, "", 1);
    if (tfd_bytes_ok(&page, "the list of ops", st) == TFD_OK)
        for (rest = page.data; next_line(&rest, &line);)
            json_array_append_new(list, read_row(line));
    tfd_bytes_deinit(&page);
    tfd_registry_deinit(&registry);
    return list;
}

static int show_ops(struct tfd_ctl *c)
{
    static const struct tfd_ctl_column columns[] = {
        {"OP", "op", TFD_CTL_PLAIN},
        {"DEVICE", "device", TFD_CTL_PLAIN},
        {"TYPES", "types", TFD_CTL_PLAIN},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    json_t *list = list_ops(&st);

    if (!list)
        return tfd_ctl_fail(c, TFD_CTL_OS, "%s", st.text);
    if (c->json)
        return tfd_ctl_put_json(c, json_pack("{s:o}", "ops", list),
                                TFD_CTL_DONE);
    tfd_ctl_table(c, list, columns, sizeof(columns) / sizeof(columns[0]));
    json_decref(list);
    return TFD_CTL_DONE;
}

/* ---- What is missing ----------------------------------------------------- */

/* Lines of what lacks; the last is about the whole file. */
static json_t *read_missing(char *text)
{
    json_t *missing = json_array();
    char *rest = text, *line, *before = NULL;
    json_t *summary = NULL;

    while (next_line(&rest, &line)) {
        if (before)
            json_array_append_new(missing, tfd_ctl_text(tfd_str_of(before)));
        before = line;
    }
    summary = tfd_ctl_text(tfd_str_of(before));
    return json_pack("{s:o, s:o}", "missing", missing, "summary", summary);
}

/* The lines of the daemon's own option, as ours. */
static void put_errors(const struct tfd_ctl *c, char *text)
{
    static const char head[] = "tfd: --missing_ops: ";
    char *line;

    while (next_line(&text, &line))
        tfd_ctl_fail(c, 0, "%s",
                     strncmp(line, head, sizeof(head) - 1) == 0
                         ? line + sizeof(head) - 1
                         : line);
}

/* Names in them are the graph's own. */
static void put_lines(const struct tfd_ctl *c, char *text)
{
    char *line;

    while (next_line(&text, &line)) {
        tfd_ctl_put_clean(c->to, line);
        fputc('\n', c->to);
    }
}

static int show_missing(struct tfd_ctl *c)
{
    char *said = NULL, *errors = NULL;
    size_t said_size = 0, errors_size = 0;
    FILE *to = open_memstream(&said, &said_size);
    FILE *err = open_memstream(&errors, &errors_size);
    enum tfd_missing found = TFD_MISSING_UNREADABLE;
    int code;

    if (to && err)
        found = tfd_missing_ops(c->missing, to, err);
    if (to)
        fclose(to);
    if (err)
        fclose(err);
    code = found == TFD_MISSING_NOTHING     ? TFD_CTL_DONE
           : found == TFD_MISSING_SOMETHING ? TFD_CTL_NO
                                            : TFD_CTL_UNREADABLE;
    if (!said || !errors)
        code = tfd_ctl_fail(c, TFD_CTL_OS, "out of memory");
    else if (found == TFD_MISSING_UNREADABLE)
        put_errors(c, errors);
    else if (c->json)
        code = tfd_ctl_put_json(c, read_missing(said), code);
    else
        put_lines(c, said);
    free(said);
    free(errors);
    return code;
}

int tfd_ctl_ops(struct tfd_ctl *c)
{
    return c->missing ? show_missing(c) : show_ops(c);
}
