/*
 * document.h - /status.json: all that a task knows of itself and its cluster as
 * one JSON document, whose schema is docs/status.schema.json.
 *
 * It is the sections of a table, each a function in a file of its own, which
 * copy what they tell: no step and no lock waits while it is written.  Lists
 * have maxima (config/limits.h) and say in `more` how much they leave out.
 *
 * Ownership: everything is borrowed.  Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_DOCUMENT_H
#define TFD_DAEMON_STATUS_DOCUMENT_H

#include "daemon/status/history.h"
#include "daemon/status/json_out.h"
#include "daemon/status/roster.h"

#define TFD_DOCUMENT_VERSION 1

struct tfd_document {
    const struct tfd_view *view;
    const struct tfd_roster *roster;
    const struct tfd_history *history;
};

/* A section writes one value under `key`. */
typedef void tfd_document_section_fn(const struct tfd_document *d,
                                     struct tfd_json_out *j, const char *key);
tfd_document_section_fn tfd_section_build, tfd_section_configuration,
    tfd_section_cluster, tfd_section_sessions, tfd_section_contexts,
    tfd_section_steps, tfd_section_plans, tfd_section_worker,
    tfd_section_resources, tfd_section_memory, tfd_section_checkpoints,
    tfd_section_history, tfd_section_warnings, tfd_section_parts;

void tfd_document_write(const struct tfd_document *d, struct tfd_bytes *out);

#endif
