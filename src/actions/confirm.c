/* A person's word before a call that the policy keeps for it ("confirm"). The question
 * shows what would be done, in full: who says yes has seen it.
 */
#include "actions/account.h"
#include "actions/consent.h"

#define SHOWN_MAX ((size_t)64 * 1024) /* bytes of the arguments */
#define WORKING_MAX ((size_t)8 << 20)

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"allow\":{\"type\":\"boolean\",\"title\":"
    "\"Allow it this once\",\"default\":false}},\"required\":[\"allow\"]}";

/* false: it cannot be shown whole. */
static bool put_question(struct buf *out, const char *call, const struct json *arguments,
                         const char *vault)
{
    scoped_buf struct buf shown;
    scoped_buf struct buf text;
    buf_init(&shown, SHOWN_MAX);
    buf_init(&text, 2 * SHOWN_MAX);
    struct json_writer v = json_writer(&shown);
    json_put(&v, arguments);
    buf_printf(&text, "May %s be called%s%s? With: ", call,
               *vault ? " in the vault " : "", vault);
    buf_str(&text, buf_view(&shown));
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "mode", "form");
    json_pair_str(&w, "message", buf_view(&text));
    json_pair_raw(&w, "requestedSchema", str_of(schema));
    json_close(&w);
    return !out->failed && !text.failed && !shown.failed;
}

static bool refuse(const char *call, const char *why, const char *instead, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   "%s needs a person's word (the policy's confirm), and %s; %s, or let "
                   "a person do it at the terminal; nothing was changed by it",
                   call, why, instead);
}

static bool ask(const struct client *c, struct consent *consent, struct str question,
                bool *allowed, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(WORKING_MAX);
    struct client_question q = {
        .key = "confirm", .method = "elicitation/create", .params = question};
    const struct json *answer;
    if (!consent_ask_client(consent, "confirm", c, &q, arena, &answer, e))
        return false;
    *allowed = str_is(json_str(json_get(answer, "action")), "accept") &&
               json_bool(json_get(json_get(answer, "content"), "allow"), false);
    return true;
}

bool confirm_call(const struct permit *p, const char *call, const struct json *arguments,
                  const char *vault, bool again, const struct cancel *stop,
                  struct consent *consent, struct account_part *part, struct err *e)
{
    if (!permit_asks(p, call))
        return true;
    const struct client *c = p->who->client;
    if (!client_answers(c, "elicitation/create"))
        return refuse(call, "your client cannot ask one",
                      "use a client that declares elicitation", e);
    if (!again && !client_waits(c))
        return refuse(call, "this client cannot ask one while code runs",
                      "use the plain tool for it", e);
    scoped_buf struct buf question;
    buf_init(&question, WORKING_MAX);
    if (!put_question(&question, call, arguments, vault))
        return refuse(call, "it is too large to be shown to one", "do less at once", e);
    struct client here = *c;
    here.stop = stop;
    bool allowed = false;
    if (!ask(&here, consent, buf_view(&question), &allowed, e))
        return false;
    account_asked(part, allowed);
    return allowed || err_set(e, ERR_DENIED,
                              "a person was asked whether %s may be called, and did not "
                              "allow it; nothing was changed by it",
                              call);
}
