/*
 * summary_run.c - the rows that name who writes: user, experiment, run, tags.
 */
#include "kernels/text/summary_tables.h"

#if TFD_HAS_SQLITE
#include "common/base/clock.h"

double tfd_summary_now(void)
{
    return (double)tfd_clock_wall_us() / 1e6;
}

static enum tfd_code begin_user(struct tfd_summary_db *db,
                                struct tfd_status *st)
{
    const struct tfd_db_value name = tfd_db_text(db->names.user);
    struct tfd_db_value values[3];

    if (db->ids.user || db->names.user.size == 0)
        return TFD_OK;
    TFD_TRY(tfd_summary_find(db, TFD_DB_FIND_USER, &name, 1, &db->ids.user,
                             NULL, st));
    if (db->ids.user)
        return TFD_OK;
    TFD_TRY(tfd_summary_new_id(db, &db->ids.user, st));
    values[0] = tfd_db_int(db->ids.user);
    values[1] = name;
    values[2] = tfd_db_real(tfd_summary_now());
    return tfd_summary_run(db, TFD_DB_ADD_USER, values, 3, st);
}

static enum tfd_code add_experiment(struct tfd_summary_db *db, double wall,
                                    struct tfd_status *st)
{
    struct tfd_db_value values[5];

    TFD_TRY(tfd_summary_new_id(db, &db->ids.experiment, st));
    db->ids.experiment_started = wall;
    values[0] = tfd_db_id(db->ids.user);
    values[1] = tfd_db_int(db->ids.experiment);
    values[2] = tfd_db_text(db->names.experiment);
    values[3] = tfd_db_real(tfd_summary_now());
    values[4] = tfd_db_real(wall);
    return tfd_summary_run(db, TFD_DB_ADD_EXPERIMENT, values, 5, st);
}

/* What was computed before all else began it. */
static enum tfd_code begin_before(struct tfd_summary_db *db,
                                  enum tfd_db_statement statement, int64_t id,
                                  double wall, double *started,
                                  struct tfd_status *st)
{
    const struct tfd_db_value values[] = {tfd_db_real(wall), tfd_db_int(id)};

    if (wall >= *started)
        return TFD_OK;
    *started = wall;
    return tfd_summary_run(db, statement, values, 2, st);
}

static enum tfd_code begin_experiment(struct tfd_summary_db *db, double wall,
                                      struct tfd_status *st)
{
    struct tfd_db_value values[2];

    if (db->names.experiment.size == 0)
        return TFD_OK;
    if (!db->ids.experiment) {
        TFD_TRY(begin_user(db, st));
        values[0] = tfd_db_id(db->ids.user);
        values[1] = tfd_db_text(db->names.experiment);
        TFD_TRY(tfd_summary_find(db, TFD_DB_FIND_EXPERIMENT, values, 2,
                                 &db->ids.experiment,
                                 &db->ids.experiment_started, st));
    }
    if (!db->ids.experiment)
        return add_experiment(db, wall, st);
    return begin_before(db, TFD_DB_START_EXPERIMENT, db->ids.experiment, wall,
                        &db->ids.experiment_started, st);
}

/* A run of the same name is replaced: it is another writer's. */
static enum tfd_code add_run(struct tfd_summary_db *db, double wall,
                             struct tfd_status *st)
{
    struct tfd_db_value values[5];

    TFD_TRY(tfd_summary_new_id(db, &db->ids.run, st));
    db->ids.run_started = wall;
    values[0] = tfd_db_id(db->ids.experiment);
    values[1] = tfd_db_int(db->ids.run);
    values[2] = tfd_db_text(db->names.run);
    values[3] = tfd_db_real(tfd_summary_now());
    values[4] = tfd_db_real(wall);
    return tfd_summary_run(db, TFD_DB_ADD_RUN, values, 5, st);
}

enum tfd_code tfd_summary_begin_run(struct tfd_summary_db *db, double wall,
                                    struct tfd_status *st)
{
    if (db->names.run.size == 0)
        return TFD_OK;
    TFD_TRY(begin_experiment(db, wall, st));
    if (!db->ids.run)
        return add_run(db, wall, st);
    return begin_before(db, TFD_DB_START_RUN, db->ids.run, wall,
                        &db->ids.run_started, st);
}

static enum tfd_code add_tag(struct tfd_summary_db *db, struct tfd_str tag,
                             const struct tfd_summary_metadata *m, int64_t id,
                             struct tfd_status *st)
{
    const struct tfd_db_value description[] = {tfd_db_int(id),
                                               tfd_db_text(m->description)};
    const struct tfd_db_value values[] = {tfd_db_id(db->ids.run),
                                          tfd_db_int(id),
                                          tfd_db_text(tag),
                                          tfd_db_real(tfd_summary_now()),
                                          tfd_db_text(m->display_name),
                                          tfd_db_text(m->plugin_name),
                                          tfd_db_blob(m->plugin_data)};

    TFD_TRY(tfd_summary_run(db, TFD_DB_ADD_DESCRIPTION, description, 2, st));
    return tfd_summary_run(db, TFD_DB_ADD_TAG, values, 7, st);
}

enum tfd_code tfd_summary_tag_id(struct tfd_summary_db *db, double wall,
                                 struct tfd_str tag,
                                 const struct tfd_summary_metadata *metadata,
                                 int64_t *out, bool *is_new,
                                 struct tfd_status *st)
{
    uintptr_t found;

    *is_new = false;
    TFD_TRY(tfd_summary_begin_run(db, wall, st));
    if (tfd_map_get(&db->tags, tag, &found)) {
        *out = (int64_t)found;
        return TFD_OK;
    }
    TFD_TRY(tfd_summary_new_id(db, out, st));
    TFD_TRY(add_tag(db, tag, metadata, *out, st));
    tag = tfd_arena_str(&db->memory, tag);
    TFD_TRY(tfd_arena_check(tag.data, "tags of a summary database", st));
    if (!tfd_map_put(&db->tags, tag, (uintptr_t)*out))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the tags of a summary database");
    *is_new = true;
    return TFD_OK;
}
#else
typedef int tfd_no_summary_run; /* C wants something in a file */
#endif
