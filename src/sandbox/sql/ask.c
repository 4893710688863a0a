/* A query is sent to a process, and what comes back is held against what may come. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "sql/pool.h"
#include "sql/sql.h"
#include "sql/wire.h"

#define GRACE_NS 100000000u /* in which a process ends a query by itself */
#define ENDING_MS 200       /* from closing the socket to the end */
#define CHECK_MEMORY ((size_t)512 << 20)

struct talk {
    struct process *w;
    const struct sql_caller *by;
    const struct sql_query *query;
    size_t received; /* bytes */
    bool is_lost;    /* the process has ended, or says what it must not */
    bool is_over;    /* the former */
    bool is_left;    /* nobody waits for its answer */
};

/* ---- bytes ---------------------------------------------------------------------- */

/* Until the socket is ready. false and *e: nobody waits any more. */
static bool talk_wait_for(struct talk *t, short events, struct err *e)
{
    for (;;) {
        struct pollfd p = {.fd = t->w->socket, .events = events};
        if (poll(&p, 1, LOOK_MS) > 0)
            return true;
        enum err_code stopped = query_stopped(t->by, t->query);
        if (stopped == ERR_TIMEOUT && os_mono_ns() < t->query->until_ns + GRACE_NS)
            continue;
        t->is_left = stopped != ERR_NONE;
        if (stopped)
            return db_outside_stopped(stopped, e);
    }
}

/* A failure to send to a process that has ended shows when its answer is read. */
static bool talk_send_all(struct talk *t, struct str bytes, struct err *e)
{
    while (bytes.n) {
        ssize_t put = send(t->w->socket, bytes.at, bytes.n, MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return true;
        if (put < 0 && !talk_wait_for(t, POLLOUT, e))
            return false;
        bytes.at += put > 0 ? put : 0;
        bytes.n -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool talk_receive(struct talk *t, void *to, size_t n, struct err *e)
{
    for (char *at = to; n;) {
        ssize_t got = recv(t->w->socket, at, n, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            t->is_lost = t->is_over = true;
            return false;
        }
        if (got < 0 && !talk_wait_for(t, POLLIN, e))
            return false;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
        t->received += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* ---- the question ----------------------------------------------------------------- */

static bool talk_put_question(const struct sql_query *q, struct buf *out, struct err *e)
{
    scoped_buf struct buf body = buf_of(QUESTION_MAX);
    struct json_writer w = json_writer(&body);
    json_open_object(&w);
    json_pair_str(&w, "sql", q->sql);
    if (q->params)
        json_pair(&w, "params", q->params);
    json_pair_int(&w, "limit", q->limit);
    json_pair_int(&w, "bytes", (int64_t)q->answer_bytes);
    json_pair_int(&w, "until", (int64_t)q->until_ns);
    json_close(&w);
    struct frame_head head = {FRAME_QUESTION, (uint32_t)body.n};
    buf_put(out, &head, sizeof head);
    buf_str(out, buf_view(&body));
    return buf_check(&body, "the query with its params", e) &&
           buf_check(out, "the query with its params", e);
}

/* ---- the answer --------------------------------------------------------------------- */

static bool is_row(const struct json *row, size_t columns)
{
    struct json_iter it = json_iter(row);
    bool ok = json_is(row, JSON_OBJECT) && json_length(row) == columns;
    while (ok && json_next(&it))
        ok = !json_is(it.value, JSON_ARRAY) && !json_is(it.value, JSON_OBJECT);
    return ok;
}

static bool is_answer(const struct json *a, const struct sql_query *q)
{
    const struct json *columns = json_get(a, "columns"), *rows = json_get(a, "rows");
    bool ok = json_is(a, JSON_OBJECT) && json_length(a) == 4 &&
              json_is(columns, JSON_ARRAY) && json_length(columns) <= COLUMNS_MAX &&
              json_is(rows, JSON_ARRAY) && (int64_t)json_length(rows) <= q->limit &&
              json_int(json_get(a, "row_count"), -1) == (int64_t)json_length(rows) &&
              json_is(json_get(a, "truncated"), JSON_BOOL);
    struct json_iter names = json_iter(columns), all = json_iter(rows);
    while (ok && json_next(&names))
        ok = json_is(names.value, JSON_STRING);
    while (ok && json_next(&all))
        ok = is_row(all.value, json_length(columns));
    return ok;
}

/* A process may fail in these ways and in no other. */
static bool read_error(const struct json *said, struct err *e)
{
    static const enum err_code codes[] = {
        ERR_INVALID, ERR_DENIED, ERR_LIMIT, ERR_TIMEOUT, ERR_BUSY, ERR_IO, ERR_CONFLICT};
    char name[40];
    (void)snprintf(name, sizeof name, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(said, "code")), 39)));
    for (size_t i = 0; i < LENGTH(codes); i++)
        if (codes[i] == err_code_named(name))
            return err_set(e, codes[i], "%.*s",
                           STR_ARGS(str_cut(json_str(json_get(said, "message")), 390)));
    return err_set(e, ERR_IO, "the query failed in an unknown way");
}

static size_t most_bytes(uint32_t kind)
{
    return kind == FRAME_ANSWER                           ? ANSWER_MAX
           : kind == FRAME_ERROR || kind == FRAME_REFUSED ? ERROR_MAX
                                                          : 0;
}

static bool talk_read_answer(struct talk *t, struct buf *out, struct err *e)
{
    struct frame_head head;
    scoped_buf struct buf text = buf_of(ANSWER_MAX + 1);
    if (!talk_receive(t, &head, sizeof head, e))
        return false;
    if (!head.size || head.size > most_bytes(head.kind)) {
        t->is_lost = true;
        return false;
    }
    char *at = buf_room(&text, head.size);
    t->is_lost = !at;
    if (!at)
        return buf_check(&text, "the answer", e);
    if (!talk_receive(t, at, head.size, e))
        return false;
    struct str bytes = {at, head.size};
    struct err wrong = {0};
    scoped(arena_free) struct arena *a = arena_new(CHECK_MEMORY);
    const struct json *said = json_read(bytes, a, &wrong);
    bool is_good = head.kind == FRAME_ANSWER ? is_answer(said, t->query) : said != NULL;
    t->is_lost = !is_good || head.kind == FRAME_REFUSED;
    if (is_good && head.kind != FRAME_ANSWER)
        return read_error(said, e);
    if (is_good)
        buf_str(out, bytes);
    return is_good && buf_check(out, "the answer", e);
}

static bool says_why_lost(struct talk *t, struct err *e)
{
    int status = t->is_over ? apart_wait(t->w->apart, ENDING_MS) : -1;
    if (status != -1 && WIFSIGNALED(status))
        return err_set(e, ERR_IO,
                       "the process that ran the query was ended (signal %d); another "
                       "will run the next",
                       WTERMSIG(status));
    return err_set(e, ERR_IO,
                   "the process that ran the query has failed; another will "
                   "run the next");
}

/* Had it gone by itself, as all do after a while, just when it was sent the query? */
static bool went_before(struct talk *t)
{
    if (!t->is_over || !t->w->is_used || t->received)
        return false;
    int status = apart_wait(t->w->apart, ENDING_MS);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* `*again`: nothing was done, and another process is to be asked. */
static bool ask_process(const struct sql_caller *by, struct process *w,
                        const struct sql_query *q, struct str question, struct buf *out,
                        bool *again, struct err *e)
{
    struct talk t = {.w = w, .by = by, .query = q};
    bool ok = talk_send_all(&t, question, e) && talk_read_answer(&t, out, e);
    *again = !ok && !e->code && went_before(&t);
    if (!ok && !*again && !e->code)
        (void)says_why_lost(&t, e);
    if (t.is_lost || t.is_left)
        process_end(w);
    else
        process_keep(by->pool, w);
    return ok;
}

bool sql_ask(const struct sql_caller *by, const struct sql_source *source,
             const struct sql_query *query, struct buf *out, struct err *e)
{
    struct turn turn = {0};
    scoped_buf struct buf question = buf_of(QUESTION_MAX + sizeof(struct frame_head));
    if (!talk_put_question(query, &question, e) || !turn_take(by, &turn, query, e))
        return false;
    struct process *w = process_idle(by->pool, source);
    bool again = false, ok = false;
    if (w)
        ok = ask_process(by, w, query, buf_view(&question), out, &again, e);
    if ((!w || again) && (w = process_begin(by->pool, source, e)))
        ok = ask_process(by, w, query, buf_view(&question), out, &again, e);
    turn_leave(by->pool, &turn);
    return ok;
}

/* ---- a trial --------------------------------------------------------------------------- */

bool sql_try(struct sql_pool *p, struct err *e)
{
    static const struct sql_view view = {"one", "SELECT 1 AS n"};
    static const char *const tables[] = {"CREATE TABLE t(n)"};
    static const struct db_options options = {.migrations = tables, .migration_count = 1};
    const struct sql_caller by = {.pool = p};
    scoped_buf struct buf out = buf_of(BUF_PAGE);
    scoped(db_close) struct db *db = db_open_memory(&options, e);
    scoped_fd int copy = memfd_create("cloche-sql", MFD_CLOEXEC);
    struct sql_source source = {.copy = copy, .views = &view, .view_count = 1};
    struct sql_query query = {.sql = STR("SELECT n FROM one"),
                              .limit = 1,
                              .answer_bytes = 1000,
                              .until_ns = os_mono_ns() + 10000000000u};
    if (copy < 0)
        return err_set(e, ERR_IO, "cannot make a file without a name: %m");
    return db && db_write_to(db, copy, e) && sql_ask(&by, &source, &query, &out, e);
}
