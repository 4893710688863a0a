/* script/fixture_test.h - one guest with a table of calls that do what their names
 * say, and evaluations in it. Only for *_test.c.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>

#include "engine/traps_test.h"
#include "os/os.h"
#include "script/script.h"
#include "json/json.h"

/* ---- the table ---------------------------------------------------------- */

enum row {
    QUICK_ECHO,  /* its arguments, as an array */
    QUICK_FAIL,  /* (name): with the error of that name */
    QUICK_WRITE, /* (fail): changes something, or fails */
    QUICK_BIG,   /* (n): a string of n bytes */
    QUICK_RAW,   /* (text): the text itself, valid JSON or not */
    QUICK_NOTHING,
    QUICK_COUNT, /* number of its calls */
    SYNC_ECHO,
    SYNC_FAIL,
    SYNC_RELEASE, /* lets slow.hold return */
    SYNC_CANCEL,  /* fires the request's cancel */
    SYNC_MARK,    /* notes that the code got this far */
    SYNC_BUSY,    /* (ms): computes */
    SLOW_ECHO,
    SLOW_FAIL,
    SLOW_MEET,  /* (n): returns as soon as n calls wait at once */
    SLOW_HOLD,  /* returns when sync.release is called */
    SLOW_PAUSE, /* (ms): returns after this time */
    INSIDE_TWICE,
    TOP,
    EXTRA_ECHO, /* a namespace that only runs with FEATURE_EXTRA have */
    EXTRA_BYTES,
    EXTRA_BOTH,
    QUICK_EXTRA, /* and one more in a namespace that is always there */
    BEAM,        /* a global of FEATURE_BEAM */
    QUICK_SLEEP, /* (ms): returns after this time, without a thread */
    SLOW_SLEEP,  /* the same */
    SLOW_STOP,   /* returns when its cancel fires */
    LATER,       /* (number, file, text): the function that the text returns, counted */
};
#define FEATURE_EXTRA 1u
#define FEATURE_BEAM 4u

static const struct script_row rows[] = {
    [QUICK_ECHO] = {.name = "quick.echo"},
    [QUICK_FAIL] = {.name = "quick.fail"},
    [QUICK_WRITE] = {.name = "quick.write", .writes = true},
    [QUICK_BIG] = {.name = "quick.big"},
    [QUICK_RAW] = {.name = "quick.raw"},
    [QUICK_NOTHING] = {.name = "quick.nothing"},
    [QUICK_COUNT] = {.name = "quick.count"},
    [SYNC_ECHO] = {.name = "sync.echo", .sync = true},
    [SYNC_FAIL] = {.name = "sync.fail", .sync = true},
    [SYNC_RELEASE] = {.name = "sync.release", .sync = true},
    [SYNC_CANCEL] = {.name = "sync.cancel", .sync = true},
    [SYNC_MARK] = {.name = "sync.mark", .sync = true},
    [SYNC_BUSY] = {.name = "sync.busy", .sync = true},
    [SLOW_ECHO] = {.name = "slow.echo", .slow = true},
    [SLOW_FAIL] = {.name = "slow.fail", .slow = true},
    [SLOW_MEET] = {.name = "slow.meet", .slow = true},
    [SLOW_HOLD] = {.name = "slow.hold", .slow = true},
    [SLOW_PAUSE] = {.name = "slow.pause", .slow = true},
    [INSIDE_TWICE] = {.name = "inside.deep.twice", .source = "(x) => x * 2"},
    [TOP] = {.name = "top"},
    [EXTRA_ECHO] = {.name = "extra.echo", .feature = FEATURE_EXTRA},
    [EXTRA_BYTES] = {.name = "extra.bytes",
                     .sync = true,
                     .feature = FEATURE_EXTRA,
                     .wrap = "(call, callSync) => (bytes) => "
                             "Uint8Array.fromBase64(callSync(bytes.toBase64())[0])"},
    [EXTRA_BOTH] = {.name = "extra.both",
                    .sync = true,
                    .feature = FEATURE_EXTRA,
                    .wrap = "(call, callSync, kit) => async (x) => {"
                            " if (x === undefined) throw kit.error('Conflict', 'no x');"
                            " return [callSync(x), await call(x)]; }"},
    [QUICK_EXTRA] = {.name = "quick.extra", .feature = FEATURE_EXTRA},
    [BEAM] = {.name = "beam",
              .feature = FEATURE_BEAM,
              .wrap =
                  "(call, callSync) => {"
                  " class Reply { constructor(v) { this.v = v } text() { return "
                  "String(this.v) } }"
                  " return async (...a) => new Reply(callSync ?? await call(...a)); }"},
    [QUICK_SLEEP] = {.name = "waits.quick"},
    [SLOW_SLEEP] = {.name = "waits.slow", .slow = true},
    [SLOW_STOP] = {.name = "waits.stop", .slow = true},
    [LATER] = {.name = "later",
               .wrap =
                   "(call, callSync, kit) => {"
                   " let rests = 0; kit.onRest(() => { rests++; });"
                   " return (number, file, text) => {"
                   "  if (!text) return rests;"
                   "  const f = kit.source(number, file, text)();"
                   "  return (...a) => {"
                   "   const c = kit.calls.enter(number);"
                   "   try {"
                   "    const r = f(...a);"
                   "    if (!(r instanceof Promise)) { kit.calls.left(c); return r; }"
                   "    const at = new Error();"
                   "    return r.then((v) => { kit.calls.left(c); return v; }, (e) => {"
                   "     kit.failed(c, e); kit.follow(e, at); throw e; });"
                   "   } catch (e) { kit.failed(c, e); throw e; } }; }; }"},
};

/* State shared by the calls and the test. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned meeting, most_meeting, counted, holding;
    bool released;
    atomic_bool marked;
    atomic_uint sleeping;
    struct cancel *cancel;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static inline void wait_to_meet(unsigned n)
{
    pthread_mutex_lock(&table.lock);
    if (++table.meeting > table.most_meeting)
        table.most_meeting = table.meeting;
    pthread_cond_broadcast(&table.change);
    while (table.most_meeting < n)
        pthread_cond_wait(&table.change, &table.lock);
    table.meeting--;
    pthread_mutex_unlock(&table.lock);
}

static inline void wait_for_release(void)
{
    pthread_mutex_lock(&table.lock);
    table.holding++;
    while (!table.released)
        pthread_cond_wait(&table.change, &table.lock);
    table.holding--;
    pthread_mutex_unlock(&table.lock);
}

static inline void release(void)
{
    pthread_mutex_lock(&table.lock);
    table.released = true;
    pthread_cond_broadcast(&table.change);
    pthread_mutex_unlock(&table.lock);
}

static inline bool fail_as_named(const struct json *name, struct err *e)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.*s", STR_ARGS(json_str(name)));
    enum err_code code = err_code_named(text);
    return err_set(e, code ? code : ERR_IO, "told to fail");
}

static inline void pause_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static inline void note_stop(void *stopped)
{
    pthread_mutex_lock(&table.lock);
    *(bool *)stopped = true;
    pthread_cond_broadcast(&table.change);
    pthread_mutex_unlock(&table.lock);
}

static inline bool wait_to_be_stopped(struct cancel *c, struct err *e)
{
    struct cancel_stop stop;
    bool stopped = false;
    if (!cancel_on(c, &stop, note_stop, &stopped))
        stopped = true;
    pthread_mutex_lock(&table.lock);
    table.holding++;
    while (!stopped)
        pthread_cond_wait(&table.change, &table.lock);
    table.holding--;
    pthread_mutex_unlock(&table.lock);
    cancel_off(c, &stop);
    return err_set(e, ERR_CANCELLED, "stopped");
}

/* (ms): returns after this time, without a thread. */
static inline bool has_slept(void *until, struct script_task *t, struct buf *out,
                             struct err *e)
{
    uint64_t until_ns = (uint64_t)(uintptr_t)until;
    if (cancel_fired(script_task_cancel(t))) {
        atomic_fetch_sub(&table.sleeping, 1);
        return err_set(e, ERR_CANCELLED, "woken by the end");
    }
    if (os_mono_ns() < until_ns) {
        script_wait(t, has_slept, until, SCRIPT_WAIT_LIGHT, until_ns);
        return false;
    }
    atomic_fetch_sub(&table.sleeping, 1);
    return buf_str(out, STR("\"slept\""));
}

static inline bool perform(void *arg, struct script_task *t, uint32_t row,
                           struct str args, struct buf *out, struct err *e)
{
    row &= ~SCRIPT_WITHIN;
    (void)arg;
    scoped(arena_free) struct arena *a = arena_new(args.n * 24 + 65536);
    const struct json *values = json_read(args, a, e), *first = json_at(values, 0);
    if (!values)
        return err_wrap(e, "arguments");
    struct json_writer w = json_writer(out);
    switch ((enum row)row) {
    case QUICK_ECHO:
    case SYNC_ECHO:
    case SLOW_ECHO:
    case EXTRA_ECHO:
    case EXTRA_BYTES:
    case EXTRA_BOTH:
    case QUICK_EXTRA:
    case BEAM:
        return buf_str(out, args);
    case QUICK_FAIL:
    case SYNC_FAIL:
    case SLOW_FAIL:
        return fail_as_named(first, e);
    case QUICK_WRITE:
        if (json_bool(first, false))
            return err_set(e, ERR_CONFLICT, "told to fail");
        return true;
    case QUICK_BIG: {
        size_t n = (size_t)json_int(first, 0);
        char *at = buf_room(out, n + 2);
        if (!at)
            return buf_check(out, "it", e);
        memset(at, 'x', n + 2);
        at[0] = at[n + 1] = '"';
        out->n += n + 2;
        return true;
    }
    case QUICK_RAW:
        return buf_str(out, json_str(first));
    case QUICK_COUNT:
        json_put_int(&w, ++table.counted);
        return true;
    case SYNC_RELEASE:
        release();
        return true;
    case SYNC_CANCEL:
        cancel_fire(table.cancel);
        return true;
    case SYNC_MARK:
        atomic_store(&table.marked, true);
        return true;
    case SYNC_BUSY:
        for (uint64_t end = os_thread_cpu_ns() + (uint64_t)json_int(first, 0) * 1000000;
             os_thread_cpu_ns() < end;)
            ;
        return true;
    case SLOW_MEET:
        wait_to_meet((unsigned)json_int(first, 1));
        return true;
    case SLOW_HOLD:
        wait_for_release();
        return buf_str(out, STR("\"held\""));
    case SLOW_PAUSE:
        pause_ms(json_int(first, 0));
        return buf_str(out, STR("\"paused\""));
    case QUICK_SLEEP:
    case SLOW_SLEEP: {
        uint64_t until = os_mono_ns() + (uint64_t)json_int(first, 0) * 1000000;
        atomic_fetch_add(&table.sleeping, 1);
        return has_slept((void *)(uintptr_t)until, t, out, e);
    }
    case SLOW_STOP:
        return wait_to_be_stopped(script_task_cancel(t), e);
    case QUICK_NOTHING:
    case TOP:
    case LATER:
        return true;
    case INSIDE_TWICE:
        break;
    }
    return err_set(e, ERR_BUG, "no call to the host");
}

/* ---- evaluating --------------------------------------------------------- */

static struct engine *g;
static struct script *script;
/* The next evaluation's; reset before each test. */
static struct script_request request;
/* The last outcome. */
static struct script_outcome outcome;

/* In the root of the checkout, where dev/unit runs tests. */
static inline int open_script_with(enum engine_memory memory)
{
    struct err e = {0};
    const char *dir = getenv("CLOCHE_GUEST");
    g = engine_open(&(struct engine_options){.memory = memory, .no_cache = true}, &e);
    script = g ? script_open(g, dir ? dir : "build/guest", rows, LENGTH(rows), &e) : NULL;
    if (!script)
        fprintf(stderr, "%s\n", e.msg);
    script_outcome_init(&outcome);
    return script ? 0 : -1;
}

static inline int open_script(void **state)
{
    (void)state;
    return open_script_with(ENGINE_MEMORY_SLOTS);
}

static inline int close_script(void **state)
{
    (void)state;
    script_outcome_done(&outcome);
    script_close(script);
    engine_close(g);
    return 0;
}

static inline int begin_test(void **state)
{
    (void)state;
    request = (struct script_request){.compute_ms = 10000,
                                      .total_ms = 60000,
                                      .memory_bytes = (uint64_t)128 << 20,
                                      .result_max = 1 << 20,
                                      .logs_max = 64 << 10,
                                      .calls_max = 10000,
                                      .perform = perform};
    table.meeting = table.most_meeting = table.counted = 0;
    table.released = false;
    atomic_store(&table.marked, false);
    return 0;
}
#define test(name) cmocka_unit_test_setup(name, begin_test)

static inline void evaluate_str(struct str code)
{
    struct err e = {0};
    script_outcome_done(&outcome);
    script_outcome_init(&outcome);
    request.code = code;
    if (!script_run(script, &request, &outcome, &e))
        fail_msg("did not run: %s", e.msg);
    /* Texts of any outcome are valid UTF-8. */
    const struct buf *const texts[] = {&outcome.name,  &outcome.message, &outcome.stack,
                                       &outcome.frame, &outcome.preview, &outcome.result,
                                       &outcome.logs};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        assert_false(texts[i]->failed);
        assert_true(str_is_utf8(buf_view(texts[i])));
    }
    scoped(arena_free) struct arena *a = arena_new((size_t)256 << 20);
    if (!json_is(json_read(buf_view(&outcome.logs), a, &e), JSON_ARRAY) ||
        (outcome.success && !json_read(buf_view(&outcome.result), a, &e)))
        fail_msg("%.*s: %s", STR_ARGS(str_cut(code, 200)), e.msg);
}

static inline void evaluate(const char *code)
{
    evaluate_str(str_of(code));
}

static inline void assert_succeeded(const char *code)
{
    if (!outcome.success)
        fail_msg("%.200s: %s: %.300s (%u:%u)", code, buf_cz(&outcome.name),
                 buf_cz(&outcome.message), outcome.line, outcome.column);
}

/* The code's result, as JSON text. */
static inline void assert_result(const char *code, const char *json)
{
    evaluate(code);
    assert_succeeded(code);
    if (strcmp(buf_cz(&outcome.result), json) != 0)
        fail_msg("%.300s\n  gives %.500s\n  not   %.500s", code, buf_cz(&outcome.result),
                 json);
}

struct result_row {
    const char *code, *json;
};
#define assert_results(all)                           \
    for (size_t row_ = 0; row_ < LENGTH(all); row_++) \
    assert_result((all)[row_].code, (all)[row_].json)

/* The code fails with this error; `message` is a part of its message. */
static inline void assert_fails(const char *code, enum err_code type, const char *name,
                                const char *message)
{
    evaluate(code);
    if (outcome.success)
        fail_msg("%.300s\n  gives %.300s", code, buf_cz(&outcome.result));
    if (outcome.type != type || strcmp(buf_cz(&outcome.name), name) != 0 ||
        !strstr(buf_cz(&outcome.message), message))
        fail_msg("%.300s\n  fails with %s, %s: %.300s", code,
                 err_kind(outcome.type)->name, buf_cz(&outcome.name),
                 buf_cz(&outcome.message));
}

/* A limit is hit: no error of JavaScript's own. */
static inline void assert_stopped(const char *code, enum err_code type)
{
    evaluate(code);
    if (outcome.success || outcome.type != type)
        fail_msg("%.300s\n  %s: %.300s", code,
                 outcome.success ? "gives" : err_kind(outcome.type)->name,
                 buf_cz(outcome.success ? &outcome.result : &outcome.message));
    assert_true(outcome.message.n > 0);
}
