/*
 * context_memory.h - the bytes that this task keeps for a context.
 *
 *     the values behind its handles
 *     its functions, as they came
 *     its ops and functions, compiled (worker/service/task_session_memory.h)
 *     resources without a name that its handles own, as variables of TensorFlow
 *     2 are; each once, however many handles it has
 *     requests that are not answered yet
 *
 * All but resources is kept up to date where it changes; they are looked at
 * when somebody asks, the newest of many standing for all.  Resources with a
 * name are the task's, not the context's.  A buffer that two handles share
 * counts for each of them; values that only runs under way have do not count.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_CONTEXT_MEMORY_H
#define TFD_DAEMON_EAGER_CONTEXT_MEMORY_H

#include "daemon/eager/context.h"

size_t tfd_eager_context_memory(const struct tfd_eager_context *c);

#endif
