/* The plain actions: what most callers want, without code. */
#include "actions/internal.h"

static bool note_answer(const struct answer *out, struct err *e)
{
    return buf_check(&out->json, "the answer", e);
}

bool action_get_note(const struct action_call *c, struct answer *out, struct err *e)
{
    struct vault *vault = action_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    if (!vault || !notes_get(vault, c->arguments, &w, e))
        return false;
    if (str_is(buf_view(&out->json), "null")) {
        struct str name = json_str(json_get(c->arguments, "identifier"));
        return err_set(
            e, ERR_NOT_FOUND,
            "no note '%.*s'; an id such as 'meeting/standup', a path or a unique "
            "title is accepted, and search_notes finds them",
            STR_ARGS(str_cut(name, 100)));
    }
    return note_answer(out, e);
}

bool action_search_notes(const struct action_call *c, struct answer *out, struct err *e)
{
    struct vault *vault = action_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "results");
    if (!vault || !notes_search(vault, c->arguments, &w, e))
        return false;
    json_close(&w);
    return note_answer(out, e);
}

static struct vault *action_writing_vault(const struct action_call *c, struct err *e)
{
    struct vault *vault = action_vault(c, e);
    return vault ? vault_as(vault, c->who->name) : NULL;
}

bool action_create_note(const struct action_call *c, struct answer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = action_writing_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    return vault && notes_create(vault, c->arguments, &w, e) && note_answer(out, e);
}

bool action_update_note(const struct action_call *c, struct answer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = action_writing_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    return vault && notes_update(vault, c->arguments, &w, e) && note_answer(out, e);
}
