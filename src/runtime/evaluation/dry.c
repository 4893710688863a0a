#include <stdio.h>

#include "calls/calls.h"
#include "evaluation/evaluation.h"
#include "notes/copies.h"
#include "place/place.h"
#include "json/json.h"

#define COPIES_MAX 4u /* vaults that one run may write to */

struct dry {
    pthread_mutex_t lock; /* held while a copy is made: other calls need it, too */
    struct {
        unsigned number;
        struct vault_copy *copy;
    } at[COPIES_MAX];
    size_t count;
    int64_t now_ms; /* 0: the real time */
};

struct dry *dry_new(void)
{
    struct dry *d = mem_new(sizeof *d);
    pthread_mutex_init(&d->lock, NULL);
    return d;
}

void dry_free(struct dry *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++)
        vault_copy_free(d->at[i].copy);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* ---- copies ---------------------------------------------------------------- */

/* The lock is held. */
static struct vault_copy *copy_find(const struct dry *d, unsigned number)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->at[i].number == number)
            return d->at[i].copy;
    return NULL;
}

static void copy_add(struct dry *d, unsigned number, struct vault_copy *c)
{
    vault_set_clock(vault_copy_vault(c, NULL), d->now_ms);
    d->at[d->count].number = number;
    d->at[d->count++].copy = c;
}

static struct vault_copy *need(struct evaluation *v, unsigned number, struct err *e)
{
    struct dry *d = v->dry;
    struct vault_copy *c = copy_find(d, number);
    if (c)
        return c;
    struct vault *first = vault_set_get(v->actions->vaults, number, e);
    struct cancel *const by[2] = {v->who->cancel, &v->stopping};
    if (first && d->count == COPIES_MAX)
        err_set(e, ERR_LIMIT, "a dry run may write to %u vaults", COPIES_MAX);
    c = first && d->count < COPIES_MAX ? vault_copy_make(first, by, e) : NULL;
    if (c)
        copy_add(d, number, c);
    return c;
}

struct vault *dry_vault(struct dry *d, unsigned number)
{
    pthread_mutex_lock(&d->lock);
    struct vault_copy *c = copy_find(d, number);
    pthread_mutex_unlock(&d->lock);
    return c ? vault_copy_vault(c, NULL) : NULL;
}

/* ---- fixtures ------------------------------------------------------------------ */

static bool copy_create_notes(struct vault *vault, const struct json *notes,
                              struct err *e)
{
    struct json_iter it = json_iter(notes);
    scoped_buf struct buf ignored;
    buf_init(&ignored, BUF_LIST);
    for (size_t i = 0; json_next(&it); i++) {
        struct json_writer w = json_writer(&ignored);
        buf_clear(&ignored);
        if (!notes_create(vault, it.value, &w, e))
            return err_wrap(e, "notes[%zu] of the example", i);
    }
    return true;
}

bool dry_fixture(struct evaluation *v, unsigned number, const struct json *notes,
                 int64_t now_ms, struct err *e)
{
    struct dry *d = v->dry;
    d->now_ms = now_ms;
    struct vault *first = notes ? vault_set_get(v->actions->vaults, number, e) : NULL;
    struct vault_copy *c = first ? vault_copy_empty(first, e) : NULL;
    if (c)
        copy_add(d, number, c);
    return !notes || (c && copy_create_notes(vault_copy_vault(c, NULL), notes, e));
}

/* ---- calls ------------------------------------------------------------------- */

bool dry_begin(struct evaluation *v, const struct host_call *c, struct err *e)
{
    if (c->never_dry)
        return err_set(e, ERR_DENIED,
                       "%s is not made in a dry run, where nothing is changed; nothing "
                       "was changed",
                       c->row.name);
    if (!c->row.writes || c->asks) /* a tool marks its own writes */
        return true;
    pthread_mutex_lock(&v->dry->lock);
    bool ok = need(v, atomic_load(&v->vault), e) != NULL;
    pthread_mutex_unlock(&v->dry->lock);
    return ok;
}

char *dry_folder(struct evaluation *v, unsigned number, bool writes, struct err *e)
{
    struct dry *d = v->dry;
    pthread_mutex_lock(&d->lock);
    struct vault_copy *c = writes ? need(v, number, e) : copy_find(d, number);
    bool ok = !c || vault_copy_files(c, e);
    pthread_mutex_unlock(&d->lock);
    if (!ok || (writes && !c))
        return NULL;
    const char *path = NULL;
    if (c)
        (void)vault_copy_vault(c, &path);
    return path ? mem_strdup(path) : vault_set_path(v->actions->vaults, number);
}

bool dry_put_changes(struct dry *d, bool listed, struct json_writer *out, struct err *e)
{
    size_t all = 0;
    bool ok = true;
    scoped_buf struct buf list;
    buf_init(&list, BUF_ANSWER);
    struct json_writer w = json_writer(&list);
    /* Nearly always it is one vault: its list is the list. */
    bool one = d->count == 1;
    if (!one)
        json_open_array(&w);
    for (size_t i = 0; ok && i < d->count; i++) {
        size_t count = 0;
        ok = vault_copy_changes(d->at[i].copy, &count, &w, e);
        all += count;
    }
    if (!one)
        json_close(&w);
    if (!ok || !buf_check(&list, "the changes", e))
        return false;
    json_pair_raw(out, "changes", listed ? buf_view(&list) : STR("[]"));
    json_pair_int(out, "changeCount", (int64_t)all);
    char needs[80];
    (void)snprintf(needs, sizeof needs, "needs %s",
                   host_call_of_right(RIGHT_READ_NOTES)->row.name);
    if (!listed)
        json_pair_cstr(out, "hidden", needs);
    return true;
}
