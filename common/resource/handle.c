/*
 * handle.c - see handle.h.
 */
#include "common/resource/handle.h"

#include "common/base/atomic.h"
#include "common/resource/resource.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Copies s to *at, which moves behind its terminator. */
static struct tfd_str copy_part(char **at, struct tfd_str s)
{
    struct tfd_str copied = {*at, s.size};

    if (s.size)
        memcpy(*at, s.data, s.size);
    (*at)[s.size] = '\0';
    *at += s.size + 1;
    return copied;
}

/* The strings follow the handle in one block. */
struct tfd_handle *tfd_handle_new(struct tfd_str device,
                                  struct tfd_str container, struct tfd_str name,
                                  struct tfd_str type_name, uint64_t hash_code,
                                  struct tfd_status *st)
{
    size_t size = device.size + container.size + name.size + type_name.size + 4;
    struct tfd_handle *h = calloc(1, sizeof(*h) + size);
    char *at = (char *)(h + 1);

    if (!h) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for the handle of " TFD_STR_FMT, TFD_STR_ARG(name));
        return NULL;
    }
    h->refs = 1;
    h->device = copy_part(&at, device);
    h->container = copy_part(&at, container);
    h->name = copy_part(&at, name);
    h->type_name = copy_part(&at, type_name);
    h->hash_code = hash_code;
    h->shape.rank = TFD_RANK_UNKNOWN;
    return h;
}

struct tfd_handle *tfd_handle_ref(struct tfd_handle *h)
{
    tfd_refs_add(&h->refs, 1);
    return h;
}

void tfd_handle_unref(struct tfd_handle *h)
{
    if (!h || !tfd_refs_drop(&h->refs))
        return;
    tfd_resource_unref(h->cached);
    free(h);
}
