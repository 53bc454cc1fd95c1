/*
 * server_config.h - makes the configuration (struct tfd_config) of a server
 * that is not started by command line flags: one that a program starts with a
 * ServerDef, or one for sessions without target, with their ConfigProto.
 *
 * Both are turned into flags and read by the parser of the command line
 * (config/flags.h), so that one place knows defaults and rules.
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
