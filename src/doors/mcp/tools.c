/* tools/list: in pages, as far as the policy shows tools to who asks. */
#include "mcp/core.h"

#define PAGE_MAX ((size_t)16 << 20) /* bytes of one */

/* The first page as it was last told: most clients ask for nothing else. */
struct tools_page {
    pthread_mutex_t lock;
    bool made;
    uint64_t state; /* as shown_state() */
    struct buf rows, next;
};

/* Read and written again: compact, and on one line. `mirrors`: for an input's. */
static bool tools_put_schema(struct json_writer *w, const char *key, const char *text,
                             const struct action *of, struct mirrors *mirrors,
                             struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_CALL);
    struct err why = {0};
    const struct json *schema = json_read(str_of(text), arena, &why);
    if (!json_is(schema, JSON_OBJECT))
        return err_set(e, ERR_BUG, "%s of the action %s is not a JSON object: %s", key,
                       of->name, why.msg);
    json_pair(w, key, schema);
    return !mirrors || mirrors_read(mirrors, of, schema, e);
}

static bool tools_put(struct json_writer *w, const struct action *a,
                      struct mirrors *mirrors, struct err *e)
{
    json_open_object(w);
    json_pair_cstr(w, "name", a->name);
    json_pair_cstr(w, "title", a->title);
    json_pair_cstr(w, "description", a->description);
    if (!tools_put_schema(w, "inputSchema", a->input_schema, a, mirrors, e))
        return false;
    if (a->output_schema &&
        !tools_put_schema(w, "outputSchema", a->output_schema, a, NULL, e))
        return false;
    json_key(w, "annotations");
    json_open_object(w);
    /* A hint that is left out reads as the pessimistic default. */
    if (a->read_only)
        json_pair_bool(w, "readOnlyHint", true);
    else if (!a->destructive)
        json_pair_bool(w, "destructiveHint", false);
    if (!a->read_only && a->idempotent)
        json_pair_bool(w, "idempotentHint", true);
    if (!a->open_world)
        json_pair_bool(w, "openWorldHint", false);
    json_close(w);
    json_close(w);
    return true;
}

/* ---- all of them ---------------------------------------------------------- */

bool tools_open(struct mcp *m, struct err *e)
{
    size_t n;
    const struct action *list = m->backend.list(m->backend.arg, &n);
    scoped_buf struct buf ignored = buf_of(PAGE_MAX);
    struct json_writer w = json_writer(&ignored);
    m->tools = mem_new(sizeof *m->tools);
    pthread_mutex_init(&m->tools->lock, NULL);
    buf_init(&m->tools->rows, PAGE_MAX);
    buf_init(&m->tools->next, PLACE_MAX);
    json_open_array(&w);
    for (size_t i = 0; i < n; i++) {
        if (!tools_put(&w, &list[i], &m->mirrors, e))
            return false;
        buf_printf(&m->names, "%s%s", i ? ", " : "", list[i].name);
    }
    return buf_check(&ignored, "the list of tools", e) &&
           buf_check(&m->names, "the list of tools' names", e);
}

void tools_close(struct mcp *m)
{
    if (!m->tools)
        return;
    buf_done(&m->tools->rows);
    buf_done(&m->tools->next);
    pthread_mutex_destroy(&m->tools->lock);
    free(m->tools);
}

/* ---- a page ----------------------------------------------------------------- */

struct page {
    struct json_writer w;
    struct buf *next; /* the name of the last tool */
};

static bool take_tool(void *arg, const struct action *a, struct err *e)
{
    struct page *p = arg;
    buf_clear(p->next);
    buf_cstr(p->next, a->name);
    return tools_put(&p->w, a, NULL, e);
}

static bool show_all(const struct backend *b, struct page *p, struct err *e)
{
    size_t n;
    const struct action *list = b->list(b->arg, &n);
    for (size_t i = 0; i < n; i++)
        if (!take_tool(p, &list[i], e))
            return false;
    return true;
}

static bool make_page(const struct backend *b, const struct caller *who, struct str after,
                      struct buf *rows, struct buf *next, struct err *e)
{
    struct page p = {.w = json_writer(rows), .next = next};
    bool more = false;
    buf_clear(rows);
    buf_clear(next);
    p.w = json_writer(rows);
    json_open_array(&p.w);
    bool ok = b->show ? b->show(b->arg, who, after, TOOLS_PAGE, take_tool, &p, &more, e)
                      : show_all(b, &p, e);
    json_close(&p.w);
    if (!more)
        buf_clear(next);
    return ok && buf_check(rows, "the list of tools", e);
}

static void tools_put_page(struct exchange *x, struct str rows, struct str next)
{
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    page_put(&w, "tools/list", "tools", rows, next);
    put_cache_hints(&w, x->era, x->m->backend.show ? KEEP_FOR_ONE : KEEP_FOR_ALL);
    result_close(&w, x->era);
}

static bool put_first(struct exchange *x, const struct caller *who, struct err *e)
{
    struct tools_page *t = x->m->tools;
    const struct backend *b = &x->m->backend;
    uint64_t state = b->shown_state ? b->shown_state(b->arg, who) : 0;
    pthread_mutex_lock(&t->lock);
    t->made = (t->made && t->state == state) ||
              make_page(b, who, STR(""), &t->rows, &t->next, e);
    t->state = state;
    if (t->made)
        tools_put_page(x, buf_view(&t->rows), buf_view(&t->next));
    pthread_mutex_unlock(&t->lock);
    return e->code == ERR_NONE;
}

static bool put_further(struct exchange *x, const struct caller *who, struct str after,
                        struct err *e)
{
    scoped_buf struct buf rows, next;
    buf_init(&rows, PAGE_MAX);
    buf_init(&next, PLACE_MAX);
    if (!make_page(&x->m->backend, who, after, &rows, &next, e))
        return false;
    tools_put_page(x, buf_view(&rows), buf_view(&next));
    return true;
}

void tools_list(struct exchange *x)
{
    struct err e = {0};
    unsigned vault = sessions_vault(&x->m->sessions, x->env->session);
    struct caller who = {.name = "list", .grant = x->env->grant, .vault = &vault};
    scoped_buf struct buf after = buf_of(2 * PLACE_MAX);
    if (!page_begin(x, "tools/list", &after))
        return;
    bool ok =
        after.n ? put_further(x, &who, buf_view(&after), &e) : put_first(x, &who, &e);
    if (!ok)
        reply_error(x, e.code == ERR_INVALID ? RPC_PARAMS : err_kind(e.code)->jsonrpc,
                    "%s", e.msg);
}
