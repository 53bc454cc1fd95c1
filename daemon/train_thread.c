/*
 * train_thread.c - see train_thread.h.
 */
#define _GNU_SOURCE 1 /* fileno() */

#include "daemon/train_thread.h"

#include "client/train/train.h"
#include "common/base/clock.h"
#include "common/thread/lock.h"
#include "common/base/log.h"
#include "daemon/server_impl.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_US INT64_C(1000000)   /* between lines in a log */
#define REWRITE_US INT64_C(200000) /* between changes on a terminal */
#define WINDOW_US INT64_C(3000000) /* over which the rate is taken */

/* How fast it goes: two marks, of which the older is at least a window old
 * once there has been one. */
struct progress {
    FILE *to;
    bool terminal;
    bool line_open; /* a rewritten line is on the screen */
    char name[TFD_JOB_NAME_SIZE_MAX + 16];
    int64_t max_steps;
    int64_t shown_us; /* 0: never */
    int64_t from_us, from_step, next_us, next_step;
};

struct tfd_train_thread {
    const struct tfd_config *config;
    struct tfd_server *server;
    struct tfd_server_hold hold;
    struct progress progress;
    pthread_t thread;
    struct tfd_lock lock;
    TFD_Trainer *trainer; /* under lock; NULL before and after */
    bool stop;            /* under lock */
    int exit_code;
};

/* ---- Progress ------------------------------------------------------------ */

static void end_line(struct progress *p)
{
    if (p->line_open)
        fputc('\n', p->to);
    p->line_open = false;
}

static double rate(struct progress *p, int64_t now, int64_t step)
{
    if (p->from_us == 0 || step < p->next_step) { /* or back at a save */
        p->from_us = p->next_us = now;
        p->from_step = p->next_step = step;
    }
    if (now - p->next_us >= WINDOW_US) {
        p->from_us = p->next_us;
        p->from_step = p->next_step;
        p->next_us = now;
        p->next_step = step;
    }
    if (now == p->from_us)
        return 0;
    return (double)(step - p->from_step) * 1e6 / (double)(now - p->from_us);
}

static void print_left(struct progress *p, int64_t step, double steps_per_s)
{
    double left;

    if (p->max_steps <= 0 || steps_per_s <= 0)
        return;
    left = (double)(p->max_steps - step) / steps_per_s;
    if (left < 0)
        left = 0;
    if (left < 120)
        fprintf(p->to, "  %.0f s left", left);
    else
        fprintf(p->to, "  %.0f min left", left / 60);
}

static void print_line(struct progress *p, int64_t step, double loss,
                       double steps_per_s)
{
    fprintf(p->to, "%s%s: step %lld", p->terminal ? "\r\033[K" : "", p->name,
            (long long)step);
    if (p->max_steps > 0)
        fprintf(p->to, "/%lld", (long long)p->max_steps);
    if (steps_per_s > 0)
        fprintf(p->to, "  %.1f steps/s", steps_per_s);
    if (!isnan(loss))
        fprintf(p->to, "  loss %.4f", loss);
    print_left(p, step, steps_per_s);
    if (p->terminal)
        p->line_open = true;
    else
        fputc('\n', p->to);
    fflush(p->to);
}

static void after_step(void *ctx, int64_t step, double loss)
{
    struct progress *p = &((struct tfd_train_thread *)ctx)->progress;
    int64_t now = tfd_clock_now_us();
    double steps_per_s = rate(p, now, step);
    bool last = p->max_steps > 0 && step >= p->max_steps;

    if (!last && p->shown_us &&
        now - p->shown_us < (p->terminal ? REWRITE_US : LINE_US))
        return;
    p->shown_us = now;
    print_line(p, step, loss, steps_per_s);
    if (last)
        end_line(p);
}

static void evaluated(void *ctx, const char *name, double value)
{
    struct progress *p = &((struct tfd_train_thread *)ctx)->progress;

    end_line(p);
    fprintf(p->to, "%s: %s %.4f\n", p->name, name, value);
    fflush(p->to);
}

/* One line, whatever an error says. */
static void said(void *ctx, const char *text)
{
    struct progress *p = &((struct tfd_train_thread *)ctx)->progress;

    end_line(p);
    fprintf(p->to, "%s: ", p->name);
    for (; *text; text++)
        fputc(*text == '\n' ? ' ' : *text, p->to);
    fputc('\n', p->to);
    fflush(p->to);
}

static void trouble(void *ctx, const char *event, const char *path,
                    const char *text)
{
    end_line(&((struct tfd_train_thread *)ctx)->progress);
    tfd_log(TFD_LOG_WARN, event, "path=%s error=\"%s\"", path, text);
}

/* ---- The thread ---------------------------------------------------------- */

static int count_ps(const struct tfd_config *c)
{
    const struct tfd_cluster_job *ps = tfd_cluster_job(&c->cluster, "ps");

    return ps ? (int)ps->task_count : 0;
}

static TFD_Trainer *make_trainer(struct tfd_train_thread *t,
                                 struct tfd_status *st)
{
    const struct tfd_config *c = t->config;
    char device[TFD_JOB_NAME_SIZE_MAX + 32];
    TFD_TrainerOptions o = {
        .struct_size = sizeof(o),
        .meta_file = c->train,
        .checkpoint_dir = c->checkpoint_dir,
        .is_chief = tfd_cluster_role(&c->cluster) != TFD_ROLE_WORKER,
        .ps_tasks = count_ps(c),
        .worker_device = device,
        .max_steps = c->max_steps,
        .save_steps = c->save_steps,
        .save_secs = (double)c->save_secs_ms / 1e3,
        .after_step = after_step,
        .evaluated = evaluated,
        .said = said,
        .ctx = t,
        .restore_last_good = strcmp(c->restore, "last-good") == 0,
        .trouble = trouble,
    };

    snprintf(device, sizeof(device), "/job:%s/task:%d", c->cluster.job_name,
             c->cluster.task_index);
    return tfd_trainer_on_server(&o, t->server, st);
}

/* Publishes it for tfd_train_thread_stop(); false when that came before. */
static bool publish(struct tfd_train_thread *t, TFD_Trainer *trainer)
{
    bool go;

    tfd_lock(&t->lock);
    t->trainer = trainer;
    go = !t->stop;
    tfd_unlock(&t->lock);
    return go;
}

static void train(struct tfd_train_thread *t)
{
    struct tfd_status st = TFD_STATUS_INIT;
    TFD_Trainer *trainer = make_trainer(t, &st);

    if (trainer && publish(t, trainer))
        (void)!tfd_trainer_train(trainer, &st);
    (void)publish(t, NULL);
    TFD_DeleteTrainer(trainer);
    end_line(&t->progress);
    if (st.code == TFD_OK)
        return;
    tfd_log(TFD_LOG_ERROR, "training_failed", "code=%s error=\"%s\"",
            tfd_code_name(st.code), st.text);
    /* What the server says when a peer stayed away for --peer_wait. */
    t->exit_code = st.code == TFD_DEADLINE_EXCEEDED ? TFD_EXIT_PEER_LOST
                                                    : TFD_EXIT_TRAINING;
}

static void *run_trainer(void *arg)
{
    struct tfd_train_thread *t = arg;

    train(t);
    tfd_server_stop(t->server);
    tfd_server_release(&t->hold);
    return NULL;
}

/* ---- Public -------------------------------------------------------------- */

bool tfd_train_thread_wanted(const struct tfd_config *c)
{
    enum tfd_role role = tfd_cluster_role(&c->cluster);

    return c->train && role != TFD_ROLE_PS && role != TFD_ROLE_EVALUATOR;
}

enum tfd_code tfd_train_thread_start(struct tfd_server *s,
                                     const struct tfd_config *config, FILE *to,
                                     struct tfd_train_thread **out,
                                     struct tfd_status *st)
{
    struct tfd_train_thread *t = calloc(1, sizeof(*t));
    int rc;

    if (!t)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a trainer");
    t->config = config;
    t->server = s;
    t->progress.to = to;
    t->progress.terminal = isatty(fileno(to));
    t->progress.max_steps = config->max_steps;
    snprintf(t->progress.name, sizeof(t->progress.name), "%s %d",
             config->cluster.job_name, config->cluster.task_index);
    tfd_lock_init(&t->lock, TFD_LOCK_CLIENT);
    tfd_server_hold(s, &t->hold);
    rc = pthread_create(&t->thread, NULL, run_trainer, t);
    if (rc == 0) {
        *out = t;
        return TFD_OK;
    }
    tfd_server_unhold(&t->hold);
    tfd_lock_deinit(&t->lock);
    free(t);
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "Cannot start a thread for training: %s", strerror(rc));
}

void tfd_train_thread_stop(struct tfd_train_thread *t)
{
    TFD_Trainer *trainer;

    tfd_lock(&t->lock);
    t->stop = true;
    trainer = t->trainer;
    if (trainer)
        TFD_StopTraining(trainer);
    tfd_unlock(&t->lock);
}

int tfd_train_thread_result(struct tfd_train_thread *t)
{
    int exit_code;

    pthread_join(t->thread, NULL);
    exit_code = t->exit_code;
    tfd_lock_deinit(&t->lock);
    free(t);
    return exit_code;
}
