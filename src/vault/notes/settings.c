#include "notes/settings.h"

#include <fcntl.h>

#include "notes/name.h"
#include "notes/vault.h"
#include "json/json.h"

#define SETTINGS_PATH OWN_DIR "/settings.json"
#define SETTINGS_MAX ((size_t)64 << 10)

static bool settings_choose(const struct json *all, const char *key,
                            const char *const *values, size_t count, unsigned *out,
                            struct err *e)
{
    const struct json *v = json_get(all, key);
    scoped_buf struct buf names = buf_of(BUF_LINE);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&names, "%s\"%s\"", i ? ", " : "", values[i]);
        if (str_is(json_str(v), values[i])) {
            *out = (unsigned)i;
            return true;
        }
    }
    return !v || err_set(e, ERR_INVALID, SETTINGS_PATH ": %s must be one of %s", key,
                         buf_cz(&names));
}

static bool settings_text(const struct json *all, const char *key, struct settings *s,
                          struct str *out, struct err *e)
{
    struct str text = STR("");
    if (!json_get(all, key))
        return true;
    if (!options_str(all, key, NULL, &text, e))
        return err_wrap(e, SETTINGS_PATH);
    const char *copy = arena_copy(s->arena, text.at, text.n, e);
    *out = (struct str){copy, text.n};
    return copy != NULL;
}

static bool settings_folder(const struct json *all, const char *key, struct settings *s,
                            struct str *out, struct err *e)
{
    if (!settings_text(all, key, s, out, e))
        return false;
    out->n -= str_ends(*out, "/");
    return name_is_folder(*out) ||
           err_set(e, ERR_INVALID, SETTINGS_PATH ": %s is no path of folders", key);
}

static bool settings_ignore(const struct json *list, struct settings *s, struct err *e)
{
    struct conventions *c = &s->own;
    struct json_iter it = json_iter(list);
    if (list && !json_is(list, JSON_ARRAY))
        return err_set(e, ERR_INVALID, SETTINGS_PATH ": ignore must be a list of paths");
    while (list && json_next(&it)) {
        struct str text = json_str(it.value);
        const char *copy = text.n ? arena_copy(s->arena, text.at, text.n, e) : NULL;
        if (!copy || c->ignored_count == CONVENTIONS_IGNORED_MAX)
            return err_set(e, ERR_INVALID,
                           SETTINGS_PATH ": ignore must have at most %u paths",
                           CONVENTIONS_IGNORED_MAX);
        c->ignored[c->ignored_count++] = (struct str){copy, text.n};
    }
    return true;
}

/* What it says of folders and daily notes counts before the other program's settings. */
static bool settings_take_places(const struct json *all, struct settings *s,
                                 struct err *e)
{
    struct conventions *c = &s->own;
    c->has_new_folder = c->has_new_folder || json_get(all, "new_folder");
    return settings_folder(all, "new_folder", s, &c->new_folder, e) &&
           settings_folder(all, "daily_folder", s, &c->daily_folder, e) &&
           settings_text(all, "daily_format", s, &c->daily_format, e) &&
           settings_folder(all, "daily_template", s, &c->daily_template, e) &&
           settings_ignore(json_get(all, "ignore"), s, e);
}

static bool settings_take(struct str text, struct settings *out, struct err *e)
{
    static const char *const keys[] = {"titles",       "new_notes",    "new_folder",
                                       "daily_folder", "daily_format", "daily_template",
                                       "ignore",       "index",        NULL};
    static const char *const titles[] = {"heading", "file"};
    static const char *const added[] = {"all", "minimal", "none"};
    static const char *const places[] = {"vault", "cache"};
    unsigned by_file = out->titles_by_file, new_notes = out->new_notes,
             place = out->index_in_cache;
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct err why = {0};
    const struct json *all = json_read(text, a, &why);
    if (!all)
        return err_set(e, ERR_INVALID, SETTINGS_PATH " is no JSON: %.200s", why.msg);
    if (!options_check(all, SETTINGS_PATH, keys, e) ||
        !settings_choose(all, "titles", titles, LENGTH(titles), &by_file, e) ||
        !settings_choose(all, "new_notes", added, LENGTH(added), &new_notes, e) ||
        !settings_choose(all, "index", places, LENGTH(places), &place, e))
        return false;
    out->titles_by_file = by_file;
    out->index_in_cache = place;
    out->new_notes = (enum settings_keys)new_notes;
    return settings_take_places(all, out, e);
}

void settings_done(struct settings *s)
{
    arena_free(s->arena);
    s->arena = NULL;
}

void settings_lend(const struct settings *s, struct settings *out)
{
    settings_done(out);
    *out = *s;
    out->arena = NULL;
}

/* Does a program that copies files between computers look after this folder, or one above it?
 * It would copy a database while that is written. */
static bool is_synchronised(int dir)
{
    static const char *const names[] = {
        "Dropbox",      "OneDrive",    "Nextcloud",   "ownCloud", "Google Drive",
        "GoogleDrive",  "My Drive",    "pCloudDrive", "MEGA",     "Mobile Documents",
        "iCloud Drive", "iCloudDrive", "Syncthing",   "Seafile",  NULL};
    struct os_stat st;
    struct err none = {0};
    if (os_stat_beneath(dir, ".stfolder", &st, &none) ||
        os_stat_beneath(dir, ".dropbox", &st, &none))
        return true;
    scoped(free) char *whole = os_dir_path(dir, &none);
    for (const char *path = whole ? whole : ""; *path;) {
        size_t n = strcspn(path, "/");
        struct str name = {path, n};
        if (str_is_one_of(name, names) || str_starts(name, "OneDrive - ") ||
            str_starts(name, "Dropbox ("))
            return true;
        path += n + (path[n] == '/');
    }
    return false;
}

bool settings_read(int dir, struct settings *out, struct err *e)
{
    struct os_stat st;
    struct err none = {0};
    bool obsidian = os_stat_beneath(dir, ".obsidian", &st, &none) && st.is_dir;
    *out = (struct settings){.arena = arena_new(ARENA_FILE)};
    conventions_read(dir, out->arena, &out->own);
    out->index_in_cache = is_synchronised(dir);
    out->titles_by_file = obsidian || out->own.logseq;
    out->new_notes = out->titles_by_file ? SETTINGS_NONE : SETTINGS_ALL;
    /* Nor are there any where the folder is a link, which calls refuse. */
    if (!os_stat_beneath(dir, OWN_DIR, &st, &none) || !st.is_dir)
        return true;
    scoped_buf struct buf text = buf_of(SETTINGS_MAX);
    struct err why = {0};
    scoped_fd int fd =
        os_open_beneath(dir, SETTINGS_PATH, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0)
        return why.code == ERR_NOT_FOUND || err_set(e, why.code, "%s", why.msg);
    return os_read_fd(fd, &text, e) && settings_take(buf_view(&text), out, e);
}
