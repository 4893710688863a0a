/* A person's word before a call that the policy keeps for it ("confirm"). The question
 * shows what would be done, in full: who says yes has seen it.
 */
#include <stdio.h>

#include "approvals/approvals.h"
#include "capability/capability.h"
#include "guard/guard.h"
#include "permits/permits.h"
#include "place/place.h"
#include "json/json.h"

#define WHOLE_MAX ((size_t)64 << 20) /* of a request, to be hashed */

/* ---- what is shown ---------------------------------------------------------- */

/* A line: "title: Asked". A text stands as it is, anything else as JSON. */
static void put_value(struct str key, const struct json *v, struct json_writer *w)
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

static void put_object(const struct json *o, struct json_writer *w)
{
    struct json_iter it = json_iter(o);
    while (json_next(&it))
        put_value(it.key, it.value, w);
}

/* An object's members, or what stands in an array, each object there by its members. */
static void put_arguments(const struct json *arguments, struct json_writer *w)
{
    json_key(w, "arguments");
    json_open_array(w);
    if (json_is(arguments, JSON_ARRAY)) {
        struct json_iter it = json_iter(arguments);
        while (json_next(&it)) {
            if (json_is(it.value, JSON_OBJECT))
                put_object(it.value, w);
            else
                put_value(STR(""), it.value, w);
        }
    } else {
        put_object(arguments, w);
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
    buf_init(&text, (size_t)16 << 10);
    if (paths)
        buf_cstr(&text, path);
    if (id[0])
        buf_printf(&text, paths ? " (%s)" : "%s", id);
    json_pair_str(w, "vault", buf_view(&text));
}

/* What would change, as far as there is room. */
static void put_changes(const struct confirm_changes *changes, struct json_writer *w)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    struct err none = {0};
    struct json_iter it = json_iter(changes ? json_read(changes->lines, a, &none) : NULL);
    size_t most = APPROVAL_SHOWN_MAX - 1000, left = 0;
    bool open = false;
    while (json_next(&it)) {
        /* Six bytes of JSON may stand for one. */
        if (left || w->out->n + 6 * json_str(it.value).n + 3 > most) {
            left++;
            continue;
        }
        if (!open) {
            json_key(w, "would change");
            json_open_array(w);
        }
        open = true;
        json_put(w, it.value);
    }
    if (left && open) {
        char more[60];
        (void)snprintf(more, sizeof more, "(%zu more lines are not shown)", left);
        json_put_cstr(w, more);
    }
    if (open)
        json_close(w);
}

static bool put_shown(const struct ask_by *by, const char *call,
                      const struct json *arguments, const struct confirm_changes *changes,
                      bool paths, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "call", call);
    put_vault(by, paths, &w);
    put_arguments(arguments, &w);
    put_changes(changes, &w);
    json_close(&w);
    return !out->failed || ask_too_large("nothing was changed", e);
}

/* Of all that was asked for, and of what it was resolved to. */
static void make_digest(const struct ask_by *by, const char *call,
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

/* ---- the whole ---------------------------------------------------------------- */

bool confirm_call(const struct ask_by *by, const struct permit_need *need,
                  const struct json *arguments, const struct confirm_changes *changes,
                  struct err *e)
{
    const char *call = need->name;
    char digest[CRYPTO_HASH_HEX];
    struct approval_word word;
    if (!permit_asks(&by->place->permit, need))
        return true;
    scoped_buf struct buf shown, told;
    buf_init(&shown, APPROVAL_SHOWN_MAX);
    buf_init(&told, APPROVAL_SHOWN_MAX);
    if (!put_shown(by, call, arguments, changes, true, &shown, e) ||
        (paths_hidden(by->who) &&
         !put_shown(by, call, arguments, changes, false, &told, e)))
        return false;
    make_digest(by, call, arguments, changes, digest);
    const struct ask a = {.kind = "call",
                          .what = call,
                          .verb = "be called",
                          .undone = "nothing was changed",
                          .names = &call,
                          .count = 1,
                          .shown = buf_view(&shown),
                          .told = buf_view(&told),
                          .digest = digest};
    return ask_person(by, &a, &word, e);
}
