/*
 * fuzz_tf_config.c - libFuzzer target: any bytes as TF_CONFIG.
 *
 *     clang-14 -fsanitize=fuzzer,address,undefined -I. ... fuzz_tf_config.c
 *     ./fuzz_tf_config -max_total_time=30 tests/fuzz/corpus/tf_config
 *
 * Beyond "no crash, no leak": what is refused has a line that says why, a line
 * is one line, and an accepted cluster has a task that is ours.
 */
#include "config/cluster.h"
#include "config/tf_config.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct tfd_report *r)
{
    for (size_t i = 0; i < r->count && i < TFD_REPORT_LINES_MAX; i++) {
        assert(r->lines[i][0] != '\0');
        assert(!strchr(r->lines[i], '\n'));
    }
}

static bool choose(struct tfd_tf_config *t, struct tfd_report *errors)
{
    struct tfd_cluster_self self = {
        t->has_job ? t->job_name : NULL,
        "TF_CONFIG.task.type",
        t->task_index,
        "TF_CONFIG.task.index",
        t->alone,
    };

    return tfd_cluster_choose(&t->cluster, &self, errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_tf_config t;
    struct tfd_report errors, notes;
    bool ok;

    tfd_report_init(&errors);
    tfd_report_init(&notes);
    tfd_tf_config_init(&t);
    ok = tfd_tf_config_parse((const char *)data, size, &t, &errors, &notes) &&
         choose(&t, &errors);
    assert(ok == (errors.count == 0));
    if (ok)
        assert(tfd_cluster_address(&t.cluster, t.cluster.job_name,
                                   t.cluster.task_index));
    check_lines(&errors);
    check_lines(&notes);
    tfd_tf_config_deinit(&t);
    return 0;
}
