/* {filter, sort, after}: what is taken for a query is one that a vault answers, whatever
 * it says, and what it asks of is in the answer's rows alone. */
#include <sys/stat.h>

#include "driver.h"
#include "notes/notes.h"
#include "notes_api/query.h"
#include "sql/sql.h"
#include "json/json.h"

static struct vault *vault;
static struct sql_pool *pool;

static void close_vault(void)
{
    sql_pool_free(pool);
    vault_close(vault);
}

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    holds(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Beside the program; what an earlier run left is used again. */
static void open_vault(void)
{
    char folder[600];
    struct err e = {0};
    (void)snprintf(folder, sizeof folder, "%s.vault", program_invocation_name);
    holds(mkdir(folder, 0700) == 0 || errno == EEXIST);
    put_file(folder, "A.md",
             "---\ntags: [x, y]\nn: 3\ndone: true\nlist: [a, 3, null]\n---\n"
             "# A\n\n## Status\npending\n\n## Due\n2025-11-29\n");
    put_file(folder, "B.md",
             "---\nn: '4.5'\nlist: {}\n---\n# B\n\n## Status\n\n## n\n1e2\n");
    put_file(folder, "C.md", "text\n");
    vault = vault_open(folder, &e);
    holds(vault);
    pool = sql_pool_new("build/guest");
    (void)atexit(close_vault);
}

static void ask(const struct query_text *q, struct arena *a)
{
    struct err e = {0};
    scoped_buf struct buf options, out;
    buf_init(&options, 4u << 20);
    buf_init(&out, 4u << 20);
    struct json_writer w = json_writer(&options);
    json_open_object(&w);
    json_pair_str(&w, "query", buf_view(&q->sql));
    json_pair_raw(&w, "params", buf_view(&q->params));
    json_close(&w);
    const struct json *o = json_read(buf_view(&options), a, &e);
    holds(o);
    w = json_writer(&out);
    if (!notes_search_sql(vault, o, &(struct sql_caller){.pool = pool}, &w, &e)) {
        holds_error(&e);
        /* Its own bounds, and no mistake of the query's. */
        holds(e.code == ERR_LIMIT || e.code == ERR_TIMEOUT);
        return;
    }
    const struct json *rows = json_get(json_read(buf_view(&out), a, &e), "rows");
    holds(json_is(rows, JSON_ARRAY) && json_length(rows) <= 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(64u << 20);
    const struct json *o = json_read((struct str){(const char *)data, size}, a, &e);
    if (!vault)
        open_vault();
    if (!o)
        return 0;
    struct query_text q;
    buf_init(&q.sql, 10000);
    buf_init(&q.params, 1u << 20);
    e = (struct err){0};
    if (query_write(json_get(o, "filter"), json_get(o, "sort"),
                    json_str(json_get(o, "after")), 100, &q, &e))
        ask(&q, a);
    else
        holds_error(&e);
    buf_done(&q.sql);
    buf_done(&q.params);
    return 0;
}
