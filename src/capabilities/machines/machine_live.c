/* Output of a command, sent to the client as it comes. */
#include "client/client.h"
#include "crypto/crypto.h"
#include "machines/internal.h"
#include "os/os.h"

#define PIECE_MAX ((size_t)32 << 10) /* bytes of one message */
#define WORD_MAX ((size_t)160)       /* of progress */
/* Messages: so many at once, and so many more each second. */
#define BURST 400.0
#define RATE 80.0

static const char *const names[] = {"stdout", "stderr"};

/* Bytes at the end of an incomplete character: 0 to 3. */
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

static void live_send(struct machine_live *l, unsigned which, struct str bytes)
{
    scoped_buf struct buf data, coded;
    buf_init(&data, 8 * PIECE_MAX);
    buf_init(&coded, 2 * PIECE_MAX);
    struct json_writer w = json_writer(&data);
    json_open_object(&w);
    json_pair_cstr(&w, "stream", names[which]);
    json_pair_int(&w, "offset", (int64_t)l->offset[which]);
    if (str_is_utf8(bytes)) {
        json_pair_str(&w, "text", bytes);
    } else {
        (void)crypto_base64(bytes.at, bytes.n, &coded);
        json_pair_str(&w, "base64", buf_view(&coded));
    }
    json_close(&w);
    l->offset[which] += bytes.n;
    l->left -= 1;
    if (!data.failed && !coded.failed)
        client_log(l->call->who->client, CLIENT_INFO, "vm", buf_view(&data));
}

/* Sends what waits, but for the beginning of a character. */
static void flush(struct machine_live *l, unsigned which)
{
    struct buf *waits = &l->waits[which];
    size_t kept = begun(buf_view(waits)), n = waits->n - kept;
    if (!n)
        return;
    live_send(l, which, (struct str){waits->at, n});
    memmove(waits->at, waits->at + n, kept);
    waits->n = kept;
}

/* May a message be sent? Those that are sent count, so that they are fewer than the carrier
 * lets pass, also where both streams wait. */
static bool allowance(struct machine_live *l)
{
    uint64_t now_ns = os_mono_ns();
    double more = l->since_ns ? (double)(now_ns - l->since_ns) / 1e9 * RATE : BURST;
    l->since_ns = now_ns;
    l->left = l->left + more > BURST ? BURST : l->left + more;
    return l->left >= 1;
}

/* What comes too often waits, and is sent with what comes later. */
static void put_log(struct machine_live *l, enum vm_stream which, struct str bytes)
{
    struct buf *waits = &l->waits[which];
    if (!waits->ceiling)
        buf_init(waits, PIECE_MAX);
    while (bytes.n) {
        size_t room = PIECE_MAX - waits->n, n = bytes.n < room ? bytes.n : room;
        buf_put(waits, bytes.at, n);
        bytes = (struct str){bytes.at + n, bytes.n - n};
        if (waits->n == PIECE_MAX)
            flush(l, which);
    }
    if (allowance(l)) {
        flush(l, !which); /* came before */
        flush(l, which);
    }
}

uint64_t machine_live_flush(struct machine_live *l)
{
    bool waits = l->waits[0].n > begun(buf_view(&l->waits[0])) ||
                 l->waits[1].n > begun(buf_view(&l->waits[1]));
    if (!waits)
        return UINT64_MAX;
    if (!allowance(l))
        return os_mono_ns() + (uint64_t)(1e9 / RATE);
    flush(l, 0);
    flush(l, 1);
    return UINT64_MAX;
}

/* The last line that is not blank. */
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
    /* Code reports its own progress. */
    struct str word = last_line((struct str){bytes.at, bytes.n - begun(bytes)});
    if (!l->call->code)
        client_progress(c, (double)l->bytes, 0,
                        str_is_utf8(word) ? str_cut(word, WORD_MAX) : STR(""));
}

void machine_live_end(struct machine_live *l)
{
    for (unsigned i = 0; i < LENGTH(l->waits); i++) {
        if (l->waits[i].n)
            live_send(l, i, buf_view(&l->waits[i]));
        buf_done(&l->waits[i]);
    }
}
