/*
 * late_close.c - a job of a crew.
 */
#include "kernels/checkpoint/late_close.h"

#include "common/base/container.h"

#include <stdlib.h>

struct late_close {
    struct tfd_job job;
    struct tfd_file_access *access;
    struct tfd_file files[TFD_LATE_CLOSE_FILES];
};

static void close_all(struct tfd_file_access *access,
                      struct tfd_file files[TFD_LATE_CLOSE_FILES])
{
    for (int i = 0; i < TFD_LATE_CLOSE_FILES; i++)
        access->close(access, &files[i]);
}

static void run_late_close(struct tfd_job *job)
{
    struct late_close *l = TFD_CONTAINER_OF(job, struct late_close, job);

    close_all(l->access, l->files);
    free(l);
}

static bool submit(struct tfd_crew *crew, struct tfd_file_access *access,
                   struct tfd_file files[TFD_LATE_CLOSE_FILES])
{
    struct late_close *l = calloc(1, sizeof(*l));

    if (!l)
        return false;
    l->job.run = run_late_close;
    l->access = access;
    for (int i = 0; i < TFD_LATE_CLOSE_FILES; i++)
        l->files[i] = files[i];
    if (tfd_crew_submit(crew, &l->job, NULL) == TFD_OK)
        return true;
    free(l);
    return false;
}

void tfd_late_close(struct tfd_crew *crew, struct tfd_file_access *access,
                    struct tfd_file files[TFD_LATE_CLOSE_FILES])
{
    bool any = false;

    for (int i = 0; i < TFD_LATE_CLOSE_FILES; i++)
        any = any || files[i].fd >= 0;
    if (!any)
        return;
    if (!crew || !submit(crew, access, files))
        close_all(access, files);
    for (int i = 0; i < TFD_LATE_CLOSE_FILES; i++)
        files[i] = (struct tfd_file)TFD_FILE_INIT;
}
