/*
 * options.c - the rows, and the readers they share; see options.h.
 */
#include "config/options.h"

#include "config/device_name.h"
#include "config/machine.h"
#include "config/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void *field(const struct tfd_option *o, struct tfd_config *c)
{
    return (char *)c + o->offset;
}

static char *duplicate_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- Readers ------------------------------------------------------------- */

static enum tfd_code read_text(const struct tfd_option *o, const char *text,
                               struct tfd_config *c, struct tfd_status *st)
{
    char **at = field(o, c);

    if (!*text)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "empty; give a %s or drop the option", o->value);
    free(*at);
    *at = duplicate_text(text);
    if (!*at)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    return TFD_OK;
}

/* TensorFlow's programs write file:///dir as well as /dir. */
static enum tfd_code read_folder(const struct tfd_option *o, const char *text,
                                 struct tfd_config *c, struct tfd_status *st)
{
    static const char scheme[] = "file://";
    const char *path = text + sizeof(scheme) - 1;

    if (strncmp(text, scheme, sizeof(scheme) - 1) != 0)
        return read_text(o, text, c, st);
    path = strchr(path, '/'); /* behind the host, which is not looked at */
    return read_text(o, path ? path : "", c, st);
}

static enum tfd_code read_choice(const struct tfd_option *o, const char *text,
                                 struct tfd_config *c, struct tfd_status *st)
{
    char words[200] = "";

    for (size_t i = 0; o->words[i]; i++) {
        if (strcmp(text, o->words[i]) == 0)
            return read_text(o, text, c, st);
        tfd_report_path(words, sizeof(words), "%s%s", i ? ", " : "",
                        o->words[i]);
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "not known; give %s%s",
                    o->words[1] ? "one of " : "", words);
}

static enum tfd_code read_int32(const struct tfd_option *o, const char *text,
                                struct tfd_config *c, struct tfd_status *st)
{
    int32_t *at = field(o, c);
    int64_t value;

    TFD_TRY(tfd_value_number(text, o->min, o->max, &value, st));
    *at = (int32_t)value;
    return TFD_OK;
}

static enum tfd_code read_int64(const struct tfd_option *o, const char *text,
                                struct tfd_config *c, struct tfd_status *st)
{
    return tfd_value_number(text, o->min, o->max, field(o, c), st);
}

static enum tfd_code read_duration(const struct tfd_option *o, const char *text,
                                   struct tfd_config *c, struct tfd_status *st)
{
    return tfd_value_duration(text, field(o, c), st);
}

static enum tfd_code read_bool(const struct tfd_option *o, const char *text,
                               struct tfd_config *c, struct tfd_status *st)
{
    return tfd_value_bool(text, field(o, c), st);
}

static enum tfd_code read_threads(const struct tfd_option *o, const char *text,
                                  struct tfd_config *c, struct tfd_status *st)
{
    if (strcmp(text, "auto") != 0)
        return read_int32(o, text, c, st);
    c->threads = tfd_machine_cores();
    return TFD_OK;
}

static enum tfd_code read_memory(const struct tfd_option *o, const char *text,
                                 struct tfd_config *c, struct tfd_status *st)
{
    (void)o;
    if (strcmp(text, "none") == 0) {
        c->memory_limit = 0;
        return TFD_OK;
    }
    if (strcmp(text, "auto") == 0) {
        /* A refusal must come before the kernel's killer does. */
        c->memory_limit = tfd_machine_memory() / 10 * 9;
        return TFD_OK;
    }
    return tfd_value_size(text, &c->memory_limit, st);
}

static enum tfd_code read_root(const struct tfd_option *o, const char *text,
                               struct tfd_config *c, struct tfd_status *st)
{
    struct tfd_option one = *o;

    one.offset = offsetof(struct tfd_config, file_roots) +
                 c->file_root_count * sizeof(c->file_roots[0]);
    TFD_TRY(read_text(&one, text, c, st));
    c->file_root_count++;
    return TFD_OK;
}

static enum tfd_code read_allow(const struct tfd_option *o, const char *text,
                                struct tfd_config *c, struct tfd_status *st)
{
    (void)o;
    return tfd_allow_parse(text, &c->allow, st);
}

static enum tfd_code read_exit_when(const struct tfd_option *o,
                                    const char *text, struct tfd_config *c,
                                    struct tfd_status *st)
{
    static const struct {
        const char *word;
        enum tfd_exit_when when;
    } words[] = {
        {"never", TFD_EXIT_NEVER},
        {"workers-exit", TFD_EXIT_WORKERS},
        {"chief-exit", TFD_EXIT_CHIEF},
    };

    (void)o;
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcmp(text, words[i].word) == 0) {
            c->exit_when = words[i].when;
            return TFD_OK;
        }
    }
    if (strncmp(text, "idle:", 5) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not known; give workers-exit, chief-exit, "
                        "idle:DURATION or never");
    c->exit_when = TFD_EXIT_IDLE;
    return tfd_value_duration(text + 5, &c->exit_idle_ms, st);
}

static enum tfd_code read_size(const struct tfd_option *o, const char *text,
                               struct tfd_config *c, struct tfd_status *st)
{
    return tfd_value_size(text, field(o, c), st);
}

static enum tfd_code read_fraction(const struct tfd_option *o, const char *text,
                                   struct tfd_config *c, struct tfd_status *st)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= 0 && value <= 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not a part of a whole; give a number from 0 to 1");
    *(double *)field(o, c) = value;
    return TFD_OK;
}

/* "CPU:2" of "CPU:2,GPU:1". */
static enum tfd_code read_one_device(const char *text, size_t size,
                                     struct tfd_config *c,
                                     struct tfd_status *st)
{
    struct tfd_device_count *d = &c->devices[c->device_type_count];
    char number[16];
    size_t colon = 0;
    int64_t count;

    while (colon < size && text[colon] != ':')
        colon++;
    if (!tfd_device_name_type_ok((struct tfd_str){text, colon}) ||
        (strncmp(text, "CPU:", 4) != 0 && strncmp(text, "GPU:", 4) != 0) ||
        size - colon - 1 >= sizeof(number))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not TYPE:COUNT; write CPU:2 or CPU:1,GPU:2");
    memset(number, 0, sizeof(number));
    memcpy(number, text + colon + 1, size - colon - 1);
    TFD_TRY(tfd_value_number(number, strncmp(text, "CPU", 3) == 0 ? 1 : 0,
                             TFD_DEVICES_PER_TYPE_MAX, &count, st));
    for (size_t i = 0; i < c->device_type_count; i++)
        if (strlen(c->devices[i].type) == colon &&
            memcmp(c->devices[i].type, text, colon) == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s is there twice; give it once",
                            c->devices[i].type);
    memset(d->type, 0, sizeof(d->type));
    memcpy(d->type, text, colon);
    d->count = (int32_t)count;
    c->device_type_count++;
    return TFD_OK;
}

static enum tfd_code read_devices(const struct tfd_option *o, const char *text,
                                  struct tfd_config *c, struct tfd_status *st)
{
    (void)o;
    c->device_type_count = 0;
    do {
        size_t size = strcspn(text, ",");

        if (c->device_type_count == TFD_DEVICE_TYPES_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "more than %d types; give fewer",
                            TFD_DEVICE_TYPES_MAX);
        TFD_TRY(read_one_device(text, size, c, st));
        text += size + (text[size] == ',');
    } while (*text);
    return TFD_OK;
}

/* ---- For the tables of tools --------------------------------------------- */

enum tfd_code tfd_option_read_text(const struct tfd_option *o, const char *text,
                                   struct tfd_config *c, struct tfd_status *st)
{
    return read_text(o, text, c, st);
}

enum tfd_code tfd_option_read_bool(const struct tfd_option *o, const char *text,
                                   struct tfd_config *c, struct tfd_status *st)
{
    return read_bool(o, text, c, st);
}

enum tfd_code tfd_option_read_duration(const struct tfd_option *o,
                                       const char *text, struct tfd_config *c,
                                       struct tfd_status *st)
{
    return read_duration(o, text, c, st);
}

enum tfd_code tfd_option_read_int32(const struct tfd_option *o,
                                    const char *text, struct tfd_config *c,
                                    struct tfd_status *st)
{
    return read_int32(o, text, c, st);
}

enum tfd_code tfd_option_read_int64(const struct tfd_option *o,
                                    const char *text, struct tfd_config *c,
                                    struct tfd_status *st)
{
    return read_int64(o, text, c, st);
}

/* ---- Rows ---------------------------------------------------------------- */

static const char *const protocols[] = {"grpc", NULL};
static const char *const clusters_from[] = {"config", "slurm", "auto", NULL};
static const char *const gpu_graphs[] = {"auto", "on", "off", NULL};
static const char *const log_levels[] = {"error", "warn", "info", "debug",
                                         NULL};
static const char *const restores[] = {"newest", "last-good", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

#define AT(member) .offset = offsetof(struct tfd_config, member)

#define TASK "Task and cluster (or TF_CONFIG in the environment)"
#define NETWORK "Network"
#define MACHINE "Devices and memory"
#define FILES "Files"
#define LIFE "Sessions, start and end"
#define TRAINING "Training (chief and workers)"
#define ABOUT "About"

/* clang-format off */
const struct tfd_option tfd_options[] = {
    {TASK, "job_name", "JOB", NULL,
     "the job of this task: ps, worker, chief, evaluator, ...", .read = NULL},
    {TASK, "task_index", "N", NULL,
     "its number within the job; needed where the job has several",
     .read = NULL},
    {TASK, "ps_hosts", "HOST:PORT,...", NULL,
     "where the parameter servers listen", .read = NULL},
    {TASK, "worker_hosts", "HOST:PORT,...", NULL,
     "where the workers listen", .read = NULL},
    {TASK, "chief_hosts", "HOST:PORT", NULL,
     "where the chief listens; without one, worker 0 is the chief",
     .read = NULL},
    {TASK, "evaluator_hosts", "HOST:PORT", NULL,
     "where the evaluator listens; nobody waits for it", .read = NULL},
    {TASK, "cluster_spec", "JSON", NULL,
     "the cluster in one, as in TF_CONFIG: {\"ps\": [\"host:port\"], ...}",
     .read = NULL},
    {TASK, "cluster_from", "SOURCE", "config",
     "config: the options above, TF_CONFIG or the file; slurm: the step that "
     "srun started this task in; auto: config where it names a cluster, else "
     "slurm where this is a task of a step",
     read_choice, AT(cluster_from), .words = clusters_from},
    {TASK, "jobs", "JOB:N,...", NULL,
     "the jobs of a Slurm step and how many tasks each has, as in "
     "ps:1,chief:1,worker:2; default: all tasks are workers",
     .read = NULL},
    {TASK, "port_base", "PORT", "8888",
     "where the first task of a host of a Slurm step listens; the second one "
     "takes the port above, and so on",
     read_int32, AT(port_base), .min = 1, .max = 65535},
    {TASK, "config", "FILE", NULL,
     "a JSON object with the names of these options as keys",
     read_text, AT(config)},

    {NETWORK, "port", "PORT", NULL,
     "where to listen; 0: any free port; default: the port that the cluster "
     "names for this task, else 2222",
     read_int32, AT(port), .min = 0, .max = 65535},
    {NETWORK, "bind", "ADDR", NULL,
     "the address to listen on, \"localhost\", or \"any\"; default: the "
     "address that the cluster names for this task, if this host has it; "
     "without cluster localhost",
     read_text, AT(bind)},
    {NETWORK, "protocol", "NAME", "grpc",
     "grpc: clients and TensorFlow's servers; other tfds are called in their "
     "own protocol on the same port",
     read_choice, AT(protocol), .words = protocols},
    {NETWORK, "port_file", "FILE", NULL,
     "the port is written here once it is open",
     read_text, AT(port_file)},
    {NETWORK, "allow_uid", "USER,...", NULL,
     "users of this host who may connect beside its own and root, by number or "
     "name; any: all of them",
     read_allow, AT(allow)},
    {NETWORK, "connections_per_peer", "N", "256",
     "connections that one address, or one user of this host, may hold open; "
     "beyond them an idle one makes room, or the new one is closed",
     read_int32, AT(connections_per_peer), .min = 1,
     .max = TFD_CONNECTIONS_MAX},
    {NETWORK, "peer_wait", "DURATION", "60s",
     "how long a new session waits for tasks that do not answer, and a start "
     "for its own name to resolve; then the session fails, and the start, or "
     "a training, ends with exit code 138; 0: for ever, as TensorFlow does",
     read_duration, AT(peer_wait_ms)},

    {NETWORK, "heartbeat_interval", "DURATION", "2s",
     "a peer that has said nothing for so long is asked for a sign of life; "
     "0: never",
     read_duration, AT(heartbeat_ms)},
    {NETWORK, "peer_timeout", "DURATION", "8s",
     "a peer without a sign of life for so long is taken for dead: steps that "
     "need it fail with UNAVAILABLE; 0: it is waited for",
     read_duration, AT(peer_timeout_ms)},

    {MACHINE, "device_count", "TYPE:N,...", "CPU:1",
     "devices of this task; CPU:2 gives CPU:0 and CPU:1; GPU:1 takes one of "
     "the GPUs, GPU:0 none; default: all of them, and none on a ps",
     read_devices, AT(devices)},
    {MACHINE, "gpu_memory_limit", "SIZE", NULL,
     "memory to take of each GPU, such as 8G; default: nearly all that is free",
     read_size, AT(gpu_memory_limit)},
    {MACHINE, "gpu_memory_fraction", "PART", NULL,
     "the same as a part of all memory of the GPU, such as 0.4",
     read_fraction, AT(gpu_memory_fraction)},
    {MACHINE, "gpu_allow_growth", NULL, "false",
     "take memory as it is needed, not all of it at the first use",
     read_bool, AT(gpu_allow_growth)},
    {MACHINE, "gpu_visible", "N,...", NULL,
     "the GPUs to take, of those that CUDA_VISIBLE_DEVICES leaves: the first "
     "becomes GPU:0",
     read_text, AT(gpu_visible)},
    {MACHINE, "gpu_virtual", "MIB,...;...", NULL,
     "several devices within one GPU, by their memory in MiB; GPUs are "
     "divided by ';'",
     read_text, AT(gpu_virtual)},
    {MACHINE, "gpu_graphs", "auto|on|off", "auto",
     "kernels of a GPU that every step enqueues alike run as one CUDA graph; "
     "auto: where a trial shows that it is faster; on: always",
     read_choice, AT(gpu_graphs), .words = gpu_graphs},
    {MACHINE, "threads", "N", "auto",
     "compute threads; auto: the cores that the control group grants",
     read_threads, AT(threads), .min = 1, .max = TFD_THREADS_MAX},
    {MACHINE, "spin_us", "N", "50",
     "how many microseconds a thread looks for work before it sleeps, while "
     "work keeps coming; 0 saves processor time and makes small steps slower",
     read_int32, AT(spin_us), .min = 0, .max = TFD_SPIN_US_MAX},
    {MACHINE, "fuse_elementwise", NULL, "true",
     "three and more elementwise ops whose results nobody else reads run as "
     "one pass over memory; values are the same",
     read_bool, AT(fuse_elementwise)},
    {MACHINE, "memory_limit", "SIZE", "auto",
     "refuse tensors beyond it, such as 8G, and leave requests unread that "
     "do not fit; auto: nine tenths of what the control group grants; none: "
     "no limit",
     read_memory, AT(memory_limit)},

    {FILES, "file_root", "DIR", NULL,
     "graphs may read and write files below it; may be given several times; "
     "default: / where only the own user and root can connect, else none",
     read_root, AT(file_roots), .repeated = true},

    {LIFE, "session_idle", "DURATION", "24h",
     "close a session whose client has left, and forget one whose master has, "
     "when no call has named it for so long; 0: never, as TensorFlow",
     read_duration, AT(session_idle_ms)},
    {LIFE, "drain_timeout", "DURATION", "25s",
     "how long running steps may go on after SIGTERM",
     read_duration, AT(drain_timeout_ms)},
    {LIFE, "stopped_code", "CODE", "0",
     "exit code after SIGTERM or SIGINT; 143, as TensorFlow's server has it, "
     "tells a cluster manager to start the task again",
     read_int32, AT(stopped_code), .max = 255},
    {LIFE, "exit_when", "EVENT", "never",
     "end when the training is over: workers-exit, chief-exit, "
     "idle:DURATION or never",
     read_exit_when, AT(exit_when)},
    {LIFE, "log_level", "LEVEL", "info", "error, warn, info or debug",
     read_choice, AT(log_level), .words = log_levels},
    {LIFE, "log_format", "FORMAT", "text",
     "text: key=value; json: one object a line with time, level, event and "
     "the event's own fields",
     read_choice, AT(log_format), .words = log_formats},
    {LIFE, "slow_step", "DURATION", "60s",
     "a step that took longer is logged when it ends; 0: none",
     read_duration, AT(slow_step_ms)},
    {LIFE, "slow_factor", "N", "10",
     "so is one that took N times the median of its plan's last steps, and "
     "10 ms; 0: none",
     read_int32, AT(slow_factor), .min = 0, .max = TFD_SLOW_FACTOR_MAX},
    {LIFE, "stuck_after", "DURATION", "10s",
     "a step that makes no progress here for so long is logged, with what it "
     "waits for; 0: none",
     read_duration, AT(stuck_after_ms)},
    {LIFE, "flight_recorder", "FILE", NULL,
     "the last 1,000 steps are written there as JSON when one times out, at "
     "SIGUSR1 and when the process crashes",
     read_text, AT(flight_recorder)},

    {TRAINING, "train", "MODEL.meta", NULL,
     "train this MetaGraphDef and end when it is done",
     read_text, AT(train)},
    {TRAINING, "checkpoint_dir", "DIR", NULL,
     "restore from it, save to it",
     read_folder, AT(checkpoint_dir), .of_training = true},
    {TRAINING, "restore", "WHICH", "newest",
     "newest: end with an error when the latest checkpoint is damaged; "
     "last-good: go on from the last one that is whole",
     read_choice, AT(restore), .words = restores, .of_training = true},
    {TRAINING, "max_steps", "N", "0",
     "the last global step; 0: no last step",
     read_int64, AT(max_steps), .max = INT64_MAX, .of_training = true},
    {TRAINING, "save_steps", "N", "0",
     "save every N steps; 0: by time only",
     read_int64, AT(save_steps), .max = INT64_MAX, .of_training = true},
    {TRAINING, "save_secs", "DURATION", "10m",
     "save this often; 0: by steps only",
     read_duration, AT(save_secs_ms), .of_training = true},

    {ABOUT, "print_config", NULL, "false",
     "show every value and where it came from, then end",
     read_bool, AT(print_config)},
    {ABOUT, "check_config", NULL, "false",
     "check the configuration, and what it names of this host, then end: 0 "
     "good, 78 not",
     read_bool, AT(check_config)},
    {ABOUT, "missing_ops", "GRAPH", NULL,
     "name what a GraphDef, MetaGraphDef or SavedModel (binary or text) wants "
     "and tfd lacks, then end: 0 nothing, 1 something, 2 no such file",
     read_text, AT(missing_ops)},
    {ABOUT, "help", NULL, "false", "this text", read_bool, AT(help)},
    {ABOUT, "version", NULL, "false", "version and build",
     read_bool, AT(version)},
};
/* clang-format on */

const size_t tfd_option_count = COUNT(tfd_options);
_Static_assert(COUNT(tfd_options) <= TFD_OPTIONS_MAX, "raise TFD_OPTIONS_MAX");

const struct tfd_option_table tfd_option_daemon = {"tfd", tfd_options,
                                                   COUNT(tfd_options)};

int tfd_option_find(const struct tfd_option_table *t, const char *name,
                    size_t size)
{
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->rows[i].name) == size &&
            memcmp(t->rows[i].name, name, size) == 0)
            return (int)i;
    return -1;
}

int tfd_option_nearest(const struct tfd_option_table *t, const char *name)
{
    size_t least = SIZE_MAX;
    int found = -1;

    for (size_t i = 0; i < t->count; i++) {
        const char *known = t->rows[i].name;
        size_t distance = tfd_value_distance(name, known);

        /* A beginning is as good as two slips of the pen. */
        if (strlen(name) >= 3 && strncmp(known, name, strlen(name)) == 0)
            distance = distance < 2 ? distance : 2;
        if (distance < least) {
            least = distance;
            found = (int)i;
        }
    }
    return least <= 3 && least < strlen(name) ? found : -1;
}
