#include "notes/settings.h"

#include <fcntl.h>

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

static bool settings_take(struct str text, struct settings *out, struct err *e)
{
    static const char *const keys[] = {"titles", "new_notes", NULL};
    static const char *const titles[] = {"heading", "file"};
    static const char *const added[] = {"all", "minimal", "none"};
    unsigned by_file = out->titles_by_file, new_notes = out->new_notes;
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct err why = {0};
    const struct json *all = json_read(text, a, &why);
    if (!all)
        return err_set(e, ERR_INVALID, SETTINGS_PATH " is no JSON: %.200s", why.msg);
    if (!options_check(all, SETTINGS_PATH, keys, e) ||
        !settings_choose(all, "titles", titles, LENGTH(titles), &by_file, e) ||
        !settings_choose(all, "new_notes", added, LENGTH(added), &new_notes, e))
        return false;
    out->titles_by_file = by_file;
    out->new_notes = (enum settings_keys)new_notes;
    return true;
}

bool settings_read(int dir, struct settings *out, struct err *e)
{
    struct os_stat st;
    struct err none = {0};
    bool obsidian = os_stat_beneath(dir, ".obsidian", &st, &none) && st.is_dir;
    *out = (struct settings){.titles_by_file = obsidian,
                             .new_notes = obsidian ? SETTINGS_NONE : SETTINGS_ALL};
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
