/* Types that code declares at its top level, taken out of it for a declaration that stands
 * elsewhere. Comments are left out, and all of one type is put on one line. What hangs on
 * values there (classes, typeof) is any. */
#include "spelling/lexer.h"
#include "spelling/spelling.h"

/* ---- reading ----------------------------------------------------------------- */

/* A parser with a token ahead; comments are skipped. */
struct reading {
    struct lexer lexer;
    struct token at;
    unsigned depth; /* before `at` */
    bool gap;       /* something that is no token stands before `at` */
    bool new_line;  /* and a new line in that */
};

static void declared_go_on(struct reading *r)
{
    const char *end = r->at.text.at ? r->at.text.at + r->at.text.n : r->lexer.rest.at;
    r->depth = r->lexer.depth;
    do
        r->at = lexer_next(&r->lexer);
    while (r->at.kind == TOKEN_COMMENT);
    r->gap = r->at.text.at > end;
    r->new_line = r->at.kind != TOKEN_END && r->at.kind != TOKEN_BAD &&
                  memchr(end, '\n', (size_t)(r->at.text.at - end));
}

static bool is_over(const struct reading *r)
{
    return r->at.kind == TOKEN_END || r->at.kind == TOKEN_BAD;
}

static bool is_one_of(struct token t, const char *const *words)
{
    for (; *words; words++)
        if (lexer_is(t, *words))
            return true;
    return false;
}

/* ---- writing ----------------------------------------------------------------- */

/* Tokens that stood apart stay apart; a comment or a new line is a space. */
static void put_token(const struct reading *r, struct buf *out)
{
    if (r->gap && out->n)
        buf_char(out, ' ');
    buf_str(out, r->at.text);
}

/* ---- one declaration ------------------------------------------------------------- */

struct piece {
    struct token name;
    struct buf parameters, body;
    bool sound; /* it hangs on nothing but types */
};

/* "<T extends string, U>", where it stands. */
static void declared_read_parameters(struct reading *r, struct piece *p)
{
    int depth = 0;
    if (!lexer_is(r->at, "<"))
        return;
    do {
        depth += lexer_is(r->at, "<") - lexer_is(r->at, ">");
        put_token(r, &p->parameters);
        declared_go_on(r);
    } while (depth > 0 && !is_over(r));
}

static bool hangs_on_values(struct token t)
{
    static const char *const words[] = {"typeof", "import", "unique", NULL};
    return t.kind == TOKEN_PATTERN || is_one_of(t, words);
}

/* An interface, or an enum: from where we are to the end of its braces. */
static void read_braces(struct reading *r, bool is_enum, struct piece *p)
{
    bool opened = false;
    while (!is_over(r)) {
        struct token t = r->at;
        bool ends = lexer_is(t, "}") && r->lexer.depth == 0;
        p->sound =
            p->sound && !hangs_on_values(t) &&
            !(is_enum && (lexer_is(t, "(") || lexer_is(t, ".") || lexer_is(t, "`")));
        put_token(r, &p->body);
        opened = opened || lexer_is(t, "{");
        declared_go_on(r);
        if (opened && ends)
            return;
    }
    p->sound = false;
}

/* A word at the beginning of a line may begin something new, but not where the line before
 * cannot end. */
static bool ends_alias(const struct reading *r, struct token last)
{
    static const char *const open_ends[] = {"|",     "&",  "=",        "=>",      "?",
                                            ":",     ",",  "<",        "extends", "keyof",
                                            "infer", "is", "readonly", NULL};
    return r->depth == 0 &&
           (lexer_is(r->at, ";") ||
            (r->new_line && r->at.kind == TOKEN_WORD && !lexer_is(r->at, "extends") &&
             !is_one_of(last, open_ends)));
}

/* Behind "type NAME<...> =". */
static void read_alias(struct reading *r, struct piece *p)
{
    struct token last = {0};
    while (!is_over(r) && !(last.text.n && ends_alias(r, last))) {
        p->sound = p->sound && !hangs_on_values(r->at);
        last = r->at;
        put_token(r, &p->body);
        declared_go_on(r);
    }
}

enum kind { KIND_NONE, KIND_INTERFACE, KIND_ALIAS, KIND_ENUM, KIND_CLASS };

static enum kind token_kind(struct token t)
{
    return lexer_is(t, "interface") ? KIND_INTERFACE
           : lexer_is(t, "type")    ? KIND_ALIAS
           : lexer_is(t, "enum")    ? KIND_ENUM
           : lexer_is(t, "class")   ? KIND_CLASS
                                    : KIND_NONE;
}

static void put_piece(enum kind kind, const struct piece *p, struct buf *out)
{
    struct str of = buf_view(&p->parameters), body = buf_view(&p->body);
    bool sound = p->sound && kind != KIND_CLASS && !p->body.failed;
    if (!sound)
        buf_printf(out, "type %.*s%.*s = any; ", STR_ARGS(p->name.text), STR_ARGS(of));
    else if (kind == KIND_ALIAS)
        buf_printf(out, "type %.*s%.*s = %.*s; ", STR_ARGS(p->name.text), STR_ARGS(of),
                   STR_ARGS(body));
    else
        buf_printf(out, "%s %.*s%.*s %.*s ", kind == KIND_ENUM ? "enum" : "interface",
                   STR_ARGS(p->name.text), STR_ARGS(of), STR_ARGS(body));
}

/* Behind its first word. false: it is none. */
static bool read_declaration(struct reading *r, enum kind kind, struct own_types *names,
                             struct buf *out)
{
    struct piece p = {.name = r->at, .sound = true};
    if (p.name.kind != TOKEN_WORD)
        return false;
    declared_go_on(r);
    buf_init(&p.parameters, BUF_PAGE);
    buf_init(&p.body, BUF_TEXT);
    declared_read_parameters(r, &p);
    bool is = kind != KIND_ALIAS || lexer_is(r->at, "=");
    if (is && kind == KIND_ALIAS) {
        declared_go_on(r);
        read_alias(r, &p);
    } else if (is) {
        read_braces(r, kind == KIND_ENUM, &p);
    }
    if (is && names->count < OWN_TYPES_MAX) {
        names->at[names->count++] = p.name.text;
        put_piece(kind, &p, out);
    }
    buf_done(&p.parameters);
    buf_done(&p.body);
    return is;
}

void types_declared(struct str code, struct own_types *names, struct buf *out)
{
    struct reading r = {0};
    names->count = 0;
    lexer_init(&r.lexer, code, false);
    declared_go_on(&r);
    while (!is_over(&r)) {
        enum kind kind = r.depth == 0 ? token_kind(r.at) : KIND_NONE;
        declared_go_on(&r);
        if (kind)
            (void)read_declaration(&r, kind, names, out);
    }
    if (r.at.kind == TOKEN_BAD) {
        names->count = 0;
        buf_clear(out);
    }
}

/* ---- naming them elsewhere --------------------------------------------------------- */

static bool declared_is_own(const struct own_types *names, struct str word)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_eq(names->at[i], word))
            return true;
    return false;
}

void type_qualify(struct str type, const struct own_types *names, struct str space,
                  struct buf *out)
{
    struct reading r = {0};
    const char *copied = type.at;
    lexer_init(&r.lexer, type, true);
    declared_go_on(&r);
    for (struct token last = {0}; !is_over(&r);) {
        struct token t = r.at;
        declared_go_on(&r);
        /* "Row:" is the name of a member, or of a parameter; "x.Row" is another's. */
        bool named = lexer_is(r.at, ":") ||
                     (lexer_is(r.at, "?") && r.lexer.rest.n && r.lexer.rest.at[0] == ':');
        if (t.kind == TOKEN_WORD && !named && !lexer_is(last, ".") &&
            declared_is_own(names, t.text)) {
            buf_put(out, copied, (size_t)(t.text.at - copied));
            buf_printf(out, "%.*s.", STR_ARGS(space));
            copied = t.text.at;
        }
        last = t;
    }
    buf_put(out, copied, (size_t)(type.at + type.n - copied));
}
