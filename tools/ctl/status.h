/*
 * status.h - the document of a task, /status.json, and the addresses of its
 * cluster.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_STATUS_H
#define TFD_TOOLS_CTL_STATUS_H

#include "tools/ctl/ctl.h"

#define TFD_CTL_STATUS_PAGE "/status.json"

/* A page of JSON: the document, an object, to be released; an exit code after a
 * line that says what is wrong, with NULL. */
int tfd_ctl_status_get(struct tfd_ctl *c, const char *page, json_t **doc);

/* The part of it with this key ("cluster.tasks"), borrowed; NULL: none. */
json_t *tfd_ctl_status_part(const json_t *doc, const char *key);

/* An array of "host:port", of TF_CONFIG's cluster, else of the server's. */
int tfd_ctl_status_addresses(struct tfd_ctl *c, json_t **addresses);

#endif
