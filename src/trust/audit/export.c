/* Exports old records and removes them from the trail: first they are written elsewhere,
 * sealed with the chain's key; then their end is noted beside the head, and the chain
 * continues from there. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/chain.h"
#include "os/os.h"

/* ---- what was taken out ------------------------------------------------------- */

static void base_name(const struct chain *c, char out[static 64])
{
    (void)snprintf(out, 64, "%s.base", c->name);
}

bool chain_read_base(const struct chain *c, struct base *out, struct err *e)
{
    char name[64];
    struct err why = {0};
    scoped_buf struct buf text = buf_of(BUF_NAME);
    *out = (struct base){0};
    base_name(c, name);
    if (c->heads < 0)
        return true;
    if (!os_read_file(c->heads, name, &text, NULL, &why))
        return why.code == ERR_NOT_FOUND || err_set(e, why.code, "%s", why.msg);
    if (sscanf(buf_cz(&text), "%" SCNu32 " %" SCNu64 " %64s", &out->first, &out->count,
               out->mac) == 3 &&
        strlen(out->mac) == MAC_HEX - 1)
        return true;
    return err_set(e, ERR_IO, "the exported part of the audit trail %s cannot be read",
                   c->folder);
}

static bool write_base(const struct chain *c, const struct base *b, struct err *e)
{
    char name[64], text[160];
    base_name(c, name);
    int n = snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64 " %s\n", b->first,
                     b->count, b->mac);
    return os_write_file(c->heads, name, (struct str){text, (size_t)n}, OS_REPLACE, 0600,
                         NULL, e) &&
           os_sync(c->heads, e);
}

/* ---- writing ------------------------------------------------------------------- */

static bool export_put(struct exporting *x, struct str text, struct err *e)
{
    while (text.n) {
        ssize_t n = write(x->fd, text.at, text.n);
        if (n <= 0)
            return err_set(e, ERR_IO, "cannot write the export: %m");
        text.at += n;
        text.n -= (size_t)n;
        x->bytes += (uint64_t)n;
    }
    return true;
}

/* A line of ours: the object's inside, sealed. */
static bool put_sealed(const struct chain *c, struct exporting *x, struct str members,
                       struct err *e)
{
    char mac[MAC_HEX], first[MAC_HEX];
    scoped_buf struct buf line = buf_of(BUF_PAGE);
    chain_first_mac(first);
    buf_printf(&line, "{%.*s", STR_ARGS(members));
    chain_mac(c, first, buf_view(&line), mac);
    buf_printf(&line, ",\"mac\":\"%s\"}\n", mac);
    return export_put(x, buf_view(&line), e);
}

struct copying {
    struct exporting *x;
    struct base end; /* number and MAC of the last record that was copied */
    uint64_t records;
    char time[40]; /* of the last record of the file that was looked at */
};

static bool note_time(void *arg, struct str line, struct err *e)
{
    struct copying *c = arg;
    static const char key[] = "\"time\":\"";
    const char *at = memmem(line.at, line.n < 80 ? line.n : 80, key, sizeof key - 1);
    (void)e;
    if (at && (size_t)(line.at + line.n - at) > sizeof key + 24)
        (void)snprintf(c->time, sizeof c->time, "%.24s", at + sizeof key - 1);
    return true;
}

static bool copy_line(void *arg, struct str line, struct err *e)
{
    struct copying *c = arg;
    struct str body, mac;
    if (chain_split(line, &body, &mac)) {
        memcpy(c->end.mac, mac.at, MAC_HEX - 1);
        c->end.mac[MAC_HEX - 1] = '\0';
    }
    char number[32];
    (void)snprintf(number, sizeof number, "%.*s", (int)(line.n < 31 ? line.n : 31),
                   line.at);
    if (str_starts(line, "{\"n\":"))
        c->end.count = strtoull(number + 5, NULL, 10);
    c->records++;
    (void)note_time(c, line, e);
    if (str_cmp(str_of(c->time), str_of(c->x->last_time)) > 0)
        (void)snprintf(c->x->last_time, sizeof c->x->last_time, "%s", c->time);
    return export_put(c->x, line, e) && export_put(c->x, STR("\n"), e);
}

static bool is_before(const struct chain *c, uint32_t file, struct copying *k,
                      struct err *e)
{
    k->time[0] = '\0';
    if (!k->x->before.n)
        return true;
    struct err odd = {0}; /* it is reported when the file is copied */
    return chain_file_lines(c, file, note_time, k, &odd, e) &&
           str_cmp(str_of(k->time), k->x->before) < 0;
}

/* The first file that stays. */
static uint32_t export_find_end(const struct chain *c, uint32_t from, struct copying *k,
                                struct err *e)
{
    uint32_t to = c->head.file;
    if (c->head.open_from && c->head.open_from < to)
        to = c->head.open_from;
    uint32_t end = from;
    while (end < to && is_before(c, end, k, e))
        end++;
    return end;
}

static bool export_put_chain(struct chain *c, uint32_t from, uint32_t end,
                             const struct base *base, struct copying *k, struct err *e)
{
    char text[400], before[MAC_HEX];
    chain_first_mac(before);
    (void)snprintf(text, sizeof text,
                   "\"cloche_audit\":1,\"chain\":\"%s\",\"after\":%" PRIu64
                   ",\"previous\":\"%s\"",
                   c->name, base->count, base->first ? base->mac : before);
    if (!put_sealed(c, k->x, str_of(text), e))
        return false;
    for (uint32_t file = from; file < end; file++) {
        struct err odd = {0};
        if (!chain_file_lines(c, file, copy_line, k, &odd, e))
            return false;
        if (odd.code) /* what was not copied may not be taken out */
            return err_set(e, odd.code, "%s", odd.msg);
    }
    (void)snprintf(text, sizeof text,
                   "\"end\":\"%s\",\"records\":%" PRIu64 ",\"last\":%" PRIu64
                   ",\"last_mac\":\"%s\"",
                   c->name, k->records, k->end.count, k->end.mac);
    return put_sealed(c, k->x, str_of(text), e);
}

static bool export_take_out(struct chain *c, uint32_t from, uint32_t end,
                            struct copying *k, struct err *e)
{
    k->end.first = end;
    /* First the copy is safe, then it is noted, then the files go. */
    if ((fsync(k->x->fd) < 0 && errno != EINVAL && errno != EROFS) ||
        !write_base(c, &k->end, e))
        return e->code ? false : err_set(e, ERR_IO, "the export is not on the disk: %m");
    for (uint32_t file = from; file < end; file++) {
        char name[FILE_NAME_MAX];
        chain_file_name(c, file, name);
        if (unlinkat(c->dir, name, 0) < 0 && errno != ENOENT)
            return err_set(e, ERR_IO, "cannot take out %s of the audit trail: %m", name);
    }
    return true;
}

bool chain_export(struct chain *c, bool own, struct exporting *x, struct err *e)
{
    struct base base;
    struct copying k = {.x = x};
    bool damaged;
    if (!chain_read_head(c, &c->head, &damaged, e) || !chain_read_base(c, &base, e))
        return false;
    if (!c->head.file || damaged)
        return true;
    if (own && !x->before.n && !chain_next_file(c, "the earlier part was exported", e))
        return false;
    uint32_t from = base.first > c->head.first ? base.first : c->head.first;
    uint32_t end = export_find_end(c, from, &k, e);
    if (end == from)
        return !e->code;
    if (!export_put_chain(c, from, end, &base, &k, e))
        return false;
    x->records += k.records;
    x->files += end - from;
    return !x->remove || export_take_out(c, from, end, &k, e);
}

/* ---- checking ------------------------------------------------------------------- */

struct checking {
    const unsigned char *key;
    struct json_writer *out;
    struct chain chain; /* whose key it is; its name is "" between two */
    char mac[MAC_HEX];
    uint64_t count, first, line, records;
    const char *why; /* the first thing that is wrong with this chain */
    uint64_t bad_line;
    bool sound, any;
};

static void export_refuse(struct checking *k, const char *why)
{
    k->bad_line = k->why ? k->bad_line : k->line;
    k->why = k->why ? k->why : why;
    k->sound = false;
}

static void close_chain(struct checking *k)
{
    if (!*k->chain.name)
        return;
    json_open_object(k->out);
    json_pair_cstr(k->out, "chain", k->chain.name);
    json_pair_int(k->out, "from", (int64_t)k->first + 1);
    json_pair_int(k->out, "to", (int64_t)k->count);
    json_pair_bool(k->out, "ok", k->why == NULL);
    if (k->why) {
        json_pair_cstr(k->out, "why", k->why);
        json_pair_int(k->out, "line", (int64_t)k->bad_line);
    }
    json_close(k->out);
    k->chain.name[0] = '\0';
    k->why = NULL;
}

static bool is_sealed(const struct checking *k, struct str line)
{
    char mac[MAC_HEX], first[MAC_HEX];
    struct str body, stated;
    chain_first_mac(first);
    if (!chain_split(line, &body, &stated))
        return false;
    chain_mac(&k->chain, first, body, mac);
    return str_is(stated, mac);
}

static void open_section(struct checking *k, const struct json *head, struct str line)
{
    char name[48];
    if (*k->chain.name)
        export_refuse(k, "this chain has no end: the file was cut");
    close_chain(k);
    (void)snprintf(name, sizeof name, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(head, "chain")), 47)));
    (void)chain_open_headless(&k->chain, 0, -1, NULL, name, k->key);
    k->any = true;
    k->records = 0;
    k->first = k->count = (uint64_t)json_int(json_get(head, "after"), 0);
    struct str previous = json_str(json_get(head, "previous"));
    (void)snprintf(k->mac, sizeof k->mac, "%.*s", STR_ARGS(str_cut(previous, 64)));
    if (!is_sealed(k, line) || strlen(k->mac) != MAC_HEX - 1)
        export_refuse(k, "the line before the chain was changed");
}

static void end_section(struct checking *k, const struct json *end, struct str line)
{
    if (!is_sealed(k, line))
        export_refuse(k, "the line after the chain was changed");
    else if ((uint64_t)json_int(json_get(end, "records"), -1) != k->records ||
             !str_is(json_str(json_get(end, "last_mac")), k->mac))
        export_refuse(k, "records of it are missing");
    close_chain(k);
}

static void check_record(struct checking *k, struct str line)
{
    char mac[MAC_HEX], start[40];
    struct str body, stated;
    (void)snprintf(start, sizeof start, "{\"n\":%" PRIu64 ",", k->count + 1);
    if (!chain_split(line, &body, &stated)) {
        export_refuse(k, "this line is not a record");
        return;
    }
    chain_mac(&k->chain, k->mac, body, mac);
    if (!str_is(stated, mac) || !str_starts(body, start))
        export_refuse(
            k, "its MAC does not fit: it was changed, or what stood before it was");
    memcpy(k->mac, stated.at, MAC_HEX - 1);
    k->count++;
    k->records++;
}

static void export_check_line(struct checking *k, struct str line)
{
    struct err broken = {0};
    k->line++;
    bool ours = str_starts(line, "{\"cloche_audit\":") || str_starts(line, "{\"end\":");
    if (!ours && *k->chain.name) {
        check_record(k, line);
        return;
    }
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *v = ours ? json_read(line, a, &broken) : NULL;
    if (json_get(v, "cloche_audit"))
        open_section(k, v, line);
    else if (v && *k->chain.name)
        end_section(k, v, line);
    else
        k->sound = false;
}

bool export_verify(const unsigned char key[32], int fd, struct json_writer *out,
                   bool *sound, struct err *e)
{
    struct checking k = {.key = key, .out = out, .sound = true};
    struct records l;
    struct str line;
    bool whole;
    records_init(&l, fd, 0);
    json_open_array(out);
    while (records_next(&l, &line, &whole))
        export_check_line(&k, line);
    if (l.too_long)
        export_refuse(&k, "this line is longer than any record");
    if (*k.chain.name)
        export_refuse(&k, "this chain has no end: the file was cut");
    close_chain(&k);
    json_close(out);
    bool failed = l.failed;
    records_done(&l);
    *sound = k.sound && k.any;
    return !failed || err_set(e, ERR_IO, "the export cannot be read");
}
