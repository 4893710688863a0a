/* Shared parts of the calls that write. */
#include "notes/write.h"

#include <stdio.h>

#include "notes/index.h"
#include "notes/name.h"
#include "notes/sight.h"
#include "notes/verdicts.h"

#define ANSWER_MAX ((size_t)64 << 20) /* bytes */

void write_pair_id(struct vault *v, struct json_writer *w, const char *key,
                   struct str path)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    vault_put_id(v, path, &id);
    json_pair_str(w, key, buf_view(&id));
}

/* ---- metadata ------------------------------------------------------------ */

bool write_check_metadata(const struct json *metadata, const char *const *refused,
                          struct err *e)
{
    if (!metadata || json_is(metadata, JSON_NULL))
        return true;
    if (!json_is(metadata, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "metadata must be an object, not a value of type "
                       "%s",
                       json_type_name(json_type(metadata)));
    struct json_iter it = json_iter(metadata);
    while (json_next(&it)) {
        for (size_t i = 0; refused[i]; i++)
            if (str_is(it.key, refused[i]))
                return err_set(e, ERR_INVALID,
                               "metadata may not hold the key \"%s\": it "
                               "is kept by the vault itself",
                               refused[i]);
        int64_t ms;
        if (str_is(it.key, "created") && !json_is(it.value, JSON_NULL) &&
            !date_read(json_str(it.value), &ms))
            return err_set(e, ERR_INVALID,
                           "metadata.created must be a date such as "
                           "\"2026-11-21T05:16:00Z\"");
        if (str_is(it.key, "title") && !json_is(it.value, JSON_NULL) &&
            str_trim(json_str(it.value)).n == 0)
            return err_set(e, ERR_INVALID,
                           "metadata.title must be a string that is not "
                           "empty");
        if (!yml_can_write(it.key, it.value, e))
            return false;
    }
    return true;
}

/* ---- which version ------------------------------------------------------- */

bool write_read_guard(const struct json *o, struct write_guard *g, struct err *e)
{
    return options_str(o, "contentHash", "content_hash", &g->hash, e) &&
           options_bool(o, "force", &g->force, e) &&
           options_bool(o, "dry_run", &g->trial, e);
}

/* "abc" or "sha256:abc", in any case. */
static bool same_hash(struct str given, const char *hash)
{
    struct str full = str_of(hash), bare = {full.at + 7, full.n - 7};
    struct str mine = str_starts(given, "sha256:") ? full : bare;
    return str_eq(given, mine);
}

bool write_check_guard(const struct write_guard *g, const struct note *n, struct err *e)
{
    if (g->hash.n == 0 && g->trial)
        return true;
    if (g->hash.n == 0 && !g->force)
        return err_set(e, ERR_INVALID,
                       "contentHash is missing: read the note first and give its "
                       "content_hash, so that no other change is overwritten (or "
                       "force: true to overwrite)") ||
               err_because(e, CAUSE_UNGUARDED);
    if (g->force || same_hash(g->hash, n->hash))
        return true;
    return err_set(e, ERR_CONFLICT,
                   "the note was changed since it was read: contentHash "
                   "is %.*s but the file's is %s. Nothing was written; read it again and "
                   "update from there",
                   STR_ARGS(str_cut(g->hash, 80)), n->hash) ||
           err_because(e, CAUSE_STALE);
}

/* ---- a whole file -------------------------------------------------------- */

bool write_check_title(const struct vault *v, struct str title, const char *instead,
                       struct err *e)
{
    const char *slash = title.n ? memrchr(title.at, '/', title.n) : NULL;
    struct str folder = {title.at, slash ? (size_t)(slash - title.at) : 0};
    char path[PATH_MAX];
    struct os_stat st;
    struct err none = {0};
    if (!folder.n || folder.n >= sizeof path || memchr(folder.at, '\0', folder.n))
        return true;
    memcpy(path, folder.at, folder.n);
    path[folder.n] = '\0';
    if (path[0] == '.' || strstr(path, "/.") ||
        !os_stat_beneath(v->dir, path, &st, &none) || !st.is_dir)
        return true;
    return err_set(e, ERR_INVALID,
                   "the title \"%.*s\" names the folder \"%.*s\", and a title chooses no "
                   "folder; %s, or take a title without '/'",
                   STR_ARGS(str_cut(title, 100)), STR_ARGS(str_cut(folder, 100)),
                   instead);
}

bool write_has_whole(const struct json *o)
{
    const struct json *whole = json_get(o, "markdown");
    return whole && !json_is(whole, JSON_NULL);
}

bool write_parse_whole(const struct json *o, struct str path, struct arena *a,
                       struct note *out, struct err *e)
{
    const struct json *whole = json_get(o, "markdown");
    if (!json_is(whole, JSON_STRING))
        return err_set(e, ERR_INVALID,
                       "markdown must be a string, the note's whole file, not a value of "
                       "type %s",
                       json_type_name(json_type(whole)));
    if (json_get(o, "content") || json_get(o, "metadata"))
        return err_set(e, ERR_INVALID,
                       "markdown is the note's whole file, frontmatter and all: content "
                       "and metadata cannot be given beside it");
    struct str text = json_str(whole);
    struct os_stat st = {.size = text.n};
    if (text.n > NOTE_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "markdown is %zu bytes; notes may have at most %u",
                       text.n, NOTE_SIZE_MAX);
    if (!note_parse(NULL, path, text, &st, a, out, e))
        return false;
    return out->front.state != FRONTMATTER_BROKEN ||
           err_set(e, ERR_INVALID, "markdown: its frontmatter is not YAML: %.200s",
                   out->front.error);
}

/* ---- performing ---------------------------------------------------------- */

static bool needs_index(struct vault *v, const struct json *o)
{
    struct str identifier;
    struct err none = {0};
    if (json_is(o, JSON_OBJECT) && !json_get(o, "identifier"))
        return false;
    return options_identifier(o, &identifier, &none) && !vault_is_path(v, identifier);
}

struct performance {
    struct vault *vault;
    const struct operation *operation;
    const struct json *given;
    void *state;
    const void *begun; /* the state as it was before it was read */
    struct change_options options;
    struct buf *answer;
    write_beside *put_beside; /* NULL: there is nothing */
    bool again;               /* the state was used */
    bool looked;              /* into a note that the caller did not bring */
};

static void put_dry_run(const struct performance *p, struct change *c,
                        struct json_writer *w)
{
    json_open_object(w);
    json_pair_bool(w, "dry_run", true);
    change_put(c, w);
    if (p->put_beside)
        p->put_beside(p->vault, p->state, w);
    json_close(w);
}

/* A state that was used is read anew, for what ran may have changed it. */
static bool perform_once(void *arg, struct verdicts *verdicts, struct err *e)
{
    struct performance *p = arg;
    const struct operation *op = p->operation;
    p->options.verdicts = verdicts;
    if (p->again) {
        memcpy(p->state, p->begun, op->state_size);
        if (!op->read(p->given, p->state, e))
            return false;
    }
    p->again = true;
    scoped(change_end) struct change *c = change_begin(p->vault, &p->options, e);
    buf_clear(p->answer);
    struct json_writer w = json_writer(p->answer);
    if (!c)
        return false;
    bool ran = op->run(c, p->vault, p->state, &w, e);
    p->looked = p->looked || change_looked(c);
    if (!ran || verdicts_wait(verdicts))
        return ran;
    if (p->options.dry_run) {
        buf_clear(p->answer);
        w = json_writer(p->answer);
        put_dry_run(p, c, &w);
        change_tell(c, 0);
    }
    struct outcome *told = p->vault->view.outcome;
    if (told) {
        told->dry = p->options.dry_run;
        told->held = change_held(c) != NULL;
    }
    return buf_check(p->answer, "the answer", e) &&
           (p->options.dry_run || change_commit(c, e));
}

bool write_perform_in(struct vault *v, const struct operation *op, const struct json *o,
                      void *state, struct json_writer *out, struct err *e)
{
    return write_perform_with(v, op, o, state, NULL, out, e);
}

bool write_perform_with(struct vault *v, const struct operation *op, const struct json *o,
                        void *state, write_beside *put, struct json_writer *out,
                        struct err *e)
{
    scoped(free) void *begun = mem_new(op->state_size);
    scoped_buf struct buf answer = buf_of(ANSWER_MAX);
    struct performance p = {.vault = v,
                            .operation = op,
                            .given = o,
                            .state = state,
                            .begun = begun,
                            .options = {.action = op->action},
                            .answer = &answer,
                            .put_beside = put};
    memcpy(begun, state, op->state_size);
    if (!op->read(o, state, e) ||
        (json_is(o, JSON_OBJECT) && !options_bool(o, "dry_run", &p.options.dry_run, e)) ||
        /* It may take long, the first time: not under the lock. */
        (needs_index(v, o) && !index_use(v, NULL, NULL, e)))
        return false;
    if (!verdicts_settle(v, perform_once, &p, e))
        return p.looked && sight_refuse(v, SIGHT_NOTES, op->name, e);
    json_put_raw(out, buf_view(&answer));
    return true;
}

bool write_perform(struct vault *v, const struct operation *op, const struct json *o,
                   struct json_writer *out, struct err *e)
{
    scoped(free) void *state = mem_new(op->state_size);
    return write_perform_in(v, op, o, state, out, e);
}
