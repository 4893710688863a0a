/* What a command prints, told to the client as it comes. */
#include "client/client.h"
#include "crypto/crypto.h"
#include "machines/internal.h"

#define PIECE_MAX ((size_t)32 << 10) /* bytes of one message */
#define WORD_MAX ((size_t)160)       /* of progress */

static const char *const names[] = {"stdout", "stderr"};

/* Bytes at the end that begin a character and do not end it: 0 to 3. */
static size_t begun(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.n; back++) {
        unsigned char c = (unsigned char)s.at[s.n - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t whole = c >= 0xf8 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

static void tell(const struct client *c, enum vm_stream which, struct str bytes)
{
    scoped_buf struct buf data, coded;
    buf_init(&data, 8 * PIECE_MAX);
    buf_init(&coded, 2 * PIECE_MAX);
    struct json_writer w = json_writer(&data);
    json_open_object(&w);
    json_pair_cstr(&w, "stream", names[which]);
    if (str_is_utf8(bytes)) {
        json_pair_str(&w, "text", bytes);
    } else {
        (void)crypto_base64(bytes.at, bytes.n, &coded);
        json_pair_str(&w, "base64", buf_view(&coded));
    }
    json_close(&w);
    if (!data.failed && !coded.failed)
        client_log(c, CLIENT_INFO, "vm", buf_view(&data));
}

/* In pieces, what is held before the first of them. */
static void put_log(struct machine_live *l, enum vm_stream which, struct str bytes)
{
    struct machine_held *held = &l->held[which];
    scoped_buf struct buf piece;
    buf_init(&piece, PIECE_MAX);
    while (bytes.n) {
        buf_clear(&piece);
        buf_put(&piece, held->at, held->n);
        size_t n = bytes.n < PIECE_MAX - held->n ? bytes.n : PIECE_MAX - held->n;
        buf_put(&piece, bytes.at, n);
        bytes = (struct str){bytes.at + n, bytes.n - n};
        held->n = begun(buf_view(&piece));
        memcpy(held->at, piece.at + piece.n - held->n, held->n);
        piece.n -= held->n;
        if (piece.n)
            tell(l->call->who->client, which, buf_view(&piece));
    }
}

/* The last line that says something. */
static struct str last_line(struct str s)
{
    s = str_trim(s);
    const char *line = s.n ? memrchr(s.at, '\n', s.n) : NULL;
    return str_trim(line ? (struct str){line + 1, (size_t)(s.at + s.n - line - 1)} : s);
}

void machine_live_output(void *live, enum vm_stream which, struct str bytes)
{
    struct machine_live *l = live;
    const struct client *c = l->call->who->client;
    l->bytes += bytes.n;
    if (!c)
        return;
    if (client_hears(c, CLIENT_INFO))
        put_log(l, which, bytes);
    /* Code tells its own progress. */
    struct str word = last_line((struct str){bytes.at, bytes.n - begun(bytes)});
    if (!l->call->code)
        client_progress(c, (double)l->bytes, 0,
                        str_is_utf8(word) ? str_cut(word, WORD_MAX) : STR(""));
}

void machine_live_end(struct machine_live *l)
{
    for (unsigned i = 0; i < LENGTH(l->held); i++)
        if (l->held[i].n)
            tell(l->call->who->client, (enum vm_stream)i,
                 (struct str){l->held[i].at, l->held[i].n});
}
