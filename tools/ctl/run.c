/*
 * run.c - tfdctl run: a step, its fetches into files, as JSON or as text.
 */
#include "tools/npy/npy.h"
#include "tools/ctl/step.h"
#include "tools/ctl/value.h"

static int write_fetches(struct tfd_ctl_step *s)
{
    for (int i = 0; i < s->fetch_count; i++) {
        struct tfd_status st = TFD_STATUS_INIT;

        if (s->fetch_files[i] &&
            tfd_ctl_npy_write(s->fetch_files[i], &s->fetches[i], &st) != TFD_OK)
            return tfd_ctl_fail(s->server.ctl, TFD_CTL_UNREADABLE,
                                "--fetch = %s: %s",
                                s->server.ctl->fetches.texts[i], st.text);
    }
    return TFD_CTL_DONE;
}

/* What was written to a file is not printed again. */
static int print_fetches(const struct tfd_ctl_step *s)
{
    const struct tfd_ctl *c = s->server.ctl;
    json_t *list = c->json ? json_array() : NULL;

    for (int i = 0; i < s->fetch_count; i++) {
        if (s->fetch_files[i])
            continue;
        if (list)
            json_array_append_new(
                list, tfd_ctl_value_json(s->fetch_names[i], &s->fetches[i]));
        else
            tfd_ctl_value_print(c, s->fetch_names[i], &s->fetches[i]);
    }
    if (list)
        return tfd_ctl_put_json(c, json_pack("{s:o}", "fetches", list),
                                TFD_CTL_DONE);
    return TFD_CTL_DONE;
}

int tfd_ctl_run(struct tfd_ctl *c)
{
    struct tfd_ctl_step s;
    int code = tfd_ctl_step_open(c, c->words[0], &s);

    if (code == TFD_CTL_DONE)
        code = tfd_ctl_step_run(&s, TFD_STR_EMPTY, NULL);
    if (code == TFD_CTL_DONE)
        code = write_fetches(&s);
    if (code == TFD_CTL_DONE)
        code = print_fetches(&s);
    tfd_ctl_step_close(&s);
    return code;
}
