/* The list itself: reading, checking, changing and writing it. */
#include <stdio.h>

#include "os/os.h"
#include "vaults/vaults.h"
#include "json/json.h"

#define FILE_NAME "vaults.json"
#define LOCK_NAME "vaults.lock"
#define LOCK_WAIT_MS 10000
#define FILE_MAX ((size_t)8 << 20) /* bytes */
#define VERSION 1
#define TOUCH_MS 60000

/* ---- reading ------------------------------------------------------------ */

static bool is_line(struct str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] < ' ' || s.at[i] == 0x7f)
            return false;
    return s.n <= max && str_is_utf8(s);
}

static bool check_entry(const struct vault_entry *v, struct err *e)
{
    if (!str_is_name(v->id, "._-", VAULT_ID_MAX))
        return err_set(
            e, ERR_INVALID,
            "id \"%.*s\" is not valid for a vault: 1 to %u letters, digits, '.', '_' "
            "and '-', the first a letter or digit",
            STR_ARGS(str_cut(v->id, 80)), VAULT_ID_MAX);
    if (str_trim(v->name).n == 0 || !is_line(v->name, VAULT_NAME_MAX))
        return err_set(e, ERR_INVALID,
                       "name must be one line of 1 to %u bytes that is not empty",
                       VAULT_NAME_MAX);
    if (v->description.n > VAULT_DESCRIPTION_MAX)
        return err_set(e, ERR_INVALID,
                       "description has %zu bytes; at most %u are accepted",
                       v->description.n, VAULT_DESCRIPTION_MAX);
    return true;
}

static bool vaults_are_damaged(const char *why, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "the list of vaults, " FILE_NAME
                   " in the configuration folder, is damaged (%.150s); repair it by "
                   "hand or remove it",
                   why);
}

static bool vault_read_entry(const struct json *v, struct vault_entry *out, struct err *e)
{
    *out = (struct vault_entry){
        .id = json_str(json_get(v, "id")),
        .name = json_str(json_get(v, "name")),
        .path = json_str(json_get(v, "path")),
        .description = json_str(json_get(v, "description")),
        .created = json_str(json_get(v, "created")),
        .last_accessed = json_str(json_get(v, "last_accessed")),
    };
    struct err why = {0};
    if (!check_entry(out, &why))
        return vaults_are_damaged(why.msg, e);
    bool absolute =
        out->path.n && out->path.at[0] == '/' && !memchr(out->path.at, '\0', out->path.n);
    return absolute || vaults_are_damaged("a path is not absolute", e);
}

static bool vaults_read_list(const struct json *file, struct arena *a, struct vaults *out,
                             struct err *e)
{
    const struct json *rows = json_get(file, "vaults");
    int64_t version = json_int(json_get(file, "version"), 0);
    if (version > VERSION)
        return err_set(e, ERR_CONFLICT,
                       "the list of vaults, " FILE_NAME
                       ", was written by a newer version of this program");
    if (version != VERSION || !json_is(rows, JSON_ARRAY))
        return vaults_are_damaged("it has no version or no vaults", e);
    if (json_length(rows) > VAULTS_MAX)
        return vaults_are_damaged("too many vaults", e);
    struct vault_entry *all = arena_get(a, (json_length(rows) + 1) * sizeof *all, e);
    if (!all)
        return false;
    out->all = all;
    struct json_iter it = json_iter(rows);
    for (; json_next(&it); out->count++)
        if (!vault_read_entry(it.value, &all[out->count], e))
            return false;
    struct str current = json_str(json_get(file, "current"));
    if (vaults_find(out, current))
        out->current = current;
    return true;
}

static bool read_beneath(int dir, struct arena *a, struct vaults *out, struct err *e)
{
    *out = (struct vaults){0};
    scoped_buf struct buf text = buf_of(FILE_MAX);
    struct err why = {0};
    if (!os_read_file(dir, FILE_NAME, &text, NULL, &why))
        return why.code == ERR_NOT_FOUND || err_pass(e, &why);
    const struct json *file = json_read(buf_view(&text), a, &why);
    return file ? vaults_read_list(file, a, out, e) : vaults_are_damaged(why.msg, e);
}

bool vaults_read(struct arena *a, struct vaults *out, struct err *e)
{
    scoped_fd int dir = os_config_dir(NULL, e);
    return dir >= 0 && read_beneath(dir, a, out, e);
}

const struct vault_entry *vaults_find(const struct vaults *v, struct str id)
{
    for (size_t i = 0; i < v->count; i++)
        if (str_eq(v->all[i].id, id))
            return &v->all[i];
    return NULL;
}

/* ---- changing ----------------------------------------------------------- */

/* A change of the list, between its being read and its being written. */
struct change {
    int dir, lock;
    struct arena *arena;
    struct vaults list;
    struct vault_entry *all; /* a copy, with room for one more */
    char now[25];
};

static void vaults_change_done(struct change *c)
{
    os_close(c->lock);
    os_close(c->dir);
    arena_free(c->arena);
}
#define scoped_change __attribute__((cleanup(vaults_change_done)))

/* Fills in all of `c`, also when it fails. */
static bool vaults_change_begin(struct change *c, struct err *e)
{
    *c = (struct change){.dir = -1, .lock = -1, .arena = arena_new(2 * FILE_MAX)};
    date_format(os_real_ms(), c->now);
    c->dir = os_config_dir(NULL, e);
    if (c->dir >= 0)
        c->lock = os_lock(c->dir, LOCK_NAME, 0, LOCK_WAIT_MS, e);
    if (c->lock < 0 || !read_beneath(c->dir, c->arena, &c->list, e))
        return false;
    c->all = arena_get(c->arena, (c->list.count + 1) * sizeof *c->all, e);
    if (!c->all)
        return false;
    if (c->list.count)
        memcpy(c->all, c->list.all, c->list.count * sizeof *c->all);
    c->list.all = c->all;
    return true;
}

/* The entry that is to be changed; NULL and ERR_NOT_FOUND. */
static struct vault_entry *entry_of(struct change *c, struct str id, struct err *e)
{
    const struct vault_entry *found = vaults_find(&c->list, id);
    if (found)
        return &c->all[found - c->list.all];
    scoped_buf struct buf known = buf_of(BUF_NAME);
    for (size_t i = 0; i < c->list.count && !known.failed; i++)
        buf_printf(&known, "%s%.*s", i ? ", " : "", STR_ARGS(c->all[i].id));
    err_set(e, ERR_NOT_FOUND, "no vault has the id \"%.*s\"; %s%s",
            STR_ARGS(str_cut(id, 80)),
            c->list.count ? "there are: " : "none is registered", buf_cz(&known));
    return NULL;
}

static bool vaults_change_write(struct change *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(FILE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_int(&w, "version", VERSION);
    json_pair_str(&w, "current", c->list.current);
    json_key(&w, "vaults");
    json_open_array(&w);
    for (size_t i = 0; i < c->list.count; i++) {
        const struct vault_entry *v = &c->all[i];
        json_open_object(&w);
        json_pair_str(&w, "id", v->id);
        json_pair_str(&w, "name", v->name);
        json_pair_str(&w, "path", v->path);
        if (v->description.n)
            json_pair_str(&w, "description", v->description);
        json_pair_str(&w, "created", v->created);
        json_pair_str(&w, "last_accessed", v->last_accessed);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    buf_char(&text, '\n');
    return buf_check(&text, "the list of vaults", e) &&
           os_write_file(c->dir, FILE_NAME, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

static bool vault_is_free(const struct change *c, const struct vault_entry *v,
                          struct err *e)
{
    for (size_t i = 0; i < c->list.count; i++) {
        const struct vault_entry *other = &c->all[i];
        if (str_eq(other->path, v->path))
            return err_set(e, ERR_CONFLICT,
                           "the folder %.*s is the vault \"%.*s\" already",
                           STR_ARGS(str_cut(v->path, 200)), STR_ARGS(other->id));
        if (str_eq(other->id, v->id))
            return err_set(e, ERR_CONFLICT,
                           "a vault with the id \"%.*s\" exists (%.*s); take another id",
                           STR_ARGS(v->id), STR_ARGS(str_cut(other->path, 200)));
    }
    return c->list.count < VAULTS_MAX ||
           err_set(e, ERR_LIMIT, "%u vaults are registered, and more are not accepted",
                   VAULTS_MAX);
}

bool vaults_add(const struct vault_entry *v, bool use, struct err *e)
{
    scoped_change struct change c;
    if (!vaults_change_begin(&c, e) || !check_entry(v, e) || !vault_is_free(&c, v, e))
        return false;
    struct vault_entry *added = &c.all[c.list.count++];
    *added = *v;
    added->created = added->last_accessed = str_of(c.now);
    if (use || !c.list.current.n)
        c.list.current = v->id;
    return vaults_change_write(&c, e);
}

bool vaults_update(struct str id, const struct str *name, const struct str *description,
                   struct err *e)
{
    scoped_change struct change c;
    struct vault_entry *v = vaults_change_begin(&c, e) ? entry_of(&c, id, e) : NULL;
    if (!v)
        return false;
    v->name = name ? *name : v->name;
    v->description = description ? *description : v->description;
    return check_entry(v, e) && vaults_change_write(&c, e);
}

bool vaults_use(struct str id, struct err *e)
{
    scoped_change struct change c;
    struct vault_entry *v = vaults_change_begin(&c, e) ? entry_of(&c, id, e) : NULL;
    if (!v)
        return false;
    c.list.current = v->id;
    v->last_accessed = str_of(c.now);
    return vaults_change_write(&c, e);
}

bool vaults_remove(struct str id, struct err *e)
{
    scoped_change struct change c;
    struct vault_entry *v = vaults_change_begin(&c, e) ? entry_of(&c, id, e) : NULL;
    if (!v)
        return false;
    if (str_eq(c.list.current, id))
        c.list.current = STR("");
    size_t behind = c.list.count - (size_t)(v - c.all) - 1;
    memmove(v, v + 1, behind * sizeof *v);
    c.list.count--;
    return vaults_change_write(&c, e);
}

/* ISO 8601 in one zone and one form sorts by time. */
static bool is_fresh(const struct vault_entry *v)
{
    char then[25];
    date_format(os_real_ms() - TOUCH_MS, then);
    return str_cmp(v->last_accessed, str_of(then)) > 0;
}

bool vaults_touch(struct str id, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(2 * FILE_MAX);
    struct vaults now;
    if (!vaults_read(a, &now, e))
        return false;
    const struct vault_entry *there = vaults_find(&now, id);
    if (!there || is_fresh(there))
        return true;
    scoped_change struct change c;
    struct vault_entry *v = vaults_change_begin(&c, e) ? entry_of(&c, id, e) : NULL;
    if (!v)
        return false;
    v->last_accessed = str_of(c.now);
    return vaults_change_write(&c, e);
}
