/*
 * session_log.c - see session_log.h.
 */
#include "daemon/master/session/session_log.h"

#include "common/base/log.h"

#include <string.h>

/* What takes less is slow by the system alone, and nobody waits for it. */
#define SLOW_US 10000u

static enum tfd_log_level news(const struct tfd_session *s)
{
    return s->master->o.quiet ? TFD_LOG_DEBUG : TFD_LOG_INFO;
}

static const char *client_of(const struct tfd_session *s)
{
    return *s->client ? s->client : "this process";
}

/* ---- Sessions ------------------------------------------------------------ */

void tfd_session_log_open(struct tfd_session *s)
{
    s->opened_us = tfd_loop_now_us(s->master->o.loop);
    tfd_log(news(s), "session_open",
            "session=%s client=\"%s\" tasks=%d devices=%d", s->handle,
            client_of(s), s->worker_count, s->devices.count);
}

/* Clients may try again without a word. */
void tfd_session_log_not_opened(const struct tfd_session *s,
                                const struct tfd_status *why)
{
    tfd_log(news(s), "session_not_opened", "client=\"%s\" code=%s why=\"%s\"",
            client_of(s), tfd_code_name(why->code), why->text);
}

void tfd_session_log_closed(const struct tfd_session *s)
{
    uint64_t now = tfd_loop_now_us(s->master->o.loop);

    if (s->opened_us == 0)
        return; /* it had not been open */
    tfd_log(news(s), "session_closed",
            "session=%s client=\"%s\" seconds=%llu steps=%llu failed=%llu "
            "why=\"%s\"",
            s->handle, client_of(s),
            (unsigned long long)((now - s->opened_us) / 1000000),
            (unsigned long long)s->steps_done,
            (unsigned long long)s->steps_failed,
            s->closed_by ? s->closed_by : "by its client");
}

/* ---- Steps --------------------------------------------------------------- */

/* The node that the error names first, as in "[[{{node a/b}}]]"; "?" where the
 * step failed by no op. */
static struct tfd_str op_of(const char *error)
{
    static const char mark[] = "{{node ";
    const char *at = strstr(error, mark);

    if (!at)
        return tfd_str_of("?");
    at += sizeof(mark) - 1;
    return (struct tfd_str){at, strcspn(at, "}")};
}

static void log_failed(struct tfd_session *s, int64_t step, uint64_t now,
                       const struct tfd_status *st)
{
    struct tfd_str op = op_of(st->text);
    unsigned suppressed;

    if (tfd_log_rate_allows(&s->master->failed_rate, now, &suppressed))
        tfd_log(news(s), "step_failed",
                "session=%s step=\"%lld\" op=" TFD_STR_FMT
                " code=%s error=\"%s\" suppressed=%u",
                s->handle, (long long)step, TFD_STR_ARG(op),
                tfd_code_name(st->code), st->text, suppressed);
}

/* The median of its plan, where that says that it is slow. */
static uint64_t slow_by_us(const struct tfd_plan *p, uint64_t took_us)
{
    uint64_t factor = p->session->master->o.slow_factor;
    uint64_t median_us = tfd_recent_median_us(&p->recent);

    if (factor == 0 || median_us == 0 || took_us < SLOW_US ||
        took_us / factor < median_us || p->partial)
        return 0;
    return median_us;
}

static void log_slow(const struct tfd_plan *p, int64_t step, uint64_t now,
                     uint64_t took_us)
{
    struct tfd_session *s = p->session;
    uint64_t limit_us = s->master->o.slow_step_us;
    uint64_t median_us = slow_by_us(p, took_us);
    unsigned suppressed;

    if ((median_us > 0 || (limit_us > 0 && took_us > limit_us)) &&
        tfd_log_rate_allows(&s->master->slow_rate, now, &suppressed))
        tfd_log(news(s), "step_slow",
                "session=%s step=\"%lld\" plan=%u name=\"%s\" ms=%llu "
                "threshold_ms=%llu median_ms=%.3f suppressed=%u",
                s->handle, (long long)step, (unsigned)p->number, p->name,
                (unsigned long long)(took_us / 1000),
                (unsigned long long)(limit_us / 1000),
                (double)tfd_recent_median_us(&p->recent) / 1000, suppressed);
}

void tfd_session_log_unbegun(struct tfd_session *s, const struct tfd_status *st)
{
    if (st->code == TFD_OK)
        return;
    s->steps_failed++;
    log_failed(s, 0, tfd_loop_now_us(s->master->o.loop), st);
}

void tfd_session_log_step(const struct tfd_plan *p, int64_t step, uint64_t now,
                          uint64_t took_us, const struct tfd_status *st)
{
    struct tfd_session *s = p->session;

    if (tfd_log_enabled(TFD_LOG_DEBUG))
        tfd_log(TFD_LOG_DEBUG, "step",
                "session=%s step=\"%lld\" plan=%u ms=%.3f code=%s", s->handle,
                (long long)step, (unsigned)p->number, (double)took_us / 1000,
                tfd_code_name(st->code));
    log_slow(p, step, now, took_us);
    if (st->code == TFD_OK)
        return;
    s->steps_failed++;
    log_failed(s, step, now, st);
}
