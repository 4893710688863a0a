/* The guest that matches patterns: PCRE2's interpreter. One pattern at a time, in a world
 * that the host stops at its deadline: whatever a pattern costs, it costs its own world. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define EXPORT(name) __attribute__((export_name(#name)))

/* Within the host's limits these make the plain answers: a line that is too much, a pattern
 * that is nested too deeply. */
#define TRIES_MAX 200000u   /* steps of the matcher from one place */
#define MATCH_MAX_KB 16384u /* its memory */
#define NESTED_MAX 50u      /* parentheses inside each other */

static pcre2_compile_context *compiling;
static pcre2_match_context *matching;
static pcre2_match_data *data;
static pcre2_code *code;

static char *room;
static uint32_t room_size;
static struct pattern_answer answer;
static char why[160];

static void *sound(void *p)
{
    if (!p)
        __builtin_trap();
    return p;
}

EXPORT(bake) void bake(void)
{
    compiling = sound(pcre2_compile_context_create(NULL));
    matching = sound(pcre2_match_context_create(NULL));
    data = sound(pcre2_match_data_create(1, NULL));
    (void)pcre2_set_parens_nest_limit(compiling, NESTED_MAX);
    (void)pcre2_set_max_pattern_length(compiling, PATTERN_MAX);
    (void)pcre2_set_compile_extra_options(compiling, PCRE2_EXTRA_NEVER_CALLOUT);
    (void)pcre2_set_match_limit(matching, TRIES_MAX);
    (void)pcre2_set_depth_limit(matching, TRIES_MAX);
    (void)pcre2_set_heap_limit(matching, MATCH_MAX_KB);
}

/* What was there before is gone. */
EXPORT(input) void *input(uint32_t n)
{
    free(room);
    room = sound(malloc(n));
    room_size = n;
    return room;
}

EXPORT(compile) struct pattern_answer *compile(uint32_t n)
{
    int error;
    size_t at;
    pcre2_code_free(code);
    code = pcre2_compile((PCRE2_SPTR)room, n,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
                             PCRE2_NEVER_BACKSLASH_C,
                         &error, &at, compiling);
    answer = (struct pattern_answer){.outcome = PATTERN_FOUND};
    if (code)
        return &answer;
    (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
    answer.outcome = PATTERN_BAD;
    answer.at = (uint32_t)at;
    answer.why_at = (uint32_t)(uintptr_t)why;
    answer.why_size = (uint32_t)strlen(why);
    return &answer;
}

/* Answers whether the search is over: a match, or a failure. */
static bool try(uint32_t at, uint32_t size)
{
    int rc = pcre2_match(code, (PCRE2_SPTR)room + at, size, 0, 0, data, matching);
    if (rc == PCRE2_ERROR_NOMATCH || rc == PCRE2_ERROR_PARTIAL)
        return false;
    answer = (struct pattern_answer){
        .outcome = PATTERN_TOO_MUCH, .line_at = at, .line_size = size};
    if (rc < 0)
        return true;
    const size_t *place = pcre2_get_ovector_pointer(data);
    answer.outcome = PATTERN_FOUND;
    answer.at = (uint32_t)place[0];
    answer.size = place[1] > place[0] ? (uint32_t)(place[1] - place[0]) : 0;
    return true;
}

EXPORT(find) struct pattern_answer *find(uint32_t lines, uint32_t whole)
{
    answer = (struct pattern_answer){.outcome = PATTERN_NONE};
    if (!code || lines > room_size || whole > room_size - lines)
        __builtin_trap();
    for (uint32_t i = 0; i < lines;) {
        const char *nl = memchr(room + i, '\n', lines - i);
        uint32_t end = nl ? (uint32_t)(nl - room) : lines;
        uint32_t size = end - i - (end > i && room[end - 1] == '\r');
        if (try(i, size))
            return &answer;
        i = end + 1;
    }
    (void)try(lines, whole);
    return &answer;
}
