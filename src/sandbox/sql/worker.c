/* The process apart: opens one database, gives up all else, answers queries. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "apart/apart.h"
#include "os/os.h"
#include "sql/sql.h"
#include "sql/wire.h"

#define SOCKET 0
#define IDLE_MS 30000
#define LATE_US 1000000                     /* behind its time a query ends the process */
#define PROCESS_BYTES ((uint64_t)512 << 20) /* SQLite's, and an answer twice */
#define EXACT_MAX ((int64_t)1 << 53)        /* of whole numbers in JavaScript */
#define VIEWS_MAX 32
#define HEX_MAX (8u << 20) /* digits of one value */

struct worker {
    struct db *db;
    const char *names[VIEWS_MAX + 1];
    char inner[24];
};

/* ---- rights ---------------------------------------------------------------------- */

#define ONLY(call) {.number = SYS_##call}
#define IF_IS(call, arg, v)                                \
    {                                                      \
        .number = SYS_##call, .when = {{APART_IS, arg, v}} \
    }

/* It reads files that are open, locks them, and speaks on its socket. Memory is its own:
 * none is shared with a file, but to read it, and none is code. */
static const struct apart_call allowed[] = {
    ONLY(pread64),
    ONLY(read),
    ONLY(lseek),
    ONLY(fstat),
    IF_IS(fcntl, 1, F_GETLK),
    IF_IS(fcntl, 1, F_SETLK),
    IF_IS(recvfrom, 0, SOCKET),
    IF_IS(sendto, 0, SOCKET),
#ifdef SYS_poll
    ONLY(poll),
#endif
    ONLY(ppoll),
    {.number = SYS_mmap,
     .when = {{APART_LACKS, 2, PROT_EXEC}, {APART_LACKS, 3, MAP_SHARED}}},
    {.number = SYS_mmap,
     .when = {{APART_LACKS, 2, PROT_EXEC | PROT_WRITE}, {APART_ANY, 0, 0}}},
    ONLY(munmap),
    ONLY(mremap),
    ONLY(brk),
    IF_IS(madvise, 2, MADV_DONTNEED),
    ONLY(futex),
    ONLY(clock_gettime),
    ONLY(gettimeofday),
    ONLY(clock_nanosleep),
    ONLY(nanosleep),
    ONLY(restart_syscall),
    ONLY(setitimer),
    ONLY(getpid),
    ONLY(exit),
    ONLY(exit_group),
};

/* ---- frames ----------------------------------------------------------------------- */

static bool worker_receive(void *to, size_t n)
{
    for (char *at = to; n;) {
        ssize_t got = recv(SOCKET, at, n, 0);
        if (got <= 0 && errno != EINTR)
            return false;
        if (got == 0)
            return false;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool worker_send_all(const void *from, size_t n)
{
    for (const char *at = from; n;) {
        ssize_t put = send(SOCKET, at, n, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool send_frame(enum frame_kind kind, const struct buf *body)
{
    struct frame_head head = {kind, (uint32_t)body->n};
    return worker_send_all(&head, sizeof head) && worker_send_all(body->at, body->n);
}

static bool send_error(enum frame_kind kind, const struct err *e)
{
    scoped_buf struct buf text = buf_of(ERROR_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_cstr(&w, "code", err_kind(e->code)->code);
    json_pair_cstr(&w, "message", e->msg);
    json_close(&w);
    return send_frame(kind, &text);
}

/* The value lies in `a`. NULL: the other side is gone, or not ours. */
static const struct json *receive_frame(enum frame_kind kind, size_t most,
                                        struct arena *a)
{
    struct frame_head head;
    struct err none = {0};
    if (!worker_receive(&head, sizeof head) || head.kind != (uint32_t)kind ||
        head.size > most)
        return NULL;
    scoped_buf struct buf text = buf_of(most + 1);
    char *at = buf_room(&text, head.size + 1u);
    if (!at || !worker_receive(at, head.size))
        return NULL;
    return json_read((struct str){at, head.size}, a, &none);
}

/* ---- opening ----------------------------------------------------------------------- */

/* Public views read others, whose names nobody can know: see db_ask(). */
static void put_view(struct buf *sql, const char *inner, struct str name, struct str text)
{
    buf_printf(sql, "CREATE TEMP VIEW %s%.*s AS ", inner, STR_ARGS(name));
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] == '@')
            buf_cstr(sql, inner);
        else
            buf_char(sql, text.at[i]);
    buf_printf(sql, ";CREATE TEMP VIEW %.*s AS SELECT * FROM %s%.*s;", STR_ARGS(name),
               inner, STR_ARGS(name));
}

static bool make_views(struct worker *w, const struct json *open, struct err *e)
{
    scoped_buf struct buf sql = buf_of(OPEN_MAX);
    size_t count = 0;
    struct json_iter it = json_iter(json_get(open, "views"));
    while (json_next(&it) && count < VIEWS_MAX) {
        struct str name = json_str(json_at(it.value, 0));
        put_view(&sql, w->inner, name, json_str(json_at(it.value, 1)));
        char *copy = mem_new(name.n + 1);
        memcpy(copy, name.at, name.n);
        w->names[count++] = copy;
    }
    /* A virtual table is opened by its first use, and does things of its own then. */
    buf_str(&sql, json_str(json_get(open, "inner")));
    return buf_check(&sql, "the views", e) && db_exec(w->db, buf_cz(&sql), e);
}

static bool open_source(struct worker *w, const struct json *open, struct err *e)
{
    char path[4096];
    struct stat st;
    struct str given = json_str(json_get(open, "path"));
    if (!given.n) {
        w->db = db_open_bytes(APART_GIVEN, e);
        return w->db != NULL;
    }
    if (given.n >= sizeof path)
        return err_set(e, ERR_IO, "the path of the index is too long");
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(given));
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_ino != (uint64_t)json_int(json_get(open, "inode"), 0))
        return err_set(e, ERR_BUSY, "the index is being rebuilt; try again");
    w->db = db_open_apart(path, e);
    return w->db != NULL;
}

static bool open_all(struct worker *w, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(4 * OPEN_MAX);
    const struct json *open = receive_frame(FRAME_OPEN, OPEN_MAX, a);
    if (!open)
        _exit(1);
    unsigned char random[8];
    os_random(random, sizeof random);
    w->inner[0] = 'v';
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(w->inner + 1 + 2 * i, 4, "%02x_", random[i]);
    tzset(); /* reads its file once */
    db_prepare_apart();
    if (!open_source(w, open, e))
        return false;
    db_hide(w->db, w->inner);
    return make_views(w, open, e) && apart_allow(allowed, LENGTH(allowed), e);
}

/* ---- the question --------------------------------------------------------------------- */

static bool bind_value(struct query *q, int i, const struct json *v, struct err *e)
{
    switch (json_type(v)) {
    case JSON_NULL:
        query_bind_null(q, i);
        return true;
    case JSON_BOOL:
        query_bind_int(q, i, json_bool(v, false));
        return true;
    case JSON_NUMBER:
        if (json_is_int(v))
            query_bind_int(q, i, json_int(v, 0));
        else
            query_bind_number(q, i, json_number(v, 0));
        return true;
    case JSON_STRING:
        query_bind_str(q, i, json_str(v));
        return true;
    default:
        return err_set(
            e, ERR_INVALID,
            "params: a value is a string, number, boolean or null, not of type %s",
            json_type_name(json_type(v)));
    }
}

static bool bind_params(struct query *q, const struct json *params, struct err *e)
{
    int wanted = query_parameters(q), i = 0;
    bool list = json_is(params, JSON_ARRAY);
    struct json_iter it = json_iter(params);
    while (json_next(&it)) {
        i = list ? i + 1 : query_parameter(q, it.key);
        if (i == 0 || i > wanted)
            return list ? err_set(e, ERR_INVALID,
                                  "params has %zu values, but the query wants %d",
                                  json_length(params), wanted)
                        : err_set(e, ERR_INVALID,
                                  "params: the query has no parameter :%.*s",
                                  STR_ARGS(str_cut(it.key, 60)));
        if (!bind_value(q, i, it.value, e))
            return false;
    }
    return (int64_t)json_length(params) >= wanted ||
           err_set(e, ERR_INVALID, "the query wants %d params and is given %zu", wanted,
                   json_length(params));
}

/* ---- the answer ------------------------------------------------------------------------- */

static void put_bytes(struct json_writer *w, struct str bytes)
{
    scoped_buf struct buf hex = buf_of(HEX_MAX);
    for (size_t i = 0; i < bytes.n && !hex.failed; i++)
        buf_printf(&hex, "%02x", (unsigned char)bytes.at[i]);
    w->out->failed |= hex.failed;
    json_put_str(w, buf_view(&hex));
}

static void row_put_value(struct json_writer *w, struct query *q, int i)
{
    int64_t n = query_int(q, i);
    char text[24];
    switch (query_type(q, i)) {
    case DB_INT:
        (void)snprintf(text, sizeof text, "%lld", (long long)n);
        if (n > -EXACT_MAX && n < EXACT_MAX)
            json_put_int(w, n);
        else
            json_put_cstr(w, text); /* JavaScript would change it */
        break;
    case DB_NUMBER:
        json_put_number(w, query_number(q, i));
        break;
    case DB_TEXT:
        json_put_str(w, query_str(q, i));
        break;
    case DB_BYTES:
        put_bytes(w, query_bytes(q, i));
        break;
    case DB_NULL:
        json_put_null(w);
    }
}

/* Two columns of one name would be one key: the second is called "name_2". */
static bool name_columns(struct query *q, struct str *names, struct arena *a,
                         struct err *e)
{
    int count = query_columns(q);
    for (int i = 0; i < count; i++) {
        struct str name = query_name(q, i);
        const char *copy = arena_copy(a, name.at, name.n, e);
        names[i] = (struct str){copy, name.n};
        for (int k = 0, same = 1; copy && k < i; k++) {
            if (!str_eq(names[k], names[i]))
                continue;
            copy = arena_printf(a, e, "%.*s_%d", STR_ARGS(name), ++same);
            names[i] = str_of(copy);
            k = -1; /* that one may be taken, too */
        }
        if (!copy)
            return false;
    }
    return true;
}

struct question {
    struct str sql;
    const struct json *params;
    int64_t limit, bytes;
};

static bool worker_put_rows(const struct question *s, struct query *q, struct buf *out,
                            struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    int columns = query_columns(q);
    struct str *names = arena_get(a, (size_t)columns * sizeof *names, e);
    if (!names || !name_columns(q, names, a, e))
        return false;
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "columns");
    json_open_array(&w);
    for (int i = 0; i < columns; i++)
        json_put_str(&w, names[i]);
    json_close(&w);
    json_key(&w, "rows");
    json_open_array(&w);
    int64_t count = 0;
    bool more = false;
    while (!out->failed && query_next(q, e)) {
        more = count == s->limit || (int64_t)out->n > s->bytes;
        if (more)
            break;
        json_open_object(&w);
        for (int i = 0; i < columns; i++) {
            json_key_str(&w, names[i]);
            row_put_value(&w, q, i);
        }
        json_close(&w);
        count++;
    }
    json_close(&w);
    json_pair_int(&w, "row_count", count);
    json_pair_bool(&w, "truncated", more);
    json_close(&w);
    return e->code == ERR_NONE && buf_check(out, "the answer", e);
}

/* The client kills a process that is over time; this is for when it cannot. */
static void set_alarm(uint64_t until_ns)
{
    uint64_t now = os_mono_ns(), us = until_ns > now ? (until_ns - now) / 1000 : 0;
    us = until_ns ? us + LATE_US : 0;
    struct itimerval at = {.it_value = {(time_t)(us / 1000000), (long)(us % 1000000)}};
    (void)setitimer(ITIMER_REAL, &at, NULL);
}

static bool worker_answer(struct worker *w, const struct json *asked, struct buf *out,
                          struct err *e)
{
    struct question s = {.sql = json_str(json_get(asked, "sql")),
                         .params = json_get(asked, "params"),
                         .limit = json_int(json_get(asked, "limit"), 0),
                         .bytes = json_int(json_get(asked, "bytes"), 0)};
    struct db_outside o = {.names = w->names,
                           .inner = w->inner,
                           .until_ns = (uint64_t)json_int(json_get(asked, "until"), 1)};
    set_alarm(o.until_ns);
    scoped(query_end) struct query *q = db_ask(w->db, s.sql, &o, e);
    bool ok = q && bind_params(q, s.params, e) && worker_put_rows(&s, q, out, e);
    set_alarm(0);
    return ok;
}

static bool serve_one(struct worker *w)
{
    struct pollfd p = {.fd = SOCKET, .events = POLLIN};
    if (poll(&p, 1, IDLE_MS) <= 0)
        return false;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)8 * QUESTION_MAX);
    const struct json *asked = receive_frame(FRAME_QUESTION, QUESTION_MAX, a);
    if (!asked)
        return false;
    scoped_buf struct buf out = buf_of(ANSWER_MAX);
    bool ok = worker_answer(w, asked, &out, &e);
    bool sent = ok ? send_frame(FRAME_ANSWER, &out) : send_error(FRAME_ERROR, &e);
    if (db_is_bloated())
        (void)malloc_trim(0);
    return sent;
}

int sql_worker_main(void)
{
    struct worker w = {0};
    struct err e = {0};
    apart_limit(&(struct apart_limits){.memory_bytes = PROCESS_BYTES});
    if (!open_all(&w, &e)) {
        (void)send_error(FRAME_REFUSED, &e);
        return 1;
    }
    while (serve_one(&w))
        ;
    _exit(0); /* nothing of it is worth being closed, or can be */
}
