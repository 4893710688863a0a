/* A custom function as a Python file: its code, which says the most of it itself, behind a
 * comment "# cloche: {...}" with what the code does not say. */
#include "cli/fn_source.h"

static const char mark[] = "# cloche: ";

static bool stands_in(struct str text, struct str code)
{
    return !text.n || memmem(code.at, code.n, text.at, text.n);
}

/* Whether the code says the type of this parameter: "name:" */
static bool has_type(struct str name, struct str code)
{
    scoped_buf struct buf typed = buf_of(BUF_LINE);
    buf_str(&typed,
            str_starts(name, "...") ? (struct str){name.at + 3, name.n - 3} : name);
    buf_char(&typed, ':');
    return stands_in(buf_view(&typed), code);
}

static void put_parameters(const struct json *function, struct str code,
                           struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(function, "parameters"));
    json_open_object(w);
    while (json_next(&it)) {
        struct str about = json_str(json_get(it.value, "description")),
                   type = json_str(json_get(it.value, "type"));
        bool described = stands_in(about, code),
             typed = str_is(type, "any") || has_type(it.key, code);
        if (described && typed)
            continue;
        json_key_str(w, it.key);
        json_open_object(w);
        if (!typed)
            json_pair_str(w, "type", type);
        if (!described)
            json_pair_str(w, "description", about);
        json_close(w);
    }
    json_close(w);
}

void fn_source_python_write(const struct json *function, struct buf *out)
{
    scoped_buf struct buf head, parameters;
    buf_init(&head, BUF_FILE);
    buf_init(&parameters, BUF_FILE);
    struct json_writer w = json_writer(&head), inner = json_writer(&parameters);
    struct str code = json_str(json_get(function, "code")),
               about = json_str(json_get(function, "description")),
               returns = json_str(json_get(function, "returnType"));
    json_open_object(&w);
    json_pair(&w, "name", json_get(function, "name"));
    if (!stands_in(about, code))
        json_pair_str(&w, "description", about);
    put_parameters(function, code, &inner);
    if (parameters.n > 2)
        json_pair_raw(&w, "parameters", buf_view(&parameters));
    if (!stands_in(STR("->"), code) && !str_is(returns, "any") &&
        !str_is(returns, "Promise<any>"))
        json_pair_str(&w, "returnType", returns);
    if (json_length(json_get(function, "tags")))
        json_pair(&w, "tags", json_get(function, "tags"));
    if (json_length(json_get(function, "examples")))
        json_pair(&w, "examples", json_get(function, "examples"));
    json_close(&w);
    buf_printf(out, "%s%.*s\n%.*s%s", mark, STR_ARGS(buf_view(&head)), STR_ARGS(code),
               str_ends(code, "\n") ? "" : "\n");
    out->failed |= head.failed || parameters.failed;
}

static const struct json *read_head(struct str text, struct arena *arena, size_t *bytes,
                                    struct err *e)
{
    const char *end = memchr(text.at, '\n', text.n);
    size_t n = end ? (size_t)(end - text.at) : text.n;
    *bytes = 0;
    if (!str_starts(text, mark))
        return NULL;
    *bytes = n + (end != NULL);
    const struct json *head = json_read(
        (struct str){text.at + sizeof mark - 1, n - (sizeof mark - 1)}, arena, e);
    if (head && !json_is(head, JSON_OBJECT))
        err_set(e, ERR_INVALID, "an object is expected behind '%s'", mark);
    if (e->code)
        (void)err_wrap(e, "line 1");
    return e->code ? NULL : head;
}

bool fn_source_python_read(struct str text, struct str name, struct buf *out,
                           unsigned *first_line, struct err *e)
{
    static const char *const own[] = {"name", "language", "code", NULL};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    size_t bytes;
    const struct json *head = read_head(text, arena, &bytes, e);
    if (e->code)
        return false;
    struct str code = {text.at + bytes, text.n - bytes};
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    if (name.n)
        json_pair_str(&w, "name", name);
    else if (json_get(head, "name"))
        json_pair(&w, "name", json_get(head, "name"));
    json_put_pairs(&w, head, own);
    json_pair_cstr(&w, "language", "python");
    json_pair_str(&w, "code", code);
    json_close(&w);
    *first_line = bytes ? 1 : 0;
    return buf_check(out, "the definition", e);
}
