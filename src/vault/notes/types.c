/* Types of notes: folders, and what .cloche/types/NAME.md says about them. */
#include "notes/types.h"
#include "notes/notes.api.h"

#include <stdio.h>

#include "notes/find.h"
#include "notes/index.h"
#include "notes/name.h"
#include "notes/schema.h"
#include "notes/sight.h"
#include "notes/typefile.h"
#include "notes/verdicts.h"
#include "notes/write.h"

#define TYPE_ARENA ((size_t)16 << 20)
#define DESCRIPTION_MAX 20000u  /* bytes */
#define INSTRUCTIONS_MAX 50000u /* bytes */
#define TYPES_MAX 5000u         /* listed */
#define FILE_MODE 0666          /* less the umask */

/* ---- the description ---------------------------------------------------------- */

void types_path(struct str type, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, TYPES_DIR "/%.*s.md", STR_ARGS(str_cut(type, 1000)));
}

bool types_read(struct vault *v, struct str type, struct buf *out, bool *found,
                struct os_stat *st, struct err *e)
{
    char path[PATH_MAX];
    types_path(type, path);
    struct err why = {0};
    *found = os_read_file(v->dir, path, out, st, &why);
    return *found || why.code == ERR_NOT_FOUND || err_pass(e, &why);
}

bool types_is_described(struct vault *v, struct str type)
{
    struct err none = {0};
    struct os_stat st;
    bool found = false;
    scoped_buf struct buf text = buf_of(TYPEFILE_MAX);
    return types_check_name(type, &none) &&
           types_read(v, type, &text, &found, &st, &none) && found;
}

/* ---- which types there are ------------------------------------------------------ */

struct type_row {
    struct str name;
    int64_t notes;
    bool described;
};

struct type_rows {
    struct arena *arena;
    struct type_row *all; /* in the arena, TYPES_MAX */
    size_t count;
    struct vault *v;
};

static struct type_row *row_of(struct type_rows *r, struct str name, struct err *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (str_eq(r->all[i].name, name))
            return &r->all[i];
    if (r->count == TYPES_MAX) {
        err_set(e, ERR_LIMIT, "the vault has more than %u types", TYPES_MAX);
        return NULL;
    }
    const char *copy = arena_copy(r->arena, name.at, name.n, e);
    struct type_row *row = copy ? &r->all[r->count++] : NULL;
    if (row)
        *row = (struct type_row){.name = {copy, name.n}};
    return row;
}

static bool count_notes(struct db *db, void *arg, struct err *e)
{
    struct type_rows *r = arg;
    for (size_t i = 0; i < r->count; i++)
        r->all[i].notes = 0;
    scoped(query_end) struct query *q =
        db_query(db, "SELECT type, count(*) FROM notes GROUP BY type", e);
    while (q && query_next(q, e)) {
        struct type_row *row = row_of(r, query_str(q, 0), e);
        if (!row)
            return false;
        row->notes = query_int(q, 1);
    }
    return e->code == ERR_NONE;
}

static bool take_described(void *arg, const char *name, const struct os_stat *st,
                           struct err *e)
{
    struct type_rows *r = arg;
    struct str path = str_of(name);
    size_t head = sizeof TYPES_DIR; /* with the slash */
    if (!st->is_file || path.n <= head + 3 || !str_ends(path, ".md") ||
        memchr(path.at + head, '/', path.n - head))
        return true;
    struct str type = {path.at + head, path.n - head - 3};
    struct type_row *row = name_is_type(type) ? row_of(r, type, e) : NULL;
    if (row)
        row->described = true;
    return e->code == ERR_NONE;
}

static bool types_add_folder(void *arg, const char *name, const struct os_stat *st,
                             struct err *e)
{
    (void)st;
    return strchr(name, '/') || !name_is_type(str_of(name)) ||
           row_of(arg, str_of(name), e);
}

static int types_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct type_row *)a)->name,
                   ((const struct type_row *)b)->name);
}

static bool list_types(struct type_rows *r, struct err *e)
{
    struct err none = {0};
    r->all = arena_get(r->arena, TYPES_MAX * sizeof *r->all, e);
    if (!r->all || !os_walk_folders(r->v->dir, ".", types_add_folder, r, e) ||
        !index_use(r->v, count_notes, r, e))
        return false;
    if (!os_walk_from(r->v->dir, TYPES_DIR, take_described, r, &none) &&
        none.code != ERR_NOT_FOUND)
        return err_pass(e, &none);
    qsort(r->all, r->count, sizeof *r->all, types_by_name);
    return true;
}

/* ERR_NOT_FOUND, with the names there are. */
static bool no_such_type(struct type_rows *r, struct str type, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_NAME);
    for (size_t i = 0; i < r->count && !names.failed; i++)
        buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARGS(r->all[i].name));
    return err_set(e, ERR_NOT_FOUND, "there is no type \"%.*s\"; %s%s",
                   STR_ARGS(str_cut(type, 60)),
                   names.n ? "there are: " : "the vault has none", buf_cz(&names));
}

bool types_need(struct vault *v, struct str type, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA);
    struct type_rows r = {.arena = a, .v = v};
    if (!list_types(&r, e))
        return false;
    for (size_t i = 0; i < r.count; i++)
        if (str_eq(r.all[i].name, type))
            return true;
    return no_such_type(&r, type, e);
}

/* ---- options ---------------------------------------------------------------------- */

struct type_options {
    struct str name, hash;
    struct buf parts[PART_COUNT];
    bool given[PART_COUNT];
};

static void options_init(struct type_options *o)
{
    *o = (struct type_options){0};
    buf_init(&o->parts[PART_PURPOSE], DESCRIPTION_MAX);
    buf_init(&o->parts[PART_INSTRUCTIONS], INSTRUCTIONS_MAX);
    buf_init(&o->parts[PART_SCHEMA], 4 * SCHEMA_TEXT_MAX);
}

static void options_done(struct type_options *o)
{
    for (size_t i = 0; i < PART_COUNT; i++)
        buf_done(&o->parts[i]);
}
#define scoped_options __attribute__((cleanup(options_done)))

bool types_check_name(struct str name, struct err *e)
{
    return name_is_type(name) ||
           err_set(e, ERR_INVALID,
                   "type_name \"%.*s\" is not the name of a single folder: letters, "
                   "digits, spaces and other characters except / \\ : * ? \" < > | # "
                   "^ [ ], no leading dot",
                   STR_ARGS(str_cut(name, 60)));
}

static const struct json *present(const struct json *o, const char *key)
{
    const struct json *v = json_get(o, key);
    return json_is(v, JSON_NULL) ? NULL : v;
}

struct reading {
    struct vault *vault;
    struct matcher *matcher; /* made for the first pattern */
};

static bool check_pattern(void *arg, const char *field, struct str pattern, struct err *e)
{
    struct reading *r = arg;
    struct err why = {0};
    if (!r->matcher)
        r->matcher = vault_matcher(r->vault, VERDICTS_NS_A_NOTE, 0, &why);
    return (r->matcher && matcher_set(r->matcher, pattern, &why)) ||
           err_set(e, why.code == ERR_TIMEOUT ? ERR_LIMIT : why.code,
                   "metadata_schema: %.120s has a pattern that is not a regular "
                   "expression: %.240s",
                   field, why.msg);
}

/* Without a lock. */
static bool read_schema_option(struct vault *vault, const struct json *v,
                               struct type_options *o, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA);
    const struct json *schema = schema_read(v, a, e);
    struct reading r = {.vault = vault};
    bool ok = schema && schema_each_pattern(schema, check_pattern, &r, e);
    matcher_close(r.matcher);
    if (!ok)
        return false;
    typefile_schema_section(v, &o->parts[PART_SCHEMA]);
    return !o->parts[PART_SCHEMA].failed ||
           err_set(e, ERR_LIMIT,
                   "metadata_schema is too large; at most %u bytes are accepted",
                   SCHEMA_TEXT_MAX);
}

/* description, instructions (or agent_instructions), metadata_schema: null leaves a part
 * as it is. */
static bool type_read_parts(struct vault *v, const struct json *json,
                            struct type_options *o, struct err *e)
{
    const struct json *purpose = present(json, "description");
    const struct json *first = present(json, "instructions");
    const struct json *second = present(json, "agent_instructions");
    const struct json *schema = present(json, "metadata_schema");
    if (first && second)
        return err_set(e, ERR_INVALID,
                       "instructions and agent_instructions are two names of one field; "
                       "give one");
    first = first ? first : second;
    o->given[PART_PURPOSE] = purpose;
    o->given[PART_INSTRUCTIONS] = first;
    o->given[PART_SCHEMA] = schema;
    return (!purpose ||
            typefile_section(purpose, "description", &o->parts[PART_PURPOSE], e)) &&
           (!first ||
            typefile_section(first, "instructions", &o->parts[PART_INSTRUCTIONS], e)) &&
           (!schema || read_schema_option(v, schema, o, e));
}

static bool read_options(struct vault *v, const struct json *json, const char *call,
                         const char *const *keys, struct type_options *o, struct err *e)
{
    return options_check(json, call, keys, e) &&
           options_str(json, "type_name", NULL, &o->name, e) &&
           types_check_name(o->name, e) &&
           options_str(json, "content_hash", NULL, &o->hash, e) &&
           type_read_parts(v, json, o, e);
}

/* The text with all parts that were given put in. */
static bool type_put_parts(const struct type_options *o, struct str text, struct buf *out,
                           struct err *e)
{
    scoped_buf struct buf now, next;
    buf_init(&now, TYPEFILE_MAX);
    buf_init(&next, TYPEFILE_MAX);
    buf_str(&now, text);
    for (int i = 0; i < PART_COUNT; i++) {
        if (!o->given[i])
            continue;
        buf_clear(&next);
        typefile_replace(buf_view(&now), (enum typefile_part)i, buf_view(&o->parts[i]),
                         &next);
        buf_clear(&now);
        buf_str(&now, buf_view(&next));
        if (next.failed)
            return buf_check(&next, "the description", e);
    }
    buf_str(out, buf_view(&now));
    return buf_check(&now, "the description", e);
}

/* ---- create ------------------------------------------------------------------------ */

static bool already_described(struct str type, struct err *e)
{
    return err_set(e, ERR_CONFLICT,
                   "the type \"%.*s\" is described already; noteTypes.update changes it",
                   STR_ARGS(str_cut(type, 60)));
}

void types_tell(struct vault *v, struct str name, enum effect_deed deed,
                const struct buf *before, const struct buf *after)
{
    char path[PATH_MAX], old[HASH_SIZE] = "", now[HASH_SIZE] = "";
    types_path(name, path);
    if (before)
        note_hash(buf_view(before), old);
    if (after)
        note_hash(buf_view(after), now);
    outcome_add(v->view.outcome,
                &(struct effect){"type", deed, .id = name, .path = str_of(path),
                                 .before = str_of(old), .after = str_of(now)});
}

bool note_types_create(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    scoped_options struct type_options o;
    options_init(&o);
    scoped_buf struct buf head, text;
    buf_init(&head, BUF_LINE);
    buf_init(&text, TYPEFILE_MAX);
    if (!read_options(v, options, "noteTypes.create", NOTE_TYPES_CREATE_KEYS, &o, e))
        return false;
    if (!o.given[PART_PURPOSE])
        return err_set(e, ERR_INVALID,
                       "description is missing: what notes of this type are "
                       "for, a string");
    buf_printf(&head, "# %.*s\n", STR_ARGS(o.name));
    char path[PATH_MAX];
    types_path(o.name, path);
    const struct change_options how = {.action = "type"};
    if (!type_put_parts(&o, buf_view(&head), &text, e))
        return false;
    scoped(change_end) struct change *c = change_begin(v, &how, e);
    struct err why = {0};
    const struct change_file file = {.path = path, .now = buf_view(&text)};
    if (!c)
        return false;
    if (os_stamp(v->dir, path).inode)
        return already_described(o.name, e);
    if (!change_review(c, &file, e) || !vault_admits(v, text.n, e) ||
        !os_make_dirs(v->dir, TYPES_DIR, e))
        return false;
    if (!os_write_file(v->dir, path, buf_view(&text), OS_CREATE, FILE_MODE, NULL, &why))
        return why.code == ERR_CONFLICT ? already_described(o.name, e)
                                        : err_pass(e, &why);
    types_tell(v, o.name, EFFECT_MADE, NULL, &text);
    json_open_object(out);
    json_pair_str(out, "name", o.name);
    json_pair_cstr(out, "filename", path + sizeof TYPES_DIR);
    json_pair_cstr(out, "path", path);
    json_pair_time(out, "created", os_real_ms());
    json_close(out);
    return true;
}

/* ---- list and get ------------------------------------------------------------------- */

/* Writes a type's purpose, as far as its file can be read. */
static void put_purpose(struct vault *v, const struct type_row *row,
                        struct json_writer *w)
{
    scoped_buf struct buf text = buf_of(TYPEFILE_MAX);
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA);
    struct typefile t = {0};
    struct os_stat st;
    struct err none = {0};
    bool found;
    if (row->described && types_read(v, row->name, &text, &found, &st, &none))
        (void)typefile_read(buf_view(&text), a, &t, &none);
    json_pair_str(w, "description", t.purpose);
}

static bool types_read_list(const struct json *o, bool *fields, struct err *e)
{
    *fields = false;
    return !o || json_is(o, JSON_NULL) ||
           (options_check(o, "noteTypes.list", NOTE_TYPES_LIST_KEYS, e) &&
            options_bool(o, "fields", fields, e));
}

static void type_put_fields(const struct json *all, struct str type,
                            struct json_writer *w)
{
    const struct json *own = json_get_str(all, type);
    int64_t omitted = json_int(json_get(own, "omitted"), 0);
    if (own)
        json_pair(w, "fields", json_get(own, "fields"));
    else
        json_pair_raw(w, "fields", STR("[]"));
    if (omitted)
        json_pair_int(w, "fields_omitted", omitted);
}

bool note_types_list(struct vault *v, const struct json *options, struct json_writer *out,
                     struct err *e)
{
    bool fields;
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA + FIND_ANSWER_MAX);
    struct type_rows r = {.arena = a, .v = v};
    if (!types_read_list(options, &fields, e) || !list_types(&r, e))
        return false;
    bool hidden = fields && sight_hides(v, SIGHT_NOTES);
    const struct json *of_notes = fields && !hidden ? types_fields(v, a, e) : NULL;
    if (fields && !hidden && !of_notes)
        return false;
    json_open_array(out);
    for (size_t i = 0; i < r.count; i++) {
        char path[PATH_MAX];
        types_path(r.all[i].name, path);
        json_open_object(out);
        json_pair_str(out, "name", r.all[i].name);
        put_purpose(v, &r.all[i], out);
        json_pair_int(out, "noteCount", r.all[i].notes);
        json_key(out, "filename");
        if (r.all[i].described)
            json_put_cstr(out, path + sizeof TYPES_DIR);
        else
            json_put_null(out);
        if (hidden)
            sight_put_hidden(SIGHT_NOTES, out);
        else if (fields)
            type_put_fields(of_notes, r.all[i].name, out);
        json_close(out);
    }
    json_close(out);
    return buf_check(out->out, "the answer", e);
}

static void type_put(struct str type, const struct typefile *t, struct str text,
                     bool found, struct json_writer *w)
{
    char path[PATH_MAX], hash[HASH_SIZE];
    types_path(type, path);
    note_hash(text, hash);
    json_open_object(w);
    json_pair_str(w, "name", type);
    json_pair_str(w, "purpose", t->purpose);
    json_pair_cstr(w, "path", path);
    json_key(w, "instructions");
    typefile_put_instructions(t, w);
    json_pair(w, "metadata_schema", t->schema);
    json_key(w, "content_hash");
    if (found)
        json_put_cstr(w, hash);
    else
        json_put_null(w);
    if (t->damage[0])
        json_pair_cstr(w, "schema_error", t->damage);
    json_close(w);
}

/* "name" or {type_name (or typeName)}. */
static bool type_read_name(const struct json *json, const char *call, struct str *name,
                           struct err *e)
{
    *name = json_str(json);
    if (!json_is(json, JSON_STRING) &&
        (!options_check(json, call, NOTE_TYPES_GET_KEYS, e) ||
         !options_str(json, "type_name", "typeName", name, e)))
        return false;
    return types_check_name(*name, e);
}

bool note_types_get(struct vault *v, const struct json *name, struct json_writer *out,
                    struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA);
    scoped_buf struct buf text = buf_of(TYPEFILE_MAX);
    struct str type;
    struct os_stat st;
    struct typefile t;
    bool found;
    if (!type_read_name(name, "noteTypes.get", &type, e) ||
        !types_read(v, type, &text, &found, &st, e) ||
        !typefile_read(buf_view(&text), a, &t, e))
        return false;
    if (!found && !types_need(v, type, e))
        return false;
    type_put(type, &t, buf_view(&text), found, out);
    return buf_check(out->out, "the answer", e);
}

/* ---- update --------------------------------------------------------------------------- */

static bool check_hash(const struct type_options *o, struct str text, bool found,
                       struct err *e)
{
    char hash[HASH_SIZE];
    note_hash(text, hash);
    if (!o->hash.n || (found && str_is(o->hash, hash)))
        return true;
    return err_set(
        e, ERR_CONFLICT,
        "the description of the type was changed since it was read: content_hash "
        "is %.*s but the file's is %s. Nothing was written; read it again with "
        "noteTypes.get",
        STR_ARGS(str_cut(o->hash, 80)), found ? hash : "none: it is not there");
}

static bool write_description(struct vault *v, const struct type_options *o,
                              struct buf *text, struct err *e)
{
    scoped_buf struct buf old = buf_of(TYPEFILE_MAX);
    struct os_stat st;
    bool found;
    char path[PATH_MAX];
    types_path(o->name, path);
    const struct change_options how = {.action = "type"};
    scoped(change_end) struct change *c = change_begin(v, &how, e);
    if (!c || !types_read(v, o->name, &old, &found, &st, e) ||
        !check_hash(o, buf_view(&old), found, e) ||
        (!found && !types_need(v, o->name, e)))
        return false;
    if (!found)
        buf_printf(&old, "# %.*s\n", STR_ARGS(o->name));
    if (!type_put_parts(o, buf_view(&old), text, e))
        return false;
    const struct change_file file = {
        .path = path, .old = buf_view(&old), .now = buf_view(text), .there = found};
    if (!change_review(c, &file, e) || !vault_admits(v, text->n, e))
        return false;
    bool ok = found ? os_replace_file(v->dir, path, buf_view(text), &st, NULL, e)
                    : os_make_dirs(v->dir, TYPES_DIR, e) &&
                          os_write_file(v->dir, path, buf_view(text), OS_CREATE,
                                        FILE_MODE, NULL, e);
    if (ok)
        types_tell(v, o->name, found ? EFFECT_CHANGED : EFFECT_MADE, found ? &old : NULL,
                   text);
    return ok;
}

bool note_types_update(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    scoped_options struct type_options o;
    options_init(&o);
    scoped_buf struct buf text = buf_of(TYPEFILE_MAX);
    if (!read_options(v, options, "noteTypes.update", NOTE_TYPES_UPDATE_KEYS, &o, e))
        return false;
    if (!o.given[PART_PURPOSE] && !o.given[PART_INSTRUCTIONS] && !o.given[PART_SCHEMA])
        return err_set(e, ERR_INVALID,
                       "nothing to update: give description, instructions or "
                       "metadata_schema");
    scoped(arena_free) struct arena *a = arena_new(TYPE_ARENA);
    struct typefile t;
    if (!write_description(v, &o, &text, e) || !typefile_read(buf_view(&text), a, &t, e))
        return sight_refuse(v, SIGHT_TYPES, "noteTypes.update", e);
    if (sight_hides(v, SIGHT_TYPES)) {
        json_open_object(out);
        json_pair_bool(out, "updated", true);
        sight_put_hidden(SIGHT_TYPES, out);
        json_close(out);
        return true;
    }
    json_open_object(out);
    json_pair_str(out, "raw", buf_view(&text));
    json_key(out, "parsed");
    json_open_object(out);
    json_pair_str(out, "description", t.purpose);
    json_key(out, "agentInstructions");
    typefile_put_instructions(&t, out);
    if (t.schema)
        json_pair(out, "metadataSchema", t.schema);
    json_close(out);
    json_close(out);
    return buf_check(out->out, "the answer", e);
}
