/*
 * http_field.h - the fields of a request's head (RFC 9110), as pages need them.
 *
 * Ownership: results borrow from what was given.
 * Threads: any.
 */
#ifndef TFD_RPC_HTTP_HTTP_FIELD_H
#define TFD_RPC_HTTP_HTTP_FIELD_H

#include "common/base/str.h"

/* The value of the first field called `name`, which is in lower case, without
 * space around it; "" where there is none.  `fields`: lines, ended by "\n" or
 * "\r\n". */
struct tfd_str tfd_http_field(struct tfd_str fields, const char *name);
/* Whether an Accept field names exactly this media type ("text/html"), with a
 * weight that is not 0.  Ranges such as "text/<any>" do not count: programs
 * send them and expect text. */
bool tfd_http_field_accepts(struct tfd_str accept, const char *type);

#endif
