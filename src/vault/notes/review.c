/* The changes of a call, found out before anybody is asked, and compared before they are
 * written: a person's word is for the notes and versions that were shown. */
#include "crypto/crypto.h"
#include "notes/entry.h"

_Static_assert(sizeof((struct vault_review *)0)->digest >= CRYPTO_HASH_HEX, "it fits");

static int entry_by_path(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    int from = strcmp((*x)->from, (*y)->from);
    return from ? from : strcmp((*x)->to, (*y)->to);
}

/* A digest of the notes, their versions and new places. Not of the new content: that follows
 * from these and the arguments, but for the time. */
static bool make_digest(struct change *c, const struct change_file *file,
                        char out[static CRYPTO_HASH_HEX], struct err *e)
{
    char hash[HASH_SIZE] = "";
    scoped_buf struct buf text =
        buf_of((size_t)CHANGE_NOTES_MAX * (2 * PATH_MAX + HASH_SIZE));
    scoped(free) struct entry **sorted = mem_new((c->count + 1) * sizeof *sorted);
    if (c->count)
        memcpy(sorted, c->entries, c->count * sizeof(struct entry *));
    qsort(sorted, c->count, sizeof(struct entry *), entry_by_path);
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = sorted[i];
        buf_printf(&text, "%s %s", n->removed ? "remove" : "write",
                   *n->from ? n->old_hash : "new");
        buf_str(&text, (struct str){"\0", 1});
        buf_cstr(&text, n->from);
        buf_str(&text, (struct str){"\0", 1});
        buf_cstr(&text, n->removed ? "" : n->to);
        buf_char(&text, '\n');
    }
    if (file && file->there)
        note_hash(file->old, hash);
    if (file)
        buf_printf(&text, "type %s %s", hash, file->path);
    if (!buf_check(&text, "what would change", e))
        return false;
    crypto_hash_hex(buf_view(&text), out);
    return true;
}

static bool review_look(struct change *c, const struct change_file *file,
                        struct vault_review *r, struct err *e)
{
    if (!make_digest(c, file, r->digest, e))
        return false;
    r->changes = c->count || file;
    change_tell_review(c, file, r);
    r->known = true;
    return err_set(e, ERR_CANCELLED, "it was only looked at; nothing was changed");
}

bool change_review(struct change *c, const struct change_file *file, struct err *e)
{
    char digest[CRYPTO_HASH_HEX];
    struct vault_review *r = c->v->view.review;
    if (!r || c->reviewed)
        return true;
    (void)change_sort(c);
    if (r->looks)
        return review_look(c, file, r, e);
    if (!make_digest(c, file, digest, e))
        return false;
    c->reviewed = true;
    bool nothing = !c->count && !file;
    return nothing || !strcmp(digest, r->digest) ||
           err_set(e, ERR_CONFLICT,
                   "the target changed after the user approved this call: a note is "
                   "another one, or another version. Nothing was changed; repeat the "
                   "call to request approval again");
}
