/*
 * command.c - the command line: a verb, its words, and options that it takes.
 *
 *     tfdctl VERB [WORD ...] [--name=value ...]
 *
 * Options may stand before and between the words.
 */
#include "tools/ctl/report.h"

#include "common/base/log.h"
#include "config/value.h"
#include "config/version.h"

#include <errno.h>
#include <string.h>

static int fail_usage(const struct tfd_ctl *c, const struct tfd_ctl_verb *v)
{
    fprintf(c->err, "tfdctl: usage: tfdctl %s%s%s\n", v->name,
            *v->words ? " " : "", v->words);
    return TFD_CTL_USAGE;
}

static int fail_verb(const struct tfd_ctl *c, const char *name)
{
    const char *near = NULL;

    for (size_t i = 0; i < tfd_ctl_verb_count; i++)
        if (tfd_value_near(name, tfd_ctl_verbs[i].name))
            near = tfd_ctl_verbs[i].name;
    if (near)
        fprintf(c->err, "tfdctl: %.40s: no such verb; did you mean %s?\n", name,
                near);
    else
        fprintf(c->err, "tfdctl: %.40s: no such verb; --help lists them\n",
                name);
    return TFD_CTL_USAGE;
}

/* An option that the verb does not take is a mistake of who wrote it. */
static bool takes_options(const struct tfd_ctl *c, const struct tfd_ctl_verb *v,
                          int argc, char *const argv[])
{
    for (int i = 1; i < argc; i++) {
        char name[40];
        size_t size;

        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        size = strcspn(argv[i] + 2, "=");
        snprintf(name, sizeof(name), "%.*s", (int)size, argv[i] + 2);
        if (tfd_option_find(&tfd_ctl_options, name, strlen(name)) < 0 ||
            tfd_ctl_verb_takes(v, name))
            continue;
        fprintf(c->err,
                "tfdctl: --%s: says nothing to %s; tfdctl %s --help lists "
                "what it takes\n",
                name, v->name, v->name);
        return false;
    }
    return true;
}

static int run_verb(struct tfd_ctl *c, int argc, char *const argv[])
{
    const struct tfd_ctl_verb *v = tfd_ctl_verb_find(c->words[0]);
    int words = (int)c->word_count - 1;

    if (!v)
        return fail_verb(c, c->words[0]);
    if (c->config.help)
        return tfd_ctl_help_verb(v, c->to), TFD_CTL_DONE;
    if (words < v->words_min || words > v->words_max)
        return fail_usage(c, v);
    if (!takes_options(c, v, argc, argv))
        return TFD_CTL_USAGE;
    c->verb = v->name;
    memmove(c->words, c->words + 1, (size_t)words * sizeof(c->words[0]));
    c->word_count = (size_t)words;
    return v->run(c);
}

static int do_command(struct tfd_ctl *c, int argc, char *const argv[])
{
    if (c->config.version) {
        fprintf(c->to, "tfdctl %s\n", TFD_VERSION);
        return TFD_CTL_DONE;
    }
    if (c->config.help && c->word_count == 0)
        return tfd_ctl_help(c->to), TFD_CTL_DONE;
    if (c->word_count == 0) {
        fprintf(c->err, "tfdctl: no verb; --help lists them\n");
        return TFD_CTL_USAGE;
    }
    return run_verb(c, argc, argv);
}

/* Whoever reads no further, as head(1), wants to hear no more. */
static int fail_write(int code, FILE *err)
{
    if (errno == EPIPE)
        return code;
    fprintf(err, "tfdctl: the answer cannot be written\n");
    return TFD_CTL_OS;
}

int tfd_ctl_main(int argc, char *const argv[], FILE *to, FILE *err)
{
    struct tfd_ctl c = {.to = to, .err = err, .verb = ""};
    struct tfd_flags_tool tool = {.table = &tfd_ctl_options,
                                  .words = c.words,
                                  .words_max = TFD_CTL_WORDS_MAX};
    int code;

    tfd_log_level_set(TFD_LOG_ERROR);
    code = tfd_flags_tool_parse(&tool, &c.config, argc, argv, err);
    c.word_count = tool.word_count;
    if (code == TFD_FLAGS_RUN)
        code = do_command(&c, argc, argv);
    if (fflush(to) != 0 || ferror(to))
        code = fail_write(code, err);
    tfd_ctl_options_deinit(&c);
    return code;
}
