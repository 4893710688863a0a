/* base/base.h - the words every room speaks: errors, strings, buffers, arenas,
 * cancellation, scoped cleanup, the log.
 *
 * Knows nothing about the product and includes nothing of another room.
 */
#pragma once
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* ---- memory ------------------------------------------------------------- */

/* Zeroed memory for an object of our own; ends the program if there is none.
 * Never for a size that came from outside: use an arena, which has a ceiling. */
void *mem_new(size_t size);
/* Makes room for element `n` of a heap array, whose capacity doubles. false and ERR_LIMIT: no
 * memory; the array is as it was. For arrays that have a ceiling of their own. */
#define array_fit(array, capacity, n, e) \
    mem_fit(&(array), &(capacity), n, sizeof *(array), e)
bool mem_fit(void *array, size_t *capacity, size_t n, size_t size, struct err *e);
/* A heap copy of a C string, with the same rule. The caller frees. */
char *mem_strdup(const char *s);

#define SCOPED(type, end)                        \
    static inline void end##_at(struct type **p) \
    {                                            \
        if (*p)                                  \
            end(*p);                             \
    }                                            \
    _Static_assert(1, "")
#define scoped(end) __attribute__((cleanup(end##_at)))

static inline void free_at(void *p)
{
    free(*(void **)p);
}

/* Hands ownership out of a scoped variable. */
#define take(p)                   \
    ({                            \
        __auto_type taken_ = (p); \
        (p) = NULL;               \
        taken_;                   \
    })

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Memory of one request: freed together, never singly. */
struct arena;
/* `ceiling` is in bytes and bounds the sum of all allocations. */
struct arena *arena_new(size_t ceiling);
void arena_free(struct arena *a); /* NULL is fine */
SCOPED(arena, arena_free);
/* Ceilings of what has no limit of its own: a record or options, the arguments and answer of
 * a call, a file of ours with what is read of it, a walk over a whole vault. */
#define ARENA_SMALL ((size_t)1 << 20)
#define ARENA_CALL ((size_t)16 << 20)
#define ARENA_FILE ((size_t)64 << 20)
#define ARENA_VAULT ((size_t)1 << 30)
/* Zeroed, aligned to 16. NULL and ERR_LIMIT at the ceiling. Threads: one. */
void *arena_get(struct arena *a, size_t size, struct err *e);
/* A NUL-terminated copy of `n` bytes. NULL and ERR_LIMIT at the ceiling. */
char *arena_copy(struct arena *a, const void *at, size_t n, struct err *e);
char *arena_printf(struct arena *a, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- strings ------------------------------------------------------------ */

/* Borrowed bytes, UTF-8 unless a comment says otherwise; not terminated. */
struct str {
    const char *at;
    size_t n;
};
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
/* For printf: `"%.*s", STR_ARGS(s)`. */
#define STR_ARGS(s) (int)((s).n), (s).at
struct str str_of(const char *s); /* NULL reads as "" */
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_same(struct str a, struct str b);                 /* ASCII case does not count */
bool str_is_one_of(struct str a, const char *const *list); /* NULL ends the list */
/* 1 to `most` ASCII letters and digits, and of `marks` behind the first? */
bool str_is_name(struct str s, const char *marks, size_t most);
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
bool str_holds(struct str all, struct str part); /* ASCII case does not count */
/* Orders by bytes, as memcmp, shorter first. */
int str_cmp(struct str a, struct str b);
/* Without spaces, tabs and line ends on both sides. */
struct str str_trim(struct str s);
/* A NUL-terminated copy in the arena; NULL and *e as arena_get, or ERR_INVALID
 * when the string itself holds a NUL byte. */
char *str_cz(struct str s, struct arena *a, struct err *e);
/* Valid UTF-8 by RFC 3629: no surrogates, nothing overlong? */
bool str_is_utf8(struct str s);
/* The longest prefix of at most `max` bytes that does not cut a character. */
struct str str_cut(struct str s, size_t max);
/* The same of a list: whole names, between ", ". */
struct str str_cut_list(struct str s, size_t max);
/* Slips from one to the other: a byte too much, too few or another, or two that are
 * swapped. ASCII case does not count, and of each only the first 64 bytes do. */
size_t str_distance(struct str a, struct str b);
/* The name that `wrong` is most likely meant for: 1 slip of 3 letters, 2 of 7, else 3. NULL:
 * none is near. */
const char *str_nearest(struct str wrong, const char *const *names, size_t count);
/* The ending that makes a noun agree with a number: "" for 1, else "s". */
const char *str_plural(int64_t n);
/* Reads one character of valid UTF-8 at `*at` (below `end`) and steps over it. */
uint32_t str_next_char(const char **at, const char *end);
/* Does this character draw nothing, draw elsewhere, or turn the direction of what follows?
 * Control characters and line ends are among them. */
bool str_is_unseen(uint32_t c);
/* ASCII alone: space, tab, CR, LF; 0-9; A-Z and a-z; the digit's value or -1 (lower or upper). */
bool char_is_space(char c);
bool char_is_digit(char c);
bool char_is_letter(char c);
int char_hex(char c);
char char_lower(char c); /* of A-Z; anything else stays */
bool char_is_word(
    char c); /* of a JavaScript name: A-Z, a-z, 0-9, _, $, and beyond ASCII */
bool str_is_hex(struct str s); /* lower-case hexadecimal digits alone; "" is */
/* 2 * n lower-case digits and a NUL. */
void hex_write(const void *bytes, size_t n, char *out);
struct buf;
/* Appends it as one line of plain text: what str_is_unseen(), piles of marks and rows of
 * spaces are spelt out ("\\n", "\\u{1b}"); of bytes that are no UTF-8 only their number. For
 * whatever a person shall read and a stranger wrote. */
void str_spell(struct str text, struct buf *out);
/* Appends it with what str_is_unseen() and piles of marks as JSON escapes ("\\u009b", two of
 * them beyond U+FFFF), but for line ends and tabs, and with U+FFFD for each byte that is no
 * UTF-8. JSON keeps its value by that. For what is printed to a terminal as it stands. */
void str_escape(struct str text, struct buf *out);

/* ---- growing buffers ---------------------------------------------------- */

/* Bytes that grow up to a ceiling. The first failure sticks: appending to a
 * failed buf does nothing, so that a sequence is checked once, at its end. */
struct buf {
    char *at;
    size_t n;
    size_t capacity;
    size_t ceiling; /* bytes */
    bool failed;
};
/* Ceilings of what has no limit of its own: a name or key, a line, a small object, the
 * arguments of a call, a list, a file of ours, a whole answer. */
#define BUF_NAME ((size_t)256)
#define BUF_LINE ((size_t)1 << 10)
#define BUF_PAGE ((size_t)16 << 10)
#define BUF_TEXT ((size_t)64 << 10)
#define BUF_LIST ((size_t)1 << 20)
#define BUF_FILE ((size_t)16 << 20)
#define BUF_ANSWER ((size_t)64 << 20)
/* An empty buf; allocates nothing yet. buf_init() sets one that is declared already. */
struct buf buf_of(size_t ceiling);
void buf_init(struct buf *b, size_t ceiling);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* empty again, keeps the memory */
bool buf_put(struct buf *b, const void *at, size_t n);
bool buf_str(struct buf *b, struct str s);
bool buf_cstr(struct buf *b, const char *s);
bool buf_char(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for `n` more bytes, to be filled by the caller and then counted with
 * `b->n += used`. NULL at the ceiling. */
char *buf_room(struct buf *b, size_t n);
/* A NUL after the bytes, not counted. "" when nothing was ever put. */
const char *buf_cz(struct buf *b);
struct str buf_view(const struct buf *b); /* until the next append */
/* false and ERR_LIMIT if an append failed. `what` is named in the message. */
bool buf_check(const struct buf *b, const char *what, struct err *e);
#define scoped_buf __attribute__((cleanup(buf_done)))

/* Appends how text becomes another, line by line: hunks of a unified diff ("@@ -1,3 +1,4
 * @@" and lines behind ' ', '-', '+') with three lines of context, none where the texts are
 * equal. The shortest diff for up to some hundred differing lines; beyond, what differs is
 * one block. false: it was cut behind `max` bytes, at the end of a line. */
bool diff_put(struct str old, struct str now, size_t max, struct buf *out);

/* ---- embedded files ------------------------------------------------------ */

/* EMBED(fetch_js, "src/runtime/actions/fetch.js") declares fetch_js, the file's bytes and a NUL, and
 * fetch_js_end, where that NUL stands. The path is from the top of the tree. gcc 12 has no
 * #embed. The Makefile finds these lines: the source is compiled again when the file changes. */
#define EMBED(name, path)                                                \
    __asm__(".section .rodata\n" #name ":\n.incbin \"" path "\"\n" #name \
            "_end:\n.byte 0\n"                                           \
            ".previous\n");                                              \
    extern const char name[] __attribute__((visibility("hidden")));      \
    extern const char name##_end[] __attribute__((visibility("hidden")))

/* ---- cancellation ------------------------------------------------------- */

/* A request to stop, shared between the thread that works and those that may
 * want to end it. Threads: safe. The owner outlives both. */
struct cancel {
    atomic_bool fired;
    atomic_flag lock;
    struct cancel_stop *first;
    bool (*is_due)(void *arg);
    void *due_arg;
};
/* The place of one who works, which it keeps from cancel_on() to cancel_off(). */
struct cancel_stop {
    void (*stop)(void *arg);
    void *arg;
    struct cancel_stop *next, *before;
    bool on;
};
void cancel_init(struct cancel *c);
/* cancel_fired() is true also where `is_due` says so, such as when a time has passed; no stop
 * function is called then. Threads: `is_due` is called from any; set before there are others. */
void cancel_set_due(struct cancel *c, bool (*is_due)(void *arg), void *arg);
/* Registers how a worker is stopped; there may be several at the same time. `stop` may be
 * called from any thread, at most once, and not after cancel_off() has returned. It may not
 * call cancel_on() or cancel_off() of the same cancel. false: already fired, and `stop` is
 * not registered; cancel_off() is fine all the same. A NULL cancel never fires. */
bool cancel_on(struct cancel *c, struct cancel_stop *s, void (*stop)(void *arg),
               void *arg);
void cancel_off(struct cancel *c, struct cancel_stop *s);
void cancel_fire(struct cancel *c);
bool cancel_fired(const struct cancel *c);

#include "base/map.h"
#include "base/once.h"

/* ---- dates -------------------------------------------------------------- */

/* `ms` since 1970 as "2026-11-21T05:16:00.000Z" (24 bytes and a NUL). */
void date_format(int64_t ms, char out[static 25]);
/* Reads "2026-11-21", "2026-11-21T05:16:00Z", "2026-11-21 05:16:00.5+02:00"; UTC without a
 * zone. false: `text` is none of these. */
bool date_read(struct str text, int64_t *ms);

/* ---- shares ------------------------------------------------------------- */

/* May one caller, who has `mine` of the `all` places that are taken, have one more of
 * `max`? Nobody has more than a quarter of them, and the last eighth is for those who have
 * none. */
bool share_fits(size_t mine, size_t all, size_t max);

/* ---- log ---------------------------------------------------------------- */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
/* To stderr, one line. Only transports, the command line and the engine's
 * one-time warnings log; all other rooms return errors. */
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* All lines go there instead; NULL: to stderr again. While nobody logs. */
void log_to(void (*fn)(void *arg, enum log_level level, const char *line), void *arg);
/* Lines above this are dropped; LOG_WARN at the start. */
void log_set_level(enum log_level level);
