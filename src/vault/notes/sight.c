/* The part of a change that a caller without the right to read is told. */
#include "notes/sight.h"

#include <stdio.h>

static const char *const readers[] = {"notes.get", "noteTypes.get"};

bool sight_hides(const struct vault *v, enum sight_of what)
{
    return what == SIGHT_NOTES ? !v->view.notes : !v->view.types;
}

void sight_put_hidden(enum sight_of what, struct json_writer *w)
{
    char text[40];
    (void)snprintf(text, sizeof text, "needs %s", readers[what]);
    json_pair_cstr(w, "hidden", text);
}

static const char *sight_kind(enum err_code code)
{
    switch (code) {
    case ERR_NOT_FOUND:
        return "no such note, or nothing of that name in it";
    case ERR_CONFLICT:
        return "something is in the way, or it is not the version that was meant, or "
               "several are called so";
    case ERR_INVALID:
        return "it does not match the current version, or neither a hash nor force "
               "was given";
    case ERR_LIMIT:
        return "something is too large";
    default:
        return "it could not be done";
    }
}

bool sight_refuse(const struct vault *v, enum sight_of what, const char *call,
                  struct err *e)
{
    if (!sight_hides(v, what) || e->code == ERR_BUSY || e->code == ERR_NONE)
        return false;
    enum err_code code = e->code;
    *e = (struct err){0};
    return err_set(e, code, "%s: %s; nothing was changed. More details need %s", call,
                   sight_kind(code), readers[what]);
}
