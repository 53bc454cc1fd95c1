/*
 * document.c - see document.h.
 */
#include "daemon/status/document.h"

#include "common/base/clock.h"
#include "rpc/core/peers.h"

static const struct {
    const char *name;
    tfd_document_section_fn *put;
} sections[] = {
    {"build", tfd_section_build},
    {"configuration", tfd_section_configuration},
    {"cluster", tfd_section_cluster},
    {"sessions", tfd_section_sessions},
    {"contexts", tfd_section_contexts},
    {"steps", tfd_section_steps},
    {"plans", tfd_section_plans},
    {"parts", tfd_section_parts},
    {"worker", tfd_section_worker},
    {"resources", tfd_section_resources},
    {"memory", tfd_section_memory},
    {"checkpoints", tfd_section_checkpoints},
    {"history", tfd_section_history},
    {"warnings", tfd_section_warnings},
};

void tfd_document_write(const struct tfd_document *d, struct tfd_bytes *out)
{
    const struct tfd_view *v = d->view;
    struct tfd_json_out j = {.out = out};
    bool draining = tfd_service_draining(v->service);

    tfd_json_out_open(&j, NULL, '{');
    tfd_json_out_number(&j, "version", TFD_DOCUMENT_VERSION);
    tfd_json_out_text(&j, "job", tfd_str_of(v->config->cluster.job_name));
    tfd_json_out_number(&j, "task", v->config->cluster.task_index);
    tfd_json_out_text(&j, "state", tfd_str_of(draining ? "draining" : "up"));
    tfd_json_out_real(&j, "time", (double)tfd_clock_wall_us() / 1e6, 3);
    tfd_json_out_real(&j, "up_seconds",
                      (double)(tfd_loop_now_us(v->loop) - v->start_us) / 1e6,
                      3);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        sections[i].put(d, &j, sections[i].name);
    tfd_json_out_close(&j, '}');
    tfd_bytes_add(out, "\n", 1);
}
