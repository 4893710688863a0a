#include "notes/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define TRIES_MAX 200000u  /* steps of the matcher in one line */
#define HEAP_MAX_KB 16384u /* its memory */
#define NESTED_MAX 50u     /* parentheses inside each other */

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

static bool say_why(struct err *e, int error, size_t at)
{
    PCRE2_UCHAR why[160] = "";
    (void)pcre2_get_error_message(error, why, sizeof why);
    return err_set(e, ERR_INVALID,
                   "query is no regular expression: %s, at character %zu; "
                   "for plain words leave useRegex out",
                   (const char *)why, at + 1);
}

struct regex *regex_new(struct str pattern, struct err *e)
{
    int error;
    size_t at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    must(context != NULL);
    (void)pcre2_set_parens_nest_limit(context, NESTED_MAX);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.at, pattern.n,
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
                                         PCRE2_NEVER_BACKSLASH_C,
                                     &error, &at, context);
    pcre2_compile_context_free(context);
    if (!code) {
        say_why(e, error, at);
        return NULL;
    }
    struct regex *r = mem_new(sizeof *r);
    r->code = code;
    r->data = pcre2_match_data_create(1, NULL);
    r->limits = pcre2_match_context_create(NULL);
    must(r->data && r->limits);
    (void)pcre2_set_match_limit(r->limits, TRIES_MAX);
    (void)pcre2_set_depth_limit(r->limits, TRIES_MAX);
    (void)pcre2_set_heap_limit(r->limits, HEAP_MAX_KB);
    return r;
}

void regex_free(struct regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->data);
    pcre2_match_context_free(r->limits);
    free(r);
}

bool regex_match(struct regex *r, struct str text, bool *found, size_t *at,
                 size_t *length, struct err *e)
{
    int rc = pcre2_match(r->code, (PCRE2_SPTR)text.at, text.n, 0, 0, r->data, r->limits);
    *found = rc >= 0;
    if (*found) {
        const size_t *place = pcre2_get_ovector_pointer(r->data);
        *at = place[0];
        *length = place[1] > place[0] ? place[1] - place[0] : 0;
        return true;
    }
    if (rc == PCRE2_ERROR_NOMATCH || rc == PCRE2_ERROR_PARTIAL)
        return true;
    return err_set(
        e, ERR_LIMIT,
        "the regular expression backtracks too much on a line of "
        "%zu bytes and was stopped; make it plainer (no nested repeats such as "
        "(a+)+)",
        text.n);
}
