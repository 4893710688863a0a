/* The vaults that can be reached: given ones, or the user's list.
 *
 * Each has a number, which keeps its meaning as long as the program runs: callers and
 * evaluations keep that number, so that one's switch never affects another's. A vault is
 * opened at first use and stays open; one that is removed from the list is only not found
 * any more. A vault that a caller's grant does not name does not exist for him: this file
 * is the one place that decides so. */
#include <stdio.h>

#include "caller/caller.h"
#include "notes/notes.h"
#include "os/os.h"
#include "pattern/pattern.h"
#include "place/vault_set.h"
#include "json/json.h"

/* ---- what is known ------------------------------------------------------ */

/* The lock is held from here on, unless a comment says otherwise. */

struct known *vault_set_add(struct vault_set *s, struct str id, const char *path,
                            struct err *e)
{
    if (s->count == KNOWN_MAX) {
        err_set(e, ERR_LIMIT, "this process has opened %u vaults, the maximum",
                KNOWN_MAX);
        return NULL;
    }
    struct known *k = mem_new(sizeof *k);
    must(asprintf(&k->id, "%.*s", STR_ARGS(id)) >= 0);
    k->path = mem_strdup(path);
    k->reachable = true;
    pthread_mutex_init(&k->opening, NULL);
    date_format(os_real_ms(), k->opened);
    memcpy(k->created, k->opened, sizeof k->created);
    s->known[s->count++] = k;
    return k;
}

static void free_known(struct known *k)
{
    vault_close(k->vault);
    pthread_mutex_destroy(&k->opening);
    free(k->id);
    free(k->path);
    free(k->name);
    free(k);
}

unsigned vault_set_find_id(const struct vault_set *s, struct str id)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->known[i]->reachable && str_is(id, s->known[i]->id))
            return i + 1;
    return 0;
}

/* Whether this grant includes it. Where ids of given folders clash, no grant can have
 * meant one of them. */
static bool is_reached(const struct known *k, const struct grant *g)
{
    return k->reachable &&
           (!g || !g->vaults.given || (!k->clashed && grant_reaches(g, k->id)));
}

/* The number of the id, if the grant includes it. */
static unsigned find_granted(const struct vault_set *s, struct str id,
                             const struct grant *g)
{
    unsigned n = vault_set_find_id(s, id);
    return n && is_reached(s->known[n - 1], g) ? n : 0;
}

/* The vault to begin in: the first given one, the user's current one, or else the first
 * that the grant includes. */
static unsigned first_granted(const struct vault_set *s, struct str current,
                              const struct grant *g)
{
    unsigned n = s->bound ? 1 : vault_set_find_id(s, current);
    if (n && is_reached(s->known[n - 1], g))
        return n;
    if (!g || !g->vaults.given)
        return 0;
    for (unsigned i = 0; i < s->count; i++)
        if (is_reached(s->known[i], g))
            return i + 1;
    return 0;
}

static struct known *find_path(const struct vault_set *s, const char *path)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->known[i]->reachable && !strcmp(s->known[i]->path, path))
            return s->known[i];
    return NULL;
}

const struct vault_entry *vault_set_listed(const struct vaults *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_is(list->all[i].path, path))
            return &list->all[i];
    return NULL;
}

/* Whether the entry is still the vault of this number. */
static bool is_same(const struct known *k, const struct vault_entry *v)
{
    return v && str_is(v->id, k->id) && str_is(v->path, k->path);
}

/* Of the user's list, what it says now. */
static bool take_list(struct vault_set *s, const struct vaults *list, struct err *e)
{
    for (unsigned i = 0; i < s->count; i++)
        s->known[i]->reachable =
            is_same(s->known[i], vaults_find(list, str_of(s->known[i]->id)));
    for (size_t i = 0; i < list->count; i++) {
        const struct vault_entry *v = &list->all[i];
        bool met = false;
        for (unsigned n = 0; n < s->count && !met; n++)
            if (is_same(s->known[n], v))
                met = s->known[n]->reachable = true;
        char path[4096];
        (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(v->path));
        if (!met && !vault_set_add(s, v->id, path, e))
            return false;
    }
    return true;
}

/* Reads the list and updates the known vaults. If vaults are given, an unreadable list
 * counts as empty: they can be used all the same. */
bool vault_set_refresh(struct vault_set *s, struct arena *a, struct vaults *list,
                       struct err *e)
{
    struct err why = {0};
    *list = (struct vaults){0};
    if (vaults_read(a, list, &why))
        return s->bound || take_list(s, list, e);
    *list = (struct vaults){0};
    return s->bound || err_pass(e, &why);
}

/* ---- opening ------------------------------------------------------------ */

/* An id for the folder that no other vault has. */
static void make_id(const struct vault_set *s, const struct vaults *list,
                    const char *path, char out[static VAULT_ID_MAX + 1])
{
    char base[VAULT_ID_MAX + 1];
    vaults_id_of(path, base);
    memcpy(out, base, sizeof base);
    for (unsigned i = 2;
         vault_set_find_id(s, str_of(out)) || vaults_find(list, str_of(out)); i++)
        (void)snprintf(out, VAULT_ID_MAX + 1, "%.*s-%u", (int)VAULT_ID_MAX - 11, base, i);
}

/* Two folders of one name: which of them gets the plain id depends on their order. */
static void note_clash(struct vault_set *s, struct known *k, const char *path)
{
    char base[VAULT_ID_MAX + 1];
    vaults_id_of(path, base);
    if (!strcmp(base, k->id))
        return;
    k->clashed = true;
    for (unsigned i = 0; i < s->count; i++)
        if (!strcmp(s->known[i]->id, base) && !s->known[i]->is_listed)
            s->known[i]->clashed = true;
}

/* Adds a given folder: opened at once, with its entry of the list if it has one. */
static bool add_given(struct vault_set *s, const struct vaults *list, const char *dir,
                      struct err *e)
{
    scoped_fd int fd = os_dir_open(dir, e);
    scoped(free) char *path = fd >= 0 ? os_dir_path(fd, e) : NULL;
    struct os_stat st;
    if (!path || !os_stat_fd(fd, &st, e))
        return false;
    if (find_path(s, path))
        return true;
    scoped(vault_close) struct vault *vault = vault_open(dir, e);
    if (!vault)
        return false;
    char id[VAULT_ID_MAX + 1];
    make_id(s, list, path, id);
    const struct vault_entry *listed = vault_set_listed(list, path);
    bool own = listed && !vault_set_find_id(s, listed->id);
    struct known *k = vault_set_add(s, own ? listed->id : str_of(id), path, e);
    if (!k)
        return false;
    const char *slash = strrchr(path, '/');
    k->name = mem_strdup(slash && slash[1] ? slash + 1 : path);
    k->is_listed = own;
    if (!own)
        note_clash(s, k, path);
    if (st.birth_ns)
        date_format(st.birth_ns / 1000000, k->created);
    vault_set_patterns(vault, s->patterns);
    k->vault = take(vault);
    return true;
}

static char **copy_list(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    char **copy = mem_new((n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(list[i]);
    return copy;
}

SCOPED(vault_set, vault_set_close);

struct vault_set *vault_set_open(const char *const *vaults, const char *const *roots,
                                 struct patterns *patterns, struct err *e)
{
    scoped(vault_set_close) struct vault_set *s = mem_new(sizeof *s);
    struct err none = {0};
    s->patterns = patterns;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->creating, NULL);
    s->config = os_config_dir(NULL, &none);
    s->roots = copy_list(roots);
    s->bound = vaults && vaults[0];
    if (!s->bound)
        return take(s);
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    bool ok = vault_set_refresh(s, a, &list, e);
    for (size_t i = 0; ok && vaults[i]; i++)
        ok = add_given(s, &list, vaults[i], e);
    return ok ? take(s) : NULL;
}

void vault_set_be_brief(struct vault_set *s)
{
    s->brief = true;
    for (unsigned i = 0; i < s->count; i++)
        if (s->known[i]->vault)
            vault_be_brief(s->known[i]->vault);
}

void vault_set_close(struct vault_set *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < s->count; i++)
        free_known(s->known[i]);
    for (struct former *f = s->former, *next; f; f = next) {
        next = f->next;
        vault_close(f->vault);
        free(f);
    }
    for (size_t i = 0; s->roots && s->roots[i]; i++)
        free(s->roots[i]);
    free(s->roots);
    os_close(s->config);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->creating);
    free(s);
}

bool vault_set_is_users(const struct vault_set *s)
{
    return !s->bound;
}

/* Without the lock, as all functions below. */
unsigned vault_set_begin(struct vault_set *s, const struct grant *g)
{
    struct err none = {0};
    if (g && g->vaults.given)
        return vault_set_first(s, g, &none);
    if (s->bound)
        return 1;
    struct os_stamp now = os_stamp(s->config, "vaults.json");
    pthread_mutex_lock(&s->lock);
    bool known = s->has_first && s->config >= 0 && os_same_stamp(&now, &s->listed);
    unsigned n = s->first;
    pthread_mutex_unlock(&s->lock);
    if (known)
        return n;
    n = vault_set_first(s, NULL, &none);
    pthread_mutex_lock(&s->lock);
    s->has_first = true;
    s->first = n;
    s->listed = now;
    pthread_mutex_unlock(&s->lock);
    return n;
}

unsigned vault_set_first(struct vault_set *s, const struct grant *g, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list = {0};
    struct err why = {0};
    pthread_mutex_lock(&s->lock);
    unsigned n = s->bound || vault_set_refresh(s, a, &list, &why)
                     ? first_granted(s, list.current, g)
                     : 0;
    pthread_mutex_unlock(&s->lock);
    if (!n && g && g->vaults.given)
        err_set(e, ERR_NO_VAULT,
                "no vault is open: this server has none of those that the token is for");
    else if (!n)
        err_set(e, ERR_NO_VAULT,
                "no vault is open (%s); start cloche with --vault DIR, or register one: "
                "cloche vault add DIR",
                why.code     ? why.msg
                : list.count ? "none of the registered ones is the current one"
                             : "none is registered");
    return n;
}

bool vault_set_reaches(struct vault_set *s, unsigned number, const struct grant *g)
{
    if (!g || !g->vaults.given)
        return true;
    pthread_mutex_lock(&s->lock);
    bool reached = number && number <= s->count && is_reached(s->known[number - 1], g);
    pthread_mutex_unlock(&s->lock);
    return reached;
}

/* Opens it, unless another thread just did. This may wait for another program that holds
 * the vault's locks: calls in other vaults go on meanwhile. */
static struct vault *open_known(struct vault_set *s, struct known *k, bool *opened,
                                struct err *e)
{
    pthread_mutex_lock(&k->opening);
    pthread_mutex_lock(&s->lock);
    struct vault *vault = k->vault;
    pthread_mutex_unlock(&s->lock);
    if (!vault && (vault = vault_open(k->path, e))) {
        *opened = true;
        vault_set_patterns(vault, s->patterns);
        if (s->brief)
            vault_be_brief(vault);
        pthread_mutex_lock(&s->lock);
        k->vault = vault;
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&k->opening);
    return vault;
}

struct vault *vault_set_get(struct vault_set *s, unsigned number, struct err *e)
{
    if (!number)
        return NULL; /* *e is set */
    pthread_mutex_lock(&s->lock);
    must(number <= s->count);
    struct known *k = s->known[number - 1];
    struct err why = {0};
    /* A folder that was deleted and created again is a new vault; calls may use the old
     * one. */
    if (k->vault && vault_is_gone(k->vault)) {
        struct former *f = mem_new(sizeof *f);
        *f = (struct former){k->vault, s->former};
        s->former = f;
        k->vault = NULL;
    }
    bool reachable = k->reachable, opened = false;
    struct vault *vault = reachable ? k->vault : NULL;
    pthread_mutex_unlock(&s->lock);
    if (reachable && !vault)
        vault = open_known(s, k, &opened, &why);
    if (!vault && !why.code)
        err_set(e, ERR_NO_VAULT,
                "the vault \"%s\" is not registered any more; vaults.switch to another",
                k->id);
    else if (!vault)
        err_set(e, why.code, "the vault \"%s\" cannot be opened: %s", k->id, why.msg);
    if (opened)
        (void)vaults_touch(str_of(k->id), &why); /* only the date of its last use */
    return vault;
}

uint64_t vault_set_state(struct vault_set *s)
{
    struct os_stamp now = {0};
    if (!s->bound && s->config >= 0)
        now = os_stamp(s->config, "vaults.json");
    uint64_t state = now.inode ^ (uint64_t)now.changed_ns ^ now.size << 40;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; s->bound && i < s->count; i++)
        state = state * 31 + 1 + s->known[i]->reachable;
    pthread_mutex_unlock(&s->lock);
    return state;
}

char *vault_set_path(struct vault_set *s, unsigned number)
{
    /* The path of a number never changes. */
    pthread_mutex_lock(&s->lock);
    char *path = number ? mem_strdup(s->known[number - 1]->path) : NULL;
    pthread_mutex_unlock(&s->lock);
    return path;
}

void vault_set_id(struct vault_set *s, unsigned number, char id[static VAULT_ID_MAX + 1])
{
    id[0] = '\0';
    pthread_mutex_lock(&s->lock);
    if (number && s->known[number - 1]->reachable)
        (void)snprintf(id, VAULT_ID_MAX + 1, "%s", s->known[number - 1]->id);
    pthread_mutex_unlock(&s->lock);
}

unsigned vault_set_count(struct vault_set *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = s->count;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* ---- what vaults.* do --------------------------------------------------- */

/* The bearer of a token does not see the path on the disk, which may contain other
 * people's folders. */
static struct vault_words words_of(const struct known *k, const struct vault_entry *v)
{
    return (struct vault_words){v ? v->name : str_of(k->name ? k->name : k->id),
                                v ? v->description : STR("")};
}

void vault_set_put(const struct known *k, const struct vaults *list,
                   const struct grant *g, struct json_writer *w)
{
    const struct vault_entry *v = vault_set_listed(list, k->path);
    struct vault_words words = words_of(k, v);
    json_open_object(w);
    json_pair_cstr(w, "id", k->id);
    json_pair_str(w, "name", words.name);
    json_pair_cstr(w, "path", g && g->vaults.given ? "" : k->path);
    if (words.description.n)
        json_pair_str(w, "description", words.description);
    json_pair_str(w, "last_accessed", v ? v->last_accessed : str_of(k->opened));
    json_pair_str(w, "created", v ? v->created : str_of(k->created));
    json_close(w);
}

bool vault_set_current(struct vault_set *s, unsigned current, const struct grant *g,
                       struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    pthread_mutex_lock(&s->lock);
    bool ok = vault_set_refresh(s, a, &list, e);
    if (ok && !current)
        current = first_granted(s, list.current, g);
    if (ok && current && is_reached(s->known[current - 1], g))
        vault_set_put(s->known[current - 1], &list, g, out);
    else if (ok)
        json_put_null(out);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool vault_set_list(struct vault_set *s, const struct grant *g, struct json_writer *out,
                    struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    pthread_mutex_lock(&s->lock);
    bool ok = vault_set_refresh(s, a, &list, e);
    if (ok) {
        json_open_array(out);
        for (unsigned i = 0; i < s->count; i++)
            if (is_reached(s->known[i], g))
                vault_set_put(s->known[i], &list, g, out);
        json_close(out);
    }
    pthread_mutex_unlock(&s->lock);
    return ok && buf_check(out->out, "the answer", e);
}

bool vault_set_words(struct vault_set *s, unsigned number, struct vault_words *out,
                     struct arena *a, struct err *e)
{
    struct vaults list;
    pthread_mutex_lock(&s->lock);
    bool ok = vault_set_refresh(s, a, &list, e);
    const struct known *k = ok ? s->known[number - 1] : NULL;
    if (ok)
        *out = words_of(k, vault_set_listed(&list, k->path));
    char *name = ok ? arena_copy(a, out->name.at, out->name.n, e) : NULL;
    pthread_mutex_unlock(&s->lock);
    out->name.at = name;
    return name != NULL;
}

static void put_ids(const struct vault_set *s, const struct grant *g, struct buf *out)
{
    for (unsigned i = 0; i < s->count && !out->failed; i++)
        if (is_reached(s->known[i], g))
            buf_printf(out, "%s%s", out->n ? ", " : "", s->known[i]->id);
}

unsigned vault_set_find(struct vault_set *s, struct str id, const struct grant *g,
                        struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    scoped_buf struct buf ids;
    buf_init(&ids, 200);
    pthread_mutex_lock(&s->lock);
    unsigned n = vault_set_refresh(s, a, &list, e) ? find_granted(s, id, g) : 0;
    put_ids(s, g, &ids);
    pthread_mutex_unlock(&s->lock);
    if (!n)
        err_set(e, ERR_NOT_FOUND, "no vault has the id \"%.*s\"; %s%s",
                STR_ARGS(str_cut(id, 80)), ids.n ? "there are: " : "there is none",
                buf_cz(&ids));
    return n;
}
