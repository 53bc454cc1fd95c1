/*
 * ctl_manual.c - the manual page of tfdctl and its completions, from the tables
 * of verbs and options, so that none can lag behind them.  `make install` runs
 * it:
 *
 *     ctl_manual man     tfdctl(1), for share/man/man1
 *     ctl_manual bash    for share/bash-completion/completions
 *     ctl_manual zsh     for share/zsh/site-functions
 */
#include "config/version.h"
#include "packaging/roff.h"
#include "tools/ctl/ctl.h"

#include <stdio.h>
#include <string.h>

/* ---- The manual page ----------------------------------------------------- */

static void put_verb(const struct tfd_ctl_verb *v)
{
    fputs(".TP\n\\fB", stdout);
    put_roff(v->name);
    fputs("\\fR ", stdout);
    put_roff(v->words);
    fputs("\n", stdout);
    put_roff(v->help);
    fputs(".\n", stdout);
    for (size_t i = 0, count = 0; i < tfd_ctl_options.count; i++) {
        const char *name = tfd_ctl_options.rows[i].name;

        if (!strstr(v->options, name) || !tfd_ctl_verb_takes(v, name))
            continue;
        fputs(count++ ? ", " : "Options: ", stdout);
        fputs("\\fB\\-\\-", stdout);
        put_roff(name);
        fputs("\\fR", stdout);
    }
    fputs(*v->options ? ".\n" : "", stdout);
}

static void put_option(const struct tfd_option *o)
{
    fputs(".TP\n\\fB\\-\\-", stdout);
    put_roff(o->name);
    fputs("\\fR", stdout);
    if (o->value) {
        fputs("=\\fI", stdout);
        put_roff(o->value);
        fputs("\\fR", stdout);
    }
    fputs("\n", stdout);
    put_roff(o->help);
    fputs("\n", stdout);
    if (o->fallback && o->value) {
        fputs("[", stdout);
        put_roff(o->fallback);
        fputs("]\n", stdout);
    }
}

static const char head[] =
    ".SH NAME\n"
    "tfdctl \\- asks a server of a TensorFlow cluster, or looks at its files\n"
    ".SH SYNOPSIS\n"
    ".B tfdctl\n"
    "\\fIVERB\\fR [\\fIWORD\\fR ...] [\\fB\\-\\-\\fIname\\fR=\\fIvalue\\fR "
    "...]\n"
    ".SH DESCRIPTION\n"
    "Shows what a task of a cluster does, runs a step or a trace on it, and\n"
    "looks at checkpoints and graphs in files.\n"
    "It speaks gRPC and HTTP/1 to\n"
    ".BR tfd (8),\n"
    "and to servers of TensorFlow itself as far as their services go; what\n"
    "they do not tell it says.\n"
    ".PP\n"
    "Values come from flags, else from the file of\n"
    ".BR \\-\\-config ,\n"
    "else they are the default, which is shown in brackets.\n"
    "Without\n"
    ".B \\-\\-target\n"
    "the server is the task that the environment variable TF_CONFIG is for.\n"
    "Durations are 250ms, 60s, 5m, 2h; a plain number is seconds.\n"
    ".PP\n"
    "On a terminal the columns of a table fit its width and some have colour;\n"
    "elsewhere nothing is cut.\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone, and the answer is yes where one was asked for.\n"
    ".TP\n.B 1\n"
    "The answer is no: a server that takes no work (health), damage (verify),\n"
    "differences (diff), something that lacks (ops), a name that the graph\n"
    "does not have (run, trace), fewer steps than asked for (trace).\n"
    ".TP\n.B 2\nA file cannot be read or written.\n"
    ".TP\n.B 64\nA command line that cannot be read.\n"
    ".TP\n.B 69\nNo server answers there, or not in time.\n"
    ".TP\n.B 70\nThe server refuses, or its answer is none.\n"
    ".TP\n.B 71\nThe system refused something, such as memory.\n"
    ".TP\n.B 78\nThe configuration is wrong.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B TF_CONFIG\n"
    "The cluster and the task that is asked, where no target is given.\n"
    ".SH EXAMPLES\n"
    "Wait until a server takes work, as a script does:\n"
    ".PP\n.nf\n"
    "tfdctl health \\-\\-target=worker0:2222 \\-\\-wait=30s\n"
    ".fi\n.PP\n"
    "Run a graph on a value and keep the result:\n"
    ".PP\n.nf\n"
    "tfdctl run model.pb \\-\\-feed x=x.npy \\-\\-fetch y=y.npy\n"
    ".fi\n.PP\n"
    "See what each task does in the next steps of a training that runs:\n"
    ".PP\n.nf\n"
    "tfdctl trace \\-\\-target=worker0:2222 \\-\\-steps=5 "
    "\\-\\-out=steps.json\n"
    ".fi\n.PP\n"
    "Look whether the last checkpoint is whole:\n"
    ".PP\n.nf\n"
    "tfdctl checkpoint ls /data/model\n"
    "tfdctl checkpoint verify /data/model/model.ckpt\\-1000\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR tfd (8)\n";

static void put_man(void)
{
    printf(".\\\" Made from the tables of verbs and options; see "
           "packaging/ctl_manual.c.\n"
           ".TH TFDCTL 1 2026-11-27 \"tfd %s\" \"User commands\"\n",
           TFD_VERSION);
    fputs(head, stdout);
    fputs(".SH VERBS\n", stdout);
    for (size_t i = 0; i < tfd_ctl_verb_count; i++)
        put_verb(&tfd_ctl_verbs[i]);
    fputs(".SH OPTIONS\n", stdout);
    for (size_t i = 0; i < tfd_ctl_options.count; i++)
        put_option(&tfd_ctl_options.rows[i]);
    fputs(tail, stdout);
}

/* ---- Completions --------------------------------------------------------- */

static void put_verb_names(const char *between)
{
    for (size_t i = 0; i < tfd_ctl_verb_count; i++)
        printf("%s%s", i ? between : "", tfd_ctl_verbs[i].name);
}

/* "--json --target=", of those that the verb takes. */
static void put_options_of(const struct tfd_ctl_verb *v)
{
    size_t count = 0;

    for (size_t i = 0; i < tfd_ctl_options.count; i++) {
        const struct tfd_option *o = &tfd_ctl_options.rows[i];

        if (!tfd_ctl_verb_takes(v, o->name))
            continue;
        printf("%s--%s%s", count++ ? " " : "", o->name, o->value ? "=" : "");
    }
}

static void put_first_words(const struct tfd_ctl_verb *v)
{
    for (size_t i = 0; v->first && v->first[i]; i++)
        printf("%s%s", i ? " " : "", v->first[i]);
}

static bool is_file(const struct tfd_option *o)
{
    return o->value &&
           (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "GRAPH") == 0);
}

static const char bash_head[] =
    "# bash completion of tfdctl(1), made from the tables of verbs and "
    "options.\n"
    "_tfdctl() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before= verb= words= action=\n"
    "    local options= first= count=0 i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == = ||\n"
    "            ${COMP_WORDS[i-1]} == = ]] && continue\n"
    "        if [[ -z $verb ]]; then\n"
    "            verb=${COMP_WORDS[i]}\n"
    "        else\n"
    "            count=$((count + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [[ $current == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD-1]} current=\n"
    "    elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; "
    "then\n"
    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    elif [[ $current == --*=* ]]; then\n"
    "        before=${current%%=*} current=${current#*=}\n"
    "    fi\n"
    "    case $before in\n";

static const char bash_tail[] =
    "    esac\n"
    "    if [[ -n $before ]]; then\n"
    "        :\n"
    "    elif [[ $current == -* ]]; then\n"
    "        words=$options\n"
    "    elif [[ -n $first && $count == 0 ]]; then\n"
    "        words=$first\n"
    "    elif [[ -n $verb ]]; then\n"
    "        action=-f\n"
    "    fi\n"
    "    [[ -z $words$action ]] && return\n"
    "    mapfile -t COMPREPLY < <(\n"
    "        compgen $action ${words:+-W \"$words\"} -- \"$current\")\n"
    "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n"
    "}\n"
    "complete -F _tfdctl tfdctl\n";

static void put_bash(void)
{
    fputs(bash_head, stdout);
    for (size_t i = 0; i < tfd_ctl_options.count; i++)
        if (is_file(&tfd_ctl_options.rows[i]))
            printf("    --%s) action=-f ;;\n", tfd_ctl_options.rows[i].name);
    fputs("    esac\n    case $verb in\n    '') words=\"", stdout);
    put_verb_names(" ");
    fputs("\" options=\"--help --version\" ;;\n", stdout);
    for (size_t i = 0; i < tfd_ctl_verb_count; i++) {
        printf("    %s) options=\"", tfd_ctl_verbs[i].name);
        put_options_of(&tfd_ctl_verbs[i]);
        fputs("\" first=\"", stdout);
        put_first_words(&tfd_ctl_verbs[i]);
        fputs("\" ;;\n", stdout);
    }
    fputs(bash_tail, stdout);
}

/* A text between single quotes, of which zsh's _arguments and _describe take
 * brackets and colons for their own. */
static void put_zsh(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            fputc(*text, stdout);
    }
}

static void put_zsh_option(const struct tfd_option *o)
{
    printf("            '%s--%s%s[", o->repeated ? "*" : "", o->name,
           o->value ? "=" : "");
    put_zsh(o->help);
    fputs("]", stdout);
    if (o->value) {
        fputs(":", stdout);
        put_zsh(o->value);
        fputs(is_file(o) ? ":_files" : ":", stdout);
    }
    fputs("' \\\n", stdout);
}

static void put_zsh_verb(const struct tfd_ctl_verb *v)
{
    printf("    %s)\n        _arguments \\\n", v->name);
    for (size_t i = 0; i < tfd_ctl_options.count; i++)
        if (tfd_ctl_verb_takes(v, tfd_ctl_options.rows[i].name))
            put_zsh_option(&tfd_ctl_options.rows[i]);
    if (v->first) {
        fputs("            '1:word:(", stdout);
        put_first_words(v);
        fputs(")' \\\n", stdout);
    }
    if (v->words_max > 0)
        fputs("            '*:file:_files' \\\n", stdout);
    fputs("        ;;\n", stdout);
}

static void put_zsh_all(void)
{
    fputs("#compdef tfdctl\n"
          "# zsh completion of tfdctl(1), made from the tables of verbs and "
          "options.\n"
          "_tfdctl() {\n"
          "    local -a verbs\n"
          "    verbs=(\n",
          stdout);
    for (size_t i = 0; i < tfd_ctl_verb_count; i++) {
        printf("        '%s:", tfd_ctl_verbs[i].name);
        put_zsh(tfd_ctl_verbs[i].help);
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe verb verbs\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $verb in\n",
          stdout);
    for (size_t i = 0; i < tfd_ctl_verb_count; i++)
        put_zsh_verb(&tfd_ctl_verbs[i]);
    fputs("    esac\n"
          "}\n"
          "_tfdctl \"$@\"\n",
          stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        void (*put)(void);
    } rows[] = {{"man", put_man}, {"bash", put_bash}, {"zsh", put_zsh_all}};

    for (size_t i = 0; argc == 2 && i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(argv[1], rows[i].what) == 0) {
            rows[i].put();
            return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
        }
    return fprintf(stderr, "usage: ctl_manual man|bash|zsh\n"), 64;
}
