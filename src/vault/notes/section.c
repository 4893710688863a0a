/* The H2 sections of a note: reading them, and changing one so that no other is touched.
 *
 * A new text is written only if all other headings are found again in it, each where it
 * must be: an open fence or comment in the content, an underline, a heading that splits
 * the section - whatever it is, it shows there. */
#include <stdio.h>

#include "notes/history.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/outline.h"
#include "notes/types.h"
#include "notes/write.h"

static struct str str_part(struct str s, size_t from, size_t to)
{
    return (struct str){s.at + from, to - from};
}

/* ---- reading ------------------------------------------------------------- */

static void section_put(const struct outline *o, const struct section *s,
                        uint32_t occurrence, struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "heading", s->heading->text);
    json_pair_int(w, "occurrence", occurrence);
    json_pair_int(w, "line", (int64_t)s->heading->line);
    json_pair_str(w, "content", outline_text(o, s));
    json_close(w);
}

static bool sections_put(struct vault *v, const struct outline *o, struct arena *a,
                         struct json_writer *w, struct err *e)
{
    scoped_map struct map headings = {0};
    uint32_t *seen = arena_get(a, (o->count + 1) * sizeof *seen, e);
    if (!seen)
        return false;
    json_open_array(w);
    for (size_t i = 0; i < o->count; i++) {
        const struct section *s = &o->sections[i];
        size_t number = map_add(&headings, s->heading->text, e);
        if (number == MAP_NONE || !vault_goes_on(v, e))
            return false;
        section_put(o, s, ++seen[number], w);
    }
    json_close(w);
    return true;
}

bool notes_get_sections(struct vault *v, const struct json *identifier,
                        struct json_writer *out, struct err *e)
{
    struct str wanted;
    char path[PATH_MAX];
    bool found;
    if ((json_is(identifier, JSON_OBJECT) &&
         !options_check(identifier, "notes.getSections", NOTES_GET_SECTIONS_KEYS, e)) ||
        !options_identifier(identifier, &wanted, e))
        return false;
    history_settle(v->history);
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    if (!vault_resolve(v, wanted, path, &found, e) ||
        (found && !vault_read(v, path, &bytes, &st, &found, e)))
        return false;
    if (!found)
        return vault_no_such_note(wanted, e);
    scoped(arena_free) struct arena *a = arena_new(2 * WRITE_PARSE_MAX);
    struct note n;
    struct outline o;
    if (!note_parse(v, str_of(path), buf_view(&bytes), &st, a, &n, e) ||
        !outline_read(n.front.body, a, &o, e))
        return false;
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(path));
    json_pair_cstr(out, "content_hash", n.hash);
    json_key(out, "sections");
    if (!sections_put(v, &o, a, out, e))
        return false;
    json_close(out);
    note_tell(v, &n, false);
    return buf_check(out->out, "the sections", e);
}

/* ---- what is asked for --------------------------------------------------- */

enum mode { MODE_REPLACE, MODE_APPEND, MODE_PREPEND, MODE_REMOVE, MODE_CREATE, MODES };
static const char *const mode_names[MODES] = {"replace", "append", "prepend", "remove",
                                              "create"};

struct edit {
    struct str identifier, heading, content;
    enum mode mode;
    int64_t occurrence; /* 0: not said */
    struct write_guard guard;
};

static bool read_mode(struct str name, enum mode *out, struct err *e)
{
    *out = MODE_REPLACE;
    for (size_t i = 0; i < MODES; i++)
        if (str_is(name, mode_names[i])) {
            *out = (enum mode)i;
            return true;
        }
    return name.n == 0 || err_set(e, ERR_INVALID,
                                  "mode \"%.*s\" is not one of replace, append, "
                                  "prepend, remove, create",
                                  STR_ARGS(str_cut(name, 40)));
}

static bool read_heading(struct edit *d, struct err *e)
{
    struct str h = str_trim(d->heading);
    if (d->mode != MODE_CREATE && str_starts(h, "## "))
        h = str_trim((struct str){h.at + 3, h.n - 3});
    d->heading = h;
    bool one_line = !memchr(h.at, '\n', h.n) && !memchr(h.at, '\r', h.n);
    return (h.n && one_line) ||
           err_set(e, ERR_INVALID,
                   "heading must be the text of a heading of level 2, without its ##");
}

static bool read_edit(const struct json *o, void *state, struct err *e)
{
    struct edit *d = state;
    struct str mode;
    if (!options_check(o, "notes.updateSection", NOTES_UPDATE_SECTION_KEYS, e) ||
        !options_identifier(o, &d->identifier, e) ||
        !options_str(o, "heading", NULL, &d->heading, e) ||
        !options_str(o, "content", NULL, &d->content, e) ||
        !options_str(o, "mode", NULL, &mode, e) || !read_mode(mode, &d->mode, e) ||
        !read_heading(d, e) || !write_read_guard(o, &d->guard, e))
        return false;
    const struct json *n = json_get(o, "occurrence");
    bool absent = !n || json_is(n, JSON_NULL);
    d->occurrence = json_int(n, 0);
    if (!absent && d->occurrence < 1)
        return err_set(e, ERR_INVALID, "occurrence must be a whole number from 1 on");
    bool has_content = json_is(json_get(o, "content"), JSON_STRING);
    if (d->mode == MODE_REMOVE ? d->content.n > 0 : !has_content)
        return err_set(e, ERR_INVALID,
                       d->mode == MODE_REMOVE ? "mode remove takes no content"
                                              : "content must be a string");
    return true;
}

static bool list_headings(const struct outline *o, struct str wanted, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_NAME);
    for (size_t i = 0; i < o->count && !names.failed; i++)
        buf_printf(&names, "%s\"%.*s\"", i ? ", " : "",
                   STR_ARGS(str_cut(o->sections[i].heading->text, 60)));
    return err_set(
        e, ERR_NOT_FOUND,
        "the note has no section \"%.*s\"; its headings of level 2 are: %.*s%s. "
        "mode create adds one",
        STR_ARGS(str_cut(wanted, 60)), STR_ARGS(str_cut(buf_view(&names), 180)),
        o->count ? names.failed ? " ..." : "" : "none");
}

static bool section_find(const struct outline *o, const struct edit *d,
                         const struct section **out, struct err *e)
{
    int64_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < o->count; i++)
        if (str_eq(o->sections[i].heading->text, d->heading) &&
            (++count == d->occurrence || !d->occurrence) && !*out)
            *out = &o->sections[i];
    if (d->mode == MODE_CREATE)
        return count == 0 || err_set(e, ERR_CONFLICT,
                                     "there is a section \"%.*s\" already; nothing was "
                                     "written, mode replace changes it",
                                     STR_ARGS(str_cut(d->heading, 60)));
    if (*out && count > 1 && !d->occurrence)
        return err_set(e, ERR_CONFLICT,
                       "%lld sections are called \"%.*s\"; say which by occurrence: 1 to "
                       "%lld. Nothing was written",
                       (long long)count, STR_ARGS(str_cut(d->heading, 60)),
                       (long long)count);
    return *out || list_headings(o, d->heading, e);
}

/* ---- the new text -------------------------------------------------------- */

/* Without the empty lines at both ends; spaces before the first word count. */
static struct str without_blank_lines(struct str s)
{
    for (size_t i = 0; i < s.n;) {
        const char *end = memchr(s.at + i, '\n', s.n - i);
        size_t next = end ? (size_t)(end + 1 - s.at) : s.n;
        if (str_trim(str_part(s, i, next)).n) {
            s.at += i, s.n -= i;
            break;
        }
        i = next;
        if (i == s.n)
            return STR("");
    }
    while (s.n && strchr(" \t\r\n", s.at[s.n - 1]))
        s.n--;
    return s;
}

static void section_put_lines(struct str s, const char *eol, struct buf *out)
{
    for (size_t i = 0; i < s.n;) {
        const char *end = memchr(s.at + i, '\n', s.n - i);
        size_t stop = end ? (size_t)(end - s.at) : s.n, n = stop - i;
        if (end && n && s.at[stop - 1] == '\r')
            n--;
        buf_put(out, s.at + i, n);
        if (end)
            buf_cstr(out, eol);
        i = stop + (end != NULL);
    }
}

static char first_sign(struct str s)
{
    struct str t = str_trim(s);
    return t.n ? t.at[0] : '\0';
}

/* Do the two go on as one list or one table? Then no empty line comes between. */
static bool goes_on(struct str above, struct str below)
{
    const char *line = memrchr(above.at, '\n', above.n);
    struct str last =
        line ? str_part(above, (size_t)(line + 1 - above.at), above.n) : above;
    char a = first_sign(last), b = first_sign(below);
    return a && a == b && strchr("-*+|", a);
}

static void section_put_content(const struct edit *d, struct str old, const char *eol,
                                struct buf *out)
{
    struct str fresh = without_blank_lines(d->content);
    bool both = d->mode != MODE_REPLACE && d->mode != MODE_CREATE && old.n && fresh.n;
    bool after = d->mode == MODE_APPEND;
    if (d->mode == MODE_REPLACE || d->mode == MODE_CREATE)
        old = STR("");
    struct str above = after ? old : fresh, below = after ? fresh : old;
    for (int i = 0; i < 2; i++) {
        struct str s = i ? below : above;
        /* The old text stays as it is; the new text gets the note's line ends. */
        if (s.at == old.at && s.n == old.n)
            buf_str(out, s);
        else
            section_put_lines(s, eol, out);
        if (s.n)
            buf_cstr(out, eol);
        if (i == 0 && both && !goes_on(above, below))
            buf_cstr(out, eol);
    }
}

/* The changed part's place in the old and in the new text. */
struct splice {
    size_t from, old_end, new_end;
};

static bool ends_blank(const struct buf *b)
{
    size_t n = b->n, ends = 0;
    while (n && strchr("\n\r \t", b->at[n - 1]))
        ends += b->at[--n] == '\n';
    return n == 0 || ends >= 2;
}

static void end_line(struct buf *b, const char *eol)
{
    if (b->n && b->at[b->n - 1] != '\n')
        buf_cstr(b, eol);
}

static struct splice section_put_new(const struct outline *o, const struct section *s,
                                     const struct edit *d, const char *eol,
                                     struct buf *out)
{
    bool creates = d->mode == MODE_CREATE;
    struct splice at = {creates ? o->body.n : s->heading->start,
                        creates ? o->body.n : s->end, 0};
    buf_put(out, o->body.at, at.from);
    if (creates) {
        end_line(out, eol);
        if (!ends_blank(out))
            buf_cstr(out, eol);
        at.from = out->n; /* what was before stays, with its line's end */
        buf_printf(out, "## %.*s", STR_ARGS(d->heading));
        buf_cstr(out, eol);
    } else if (d->mode != MODE_REMOVE) {
        buf_str(out, str_part(o->body, s->heading->start, s->heading->end));
        end_line(out, eol);
    }
    if (d->mode != MODE_REMOVE) {
        struct str old = creates ? STR("") : str_part(o->body, s->heading->end, s->end);
        struct str kept = without_blank_lines(old),
                   fresh = without_blank_lines(d->content);
        bool close = old.n && kept.n && kept.at == old.at; /* no empty line before it */
        bool any = fresh.n || (kept.n && d->mode != MODE_REPLACE);
        if (any && !close)
            buf_cstr(out, eol);
        section_put_content(d, kept, eol, out);
    }
    if (at.old_end < o->body.n && !ends_blank(out))
        buf_cstr(out, eol);
    at.new_end = out->n;
    buf_str(out, str_part(o->body, at.old_end, o->body.n));
    return at;
}

/* ---- is everything else as it was? --------------------------------------- */

static bool same_heading(const struct heading *a, const struct heading *b, size_t shift_a,
                         size_t shift_b)
{
    return a->level == b->level && a->start - shift_a == b->start - shift_b &&
           str_eq(a->text, b->text);
}

static bool damages(const struct heading *h, struct err *e)
{
    return err_set(
        e, ERR_INVALID,
        "the content would damage the heading \"%.*s\" (line %zu): a fence, an "
        "HTML block or a comment that is not closed, or a line that would join "
        "it; nothing was written",
        STR_ARGS(str_cut(h->text, 80)), h->line);
}

static bool splits(const struct heading *h, struct err *e)
{
    return err_set(
        e, ERR_INVALID,
        "the content contains the heading \"%.*s\" of level %u, which would end the "
        "section; levels 3 to 6 are accepted, and mode create makes another section. "
        "Nothing was written",
        STR_ARGS(str_cut(h->text, 80)), h->level);
}

/* All headings before the place, and all behind it, where they must be now; between them
 * the section's own and smaller ones. */
static bool check_others(const struct outline *old, const struct outline *now,
                         const struct splice *at, const struct edit *d, struct err *e)
{
    size_t i = 0, k = 0;
    for (; i < old->heading_count && old->headings[i].start < at->from; i++, k++)
        if (k >= now->heading_count ||
            !same_heading(&old->headings[i], &now->headings[k], 0, 0))
            return damages(&old->headings[i], e);
    if (d->mode != MODE_REMOVE) {
        const struct heading *own = k < now->heading_count ? &now->headings[k] : NULL;
        if (!own || own->start != at->from || own->level != SECTION_LEVEL ||
            !str_eq(own->text, d->heading))
            return err_set(
                e, ERR_INVALID,
                "the heading \"%.*s\" would not be read back unchanged; nothing was "
                "written",
                STR_ARGS(str_cut(d->heading, 80)));
        k++;
    }
    for (; k < now->heading_count && now->headings[k].start < at->new_end; k++)
        if (now->headings[k].level <= SECTION_LEVEL || d->mode == MODE_REMOVE)
            return splits(&now->headings[k], e);
    while (i < old->heading_count && old->headings[i].start < at->old_end)
        i++;
    for (; i < old->heading_count; i++, k++)
        if (k >= now->heading_count ||
            !same_heading(&old->headings[i], &now->headings[k], at->old_end, at->new_end))
            return damages(&old->headings[i], e);
    return k == now->heading_count || splits(&now->headings[k], e);
}

static bool section_revise(struct change *c, struct vault *v, const struct note *n,
                           const struct edit *d, struct arena *a, struct buf *out,
                           struct err *e)
{
    struct outline old, now;
    const struct section *s;
    if (!outline_read(n->front.body, a, &old, e))
        return false;
    if (!section_find(&old, d, &s, e))
        return e->code == ERR_NOT_FOUND && err_because(e, CAUSE_NO_SECTION);
    size_t first = s ? s->heading->end : 0;
    const char *nl =
        s ? memrchr(old.body.at, '\n', first) : memchr(old.body.at, '\n', old.body.n);
    bool crlf = nl ? nl > old.body.at && nl[-1] == '\r' : frontmatter_is_crlf(n->bytes);
    scoped_buf struct buf body = buf_of(NOTE_SIZE_MAX);
    struct splice at = section_put_new(&old, s, d, crlf ? "\r\n" : "\n", &body);
    if (!buf_check(&body, "the note", e) || !outline_read(buf_view(&body), a, &now, e) ||
        !check_others(&old, &now, &at, d, e))
        return false;
    const struct types_note changed = {
        .metadata = n->front.yml.all, .body = buf_view(&body), .old_body = n->front.body};
    if (!types_check(c, v, name_type(n->path), &changed, e))
        return false;
    frontmatter_join(n->front.head, buf_view(&body), false, out);
    return buf_check(out, "the note", e);
}

/* ---- the call ------------------------------------------------------------ */

static bool run_edit(struct change *c, struct vault *v, void *state,
                     struct json_writer *out, struct err *e)
{
    struct edit *d = state;
    char path[PATH_MAX], hash[HASH_SIZE], summary[300];
    struct note n;
    if (!vault_need_note(v, c, d->identifier, path, &n, e))
        return false;
    scoped(arena_free) struct arena *a = arena_new(2 * WRITE_PARSE_MAX);
    scoped_buf struct buf fresh = buf_of(NOTE_SIZE_MAX);
    if (!write_check_guard(&d->guard, &n, e) ||
        !section_revise(c, v, &n, d, a, &fresh, e) ||
        !change_replace(c, path, buf_view(&fresh), e))
        return false;
    (void)snprintf(summary, sizeof summary, "section \"%.*s\": %s",
                   STR_ARGS(str_cut(d->heading, 200)), mode_names[d->mode]);
    change_say(c, path, NULL, summary);
    change_hash(c, path, hash);
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(path));
    json_pair_bool(out, "updated", true);
    json_pair_str(out, "heading", d->heading);
    json_pair_time(out, "timestamp", vault_now(v));
    json_pair_cstr(out, "content_hash", hash);
    json_close(out);
    return true;
}

const struct operation section_operation = {"notes.updateSection", "update",
                                            sizeof(struct edit), read_edit, run_edit};

bool notes_update_section(struct vault *v, const struct json *options,
                          struct json_writer *out, struct err *e)
{
    return write_perform(v, &section_operation, options, out, e);
}
