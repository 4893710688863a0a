/* The files of the page: one pack (web/pack.mjs) within the program. Each stands there as it
 * is, by gzip and by brotli; those with a hash in their name never change.
 *
 * The pack: lines "NAME HASH AT SIZE GZIP_AT GZIP_SIZE BROTLI_AT BROTLI_SIZE", an empty
 * line, and the bytes, counted from behind it. */
#include <stdio.h>

#include "desk/internal.h"

EMBED(page_pack, "build/web/page.pack");

enum coding { AS_IT_IS, GZIP, BROTLI, CODINGS };

struct asset {
    struct str name, hash;
    struct str bytes[CODINGS];
};

static uint64_t asset_take_number(struct str *line)
{
    uint64_t n = 0;
    while (line->n && *line->at != ' ') {
        n = n * 10 + (uint64_t)(*line->at - '0');
        *line = (struct str){line->at + 1, line->n - 1};
    }
    if (line->n)
        *line = (struct str){line->at + 1, line->n - 1};
    return n;
}

static struct str asset_take_word(struct str *line)
{
    const char *end = memchr(line->at, ' ', line->n);
    size_t n = end ? (size_t)(end - line->at) : line->n;
    struct str word = {line->at, n};
    n += end != NULL;
    *line = (struct str){line->at + n, line->n - n};
    return word;
}

/* The pack is ours: what is read there was written by the build. */
static bool find_asset(struct str name, struct asset *out)
{
    const char *blobs = strstr(page_pack, "\n\n") + 2;
    for (const char *at = page_pack; at + 1 < blobs;) {
        const char *end = strchr(at, '\n');
        struct str line = {at, (size_t)(end - at)};
        *out = (struct asset){.name = asset_take_word(&line),
                              .hash = asset_take_word(&line)};
        for (unsigned i = 0; i < CODINGS; i++) {
            const char *from = blobs + asset_take_number(&line);
            out->bytes[i] = (struct str){from, (size_t)asset_take_number(&line)};
        }
        if (str_eq(out->name, name))
            return true;
        at = end + 1;
    }
    return false;
}

/* Does the list of Accept-Encoding have it? A quality of zero is none. */
static bool accepts(struct str list, const char *coding)
{
    while (list.n) {
        const char *comma = memchr(list.at, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.at) : list.n;
        struct str one = str_trim((struct str){list.at, n});
        bool refused = one.n > 4 && memmem(one.at, one.n, "q=0", 3) &&
                       !memmem(one.at, one.n, "q=0.", 4);
        size_t c = strlen(coding);
        if (str_starts(one, coding) && (one.n == c || one.at[c] == ';') && !refused)
            return true;
        n += comma != NULL;
        list = (struct str){list.at + n, list.n - n};
    }
    return false;
}

static const char *asset_type(struct str name)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".svg", "image/svg+xml"}};
    for (size_t i = 0; i < LENGTH(types); i++)
        if (str_ends(name, types[i][0]))
            return types[i][1];
    return "application/octet-stream";
}

bool asset_tell(struct http_request *rq, struct str name, struct http_response *rs)
{
    static const char *const codings[] = {NULL, "gzip", "br"};
    struct asset a;
    char tag[80];
    if (!find_asset(name, &a))
        return false;
    struct str accept = http_header(rq, "Accept-Encoding");
    unsigned coding = accepts(accept, "br")     ? BROTLI
                      : accepts(accept, "gzip") ? GZIP
                                                : AS_IT_IS;
    bool changes = str_ends(name, ".html");
    (void)http_set_header(rs, "Vary", "Accept-Encoding");
    (void)http_set_header(rs, "Cache-Control",
                          changes ? "no-cache" : "public, max-age=31536000, immutable");
    (void)snprintf(tag, sizeof tag, "\"%.*s%s%s\"", STR_ARGS(str_cut(a.hash, 64)),
                   coding ? "-" : "", coding ? codings[coding] : "");
    (void)http_set_header(rs, "ETag", tag);
    struct str known = http_header(rq, "If-None-Match");
    if (known.at && str_is(known, tag)) {
        rs->status = 304;
        return true;
    }
    if (coding)
        (void)http_set_header(rs, "Content-Encoding", codings[coding]);
    rs->type = asset_type(name);
    buf_str(&rs->body, a.bytes[coding]);
    return true;
}
