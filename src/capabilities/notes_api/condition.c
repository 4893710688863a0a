/* Conditional requests: entity tags are the note's content_hash.
 * RFC 9110, section 13. */
#include "notes_api/note_routes.h"
#include "performing/performing.h"

static bool put_name(struct buf *args, struct str note, struct err *e)
{
    struct json_writer w = json_writer(args);
    json_put_str(&w, note);
    return buf_check(args, "a name", e);
}

/* The note's hash as it is now; empty: there is none. */
static bool hash_now(struct route_call *c, struct str note, struct str *hash,
                     struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    const struct json *now =
        put_name(&args, note, e) ? route_ask(c, "notes.get", buf_view(&args), e) : NULL;
    *hash = json_str(json_get(now, "content_hash"));
    return now != NULL;
}

/* Several tags: the one that is the note's. */
static bool condition_choose(struct route_call *c, struct str note, struct str list,
                             struct str *out, struct err *e)
{
    if (!hash_now(c, note, out, e))
        return false;
    if (out->n && route_names_tag(list, *out, false))
        return true;
    c->refusal = out->n ? 412 : 0;
    return out->n ? err_set(e, ERR_CONFLICT,
                            "none of the entity tags in If-Match is the note's: it is "
                            "\"%.*s\" now, and nothing was changed",
                            STR_ARGS(*out))
                  : err_set(e, ERR_NOT_FOUND, "there is no note \"%.*s\"",
                            STR_ARGS(str_cut(note, 100)));
}

/* The version that the body means, where If-Match means another: one of them is over. */
static bool check_both(struct route_call *c, struct str tag, struct str body,
                       struct err *e)
{
    if (!body.n || str_eq(tag, body))
        return true;
    c->refusal = 412;
    return err_set(e, ERR_CONFLICT,
                   "If-Match means the version \"%.*s\" and content_hash in the body "
                   "\"%.*s\": one of them is enough, and both have to hold. Nothing was "
                   "changed",
                   STR_ARGS(str_cut(tag, 80)), STR_ARGS(str_cut(body, 80)));
}

bool condition_read(struct route_call *c, struct str note, struct condition *out,
                    struct err *e)
{
    struct str list = str_trim(c->rq->if_match), rest = list, tag, second;
    bool weak, other;
    *out = (struct condition){.hash = json_str(json_get(c->body, "content_hash"))};
    const struct str body = out->hash;
    if (str_is(list, "*")) {
        out->any = !body.n; /* else it is that one */
        return true;
    }
    /* A script has no headers: it means the version that it was told of last. */
    if (!list.n && !out->hash.n && c->who->within)
        out->hash = work_seen(c->work, note);
    if (!list.n && !out->hash.n && (c->route->flags & ROUTE_NEEDS_MATCH)) {
        c->refusal = 428;
        if (c->who->within)
            return err_set(e, ERR_INVALID,
                           "this script has not read the note: GET it first, so that "
                           "no other change is overwritten. Nothing was changed");
        return err_set(e, ERR_INVALID,
                       "If-Match is missing: give the ETag of the version that you "
                       "have read (or content_hash in the body), so that no other "
                       "change is overwritten; If-Match: * accepts any version. "
                       "Nothing was changed");
    }
    if (!list.n || !route_next_tag(&rest, &tag, &weak))
        return true;
    if (weak || route_next_tag(&rest, &second, &other))
        return condition_choose(c, note, list, &out->hash, e) &&
               check_both(c, out->hash, body, e);
    out->hash = tag;
    return check_both(c, tag, body, e);
}

void condition_put(const struct condition *d, struct json_writer *w)
{
    if (d->any)
        json_pair_bool(w, "force", true);
    else if (d->hash.n)
        json_pair_str(w, "contentHash", d->hash);
}

bool condition_failed(struct route_call *c, const struct condition *d)
{
    if (d->hash.n && work_was_stale(c->work))
        c->refusal = 412;
    else if (!d->hash.n && !d->any && work_was_unguarded(c->work))
        c->refusal = 428;
    return false;
}
