/*
 * check_host.h - the second half of --check_config: flags.h has checked the
 * values, this checks that this host has what they name: files, directories and
 * addresses.  Nothing is created, opened for writing or listened on.
 *
 * Errors are what would end the start, or the training once it needs it; a note
 * is what may still come, such as a name that does not resolve yet.
 *
 * Threads: any; blocks on name service.
 */
#ifndef TFD_CONFIG_CHECK_HOST_H
#define TFD_CONFIG_CHECK_HOST_H

#include "config/flags.h"

void tfd_check_host(const struct tfd_config *c, struct tfd_report *errors,
                    struct tfd_report *notes);

#endif
