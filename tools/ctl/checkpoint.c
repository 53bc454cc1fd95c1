/*
 * checkpoint.c - tfdctl checkpoint: its looks, of which show and verify are
 * here.
 */
#include "tools/ctl/checkpoint.h"

#include "tools/ctl/bundle.h"
#include "tools/ctl/table.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int tfd_ctl_checkpoint(struct tfd_ctl *c)
{
    static const struct {
        const char *name;
        size_t words;
        tfd_ctl_fn *look;
        const char *usage;
    } rows[] = {
        {"ls", 2, tfd_ctl_checkpoint_ls, "ls DIR"},
        {"show", 2, tfd_ctl_checkpoint_show, "show PREFIX"},
        {"verify", 2, tfd_ctl_checkpoint_verify, "verify PREFIX"},
        {"diff", 3, tfd_ctl_checkpoint_diff, "diff PREFIX PREFIX"},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].name, c->words[0]) != 0)
            continue;
        if (c->word_count != rows[i].words)
            return tfd_ctl_fail(c, TFD_CTL_USAGE, "usage: checkpoint %s",
                                rows[i].usage);
        return rows[i].look(c);
    }
    return tfd_ctl_fail(c, TFD_CTL_USAGE,
                        "%.40s: not known; give ls, show, verify or diff",
                        c->words[0]);
}

/* ---- Show ---------------------------------------------------------------- */

static const struct tfd_ctl_column tensor_columns[] = {
    {"NAME", "name", TFD_CTL_PLAIN},   {"TYPE", "type", TFD_CTL_PLAIN},
    {"SHAPE", "shape", TFD_CTL_PLAIN}, {"SIZE", "bytes", TFD_CTL_BYTES},
    {"FILE", "file", TFD_CTL_PLAIN},
};

int tfd_ctl_checkpoint_show(struct tfd_ctl *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl_bundle b;
    int code = tfd_ctl_bundle_open(c, c->words[1], &b);
    json_t *list = json_array();
    bool more = code == TFD_CTL_DONE;

    while (more && tfd_ctl_bundle_next(&b, &more, &st) == TFD_OK && more)
        json_array_append_new(list, tfd_ctl_bundle_json(&b));
    tfd_ctl_bundle_close(&b);
    if (st.code != TFD_OK)
        code = tfd_ctl_fail(c, TFD_CTL_NO, "%s", st.text);
    if (code == TFD_CTL_DONE && c->json)
        code = tfd_ctl_put_json(c,
                                json_pack("{s:o, s:O}", "prefix",
                                          tfd_ctl_text(tfd_str_of(c->words[1])),
                                          "tensors", list),
                                code);
    else if (code == TFD_CTL_DONE)
        tfd_ctl_table(c, list, tensor_columns, COUNT(tensor_columns));
    json_decref(list);
    return code;
}

/* ---- Verify -------------------------------------------------------------- */

struct verified {
    int64_t tensors, bytes, damaged;
    json_t *list; /* of what is damaged */
};

static void add_damage(struct verified *v, struct tfd_ctl_bundle *b,
                       const struct tfd_status *why)
{
    v->damaged++;
    json_array_append_new(
        v->list,
        json_pack("{s:o, s:o, s:o}", "tensor", tfd_ctl_text(b->name), "file",
                  tfd_ctl_text(tfd_str_of(tfd_ctl_bundle_file(b))), "error",
                  tfd_ctl_text(tfd_str_of(why->text))));
}

/* Goes on behind a damaged tensor, so that all are named. */
static void verify_tensor(struct verified *v, struct tfd_ctl_bundle *b)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct tfd_status why = TFD_STATUS_INIT;

    v->tensors++;
    if (tfd_ctl_bundle_read(b, b->name, &value, &why) != TFD_OK) {
        add_damage(v, b, &why);
        return;
    }
    v->bytes += (int64_t)tfd_tensor_size(&value);
    tfd_tensor_unref(&value);
}

static int tell_verified(struct tfd_ctl *c, const struct verified *v)
{
    static const struct tfd_ctl_column columns[] = {
        {"TENSOR", "tensor", TFD_CTL_PLAIN},
        {"FILE", "file", TFD_CTL_PLAIN},
        {"ERROR", "error", TFD_CTL_PLAIN},
    };
    int code = v->damaged > 0 ? TFD_CTL_NO : TFD_CTL_DONE;
    char size[TFD_CTL_NUMBER_SIZE];

    if (c->json)
        return tfd_ctl_put_json(
            c,
            json_pack("{s:o, s:b, s:I, s:I, s:O}", "prefix",
                      tfd_ctl_text(tfd_str_of(c->words[1])), "whole",
                      v->damaged == 0, "tensors", (json_int_t)v->tensors,
                      "bytes", (json_int_t)v->bytes, "damaged", v->list),
            code);
    if (v->damaged > 0)
        tfd_ctl_table(c, v->list, columns, COUNT(columns));
    tfd_ctl_put_clean(c->to, c->words[1]);
    fprintf(c->to, ": %lld tensors, %s, %lld damaged\n", (long long)v->tensors,
            tfd_ctl_bytes((double)v->bytes, size), (long long)v->damaged);
    return code;
}

int tfd_ctl_checkpoint_verify(struct tfd_ctl *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct verified v = {.list = json_array()};
    struct tfd_ctl_bundle b;
    int code = tfd_ctl_bundle_open(c, c->words[1], &b);
    bool more = code == TFD_CTL_DONE;

    while (more && tfd_ctl_bundle_next(&b, &more, &st) == TFD_OK && more)
        verify_tensor(&v, &b);
    tfd_ctl_bundle_close(&b);
    if (st.code != TFD_OK)
        code = tfd_ctl_fail(c, TFD_CTL_NO, "%s", st.text);
    else if (code == TFD_CTL_DONE)
        code = tell_verified(c, &v);
    json_decref(v.list);
    return code;
}
