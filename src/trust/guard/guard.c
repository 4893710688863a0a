/* Opening, the vaults' wards, and when the files of the policy are read again. */
#include "guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "guard/internal.h"
#include "os/os.h"

/* ---- opening ------------------------------------------------------------ */

struct guard *guard_open(const struct guard_options *o)
{
    struct guard *g = mem_new(sizeof *g);
    struct err e = {0};
    pthread_mutex_init(&g->lock, NULL);
    g->audit = audit_open();
    g->alerts = alerts_new();
    g->webhook = webhook_new();
    g->terms.calls = (struct known_calls){o->calls, o->call_count, o->further};
    key_table_make(&g->terms.keys, o->groups, o->group_count);
    g->config = os_config_dir(&g->config_path, &e);
    /* A folder that others may write to could hold a forged policy: calls are refused.
     * Where there is no place for the folder at all, there is no policy. */
    if (g->config < 0 && e.code == ERR_DENIED)
        g->no_config = e;
    return g;
}

static void ward_free(struct ward *w)
{
    policy_release(w->state ? &w->state->shown : NULL);
    os_close(w->dir);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w->told);
    free(w);
}

void guard_close(struct guard *g)
{
    if (!g)
        return;
    for (struct ward *w = atomic_load(&g->wards), *next; w; w = next) {
        next = w->next;
        ward_free(w);
    }
    webhook_free(g->webhook);
    alerts_free(g->alerts);
    audit_close(g->audit);
    os_close(g->config);
    free(g->config_path);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

struct audit *guard_audit(struct guard *g)
{
    return g->audit;
}

static struct ward *find_ward(struct ward *w, const char *path)
{
    while (w && (!w->path != !path || (path && strcmp(w->path, path) != 0)))
        w = w->next;
    return w;
}

static struct ward *make_ward(struct guard *g, const char *path, struct err *e)
{
    scoped_fd int dir = path ? os_dir_open(path, e) : -1;
    if (path && dir < 0)
        return NULL;
    struct ward *w = mem_new(sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    w->guard = g;
    w->path = path ? mem_strdup(path) : NULL;
    w->trail = audit_trail(g->audit, path);
    w->dir = dir;
    dir = -1;
    w->next = atomic_load(&g->wards);
    atomic_store_explicit(&g->wards, w, memory_order_release);
    return w;
}

/* A folder that was deleted: what is at its path now has a policy of its own. */
static bool is_gone(const struct ward *w)
{
    struct os_stat st;
    struct err none = {0};
    return w->dir >= 0 && os_stat_fd(w->dir, &st, &none) && st.is_deleted;
}

struct ward *guard_ward(struct guard *g, const char *vault_dir, struct err *e)
{
    /* Wards stay until the end, so that the list can be walked without the lock. */
    struct ward *w =
        find_ward(atomic_load_explicit(&g->wards, memory_order_acquire), vault_dir);
    if (w && !is_gone(w))
        return w;
    pthread_mutex_lock(&g->lock);
    w = find_ward(atomic_load(&g->wards), vault_dir);
    if (!w || is_gone(w)) {
        struct err none = {0};
        struct ward *made = make_ward(g, vault_dir, w ? &none : e);
        w = made ? made : w;
    }
    pthread_mutex_unlock(&g->lock);
    return w;
}

/* ---- reading ------------------------------------------------------------ */

bool policy_load(int dir, const char *name, struct buf *out, struct err *e)
{
    struct err why = {0};
    scoped_fd int fd =
        os_open_beneath(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    struct os_stat st;
    if (fd < 0 && why.code == ERR_NOT_FOUND)
        return true;
    if (fd < 0 || !os_stat_fd(fd, &st, &why)) {
        *e = why;
        return false;
    }
    if (!st.is_file)
        return err_set(e, ERR_INVALID, "is not a regular file");
    /* A vault's policy can only restrict, so its owner does not matter. */
    if (!strcmp(name, POLICY_FILE) &&
        (!os_is_own(dir, ".", e) || !os_is_own(fd, name, e)))
        return false;
    return buf_cstr(out, "") && os_read_fd(fd, out, e);
}

char *policy_path(const struct ward *w, bool in_vault)
{
    char *path = NULL;
    const char *folder = in_vault ? w->path : w->guard->config_path;
    must(asprintf(&path, "%s/%s", folder ? folder : "~/.config/cloche",
                  in_vault ? VAULT_POLICY_FILE : POLICY_FILE) > 0);
    return path;
}

static void read_file(struct ward *w, struct policy_text *t, struct problems *p)
{
    struct err e = {0};
    scoped_buf struct buf text = buf_of(POLICY_FILE_MAX);
    int dir = t->is_vault ? w->dir : w->guard->config;
    if (dir < 0)
        return;
    if (!policy_load(dir, t->is_vault ? VAULT_POLICY_FILE : POLICY_FILE, &text, &e)) {
        problem_add(p, t, "", 0, true, "%s", e.msg);
        return;
    }
    if (text.at)
        t->text = (struct str){arena_copy(p->arena, text.at, text.n, &e), text.n};
    if (text.at && !t->text.at)
        problem_add(p, t, "", 0, true, "%s", e.msg);
    policy_text_read(t, &w->guard->terms, p);
}

static bool refuse_problems(const struct problems *p, struct err *e)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].is_error)
            return err_set(
                e, ERR_DENIED,
                "nothing ran: the policy %s:%u:%u cannot be used: %s; a person has to "
                "repair it ('cloche policy check')",
                p->list[i].file, p->list[i].line, p->list[i].column, p->list[i].message);
    return !p->errors ||
           err_set(e, ERR_DENIED, "nothing ran: the policy has too many errors to list");
}

/* `instead`: the text of one of the files, in place of what is there; NULL: both are read. */
static struct policy_state *read_both(struct ward *w, const struct policy_text *instead,
                                      struct problems *p, struct err *e)
{
    struct policy_text texts[2] = {{0}, {.is_vault = true}};
    scoped(free) char *user_path = policy_path(w, false);
    scoped(free) char *vault_path = policy_path(w, true);
    texts[0].file = user_path;
    texts[1].file = vault_path;
    if (w->guard->no_config.code) {
        *e = w->guard->no_config;
        (void)err_wrap(e, "nothing was run: no policy could be loaded");
        return NULL;
    }
    for (size_t i = 0; i < LENGTH(texts); i++) {
        if (!instead || instead->is_vault != texts[i].is_vault) {
            read_file(w, &texts[i], p);
            continue;
        }
        texts[i].text = instead->text;
        policy_text_read(&texts[i], &w->guard->terms, p);
    }
    if (!refuse_problems(p, e))
        return NULL;
    return policy_merge(&w->guard->terms.keys, &texts[0], w->dir >= 0 ? &texts[1] : NULL,
                        p, p->arena, e);
}

struct policy_state *ward_read(struct ward *w, struct problems *p, struct err *e)
{
    return read_both(w, NULL, p, e);
}

struct policy_state *ward_read_with(struct ward *w, bool in_vault, struct str text,
                                    struct problems *p, struct err *e)
{
    const struct policy_text instead = {.is_vault = in_vault, .text = text};
    return read_both(w, &instead, p, e);
}

/* ---- the policy in force ------------------------------------------------ */

/* The values that are not defaults, or the error of the file, for the trail. */
static char *policy_state_describe(const struct policy_state *s, const struct err *why)
{
    scoped_buf struct buf text = buf_of(AUDIT_RECORD_MAX / 2);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_time(&w, "time", os_real_ms());
    json_pair_cstr(&w, "event", "policy");
    json_pair_cstr(&w, "policy", s ? s->shown.digest : "unusable");
    if (s)
        policy_put_unusual(s, &w);
    else
        json_pair_cstr(&w, "why", why->msg);
    json_close(&w);
    if (text.failed)
        return mem_strdup("\"event\":\"policy\",\"why\":\"too long to be recorded\"");
    text.at[text.n - 1] = '\0';
    return mem_strdup(text.at + 1);
}

/* Called with the lock held. */
static void reload(struct ward *w, const struct os_stamp *user,
                   const struct os_stamp *vault)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    struct policy_state *now = ward_read(w, &p, &e);
    policy_release(w->state ? &w->state->shown : NULL);
    w->state = now;
    w->why = e;
    if (now)
        trail_keep_most(w->trail, (uint64_t)now->shown.audit.code_megabytes << 20);
    if (now)
        trail_rotate_at(w->trail, (uint64_t)now->shown.audit.rotate_megabytes << 20);
    free(w->told);
    w->told = policy_state_describe(now, &e);
    if (now)
        arena = NULL; /* it is the policy's own */
    w->user = *user;
    w->vault = *vault;
    w->is_read = true;
}

/* Called with the lock held. */
static const struct policy *hold_policy(struct ward *w, struct err *e)
{
    struct policy_state *s = w->state;
    if (s)
        atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    else
        *e = w->why;
    return s ? &s->shown : NULL;
}

const struct policy *ward_policy(struct ward *w, struct err *e)
{
    /* Stamped before they are read: a change in between is seen the next time. */
    struct os_stamp user = os_stamp(w->guard->config, POLICY_FILE);
    struct os_stamp vault = os_stamp(w->dir, VAULT_POLICY_FILE);
    pthread_mutex_lock(&w->lock);
    if (!w->is_read || !os_same_stamp(&user, &w->user) ||
        !os_same_stamp(&vault, &w->vault))
        reload(w, &user, &vault);
    const struct policy *p = hold_policy(w, e);
    pthread_mutex_unlock(&w->lock);
    return p;
}

const struct policy *ward_policy_last(struct ward *w, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    bool is_read = w->is_read;
    const struct policy *p = is_read ? hold_policy(w, e) : NULL;
    pthread_mutex_unlock(&w->lock);
    return is_read ? p : ward_policy(w, e);
}

const char *ward_path(const struct ward *w)
{
    return w->path;
}

struct trail *ward_trail(struct ward *w)
{
    return w->trail;
}

bool ward_record(struct ward *w, const struct trail_entry *in, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    scoped(free) char *told = w->told ? mem_strdup(w->told) : NULL;
    pthread_mutex_unlock(&w->lock);
    struct trail_entry entry = *in;
    entry.before = str_of(told);
    return trail_put(w->trail, &entry, e);
}

void ward_event_begin(struct ward_event *v, const char *event)
{
    buf_init(&v->text, AUDIT_RECORD_MAX / 2);
    v->out = json_writer(&v->text);
    json_open_object(&v->out);
    json_pair_time(&v->out, "time", os_real_ms());
    json_pair_cstr(&v->out, "event", event);
}

bool ward_event_end(struct ward_event *v, struct ward *w, const char *digest,
                    bool lasting, struct err *e)
{
    struct err unusable = {0};
    json_close(&v->out);
    const struct policy *p = digest ? NULL : ward_policy(w, &unusable);
    if (!digest)
        digest = p ? p->digest : "unusable";
    const struct trail_entry entry = {
        .members = {v->text.at + 1, v->text.n - 2}, .state = digest, .lasting = lasting};
    bool ok = buf_check(&v->text, "the record", e) && ward_record(w, &entry, e);
    policy_release(p);
    buf_done(&v->text);
    return ok;
}

void policy_release(const struct policy *p)
{
    struct policy_state *s = (struct policy_state *)(uintptr_t)p;
    if (s && atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) == 1)
        arena_free(s->arena);
}
