/* Confirmation of calls that the policy reserves for the user ("confirm"). The question
 * shows everything that the call would do. */
#include <stdio.h>

#include "approvals/approvals.h"
#include "capability/capability.h"
#include "guard/guard.h"
#include "permits/internal.h"
#include "permits/permits.h"
#include "place/place.h"
#include "json/json.h"

#define WHOLE_MAX ((size_t)64 << 20) /* of a request, to be hashed */

/* ---- the question ----------------------------------------------------------- */

/* A line: "title: Asked". Strings as they are, anything else as JSON. */
static void question_put_value(struct str key, const struct json *v,
                               struct json_writer *w)
{
    scoped_buf struct buf line;
    buf_init(&line, APPROVAL_SHOWN_MAX);
    if (key.n) {
        buf_str(&line, key);
        buf_cstr(&line, ": ");
    }
    struct json_writer inner = json_writer(&line);
    if (json_is(v, JSON_STRING))
        buf_str(&line, json_str(v));
    else
        json_put(&inner, v);
    json_put_str(w, buf_view(&line));
    w->out->failed |= line.failed; /* it would not be shown whole */
}

static void question_put_object(const struct json *o, struct json_writer *w)
{
    struct json_iter it = json_iter(o);
    while (json_next(&it))
        question_put_value(it.key, it.value, w);
}

/* An object's members, or an array's objects, each by its members. */
static void question_put_arguments(const struct json *arguments, struct json_writer *w)
{
    json_key(w, "arguments");
    json_open_array(w);
    if (json_is(arguments, JSON_ARRAY)) {
        struct json_iter it = json_iter(arguments);
        while (json_next(&it)) {
            if (json_is(it.value, JSON_OBJECT))
                question_put_object(it.value, w);
            else
                question_put_value(STR(""), it.value, w);
        }
    } else {
        question_put_object(arguments, w);
    }
    json_close(w);
}

static void put_vault(const struct ask_by *by, bool paths, struct json_writer *w)
{
    char id[VAULT_ID_MAX + 1];
    const char *path = ward_path(by->place->ward);
    vault_set_id(by->actions->vaults, by->place->vault, id);
    if (!path)
        return;
    scoped_buf struct buf text;
    buf_init(&text, BUF_PAGE);
    if (paths)
        buf_cstr(&text, path);
    if (id[0])
        buf_printf(&text, paths ? " (%s)" : "%s", id);
    json_pair_str(w, "vault", buf_view(&text));
}

/* The changes, as far as there is room. */
static void put_changes(const struct confirm_changes *changes, struct json_writer *w)
{
    bool there = changes && changes->lines;
    struct str rest = there ? buf_view(&changes->lines->bytes) : STR(""), line;
    size_t most = APPROVAL_SHOWN_MAX - 1000, left = 0;
    bool open = false;
    while (text_list_next(&rest, &line)) {
        /* One byte takes up to six bytes of JSON. */
        if (left || w->out->n + 6 * line.n + 3 > most) {
            left++;
            continue;
        }
        if (!open) {
            json_key(w, "would change");
            json_open_array(w);
        }
        open = true;
        json_put_str(w, line);
    }
    if (left && open) {
        char more[60];
        (void)snprintf(more, sizeof more, "(%zu more lines are not shown)", left);
        json_put_cstr(w, more);
    }
    if (open)
        json_close(w);
}

static bool question_put(const struct ask_by *by, const char *call,
                         const struct json *arguments,
                         const struct confirm_changes *changes, bool paths,
                         struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "call", call);
    put_vault(by, paths, &w);
    question_put_arguments(arguments, &w);
    put_changes(changes, &w);
    json_close(&w);
    return !out->failed || ask_too_large("nothing was changed", e);
}

/* A hash of all arguments, and of what they resolve to. */
static void request_hash(const struct ask_by *by, const char *call,
                         const struct json *arguments,
                         const struct confirm_changes *changes,
                         char out[static CRYPTO_HASH_HEX])
{
    scoped_buf struct buf text;
    buf_init(&text, WHOLE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    const char *path = ward_path(by->place->ward);
    json_put_cstr(&w, call);
    json_put_cstr(&w, path ? path : "");
    json_put(&w, arguments);
    json_put_cstr(&w, changes ? changes->digest : "");
    json_close(&w);
    crypto_hash_hex(buf_view(&text), out);
}

/* ---- confirm_call ------------------------------------------------------------- */

bool confirm_call(const struct ask_by *by, const struct permit_need *need,
                  const struct json *arguments, const struct confirm_changes *changes,
                  struct err *e)
{
    const char *call = need->name;
    char digest[CRYPTO_HASH_HEX];
    struct approval_decision decision;
    if (!permit_asks(&by->place->permit, need))
        return true;
    scoped_buf struct buf shown, redacted;
    buf_init(&shown, APPROVAL_SHOWN_MAX);
    buf_init(&redacted, APPROVAL_SHOWN_MAX);
    if (!question_put(by, call, arguments, changes, true, &shown, e) ||
        (paths_hidden(by->who) &&
         !question_put(by, call, arguments, changes, false, &redacted, e)))
        return false;
    request_hash(by, call, arguments, changes, digest);
    const struct ask a = {.kind = "call",
                          .what = call,
                          .verb = "be called",
                          .undone = "nothing was changed",
                          .names = &call,
                          .count = 1,
                          .shown = buf_view(&shown),
                          .redacted = buf_view(&redacted),
                          .digest = digest};
    return ask_person(by, &a, &decision, e);
}
