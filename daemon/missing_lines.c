/*
 * missing_lines.c - see missing_lines.h.
 */
#include "daemon/missing_lines.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

struct tfd_missing_line {
    struct tfd_str text;
    int64_t nodes;
    struct tfd_str function, first;
};

void tfd_missing_lines_init(struct tfd_missing_lines *l)
{
    tfd_arena_init(&l->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&l->by_text);
    tfd_map_init(&l->seen);
}

void tfd_missing_lines_deinit(struct tfd_missing_lines *l)
{
    tfd_map_deinit(&l->by_text);
    tfd_map_deinit(&l->seen);
    tfd_arena_deinit(&l->arena);
}

/* False where the node was here with this text. */
static enum tfd_code note_seen(struct tfd_missing_lines *l,
                               const struct tfd_missing_place *p,
                               struct tfd_str text, bool *is_new,
                               struct tfd_status *st)
{
    struct tfd_bytes key;
    struct tfd_str kept = TFD_STR_EMPTY;
    uintptr_t unused;
    enum tfd_code rc;

    tfd_bytes_init(&key, (size_t)TFD_GRAPH_FILE_SIZE_MAX);
    tfd_bytes_printf(&key, "%d %zu %zu ", p->graph, text.size,
                     p->function.size);
    tfd_bytes_add_str(&key, text);
    tfd_bytes_add_str(&key, p->function);
    tfd_bytes_add_str(&key, p->node);
    rc = tfd_bytes_ok(&key, "names of nodes", st);
    *is_new =
        rc == TFD_OK && !tfd_map_get(&l->seen, tfd_bytes_view(&key), &unused);
    if (*is_new) {
        kept = tfd_arena_str(&l->arena, tfd_bytes_view(&key));
        rc = tfd_arena_check(
            kept.data && tfd_map_put(&l->seen, kept, 1) ? kept.data : NULL,
            "names of nodes", st);
    }
    tfd_bytes_deinit(&key);
    return rc;
}

static enum tfd_code new_line(struct tfd_missing_lines *l,
                              const struct tfd_missing_place *p,
                              struct tfd_str text,
                              struct tfd_missing_line **out,
                              struct tfd_status *st)
{
    struct tfd_missing_line *line = tfd_arena_alloc(&l->arena, sizeof(*line));

    TFD_TRY(tfd_arena_check(line, "lines", st));
    line->text = tfd_arena_str(&l->arena, text);
    line->function = tfd_arena_str(&l->arena, p->function);
    line->first = tfd_arena_str(&l->arena, p->node);
    *out = line;
    return tfd_arena_check(
        line->text.data && line->function.data && line->first.data &&
                tfd_map_put(&l->by_text, line->text, (uintptr_t)line)
            ? line
            : NULL,
        "lines", st);
}

enum tfd_code tfd_missing_lines_add(struct tfd_missing_lines *l,
                                    const struct tfd_missing_place *place,
                                    struct tfd_str text, struct tfd_status *st)
{
    struct tfd_missing_line *line;
    uintptr_t known;
    bool is_new;

    TFD_TRY(note_seen(l, place, text, &is_new, st));
    if (!is_new)
        return TFD_OK;
    if (tfd_map_get(&l->by_text, text, &known))
        line = (struct tfd_missing_line *)known;
    else
        TFD_TRY(new_line(l, place, text, &line, st));
    line->nodes++;
    return TFD_OK;
}

/* ---- Printing ------------------------------------------------------------ */

static int compare_lines(const void *a, const void *b)
{
    const struct tfd_missing_line *const *x = a, *const *y = b;

    return tfd_str_cmp((*x)->text, (*y)->text);
}

static void print_name(struct tfd_str s, FILE *to)
{
    for (size_t i = 0; i < s.size && i < TFD_NAME_SIZE_MAX; i++)
        putc(s.data[i] >= ' ' && s.data[i] < 0x7f ? s.data[i] : '?', to);
}

static void print_line(const struct tfd_missing_line *line, FILE *to)
{
    print_name(line->text, to);
    fprintf(to, ": %" PRId64 " node%s (first: ", line->nodes,
            line->nodes == 1 ? "" : "s");
    print_name(line->first, to);
    if (line->function.size) {
        fprintf(to, " of function ");
        print_name(line->function, to);
    }
    fprintf(to, ")\n");
}

enum tfd_code tfd_missing_lines_print(const struct tfd_missing_lines *l,
                                      FILE *to, struct tfd_status *st)
{
    size_t count = 0, at = 0;
    const struct tfd_map_entry *e;
    const struct tfd_missing_line **lines =
        calloc(l->by_text.count + 1, sizeof(*lines));

    TFD_TRY(tfd_arena_check(lines, "lines", st));
    while (tfd_map_next(&l->by_text, &at, &e))
        lines[count++] = (const struct tfd_missing_line *)e->value;
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++)
        print_line(lines[i], to);
    free(lines);
    return TFD_OK;
}
