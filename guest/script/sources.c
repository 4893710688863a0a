/* Sources that came while the evaluation ran: how they are compiled, and a count of the
 * calls of what they hold.
 *
 * The count stands in memory that the host reads by itself, so that it is there too when
 * the guest is stopped: what a function ran into by looping forever is a failure of its.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quickjs/own.h"
#include "script/guest.h"

#define OPEN_MAX 4096 /* calls under way that are timed */

static struct script_tally *tallies;
static uint32_t tally_count, tally_capacity;
static struct bytes visits = {.ceiling = SCRIPT_VISITS_MAX * sizeof(struct script_visit)};
static uint32_t visits_dropped;
static struct script_sources view;

/* A call under way. Free ones are a list by their numbers. */
static struct open_call {
    uint64_t start_ns;
    uint32_t source;
    int32_t visit; /* its place among the visits; -1: none */
    int32_t next_free;
} *open_calls;
static int32_t open_capacity, first_free = -1;

__attribute__((export_name("sources_view"))) struct script_sources *sources_view(void)
{
    return &view;
}

static void show(void)
{
    view = (struct script_sources){.tallies_at = (uint32_t)(uintptr_t)tallies,
                                   .tally_count = tally_count,
                                   .visits_at = (uint32_t)(uintptr_t)visits.at,
                                   .visit_count =
                                       (uint32_t)(visits.n / sizeof(struct script_visit)),
                                   .visits_dropped = visits_dropped};
}

void sources_rest(void)
{
    free(tallies);
    free(open_calls);
    tallies = NULL;
    open_calls = NULL;
    tally_count = tally_capacity = 0;
    open_capacity = 0;
    first_free = -1;
    bytes_drop(&visits);
    visits_dropped = 0;
    show();
}

static uint64_t now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- tallies ------------------------------------------------------------- */

/* Of the source of this number, from 1; NULL: it is not counted. */
static struct script_tally *tally_of(uint32_t source)
{
    if (source == 0 || source > SCRIPT_SOURCES_MAX)
        return NULL;
    if (source > tally_capacity) {
        uint32_t want = tally_capacity ? tally_capacity : 4;
        while (want < source)
            want *= 2;
        struct script_tally *grown = realloc(tallies, want * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + tally_capacity, 0, (want - tally_capacity) * sizeof *grown);
        tallies = grown;
        tally_capacity = want;
        show();
    }
    if (source > tally_count) {
        tally_count = source;
        show();
    }
    return &tallies[source - 1];
}

/* Asking for the time costs more than small calls do: every stride-th is timed, and counts
 * for so many. When there is no more room, every second of the samples is dropped. */
static void sample(struct script_tally *t, double ms)
{
    t->total_ms += ms * t->stride;
    t->longest_ms = ms > t->longest_ms ? ms : t->longest_ms;
    if (t->samples == SCRIPT_SAMPLES) {
        for (uint32_t i = 0; i < SCRIPT_SAMPLES / 2; i++)
            t->ms[i] = t->ms[i * 2];
        t->samples = SCRIPT_SAMPLES / 2;
        t->stride *= 2;
    }
    t->ms[t->samples++] = (float)ms;
}

/* ---- calls under way ----------------------------------------------------- */

static bool grow_open(void)
{
    int32_t want = open_capacity ? open_capacity * 4 : 16;
    if (want > OPEN_MAX)
        return false;
    struct open_call *grown = realloc(open_calls, (size_t)want * sizeof *grown);
    if (!grown)
        return false;
    open_calls = grown;
    while (open_capacity < want) {
        open_calls[open_capacity].next_free = first_free;
        first_free = open_capacity++;
    }
    return true;
}

static int32_t add_visit(uint32_t source, uint32_t from, uint32_t line, uint64_t start_ns)
{
    struct script_visit v = {
        .source = source, .from = from, .line = line, .start_ns = start_ns};
    size_t at = visits.n / sizeof v;
    if (at == SCRIPT_VISITS_MAX || !bytes_put(&visits, &v, sizeof v)) {
        visits.failed = false;
        visits_dropped++;
        show();
        return -1;
    }
    show();
    return (int32_t)at;
}

/* A call that is timed: its number; -1: there are too many. */
static int32_t open_call(uint32_t source, uint32_t from, uint32_t line)
{
    if (first_free < 0 && !grow_open())
        return -1;
    int32_t number = first_free;
    struct open_call *c = &open_calls[number];
    first_free = c->next_free;
    *c = (struct open_call){.start_ns = now_ns(), .source = source, .next_free = -2};
    c->visit = line ? add_visit(source, from, line, c->start_ns) : -1;
    return number;
}

/* enter(source[, from, line]): a number for leave(): of a timed call, or below -1 of one of
 * which the source alone is known. `line`: where nobody traces, 0 or not given. */
static JSValue enter(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    uint32_t source, from = 0, line = 0;
    if (JS_ToUint32(ctx, &source, argv[0]) < 0 ||
        (argc > 2 &&
         (JS_ToUint32(ctx, &from, argv[1]) < 0 || JS_ToUint32(ctx, &line, argv[2]) < 0)))
        return JS_EXCEPTION;
    struct script_tally *t = tally_of(source);
    if (!t)
        return JS_NewInt32(ctx, -1);
    if (t->stride == 0)
        t->stride = 1;
    bool timed = line || t->calls % t->stride == 0;
    int32_t number = timed ? open_call(source, from, line) : -1;
    t->calls++;
    t->open++;
    return JS_NewInt32(ctx, number >= 0 ? number : -1 - (int32_t)source);
}

/* The time of a call, and the end of it. */
static uint32_t close_call(int32_t number, int32_t kind)
{
    struct open_call *c = &open_calls[number];
    struct script_tally *t = tally_of(c->source);
    uint64_t end_ns = now_ns();
    sample(t, (double)(end_ns - c->start_ns) / 1e6);
    if (c->visit >= 0) {
        struct script_visit *v = (struct script_visit *)(void *)visits.at + c->visit;
        v->end_ns = end_ns;
        v->outcome = kind < 0 ? 1 : 2 + (uint32_t)kind;
    }
    c->next_free = first_free;
    first_free = number;
    return c->source;
}

/* leave(number[, kind]): it ended; `kind` of its failure, below 0 or not given: well. */
static JSValue leave(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    int32_t number, kind = -1;
    if (JS_ToInt32(ctx, &number, argv[0]) < 0 ||
        (argc > 1 && JS_ToInt32(ctx, &kind, argv[1]) < 0))
        return JS_EXCEPTION;
    if (number >= open_capacity || number == -1 ||
        (number >= 0 && open_calls[number].next_free != -2))
        return JS_UNDEFINED;
    uint32_t source = number < 0 ? (uint32_t)(-1 - number) : close_call(number, kind);
    struct script_tally *t = tally_of(source);
    if (!t || !t->open)
        return JS_UNDEFINED;
    t->open--;
    t->ended++;
    t->failed += kind >= 0;
    if (kind >= 0)
        t->kinds[kind < (int32_t)SCRIPT_KINDS ? kind : 0]++;
    return JS_UNDEFINED;
}

/* Where their code runs: its global object is not that of the evaluation. */
static JSContext *apart;
static JSValue everybodys; /* what is frozen before the first of them runs */
static bool is_frozen;     /* a session goes on so */

/* intrinsics(): built-ins that no name leads to. */
static JSValue intrinsics(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    return own_intrinsics(ctx);
}

/* isFrozen(): are the built-ins? */
static JSValue ask_frozen(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    return JS_NewBool(ctx, is_frozen);
}

/* apart(global, everybodys): called once, when the table is installed. */
static JSValue set_apart(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    apart = own_realm(ctx, argv[0]);
    everybodys = JS_DupValue(ctx, argv[1]);
    return apart ? JS_UNDEFINED : JS_ThrowOutOfMemory(ctx);
}

/* source(file, text): a function whose body is the text. */
static JSValue source(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    const char *file = JS_ToCString(ctx, argv[0]);
    const char *text = file ? JS_ToCStringLen(ctx, &n, argv[1]) : NULL;
    if (text && !is_frozen) {
        own_freeze(ctx, everybodys);
        is_frozen = true;
    }
    JSValue made = text ? code_source(apart, text, n, file) : JS_EXCEPTION;
    JS_FreeCString(ctx, file);
    JS_FreeCString(ctx, text);
    return made;
}

void sources_define(JSContext *ctx, JSValueConst natives)
{
    static const char *const kinds[] = {SCRIPT_KIND_NAMES};
    static_assert(sizeof kinds / sizeof *kinds == SCRIPT_KINDS);
    JSValue names[SCRIPT_KINDS];
    for (uint32_t i = 0; i < SCRIPT_KINDS; i++)
        names[i] = JS_NewString(ctx, kinds[i]);
    JS_SetPropertyStr(ctx, natives, "kinds", JS_NewArrayFrom(ctx, SCRIPT_KINDS, names));
    JS_SetPropertyStr(ctx, natives, "intrinsics",
                      JS_NewCFunction(ctx, intrinsics, "intrinsics", 0));
    JS_SetPropertyStr(ctx, natives, "isFrozen",
                      JS_NewCFunction(ctx, ask_frozen, "isFrozen", 0));
    JS_SetPropertyStr(ctx, natives, "apart", JS_NewCFunction(ctx, set_apart, "apart", 2));
    JS_SetPropertyStr(ctx, natives, "source", JS_NewCFunction(ctx, source, "source", 2));
    JS_SetPropertyStr(ctx, natives, "enter", JS_NewCFunction(ctx, enter, "enter", 1));
    JS_SetPropertyStr(ctx, natives, "leave", JS_NewCFunction(ctx, leave, "leave", 1));
}
