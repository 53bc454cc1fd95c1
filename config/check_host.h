/*
 * check_host.h - what --check_config looks at besides the values: what of this
 * host they name.  Nothing is created, opened for writing or listened on.
 *
 * Errors are what would end the start, or the training once it needs it; a note
 * is what may still come, such as a name that does not resolve.
 *
 * Threads: any; blocks on name service.
 */
#ifndef TFD_CONFIG_CHECK_HOST_H
#define TFD_CONFIG_CHECK_HOST_H

#include "config/flags.h"

void tfd_check_host(const struct tfd_config *c, struct tfd_report *errors,
                    struct tfd_report *notes);

#endif
