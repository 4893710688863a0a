/* Functions that go to another vault or come from one. What comes is text of a stranger's:
 * it is read with the rules of a hand-made file and stored, never run. */
#include <stdio.h>

#include "functions/internal.h"

#define IMPORT_MEMORY ((size_t)256 << 20)
#define NAME_TRIES 1000

/* ---- out ------------------------------------------------------------------ */

struct export_head {
    struct str from;
};

static void export_put_head(void *arg, struct json_writer *w)
{
    const struct export_head *head = arg;
    char at[25];
    date_format(os_real_ms(), at);
    json_pair_cstr(w, "exportedAt", at);
    if (head->from.n)
        json_pair_str(w, "from", head->from);
}

static bool choose_exported(const struct function_set *set, const struct json *names,
                            const struct function **out, size_t *count, struct err *e)
{
    *count = 0;
    for (size_t i = 0; !names && i < set->count; i++)
        if (!set->all[i].origin.n)
            out[(*count)++] = &set->all[i];
    struct json_iter it = json_iter(names);
    while (json_next(&it)) {
        const struct function *fn = function_named(set, json_str(it.value));
        if (!fn)
            return set_missing(set, json_str(it.value), e);
        bool twice = false;
        for (size_t i = 0; i < *count; i++)
            twice |= out[i] == fn;
        if (!twice)
            out[(*count)++] = fn;
    }
    return true;
}

/* With their use as of now: the file only knows what it was when it was written. */
static void tell_use(struct functions *f, const struct function **all, size_t count,
                     struct function *copies)
{
    scoped(usage_counts_free) struct usage_counts *used = usage_count_all(f->usage);
    for (size_t i = 0; i < count; i++) {
        copies[i] = *all[i];
        all[i] = &copies[i];
        if (copies[i].origin.n)
            continue;
        struct usage_count live = usage_count_of(used, copies[i].id);
        if (live.calls > copies[i].usage_count)
            copies[i].usage_count = live.calls;
        if (live.last_ms > copies[i].last_used_ms)
            copies[i].last_used_ms = live.last_ms;
    }
}

bool functions_export(struct functions *f, const struct json *names, struct str from,
                      struct buf *out, size_t *count, struct err *e)
{
    scoped_set const struct function_set *set = functions_now(f, e);
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    if (!set)
        return false;
    if (json_length(names) > FUNCTIONS_MAX)
        return err_set(e, ERR_INVALID, "%zu names were given; at most %u are accepted",
                       json_length(names), FUNCTIONS_MAX);
    size_t most = (names ? json_length(names) : set->count) + 1;
    const struct function **all = arena_get(a, most * sizeof *all, e);
    struct function *copies = arena_get(a, most * sizeof *copies, e);
    if (!all || !copies || !choose_exported(set, names, all, count, e))
        return false;
    tell_use(f, all, *count, copies);
    struct export_head head = {from};
    return set_write(all, *count, NULL, export_put_head, &head, out, e);
}

/* ---- in: what shall become of each ---------------------------------------- */

enum fate {
    FATE_SKIPPED,
    FATE_SAME,
    FATE_CREATED,
    FATE_RENAMED,
    FATE_REPLACED,
    FATE_VERSION,
    FATE_FAILED,
    FATE_UNDONE
};
static const char *const fates[] = {"skipped",  "same",    "created", "renamed",
                                    "replaced", "version", "failed",  "not imported"};

struct coming {
    struct function fn; /* as it will be stored */
    struct str name;    /* that it came with */
    enum fate fate;
    struct findings found;
    uint32_t version;
    size_t change; /* which of the changes it is */
};

struct import {
    const struct function_import *want;
    const struct function_set *here; /* as it is */
    struct function_set *given;      /* as it came */
    struct arena *arena;
    struct coming *all;
    size_t count;
    struct renaming *renamings;
    size_t renaming_count;
    size_t failed;
};

static void import_done(struct import *im)
{
    for (size_t i = 0; i < im->count; i++)
        findings_done(&im->all[i].found);
    function_set_drop(im->given);
    function_set_drop(im->here);
    arena_free(im->arena);
}
#define scoped_import __attribute__((cleanup(import_done)))

static bool import_is_own(const struct function_set *s, struct str name,
                          const struct function **out)
{
    *out = function_named(s, name);
    return *out && !(*out)->origin.n && str_eq((*out)->name, name);
}

static bool is_coming(const struct import *im, struct str name)
{
    for (size_t i = 0; i < im->count; i++)
        if (str_eq(im->all[i].fn.name, name))
            return true;
    const struct function *other;
    return import_is_own(im->given, name, &other);
}

/* NAME2, NAME3 ...: the first that is free here and among those that come. */
static bool free_name(struct import *im, struct str name, struct str *out, struct err *e)
{
    struct str stem = str_cut(name, FUNCTION_NAME_MAX - 5);
    for (int i = 2; i < NAME_TRIES; i++) {
        const struct function *other;
        *out = str_of(arena_printf(im->arena, e, "%.*s%d", STR_ARGS(stem), i));
        if (e->code)
            return false;
        if (!import_is_own(im->here, *out, &other) && !is_coming(im, *out))
            return true;
    }
    return err_set(e, ERR_CONFLICT, "no name such as '%.*s2' is free", STR_ARGS(stem));
}

static bool settle_conflict(struct import *im, struct coming *c,
                            const struct function *taken, struct err *e)
{
    if (str_eq(taken->hash, c->fn.hash)) {
        c->fate = FATE_SAME;
        c->version = taken->version;
        return true;
    }
    static const enum fate by_wish[] = {[CONFLICT_SKIP] = FATE_SKIPPED,
                                        [CONFLICT_RENAME] = FATE_RENAMED,
                                        [CONFLICT_REPLACE] = FATE_REPLACED,
                                        [CONFLICT_VERSION] = FATE_VERSION};
    c->fate = by_wish[im->want->on];
    c->version = c->fate == FATE_SKIPPED ? taken->version : 0;
    if (c->fate != FATE_RENAMED)
        return true;
    struct str name;
    if (!free_name(im, c->name, &name, e))
        return false;
    im->renamings[im->renaming_count++] = (struct renaming){c->name, name};
    return function_renamed(&c->fn, name, im->arena, &c->fn, e);
}

static bool add_coming(struct import *im, const struct function *fn, struct err *e)
{
    struct coming *c = &im->all[im->count++];
    *c = (struct coming){.fn = *fn, .name = fn->name, .fate = FATE_CREATED};
    findings_init(&c->found);
    if (!json_get(json_get(fn->source, "metadata"), "createdAt"))
        c->fn.created_ms = 0;
    const struct function *taken;
    return !import_is_own(im->here, fn->name, &taken) || settle_conflict(im, c, taken, e);
}

static bool choose_coming(struct import *im, struct err *e)
{
    const struct json *names = im->want->names;
    size_t most = im->given->count + 1;
    im->all = arena_get(im->arena, most * sizeof *im->all, e);
    im->renamings = arena_get(im->arena, most * sizeof *im->renamings, e);
    if (!im->all || !im->renamings)
        return false;
    struct json_iter it = json_iter(names);
    while (json_next(&it))
        if (!function_named(im->given, json_str(it.value)))
            return set_missing(im->given, json_str(it.value), e) ||
                   err_wrap(e, "in the import");
    for (size_t i = 0; i < im->given->count; i++) {
        const struct function *fn = &im->given->all[i];
        bool wanted = !names;
        it = json_iter(names);
        while (!wanted && json_next(&it))
            wanted = function_named(im->given, json_str(it.value)) == fn;
        if (wanted && !add_coming(im, fn, e))
            return false;
    }
    return true;
}

/* Functions that are imported together go on calling each other under new names. */
static bool follow_renamings(struct import *im, struct err *e)
{
    for (size_t i = 0; im->renaming_count && i < im->count; i++) {
        struct function *fn = &im->all[i].fn;
        scoped_buf struct buf code = buf_of(FUNCTION_CODE_MAX);
        if (!rename_uses(fn, im->renamings, im->renaming_count, &code))
            continue;
        if (!buf_check(&code, "the code after renaming", e))
            return false;
        fn->code = versions_keep(im->arena, buf_view(&code), e);
        if (e->code || !function_hash(fn, im->arena, e))
            return false;
    }
    return true;
}

static bool is_stored(const struct coming *c)
{
    return c->fate == FATE_CREATED || c->fate == FATE_RENAMED ||
           c->fate == FATE_REPLACED || c->fate == FATE_VERSION;
}

/* ---- in: checked ----------------------------------------------------------- */

/* All that would be there afterwards. */
static struct function_set *imagine(struct import *im, struct err *e)
{
    scoped_new_set struct function_set *s =
        set_new((im->here->count + im->count + 2) * (sizeof *s->all + sizeof *s->by_id));
    s->all = arena_get(s->arena, (im->here->count + im->count + 1) * sizeof *s->all, e);
    if (!s->all)
        return NULL;
    for (size_t i = 0; i < im->here->count; i++) {
        bool goes = false;
        for (size_t k = 0; k < im->count && !goes; k++)
            goes = is_stored(&im->all[k]) &&
                   str_eq(im->all[k].fn.name, im->here->all[i].name);
        if (!goes)
            s->all[s->count++] = im->here->all[i];
    }
    for (size_t k = 0; k < im->count; k++)
        if (is_stored(&im->all[k]))
            s->all[s->count++] = im->all[k].fn;
    return set_sort(s, e) ? take(s) : NULL;
}

static bool check_coming(struct import *im, struct err *e)
{
    if (!im->want->check)
        return true;
    scoped_new_set struct function_set *among = imagine(im, e);
    for (size_t i = 0; among && i < im->count; i++) {
        struct coming *c = &im->all[i];
        if (!is_stored(c))
            continue;
        if (!im->want->check(im->want->arg, &c->fn, among, &c->found, e))
            return false;
        if (c->found.error_count) {
            c->fate = FATE_FAILED;
            im->failed++;
        }
    }
    return among;
}

/* ---- in: stored ------------------------------------------------------------ */

static bool store_coming(struct functions *f, struct import *im,
                         const struct function_author *who, struct err *e)
{
    struct function_change *changes =
        arena_get(im->arena, (2 * im->count + 1) * sizeof *changes, e);
    size_t n = 0;
    for (size_t i = 0; changes && i < im->count; i++) {
        struct coming *c = &im->all[i];
        if (!is_stored(c))
            continue;
        if (c->fate == FATE_REPLACED)
            changes[n++] = (struct function_change){.of = c->fn.name};
        c->change = n;
        changes[n++] =
            (struct function_change){.fn = &c->fn,
                                     .of = c->fate == FATE_VERSION ? c->fn.name : STR(""),
                                     .action = "imported"};
    }
    if (!changes || !functions_change(f, changes, n, who, NULL, e))
        return false;
    for (size_t i = 0; i < im->count; i++) {
        struct coming *c = &im->all[i];
        if (!is_stored(c))
            continue;
        c->version = changes[c->change].version;
        if (im->want->stored)
            im->want->stored(im->want->arg, c->fn.name, c->version);
    }
    return true;
}

/* ---- in: told -------------------------------------------------------------- */

static void export_put_list(struct json_writer *out, const char *key,
                            const struct buf *inside)
{
    if (!inside->n)
        return;
    json_key(out, key);
    json_open_array(out);
    json_put_raw(out, buf_view(inside));
    json_close(out);
}

static void put_coming(const struct coming *c, struct json_writer *out)
{
    json_open_object(out);
    json_pair_str(out, "name", c->name);
    json_pair_cstr(out, "action", fates[c->fate]);
    if (!str_eq(c->name, c->fn.name))
        json_pair_str(out, "newName", c->fn.name);
    if (c->version)
        json_pair_int(out, "version", c->version);
    export_put_list(out, "errors", &c->found.errors);
    export_put_list(out, "warnings", &c->found.warnings);
    json_close(out);
}

/* All or nothing: what is sound by itself is not there either. */
static void import_undo(struct import *im)
{
    for (size_t i = 0; i < im->count; i++)
        if (is_stored(&im->all[i]))
            im->all[i].fate = FATE_UNDONE;
}

static void put_error(const struct function_import *i, const char *why,
                      struct json_writer *out)
{
    if (i->put_error)
        i->put_error(i->arg, why, out);
    else
        json_pair_cstr(out, "error", why);
}

static void import_put_error(const struct import *im, struct json_writer *out)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "%zu of %zu function%s cannot be imported (functions says why); an "
                   "import is all or nothing, and nothing was changed",
                   im->failed, im->count, str_plural((int64_t)im->count));
    put_error(im->want, text, out);
}

static void put_report(const struct import *im, bool success, struct json_writer *out)
{
    size_t stored = 0, undone = 0;
    for (size_t i = 0; i < im->count; i++) {
        stored += is_stored(&im->all[i]);
        undone += im->all[i].fate == FATE_UNDONE;
    }
    json_open_object(out);
    json_pair_bool(out, "success", success);
    if (!success)
        import_put_error(im, out);
    if (im->want->dry_run)
        json_pair_bool(out, "dryRun", true);
    json_pair_int(out, "imported", (int64_t)stored);
    json_pair_int(out, "skipped", (int64_t)(im->count - stored - undone - im->failed));
    json_pair_int(out, "failed", (int64_t)im->failed);
    if (undone)
        json_pair_int(out, "notImported", (int64_t)undone);
    json_key(out, "functions");
    json_open_array(out);
    for (size_t i = 0; i < im->count; i++)
        put_coming(&im->all[i], out);
    json_close(out);
    json_close(out);
}

/* Reports an import that is not a file of functions. */
static bool put_refusal(const struct function_import *i, const struct findings *found,
                        struct json_writer *out)
{
    json_open_object(out);
    json_pair_bool(out, "success", false);
    put_error(i, "this is not a file of functions (see errors); nothing was changed",
              out);
    json_pair_int(out, "imported", 0);
    json_pair_int(out, "skipped", 0);
    json_pair_int(out, "failed", 0);
    json_key(out, "functions");
    json_open_array(out);
    json_close(out);
    export_put_list(out, "errors", &found->errors);
    json_close(out);
    return true;
}

bool functions_import(struct functions *f, const struct function_import *i,
                      const struct function_author *who, struct json_writer *out,
                      struct err *e)
{
    if (i->text.n > FUNCTIONS_FILE_MAX)
        return err_set(e, ERR_LIMIT, "the file has %zu bytes; at most %zu are accepted",
                       i->text.n, FUNCTIONS_FILE_MAX);
    if (!str_is_utf8(i->text))
        return err_set(e, ERR_INVALID,
                       "the file is not UTF-8 text; nothing was imported");
    scoped_import struct import im = {.want = i, .arena = arena_new(IMPORT_MEMORY)};
    scoped_findings struct findings found;
    findings_init(&found);
    im.given = set_read(i->text, os_real_ms(), &found, e);
    if (!im.given)
        return !e->code && put_refusal(i, &found, out);
    im.here = functions_now(f, e);
    if (!im.here || !choose_coming(&im, e) || !follow_renamings(&im, e) ||
        !check_coming(&im, e))
        return false;
    bool success = !im.failed || i->partly;
    if (!success)
        import_undo(&im);
    else if (!i->dry_run && !store_coming(f, &im, who, e))
        return false;
    put_report(&im, success, out);
    return true;
}
