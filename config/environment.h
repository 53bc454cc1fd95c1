/*
 * environment.h - every environment variable that this program reads, and the
 * one place that reads them: what a variable says is handed down from here to
 * whoever needs it, so that no other layer depends on the environment.
 *
 * --print_config shows those that are set.
 *
 * Threads: any, as long as nobody changes the environment.
 */
#ifndef TFD_CONFIG_ENVIRONMENT_H
#define TFD_CONFIG_ENVIRONMENT_H

#include <stdbool.h>
#include <stdio.h>

/* Name, and what it is for. */
#define TFD_ENVIRONMENT(ROW)                                                 \
    ROW(TF_CONFIG, "the cluster and this task (config/tf_config.h)")         \
    ROW(SLURM_PROCID, "the number of this task in its Slurm step")           \
    ROW(SLURM_STEP_NUM_TASKS, "how many tasks the step has")                 \
    ROW(SLURM_STEP_NODELIST, "its hosts (config/launcher/slurm.h)")          \
    ROW(SLURM_STEP_TASKS_PER_NODE, "how many of them each host has")         \
    ROW(SLURM_NODEID, "the number of this host in the step")                 \
    ROW(SLURM_LOCALID, "the number of this task on its host")                \
    ROW(CUDA_VISIBLE_DEVICES, "which GPUs the driver shows to this process") \
    ROW(TF_MIN_GPU_MULTIPROCESSOR_COUNT, "GPUs with fewer are left out")     \
    ROW(TF_DETERMINISTIC_OPS, "GPU kernels whose runs have the same bits")   \
    ROW(TF_CUDNN_DETERMINISTIC, "... of cuDNN only")                         \
    ROW(TF_CUDNN_WORKSPACE_LIMIT_IN_MB, "memory of one cuDNN call at most")  \
    ROW(NOTIFY_SOCKET, "where systemd is told how we are (daemon/notify.h)") \
    ROW(WATCHDOG_USEC, "how long systemd waits for a sign of life")          \
    ROW(WATCHDOG_PID, "the process that it waits for")                       \
    ROW(JOURNAL_STREAM, "the device and inode of the journal's stream")

enum tfd_environment {
#define TFD_ENVIRONMENT_ENUM(name, meaning) TFD_ENVIRONMENT_##name,
    TFD_ENVIRONMENT(TFD_ENVIRONMENT_ENUM)
#undef TFD_ENVIRONMENT_ENUM
};

/* The value; NULL: not set. */
const char *tfd_environment_get(enum tfd_environment variable);

/* Whether a switch is on, by TensorFlow's rule: "1" and "true" are,
 * in any case of letters. */
bool tfd_environment_is_on(enum tfd_environment variable);

/* A line for each variable that is set; TF_CONFIG's value is left out, since
 * the lines of the cluster show what became of it. */
void tfd_environment_print(FILE *to);

#endif
