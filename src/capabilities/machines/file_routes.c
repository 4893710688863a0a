/* The routes of files of Linux machines. A file is its bytes as they are: with one range, and
 * of any size, since what is larger than one piece leaves as it is read. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "machines/machine_files.h"
#include "machines/vm_file_routes.api.h"
#include "routes/routes.h"

#define PIECE ((uint64_t)4 << 20) /* bytes that are read from the machine at a time */

/* ---- actions ------------------------------------------------------------------------- */

/* Members of every request; "default" is the machine of commands that name none. */
static void put_names(struct route_call *c, struct json_writer *w)
{
    struct str path = route_text(c, "path");
    if (path.n)
        json_pair_str(w, "path", path);
    if (!str_is(c->values[0], "default"))
        json_pair_str(w, "machine", str_cut(c->values[0], 100));
}

/* The answer of the action becomes the body. */
static bool ask(struct route_call *c, const char *action, const struct buf *arguments,
                struct err *e)
{
    if (!buf_check(arguments, "the request", e))
        return false;
    const struct json *v = json_read(buf_view(arguments), c->arena, e);
    return v && route_action(c, action, v, route_text(c, "workspace"), NULL, e);
}

static bool has_path(struct route_call *c, struct err *e)
{
    return route_text(c, "path").n ||
           err_set(e, ERR_INVALID, "the parameter path is missing");
}

/* ---- a file ----------------------------------------------------------------------------- */

#define VERSION_MAX 40u

/* A file while it is read; one version of it. */
struct reading {
    char version[VERSION_MAX]; /* "": nothing was read yet */
    uint64_t size;
    struct buf bytes; /* the last piece */
};

static bool take_piece(struct reading *r, const struct json *file, struct err *e)
{
    struct str version = json_str(json_get(file, "version"));
    if (*r->version && !str_is(version, r->version))
        return err_set(e, ERR_CONFLICT, "the file changed while it was read");
    (void)snprintf(r->version, sizeof r->version, "%.*s",
                   STR_ARGS(str_cut(version, VERSION_MAX - 1)));
    r->size = (uint64_t)json_int(json_get(file, "size"), 0);
    return crypto_base64_read(json_str(json_get(file, "content")), &r->bytes, e);
}

/* Reads up to `n` bytes, with memory for one piece. */
static bool read_piece(struct route_call *c, struct reading *r, uint64_t at, uint64_t n,
                       struct err *e)
{
    struct arena *outer = c->arena;
    scoped(arena_free) struct arena *inner = arena_new(ROUTE_ARENA);
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_names(c, &w);
    json_pair_int(&w, "offset", (int64_t)at);
    json_pair_int(&w, "length", (int64_t)n);
    json_pair_cstr(&w, "encoding", "base64");
    json_close(&w);
    buf_clear(&r->bytes);
    c->arena = inner;
    const struct json *file =
        ask(c, "vm_read", &text, e) ? json_read(buf_view(&c->out->body), inner, e) : NULL;
    bool ok = file && take_piece(r, file, e);
    c->arena = outer;
    buf_clear(&c->out->body);
    return ok;
}

/* ---- ranges: RFC 9110, section 14 ---------------------------------------------------- */

enum range { RANGE_ALL, RANGE_PART, RANGE_NONE };

static bool take_offset(struct str s, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!char_is_digit(s.at[i]) || i > 15)
            return false;
        *out = *out * 10 + (uint64_t)(s.at[i] - '0');
    }
    return s.n > 0;
}

/* "bytes=FIRST-LAST", "bytes=FIRST-", "bytes=-COUNT". Anything else, several ranges included, is
 * as if there was none, as the RFC allows. */
static enum range read_range(struct str s, uint64_t size, uint64_t *first, uint64_t *end)
{
    *first = 0;
    *end = size;
    s = str_trim(s);
    if (!str_starts(s, "bytes="))
        return RANGE_ALL;
    s = str_trim((struct str){s.at + 6, s.n - 6});
    const char *dash = s.n ? memchr(s.at, '-', s.n) : NULL;
    if (!dash)
        return RANGE_ALL;
    struct str from = str_trim((struct str){s.at, (size_t)(dash - s.at)});
    struct str to = str_trim((struct str){dash + 1, (size_t)(s.at + s.n - dash - 1)});
    uint64_t a = 0, b = 0;
    if ((from.n && !take_offset(from, &a)) || (to.n && !take_offset(to, &b)) ||
        (!from.n && !to.n) || (from.n && to.n && b < a))
        return RANGE_ALL;
    if (!from.n) {
        *first = b < size ? size - b : 0;
        return b && size ? RANGE_PART : RANGE_NONE;
    }
    *first = a;
    if (to.n && b < size)
        *end = b + 1;
    return a < size ? RANGE_PART : RANGE_NONE;
}

/* A range of another version than the client's is the whole file. */
static bool range_holds(const struct route_call *c, const struct reading *r)
{
    struct str tag = str_trim(c->rq->if_range), next = tag;
    bool weak = false;
    return !tag.n ||
           (route_next_tag(&next, &tag, &weak) && !weak && str_is(tag, r->version));
}

static bool put_fields(struct route_call *c, const struct reading *r, enum range range,
                       uint64_t first, uint64_t end, struct err *e)
{
    char text[80];
    if (range == RANGE_PART)
        (void)snprintf(text, sizeof text, "bytes %llu-%llu/%llu",
                       (unsigned long long)first, (unsigned long long)(end - 1),
                       (unsigned long long)r->size);
    else
        (void)snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)r->size);
    return (range == RANGE_ALL || route_header(c, "Content-Range", str_of(text), e)) &&
           route_header(c, "Accept-Ranges", STR("bytes"), e) &&
           (range == RANGE_NONE || route_etag(c, str_of(r->version), e));
}

/* What fits into a body is one; the rest leaves piece by piece. */
static bool send_bytes(struct route_call *c, struct reading *r, uint64_t at, uint64_t end,
                       struct err *e)
{
    bool streams = end - at > PIECE && c->out->put;
    while (at < end) {
        uint64_t n = end - at < PIECE ? end - at : PIECE;
        if (!read_piece(c, r, at, n, e))
            return false;
        if (!r->bytes.n)
            return err_set(e, ERR_CONFLICT, "the file became shorter while it was read");
        at += r->bytes.n;
        if (!streams)
            buf_str(&c->out->body, buf_view(&r->bytes));
        else if (!c->out->put(c->out->carrier, buf_view(&r->bytes)))
            return err_set(e, ERR_CANCELLED, "the client reads no more");
    }
    return true;
}

static bool is_unchanged(const struct route_call *c, const struct reading *r)
{
    return c->rq->if_none_match.n &&
           route_names_tag(c->rq->if_none_match, str_of(r->version), true);
}

static bool answer_file(struct route_call *c, struct reading *r, struct err *e)
{
    uint64_t first, end;
    if (!has_path(c, e) || !read_piece(c, r, 0, 64, e))
        return false;
    enum range range = range_holds(c, r) ? read_range(c->rq->range, r->size, &first, &end)
                                         : read_range(STR(""), r->size, &first, &end);
    if (!put_fields(c, r, range, first, end, e))
        return false;
    if (range == RANGE_NONE) {
        c->refusal = 416;
        return err_set(e, ERR_INVALID,
                       "the file has %llu bytes; nothing of it is in the range",
                       (unsigned long long)r->size);
    }
    c->out->status = range == RANGE_PART ? 206 : 200;
    c->out->type = "application/octet-stream";
    if (range == RANGE_ALL && (is_unchanged(c, r) || str_is(c->rq->method, "HEAD")))
        return true; /* the way of all answers says 304 */
    return send_bytes(c, r, first, end, e);
}

static bool route_read(struct route_call *c, struct err *e)
{
    struct reading r = {0};
    buf_init(&r.bytes, PIECE + 16);
    bool ok = answer_file(c, &r, e);
    buf_done(&r.bytes);
    return ok;
}

/* ---- the others --------------------------------------------------------------------- */

static bool read_append(struct route_call *c, bool *append, struct err *e)
{
    struct str text = route_text(c, "append");
    *append = str_is(text, "true");
    return *append || !text.n || str_is(text, "false") ||
           err_set(e, ERR_INVALID, "the parameter append is true or false");
}

static bool route_write(struct route_call *c, struct err *e)
{
    struct str mode = route_text(c, "mode");
    bool append;
    if (!has_path(c, e) || !read_append(c, &append, e))
        return false;
    scoped_buf struct buf text = buf_of(c->markdown.n / 3 * 4 + BUF_TEXT);
    scoped_buf struct buf coded = buf_of(c->markdown.n / 3 * 4 + 8);
    (void)crypto_base64(c->markdown.at, c->markdown.n, &coded);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_names(c, &w);
    json_key(&w, "content");
    json_open_object(&w);
    json_pair_str(&w, "base64", buf_view(&coded));
    json_close(&w);
    if (append)
        json_pair_bool(&w, "append", true);
    if (mode.n)
        json_pair_str(&w, "mode", mode);
    json_close(&w);
    return ask(c, "vm_write", &text, e);
}

static bool route_list_folder(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str after = route_text(c, "after");
    if (!route_number(c, "limit", 1000, 1, 10000, &limit, e))
        return false;
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_names(c, &w);
    json_pair_int(&w, "limit", limit);
    if (after.n)
        json_pair_str(&w, "after", after);
    json_close(&w);
    return ask(c, "vm_ls", &text, e);
}

/* ---- the rows ------------------------------------------------------------ */

#define MACHINE "/vm/{machine}"

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route rows[] = {
    {ROUTE("GET", MACHINE "/file"), .operation = "readMachineFile",
     .summary = "A file of a Linux machine, as bytes; with Range a part of it",
     TELLS(
         "A machine called \"default\" is the one of commands that name none. A file of more "
         "than 4 MiB leaves as it is read; if it changes meanwhile the answer is cut off."),
     .run = route_read, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE | ROUTE_BYTES_OUT,
     .etag = "of this version of the file", .parameters = MACHINE_READ_PARAMETERS},
    {ROUTE("PUT", MACHINE "/file"), .operation = "writeMachineFile",
     .summary = "Writes a file of a Linux machine; the body is its bytes",
     TELLS(
         "Missing folders are made. The file is replaced when all of it is there; with "
         "append=true the body is added, so that a large file comes in several requests."),
     .run = route_write, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE | ROUTE_BYTES_IN,
     .answer = "WrittenMachineFile", .parameters = MACHINE_WRITE_PARAMETERS},
    {ROUTE("GET", MACHINE "/files"), .operation = "listMachineFiles",
     .summary = "A folder of a Linux machine, by name",
     TELLS(
         "`more` says that entries behind the last one are left out: ask for those after "
         "its name."),
     .run = route_list_folder, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .answer = "MachineFolder", .parameters = MACHINE_LIST_PARAMETERS},
};
const struct route_group vm_file_routes = {
    .tag = "Machines", ROWS(rows), .order = 85, SCHEMAS(schemas), .root = "/vm/"};
