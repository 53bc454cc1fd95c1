/*
 * recipe.c - see recipe.h.
 */
#include "kernels/data_saved/recipe.h"

#include "common/base/atomic.h"

#include <stdlib.h>

struct tfd_data_recipe *tfd_data_recipe_ref(struct tfd_data_recipe *r)
{
    tfd_refs_add(&r->refs, 1);
    return r;
}

void tfd_data_recipe_unref(struct tfd_data_recipe *r)
{
    if (!r || !tfd_refs_drop(&r->refs))
        return;
    tfd_arena_deinit(&r->arena);
    free(r);
}

bool tfd_data_recipe_attr(const struct tfd_data_recipe *r, const char *name,
                          struct tfd_str *value)
{
    for (int32_t i = 0; i < r->attr_count; i++)
        if (tfd_str_is(r->attrs[i].name, name)) {
            *value = r->attrs[i].value;
            return true;
        }
    return false;
}
