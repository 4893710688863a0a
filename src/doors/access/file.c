/* tokens.json: reading it, and changing it under a lock. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "access/internal.h"
#include "caller/caller.h"

#define LOCK_NAME "tokens.lock"
#define LOCK_WAIT_MS 10000u
#define FILE_MAX ((size_t)16 << 20) /* bytes */
#define VERSION 1
#define NAMES_MAX (10u * TOKENS_MAX)
#define USED_DIR "tokens"

/* ---- scopes ------------------------------------------------------------- */

bool scopes_read(const char *text, unsigned *out, struct err *e)
{
    struct str rest = str_of(text);
    *out = 0;
    while (rest.n) {
        const char *comma = memchr(rest.at, ',', rest.n);
        size_t n = comma ? (size_t)(comma - rest.at) : rest.n;
        struct str word = str_trim((struct str){rest.at, n});
        unsigned scope = scope_named(word);
        if (!scope)
            return err_set(e, ERR_INVALID,
                           "unknown scope '%.*s'; valid scopes, separated by commas: "
                           "read, write, evaluate, audit",
                           STR_ARGS(str_cut(word, 40)));
        *out |= scope;
        n += comma != NULL;
        rest.at += n;
        rest.n -= n;
    }
    return *out || err_set(e, ERR_INVALID,
                           "no scope is given; read, write, evaluate and audit are "
                           "accepted, with commas between them");
}

/* ---- one token's text --------------------------------------------------- */

void token_hash(struct str text, char out[static CRYPTO_HASH_HEX])
{
    /* The secret has 256 random bits: nobody finds it by trying, however fast. */
    crypto_hash_hex(text, out);
}

struct str token_id(struct str text)
{
    size_t prefix = strlen(TOKEN_PREFIX);
    if (text.n != TOKEN_TEXT - 1 || !str_starts(text, TOKEN_PREFIX) ||
        text.at[prefix + TOKEN_ID] != '_')
        return STR("");
    struct str id = {text.at + prefix, TOKEN_ID};
    return str_is_hex(id) ? id : STR("");
}

/* ---- reading ------------------------------------------------------------ */

static bool tokens_are_damaged(const char *why, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   TOKENS_FILE " in the configuration folder cannot be read (%.150s); "
                               "all tokens are refused until it is fixed or removed",
                   why);
}

/* A whole number of milliseconds, or null. */
static bool token_read_time(const struct json *v, int64_t *out)
{
    *out = json_int(v, 0);
    return json_is(v, JSON_NULL) || (json_is_int(v) && *out > 0);
}

static bool token_read_scopes(const struct json *v, unsigned *out)
{
    struct json_iter it = json_iter(v);
    *out = 0;
    while (json_next(&it)) {
        unsigned scope = scope_named(json_str(it.value));
        if (!scope)
            return false;
        *out |= scope;
    }
    return *out != 0;
}

static bool token_read_vaults(const struct json *v, struct arena *a,
                              struct policy_names *out, struct err *e)
{
    *out = (struct policy_names){.given = !json_is(v, JSON_NULL)};
    if (!out->given)
        return true;
    if (!json_is(v, JSON_ARRAY) || json_length(v) > TOKEN_VAULTS_MAX)
        return false;
    const char **at = arena_get(a, (json_length(v) + 1) * sizeof *at, e);
    struct json_iter it = json_iter(v);
    while (at && json_next(&it))
        if (!(at[out->n++] = str_cz(json_str(it.value), a, e)))
            return false;
    out->at = at;
    return at != NULL;
}

static bool token_read(const struct json *v, struct arena *a, struct token *t)
{
    struct err why = {0};
    *t = (struct token){.id = json_str(json_get(v, "id")),
                        .name = json_str(json_get(v, "name")),
                        .hash = json_str(json_get(v, "hash"))};
    struct str level = json_str(json_get(v, "level"));
    return t->id.n == TOKEN_ID && str_is_hex(t->id) &&
           str_is_name(t->name, "._-", TOKEN_NAME_MAX) &&
           level_named(level.at, &t->level) &&
           token_read_scopes(json_get(v, "scopes"), &t->scopes) &&
           token_read_vaults(json_get(v, "vaults"), a, &t->vaults, &why) &&
           token_read_time(json_get(v, "created"), &t->created_ms) &&
           token_read_time(json_get(v, "expires"), &t->expires_ms) &&
           token_read_time(json_get(v, "revoked"), &t->revoked_ms) &&
           (t->revoked_ms ? t->hash.n == 0
                          : t->hash.n == CRYPTO_HASH_HEX - 1 && str_is_hex(t->hash));
}

static bool tokens_read_list(const struct json *file, struct arena *a, struct tokens *out,
                             struct err *e)
{
    const struct json *rows = json_get(file, "tokens");
    if (json_int(json_get(file, "version"), 0) != VERSION || !json_is(rows, JSON_ARRAY))
        return tokens_are_damaged("it is not of this version, or has no tokens", e);
    if (json_length(rows) > NAMES_MAX)
        return tokens_are_damaged("it has too many tokens", e);
    out->all = arena_get(a, (json_length(rows) + 1) * sizeof *out->all, e);
    if (!out->all)
        return false;
    struct json_iter it = json_iter(rows);
    for (; json_next(&it); out->count++) {
        char place[40];
        (void)snprintf(place, sizeof place, "token %zu is invalid", out->count + 1);
        if (!token_read(it.value, a, &out->all[out->count]))
            return tokens_are_damaged(place, e);
    }
    return true;
}

bool tokens_read(int dir, struct arena *a, struct tokens *out, struct err *e)
{
    struct err why = {0};
    struct os_stat st;
    scoped_buf struct buf text = buf_of(FILE_MAX);
    *out = (struct tokens){0};
    /* No link: a change of what it leads to would not show. */
    scoped_fd int fd =
        os_open_beneath(dir, TOKENS_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &why);
    if (fd < 0 && why.code == ERR_NOT_FOUND)
        return true;
    if (fd < 0 || !os_stat_fd(fd, &st, &why))
        return tokens_are_damaged(why.msg, e);
    if (!st.is_file)
        return tokens_are_damaged("it is not a regular file", e);
    if (!os_is_own(dir, ".", &why) || !os_is_own(fd, TOKENS_FILE, &why))
        return tokens_are_damaged(why.msg, e);
    const struct json *file =
        os_read_fd(fd, &text, &why) ? json_read(buf_view(&text), a, &why) : NULL;
    return file ? tokens_read_list(file, a, out, e) : tokens_are_damaged(why.msg, e);
}

/* ---- changing ----------------------------------------------------------- */

/* Between its being read and its being written. */
struct change {
    int dir, lock;
    struct arena *arena;
    struct tokens list; /* with room for one more */
    int64_t now_ms;
};

static void tokens_change_done(struct change *c)
{
    os_close(c->lock);
    os_close(c->dir);
    arena_free(c->arena);
}
#define scoped_change __attribute__((cleanup(tokens_change_done)))

/* Fills in all of `c`, also when it fails. */
static bool tokens_change_begin(struct change *c, struct err *e)
{
    *c = (struct change){
        .dir = -1, .lock = -1, .arena = arena_new(TOKENS_MEMORY), .now_ms = os_real_ms()};
    c->dir = os_config_dir(NULL, e);
    if (c->dir >= 0)
        c->lock = os_lock(c->dir, LOCK_NAME, 0, LOCK_WAIT_MS, e);
    return c->lock >= 0 && tokens_read(c->dir, c->arena, &c->list, e);
}

static void token_put_time(struct json_writer *w, const char *key, int64_t ms)
{
    json_key(w, key);
    if (ms)
        json_put_int(w, ms);
    else
        json_put_null(w);
}

static void put_vaults(struct json_writer *w, const struct policy_names *vaults)
{
    json_key(w, "vaults");
    if (!vaults->given) {
        json_put_null(w);
        return;
    }
    json_open_array(w);
    for (size_t i = 0; i < vaults->n; i++)
        json_put_cstr(w, vaults->at[i]);
    json_close(w);
}

/* Members that the file and `cloche token list` share. */
static void token_put_head(struct json_writer *w, const struct token *t)
{
    json_pair_str(w, "id", t->id);
    json_pair_str(w, "name", t->name);
    json_pair_cstr(w, "level", level_name(t->level));
    json_key(w, "scopes");
    json_open_array(w);
    for (unsigned scope = 1; scope <= SCOPE_AUDIT; scope <<= 1)
        if (t->scopes & scope)
            json_put_cstr(w, scope_name(scope));
    json_close(w);
    put_vaults(w, &t->vaults);
}

static bool tokens_change_write(const struct change *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(FILE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_int(&w, "version", VERSION);
    json_key(&w, "tokens");
    json_open_array(&w);
    for (size_t i = 0; i < c->list.count; i++) {
        const struct token *t = &c->list.all[i];
        json_open_object(&w);
        token_put_head(&w, t);
        json_pair_str(&w, "hash", t->hash);
        token_put_time(&w, "created", t->created_ms);
        token_put_time(&w, "expires", t->expires_ms);
        token_put_time(&w, "revoked", t->revoked_ms);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    buf_char(&text, '\n');
    return buf_check(&text, "the list of tokens", e) &&
           os_write_file(c->dir, TOKENS_FILE, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

static bool check_wish(const struct token_wish *w, int64_t now_ms, struct err *e)
{
    if (!str_is_name(str_of(w->name), "._-", TOKEN_NAME_MAX))
        return err_set(e, ERR_INVALID,
                       "'%.60s' is not a valid token name: 1 to %u letters, digits, "
                       "'.', '_' or '-', starting with a letter or digit",
                       w->name, TOKEN_NAME_MAX);
    if (w->vaults.n > TOKEN_VAULTS_MAX)
        return err_set(e, ERR_INVALID, "%zu vaults are given; at most %u are accepted",
                       w->vaults.n, TOKEN_VAULTS_MAX);
    if (w->expires_ms && w->expires_ms <= now_ms)
        return err_set(e, ERR_INVALID, "the token would have expired already");
    return true;
}

static bool token_is_free(const struct change *c, const struct token_wish *w,
                          struct err *e)
{
    size_t live = 0;
    for (size_t i = 0; i < c->list.count; i++) {
        const struct token *t = &c->list.all[i];
        live += t->revoked_ms == 0;
        if (str_is(t->name, w->name))
            return err_set(e, ERR_CONFLICT,
                           "a token named '%s' %s; take another name, so that the audit "
                           "trail keeps them apart",
                           w->name, t->revoked_ms ? "was revoked" : "exists");
    }
    if (live >= TOKENS_MAX || c->list.count >= NAMES_MAX)
        return err_set(e, ERR_LIMIT,
                       "there are %zu tokens, and %zu names were used in all; %u and %u "
                       "are accepted",
                       live, c->list.count, TOKENS_MAX, NAMES_MAX);
    return true;
}

static void make_text(char text[static TOKEN_TEXT])
{
    unsigned char id[TOKEN_ID / 2];
    char digits[TOKEN_ID + 1], secret[CRYPTO_TOKEN];
    os_random(id, sizeof id);
    hex_write(id, sizeof id, digits);
    crypto_token(secret);
    (void)snprintf(text, TOKEN_TEXT, TOKEN_PREFIX "%s_%s", digits, secret);
    explicit_bzero(secret, sizeof secret);
}

bool token_create(const struct token_wish *w, char text[static TOKEN_TEXT], struct err *e)
{
    scoped_change struct change c;
    if (!tokens_change_begin(&c, e) || !check_wish(w, c.now_ms, e) ||
        !token_is_free(&c, w, e))
        return false;
    struct token *all = arena_get(c.arena, (c.list.count + 1) * sizeof *all, e);
    if (!all)
        return false;
    if (c.list.count)
        memcpy(all, c.list.all, c.list.count * sizeof *all);
    char hash[CRYPTO_HASH_HEX];
    make_text(text);
    token_hash(str_of(text), hash);
    all[c.list.count] = (struct token){.id = token_id(str_of(text)),
                                       .name = str_of(w->name),
                                       .hash = str_of(hash),
                                       .level = w->level,
                                       .scopes = w->scopes,
                                       .vaults = w->vaults,
                                       .created_ms = c.now_ms,
                                       .expires_ms = w->expires_ms};
    c.list = (struct tokens){all, c.list.count + 1};
    return tokens_change_write(&c, e);
}

bool token_revoke(const char *which, char name[static TOKEN_NAME_MAX + 1], struct err *e)
{
    scoped_change struct change c;
    if (!tokens_change_begin(&c, e))
        return false;
    struct token *t = NULL;
    for (size_t i = 0; i < c.list.count && !t; i++)
        if (str_is(c.list.all[i].name, which) || str_is(c.list.all[i].id, which))
            t = &c.list.all[i];
    if (!t || t->revoked_ms)
        return err_set(e, ERR_NOT_FOUND,
                       "there is no token '%.60s'%s; 'cloche token list' lists them",
                       which, t ? " any more: it is revoked already" : "");
    t->revoked_ms = c.now_ms;
    t->hash = STR("");
    (void)snprintf(name, TOKEN_NAME_MAX + 1, "%.*s", STR_ARGS(t->name));
    return tokens_change_write(&c, e);
}

/* ---- when they were used ------------------------------------------------ */

/* A small file a token, so that nobody waits for anybody. */
void token_touch(int state, struct str id, int64_t now_ms)
{
    struct err none = {0};
    char name[sizeof USED_DIR + 1 + TOKEN_ID + 1], text[25];
    (void)snprintf(name, sizeof name, USED_DIR "/%.*s", STR_ARGS(id));
    date_format(now_ms, text);
    if (state >= 0 &&
        !os_write_file(state, name, str_of(text), OS_SOON, 0600, NULL, &none) &&
        none.code == ERR_NOT_FOUND) {
        none = (struct err){0};
        if (os_make_dirs(state, USED_DIR, &none))
            (void)os_write_file(state, name, str_of(text), OS_SOON, 0600, NULL, &none);
    }
}

static void put_used(int state, struct str id, struct json_writer *w)
{
    struct err none = {0};
    char name[sizeof USED_DIR + 1 + TOKEN_ID + 1];
    scoped_buf struct buf text = buf_of(BUF_NAME);
    (void)snprintf(name, sizeof name, USED_DIR "/%.*s", STR_ARGS(id));
    bool there =
        state >= 0 && os_read_file(state, name, &text, NULL, &none) && text.n == 24;
    json_key(w, "last_used");
    if (there)
        json_put_str(w, buf_view(&text));
    else
        json_put_null(w);
}

static void token_put_date(struct json_writer *w, const char *key, int64_t ms)
{
    json_key(w, key);
    if (ms)
        json_put_time(w, ms);
    else
        json_put_null(w);
}

bool tokens_list(struct json_writer *out, struct err *e)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(TOKENS_MEMORY);
    scoped_fd int dir = os_config_dir(NULL, e);
    scoped_fd int state = os_state_dir(NULL, &none);
    struct tokens list;
    if (dir < 0 || !tokens_read(dir, a, &list, e))
        return false;
    json_open_array(out);
    for (size_t i = 0; i < list.count; i++) {
        const struct token *t = &list.all[i];
        json_open_object(out);
        token_put_head(out, t);
        token_put_date(out, "created", t->created_ms);
        token_put_date(out, "expires", t->expires_ms);
        token_put_date(out, "revoked", t->revoked_ms);
        put_used(state, t->id, out);
        json_close(out);
    }
    json_close(out);
    return buf_check(out->out, "the list of tokens", e);
}
