/*
 * conv_primitives.c - see conv_primitives.h.
 */
#include "kernels/conv/conv_primitives.h"

#include "common/thread/lock.h"
#include "config/limits.h"

#include <string.h>

struct entry {
    struct tfd_conv_shape_key key;
    struct tfd_conv_primitive *primitive; /* NULL: none for this shape */
    int users;
    uint64_t asked; /* when, counted in requests */
};

static struct {
    struct tfd_lock lock;
    struct entry entries[TFD_CONV_PRIMITIVES_MAX];
    int count;
    uint64_t requests;
} table = {.lock = TFD_LOCK_INIT(TFD_LOCK_NESTED)};

static struct entry *find_conv_primitives(const struct tfd_conv_shape_key *key)
{
    for (int i = 0; i < table.count; i++)
        if (!memcmp(&table.entries[i].key, key, sizeof(*key)))
            return &table.entries[i];
    return NULL;
}

/* A new entry, or the one that is missed least; NULL: all are in use. */
static struct entry *make_entry_room(void)
{
    struct entry *oldest = NULL;

    if (table.count < TFD_CONV_PRIMITIVES_MAX)
        return &table.entries[table.count++];
    for (int i = 0; i < table.count; i++) {
        struct entry *e = &table.entries[i];

        if (e->users == 0 && (!oldest || e->asked < oldest->asked))
            oldest = e;
    }
    if (oldest)
        tfd_conv_primitive_free(oldest->primitive);
    return oldest;
}

static const struct tfd_conv_primitive *use_entry(struct entry *e)
{
    e->asked = ++table.requests;
    e->users += e->primitive != NULL;
    return e->primitive;
}

/* What was compiled becomes the table's, unless another thread was faster or
 * there is no room. */
static const struct tfd_conv_primitive *
keep_primitive(const struct tfd_conv_shape_key *key,
               struct tfd_conv_primitive *made)
{
    struct entry *e = find_conv_primitives(key);

    if (!e && (e = make_entry_room())) {
        *e = (struct entry){.key = *key, .primitive = made};
        made = NULL;
    }
    tfd_conv_primitive_free(made);
    return e ? use_entry(e) : NULL;
}

const struct tfd_conv_primitive *
tfd_conv_primitives_acquire(const struct tfd_conv_shape_key *key)
{
    const struct tfd_conv_primitive *p = NULL;
    struct tfd_conv_primitive *made;
    struct entry *e;
    bool refused;

    tfd_lock(&table.lock);
    e = find_conv_primitives(key);
    if (e)
        p = use_entry(e);
    tfd_unlock(&table.lock);
    if (e)
        return p;
    made = tfd_conv_primitive_new(key, &refused);
    if (!made && !refused)
        return NULL;
    tfd_lock(&table.lock);
    p = keep_primitive(key, made);
    tfd_unlock(&table.lock);
    return p;
}

void tfd_conv_primitives_release(const struct tfd_conv_primitive *p)
{
    if (!p)
        return;
    tfd_lock(&table.lock);
    for (int i = 0; i < table.count; i++)
        if (table.entries[i].primitive == p) {
            table.entries[i].users--;
            break;
        }
    tfd_unlock(&table.lock);
}
