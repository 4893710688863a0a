/* The hint that code which is repeated in a conversation could be a custom function. */
#include "crypto/crypto.h"
#include "functions_api/functioning.h"

#define CONVERSATION_MAX 512u /* bytes of a conversation's identity */

struct repeating {
    struct repeats *repeats;
    char process[CRYPTO_TOKEN]; /* the conversation of callers without a session */
};

struct repeating *repeating_new(void)
{
    struct repeating *r = mem_new(sizeof *r);
    r->repeats = repeats_new();
    crypto_token(r->process);
    return r;
}

void repeating_free(struct repeating *r)
{
    if (!r)
        return;
    repeats_free(r->repeats);
    free(r);
}

struct str functioning_session(const struct evaluation *v)
{
    if (v->who->session)
        return str_of(v->who->session);
    return caller_way(v->who) == WAY_STDIO
               ? str_of(functioning_of(v->actions)->repeating->process)
               : (struct str){0};
}

void functioning_repeated(struct evaluation *v, struct str code)
{
    const struct permit *p = &v->here->permit;
    if (!v->here->vault || p->level != LEVEL_FULL || p->read_only)
        return;
    scoped_buf struct buf conversation;
    buf_init(&conversation, CONVERSATION_MAX);
    buf_str(&conversation, str_cut(str_of(v->who->name), CONVERSATION_MAX / 4));
    buf_char(&conversation, '\0');
    buf_str(&conversation, str_cut(functioning_session(v), CONVERSATION_MAX / 2));
    (void)repeats_look(functioning_of(v->actions)->repeating->repeats,
                       buf_view(&conversation), code, &v->repeat_hint);
}
