/* Sets: all functions of a file, or of a vault with its libraries, as they were at one
 * moment. Made once, then shared and never changed. */
#include "crypto/crypto.h"
#include "functions/internal.h"
#include "functions/reader.h"

#define ARENA_BASE \
    ((size_t)8 << 20) /* and eight times the text: small values are larger */

static const char *const containers[] = {"functions", "customFunctions", NULL};

struct function_set *set_new(size_t text_bytes)
{
    struct function_set *s = mem_new(sizeof *s);
    atomic_init(&s->holders, 1);
    s->arena = arena_new(ARENA_BASE + 8 * text_bytes);
    return s;
}

const struct function_set *function_set_hold(const struct function_set *s)
{
    atomic_fetch_add(&((struct function_set *)(uintptr_t)s)->holders, 1);
    return s;
}

void function_set_drop(const struct function_set *shared)
{
    struct function_set *s = (struct function_set *)(uintptr_t)shared;
    if (!s || atomic_fetch_sub(&s->holders, 1) != 1)
        return;
    for (size_t i = 0; i < s->part_count; i++)
        function_set_drop(s->parts[i]);
    arena_free(s->arena);
    free(s);
}

/* ---- looking ------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static int compare_ids(const void *a, const void *b)
{
    const struct function *const *x = a, *const *y = b;
    return str_cmp((*x)->id, (*y)->id);
}

static const struct function *find_id(const struct function_set *s, struct str id)
{
    const struct function key = {.id = id}, *wanted = &key;
    const struct function *const *found =
        s->count ? bsearch(&wanted, s->by_id, s->count, sizeof *s->by_id, compare_ids)
                 : NULL;
    return found ? *found : NULL;
}

const struct function *function_named(const struct function_set *s, struct str name)
{
    const struct function key = {.name = name};
    const struct function *found =
        s->count ? bsearch(&key, s->all, s->count, sizeof *s->all, compare_names) : NULL;
    return found ? found : find_id(s, name);
}

const struct function *function_at(const struct function_set *s, size_t i)
{
    return i < s->count ? &s->all[i] : NULL;
}

size_t function_count(const struct function_set *s)
{
    return s->count;
}

struct str function_set_hash(const struct function_set *s)
{
    return str_of(s->hash);
}

struct str function_hides(const struct function_set *s, const struct function *fn)
{
    if (!fn->origin.n)
        for (size_t i = 1; i < s->part_count; i++) {
            const struct function key = {.name = fn->name};
            const struct function_set *part = s->parts[i];
            if (part->count &&
                bsearch(&key, part->all, part->count, sizeof key, compare_names))
                return s->origins[i];
        }
    return (struct str){"", 0};
}

/* ---- making -------------------------------------------------------------- */

bool set_sort(struct function_set *s, struct err *e)
{
    if (s->count)
        qsort(s->all, s->count, sizeof *s->all, compare_names);
    s->by_id = arena_get(s->arena, (s->count + 1) * sizeof *s->by_id, e);
    for (size_t i = 0; s->by_id && i < s->count; i++)
        s->by_id[i] = &s->all[i];
    if (s->by_id && s->count)
        qsort(s->by_id, s->count, sizeof *s->by_id, compare_ids);
    return s->by_id;
}

/* The list of functions in a file, and under which key; NULL: there is none. */
static const struct json *find_list(const struct json *root, const char **key)
{
    *key = NULL;
    if (json_is(root, JSON_ARRAY))
        return root;
    const struct json *settings = json_get(root, "vaultSettings");
    for (size_t i = 0; containers[i]; i++) {
        const struct json *list = json_get(root, containers[i]);
        if (list) {
            *key = containers[i];
            return list;
        }
        if (json_get(settings, containers[i]))
            return json_get(settings, containers[i]);
    }
    return NULL;
}

static void check_twice(struct reader *r, const struct function *fn,
                        const struct function *of, size_t of_index, bool name)
{
    reader_enter(r, name ? STR("name") : STR("id"));
    if (name)
        reader_wrong(r, "DUPLICATE_NAME",
                     "'%.*s' is the name of functions[%zu], too; another is accepted",
                     STR_ARGS(str_cut(fn->name, 80)), of_index);
    else
        reader_wrong(r, "DUPLICATE_ID",
                     "'%.*s' is the id of functions[%zu] ('%.*s'), too; without the id "
                     "this one gets a new one",
                     STR_ARGS(str_cut(fn->id, 80)), of_index,
                     STR_ARGS(str_cut(of->name, 80)));
    reader_leave(r);
}

struct entry { /* to find those that are equal */
    struct str text;
    size_t index;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = str_cmp(x->text, y->text);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static bool check_unique(struct reader *r, const struct function *all, size_t count,
                         bool names, struct err *e)
{
    struct entry *entries = arena_get(r->arena, (count + 1) * sizeof *entries, e);
    if (!entries)
        return false;
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){names ? all[i].name : all[i].id, i};
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 1; i < count; i++) {
        const struct function *fn = &all[entries[i].index],
                              *of = &all[entries[i - 1].index];
        /* Two with one name, which was reported, may have ids made of it. */
        if (!entries[i].text.n || !str_eq(entries[i].text, entries[i - 1].text) ||
            (!names && str_eq(fn->name, of->name)))
            continue;
        reader_enter_at(r, entries[i].index);
        check_twice(r, fn, of, entries[i - 1].index, names);
        reader_leave(r);
    }
    return true;
}

static bool read_list(struct reader *r, const struct json *list, struct function_set *s,
                      struct err *e)
{
    bool by_id = json_is(list, JSON_OBJECT); /* as other programs have it */
    if (!by_id && !json_is(list, JSON_ARRAY)) {
        reader_wrong(r, "WRONG_TYPE", "is %s; a list of functions is accepted",
                     json_type_name(json_type(list)));
        return true;
    }
    size_t n = json_length(list);
    if (n > FUNCTIONS_MAX) {
        reader_wrong(r, "TOO_MANY", "has %zu functions; at most %u are accepted", n,
                     FUNCTIONS_MAX);
        return true;
    }
    s->all = arena_get(s->arena, (n + 1) * sizeof *s->all, e);
    struct json_iter it = json_iter(list);
    for (size_t i = 0; s->all && json_next(&it); i++) {
        if (by_id)
            reader_enter(r, it.key);
        else
            reader_enter_at(r, i);
        bool ok = reader_function(r, it.value, &s->all[i], e);
        reader_leave(r);
        if (!ok ||
            (r->found->error_count == 0 && !function_hash(&s->all[i], s->arena, e)))
            return false;
    }
    s->count = n;
    return s->all && check_unique(r, s->all, n, true, e) &&
           check_unique(r, s->all, n, false, e);
}

static bool read_root(struct reader *r, struct function_set *s, struct err *e)
{
    const struct json *root = r->root;
    const char *key;
    const struct json *list = find_list(root, &key);
    if (json_int(json_get(root, "version"), 1) > FORMAT_VERSION)
        return err_set(e, ERR_CONFLICT,
                       "it was written by a newer version of this program (format %lld; "
                       "%d is known)",
                       (long long)json_int(json_get(root, "version"), 1), FORMAT_VERSION);
    if (!list) {
        reader_wrong(
            r, "MISSING_FIELD",
            "holds no functions; {\"version\": 1, \"functions\": [...]} is accepted");
        return true;
    }
    s->root = json_is(root, JSON_OBJECT) ? root : NULL;
    if (!key && list != root) {
        reader_enter(r, STR("vaultSettings"));
        key = "customFunctions";
        reader_enter(r, str_of(key));
        bool ok = read_list(r, list, s, e);
        r->depth = 0;
        return ok;
    }
    if (key)
        reader_enter(r, str_of(key));
    bool ok = read_list(r, list, s, e);
    r->depth = 0;
    return ok;
}

void set_hash(struct str text, char out[static SET_HASH])
{
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(text, hash);
    memcpy(out, hash, SET_HASH - 1);
    out[SET_HASH - 1] = '\0';
}

struct function_set *set_read(struct str text, int64_t mtime_ms, struct findings *found,
                              struct err *e)
{
    struct function_set *s = set_new(text.n);
    set_hash(text, s->hash);
    if (str_starts(text, "\xef\xbb\xbf"))
        text = (struct str){text.at + 3, text.n - 3};
    struct reader r = {.arena = s->arena,
                       .found = found,
                       .text = text,
                       .of_file = true,
                       .usual_ms = mtime_ms};
    uint32_t before = found->error_count;
    struct err why = {0};
    bool ok = true;
    if (text.n) {
        r.root = json_read(text, s->arena, &why);
        if (!r.root && why.code == ERR_INVALID)
            reader_wrong_at(&r, json_failed_at(&why), "SYNTAX", why.msg);
        else if (!r.root)
            ok = err_pass(e, &why);
        else
            ok = read_root(&r, s, e);
    }
    if (ok && found->error_count == before && set_sort(s, e))
        return s;
    function_set_drop(s);
    return NULL;
}

/* ---- libraries ----------------------------------------------------------- */

static bool hash_parts(struct function_set *s, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    for (size_t i = 0; i < s->part_count; i++)
        buf_printf(&text, "%s %.*s\n", s->parts[i]->hash, STR_ARGS(s->origins[i]));
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&text), hash);
    memcpy(s->hash, hash, SET_HASH - 1);
    return buf_check(&text, "the libraries' names", e);
}

static bool add_part(struct function_set *s, const struct function_set *part,
                     struct str origin, struct err *e)
{
    s->parts[s->part_count] = function_set_hold(part);
    s->origins[s->part_count++] = origin;
    size_t before = s->count;
    for (size_t i = 0; i < part->count; i++) {
        const struct function key = {.name = part->all[i].name};
        if (before && bsearch(&key, s->all, before, sizeof key, compare_names))
            continue;
        s->all[s->count] = part->all[i];
        s->all[s->count++].origin = origin;
    }
    qsort(s->all, s->count, sizeof *s->all, compare_names);
    return !e->code;
}

struct function_set *set_join(const struct function_set *own,
                              const struct function_set *const *libraries,
                              const char *const *names, size_t count, struct err *e)
{
    size_t most = own->count, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        most += libraries[i]->count;
        bytes += strlen(names[i]) + 64;
    }
    scoped_new_set struct function_set *s =
        set_new(bytes + most * (sizeof *s->all + sizeof *s->by_id));
    s->all = arena_get(s->arena, (most + 1) * sizeof *s->all, e);
    s->parts = arena_get(s->arena, (count + 1) * sizeof *s->parts, e);
    s->origins = arena_get(s->arena, (count + 1) * sizeof *s->origins, e);
    if (!s->all || !s->parts || !s->origins || !add_part(s, own, (struct str){"", 0}, e))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        char *name = arena_copy(s->arena, names[i], strlen(names[i]), e);
        if (!name || !add_part(s, libraries[i], str_of(name), e))
            return NULL;
    }
    return hash_parts(s, e) && set_sort(s, e) ? take(s) : NULL;
}

/* ---- writing ------------------------------------------------------------- */

static void put_rest(const struct json *root, struct json_writer *w)
{
    static const char *const ours[] = {"version",    "functions", "customFunctions",
                                       "exportedAt", "from",      NULL};
    json_put_pairs(w, root, ours);
}

bool set_write(const struct function *const *all, size_t count, const struct json *root,
               void (*head)(void *arg, struct json_writer *w), void *arg, struct buf *out,
               struct err *e)
{
    struct json_writer w = json_writer(out);
    w.lines = true;
    json_open_object(&w);
    json_pair_int(&w, "version", FORMAT_VERSION);
    if (head)
        head(arg, &w);
    json_key(&w, "functions");
    json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        function_write(all[i], &w);
    json_close(&w);
    put_rest(root, &w);
    json_close(&w);
    buf_char(out, '\n');
    return !out->failed ||
           err_set(
               e, ERR_LIMIT,
               "the functions would make a file of more than %zu MB, which is all that "
               "is kept of a vault; nothing was changed",
               FUNCTIONS_FILE_MAX >> 20);
}

/* ---- names that are not there -------------------------------------------- */

const struct function *set_nearest(const struct function_set *s, struct str name)
{
    const struct function *best = NULL;
    size_t least = name.n / 3 + 2; /* further away nobody means it */
    for (size_t i = 0; i < s->count; i++) {
        size_t distance = str_distance(name, s->all[i].name);
        if (distance < least) {
            least = distance;
            best = &s->all[i];
        }
    }
    return best;
}

bool set_missing(const struct function_set *s, struct str name, struct err *e)
{
    const struct function *near = set_nearest(s, name);
    return err_set(e, ERR_NOT_FOUND, "no function is called '%.*s'%s%.*s%s",
                   STR_ARGS(str_cut(name, 80)),
                   near       ? "; did you mean '"
                   : s->count ? ""
                              : ": this vault has none",
                   STR_ARGS(near ? near->name : STR("")), near ? "'?" : "");
}
