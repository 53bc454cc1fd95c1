/*
 * client_registry.c - the operations this library knows, for graphs that are
 * built and differentiated here; a server has its own copy.
 */
#include "client/c_api/capi.h"

#include "common/base/log.h"
#include "config/environment.h"

#include <pthread.h>

static struct tfd_registry registry;
static struct tfd_status failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_registry(void)
{
    tfd_log_journal_set(tfd_environment_get(TFD_ENVIRONMENT_JOURNAL_STREAM));
    (void)!tfd_registry_init(&registry, tfd_families, tfd_family_count,
                             &failure);
}

const struct tfd_registry *tfd_capi_registry(struct tfd_status *st)
{
    pthread_once(&once, build_registry);
    if (tfd_status_copy(st, &failure) != TFD_OK)
        return NULL;
    return &registry;
}
