/* Folders of machines: vm.ls. */
#include "machines/machine_inside.h"
#include "machines/machine_names.h"
#include "machines/vm_files.api.h"

#define LIST_BYTES \
    ((uint64_t)24 << 20) /* of all entries; a folder of 100,000 has some 10 MB */

/* $1 path. Five fields for each entry, each with a NUL behind it. */
static const char list_script[] =
    "no() { printf '%s: %s\\n' \"$1\" \"$2\" >&2; exit 1; }\n"
    "[ -e \"$1\" ] || no \"$1\" 'No such file or directory'\n"
    "[ -d \"$1\" ] || no \"$1\" 'Not a directory'\n"
    "find \"$1/.\" -mindepth 1 -maxdepth 1 -printf '%y %s %m %T@\\0%f\\0%l\\0'\n";

struct entry {
    struct str name, target;
    uint64_t size, seconds;
    char type;
    struct str mode;
};

struct list {
    struct str path, machine, after;
    uint64_t limit;
    struct entry *rows;
    size_t count;
};

static bool list_option(struct list *l, const struct tool_call *c, struct str key,
                        const struct json *v, struct err *e)
{
    if (str_is(key, "path"))
        return inside_path(v, c->arena, &l->path, e);
    if (str_is(key, "machine"))
        return inside_handle(v, &l->machine, e);
    if (str_is(key, "after")) {
        l->after = json_str(v);
        return json_is(v, JSON_STRING) ||
               err_set(e, ERR_INVALID, "after is %s; the name of an entry is accepted",
                       json_type_name(json_type(v)));
    }
    if (str_is(key, "limit")) {
        int64_t n = json_is_int(v) ? json_int(v, 0) : 0;
        l->limit = (uint64_t)n;
        return (n >= 1 && n <= VM_LS_LIMIT_MOST) ||
               err_set(e, ERR_INVALID, "limit is not a whole number from 1 to %d",
                       VM_LS_LIMIT_MOST);
    }
    return call_option_unknown(key, VM_LS_KEYS, "nothing was listed", e);
}

/* ---- what find prints -------------------------------------------------------------------- */

static bool take_field(struct str *rest, struct str *out)
{
    const char *end = rest->n ? memchr(rest->at, 0, rest->n) : NULL;
    if (!end)
        return false;
    *out = (struct str){rest->at, (size_t)(end - rest->at)};
    *rest = (struct str){end + 1, rest->n - out->n - 1};
    return true;
}

static struct str take_word(struct str *s)
{
    const char *space = s->n ? memchr(s->at, ' ', s->n) : NULL;
    struct str word = {s->at, space ? (size_t)(space - s->at) : s->n};
    size_t n = space ? word.n + 1 : word.n;
    *s = (struct str){s->at + n, s->n - n};
    return word;
}

/* As far as there are digits: "17.25" is 17; before 1970 is 0. */
static bool read_whole(struct str s, uint64_t *out)
{
    size_t i = 0;
    *out = 0;
    if (s.n && s.at[0] == '-')
        return true;
    for (; i < s.n && i < 18 && char_is_digit(s.at[i]); i++)
        *out = *out * 10 + (uint64_t)(s.at[i] - '0');
    return i > 0 && (i == s.n || s.at[i] == '.');
}

static bool is_octal(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '7')
            return false;
    return s.n >= 1 && s.n <= 4;
}

static bool take_entry(struct str *rest, struct entry *row, struct err *e)
{
    struct str about;
    if (!take_field(rest, &about) || !take_field(rest, &row->name) ||
        !take_field(rest, &row->target))
        return inside_garbled(e);
    struct str type = take_word(&about), size = take_word(&about);
    row->mode = take_word(&about);
    row->type = type.n == 1 ? type.at[0] : '\0';
    bool ok = type.n == 1 && row->name.n && is_octal(row->mode) &&
              read_whole(size, &row->size) && read_whole(about, &row->seconds);
    return ok || inside_garbled(e);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool read_entries(struct list *l, struct str text, struct arena *a, struct err *e)
{
    size_t fields = 0;
    for (size_t i = 0; i < text.n; i++)
        fields += text.at[i] == '\0';
    l->rows = arena_get(a, (fields / 3 + 1) * sizeof *l->rows, e);
    if (!l->rows)
        return false;
    while (text.n)
        if (!take_entry(&text, &l->rows[l->count++], e))
            return false;
    qsort(l->rows, l->count, sizeof *l->rows, by_name);
    return true;
}

/* ---- the answer ------------------------------------------------------------------------- */

static const char *type_name(char type)
{
    static const struct {
        char type;
        const char *name;
    } names[] = {{'f', "file"},   {'d', "folder"}, {'l', "link"},  {'p', "pipe"},
                 {'s', "socket"}, {'b', "device"}, {'c', "device"}};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (names[i].type == type)
            return names[i].name;
    return "other";
}

static void put_entry(const struct entry *row, struct json_writer *w)
{
    json_open_object(w);
    machine_put_name("name", "nameBase64", row->name, w);
    json_pair_cstr(w, "type", type_name(row->type));
    json_pair_int(w, "size", (int64_t)row->size);
    json_pair_str(w, "mode", row->mode);
    json_pair_time(w, "modified", (int64_t)(row->seconds * 1000));
    if (row->type == 'l')
        machine_put_name("target", "targetBase64", row->target, w);
    json_close(w);
}

static void put_list(const struct list *l, const char *handle, struct json_writer *w)
{
    size_t first = 0, shown = 0;
    while (l->after.n && first < l->count && str_cmp(l->rows[first].name, l->after) <= 0)
        first++;
    json_open_object(w);
    inside_put_path(l->path, w);
    json_key(w, "entries");
    json_open_array(w);
    for (; first + shown < l->count && shown < l->limit; shown++)
        put_entry(&l->rows[first + shown], w);
    json_close(w);
    json_pair_int(w, "total", (int64_t)l->count);
    if (first + shown < l->count)
        json_pair_bool(w, "more", true);
    json_pair_cstr(w, "machine", handle);
    json_close(w);
}

bool machines_ls(const struct tool_call *c, const struct json *options,
                 struct json_writer *out, struct err *e)
{
    struct list l = {.path = STR("/root"), .limit = VM_LS_LIMIT_USUAL};
    struct json_iter it = json_iter(options);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) && !list_option(&l, c, it.key, it.value, e))
            return false;
    struct inside in = {.call = c,
                        .name = "vm.ls",
                        .script = list_script,
                        .words = &l.path,
                        .word_count = 1,
                        .machine = l.machine,
                        .output_bytes = LIST_BYTES,
                        .request = options};
    bool ok = inside_run(&in, e) &&
              read_entries(&l, buf_view(&in.result.stdout_bytes), c->arena, e);
    if (ok)
        put_list(&l, in.handle, out);
    inside_done(&in, e);
    return ok && buf_check(out->out, "the answer", e);
}
