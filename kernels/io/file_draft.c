/*
 * file_draft.c - write, fsync, rename, fsync of the directory.
 */
#include "kernels/io/file_draft.h"

#include "common/base/entropy.h"

#include <assert.h>

/* Names the file in an error about it while open. */
static enum tfd_code fail_named(const struct tfd_file_draft *d,
                                const struct tfd_status *cause,
                                struct tfd_status *st)
{
    return tfd_fail(st, cause->code, TFD_STR_FMT "; %s",
                    TFD_STR_ARG(tfd_bytes_view(&d->temporary)), cause->text);
}

static enum tfd_code make_names(struct tfd_file_draft *d, struct tfd_str name,
                                struct tfd_status *st)
{
    uint64_t random;

    TFD_TRY(tfd_entropy_u64(&random, st));
    tfd_bytes_add_str(&d->name, name);
    tfd_bytes_add_str(&d->temporary, name);
    tfd_bytes_printf(&d->temporary, ".tempstate%llu",
                     (unsigned long long)random);
    TFD_TRY(tfd_bytes_ok(&d->name, "file name", st));
    return tfd_bytes_ok(&d->temporary, "file name", st);
}

enum tfd_code tfd_file_draft_open(struct tfd_file_draft *d,
                                  struct tfd_file_access *a,
                                  struct tfd_str name, struct tfd_status *st)
{
    enum tfd_code rc;

    d->access = a;
    d->file = (struct tfd_file)TFD_FILE_INIT;
    d->exists = d->passing = false;
    tfd_bytes_init(&d->name, TFD_FILE_DRAFT_NAME_MAX);
    tfd_bytes_init(&d->temporary, TFD_FILE_DRAFT_NAME_MAX);
    rc = make_names(d, name, st);
    if (rc == TFD_OK)
        rc = a->open_new(a, tfd_bytes_view(&d->temporary), &d->file, st);
    d->exists = rc == TFD_OK;
    if (rc != TFD_OK)
        tfd_file_draft_deinit(d);
    return rc;
}

enum tfd_code tfd_file_draft_write(struct tfd_file_draft *d, const void *data,
                                   size_t size, struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;

    assert(d->exists);
    if (d->access->write(d->access, &d->file, data, size, &cause) != TFD_OK)
        return fail_named(d, &cause, st);
    return TFD_OK;
}

void tfd_file_draft_begin(struct tfd_file_draft *d)
{
    assert(d->exists);
    if (d->access->begin_sync)
        d->access->begin_sync(d->access, &d->file);
}

enum tfd_code tfd_file_draft_seal(struct tfd_file_draft *d,
                                  struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;

    assert(d->exists);
    if (d->access->sync(d->access, &d->file, &cause) != TFD_OK)
        return fail_named(d, &cause, st);
    d->access->close(d->access, &d->file);
    return TFD_OK;
}

static enum tfd_code await(struct tfd_file_draft *d, struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;

    assert(d->exists);
    if (d->access->await_sync &&
        d->access->await_sync(d->access, &d->file, &cause) != TFD_OK)
        return fail_named(d, &cause, st);
    return TFD_OK;
}

enum tfd_code tfd_file_draft_seal_both(struct tfd_file_draft *one,
                                       struct tfd_file_draft *two,
                                       struct tfd_status *st)
{
    TFD_TRY(await(one, st));
    TFD_TRY(await(two, st));
    TFD_TRY(tfd_file_draft_seal(one, st));
    return tfd_file_draft_seal(two, st);
}

static enum tfd_code take_name(struct tfd_file_draft *d, struct tfd_status *st)
{
    assert(d->exists && d->file.fd < 0); /* sealed */
    TFD_TRY(d->access->rename(d->access, tfd_bytes_view(&d->temporary),
                              tfd_bytes_view(&d->name), st));
    d->exists = false;
    return TFD_OK;
}

enum tfd_code tfd_file_draft_precede(struct tfd_file_draft *d,
                                     struct tfd_status *st)
{
    TFD_TRY(take_name(d, st));
    if (d->passing)
        return TFD_OK;
    return d->access->order_dir(d->access, tfd_bytes_view(&d->name), st);
}

enum tfd_code tfd_file_draft_publish(struct tfd_file_draft *d,
                                     struct tfd_status *st)
{
    TFD_TRY(take_name(d, st));
    if (d->passing)
        return TFD_OK;
    return d->access->sync_dir(d->access, tfd_bytes_view(&d->name), st);
}

enum tfd_code tfd_file_draft_put(struct tfd_file_draft *d,
                                 struct tfd_str contents, struct tfd_status *st)
{
    TFD_TRY(tfd_file_draft_write(d, contents.data, contents.size, st));
    TFD_TRY(tfd_file_draft_seal(d, st));
    return tfd_file_draft_publish(d, st);
}

void tfd_file_draft_deinit(struct tfd_file_draft *d)
{
    d->access->close(d->access, &d->file);
    if (d->exists)
        (void)!d->access->remove(d->access, tfd_bytes_view(&d->temporary),
                                 NULL);
    d->exists = false;
    tfd_bytes_deinit(&d->name);
    tfd_bytes_deinit(&d->temporary);
}
