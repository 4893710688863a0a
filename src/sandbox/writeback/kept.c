/* Changes that a person looks at, and writes, later. */
#include <stdio.h>

#include "writeback/internal.h"

struct writeback_file {
    struct record record;
};

static bool kept_name(const char *id, char out[static BUF_NAME], struct err *e)
{
    (void)snprintf(out, BUF_NAME, "%.40s%s", id, KEPT);
    return record_is(out, KEPT) ||
           err_set(e, ERR_INVALID,
                   "'%.40s' is no id of changes; 16 digits are, as cloche vm changes "
                   "lists them",
                   id);
}

bool writeback_keep(const struct writeback *w, const char *host, const char *place,
                    char id[static WRITEBACK_ID], struct err *e)
{
    char name[BUF_NAME];
    scoped_buf struct buf bytes = buf_of(WRITEBACK_KEPT_MAX);
    scoped_fd int records = records_folder(e);
    record_id(id);
    return records >= 0 && kept_name(id, name, e) &&
           record_put(w, host, place, NULL, &bytes, e) &&
           os_write_file(records, name, buf_view(&bytes), OS_CREATE, 0600, NULL, e);
}

bool writeback_kept_open(const char *id, struct writeback_kept *out, struct err *e)
{
    char name[BUF_NAME];
    *out = (struct writeback_kept){.what.dir = -1};
    scoped_fd int records = kept_name(id, name, e) ? records_folder(e) : -1;
    if (records < 0)
        return false;
    out->file = mem_new(sizeof *out->file);
    struct record *r = &out->file->record;
    if (!record_read(records, name, r, e)) {
        writeback_kept_close(out);
        return e->code == ERR_NOT_FOUND ? err_wrap(e, "no changes are kept as %.16s", id)
                                        : false;
    }
    (void)snprintf(out->id, sizeof out->id, "%.16s", id);
    out->made_ms = r->made_ms;
    out->host = r->host;
    out->place = r->place;
    out->what = r->of;
    return true;
}

bool writeback_kept_folder(struct writeback_kept *k, struct err *e)
{
    struct os_stat st;
    k->what.dir = os_dir_open(k->host, e);
    if (k->what.dir < 0 || !os_stat_fd(k->what.dir, &st, e))
        return false;
    return st.inode == k->file->record.folder ||
           err_set(e, ERR_CONFLICT, "another folder lies at %.200s now", k->host);
}

void writeback_kept_close(struct writeback_kept *k)
{
    if (!k->file)
        return;
    os_close(k->what.dir);
    record_done(&k->file->record);
    free(take(k->file));
}

struct listing {
    bool (*each)(void *arg, const char *id);
    void *arg;
};

static bool list_one(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    const struct listing *l = arg;
    char id[WRITEBACK_ID];
    (void)st, (void)e;
    if (!record_is(name, KEPT))
        return true;
    (void)snprintf(id, sizeof id, "%.16s", name);
    return l->each(l->arg, id);
}

bool writeback_kept_list(bool (*each)(void *arg, const char *id), void *arg,
                         struct err *e)
{
    struct listing l = {each, arg};
    scoped_fd int records = records_folder(e);
    return records >= 0 && os_list(records, ".", list_one, &l, e);
}

bool writeback_kept_remove(const char *id, struct err *e)
{
    char name[BUF_NAME];
    scoped_fd int records = kept_name(id, name, e) ? records_folder(e) : -1;
    return records >= 0 && os_remove_file(records, name, e);
}
