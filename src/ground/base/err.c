#include <errno.h>
#include <stdio.h>

#include "base/base.h"

/* The contract's table of errors: JSON-RPC leaves -32000 to -32099 to servers,
 * of which MCP takes -32020 to -32022 and older revisions -32002. */
static const struct err_kind kinds[] = {
    [ERR_NONE] = {"None", "NONE", 200, 0, false},
    [ERR_INVALID] = {"InvalidInput", "INVALID", 400, -32602, false},
    [ERR_NOT_FOUND] = {"NotFound", "NOT_FOUND", 404, -32602, false},
    [ERR_CONFLICT] = {"Conflict", "CONFLICT", 409, -32009, false},
    [ERR_DENIED] = {"PermissionDenied", "DENIED", 403, -32003, false},
    [ERR_NO_VAULT] = {"NoVault", "NO_VAULT", 409, -32010, false},
    [ERR_BUSY] = {"Busy", "BUSY", 503, -32005, true},
    [ERR_CANCELLED] = {"Cancelled", "CANCELLED", 499, -32008, true},
    [ERR_TIMEOUT] = {"Timeout", "TIMEOUT", 408, -32001, false},
    [ERR_FUEL] = {"FuelExhausted", "FUEL_EXHAUSTED", 422, -32011, false},
    [ERR_MEMORY] = {"MemoryExceeded", "MEMORY_EXCEEDED", 422, -32012, false},
    [ERR_STACK] = {"StackOverflow", "STACK_OVERFLOW", 422, -32013, false},
    [ERR_OUTPUT] = {"OutputTooLarge", "OUTPUT_TOO_LARGE", 422, -32014, false},
    [ERR_HOST_CALLS] = {"TooManyHostCalls", "TOO_MANY_HOST_CALLS", 422, -32015, false},
    [ERR_SYNTAX] = {"SyntaxError", "SYNTAX", 422, -32016, false},
    [ERR_GUEST] = {"ExecutionError", "EXECUTION", 422, -32017, false},
    [ERR_HOST_CALL] = {"HostCallError", "HOST_CALL", 422, -32018, false},
    [ERR_INPUT] = {"InputRequired", "INPUT_REQUIRED", 409, -32006, true},
    [ERR_CAPABILITY] = {"MissingCapability", "MISSING_CAPABILITY", 400, -32021, false},
    [ERR_LIMIT] = {"LimitExceeded", "LIMIT", 413, -32019, false},
    [ERR_IO] = {"IoError", "IO", 500, -32603, true},
    [ERR_BUG] = {"InternalError", "BUG", 500, -32603, false},
};

const struct err_kind *err_kind(enum err_code code)
{
    return &kinds[(unsigned)code < LENGTH(kinds) ? code : ERR_BUG];
}

enum err_code err_code_named(const char *name)
{
    for (unsigned i = 1; i < LENGTH(kinds); i++)
        if (!strcmp(kinds[i].name, name) || !strcmp(kinds[i].code, name))
            return (enum err_code)i;
    return ERR_NONE;
}

/* vsnprintf may cut a character in two, and names from outside may hold line
 * ends, or be no UTF-8: the message promises neither. */
static void message_tidy(char *msg)
{
    struct str whole = str_cut(str_of(msg), strlen(msg));
    msg[whole.n] = '\0';
    for (const char *at = msg, *end = msg + whole.n; at < end;) {
        char *c = msg + (at - msg);
        uint32_t read = str_next_char(&at, end);
        if (read < ' ' || read == 0x7f)
            *c = ' ';
        else if (read == 0xfffd && at == c + 1)
            *c = '?';
    }
}

bool(err_set)(struct err *e, enum err_code code, const char *fmt, ...)
{
    int saved = errno;
    if (e->code != ERR_NONE)
        return false;
    e->code = code;
    e->cause = CAUSE_OTHER;

    va_list ap;
    va_start(ap, fmt);
    errno = saved;
    (void)vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    message_tidy(e->msg);
    return false;
}

bool(err_wrap)(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->msg];
    memcpy(old, e->msg, sizeof old);

    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    size_t n = strlen(e->msg);
    (void)snprintf(e->msg + n, sizeof e->msg - n, ": %s", old);
    message_tidy(e->msg);
    return false;
}

#ifndef NDEBUG
void err_at(struct err *e, bool wraps, const char *file, int line)
{
    if (!wraps && e->code != ERR_NONE)
        return;
    if (!wraps)
        e->place_count = 0;
    if (e->place_count < LENGTH(e->places))
        e->places[e->place_count++] = (struct err_place){file, line};
}

const char *err_origin(const struct err *e, char *text, size_t size)
{
    scoped_buf struct buf all;
    buf_init(&all, size - 1);
    for (unsigned i = 0; i < e->place_count; i++)
        buf_printf(&all, "%s%s:%d%s", i ? ", " : " [", e->places[i].file,
                   e->places[i].line, i + 1 == e->place_count ? "]" : "");
    (void)snprintf(text, size, "%s", buf_cz(&all));
    return text;
}

void err_log(const struct err *e, const char *where)
{
    log_line(LOG_DEBUG, "%s: %s%s", where, e->msg, ERR_ORIGIN(e));
}
#endif

_Noreturn void must_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "cloche: broken assumption: %s (%s:%d)\n", what, file, line);
    abort();
}
