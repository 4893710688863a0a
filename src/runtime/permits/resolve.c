#include "permits/internal.h"
#include "permits/permits.h"

#define LINES_MAX ((size_t)4 << 20)

void resolved_init(struct resolved *r)
{
    *r = (struct resolved){0};
    r->lines.bytes = buf_of(LINES_MAX);
}

void resolved_done(struct resolved *r)
{
    buf_done(&r->lines.bytes);
}

void text_list_add(struct text_list *l, struct str line)
{
    buf_str(&l->bytes, (struct str){(const char *)&line.n, sizeof line.n});
    buf_str(&l->bytes, line);
}

bool text_list_next(struct str *rest, struct str *line)
{
    if (!rest->n)
        return false;
    memcpy(&line->n, rest->at, sizeof line->n);
    line->at = rest->at + sizeof line->n;
    size_t taken = sizeof line->n + line->n;
    *rest = (struct str){rest->at + taken, rest->n - taken};
    return true;
}

bool resolved_end(struct resolved *r, struct err *e)
{
    crypto_hash_hex(buf_view(&r->lines.bytes), r->digest);
    r->changes = (struct confirm_changes){&r->lines, r->digest};
    return buf_check(&r->lines.bytes, "what would change", e);
}

bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e)
{
    return !strcmp(before->digest, now->digest) ||
           err_set(e, ERR_CONFLICT,
                   "the target changed after the user approved this call. Nothing was "
                   "changed; repeat the call to request approval again");
}
