/*
 * section_host.c - memory by kind against its limits, checkpoints, the last 15
 * minutes, and the last warnings of the log.
 */
#include "daemon/status/document.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/log_line.h"
#include "cuda/device/cuda_device.h"
#include "kernels/checkpoint/save_counts.h"

/* ---- Memory -------------------------------------------------------------- */

static void put_gpu(struct tfd_json_out *j, int i, struct tfd_cuda_device *d)
{
    struct tfd_cuda_memory_pool_stats m;

    tfd_cuda_memory_pool_stats(&d->pool, &m);
    tfd_json_out_open(j, NULL, '{');
    tfd_json_out_number(j, "gpu", i);
    tfd_json_out_number(j, "bytes", (int64_t)m.in_use);
    tfd_json_out_number(j, "peak_bytes", (int64_t)m.peak);
    tfd_json_out_number(j, "reserved_bytes", (int64_t)m.reserved);
    tfd_json_out_number(j, "limit_bytes", (int64_t)m.limit);
    tfd_json_out_close(j, '}');
}

void tfd_section_memory(const struct tfd_document *d, struct tfd_json_out *j,
                        const char *key)
{
    const struct tfd_view *v = d->view;
    const struct tfd_admission *a = tfd_service_admission(v->service);
    struct tfd_alloc_stats s;

    tfd_alloc_stats(&s);
    tfd_json_out_open(j, key, '{');
    tfd_json_out_number(j, "tensor_bytes", (int64_t)s.in_use);
    tfd_json_out_number(j, "tensor_peak_bytes", (int64_t)s.peak);
    tfd_json_out_number(j, "cached_bytes", (int64_t)s.cached);
    tfd_json_out_number(j, "limit_bytes", v->config->memory_limit);
    tfd_json_out_number(j, "requests_waiting", a->waiting);
    tfd_json_out_number(j, "requests_waiting_bytes", (int64_t)a->waiting_size);
    tfd_json_out_open(j, "gpus", '[');
    for (int i = 0; i < v->gpu_count; i++)
        put_gpu(j, i, &v->gpus[i]);
    tfd_json_out_close(j, ']');
    tfd_json_out_close(j, '}');
}

/* ---- Checkpoints --------------------------------------------------------- */

/* Of the ops that save, whoever runs them. */
void tfd_section_checkpoints(const struct tfd_document *d,
                             struct tfd_json_out *j, const char *key)
{
    struct tfd_save_counts n;

    (void)d;
    tfd_save_counts(&n);
    tfd_json_out_open(j, key, '{');
    tfd_json_out_number(j, "saves", (int64_t)n.saves);
    tfd_json_out_number(j, "failures", (int64_t)n.failures);
    tfd_json_out_number(j, "bytes", (int64_t)n.bytes);
    if (n.wall_us > 0) {
        tfd_json_out_real(j, "last_time", (double)n.wall_us / 1e6, 3);
        tfd_json_out_real(j, "last_seconds", (double)n.took_us / 1e6, 3);
    } else {
        tfd_json_out_null(j, "last_time");
        tfd_json_out_null(j, "last_seconds");
    }
    tfd_json_out_close(j, '}');
}

/* ---- The last 15 minutes ------------------------------------------------- */

/* Rows of [seconds ago, steps done, their microseconds, steps of all masters
 * done here, bytes of tensors]. */
void tfd_section_history(const struct tfd_document *d, struct tfd_json_out *j,
                         const char *key)
{
    uint64_t now = tfd_loop_now_us(d->view->loop);

    tfd_json_out_open(j, key, '[');
    for (int i = 0; i < tfd_history_count(d->history); i++) {
        const struct tfd_history_sample *s = tfd_history_at(d->history, i);

        tfd_json_out_open(j, NULL, '[');
        tfd_json_out_real(j, NULL, (double)(now - s->at_us) / 1e6, 1);
        tfd_json_out_number(j, NULL, (int64_t)s->steps_done);
        tfd_json_out_number(j, NULL, (int64_t)s->steps_us);
        tfd_json_out_number(j, NULL, (int64_t)s->worker_steps_done);
        tfd_json_out_number(j, NULL, (int64_t)s->memory_bytes);
        tfd_json_out_close(j, ']');
    }
    tfd_json_out_close(j, ']');
}

/* ---- The log ------------------------------------------------------------- */

void tfd_section_warnings(const struct tfd_document *d, struct tfd_json_out *j,
                          const char *key)
{
    struct tfd_log_kept kept[TFD_LOG_KEPT_MAX];
    uint64_t ever;
    int count = tfd_log_ring_read(kept, &ever);

    (void)d;
    tfd_json_out_open(j, key, '{');
    tfd_json_out_open(j, "list", '[');
    for (int i = 0; i < count; i++) {
        bool error = kept[i].level <= TFD_LOG_ERROR;

        tfd_json_out_open(j, NULL, '{');
        tfd_json_out_real(j, "time", (double)kept[i].wall_us / 1e6, 3);
        tfd_json_out_text(j, "level", tfd_str_of(error ? "error" : "warn"));
        tfd_json_out_text(j, "text", tfd_str_of(kept[i].text));
        tfd_json_out_close(j, '}');
    }
    tfd_json_out_close(j, ']');
    tfd_json_out_number(j, "count", (int64_t)ever);
    tfd_json_out_number(j, "more", (int64_t)ever - count);
    tfd_json_out_close(j, '}');
}
