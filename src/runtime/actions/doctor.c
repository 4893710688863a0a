/* The checks of `cloche doctor`. */
#include <stdio.h>

#include "actions/actions.h"
#include "actions/internal.h"
#include "checker/checker.h"
#include "engine/engine.h"
#include "os/os.h"
#include "sql/sql.h"

#define DOCTOR_MEMORY ((size_t)64 << 20)

struct check_list {
    struct json_writer *w;
    bool all_ok;
};

void check_put(struct check_list *l, const char *name, bool ok, const char *detail)
{
    json_open_object(l->w);
    json_pair_cstr(l->w, "name", name);
    json_pair_bool(l->w, "ok", ok);
    json_pair_cstr(l->w, "detail", detail);
    json_close(l->w);
    l->all_ok &= ok;
}

static void check_cache(struct check_list *l)
{
    struct err e = {0};
    scoped(free) char *path = NULL;
    scoped_fd int fd = os_cache_dir(&path, &e);
    check_put(l, "cache of compiled modules", fd >= 0, fd >= 0 ? path : e.msg);
}

static void check_evaluation(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(DOCTOR_MEMORY);
    size_t i = 0;
    while (!a->rows[i].trial)
        i++;
    const struct json *arguments = json_read(str_of(a->rows[i].trial), arena, &e);
    struct caller doctor = {.name = "doctor"};
    struct answer out = {0};
    buf_init(&out.json, DOCTOR_MEMORY);
    bool ok =
        actions_call(a, &a->shown[i], arguments, &doctor, &out, &e) && !out.is_error;
    const struct json *answer = ok ? NULL : json_read(buf_view(&out.json), arena, &e);
    struct str why = json_str(json_get(answer, "error"));
    check_put(l, "evaluation of code", ok,
              ok      ? "return 6*7 ran in a sandbox"
              : why.n ? why.at
                      : e.msg);
    buf_done(&out.json);
    const struct engine *g = services_engine_now(a->services);
    if (!g)
        return;
    enum engine_memory memory = engine_memory_used(g);
    char detail[80];
    (void)snprintf(detail, sizeof detail, "%s%s", engine_memory_name(memory),
                   memory == ENGINE_MEMORY_SLOTS ? "" : ": works, but slower");
    check_put(l, "memory of guests", true, detail);
}

static void check_sql(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    struct sql_pool *p = services_sql(a->services, &e);
    char detail[100];
    (void)snprintf(detail, sizeof detail, "in a process apart; at most %u at a time",
                   sql_pool_size());
    bool ok = p && sql_try(p, &e);
    check_put(l, "SQL queries", ok, ok ? detail : e.msg);
}

/* A missing checker is no fault: an answer says that types were not checked. */
static void check_checker(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    struct checker *c = services_checker(a->services, &e);
    bool python = c && checker_has_python(c);
    check_put(
        l, "type checker", c != NULL,
        !c ? e.msg
        : checker_is_there(c)
            ? python
                  ? "built: types of code and functions are checked, those of Python too"
                  : "built: types of JavaScript and TypeScript are checked; 'make python' "
                    "builds the one for Python"
        : checker_is_building(c) ? "being built in the background, which takes some "
                                   "minutes; until then types are not checked"
                                 : "not built: types are not checked; 'make checker' "
                                   "builds it, which takes some minutes");
}

static void check_vault(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    scoped_buf struct buf found;
    buf_init(&found, BUF_PAGE);
    if (actions_reindex(a, false, &found, &e))
        check_put(l, "vault", true, buf_cz(&found));
    else
        check_put(l, "vault", e.code == ERR_NO_VAULT, e.msg);
}

/* Reports the first problem in full; a vault's policy that grants rights is one. */
static void check_policy(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(DOCTOR_MEMORY);
    scoped_buf struct buf found;
    buf_init(&found, BUF_LIST);
    scoped(free) char *path =
        vault_set_path(a->vaults, vault_set_first(a->vaults, NULL, &e));
    e = (struct err){0};
    struct ward *ward = guard_ward(a->guard, path, &e);
    const struct json *answer = ward && ward_check(ward, &found, &e)
                                    ? json_read(buf_view(&found), arena, &e)
                                    : NULL;
    const struct json *first = json_at(json_get(answer, "problems"), 0);
    char detail[600] = "can be used";
    if (!answer)
        (void)snprintf(detail, sizeof detail, "%s", e.msg);
    else if (first)
        (void)snprintf(detail, sizeof detail, "%.*s:%lld: %.*s",
                       STR_ARGS(json_str(json_get(first, "file"))),
                       (long long)json_int(json_get(first, "line"), 1),
                       STR_ARGS(json_str(json_get(first, "message"))));
    check_put(l, "policy", json_bool(json_get(answer, "ok"), false), detail);
}

/* The disk of the vault, or of the user's own trail if there is no vault. */
static void check_disk(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(DOCTOR_MEMORY);
    scoped_buf struct buf found;
    buf_init(&found, BUF_PAGE);
    struct json_writer w = json_writer(&found);
    scoped(free) char *path =
        vault_set_path(a->vaults, vault_set_first(a->vaults, NULL, &e));
    e = (struct err){0};
    struct ward *ward = guard_ward(a->guard, path, &e);
    if (ward)
        ward_disk(ward, &w);
    const struct json *v = ward ? json_read(buf_view(&found), arena, &e) : NULL;
    char detail[300];
    (void)snprintf(detail, sizeof detail, "%.*s%sthe audit takes %lld MB of %lld",
                   STR_ARGS(json_str(json_get(v, "why"))), json_get(v, "why") ? "; " : "",
                   (long long)json_int(json_get(v, "audit_bytes"), 0) >> 20,
                   (long long)json_int(json_get(v, "audit_most"), 0) >> 20);
    check_put(l, "disk", json_bool(json_get(v, "ok"), false), v ? detail : e.msg);
}

void actions_doctor(struct actions *a, struct buf *out)
{
    struct json_writer w = json_writer(out);
    struct check_list l = {.w = &w, .all_ok = true};
    json_open_object(&w);
    json_key(&w, "checks");
    json_open_array(&w);
    check_put(&l, "engine", true, engine_version());
    check_cache(&l);
    check_policy(a, &l);
    check_evaluation(a, &l);
    check_sql(a, &l);
    check_checker(a, &l);
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->doctor)
            capability_list[i]->doctor(a, &l);
    check_vault(a, &l);
    check_disk(a, &l);
    json_close(&w);
    json_pair_bool(&w, "ok", l.all_ok);
    json_close(&w);
}
