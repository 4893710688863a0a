/* The trace of an evaluation's host calls, and hints made from it.
 *
 * Hints are few and count calls; whether one applies (a call may need another's answer)
 * only the code's author knows, and the hint says so. */
#include <stdio.h>

#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "evaluating/report.h"

#define HINTS_MAX 3u
#define IN_A_ROW 8u      /* fast calls awaited one after the other */
#define IN_A_ROW_SLOW 3u /* the same of slow calls, which can run at once */
#define AGAIN 3u         /* repetitions of a call with the same arguments */
#define GETS_OF_LIST 20u

static const struct host_call *made_call(const struct script_made *m)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    return m->row < count ? calls[m->row] : NULL;
}

static const char *made_name(const struct script_made *m)
{
    const struct host_call *c = made_call(m);
    return c ? c->row.name : "a call that is not there";
}

/* ---- the trace ---------------------------------------------------------- */

/* The arguments as sent, without the brackets of their array. */
static void put_args(const struct script_made *m, struct json_writer *w)
{
    bool whole = m->args_shown == m->args_size && m->args_size >= 2;
    struct str inner = {m->args + (m->args_shown > 0),
                        m->args_shown - (m->args_shown > 0)};
    inner.n -= whole;
    scoped_buf struct buf text;
    buf_init(&text, sizeof m->args + 8);
    buf_str(&text, inner);
    if (!whole)
        buf_cstr(&text, "...");
    json_pair_str(w, "args", buf_view(&text));
    json_pair_int(w, "args_bytes", m->args_size);
}

static void put_made(const struct evaluation *v, const struct script_made *m,
                     struct json_writer *w)
{
    const struct custom_code *custom = capability_custom();
    const char *in = custom ? custom->source_name(v, m->from) : NULL;
    json_open_object(w);
    json_pair_cstr(w, "call", made_name(m));
    put_args(m, w);
    if (in)
        json_pair_cstr(w, "in", in);
    if (m->line)
        json_pair_int(w, "line", m->line);
    json_pair_cstr(w, "outcome",
                   !m->answered ? "not performed"
                   : m->failed  ? err_kind(m->failed)->name
                                : "ok");
    if (m->answered) {
        json_pair_number(w, "at", m->at_ms);
        json_pair_number(w, "ms", m->ms);
        json_pair_int(w, "bytes", m->answer_size);
    }
    json_close(w);
}

/* Host calls and calls of custom functions, both in their order. */
void trace_write(const struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w)
{
    size_t k = 0;
    const struct custom_code *custom = capability_custom();
    const size_t visits = custom ? o->visit_count : 0;
    json_key(w, "trace");
    json_open_array(w);
    for (size_t i = 0; i < o->made_count; i++) {
        const struct script_made *m = &o->made[i];
        uint64_t at_ns = o->begun_ns + (uint64_t)(m->at_ms * 1e6);
        while (m->answered && k < visits && o->visits[k].start_ns < at_ns)
            custom->put_visit(v, o, &o->visits[k++], w);
        put_made(v, m, w);
    }
    while (k < visits)
        custom->put_visit(v, o, &o->visits[k++], w);
    json_close(w);
    if (o->made_dropped + o->visits_dropped)
        json_pair_int(w, "traceDropped", (int64_t)(o->made_dropped + o->visits_dropped));
}

/* ---- hints -------------------------------------------------------------- */

struct hints {
    const struct script_outcome *o;
    bool python;
    struct json_writer *w;
    unsigned count;
};

static bool reads(const struct script_made *m)
{
    const struct host_call *c = made_call(m);
    return c && m->answered && !m->failed && !c->row.writes && !c->row.sync;
}

static void put_hint(struct hints *h, const char *text)
{
    if (h->count == HINTS_MAX)
        return;
    if (h->count++ == 0) {
        json_key(h->w, "hints");
        json_open_array(h->w);
    }
    json_put_cstr(h->w, text);
}

/* " (line 3)", if it is known. */
static void line_of(const struct script_made *m, char out[static 24])
{
    out[0] = '\0';
    if (m->line)
        (void)snprintf(out, 24, " (line %u)", m->line);
}

/* The number of calls of one row from `i` on, each alone in its round. */
static size_t row_from(const struct script_outcome *o, size_t i)
{
    size_t n = 0;
    for (size_t k = i; k < o->made_count; k++, n++) {
        const struct script_made *m = &o->made[k];
        bool alone = (k == 0 || o->made[k - 1].round < m->round) &&
                     (k + 1 == o->made_count || o->made[k + 1].round > m->round);
        if (m->row != o->made[i].row || !reads(m) || !alone)
            break;
    }
    return n;
}

uint32_t trace_in_a_row(const struct script_outcome *o, uint32_t source)
{
    size_t longest = 0;
    for (size_t i = 0; i < o->made_count; i++) {
        size_t n = o->made[i].from == source ? row_from(o, i) : 0;
        longest = n > longest ? n : longest;
        i += n ? n - 1 : 0;
    }
    return (uint32_t)longest;
}

static void hint_in_a_row(struct hints *h)
{
    size_t longest = 0, at = 0;
    for (size_t i = 0; i < h->o->made_count;) {
        size_t n = row_from(h->o, i);
        const struct host_call *c = made_call(&h->o->made[i]);
        if (n >= (c && c->row.slow ? IN_A_ROW_SLOW : IN_A_ROW) && n > longest) {
            longest = n;
            at = i;
        }
        i += n ? n : 1;
    }
    if (!longest)
        return;
    const struct script_made *m = &h->o->made[at];
    double ms = 0;
    for (size_t i = at; i < at + longest; i++)
        ms += h->o->made[i].ms;
    char text[400], line[24];
    line_of(m, line);
    (void)snprintf(
        text, sizeof text,
        "%zu%s calls of %s%s were awaited one after the other (%.1f ms in them). Where "
        "none needs the answer of the one before: await %s%s(...)%s",
        longest, longest == SCRIPT_MADE_MAX ? " or more" : "", made_name(m), line, ms,
        h->python ? "asyncio.gather(*(" : "Promise.all(items.map((x) => ", made_name(m),
        h->python ? " for x in items))" : "))");
    put_hint(h, text);
}

static bool made_equals(const struct script_made *a, const struct script_made *b)
{
    return a->row == b->row && a->args_hash && a->args_hash == b->args_hash &&
           a->args_size == b->args_size;
}

static int by_call(const void *a, const void *b)
{
    const struct script_made *x = *(const struct script_made *const *)a,
                             *y = *(const struct script_made *const *)b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->args_hash != y->args_hash)
        return x->args_hash < y->args_hash ? -1 : 1;
    return (x > y) - (x < y);
}

/* Whether a write came between the first and the last: then their answers may differ. */
static bool wrote_between(const struct script_made *first, const struct script_made *last)
{
    for (const struct script_made *m = first; m < last; m++)
        if (made_call(m) && made_call(m)->row.writes)
            return true;
    return false;
}

static void send_again(struct hints *h, const struct script_made *m, size_t times)
{
    char text[400], line[24];
    line_of(m, line);
    struct str args = {m->args + 1, m->args_shown > 2 ? m->args_shown - 2 : 0};
    (void)snprintf(
        text, sizeof text,
        "%s(%.*s)%s was called %zu times, with nothing written in between; keep its "
        "answer in a variable",
        made_name(m), STR_ARGS(m->args_shown == m->args_size ? args : STR("...")), line,
        times);
    put_hint(h, text);
}

static void hint_again(struct hints *h)
{
    size_t n = 0, most = 0;
    const struct script_made **sorted = malloc((h->o->made_count + 1) * sizeof *sorted);
    const struct script_made *told = NULL;
    for (size_t i = 0; sorted && i < h->o->made_count; i++)
        if (reads(&h->o->made[i]) && h->o->made[i].args_hash)
            sorted[n++] = &h->o->made[i];
    if (n)
        qsort(sorted, n, sizeof *sorted, by_call);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && made_equals(sorted[i], sorted[end]);)
            end++;
        if (end - i >= AGAIN && end - i > most &&
            !wrote_between(sorted[i], sorted[end - 1])) {
            most = end - i;
            told = sorted[i];
        }
    }
    if (told)
        send_again(h, told, most);
    free(sorted);
}

static bool is_use(const struct script_made *m, enum right r)
{
    return reads(m) && !strcmp(made_name(m), host_call_of_right(r)->row.name);
}

static void hint_gets_of_list(struct hints *h)
{
    size_t gets = 0;
    bool listed = false;
    for (size_t i = 0; i < h->o->made_count; i++) {
        listed |= is_use(&h->o->made[i], RIGHT_LIST_NOTES);
        gets += listed && is_use(&h->o->made[i], RIGHT_READ_NOTES);
    }
    char text[400];
    if (gets < GETS_OF_LIST)
        return;
    (void)snprintf(
        text, sizeof text,
        "notes.get was called %zu times after notes.list. Its rows already have "
        "title, type, dates, tags, size and path, and with fields also metadata and "
        "content_hash; notes.search finds notes by their contents",
        gets);
    put_hint(h, text);
}

void hints_write(struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w)
{
    struct hints h = {.o = o, .python = v->python, .w = w};
    if (v->repeat_hint.n)
        put_hint(&h, buf_cz(&v->repeat_hint));
    hint_in_a_row(&h);
    hint_again(&h);
    hint_gets_of_list(&h);
    if (h.count)
        json_close(w);
}
