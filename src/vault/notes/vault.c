/* A call's work with its vault: it waits, reads notes, checks option objects. */
#include <fcntl.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "notes/linkname.h"
#include "notes/name.h"
#include "notes/vault.h"

void vault_set_patterns(struct vault *v, struct patterns *p)
{
    v->patterns = p;
}

struct matcher *vault_matcher(struct vault *v, uint64_t compute_ns, uint64_t until_ns,
                              struct err *e)
{
    struct cancel *const *by = v->view.cancel;
    const struct matcher_limits limits = {
        .compute_ns = compute_ns, .until_ns = until_ns, .cancel = {by[0], by[1]}};
    if (v->patterns)
        return matcher_open(v->patterns, &limits, e);
    err_set(e, ERR_INVALID, "regular expressions are not available here");
    return NULL;
}

bool vault_goes_on(const struct vault *v, struct err *e)
{
    struct cancel *const *by = v->view.cancel;
    return (!cancel_fired(by[0]) && !cancel_fired(by[1])) ||
           err_set(e, ERR_CANCELLED, "the call was cancelled; nothing was changed");
}

#define WAIT_SLICE_MS 20u

/* Not pthread_mutex_clocklock(), of which the thread sanitizer knows nothing. */
bool vault_wait(const struct vault *v, pthread_mutex_t *m, unsigned wait_ms,
                struct err *e)
{
    uint64_t until = os_in_ms(wait_ms);
    while (pthread_mutex_trylock(m) != 0) {
        struct timespec slice;
        (void)clock_gettime(CLOCK_REALTIME, &slice);
        slice.tv_nsec += WAIT_SLICE_MS * 1000000;
        slice.tv_sec += slice.tv_nsec / 1000000000;
        slice.tv_nsec %= 1000000000;
        if (pthread_mutex_timedlock(m, &slice) == 0)
            return true;
        if (!vault_goes_on(v, e))
            return false;
        if (wait_ms != UINT_MAX && os_mono_ns() > until)
            return err_set(e, ERR_BUSY, "timed out after %u ms", wait_ms);
    }
    return true;
}

void vault_set_clock(struct vault *v, int64_t now_ms)
{
    v->now_ms = now_ms;
}

int64_t vault_now(const struct vault *v)
{
    return v->now_ms ? v->now_ms : os_real_ms();
}

bool vault_is_gone(const struct vault *v)
{
    struct os_stat st, at_path;
    struct err none = {0};
    if (os_stat_fd(v->dir, &st, &none) && !st.is_deleted)
        return false;
    scoped_fd int again = os_dir_open(v->path, &none);
    return again < 0 || !os_stat_fd(again, &at_path, &none) || at_path.inode != st.inode;
}

/* ---- reading one note --------------------------------------------------- */

/* A link, a folder or a pipe in the place of a note is no note; a file that we may
 * not read is one, and the caller should hear of it. */
static bool is_no_note(struct vault *v, const char *path, const struct err *why)
{
    if (why->code == ERR_NOT_FOUND)
        return true;
    struct os_stat st;
    struct err ignored = {0};
    return why->code == ERR_DENIED &&
           !(os_stat_beneath(v->dir, path, &st, &ignored) && st.is_file);
}

bool vault_read(struct vault *v, const char *path, struct buf *bytes, struct os_stat *st,
                bool *found, struct err *e)
{
    *found = false;
    struct err why = {0};
    scoped_fd int fd = os_open_beneath(
        v->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, &why);
    if (fd < 0) {
        if (is_no_note(v, path, &why))
            return true;
        *found = true;
        return err_pass(e, &why);
    }
    if (!os_stat_fd(fd, st, e))
        return false;
    if (!st->is_file)
        return true;
    *found = true;
    if (st->size > NOTE_SIZE_MAX)
        return err_set(e, ERR_LIMIT,
                       "\"%.200s\" is %llu bytes; notes may have at most "
                       "%u",
                       path, (unsigned long long)st->size, NOTE_SIZE_MAX);
    return os_read_fd(fd, bytes, e) || err_wrap(e, "%.100s", path);
}

void note_hash(struct str bytes, char out[static HASH_SIZE])
{
    (void)snprintf(out, HASH_SIZE, "sha256:");
    crypto_sha256_hex(bytes, out + 7);
}

/* A key of the frontmatter as text: `title: 2026` means "2026". */
static struct str text_of(const struct json *v, struct arena *a, struct err *e)
{
    if (json_is(v, JSON_STRING))
        return json_str(v);
    if (!json_is(v, JSON_NUMBER) && !json_is(v, JSON_BOOL))
        return STR("");
    scoped_buf struct buf b = buf_of(BUF_NAME);
    struct json_writer w = json_writer(&b);
    json_put(&w, v);
    char *copy = arena_copy(a, b.at, b.n, e);
    return copy ? (struct str){copy, b.n} : STR("");
}

static struct str one_line(struct str s, struct arena *a, struct err *e)
{
    scoped_buf struct buf b = buf_of(NAME_TITLE_MAX);
    name_put_title(s, &b);
    char *copy = arena_copy(a, buf_view(&b).at, b.n, e);
    return copy ? (struct str){copy, b.n} : STR("");
}

static int64_t date_or(const struct json *v, int64_t fallback_ms)
{
    int64_t ms;
    return date_read(json_str(v), &ms) ? ms : fallback_ms;
}

bool note_parse(const struct vault *v, struct str path, struct str bytes,
                const struct os_stat *st, struct arena *a, struct note *out,
                struct err *e)
{
    *out = (struct note){.path = path, .bytes = bytes, .st = *st};
    note_hash(bytes, out->hash);
    if (name_is_canvas(path)) { /* it has links, and nothing else of a note */
        out->title = name_file(path);
        out->front.head = bytes;
        out->front.body = (struct str){bytes.at + bytes.n, 0};
        return true;
    }
    if (!frontmatter_read(bytes, a, &out->front, e))
        return false;
    const struct json *all = out->front.yml.all;
    struct err full = {0};
    out->uid = str_trim(text_of(json_get(all, "id"), a, &full));
    out->by_file = v && v->settings.titles_by_file;
    struct str title = STR("");
    if (!out->by_file)
        title = str_trim(text_of(json_get(all, "title"), a, &full));
    if (!title.n && !out->by_file)
        title = markdown_title(out->front.body);
    scoped_buf struct buf own = buf_of(PATH_MAX);
    if (!title.n && v && v->settings.own.logseq)
        conventions_title(&v->settings.own, path, &own);
    if (!title.n)
        title = own.n ? buf_view(&own) : name_stem(path);
    out->title = one_line(title, a, &full);
    if (full.code)
        return err_pass(e, &full);

    int64_t mtime_ms = st->mtime_ns / 1000000;
    int64_t birth_ms =
        st->birth_ns && st->birth_ns < st->mtime_ns ? st->birth_ns / 1000000 : mtime_ms;
    out->created_ms = date_or(json_get(all, "created"), birth_ms);
    out->updated_ms = date_or(json_get(all, "updated"), mtime_ms);
    return true;
}

bool note_is_own_key(struct str key)
{
    static const char *const own[] = {"id", "type", "title", "created", "updated", NULL};
    return str_is_one_of(key, own);
}

void note_put_metadata(const struct note *n, struct json_writer *w)
{
    json_open_object(w);
    struct json_iter it = json_iter(n->front.yml.all);
    while (json_next(&it)) {
        if (note_is_own_key(it.key))
            continue;
        json_key_str(w, it.key);
        json_put(w, it.value);
    }
    json_close(w);
}

bool note_put_subnotes(const struct note *n, struct buf *out)
{
    struct json_writer w = json_writer(out);
    json_put(&w, json_get(n->front.yml.all, SUBNOTES_KEY));
    return !out->failed;
}

/* ---- finding ------------------------------------------------------------ */

bool vault_admits(const struct vault *v, size_t bytes, struct err *e)
{
    const struct vault_author *by = v->view.author;
    return !by || !by->admits || by->admits(by->arg, bytes, e);
}

bool vault_permits(const struct vault *v, const char *call, struct err *e)
{
    return !v->view.permits || v->view.permits(v->view.permits_arg, call, e);
}

bool vault_has(struct vault *v, struct str path)
{
    char name[PATH_MAX];
    if (!name_is_path(path))
        return false;
    memcpy(name, path.at, path.n);
    name[path.n] = '\0';
    struct os_stat st;
    struct err none = {0};
    return os_stat_beneath(v->dir, name, &st, &none) && st.is_file;
}

/* "note/X.md" for "X.md" */
static struct str in_note_folder(struct str path, char space[static PATH_MAX])
{
    int n = snprintf(space, PATH_MAX, "note/%.*s", STR_ARGS(path));
    return n > 0 && n < PATH_MAX ? (struct str){space, (size_t)n} : STR("");
}

void vault_put_id(struct vault *v, struct str path, struct buf *out)
{
    if (name_is_file(path) && !name_is_path(path)) {
        buf_str(out, path); /* of a canvas, or an attachment */
        return;
    }
    char space[PATH_MAX];
    if (name_at_root(path) && vault_has(v, in_note_folder(path, space)))
        buf_str(out, path);
    else
        name_put_id(path, out);
}

/* ---- option objects ----------------------------------------------------- */

bool options_check(const struct json *o, const char *what, const char *const *keys,
                   struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_LINE);
    for (size_t i = 0; keys[i]; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", keys[i]);
    if (!json_is(o, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "%s takes an object with %s, not a value of type "
                       "%s",
                       what, buf_cz(&names), json_type_name(json_type(o))) ||
               err_because(e, CAUSE_SHAPE);
    struct json_iter it = json_iter(o);
    while (json_next(&it)) {
        if (!str_is_one_of(it.key, keys))
            return err_set(e, ERR_INVALID, "%s knows no field \"%.*s\"; it takes %s",
                           what, STR_ARGS(str_cut(it.key, 60)), buf_cz(&names));
    }
    return true;
}

static const struct json *option(const struct json *o, const char *key)
{
    const struct json *v = json_get(o, key);
    return json_is(v, JSON_NULL) ? NULL : v;
}

bool options_str(const struct json *o, const char *key, const char *other,
                 struct str *out, struct err *e)
{
    const struct json *v = option(o, key), *second = other ? option(o, other) : NULL;
    const struct json *both[] = {v, second};
    for (size_t i = 0; i < 2; i++)
        if (both[i] && !json_is(both[i], JSON_STRING))
            return err_set(e, ERR_INVALID, "%s must be a string, not a value of type %s",
                           i ? other : key, json_type_name(json_type(both[i])));
    if (v && second && !json_equal(v, second))
        return err_set(e, ERR_INVALID,
                       "%s and %s are two names of one field and say "
                       "different things",
                       key, other);
    *out = json_str(v ? v : second);
    return true;
}

bool options_bool(const struct json *o, const char *key, bool *out, struct err *e)
{
    const struct json *v = option(o, key);
    if (v && !json_is(v, JSON_BOOL))
        return err_set(e, ERR_INVALID,
                       "%s must be true or false, not a value of type "
                       "%s",
                       key, json_type_name(json_type(v)));
    *out = json_bool(v, false);
    return true;
}

bool options_folder(const struct json *o, struct str *out, bool *given, struct err *e)
{
    *given = option(o, "folder") != NULL;
    if (!options_str(o, "folder", NULL, out, e))
        return false;
    out->n -= str_ends(*out, "/");
    return name_is_folder(*out) ||
           err_set(e, ERR_INVALID,
                   "folder \"%.*s\" is no path of folders from the vault's root, such as "
                   "\"project/garden\"; the root itself is \"\"",
                   STR_ARGS(str_cut(*out, 100)));
}

bool options_int(const struct json *o, const char *key, int64_t fallback, int64_t min,
                 int64_t max, int64_t *out, struct err *e)
{
    const struct json *v = option(o, key);
    *out = json_int(v, v ? min - 1 : fallback);
    return (*out >= min && *out <= max) ||
           err_set(e, ERR_INVALID, "%s must be a whole number from %lld to %lld", key,
                   (long long)min, (long long)max);
}

bool options_identifier(const struct json *o, struct str *out, struct err *e)
{
    *out = json_str(o);
    if (json_is(o, JSON_OBJECT) && !options_str(o, "identifier", NULL, out, e))
        return false;
    return out->n > 0 ||
           err_set(e, ERR_INVALID,
                   "identifier must be a string that is not empty: a "
                   "note's id (\"type/name\"), uid, path or title") ||
           err_because(e, CAUSE_SHAPE);
}
