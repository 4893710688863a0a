/* cloche audit: what was done, and whether the record of it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "cli/commands.h"
#include "cli/subcommand.h"
#include "guard/guard.h"
#include "os/os.h"
#include "reconcile/reconcile.h"
#include "record/record.h"
#include "json/json.h"

#define LIMIT_USUAL 20
#define LIMIT_MOST 100000
#define MACS_NAMED 6u     /* where several records are meant */
#define LOOK_NS 100000000 /* between looks for new records */
#define TEXT_MAX ((size_t)4 << 20)

struct audit_command {
    const char *vault, *limit, *before, *out, *file;
    bool own, json, help, follow, verify, remove;
    const char *words[2];
    struct trail *trail;
    struct audit *audit;
    struct ward *ward;
    const char *folder; /* of the vault; NULL: none */
};

/* ---- one record --------------------------------------------------------- */

/* Strangers' text moves no cursor and ends no line. */
static void print_text(struct str text)
{
    scoped_buf struct buf spelt = buf_of(12 * AUDIT_RECORD_MAX);
    str_spell(text, &spelt);
    fputs(buf_cz(&spelt), stdout);
}

static void print_names(const char *title, const struct json *object,
                        const struct json *more)
{
    struct json_iter it = json_iter(object);
    for (bool first = true; json_next(&it); first = false) {
        fputs(first ? title : ", ", stdout);
        print_text(it.key);
        printf(" x%lld", (long long)json_int(it.value, 0));
    }
    if (more)
        printf(" and %lld more", (long long)json_int(more, 0));
}

static void print_word(struct str word)
{
    fputc(' ', stdout);
    print_text(word);
}

/* The caller, and the program that it says it is. */
static void print_caller(const struct json *r)
{
    struct str caller = json_str(json_get(r, "caller"));
    const struct json *client = json_get(r, "client");
    print_text(caller.n ? caller : STR("--"));
    if (!client)
        return;
    fputs(" (", stdout);
    print_text(json_str(json_get(client, "name")));
    if (json_get(client, "version"))
        print_word(json_str(json_get(client, "version")));
    fputc(')', stdout);
}

static void print_named(const char *title, const struct json *text, size_t most)
{
    if (!text)
        return;
    fputs(title, stdout);
    print_word(str_cut(json_str(text), most));
}

/* "tcp example.org:443 success, 120 bytes sent, 4500 received; machine vm_xFq..." */
static void print_connection(const struct json *r)
{
    const struct json *name = json_get(r, "name");
    struct str to = json_str(name ? name : json_get(r, "address"));
    bool v6 = memchr(to.at, ':', to.n) != NULL;
    if (json_get(r, "port")) {
        print_word(json_str(json_get(r, "protocol")));
        fputs(v6 ? " [" : " ", stdout);
        print_text(to);
        printf("%s:%lld", v6 ? "]" : "", (long long)json_int(json_get(r, "port"), 0));
    } else
        print_word(to);
    print_word(json_str(json_get(r, "result")));
    if (json_get(r, "sent_bytes"))
        printf(", %lld bytes sent, %lld received",
               (long long)json_int(json_get(r, "sent_bytes"), 0),
               (long long)json_int(json_get(r, "received_bytes"), 0));
    print_named("; machine", json_get(r, "machine"), SIZE_MAX);
    print_named(";", json_get(r, "why"), SIZE_MAX);
}

static void print_event(const struct json *r)
{
    static const char *const about[] = {"kind", "why", "policy", "action", "call", "key"};
    struct str event = json_str(json_get(r, "event"));
    bool connection = str_is(event, "connection");
    print_caller(r);
    print_word(event);
    if (connection)
        print_connection(r);
    for (size_t i = 0; !connection && i < LENGTH(about); i++)
        if (json_get(r, about[i]))
            print_word(json_str(json_get(r, about[i])));
    fputc('\n', stdout);
}

/* "12:30:01 1f2e3d4c5b6a terminal evaluate_note_code success 0.5 ms; code 9a8b7c6d5e4f;
 * notes.get x3" */
static void print_readable(const struct json *r)
{
    print_text(json_str(json_get(r, "time")));
    print_word(str_cut(json_str(json_get(r, "mac")), 12));
    fputc(' ', stdout);
    if (!str_is(json_str(json_get(r, "event")), "call")) {
        print_event(r);
        return;
    }
    print_caller(r);
    print_word(json_str(json_get(r, "action")));
    print_word(json_str(json_get(r, "result")));
    if (json_get(r, "ms"))
        printf(" %.1f ms", json_number(json_get(r, "ms"), 0));
    if (json_get(r, "fuel"))
        printf(", fuel %lld", (long long)json_int(json_get(r, "fuel"), 0));
    print_named("; workspace", json_get(r, "workspace"), SIZE_MAX);
    print_named("; code", json_get(r, "code"), 12);
    print_names("; ", json_get(r, "calls"), json_get(r, "more_calls"));
    print_names("; denied ", json_get(r, "denied"), json_get(r, "more_denied"));
    print_names("; failed ", json_get(r, "failed"), json_get(r, "more_failed"));
    struct json_iter it = json_iter(json_get(r, "notes"));
    for (bool first = true; json_next(&it); first = false) {
        fputs(first ? "; changed " : ", ", stdout);
        print_text(json_str(it.value));
    }
    if (json_get(r, "more_notes"))
        printf(" and %lld more", (long long)json_int(json_get(r, "more_notes"), 0));
    fputc('\n', stdout);
}

static bool print_line(void *arg, struct str line, struct err *e)
{
    const struct audit_command *c = arg;
    struct err broken = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &broken);
    (void)e;
    if (c->json) {
        scoped_buf struct buf text = buf_of(8 * AUDIT_RECORD_MAX);
        struct json_writer w = json_writer(&text);
        if (r)
            buf_str(&text, line);
        else /* what is no record: a trail may hold anything */
            json_put_str(&w, line);
        cli_put_line(buf_view(&text));
    } else if (r) {
        /* A call's end says more than its intent. */
        if (!str_is(json_str(json_get(r, "event")), "intent"))
            print_readable(r);
    } else {
        print_text(line);
        fputc('\n', stdout);
    }
    return !ferror(stdout);
}

/* ---- what it does ------------------------------------------------------- */

static bool audit_list(struct audit_command *c, struct err *e)
{
    long long n = LIMIT_USUAL;
    if (c->limit && !options_number("--limit", c->limit, 1, LIMIT_MOST, &n, e))
        return false;
    return trail_read(c->trail, (uint64_t)n, c->json ? TRAIL_AS_WRITTEN : TRAIL_BY_TIME,
                      print_line, c, e);
}

/* A damaged file is reported, and does not end the reading. */
static bool is_read(bool ok, struct err *e)
{
    if (ok || e->code != ERR_LIMIT)
        return ok;
    (void)cli_fail(e);
    *e = (struct err){0};
    return true;
}

/* Until it is interrupted, or nobody reads what it prints. */
static bool audit_follow(struct audit_command *c, struct err *e)
{
    struct trail_place *place = mem_new(sizeof *place);
    /* The place first: what comes meanwhile may be printed twice, never missed. */
    bool ok =
        trail_follow(c->trail, place, print_line, c, e) && is_read(audit_list(c, e), e);
    while (ok && fflush(stdout) == 0 && !ferror(stdout)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        ok = trail_follow(c->trail, place, print_line, c, e);
    }
    free(place);
    return ok;
}

static void verdict_print(const struct json *v)
{
    const struct json *bad = json_get(v, "bad"), *missing = json_get(v, "missing");
    bool ok = json_bool(json_get(v, "ok"), false);
    long long records = json_int(json_get(v, "records"), 0);
    printf("%s %.*s: %lld record%s\n", ok ? "ok " : "BAD",
           SPELT_ARGS(json_str(json_get(v, "folder"))), records, str_plural(records));
    if (bad)
        printf("    record %lld, %.*s:%lld: %.*s\n",
               (long long)json_int(json_get(bad, "record"), 0),
               SPELT_ARGS(json_str(json_get(bad, "file"))),
               (long long)json_int(json_get(bad, "line"), 0),
               SPELT_ARGS(json_str(json_get(bad, "why"))));
    if (missing)
        printf("    records %lld to %lld: %.*s\n",
               (long long)json_int(json_get(missing, "from"), 0),
               (long long)json_int(json_get(missing, "to"), 0),
               SPELT_ARGS(json_str(json_get(missing, "why"))));
    static const char *const notes[] = {"note", "before"};
    for (size_t i = 0; i < LENGTH(notes); i++)
        if (json_get(v, notes[i]))
            printf("    %.*s\n", SPELT_ARGS(json_str(json_get(v, notes[i]))));
}

/* The history of the vault beside the audit. */
static void print_history(const struct json *h)
{
    bool ok = json_bool(json_get(h, "ok"), false);
    printf("%s the history of the notes\n", ok ? "ok " : "BAD");
    struct json_iter it = json_iter(json_get(h, "unrecorded"));
    while (json_next(&it)) {
        printf("    no record names the call that made revision %lld of ",
               (long long)json_int(json_get(it.value, "revision"), 0));
        print_text(json_str(json_get(it.value, "id")));
        printf(", %.*s\n", SPELT_ARGS(json_str(json_get(it.value, "time"))));
    }
    int64_t all = json_int(json_get(h, "unrecorded_count"), 0);
    if (all > (int64_t)json_length(json_get(h, "unrecorded")))
        printf("    %lld such changes in all\n", (long long)all);
    if (json_get(h, "missing_revisions"))
        printf("    revisions that were taken out of the history: %lld\n",
               (long long)json_int(json_get(h, "missing_revisions"), 0));
    if (json_get(h, "record"))
        printf("    the history ends with change %lld; record %.*s names change %lld\n",
               (long long)json_int(json_get(h, "history_ends"), 0),
               SPELT_ARGS(json_str(json_get(h, "record"))),
               (long long)json_int(json_get(h, "recorded_revision"), 0));
}

static bool audit_verify(struct audit_command *c, struct err *e)
{
    bool sound = false;
    scoped(arena_free) struct arena *a = arena_new(4 * TEXT_MAX);
    scoped_buf struct buf out = buf_of(TEXT_MAX);
    struct json_writer w = json_writer(&out);
    json_open_object(&w);
    json_key(&w, "trails");
    bool done = trail_verify(c->trail, &w, &sound, e);
    if (done && c->folder) {
        json_key(&w, "history");
        done = reconcile_verify(c->trail, c->folder, &w, &sound, e);
    }
    json_pair_bool(&w, "ok", sound);
    json_close(&w);
    if (!done || !buf_check(&out, "the findings", e))
        return false;
    const struct json *found = json_read(buf_view(&out), a, e);
    struct json_iter it = json_iter(json_get(found, "trails"));
    if (c->json)
        cli_put_line(buf_view(&out));
    while (!c->json && json_next(&it))
        verdict_print(it.value);
    if (!c->json && json_get(found, "history"))
        print_history(json_get(found, "history"));
    return sound || err_set(e, ERR_CONFLICT, "the audit trail was modified");
}

/* ---- show --------------------------------------------------------------- */

/* The records that an id may mean: processes that write at one time number theirs apart. */
struct wanted {
    struct str id;
    struct buf line; /* the newest of them */
    struct buf macs; /* of all, as far as there is room */
    size_t count;
    bool by_number; /* a number goes before the beginning of a mac */
};

static void take_record(struct wanted *w, struct str line, struct str mac, bool by_number)
{
    if (by_number && !w->by_number) {
        buf_clear(&w->line);
        buf_clear(&w->macs);
        w->count = 0;
        w->by_number = true;
    }
    if (!w->count++)
        buf_str(&w->line, line);
    if (w->count <= MACS_NAMED)
        buf_printf(&w->macs, "%s%.*s", w->macs.n ? ", " : "", STR_ARGS(str_cut(mac, 12)));
}

static bool find_record(void *arg, struct str line, struct err *e)
{
    struct wanted *w = arg;
    struct err broken = {0};
    (void)e;
    if (!memmem(line.at, line.n, w->id.at, w->id.n))
        return true;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &broken);
    struct str mac = json_str(json_get(r, "mac"));
    char number[24];
    (void)snprintf(number, sizeof number, "%lld",
                   (long long)json_int(json_get(r, "n"), 0));
    bool by_number = str_is(w->id, number);
    if (by_number || (!w->by_number && str_starts(mac, w->id.at)))
        take_record(w, line, mac, by_number);
    return true;
}

static bool is_only(struct wanted *w, struct err *e)
{
    if (!w->count)
        return err_set(e, ERR_NOT_FOUND,
                       "no record is '%.*s'; its number or the beginning of its mac is "
                       "accepted, as 'cloche audit' lists them",
                       STR_ARGS(str_cut(w->id, 70)));
    return w->count == 1 ||
           err_set(e, ERR_CONFLICT,
                   "%zu records are '%.*s'; use the beginning of the mac: %s%s", w->count,
                   STR_ARGS(str_cut(w->id, 70)), buf_cz(&w->macs),
                   w->count > MACS_NAMED ? " ..." : "");
}

static void show_json(struct str line, const struct buf *code,
                      const struct json *timeline)
{
    scoped_buf struct buf text = buf_of(8 * TEXT_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_raw(&w, "record", line);
    if (code)
        json_pair_str(&w, "code", buf_view(code));
    if (timeline)
        json_pair(&w, "timeline", timeline);
    json_close(&w);
    cli_put_line(buf_view(&text));
}

/* Each line of it as it stands, but for what would leave the line. */
static void print_lines(struct str text)
{
    while (text.n) {
        const char *end = memchr(text.at, '\n', text.n);
        size_t n = end ? (size_t)(end - text.at) : text.n;
        size_t blank = 0;
        while (blank < n && (text.at[blank] == ' ' || text.at[blank] == '\t'))
            blank++;
        printf("%.*s", (int)blank, text.at);
        print_text((struct str){text.at + blank, n - blank});
        fputc('\n', stdout);
        n += end != NULL;
        text = (struct str){text.at + n, text.n - n};
    }
}

/* Its host calls by their start: that, the time that each took, and its outcome unless it succeeded. */
static void show_timeline(const struct json *timeline)
{
    struct json_iter it = json_iter(json_get(timeline, "calls"));
    int64_t left = json_int(json_get(timeline, "left"), 0);
    printf("\n%13s %13s\n", "at", "took");
    while (json_next(&it)) {
        const struct json *outcome = json_get(it.value, "outcome");
        printf("%10.3f ms %10.3f ms  ", json_number(json_get(it.value, "at"), 0),
               json_number(json_get(it.value, "ms"), 0));
        print_text(json_str(json_get(it.value, "call")));
        if (outcome) {
            fputs("  ", stdout);
            print_text(json_str(outcome));
        }
        fputc('\n', stdout);
    }
    if (left)
        printf("and %lld shorter one%s, %.3f ms together\n", (long long)left,
               str_plural(left), json_number(json_get(timeline, "leftMs"), 0));
}

static void show_readable(const struct json *record, struct buf *code,
                          const struct json *timeline)
{
    struct json_iter it = json_iter(record);
    while (json_next(&it)) {
        scoped_buf struct buf text = buf_of(TEXT_MAX);
        struct json_writer w = json_writer(&text);
        json_put(&w, it.value);
        print_text(it.key);
        printf("%*s ", it.key.n < 18 ? (int)(18 - it.key.n) : 0, "");
        print_text(buf_view(&text));
        fputc('\n', stdout);
    }
    if (json_length(json_get(timeline, "calls")))
        show_timeline(timeline);
    if (code) {
        fputc('\n', stdout);
        print_lines(buf_view(code));
    }
}

/* NULL: they are not kept (any more). */
static const struct json *timeline_of(struct trail *trail, const struct json *record,
                                      struct arena *a)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(TEXT_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    account_tell_steps(trail, record, a, &w);
    json_close(&w);
    return json_get(json_read(buf_view(&text), a, &none), "timeline");
}

static bool audit_show(void *command, struct err *e)
{
    struct audit_command *c = command;
    struct wanted w = {.id = str_of(c->words[1])};
    scoped(arena_free) struct arena *a = arena_new(4 * TEXT_MAX);
    scoped_buf struct buf code;
    struct err not_kept = {0};
    buf_init(&w.line, TEXT_MAX);
    buf_init(&w.macs, BUF_LINE);
    buf_init(&code, TEXT_MAX);
    bool ok = trail_back(c->trail, find_record, &w, e) && is_only(&w, e);
    const struct json *r = ok ? json_read(buf_view(&w.line), a, e) : NULL;
    const struct json *hash = json_get(r, "code");
    bool kept = hash && trail_kept(c->trail, json_cstr(hash), &code, &not_kept);
    const struct json *timeline = r ? timeline_of(c->trail, r, a) : NULL;
    if (ok && c->json)
        show_json(buf_view(&w.line), kept ? &code : NULL, timeline);
    else if (ok)
        show_readable(r, kept ? &code : NULL, timeline);
    buf_done(&w.line);
    buf_done(&w.macs);
    return ok;
}

/* ---- export ------------------------------------------------------------------ */

/* So that the trail tells of its own cut: when, how much, and where the copy was written. */
static bool record_export(struct audit_command *c, const struct json *what, struct err *e)
{
    struct ward_event told;
    ward_event_begin(&told, "export");
    json_pair_cstr(&told.out, "caller", "terminal");
    json_pair_str(&told.out, "file", str_cut(str_of(c->out ? c->out : "-"), 1000));
    json_pair(&told.out, "records", json_get(what, "records"));
    json_pair(&told.out, "bytes", json_get(what, "bytes"));
    json_pair(&told.out, "until", json_get(what, "until"));
    json_pair(&told.out, "removed", json_get(what, "removed"));
    return ward_event_end(&told, c->ward, NULL, true, e);
}

/* Where the copy goes first; a terminal gets it from there, as it gets all text. */
static int open_copy(const struct audit_command *c, FILE **shown, struct err *e)
{
    *shown = !c->out && isatty(STDOUT_FILENO) ? tmpfile() : NULL;
    int fd = c->out   ? open(c->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
             : *shown ? dup(fileno(*shown))
                      : dup(STDOUT_FILENO);
    if (fd < 0)
        err_set(e, errno == EEXIST ? ERR_CONFLICT : ERR_IO, "cannot write %.200s: %m",
                c->out ? c->out : "the standard output");
    return fd;
}

static void show_copy(FILE *copy)
{
    char *line = NULL;
    size_t room = 0;
    rewind(copy);
    for (ssize_t n; (n = getline(&line, &room, copy)) > 0;)
        cli_put((struct str){line, (size_t)n});
    free(line);
}

static bool export(void *command, struct err *e)
{
    struct audit_command *c = command;
    FILE *shown;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    if (c->remove && !c->out)
        return err_set(e, ERR_INVALID, "--remove needs --out FILE, where the copy goes");
    scoped_fd int fd = open_copy(c, &shown, e);
    bool done =
        fd >= 0 && trail_export(c->trail, fd, str_of(c->before), c->remove, &w, e);
    if (shown) {
        show_copy(shown);
        (void)fclose(shown);
    }
    if (!done)
        return false;
    const struct json *what = json_read(buf_view(&text), a, e);
    if (!what || (c->remove && !record_export(c, what, e)))
        return false;
    if (c->json && c->out)
        cli_put_line(buf_view(&text));
    else
        fprintf(stderr, "%lld record%s exported%s%s\n",
                (long long)json_int(json_get(what, "records"), 0),
                str_plural(json_int(json_get(what, "records"), 0)),
                c->remove ? ", and taken out of the trail" : "",
                json_bool(json_get(what, "busy"), false)
                    ? "; a running process holds the newest, which stay"
                    : "");
    return true;
}

static bool verify_file(struct audit_command *c, struct err *e)
{
    bool sound = false;
    scoped_fd int fd = open(c->file, O_RDONLY | O_CLOEXEC);
    scoped_buf struct buf text;
    scoped(arena_free) struct arena *a = arena_new(4 * TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    struct json_writer w = json_writer(&text);
    if (fd < 0)
        return err_set(e, ERR_NOT_FOUND, "cannot read %.200s: %m", c->file);
    json_open_object(&w);
    json_key(&w, "chains");
    bool done = audit_verify_export(c->audit, fd, &w, &sound, e);
    json_pair_bool(&w, "ok", sound);
    json_close(&w);
    if (!done || !buf_check(&text, "the findings", e))
        return false;
    struct json_iter it = json_iter(json_get(json_read(buf_view(&text), a, e), "chains"));
    if (c->json)
        cli_put_line(buf_view(&text));
    while (!c->json && json_next(&it)) {
        printf("%s records %lld to %lld",
               json_bool(json_get(it.value, "ok"), false) ? "ok " : "BAD",
               (long long)json_int(json_get(it.value, "from"), 0),
               (long long)json_int(json_get(it.value, "to"), 0));
        if (json_get(it.value, "why"))
            printf(": line %lld: %.*s",
                   (long long)json_int(json_get(it.value, "line"), 0),
                   SPELT_ARGS(json_str(json_get(it.value, "why"))));
        printf("\n");
    }
    return sound || err_set(e, ERR_CONFLICT, "the export was modified");
}

static bool audit_print_notice(void *command, struct err *e)
{
    struct audit_command *c = command;
    return c->file     ? verify_file(c, e)
           : c->verify ? audit_verify(c, e)
           : c->follow ? audit_follow(c, e)
                       : audit_list(c, e);
}

static const struct verb verbs[] = {
    {.name = "list", .run = audit_print_notice},
    {.name = "show", .takes = "an ID", .least = 1, .most = 1, .run = audit_show},
    {.name = "export", .only = "--before, --out and --remove", .run = export},
};

int command_audit(int argc, char **argv)
{
    struct audit_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", &c.vault, "DIR",
                     "the trail of this vault (the current one)"),
        OPTION_FLAG("--own", &c.own,
                    "the trail without a vault: tokens, the policy, refused log-ins"),
        OPTION_VALUE("--limit", &c.limit, "N", "the last N records (20)"),
        OPTION_FLAG("--follow", &c.follow, "and print new ones as they come"),
        OPTION_FLAG("--verify", &c.verify, "check that nothing was changed or cut"),
        OPTION_VALUE("--file", &c.file, "FILE", "with --verify: an exported file"),
        OPTION_VALUE("--before", &c.before, "DATE",
                     "export: files whose records are all older (2026-07-28)"),
        OPTION_VALUE("--out", &c.out, "FILE",
                     "export: a new file for the records (stdout)"),
        OPTION_FLAG("--remove", &c.remove, "export: and remove them from the trail"),
        OPTION_FLAG("--json", &c.json, "print the records as they are, JSON a line"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche audit [show ID | export] [OPTIONS]\n\nShows the audit records: "
            "calls, callers and results (docs/auditing.md). ID is a\nrecord's number, "
            "or the beginning of its mac.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    struct ward *ward = NULL;
    const char *clash = c.file && !c.verify ? "--file belongs to --verify"
                        : c.own && c.vault  ? "--own and --vault do not go together"
                        : c.follow && c.verify
                            ? "--follow and --verify do not go together"
                            : NULL;
    if (clash) {
        err_set(&e, ERR_INVALID, "%s", clash);
        return cli_fail(&e);
    }
    scoped(guard_close) struct guard *guard = cli_guard(c.vault, &ward, &e);
    if (guard && c.own)
        ward = guard_ward(guard, NULL, &e);
    c.trail = guard && ward ? ward_trail(ward) : NULL;
    c.folder = c.trail ? ward_path(ward) : NULL;
    if (c.trail) {
        struct err none = {0};
        c.ward = ward;
        c.audit = guard_audit(guard);
        audit_on_interrupted(guard_audit(guard), reconcile_interrupted, NULL);
        (void)trail_settle(c.trail, &none);
    }
    bool ok = c.trail && verbs_run("audit", verbs, LENGTH(verbs), &use, &c, &e);
    return ok ? EXIT_DONE : cli_fail(&e);
}
