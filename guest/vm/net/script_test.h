/* vm/net/script_test.h - scripts of segments and events, in the manner of packetdrill. Only for
 * *_test.c.
 *
 *   < FLAGS FROM:TO ack N [win N] [urg N]   the machine sends it
 *   > FLAGS FROM:TO ack N [win N]           and receives this, next
 *   ~> ...                                  the same, as time passes; up to ten minutes
 *   none, none N                            and receives nothing, for N ms
 *   host opened | failed | lost | readable | writable
 *                                           what happens to its socket
 *   host has N [end]                        N bytes more for the machine, and then no more
 *   host takes N                            bytes at once
 *   host gone                               its peer has reset it
 *   got N                                   bytes of the machine that the host has
 *   is connecting | open | shut | closed | reset
 *                                           how the socket of the host is
 *   quiet                                   the clock means nothing to TCP any more
 *
 * FLAGS are of FSRPU and '.' for ACK; P is not compared. Numbers are relative to the first one of
 * each side, a SYN being 0. Bytes are checked in both directions.
 */
#pragma once
#include "vm/net/double_test.h"

#define SCRIPT_BYTES 100000u
enum { MACHINE_FIRST = 1000 };

static struct {
    const char *line;       /* for messages */
    uint32_t number, first; /* the gateway's first */
    bool begun;
    uint8_t up[SCRIPT_BYTES], down[SCRIPT_BYTES];
} script;

#define script_is(x)                                                         \
    do {                                                                     \
        if (!(x))                                                            \
            fail_msg("line %u: %s: not %s", script.number, script.line, #x); \
    } while (false)

static inline bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* The number behind a word; `otherwise`: it is not there. */
static inline uint32_t number_of(const char *words, const char *word, uint32_t otherwise)
{
    const char *at = strstr(words, word);
    return at ? (uint32_t)strtoul(at + strlen(word), NULL, 10) : otherwise;
}

static inline struct segment parse_segment(const char *words)
{
    static const char letters[] = "FSRP.U";
    struct segment s = {0};
    char flags[8];
    unsigned from, to;
    if (sscanf(words, " %7s %u:%u", flags, &from, &to) != 3)
        fail_msg("line %u: %s: no segment", script.number, script.line);
    for (const char *f = flags; *f; f++) {
        script_is(strchr(letters, *f));
        s.flags |= (uint8_t)(1 << (strchr(letters, *f) - letters));
    }
    s.seq = from;
    s.n = to - from;
    s.ack = number_of(words, "ack ", 0);
    s.window = (uint16_t)number_of(words, "win ", 60000);
    s.window = s.window ? s.window : NO_WINDOW;
    s.urgent = (uint16_t)number_of(words, "urg ", 0);
    return s;
}

static inline void script_send(const char *words)
{
    struct segment s = parse_segment(words);
    s.data = script.up + (s.seq ? s.seq - 1 : 0);
    s.seq += MACHINE_FIRST;
    s.ack = s.flags & ACK ? s.ack + script.first : 0;
    send_segment(s);
}

static inline void script_receive(const char *words, bool waits)
{
    struct segment want = parse_segment(words);
    for (uint32_t ms = 0; waits && !card.count && ms < 600000; ms += 250)
        wait_ms(250);
    struct segment s = {0};
    uint32_t n;
    const uint8_t *f = received(&n);
    if (!f || !read_segment(f, n, &s))
        fail_msg("line %u: %s: %s came", script.number, script.line,
                 f ? "another packet" : "nothing");
    if (s.flags & SYN && !script.begun) {
        script.first = s.seq;
        script.begun = true;
    }
    s.seq -= s.flags & RST && !script.begun ? 0 : script.first;
    s.ack -= s.flags & ACK ? MACHINE_FIRST : 0;
    if (((s.flags ^ want.flags) & ~PSH) || s.seq != want.seq || s.n != want.n ||
        s.ack != want.ack ||
        (strstr(words, "win ") && s.window != want.window % NO_WINDOW))
        fail_msg("line %u: %s: flags %x %u:%u ack %u win %u came", script.number,
                 script.line, s.flags, s.seq, s.seq + s.n, s.ack, s.window);
    if (s.n)
        assert_memory_equal(s.data, script.down + s.seq - 1, s.n);
}

static inline void script_host(const char *words)
{
    struct end *d = &host.ends[0];
    d->has = script.down;
    d->has_n += number_of(words, "has ", 0);
    d->ends |= has_word(words, "end");
    d->gone |= has_word(words, "gone");
    d->takes = number_of(words, "takes ", d->takes);
    uint32_t events = has_word(words, "opened")     ? VM_NET_OPENED | VM_NET_READABLE
                      : has_word(words, "failed")   ? VM_NET_FAILED
                      : has_word(words, "lost")     ? VM_NET_LOST
                      : has_word(words, "writable") ? VM_NET_WRITABLE
                                                    : VM_NET_READABLE;
    if (!has_word(words, "takes"))
        happens(0, events);
}

static inline void script_is_so(const char *words)
{
    const struct end *d = &host.ends[0];
    if (has_word(words, "closed"))
        script_is(!d->there && !d->reset);
    else if (has_word(words, "reset"))
        script_is(!d->there && d->reset);
    else if (has_word(words, "shut"))
        script_is(d->there && d->shut);
    else
        script_is(d->there && !d->shut);
}

static inline void script_none(uint32_t ms)
{
    script_is(!card.count);
    for (uint32_t i = 0; i < ms; i += 250) {
        wait_ms(250);
        script_is(!card.count);
    }
}

static inline void script_line(const char *line)
{
    uint32_t n;
    if (line[0] == '<')
        script_send(line + 1);
    else if (line[0] == '>')
        script_receive(line + 1, false);
    else if (line[0] == '~')
        script_receive(line + 2, true);
    else if (!strncmp(line, "none", 4))
        script_none((uint32_t)strtoul(line + 4, NULL, 10));
    else if (!strncmp(line, "host ", 5))
        script_host(line + 5);
    else if (!strncmp(line, "is ", 3))
        script_is_so(line + 3);
    else if (sscanf(line, "got %u", &n) == 1) {
        script_is(host.ends[0].got_n == n);
        assert_memory_equal(host.ends[0].got, script.up, n);
    } else if (!strcmp(line, "quiet"))
        script_is(tcp_due_ns() == UINT64_MAX);
    else
        fail_msg("line %u: %s: not understood", script.number, line);
}

/* Lines are separated by '\n'. */
static inline void run_script(const char *text)
{
    char line[200];
    set_up();
    script.begun = false;
    script.first = 0;
    for (uint32_t i = 0; i < SCRIPT_BYTES; i++) {
        script.up[i] = (uint8_t)(i * 7 + (i >> 8));
        script.down[i] = (uint8_t)(i * 5 + (i >> 8) + 1);
    }
    for (script.number = 1; *text; script.number++) {
        size_t n = strcspn(text, "\n");
        assert_true(n < sizeof line);
        memcpy(line, text, n);
        line[n] = 0;
        script.line = line;
        if (n)
            script_line(line);
        text += n + (text[n] == '\n');
    }
    nothing_comes();
}
