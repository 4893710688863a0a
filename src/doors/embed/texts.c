/* Failures, and texts that are handed out. */
#include "embed/internal.h"

#define TEXT_MAX ((size_t)512 << 20)

static const struct {
    enum err_code ours;
    enum cloche_code theirs;
} codes[] = {
    {ERR_NONE, CLOCHE_OK},
    {ERR_INVALID, CLOCHE_INVALID},
    {ERR_NOT_FOUND, CLOCHE_NOT_FOUND},
    {ERR_CONFLICT, CLOCHE_CONFLICT},
    {ERR_DENIED, CLOCHE_DENIED},
    {ERR_NO_VAULT, CLOCHE_NO_VAULT},
    {ERR_BUSY, CLOCHE_BUSY},
    {ERR_CANCELLED, CLOCHE_CANCELLED},
    {ERR_TIMEOUT, CLOCHE_TIMEOUT},
    {ERR_LIMIT, CLOCHE_LIMIT},
    {ERR_FUEL, CLOCHE_LIMIT},
    {ERR_MEMORY, CLOCHE_LIMIT},
    {ERR_STACK, CLOCHE_LIMIT},
    {ERR_OUTPUT, CLOCHE_LIMIT},
    {ERR_HOST_CALLS, CLOCHE_LIMIT},
    {ERR_GUEST, CLOCHE_CODE_FAILED},
    {ERR_SYNTAX, CLOCHE_CODE_FAILED},
    {ERR_HOST_CALL, CLOCHE_CODE_FAILED},
    {ERR_IO, CLOCHE_IO},
};

enum cloche_code code_of(enum err_code code)
{
    for (size_t i = 0; i < LENGTH(codes); i++)
        if (codes[i].ours == code)
            return codes[i].theirs;
    return CLOCHE_INTERNAL;
}

enum err_code code_from(enum cloche_code code)
{
    for (size_t i = 1; i < LENGTH(codes); i++)
        if (codes[i].theirs == code)
            return codes[i].ours;
    return ERR_BUG;
}

enum cloche_code told(struct cloche_error *e, const struct err *why)
{
    if (e)
        e->err = *why;
    if (why->code)
        err_log(why, "library");
    return code_of(why->code);
}

/* ---- failures --------------------------------------------------------------- */

struct cloche_error *cloche_error_new(void)
{
    return mem_new(sizeof(struct cloche_error));
}

void cloche_error_free(struct cloche_error *e)
{
    free(e);
}

enum cloche_code cloche_error_code(const struct cloche_error *e)
{
    return code_of(e->err.code);
}

const char *cloche_error_name(const struct cloche_error *e)
{
    return e->err.code ? err_kind(e->err.code)->name : "";
}

const char *cloche_error_message(const struct cloche_error *e)
{
    return e->err.msg;
}

const struct err *embed_error(const struct cloche_error *e)
{
    return &e->err;
}

/* ---- texts ------------------------------------------------------------------- */

struct cloche_text *cloche_text_new(void)
{
    struct cloche_text *t = mem_new(sizeof *t);
    buf_init(&t->buf, TEXT_MAX);
    return t;
}

void cloche_text_free(struct cloche_text *t)
{
    if (!t)
        return;
    buf_done(&t->buf);
    free(t);
}

const char *cloche_text_at(const struct cloche_text *t)
{
    return t->buf.n ? t->buf.at : "";
}

size_t cloche_text_size(const struct cloche_text *t)
{
    return t->buf.n;
}

/* ---- the log ------------------------------------------------------------------- */

/* The process's log callback: a single one, as the log is. */
static struct {
    cloche_log_fn *fn;
    void *arg;
} sink;

static void pass_on(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    sink.fn(sink.arg, (int)level, line);
}

void cloche_on_log(cloche_log_fn *fn, void *arg)
{
    log_to(NULL, NULL);
    sink.fn = fn;
    sink.arg = arg;
    if (fn)
        log_to(pass_on, NULL);
}

const char *cloche_version(void)
{
    return CLOCHE_VERSION;
}
