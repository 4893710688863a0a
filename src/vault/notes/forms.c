#include "notes/forms.h"

#include "notes/fold.h"
#include "notes/name.h"

static bool forms_of(struct str out[static FORMS], struct str path, struct str title,
                     struct arena *a, struct err *e)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    name_put_id(path, &id);
    out[FORM_PATH] = path;
    out[FORM_BARE_PATH] = (struct str){path.at, path.n - 3};
    out[FORM_ID] = buf_view(&id);
    out[FORM_FILE] = name_file(path);
    out[FORM_STEM] = name_stem(path);
    out[FORM_TITLE] = title;
    for (size_t i = 0; i < FORMS; i++)
        if (!(out[i].at = arena_copy(a, out[i].at, out[i].n, e)))
            return false;
    return true;
}

bool forms_list(struct forms *f, struct str old_path, struct str old_title,
                struct str path, struct str title, struct arena *a, struct err *e)
{
    *f = (struct forms){0};
    return forms_of(f->old, old_path, old_title, a, e) &&
           forms_of(f->now, path, title, a, e);
}

/* Can it stand in [[...]]? */
static bool fits_wiki(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr("[]|#^\n\r", s.at[i]))
            return false;
    return s.n && str_trim(s).n == s.n;
}

bool forms_try(struct forms *f, struct linker *l, int64_t key, struct err *e)
{
    for (size_t i = 0; i < FORMS; i++) {
        int64_t note = 0;
        struct str name = f->now[i];
        if (i == FORM_PATH && memchr(name.at, '/', name.n))
            name = f->now[FORM_BARE_PATH]; /* as the index has it */
        bool only = linker_find(l, name, &note, e) == NAME_FOUND;
        if (e->code)
            return false;
        f->good[i] = only && note == key && fits_wiki(name);
    }
    return true;
}

static bool form_is_alike(struct str name, struct str other)
{
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    return str_eq(name, other) || fold_is(name, fold_key(other, &folded));
}

struct str forms_new(const struct forms *f, struct str name)
{
    size_t form = FORMS;
    /* At the root a path has no folder: "Plan" is then the file's name. */
    size_t first = name_at_root(f->old[FORM_PATH]) ? FORM_ID : FORM_PATH;
    for (size_t i = first; i < FORMS && form == FORMS; i++)
        if (str_eq(name, f->old[i]))
            form = i;
    for (size_t i = first; i < FORMS && form == FORMS; i++)
        if (form_is_alike(name, f->old[i]))
            form = i;
    if (form == FORM_BARE_PATH && name_at_root(f->now[FORM_PATH]))
        form = FORM_ID; /* "note/Plan" */
    if (form == FORM_FILE && !f->good[form])
        form = FORM_PATH;
    if (form != FORMS && f->good[form])
        return f->now[form];
    return f->good[FORM_ID] ? f->now[FORM_ID] : f->now[FORM_PATH];
}

bool forms_has(const struct forms *f, struct str name)
{
    for (size_t i = 0; i < FORMS; i++)
        if (str_eq(name, f->old[i]))
            return true;
    return false;
}

bool forms_is_path(const struct forms *f, struct str name)
{
    struct str path = f->old[FORM_PATH], bare = f->old[FORM_BARE_PATH];
    return form_is_alike(name, path) || form_is_alike(name, bare);
}
