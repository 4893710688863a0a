#include <inttypes.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "results/results.h"
#include "json/json.h"

#define MEMORY ((size_t)512 << 20)
#define MARK_MAX 64u

static const char *const names[STREAMS] = {"stdout", "stderr"};

/* ---- writing -------------------------------------------------------------------- */

static void put_mark(uint64_t lost, struct buf *out)
{
    char digits[24], mark[MARK_MAX];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, lost), at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            mark[at++] = ',';
        mark[at++] = digits[i];
    }
    buf_printf(out, "\n[... %.*s bytes left out ...]\n", at, mark);
}

static void stream_put(const char *name, const struct stream *s, struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, 2 * s->bytes.n + MARK_MAX + 8);
    char encoding[24];
    if (!str_is_utf8(s->bytes)) {
        (void)crypto_base64(s->bytes.at, s->bytes.n, &text);
        json_pair_str(w, name, buf_view(&text));
        (void)snprintf(encoding, sizeof encoding, "%sEncoding", name);
        json_pair_cstr(w, encoding, "base64");
        return;
    }
    buf_put(&text, s->bytes.at, s->gap);
    if (s->lost)
        put_mark(s->lost, &text);
    buf_put(&text, s->bytes.at + s->gap, s->bytes.n - s->gap);
    json_pair_str(w, name, buf_view(&text));
}

void streams_put(const struct stream s[static STREAMS], struct json_writer *w)
{
    for (size_t i = 0; i < STREAMS; i++)
        stream_put(names[i], &s[i], w);
}

/* Whether files, too, were left out. */
static bool has_more(const struct json *truncated)
{
    struct json_iter it = json_iter(truncated);
    while (json_is(truncated, JSON_OBJECT) && json_next(&it))
        if (!str_starts(it.key, "std"))
            return true;
    return false;
}

static void put_truncated(const struct stream s[static STREAMS], const struct json *more,
                          struct json_writer *w)
{
    char at[16];
    if (!s[0].lost && !s[1].lost && !has_more(more))
        return;
    json_key(w, "truncated");
    json_open_object(w);
    struct json_iter it = json_iter(more);
    while (json_is(more, JSON_OBJECT) && json_next(&it))
        if (!str_starts(it.key, "std"))
            json_key_str(w, it.key), json_put(w, it.value);
    for (size_t i = 0; i < STREAMS; i++) {
        if (!s[i].lost)
            continue;
        (void)snprintf(at, sizeof at, "%sAt", names[i]);
        json_pair_int(w, names[i], (int64_t)s[i].lost);
        json_pair_int(w, at, (int64_t)s[i].gap);
    }
    json_close(w);
}

void streams_put_truncated(const struct stream s[static STREAMS], struct json_writer *w)
{
    put_truncated(s, NULL, w);
}

/* ---- shortening ------------------------------------------------------------------- */

/* The stream's bytes before encoding: without its mark, not base64. */
static bool stream_read(const struct json *root, size_t i, struct arena *a,
                        struct stream *out, struct err *e)
{
    char encoding[24], at[16];
    (void)snprintf(encoding, sizeof encoding, "%sEncoding", names[i]);
    (void)snprintf(at, sizeof at, "%sAt", names[i]);
    const struct json *truncated = json_get(root, "truncated");
    struct str told = json_str(json_get(root, names[i]));
    int64_t lost = json_int(json_get(truncated, names[i]), 0);
    bool coded = json_get(root, encoding) != NULL;
    scoped_buf struct buf bytes, mark;
    buf_init(&bytes, told.n + 8);
    buf_init(&mark, MARK_MAX);
    put_mark((uint64_t)lost, &mark);
    if (coded && !crypto_base64_read(told, &bytes, e))
        return false;
    if (!coded)
        buf_str(&bytes, told);
    size_t gap = (size_t)json_int(json_get(truncated, at), (int64_t)bytes.n);
    *out = (struct stream){
        .bytes = {arena_copy(a, bytes.n ? bytes.at : "", bytes.n, e), bytes.n},
        .lost = (uint64_t)lost,
        .gap = gap < bytes.n ? gap : bytes.n};
    char *own = (char *)out->bytes.at;
    if (!own)
        return false;
    if (lost && !coded && out->gap + mark.n <= out->bytes.n &&
        !memcmp(own + out->gap, mark.at, mark.n)) {
        out->bytes.n -= mark.n;
        memmove(own + out->gap, own + out->gap + mark.n, out->bytes.n - out->gap);
    }
    return true;
}

/* Shortens it to `keep` bytes, the first and the last, no character split. */
static void cut(const struct stream *s, size_t keep, struct buf *bytes,
                struct stream *out)
{
    struct str head = {s->bytes.at, s->gap},
               tail = {s->bytes.at + s->gap, s->bytes.n - s->gap};
    if (!s->lost)
        head = tail = s->bytes;
    struct str first = {head.at, head.n < keep - keep / 2 ? head.n : keep - keep / 2};
    size_t behind = tail.n < keep / 2 ? tail.n : keep / 2;
    struct str last = {tail.at + tail.n - behind, behind};
    if (str_is_utf8(s->bytes)) {
        first = str_cut(head, first.n);
        while (last.n && ((unsigned char)*last.at & 0xc0) == 0x80)
            last = (struct str){last.at + 1, last.n - 1};
    }
    buf_clear(bytes);
    buf_str(bytes, first);
    buf_str(bytes, last);
    *out = (struct stream){.bytes = buf_view(bytes),
                           .lost = s->lost + s->bytes.n - first.n - last.n,
                           .gap = first.n};
}

/* Its size in JSON. */
static size_t size_of(const struct stream *s)
{
    scoped_buf struct buf text;
    buf_init(&text, 6 * s->bytes.n + 100);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    stream_put(names[0], s, &w);
    json_close(&w);
    return text.n;
}

/* The number of bytes that fit depends on how much longer their JSON is. */
static void fit(struct stream *s, size_t room, struct buf *bytes)
{
    struct stream whole = *s;
    size_t keep = whole.bytes.n, size = size_of(s);
    while (size > room && keep) {
        size_t next = (size_t)((double)keep * (double)room / (double)size);
        keep = next < keep - keep / 64 ? next : keep - keep / 64 - 1;
        cut(&whole, keep, bytes, s);
        size = size_of(s);
    }
}

/* The object with other streams. */
static void object_put(const struct json *root, const struct stream *s, struct buf *out)
{
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(root);
    json_open_object(&w);
    while (json_next(&it)) {
        if (str_is(it.key, names[0]))
            streams_put(s, &w);
        else if (!str_is(it.key, "truncated") && !str_starts(it.key, "stdout") &&
                 !str_starts(it.key, "stderr"))
            json_key_str(&w, it.key), json_put(&w, it.value);
    }
    put_truncated(s, json_get(root, "truncated"), &w);
    json_close(&w);
}

void streams_fit(struct stream s[static STREAMS], size_t room, struct buf *first,
                 struct buf *second)
{
    size_t errors = size_of(&s[1]), output = size_of(&s[0]), most_errors = room / 4;
    if (output < room - most_errors)
        most_errors = room - output;
    fit(&s[1], errors < most_errors ? errors : most_errors, second);
    fit(&s[0], room - size_of(&s[1]), first);
}

bool streams_shorten(struct str json, size_t most, struct buf *out, struct err *e)
{
    struct stream s[STREAMS], none[STREAMS] = {{{"", 0}, 0, 0}, {{"", 0}, 0, 0}};
    scoped(arena_free) struct arena *a = arena_new(MEMORY);
    const struct json *root = json_read(json, a, e);
    if (!root || !stream_read(root, 0, a, &s[0], e) || !stream_read(root, 1, a, &s[1], e))
        return false;
    scoped_buf struct buf part, first, second;
    buf_init(&part, out->ceiling);
    buf_init(&first, s[0].bytes.n);
    buf_init(&second, s[1].bytes.n);
    object_put(root, none, &part);
    size_t others = part.n + 200;
    if (part.failed || others >= most)
        return err_set(e, ERR_OUTPUT, "its answer does not fit into %zu bytes", most);
    streams_fit(s, most - others, &first, &second);
    object_put(root, s, out);
    return buf_check(out, "the answer", e);
}
