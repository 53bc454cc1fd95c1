/*
 * server_config.h - configurations of servers that are not started by flags:
 * from a ServerDef, or for sessions without target from a ConfigProto.
 *
 * Both go through the reader of flags (config/flags.h), so there is one place
 * that knows defaults and rules.
 *
 * Threads: any.
 */
#ifndef TFD_CLIENT_SERVER_CONFIG_H
#define TFD_CLIENT_SERVER_CONFIG_H

#include "common/base/str.h"
#include "config/flags.h"

/* *out is the caller's to deinit, in every case.  *session_config is its
 * default_session_config, the ConfigProto that those of sessions are merged
 * into; it is a part of server_def.  Its device_count, gpu_options and number
 * of threads are the server's. */
enum tfd_code tfd_server_config_of_def(struct tfd_str server_def,
                                       struct tfd_config *out,
                                       struct tfd_str *session_config,
                                       struct tfd_status *st) TFD_MUST_USE;
/* One task without cluster; of the ConfigProto the same counts. */
enum tfd_code tfd_server_config_local(struct tfd_str config_proto,
                                      struct tfd_config *out,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
