/*
 * checkpoint_diff.c - tfdctl checkpoint diff: what is not the same in two
 * checkpoints.
 *
 * Both lists of names are sorted, so one walk goes through them side by side.
 * Values are compared by their bytes; how far floats are apart is said beside.
 */
#include "tools/ctl/checkpoint.h"

#include "tools/ctl/bundle.h"
#include "tools/ctl/table.h"

#include <math.h>
#include <string.h>

struct walk {
    struct tfd_ctl_bundle a, b;
    bool more_a, more_b;
    int64_t same, different;
    json_t *list;
    struct tfd_status st;
};

static void describe(const struct tfd_bundle_entry *e, char *text, size_t size)
{
    char shape[TFD_SHAPE_TEXT_MAX];

    snprintf(text, size, "%s %s", tfd_dtype_name((int)e->dtype),
             tfd_shape_text(&e->shape, shape));
}

static void add_row(struct walk *w, struct tfd_str name, const char *what,
                    json_t *take_apart)
{
    char a[TFD_SHAPE_TEXT_MAX + 32] = "", b[TFD_SHAPE_TEXT_MAX + 32] = "";

    w->different++;
    if (strcmp(what, "only in second") != 0)
        describe(&w->a.entry, a, sizeof(a));
    if (strcmp(what, "only in first") != 0)
        describe(&w->b.entry, b, sizeof(b));
    json_array_append_new(
        w->list,
        json_pack("{s:o, s:s, s:o?, s:o?, s:o?}", "name", tfd_ctl_text(name),
                  "difference", what, "first", *a ? json_string(a) : NULL,
                  "second", *b ? json_string(b) : NULL, "apart", take_apart));
}

/* ---- Values -------------------------------------------------------------- */

static bool equal_strings(const struct tfd_tensor *x,
                          const struct tfd_tensor *y)
{
    const struct tfd_tstring *a = tfd_tensor_data(x), *b = tfd_tensor_data(y);

    for (int64_t i = 0; i < tfd_tensor_elements(x); i++)
        if (!tfd_str_eq(tfd_tstring_view(&a[i]), tfd_tstring_view(&b[i])))
            return false;
    return true;
}

static bool equal_values(const struct tfd_tensor *x, const struct tfd_tensor *y)
{
    size_t size = tfd_tensor_size(x);

    if (x->dtype == TFD_STRING)
        return equal_strings(x, y);
    return size == 0 ||
           memcmp(tfd_tensor_data(x), tfd_tensor_data(y), size) == 0;
}

/* The greatest distance of two elements; NULL where it says nothing. */
static json_t *distance(const struct tfd_tensor *x, const struct tfd_tensor *y)
{
    double most = 0;

    if (x->dtype != TFD_FLOAT && x->dtype != TFD_DOUBLE)
        return NULL;
    for (int64_t i = 0; i < tfd_tensor_elements(x); i++) {
        bool wide = x->dtype == TFD_DOUBLE;
        double a = wide ? ((const double *)tfd_tensor_data(x))[i]
                        : (double)((const float *)tfd_tensor_data(x))[i];
        double b = wide ? ((const double *)tfd_tensor_data(y))[i]
                        : (double)((const float *)tfd_tensor_data(y))[i];

        if (isnan(a - b))
            return NULL;
        most = fabs(a - b) > most ? fabs(a - b) : most;
    }
    return isinf(most) ? NULL : json_real(most);
}

static void compare_values(struct walk *w)
{
    struct tfd_tensor x = TFD_TENSOR_INIT, y = TFD_TENSOR_INIT;

    if (tfd_ctl_bundle_read(&w->a, w->a.name, &x, &w->st) == TFD_OK &&
        tfd_ctl_bundle_read(&w->b, w->b.name, &y, &w->st) == TFD_OK) {
        if (equal_values(&x, &y))
            w->same++;
        else
            add_row(w, w->a.name, "values", distance(&x, &y));
    } else {
        tfd_status_context(&w->st, "tensor " TFD_STR_FMT,
                           TFD_STR_ARG(w->a.name));
    }
    tfd_tensor_unref(&x);
    tfd_tensor_unref(&y);
}

static void compare_tensor(struct walk *w)
{
    const struct tfd_bundle_entry *a = &w->a.entry, *b = &w->b.entry;

    if (a->dtype != b->dtype)
        add_row(w, w->a.name, "type", NULL);
    else if (!tfd_shape_equal(&a->shape, &b->shape))
        add_row(w, w->a.name, "shape", NULL);
    else
        compare_values(w);
}

/* ---- Names --------------------------------------------------------------- */

static void walk_next(struct walk *w, bool first, bool second)
{
    if (first && tfd_ctl_bundle_next(&w->a, &w->more_a, &w->st) != TFD_OK)
        return;
    if (second)
        (void)!tfd_ctl_bundle_next(&w->b, &w->more_b, &w->st);
}

static void walk_both(struct walk *w)
{
    walk_next(w, true, true);
    while (w->st.code == TFD_OK && (w->more_a || w->more_b)) {
        int order = !w->more_a   ? 1
                    : !w->more_b ? -1
                                 : tfd_str_cmp(w->a.name, w->b.name);

        if (order < 0)
            add_row(w, w->a.name, "only in first", NULL);
        else if (order > 0)
            add_row(w, w->b.name, "only in second", NULL);
        else
            compare_tensor(w);
        if (w->st.code == TFD_OK)
            walk_next(w, order <= 0, order >= 0);
    }
}

static int tell(struct tfd_ctl *c, const struct walk *w)
{
    static const struct tfd_ctl_column columns[] = {
        {"NAME", "name", TFD_CTL_PLAIN},
        {"DIFFERENCE", "difference", TFD_CTL_PLAIN},
        {"FIRST", "first", TFD_CTL_PLAIN},
        {"SECOND", "second", TFD_CTL_PLAIN},
        {"APART", "apart", TFD_CTL_PLAIN},
    };
    int code = w->different > 0 ? TFD_CTL_NO : TFD_CTL_DONE;

    if (c->json)
        return tfd_ctl_put_json(
            c,
            json_pack("{s:o, s:o, s:I, s:O}", "first",
                      tfd_ctl_text(tfd_str_of(c->words[1])), "second",
                      tfd_ctl_text(tfd_str_of(c->words[2])), "same",
                      (json_int_t)w->same, "different", w->list),
            code);
    if (w->different > 0)
        tfd_ctl_table(c, w->list, columns,
                      sizeof(columns) / sizeof(columns[0]));
    fprintf(c->to, "%lld tensors are the same, %lld are not\n",
            (long long)w->same, (long long)w->different);
    return code;
}

int tfd_ctl_checkpoint_diff(struct tfd_ctl *c)
{
    struct walk w = {.list = json_array()};
    int code = tfd_ctl_bundle_open(c, c->words[1], &w.a), second;

    w.st = (struct tfd_status)TFD_STATUS_INIT;
    second = tfd_ctl_bundle_open(c, c->words[2], &w.b);
    code = code == TFD_CTL_DONE ? second : code;
    if (code == TFD_CTL_DONE)
        walk_both(&w);
    if (code == TFD_CTL_DONE)
        code = w.st.code == TFD_OK
                   ? tell(c, &w)
                   : tfd_ctl_fail(c, TFD_CTL_NO, "%s", w.st.text);
    tfd_ctl_bundle_close(&w.a);
    tfd_ctl_bundle_close(&w.b);
    json_decref(w.list);
    return code;
}
