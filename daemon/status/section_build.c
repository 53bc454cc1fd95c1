/*
 * section_build.c - what this server was built of, and how it was told to run.
 */
#include "daemon/status/document.h"

#include "config/version.h"

#include <unistd.h>

#ifdef __clang__
#define COMPILER "clang " __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

void tfd_section_build(const struct tfd_document *d, struct tfd_json_out *j,
                       const char *key)
{
    tfd_json_out_open(j, key, '{');
    tfd_json_out_text(j, "version", tfd_str_of(TFD_VERSION));
    tfd_json_out_text(j, "compiler", tfd_str_of(COMPILER));
    tfd_json_out_number(j, "pid", getpid());
    tfd_json_out_number(j, "gpus", d->view->gpu_count);
    tfd_json_out_close(j, '}');
}

static void put_seconds(struct tfd_json_out *j, const char *key, int64_t ms)
{
    tfd_json_out_real(j, key, (double)ms / 1000, 3);
}

static void put_words(struct tfd_json_out *j, const char *key, const char *text)
{
    if (text)
        tfd_json_out_text(j, key, tfd_str_of(text));
    else
        tfd_json_out_null(j, key);
}

static void put_devices(struct tfd_json_out *j, const struct tfd_config *c)
{
    tfd_json_out_open(j, "device_count", '{');
    for (size_t i = 0; i < c->device_type_count; i++)
        tfd_json_out_number(j, c->devices[i].type, c->devices[i].count);
    tfd_json_out_close(j, '}');
}

void tfd_section_configuration(const struct tfd_document *d,
                               struct tfd_json_out *j, const char *key)
{
    const struct tfd_config *c = d->view->config;

    tfd_json_out_open(j, key, '{');
    tfd_json_out_number(j, "threads", c->threads);
    tfd_json_out_number(j, "spin_us", c->spin_us);
    tfd_json_out_number(j, "memory_limit_bytes", c->memory_limit);
    put_devices(j, c);
    put_seconds(j, "peer_wait_seconds", c->peer_wait_ms);
    put_seconds(j, "heartbeat_seconds", c->heartbeat_ms);
    put_seconds(j, "peer_timeout_seconds", c->peer_timeout_ms);
    put_seconds(j, "session_idle_seconds", c->session_idle_ms);
    put_seconds(j, "drain_timeout_seconds", c->drain_timeout_ms);
    put_seconds(j, "slow_step_seconds", c->slow_step_ms);
    tfd_json_out_bool(j, "fuse_elementwise", c->fuse_elementwise);
    put_words(j, "log_level", c->log_level);
    put_words(j, "log_format", c->log_format);
    tfd_json_out_open(j, "file_roots", '[');
    for (size_t i = 0; i < c->file_root_count; i++)
        put_words(j, NULL, c->file_roots[i]);
    tfd_json_out_close(j, ']');
    put_words(j, "train", c->train);
    put_words(j, "checkpoint_dir", c->checkpoint_dir);
    tfd_json_out_close(j, '}');
}
