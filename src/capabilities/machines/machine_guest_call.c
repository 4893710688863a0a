/* A call by a program of a machine: its request read, performed, and answered. Everything in it is
 * checked: the machine may have replaced the program. */
#include "machines/machine_guest_call.h"

#include <stdio.h>

#include "abi/callback.h"
#include "calls/calls.h"
#include "crypto/crypto.h"
#include "machines/internal.h"
#include "performing/performing.h"

#define NAME_MAX_BYTES 100u /* of a call */

/* ---- the request ------------------------------------------------------------------------- */

static bool take_bytes(struct str *rest, void *out, size_t n)
{
    if (rest->n < n)
        return false;
    memcpy(out, rest->at, n);
    *rest = (struct str){rest->at + n, rest->n - n};
    return true;
}

static bool take_item(struct str *rest, uint32_t *kind, struct str *bytes)
{
    struct callback_item_head head;
    if (!take_bytes(rest, &head, sizeof head) || head.n > rest->n)
        return false;
    *kind = head.kind;
    *bytes = (struct str){rest->at, head.n};
    *rest = (struct str){rest->at + head.n, rest->n - head.n};
    return true;
}

/* Text, or where `as_json` JSON, if it is that; what is not UTF-8 becomes {base64}. */
static void put_value(struct str text, bool as_json, struct arena *a,
                      struct json_writer *w)
{
    struct err none = {0};
    const struct json *v = as_json ? json_read(text, a, &none) : NULL;
    if (v) {
        json_put(w, v);
    } else if (str_is_utf8(text)) {
        json_put_str(w, text);
    } else {
        scoped_buf struct buf coded = buf_of(text.n / 3 * 4 + 8);
        (void)crypto_base64(text.at, text.n, &coded);
        json_open_object(w);
        json_pair_str(w, "base64", buf_view(&coded));
        json_close(w);
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of "key=value" and "key:=json"; 0: it is neither. */
static size_t key_length(struct str s, bool *as_json)
{
    size_t n = 0;
    while (n < s.n &&
           (is_letter(s.at[n]) || s.at[n] == '_' || (n && char_is_digit(s.at[n]))))
        n++;
    *as_json = n + 1 < s.n && s.at[n] == ':' && s.at[n + 1] == '=';
    return n && n < s.n && (s.at[n] == '=' || *as_json) ? n : 0;
}

/* A word without a key, and without ":=" before it: an object or an array, or text. */
static bool is_compound(struct str s)
{
    return s.n && (s.at[0] == '{' || s.at[0] == '[');
}

struct request {
    char name[NAME_MAX_BYTES + 1];
    bool raw;
    struct buf words, options; /* the insides of the array, and of its last object */
};

static bool is_unreadable(struct err *e)
{
    return err_set(e, ERR_INVALID, "the request cannot be read");
}

/* A word, with the bytes that are its value, if such follow. */
static bool add_word(struct request *r, struct str word, struct str *rest,
                     struct arena *a, struct err *e)
{
    uint32_t kind = CALLBACK_WORD;
    struct str bytes = {0}, ahead = *rest, value = word;
    bool has_bytes =
        ahead.n && take_item(&ahead, &kind, &bytes) && kind == CALLBACK_BYTES;
    bool as_json, bare_json = str_starts(word, ":=");
    size_t key = key_length(word, &as_json);
    size_t skipped = bare_json ? 2 : key ? key + 1 + as_json : 0;
    if (has_bytes) {
        value = bytes;
        *rest = ahead;
    } else {
        value = (struct str){word.at + skipped, word.n - skipped};
    }
    as_json = key ? as_json : bare_json || (!has_bytes && is_compound(word));
    if (!str_is_utf8(word))
        return err_set(e, ERR_INVALID, "an argument is not UTF-8: give it by KEY=@-");
    struct buf *into = key ? &r->options : &r->words;
    if (into->n)
        buf_char(into, ',');
    struct json_writer w = json_writer(into);
    if (key) {
        buf_char(into, '"');
        buf_put(into, word.at, key);
        buf_cstr(into, "\":");
    }
    put_value(value, as_json, a, &w);
    return true;
}

static bool read_request(struct str rest, struct request *r, struct arena *a,
                         struct err *e)
{
    while (rest.n) {
        uint32_t kind;
        struct str word;
        if (!take_item(&rest, &kind, &word))
            return is_unreadable(e);
        if (kind == CALLBACK_RAW) {
            r->raw = true;
        } else if (kind != CALLBACK_WORD) {
            return is_unreadable(e);
        } else if (!*r->name) {
            if (!word.n || word.n > NAME_MAX_BYTES || !str_is_utf8(word) ||
                memchr(word.at, 0, word.n))
                return err_set(e, ERR_NOT_FOUND, "the first word is no name of a call");
            (void)snprintf(r->name, sizeof r->name, "%.*s", STR_ARGS(word));
        } else if (!add_word(r, word, &rest, a, e)) {
            return false;
        }
    }
    return *r->name || is_unreadable(e);
}

/* ---- the call -------------------------------------------------------------------------- */

/* A row that can be called so; `member` is empty but for one of a family. */
static const struct host_call *row_of(const char *name, struct str *member, struct err *e)
{
    const struct host_call *row = host_call_of_member(name, member);
    if (row)
        return row;
    *member = (struct str){0};
    row = host_call_named(name);
    bool there = row && !row->hidden && row->call && strchr(name, '.');
    if (there && str_eq(api_namespace(row), api_namespace(vm_calls.rows)))
        err_set(e, ERR_DENIED, "%s is not for programs of machines, which are in one",
                name);
    else if (there && row->row.feature)
        err_set(e, ERR_DENIED, "%s is not for programs of machines", name);
    else if (!there)
        err_set(e, ERR_NOT_FOUND,
                "there is no call '%s'; cloche-guest api.search WORD finds one", name);
    return e->code ? NULL : row;
}

/* Neither is a command for a machine in what it calls: a stage of a pipeline. */
static bool check_stages(struct str args, struct arena *arena, struct err *e)
{
    const struct json *all = json_read(args, arena, e);
    struct json_iter it = json_iter(all);
    while (json_next(&it)) {
        struct json_iter stages =
            json_iter(json_is(it.value, JSON_ARRAY) ? it.value : NULL);
        while (json_next(&stages))
            if (json_get(stages.value, machine_tool_runner.stage_key))
                return err_set(e, ERR_DENIED,
                               "commands of machines are not for programs of machines, "
                               "which are in one");
    }
    return all != NULL;
}

/* With -r: a text as it is; of a program's result (tools.run) its standard output, or its
 * standard error, if it failed; anything else as JSON. */
static bool put_raw(const struct json *v, struct str json, struct buf *out, struct err *e)
{
    const struct json *printed = json_get(v, "stdout");
    if (json_is(v, JSON_STRING))
        return buf_str(out, json_str(v));
    if (!json_is(printed, JSON_STRING) || !json_get(v, "exitCode"))
        return buf_str(out, json);
    if (!json_bool(json_get(v, "success"), false))
        return err_set(e, ERR_GUEST, "exit code %lld: %.*s",
                       (long long)json_int(json_get(v, "exitCode"), 0),
                       STR_ARGS(str_cut(json_str(json_get(v, "stderr")), 300)));
    return json_get(v, "stdoutEncoding") ? crypto_base64_read(json_str(printed), out, e)
                                         : buf_str(out, json_str(printed));
}

/* The array of arguments. */
static void put_arguments(const struct request *r, struct buf *out)
{
    buf_char(out, '[');
    buf_str(out, buf_view(&r->words));
    if (r->options.n) {
        buf_cstr(out, r->words.n ? ",{" : "{");
        buf_str(out, buf_view(&r->options));
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

/* Puts them in the form of host_call_of_member(). */
static bool wrap_arguments(struct str member, struct buf *args, struct arena *arena,
                           struct err *e)
{
    const struct json *all = json_read(buf_view(args), arena, e);
    struct json_iter it = json_iter(all);
    buf_clear(args);
    struct json_writer w = json_writer(args);
    json_open_array(&w);
    json_put_str(&w, member);
    json_open_array(&w);
    while (json_next(&it)) {
        json_open_object(&w);
        json_pair(&w, "value", it.value);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    return all && buf_check(args, "the arguments", e);
}

/* The error in a member's answer. */
static bool member_failed(const struct json *why, struct err *e)
{
    char name[60];
    struct str said = str_cut(json_str(json_get(why, "name")), sizeof name - 1);
    struct str message = str_cut(json_str(json_get(why, "message")), 400);
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(said));
    enum err_code code = err_code_named(name);
    return code ? err_set(e, code, "%.*s", STR_ARGS(message))
                : err_set(e, ERR_GUEST, "%s: %.*s", name, STR_ARGS(message));
}

/* Appends the answer; of a member it is inside of `result`. */
static bool put_result(struct str result, bool of_member, bool raw, struct arena *arena,
                       struct buf *answer, struct err *e)
{
    scoped_buf struct buf own = buf_of(CALLBACK_ANSWER_MAX);
    const struct json *v = raw || of_member ? json_read(result, arena, e) : NULL;
    if (of_member && v) {
        const struct json *why = json_get(v, "error");
        if (why)
            return member_failed(why, e);
        struct json_writer w = json_writer(&own);
        v = json_get(v, "value");
        if (v)
            json_put(&w, v);
        else
            buf_cstr(&own, "null");
        result = buf_view(&own);
    }
    if (raw && v)
        return put_raw(v, result, answer, e) || e->code == ERR_NONE;
    if (e->code)
        return false;
    buf_str(answer, result);
    return true;
}

static bool call_row(const struct guest_calls *g, const struct request *r,
                     struct arena *arena, struct buf *answer, struct err *e)
{
    scoped_buf struct buf args = buf_of(4 * (size_t)CALLBACK_REQUEST_MAX);
    scoped_buf struct buf result = buf_of(CALLBACK_ANSWER_MAX);
    struct str member = {0};
    const struct host_call *row = row_of(r->name, &member, e);
    if (row && ++*g->count > GUEST_CALLS_MAX)
        return err_set(e, ERR_LIMIT, "one command may make %u calls", GUEST_CALLS_MAX);
    put_arguments(r, &args);
    return row && buf_check(&r->words, "the arguments", e) &&
           buf_check(&r->options, "the arguments", e) &&
           buf_check(&args, "the arguments", e) &&
           check_stages(buf_view(&args), arena, e) &&
           (!member.n || wrap_arguments(member, &args, arena, e)) &&
           evaluation_call(g->v, row->row.name, buf_view(&args), &result, e) &&
           buf_check(&result, "the answer", e) &&
           put_result(buf_view(&result), member.n > 0, r->raw, arena, answer, e);
}

bool machine_guest_call(const struct guest_calls *g, struct str text, struct buf *answer,
                        struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    struct request r = {0};
    buf_init(&r.words, 4 * (size_t)CALLBACK_REQUEST_MAX);
    buf_init(&r.options, 4 * (size_t)CALLBACK_REQUEST_MAX);
    bool ok = read_request(text, &r, arena, e) && call_row(g, &r, arena, answer, e);
    buf_done(&r.words);
    buf_done(&r.options);
    return ok && buf_check(answer, "the answer", e);
}
