/* Where code in Python was when its world was stopped: CPython's frames are read from what is left of
 * the memory. All of it is the guest's to have written: what does not fit is no place. */
#include "script/internal.h"

#define FRAMES_MAX 100000u
#define SESSION_CALL \
    "call-" /* in a session call-1.py, call-2.py ...: number_call() of guest/python/world/run.py */

/* 0 where there is none. */
static uint32_t word_at(struct world *w, uint64_t at)
{
    uint32_t word = 0;
    const void *from = world_remains(w, at, sizeof word);
    if (from)
        memcpy(&word, from, sizeof word);
    return word;
}

/* The number of the session's call that this is code of, from 1; 1 for code without a session. 0:
 * it is not the agent's. */
static uint64_t call_of(struct world *w, const struct script_frames *f, uint64_t code)
{
    static const char name[] = SCRIPT_FILE, call[] = SESSION_CALL, end[] = ".py";
    uint64_t file = word_at(w, code + f->file), number = 0;
    uint32_t n = file ? word_at(w, file + f->text_size) : 0;
    const char *text =
        n && n < SCRIPT_FILE_MAX ? world_remains(w, file + f->text, n) : NULL;
    if (!text)
        return 0;
    struct str s = {text, n};
    if (str_is(s, name))
        return 1;
    if (!str_starts(s, call) || !str_ends(s, end))
        return 0;
    for (size_t i = sizeof call - 1; i < n - (sizeof end - 1); i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    return number;
}

/* A number in groups of 6 bits, the lowest first; the sign is the last bit. */
static int64_t take_number(const uint8_t *at, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n && i < 8; i++) {
        all |= (uint64_t)(at[i] & 63u) << 6 * i;
        if (!(at[i] & 64u))
            break;
    }
    return all & 1 ? -(int64_t)(all >> 1) : (int64_t)(all >> 1);
}

enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG_FORM = 14, NO_PLACE = 15 };

/* The line of a unit of bytecode: CPython, Objects/locations.md. 0: none. */
static uint32_t line_of(const uint8_t *table, size_t n, uint32_t unit, int64_t line)
{
    uint64_t behind = 0;
    for (size_t i = 0; i < n && table[i] & 0x80u;) {
        unsigned kind = table[i] >> 3 & 15u;
        behind += (table[i] & 7u) + 1;
        i++;
        if (kind == NO_COLUMNS || kind == LONG_FORM)
            line += take_number(table + i, n - i);
        else if (kind >= ONE_LINE && kind < NO_COLUMNS)
            line += kind - ONE_LINE;
        if (unit < behind)
            return kind != NO_PLACE && line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
        while (i < n && !(table[i] & 0x80u))
            i++;
    }
    return 0;
}

static uint32_t line_in(struct world *w, const struct script_frames *f, uint32_t code,
                        uint32_t instruction)
{
    uint64_t lines = word_at(w, (uint64_t)code + f->lines);
    uint32_t n = word_at(w, lines + f->bytes_size), first = code + f->bytecode;
    const uint8_t *table = lines ? world_remains(w, lines + f->bytes, n) : NULL;
    return table && instruction >= first
               ? line_of(table, n, (instruction - first) / 2,
                         word_at(w, (uint64_t)code + f->first_line))
               : 0;
}

uint32_t frames_line(const struct script *s, struct world *w)
{
    struct script_frames f;
    struct script_sources view;
    const void *at = world_remains(w, (uint32_t)s->sources_at, sizeof view);
    if (!at)
        return 0;
    memcpy(&view, at, sizeof view);
    at = view.frames_at ? world_remains(w, view.frames_at, sizeof f) : NULL;
    if (!at)
        return 0;
    memcpy(&f, at, sizeof f);
    /* A function of an earlier call of the session is called by the last one's code. */
    uint64_t frame = word_at(w, f.current), last = 0;
    uint32_t line = 0;
    for (unsigned i = 0; frame && i < FRAMES_MAX; i++) {
        uint32_t code = word_at(w, frame + f.code);
        uint64_t call = call_of(w, &f, code);
        if (call > last) {
            last = call;
            line = line_in(w, &f, code, word_at(w, frame + f.instruction));
        }
        frame = word_at(w, frame + f.previous);
    }
    return line;
}
