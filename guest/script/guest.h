/* script/guest.h - what the files of the JavaScript guest share.
 *
 * One runtime and one context, made when the guest is baked and used for one
 * evaluation. Everything lives in the guest's own memory and is thrown away with
 * it, so nothing is freed for its own sake.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/abi.h"
#include "quickjs.h"

/* Growing bytes with a ceiling; a failure sticks. */
struct bytes {
    char *at;
    size_t n, capacity, ceiling;
    bool failed;
};
bool bytes_put(struct bytes *b, const void *at, size_t n);
bool bytes_text(struct bytes *b, const char *text);
void bytes_drop(struct bytes *b); /* empty, as at the start; the ceiling stays */
/* Zeros up to the next multiple of 8. */
void bytes_pad(struct bytes *b);

/* Writes `v` as JSON, so that as little as possible is lost: big integers as
 * "123n", Map as an object or as pairs, Set and typed arrays as arrays, errors
 * as objects with their name and message; what has no JSON (undefined, functions,
 * symbols) is null in arrays and left out of objects. A value that contains
 * itself is an error, as in JSON.stringify. false: an exception is pending, or
 * the ceiling was hit (out->failed). */
bool write_json(JSContext *ctx, JSValueConst v, struct bytes *out);

/* What JSON has no word for and code seldom means to lose. */
enum loss {
    LOST_NAN,
    LOST_INFINITY,
    LOST_DATE,
    LOST_FUNCTION,
    LOST_SYMBOL,
    LOST_PROMISE,
    LOST_KINDS
};
#define LOST_PATH_MAX 96 /* with its NUL; a longer one ends in dots */
struct losses {
    bool refuses; /* the first one ends the writing: false, and no exception is pending */
    struct {
        uint64_t count;
        char first
            [LOST_PATH_MAX]; /* where the first is: "[0].a"; empty: the value itself */
    } of[LOST_KINDS];
};
/* The same, and notes what is lost: numbers and dates that are none, promises; functions and
 * symbols, but as members of objects only where it refuses. */
bool write_json_noting(JSContext *ctx, JSValueConst v, struct bytes *out,
                       struct losses *losses);
extern const char *const loss_names[LOST_KINDS]; /* "NaN", "a promise" ... */

/* Lone surrogates have no UTF-8: QuickJS writes them as three bytes each, which
 * become U+FFFD. */
void mend_surrogates(char *s, size_t n);

/* Natives that Intl needs, and its parts: functions in JavaScript, of which the first joins the
 * others (guest/intl/all.js). */
JSValue intl_parts(JSContext *ctx, JSValueConst natives);

/* Host calls: natives for the bootstrap, and the queue of new calls. */
void calls_define(JSContext *ctx, JSValueConst natives);
extern struct bytes calls_queue;
extern uint32_t calls_left;
/* Forgets what was queued, and the random numbers' state. */
void calls_rest(void);

/* Ends the evaluation here and now, for one of SCRIPT_STOP_. */
__attribute__((import_module("host"), import_name("stop"))) _Noreturn void host_stop(
    uint32_t why);

/* console's sink and the like. */
void logs_define(JSContext *ctx, JSValueConst natives);
extern struct bytes logs;
extern uint32_t logs_dropped;
void logs_rest(void); /* forgets them */

/* Sources that came later, and the count of their calls. */
void sources_define(JSContext *ctx, JSValueConst natives);
void sources_rest(void); /* forgets the counts */

/* Runs the code until its first await: a promise of {value: result} for a
 * script, of the result for a function. JS_EXCEPTION: it does not parse. */
JSValue code_run(JSContext *ctx, const char *code, size_t n, bool *is_script);
/* The same where the names that the code declares outlive it: a promise of what
 * own_completion() understands. Is a function `main` among them? `count` is the call's
 * number in its session: frames tell "call-2.js". */
JSValue code_run_in_session(JSContext *ctx, const char *code, size_t n, unsigned count);
extern bool code_declares_main;
/* A function whose body is `text`, strict, under a name of its own in frames; lines count
 * from 1. */
JSValue code_source(JSContext *ctx, const char *text, size_t n, const char *file);
/* Where text of ours stands within the agent's: positions on `line` (from 1)
 * behind column `from` (from 0) are too large by `by`. */
struct shift {
    uint32_t line, from, by;
};
extern struct shift code_shift;

/* The allocator of the runtime, made for small objects. */
extern const JSMallocFunctions heap_functions;
/* Grows the heap once, so that a usual evaluation needs no new memory. */
void heap_prepare(void);
