/*
 * manual.c - the manual pages and the completion of bash, from the table of
 * options, so that none can lag behind it.  `make install` runs it:
 *
 *     manual man     tfd(8), for share/man/man8
 *     manual conf    tfd.conf(5), for share/man/man5
 *     manual bash    for share/bash-completion/completions
 */
#include "config/options.h"
#include "config/version.h"
#include "packaging/roff.h"

#include <stdio.h>
#include <string.h>

/* ---- The manual page ----------------------------------------------------- */

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

static void put_options(void)
{
    const char *group = "";

    for (size_t i = 0; i < tfd_option_count; i++) {
        if (strcmp(group, tfd_options[i].group) != 0) {
            fputs(".SS \"", stdout);
            put_roff(tfd_options[i].group);
            fputs("\"\n", stdout);
        }
        group = tfd_options[i].group;
        put_option(&tfd_options[i]);
    }
}

static const char head[] =
    ".SH NAME\n"
    "tfd \\- one task of a TensorFlow cluster\n"
    ".SH SYNOPSIS\n"
    ".B tfd\n"
    "[\\fB\\-\\-\\fIname\\fR=\\fIvalue\\fR ...]\n"
    ".SH DESCRIPTION\n"
    "Runs one task of a TensorFlow cluster: a parameter server, a worker or\n"
    "the chief, with the master and the worker service of such a task.\n"
    "Clients of TensorFlow open sessions on it by gRPC.\n"
    ".PP\n"
    "Values come from flags, else from the environment variable\n"
    ".BR TF_CONFIG ,\n"
    "else from the file of\n"
    ".BR \\-\\-config ,\n"
    "else they are the default, which is shown in brackets.\n"
    "A flag and TF_CONFIG that contradict each other are an error.\n"
    "Durations are 250ms, 60s, 5m, 2h; a plain number is seconds.\n"
    ".SH OPTIONS\n";

static const char tail[] =
    ".SH SIGNALS\n"
    ".TP\n"
    ".BR SIGTERM \", \" SIGINT\n"
    "No new calls; running steps may end within \\fB\\-\\-drain_timeout\\fR,\n"
    "then exit status 0.  The second signal ends the process at once.\n"
    ".TP\n"
    ".B SIGHUP\n"
    "Is logged, and nothing follows.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nA clean stop.\n"
    ".TP\n.BR 1 \", \" 2\n"
    "\\fB\\-\\-missing_ops\\fR found something, or could not read the file.\n"
    ".TP\n.I CODE\nof \\fB\\-\\-stopped_code\\fR, after SIGTERM or SIGINT.\n"
    ".TP\n.B 64\nA command line that cannot be read.\n"
    ".TP\n.B 70\nThe training of \\fB\\-\\-train\\fR failed.\n"
    ".TP\n.B 71\nThe system refused something, such as a port.\n"
    ".TP\n.B 78\nThe configuration is wrong.\n"
    ".TP\n.B 138\n"
    "A task that a training needs, or the own name, stayed away for\n"
    "\\fB\\-\\-peer_wait\\fR, or a GPU was lost: another start may do.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B TF_CONFIG\n"
    "The cluster and this task, as TensorFlow\\(aqs own tools set it.\n"
    ".TP\n.BR SLURM_PROCID \", \" SLURM_STEP_NODELIST \" and others\"\n"
    "The step, where \\fB\\-\\-cluster_from\\fR says so.\n"
    ".TP\n.BR NOTIFY_SOCKET \", \" WATCHDOG_USEC\n"
    "Set by systemd: it is told of start, state, progress and stop.\n"
    ".SH FILES\n"
    ".TP\n.I FILE\nof \\fB\\-\\-config\\fR: see\n.BR tfd.conf (5).\n"
    ".TP\n.I /etc/tfd/tfd.env\n"
    "The environment of all instances of the unit tfd@.service.\n"
    ".TP\n.I /etc/tfd/INSTANCE.env\n"
    "That of one; tfd.env.example shows how.\n"
    ".SH EXAMPLES\n"
    "A parameter server and a worker of one host:\n"
    ".PP\n.nf\n"
    "tfd \\-\\-job_name=ps \\-\\-ps_hosts=127.0.0.1:4000 "
    "\\-\\-worker_hosts=127.0.0.1:4001 &\n"
    "tfd \\-\\-job_name=worker \\-\\-ps_hosts=127.0.0.1:4000 "
    "\\-\\-worker_hosts=127.0.0.1:4001 &\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR tfd.conf (5),\n"
    ".BR systemd.service (5),\n"
    ".BR journalctl (1)\n";

static void put_man(void)
{
    printf(".\\\" Made from the table of options; see packaging/manual.c.\n"
           ".TH TFD 8 2026-11-22 \"tfd %s\" \"System administration\"\n",
           TFD_VERSION);
    fputs(head, stdout);
    put_options();
    fputs(tail, stdout);
}

/* ---- The file of --config -------------------------------------------------
 */

static const char conf_head[] =
    ".SH NAME\n"
    "tfd.conf \\- file of options for tfd\n"
    ".SH DESCRIPTION\n"
    "The file that\n"
    ".B tfd \\-\\-config=\\fIFILE\\fR\n"
    "reads, whatever its name is: a JSON object whose keys are the names of\n"
    "the options of\n"
    ".BR tfd (8).\n"
    "Flags and TF_CONFIG win over it.  No file is read unless it is named.\n"
    ".PP\n"
    "A value is a text, as behind the flag; or a number, or true or false,\n"
    "where the option takes such.  Lists of hosts, and options that may be\n"
    "given several times, may be lists of texts.  \\fBcluster_spec\\fR may be\n"
    "an object.  A key that is no option, a key twice and a value of another\n"
    "type are errors, each with a line, and exit status 78.\n"
    ".SH KEYS\n";

static const char conf_tail[] =
    ".SH EXAMPLES\n"
    ".nf\n"
    "{\n"
    "  \"cluster_spec\": {\"ps\": [\"ps0:2222\"], \"worker\": "
    "[\"w0:2222\"]},\n"
    "  \"job_name\": \"worker\",\n"
    "  \"file_root\": [\"/data\", \"/models\"],\n"
    "  \"memory_limit\": \"8G\",\n"
    "  \"threads\": 4\n"
    "}\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR tfd (8)\n";

/* What the reader of a key has to write. */
static void put_key(const struct tfd_option *o)
{
    fputs(".TP\n\\fB", stdout);
    put_roff(o->name);
    fputs("\\fR (", stdout);
    if (o->repeated || strstr(o->name, "_hosts"))
        fputs("text or list, ", stdout);
    put_roff(o->value ? o->value : "true or false");
    fputs(")\n", stdout);
    put_roff(o->help);
    fputs("\n", stdout);
    if (o->fallback) {
        fputs("[", stdout);
        put_roff(o->fallback);
        fputs("]\n", stdout);
    }
}

/* Options that make sense only on a command line are no keys. */
static bool is_key(const struct tfd_option *o)
{
    static const char *const none[] = {"config", "help", "version",
                                       "print_config", "check_config"};

    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (strcmp(o->name, none[i]) == 0)
            return false;
    return true;
}

static void put_conf(void)
{
    printf(".\\\" Made from the table of options; see packaging/manual.c.\n"
           ".TH TFD.CONF 5 2026-11-27 \"tfd %s\" \"File formats\"\n",
           TFD_VERSION);
    fputs(conf_head, stdout);
    for (size_t i = 0; i < tfd_option_count; i++)
        if (is_key(&tfd_options[i]))
            put_key(&tfd_options[i]);
    fputs(conf_tail, stdout);
}

/* ---- Completion ---------------------------------------------------------- */

/* What bash can offer for the value of an option. */
static void put_values(const struct tfd_option *o)
{
    if (!o->value)
        return;
    printf("    --%s) ", o->name);
    if (o->words) {
        fputs("words=\"", stdout);
        for (size_t i = 0; o->words[i]; i++)
            printf("%s%s", i ? " " : "", o->words[i]);
        fputs("\"", stdout);
    } else if (strcmp(o->value, "DIR") == 0) {
        fputs("action=-d", stdout);
    } else if (strcmp(o->value, "FILE") == 0 || strstr(o->value, ".meta")) {
        fputs("action=-f", stdout);
    } else {
        fputs(":", stdout);
    }
    fputs(" ;;\n", stdout);
}

static void put_bash(void)
{
    fputs("# bash completion of tfd(8), made from the table of options.\n"
          "_tfd() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} option= words= action=\n"
          "    local options=\"",
          stdout);
    for (size_t i = 0; i < tfd_option_count; i++)
        printf("%s--%s%s", i ? " " : "", tfd_options[i].name,
               tfd_options[i].value ? "=" : "");
    /* Readline takes = for a word of its own. */
    fputs("\"\n"
          "    COMPREPLY=()\n"
          "    if [[ $current == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-1]} current=\n"
          "    elif ((COMP_CWORD > 1)) &&\n"
          "        [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    elif [[ $current == --*=* ]]; then\n"
          "        option=${current%%=*} current=${current#*=}\n"
          "    elif ((COMP_CWORD > 0)) &&\n"
          "        [[ \" $options \" == *\" ${COMP_WORDS[COMP_CWORD-1]}= \"* "
          "]];\n"
          "    then\n"
          "        option=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    fi\n"
          "    case $option in\n",
          stdout);
    for (size_t i = 0; i < tfd_option_count; i++)
        put_values(&tfd_options[i]);
    fputs("    *) words=$options ;;\n"
          "    esac\n"
          "    mapfile -t COMPREPLY < <(\n"
          "        compgen $action ${words:+-W \"$words\"} -- \"$current\")\n"
          "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n"
          "}\n"
          "complete -F _tfd tfd\n",
          stdout);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "man") == 0)
        put_man();
    else if (argc == 2 && strcmp(argv[1], "conf") == 0)
        put_conf();
    else if (argc == 2 && strcmp(argv[1], "bash") == 0)
        put_bash();
    else
        return fprintf(stderr, "usage: manual man|conf|bash\n"), 64;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
