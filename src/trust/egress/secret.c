/* Secrets: what the policy says of them, their values, how these get into a request's
 * headers. How they are taken out of everything that comes back stands in scrub.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>

#include "egress/internal.h"
#include "os/os.h"

#define SECRETS_MAX 100u
#define NAME_MAX_BYTES 64u
#define VALUE_MIN 8u /* a shorter one would be found in everything that comes back */
#define VALUE_MAX ((size_t)4096)

#define OPENING "{{secret:"
#define CLOSING "}}"

/* ---- the policy's secrets ----------------------------------------------- */

static bool is_secret_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool letter = char_is_letter(c) || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* Fit for a header's value: visible ASCII, spaces inside. */
static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < ' ' || s.at[i] > '~')
            return false;
    return s.n > 0 && s.at[0] != ' ' && s.at[s.n - 1] != ' ';
}

static bool read_source(struct secret *s, const struct json *v, struct arena *a,
                        struct err *e)
{
    static const char *const keys[] = {"value", "env", "file"};
    size_t given = 0;
    for (size_t i = 0; i < LENGTH(keys); i++) {
        struct str text = json_str(json_get(v, keys[i]));
        if (!text.n)
            continue;
        given++;
        s->source = (enum secret_source)i;
        if (!(s->from = str_cz(text, a, e)))
            return false;
    }
    if (given != 1 || (s->source == SECRET_FILE && s->from[0] != '/'))
        return err_set(
            e, ERR_INVALID,
            "network.secrets.%s needs one of value, env (a variable's name) and "
            "file (an absolute path)",
            s->name);
    return true;
}

static bool read_use(struct secret *s, const struct json *v, struct arena *a,
                     struct err *e)
{
    struct str header = json_str(json_get(v, "header"));
    struct str format = json_str(json_get(v, "format"));
    if (json_get(v, "header") && !is_token(header))
        return err_set(e, ERR_INVALID,
                       "network.secrets.%s.header is not the name of "
                       "a header",
                       s->name);
    if (!json_get(v, "format"))
        format = str_same(header, STR("authorization")) ? STR("Bearer {}") : STR("{}");
    const char *hole = memmem(format.at, format.n, "{}", 2);
    if (!is_visible(format) || !hole ||
        memmem(hole + 2, format.n - (size_t)(hole + 2 - format.at), "{}", 2))
        return err_set(e, ERR_INVALID,
                       "network.secrets.%s.format needs '{}' once, where the value goes; "
                       "such as 'Bearer {}'",
                       s->name);
    s->header = header.n ? str_cz(header, a, e) : NULL;
    s->format = str_cz(format, a, e);
    return s->format && (!header.n || s->header);
}

static bool read_secret(struct secret *s, struct str name, const struct json *v,
                        struct arena *a, struct err *e)
{
    static const char *const known[] = {"value", "env",    "file",
                                        "hosts", "header", "format"};
    char place[120];
    if (!is_secret_name(name))
        return err_set(e, ERR_INVALID,
                       "network.secrets: '%.*s' is not a valid name; letters, digits "
                       "and _ are accepted, at most %u",
                       STR_ARGS(str_cut(name, 60)), NAME_MAX_BYTES);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        bool ok = false;
        for (size_t i = 0; i < LENGTH(known); i++)
            ok |= str_is(it.key, known[i]);
        if (!ok)
            return err_set(e, ERR_INVALID,
                           "network.secrets.%.*s.%.*s is not known; value, env, file, "
                           "hosts, header and format are",
                           STR_ARGS(name), STR_ARGS(str_cut(it.key, 60)));
    }
    (void)snprintf(place, sizeof place, "network.secrets.%.*s.hosts", STR_ARGS(name));
    if (!(s->name = str_cz(name, a, e)) || !read_source(s, v, a, e) ||
        !read_use(s, v, a, e) ||
        !host_rules_read(&s->hosts, json_get(v, "hosts"), place, true, a, e))
        return false;
    return s->hosts.count ||
           err_set(e, ERR_INVALID, "%s names no host that it may be sent to", place);
}

bool secrets_read(struct egress_rules *r, const struct json *secrets, struct err *e)
{
    size_t n = json_length(secrets);
    if (secrets && !json_is(secrets, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "network.secrets is %s; an object is accepted",
                       json_type_name(json_type(secrets)));
    if (n > SECRETS_MAX)
        return err_set(e, ERR_LIMIT,
                       "network.secrets has %zu entries; at most %u are accepted", n,
                       SECRETS_MAX);
    if (n == 0)
        return true;
    if (!(r->secrets = arena_get(r->arena, n * sizeof *r->secrets, e)))
        return false;
    struct json_iter it = json_iter(secrets);
    while (json_next(&it)) {
        struct secret *s = &r->secrets[r->secret_count];
        if (!read_secret(s, it.key, it.value, r->arena, e))
            return false;
        r->secret_count++;
    }
    return true;
}

/* ---- values ------------------------------------------------------------- */

static bool read_value_file(const struct secret *s, struct buf *out, struct err *e)
{
    /* Not waiting for a writer, should it be a pipe. */
    scoped_fd int fd = open(s->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct os_stat st;
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                       "its file cannot be opened: %m");
    return os_stat_fd(fd, &st, e) &&
           (st.is_file || err_set(e, ERR_INVALID, "its file is not a regular file")) &&
           os_read_fd(fd, out, e);
}

/* A name in the message, never a value or a path. */
static bool read_value(const struct secret *s, struct buf *out, struct err *e)
{
    const char *variable = s->source == SECRET_ENV ? getenv(s->from) : NULL;
    bool ok = true;
    if (s->source == SECRET_VALUE)
        ok = buf_cstr(out, s->from);
    else if (s->source == SECRET_ENV)
        ok = variable
                 ? buf_cstr(out, variable)
                 : err_set(e, ERR_NOT_FOUND, "the variable %.100s is not set", s->from);
    else
        ok = read_value_file(s, out, e);
    if (!ok && !e->code)
        err_set(e, ERR_INVALID, "its value is longer than %zu bytes", VALUE_MAX);
    struct str value = str_trim(buf_view(out));
    if (ok && (value.n < VALUE_MIN || !is_visible(value)))
        ok =
            err_set(e, ERR_INVALID, "its value is not %u to %zu visible ASCII characters",
                    VALUE_MIN, VALUE_MAX);
    if (ok && value.n)
        memmove(out->at, value.at, value.n);
    out->n = ok ? value.n : 0;
    return ok || err_wrap(e, "the secret %s cannot be used", s->name);
}

void keys_open(struct keys *k, const struct egress_rules *rules)
{
    *k = (struct keys){.rules = rules};
    size_t n = rules ? rules->secret_count : 0;
    if (!n)
        return;
    k->values = mem_new(n * sizeof *k->values);
    k->why = mem_new(n * sizeof *k->why);
    for (size_t i = 0; i < n; i++) {
        buf_init(&k->values[i], VALUE_MAX);
        /* Room at once: growing would leave copies behind. */
        must(buf_room(&k->values[i], VALUE_MAX) != NULL);
        (void)read_value(&rules->secrets[i], &k->values[i], &k->why[i]);
    }
}

void keys_close(struct keys *k)
{
    for (size_t i = 0; k->values && i < k->rules->secret_count; i++) {
        explicit_bzero(k->values[i].at, k->values[i].capacity);
        buf_done(&k->values[i]);
    }
    free(k->values);
    free(k->why);
    *k = (struct keys){0};
}

/* ---- into a request ----------------------------------------------------- */

static bool unknown_secret(const struct keys *k, struct str name, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_NAME);
    for (size_t i = 0; k->rules && i < k->rules->secret_count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", k->rules->secrets[i].name);
    return err_set(e, ERR_NOT_FOUND, "the policy has no secret '%.*s'; it has: %s",
                   STR_ARGS(str_cut(name, 60)), names.n ? buf_cz(&names) : "none");
}

/* May it go there? Its index, or -1. */
static long secret_find_key(const struct keys *k, const struct target *to,
                            const char *header, struct str name, struct err *e)
{
    size_t n = k->rules ? k->rules->secret_count : 0, i = 0;
    while (i < n && !str_is(name, k->rules->secrets[i].name))
        i++;
    if (i == n) {
        unknown_secret(k, name, e);
        return -1;
    }
    const struct secret *s = &k->rules->secrets[i];
    if (!host_rules_match(&s->hosts, to))
        err_set(
            e, ERR_DENIED,
            "the secret %s is not for %s://%s; nothing was sent; the policy says where "
            "it may go (network.secrets.%s.hosts)",
            s->name, to->https ? "https" : "http", to->host, s->name);
    else if (s->header && strcasecmp(s->header, header) != 0)
        err_set(e, ERR_DENIED,
                "the secret %s goes into the header %s only, not into %.60s", s->name,
                s->header, header);
    else if (!k->values[i].n)
        err_set(e, k->why[i].code, "%s", k->why[i].msg);
    else
        return (long)i;
    return -1;
}

bool keys_fill(const struct keys *k, const struct target *to, const char *header,
               struct str text, struct buf *out, bool *used, struct err *e)
{
    for (;;) {
        const char *open = memmem(text.at, text.n, OPENING, strlen(OPENING));
        if (!open)
            return buf_str(out, text) || buf_check(out, "the headers", e);
        buf_put(out, text.at, (size_t)(open - text.at));
        struct str rest = {open + strlen(OPENING),
                           text.n - (size_t)(open - text.at) - strlen(OPENING)};
        const char *close = memmem(rest.at, rest.n, CLOSING, strlen(CLOSING));
        struct str name = {rest.at, close ? (size_t)(close - rest.at) : 0};
        if (!close || !is_secret_name(name))
            return err_set(e, ERR_INVALID,
                           "a secret is written {{secret:NAME}} in the header %.60s",
                           header);
        long i = secret_find_key(k, to, header, name, e);
        if (i < 0)
            return false;
        buf_str(out, buf_view(&k->values[i]));
        *used = true;
        text = (struct str){close + strlen(CLOSING), rest.n - name.n - strlen(CLOSING)};
    }
}

bool keys_add(const struct keys *k, const struct target *to, struct buf *lines,
              struct err *e)
{
    for (size_t i = 0; k->rules && i < k->rules->secret_count; i++) {
        const struct secret *s = &k->rules->secrets[i];
        if (!s->header || !k->values[i].n || !host_rules_match(&s->hosts, to) ||
            has_header(lines, s->header))
            continue;
        const char *hole = strstr(s->format, "{}");
        buf_printf(lines, "%s: %.*s%s%s\n", s->header, (int)(hole - s->format), s->format,
                   buf_cz(&k->values[i]), hole + 2);
    }
    return buf_check(lines, "the headers", e);
}
