#include "permits/permits.h"
#include "json/json.h"

#define LINES_MAX ((size_t)4 << 20)

void resolved_init(struct resolved *r)
{
    *r = (struct resolved){0};
    buf_init(&r->lines, LINES_MAX);
}

void resolved_done(struct resolved *r)
{
    buf_done(&r->lines);
}

bool resolved_end(struct resolved *r, struct json_writer *w, struct err *e)
{
    json_close(w);
    crypto_hash_hex(buf_view(&r->lines), r->digest);
    r->changes = (struct confirm_changes){buf_view(&r->lines), r->digest};
    return buf_check(&r->lines, "what would change", e);
}

bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e)
{
    return !strcmp(before->digest, now->digest) ||
           err_set(e, ERR_CONFLICT,
                   "the target changed after the user approved this call. Nothing was "
                   "changed; repeat the call to request approval again");
}
