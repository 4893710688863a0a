/* Sessions on disk: one file each, named by its handle.
 *
 * The handle is a hash of owner and name under the folder's secret: who does not know the
 * secret cannot guess it, and nobody's name leads to another's file. When a session was
 * last used is the file's own time of change.
 */
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "os/os.h"

#define FOLDER "sessions"
#define SUFFIX ".session"
#define HANDLE_MARK "ses_"
#define SECRET_FILE "secret"
#define LOCK_FILE "lock"
#define SLICE_MS 100u /* of waiting, between two looks at the cancel */
#define FILES_MAX 4096u
#define OWNER_TEXT 64 /* of each of the owner's names, shown to people */
#define OWNER_MAX ((size_t)64 << 10)

static const char magic[8] = "clocheS1";

struct sessions {
    int dir;
    char secret[CRYPTO_HASH_HEX]; /* of the secret file's bytes */
};

/* The head of a file; the saved bytes follow. */
struct file_head {
    char magic[sizeof magic];
    char sum[CRYPTO_SUM_HEX - 1]; /* of all that follows, under secret and handle */
    uint64_t calls, bytes;
    int64_t created_ms;
    char name[56]; /* this and the texts that follow with their NUL */
    uint64_t kind;
    char caller[OWNER_TEXT], vault[OWNER_TEXT];
};
#define SUMMED offsetof(struct file_head, calls)

/* ---- opening ------------------------------------------------------------ */

/* A secret that is damaged is made anew: its sessions are found damaged then. */
static bool read_secret(struct sessions *s, bool again, struct err *e)
{
    scoped_buf struct buf bytes;
    struct err none = {0};
    buf_init(&bytes, BUF_NAME);
    if (os_read_file(s->dir, SECRET_FILE, &bytes, NULL, &none) && bytes.n == 32) {
        crypto_hash_hex(buf_view(&bytes), s->secret);
        return true;
    }
    if (again)
        return err_set(e, ERR_IO, "the sessions' secret cannot be read: %s", none.msg);
    char fresh[32];
    os_random(fresh, sizeof fresh);
    enum os_write how = none.code == ERR_NOT_FOUND ? OS_CREATE : OS_REPLACE;
    none = (struct err){0};
    if (!os_write_file(s->dir, SECRET_FILE, (struct str){fresh, sizeof fresh}, how, 0600,
                       NULL, &none) &&
        none.code != ERR_CONFLICT) /* another process was quicker */
        return err_set(e, none.code, "the sessions' secret: %s", none.msg);
    return read_secret(s, true, e);
}

struct sessions *sessions_open(struct err *e)
{
    scoped(sessions_close) struct sessions *s = mem_new(sizeof *s);
    s->dir = os_state_folder(FOLDER, e);
    return s->dir >= 0 && read_secret(s, false, e) ? take(s) : NULL;
}

void sessions_close(struct sessions *s)
{
    if (!s)
        return;
    os_close(s->dir);
    free(s);
}

/* ---- names -------------------------------------------------------------- */

static bool is_sign(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '-' || c == '.';
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_sign(s.at[i]))
            return false;
    return s.n > 0 && s.n <= SESSION_NAME_MAX;
}

static bool is_handle(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_sign(s.at[i]) || s.at[i] == '.')
            return false;
    return s.n == SESSION_HANDLE - 1 && str_starts(s, HANDLE_MARK);
}

/* The handle of the owner's session of that name. */
static void make_handle(const struct sessions *s, const struct session_owner *owner,
                        struct str name, char out[static SESSION_HANDLE])
{
    scoped_buf struct buf text;
    scoped_buf struct buf handle;
    unsigned char hash[CRYPTO_BLAKE2B];
    buf_init(&text, OWNER_MAX);
    buf_init(&handle, BUF_NAME);
    buf_printf(&text, "%s %zu %s %zu %s %.*s", s->secret, strlen(owner->caller),
               owner->caller, strlen(owner->vault), owner->vault, STR_ARGS(name));
    crypto_blake2b(buf_view(&text), hash);
    crypto_base64url(hash, sizeof hash, &handle);
    (void)snprintf(out, SESSION_HANDLE, HANDLE_MARK "%.43s", buf_cz(&handle));
}

/* Name or handle, as it was given. */
static bool find_handle(const struct sessions *s, const struct session_owner *owner,
                        struct str name, char out[static SESSION_HANDLE], struct err *e)
{
    if (is_handle(name)) {
        (void)snprintf(out, SESSION_HANDLE, "%.*s", STR_ARGS(name));
        return true;
    }
    if (!is_name(name) || !owner)
        return err_set(
            e, ERR_INVALID,
            "session is '%.*s'; a name of 1 to %u letters, digits, '.', '_' and '-' "
            "is accepted, or a handle that a session's answer gave",
            STR_ARGS(str_cut(name, 60)), SESSION_NAME_MAX);
    make_handle(s, owner, name, out);
    return true;
}

static void file_of(const char *handle, char out[static 80])
{
    (void)snprintf(out, 80, "%s" SUFFIX, handle);
}

static uint64_t lock_key(const char *handle)
{
    unsigned char hash[CRYPTO_BLAKE2B];
    uint64_t key;
    crypto_blake2b(str_of(handle), hash);
    memcpy(&key, hash, sizeof key);
    return key;
}

/* ---- files -------------------------------------------------------------- */

static void shorten(const char *text, char out[static OWNER_TEXT])
{
    (void)snprintf(out, OWNER_TEXT, "%.*s",
                   STR_ARGS(str_cut(str_of(text), OWNER_TEXT - 1)));
}

/* Is it the owner's? Only the name is taken from the file. */
static bool fits_owner(const struct sessions *s, const char *handle,
                       const struct file_head *h, const struct session_owner *owner)
{
    char own[SESSION_HANDLE];
    if (!owner)
        return true;
    make_handle(s, owner, str_of(h->name), own);
    return !strcmp(own, handle);
}

static void sum_of(const struct sessions *s, const char *handle, struct str file,
                   char out[static CRYPTO_SUM_HEX])
{
    char name[CRYPTO_HASH_HEX + SESSION_HANDLE];
    (void)snprintf(name, sizeof name, "%s%s", s->secret, handle);
    crypto_sum_hex(str_of(name), (struct str){file.at + SUMMED, file.n - SUMMED}, out);
}

/* The head as it stands in a file, its texts ended; not checked by the sum. */
static bool read_head(const struct sessions *s, const char *file, struct file_head *h)
{
    struct err none = {0};
    scoped_fd int fd = os_open_beneath(s->dir, file, O_RDONLY | O_NOFOLLOW, 0, &none);
    if (fd < 0 || read(fd, h, sizeof *h) != (ssize_t)sizeof *h ||
        memcmp(h->magic, magic, sizeof magic) != 0)
        return false;
    h->name[sizeof h->name - 1] = '\0';
    h->caller[sizeof h->caller - 1] = '\0';
    h->vault[sizeof h->vault - 1] = '\0';
    return is_name(str_of(h->name)) && str_is_utf8(str_of(h->caller)) &&
           str_is_utf8(str_of(h->vault));
}

static bool is_whole(const struct sessions *s, const char *handle, struct str file)
{
    struct file_head h;
    char sum[CRYPTO_SUM_HEX];
    if (file.n < sizeof h)
        return false;
    memcpy(&h, file.at, sizeof h);
    sum_of(s, handle, file, sum);
    return memcmp(h.magic, magic, sizeof magic) == 0 && h.bytes == file.n - sizeof h &&
           crypto_equal((struct str){h.sum, sizeof h.sum}, str_of(sum));
}

static bool is_idle(const struct os_stat *st, uint64_t idle_ms)
{
    int64_t since = os_real_ms() - st->mtime_ns / 1000000;
    return since > 0 && (uint64_t)since > idle_ms;
}

/* ---- all of them -------------------------------------------------------- */

struct tour {
    struct sessions *in;
    const char *except; /* a handle that is passed over */
    const char *caller; /* whose are counted; NULL: everybody's */
    uint64_t idle_ms;
    uint64_t bytes;
    uint32_t count;
};

/* The handle within a file's name; false: it is no session's. */
static bool handle_of(const char *file, char out[static SESSION_HANDLE])
{
    struct str s = str_of(file);
    if (!str_ends(s, SUFFIX))
        return false;
    s.n -= strlen(SUFFIX);
    (void)snprintf(out, SESSION_HANDLE, "%.*s", STR_ARGS(str_cut(s, SESSION_HANDLE - 1)));
    return is_handle(s);
}

static bool session_is_of(const struct tour *t, const char *file)
{
    struct file_head h;
    char caller[OWNER_TEXT];
    if (!t->caller)
        return true;
    shorten(t->caller, caller);
    return read_head(t->in, file, &h) && !strcmp(h.caller, caller);
}

/* Counts one, or removes it where nobody has used it for so long; one that a call is in
 * stays. */
static bool session_visit(void *arg, const char *file, const struct os_stat *st,
                          struct err *e)
{
    (void)e;
    struct tour *t = arg;
    char handle[SESSION_HANDLE];
    if (!handle_of(file, handle) || !strcmp(handle, t->except))
        return true;
    if (is_idle(st, t->idle_ms)) {
        struct err none = {0};
        struct os_stat now;
        scoped_fd int lock = os_lock(t->in->dir, LOCK_FILE, lock_key(handle), 0, &none);
        if (lock >= 0 && os_stat_beneath(t->in->dir, file, &now, &none) &&
            is_idle(&now, t->idle_ms) && os_remove_file(t->in->dir, file, &none))
            return true;
    }
    if (!session_is_of(t, file))
        return true;
    t->count++;
    t->bytes += st->size;
    return t->count < FILES_MAX;
}

/* Removes what is idle, and counts the others but this one. */
static bool look_round(const struct session *x, struct tour *t, struct err *e)
{
    *t = (struct tour){.in = x->in,
                       .except = x->handle,
                       .caller = x->limits.each ? x->owner.caller : NULL,
                       .idle_ms = x->limits.idle_ms};
    return os_walk(x->in->dir, session_visit, t, e);
}

/* ---- one of them -------------------------------------------------------- */

static int wait_for(struct sessions *s, const char *handle, uint32_t wait_ms,
                    struct cancel *cancel, struct err *e)
{
    for (uint32_t waited = 0;; waited += SLICE_MS) {
        struct err why = {0};
        uint32_t left = wait_ms - waited;
        int lock = os_lock(s->dir, LOCK_FILE, lock_key(handle),
                           left < SLICE_MS ? left : SLICE_MS, &why);
        if (lock >= 0)
            return lock;
        if (why.code != ERR_BUSY)
            err_pass(e, &why);
        else if (cancel_fired(cancel))
            err_set(e, ERR_CANCELLED, "cancelled while another call was in the session");
        else if (left <= SLICE_MS)
            err_set(
                e, ERR_BUSY,
                "another call is in this session, and was after %u ms; nothing was run: "
                "try again, or use another session",
                wait_ms);
        else
            continue;
        return -1;
    }
}

static bool begin_new(struct session *x, struct str name, struct err *e)
{
    struct tour t;
    if (is_handle(name))
        return err_set(
            e, ERR_NOT_FOUND,
            "this caller has no session %.*s in this vault; sessions end when they "
            "are unused for a while",
            STR_ARGS(name));
    if (!look_round(x, &t, e))
        return false;
    if (t.count >= x->limits.max)
        return err_set(e, ERR_LIMIT,
                       "there are %u sessions, and no more may be kept; end one with "
                       "close_session, or use one that exists",
                       t.count);
    (void)snprintf(x->name, sizeof x->name, "%.*s", STR_ARGS(name));
    x->created_ms = os_real_ms();
    return true;
}

static bool session_lose(struct session *x, const char *file, struct err *e)
{
    struct err none = {0};
    (void)os_remove_file(x->in->dir, file, &none);
    return err_set(e, ERR_CONFLICT,
                   "the session's saved state was corrupt and was deleted; nothing was "
                   "run; repeat the call to start a new session");
}

static bool read_session(struct session *x, struct str name, struct err *e)
{
    char file[80];
    struct os_stat st;
    struct err why = {0};
    file_of(x->handle, file);
    if (!os_stat_beneath(x->in->dir, file, &st, &why))
        return why.code == ERR_NOT_FOUND ? begin_new(x, name, e) : err_pass(e, &why);
    struct file_head h;
    if (is_idle(&st, x->limits.idle_ms)) {
        (void)os_remove_file(x->in->dir, file, &why);
        return begin_new(x, name, e);
    }
    /* Another's handle is no news to anybody, damaged or not. */
    if (is_handle(name) && read_head(x->in, file, &h) &&
        !fits_owner(x->in, x->handle, &h, &x->owner))
        return begin_new(x, name, e);
    buf_init(&x->saved, x->limits.one_bytes + sizeof h);
    if (!os_read_file(x->in->dir, file, &x->saved, NULL, &why) ||
        !is_whole(x->in, x->handle, buf_view(&x->saved)))
        return session_lose(x, file, e);
    memcpy(&h, x->saved.at, sizeof h);
    if (!fits_owner(x->in, x->handle, &h, &x->owner))
        return begin_new(x, name, e);
    memmove(x->saved.at, x->saved.at + sizeof h, h.bytes);
    x->saved.n = h.bytes;
    x->calls = h.calls;
    x->kind = h.kind;
    x->created_ms = h.created_ms;
    x->used_ms = st.mtime_ns / 1000000;
    (void)snprintf(x->name, sizeof x->name, "%.40s", h.name);
    return true;
}

struct session *session_take(struct sessions *s, const struct session_owner *owner,
                             const struct session_limits *limits, struct str name,
                             struct cancel *cancel, struct err *e)
{
    scoped(session_release) struct session *x = mem_new(sizeof *x);
    x->in = s;
    x->owner = *owner;
    x->limits = *limits;
    x->lock = -1;
    if (limits->max == 0) {
        err_set(e, ERR_DENIED, "the policy allows no sessions");
        return NULL;
    }
    if (!find_handle(s, owner, name, x->handle, e))
        return NULL;
    x->lock = wait_for(s, x->handle, limits->wait_ms, cancel, e);
    return x->lock >= 0 && read_session(x, name, e) ? take(x) : NULL;
}

bool session_keep(struct session *x, struct str saved, struct err *e)
{
    struct tour t;
    if (saved.n > x->limits.one_bytes)
        return err_set(e, ERR_LIMIT,
                       "what the session holds takes %zu bytes; at most %llu are "
                       "kept",
                       saved.n, (unsigned long long)x->limits.one_bytes);
    if (!look_round(x, &t, e))
        return false;
    if (saved.n > x->limits.bytes || t.bytes > x->limits.bytes - saved.n)
        return err_set(e, ERR_LIMIT,
                       "all sessions together would take more than %llu MB; end one with "
                       "close_session",
                       (unsigned long long)(x->limits.bytes >> 20));
    struct file_head h = {.calls = x->calls + 1,
                          .bytes = saved.n,
                          .created_ms = x->created_ms,
                          .kind = x->kind};
    memcpy(h.magic, magic, sizeof magic);
    (void)snprintf(h.name, sizeof h.name, "%s", x->name);
    shorten(x->owner.caller, h.caller);
    shorten(x->owner.vault, h.vault);
    scoped_buf struct buf file = buf_of(sizeof h + saved.n);
    buf_put(&file, &h, sizeof h);
    buf_put(&file, saved.at, saved.n);
    if (!buf_check(&file, "the session", e))
        return false;
    char sum[CRYPTO_SUM_HEX], name[80];
    sum_of(x->in, x->handle, buf_view(&file), sum);
    memcpy(file.at + offsetof(struct file_head, sum), sum, sizeof h.sum);
    file_of(x->handle, name);
    if (!os_write_file(x->in->dir, name, buf_view(&file), OS_SOON, 0600, NULL, e))
        return false;
    x->calls++;
    x->used_ms = os_real_ms();
    return true;
}

bool session_forget(struct session *x, struct err *e)
{
    char file[80];
    struct err why = {0};
    file_of(x->handle, file);
    return os_remove_file(x->in->dir, file, &why) || why.code == ERR_NOT_FOUND ||
           err_pass(e, &why);
}

void session_release(struct session *x)
{
    if (!x)
        return;
    buf_done(&x->saved);
    os_close(x->lock);
    free(x);
}

/* ---- for people and for the end ----------------------------------------- */

struct listing {
    struct sessions *in;
    const struct session_owner *owner;
    uint64_t idle_ms;
    struct arena *a;
    struct session_info *all;
    size_t count;
};

static bool list_one(void *arg, const char *file, const struct os_stat *st, struct err *e)
{
    struct listing *l = arg;
    struct file_head h;
    char handle[SESSION_HANDLE];
    if (l->count == FILES_MAX || !handle_of(file, handle) || is_idle(st, l->idle_ms) ||
        !read_head(l->in, file, &h) || !fits_owner(l->in, handle, &h, l->owner))
        return true;
    const char *texts[] = {h.name, handle, h.caller, h.vault};
    struct str kept[LENGTH(texts)];
    for (size_t i = 0; i < LENGTH(texts); i++) {
        kept[i] = (struct str){arena_copy(l->a, texts[i], strlen(texts[i]), e),
                               strlen(texts[i])};
        if (!kept[i].at)
            return false;
    }
    l->all[l->count++] = (struct session_info){.name = kept[0],
                                               .handle = kept[1],
                                               .caller = kept[2],
                                               .vault = kept[3],
                                               .calls = h.calls,
                                               .bytes = st->size,
                                               .created_ms = h.created_ms,
                                               .used_ms = st->mtime_ns / 1000000};
    return true;
}

static int last_used_first(const void *a, const void *b)
{
    const struct session_info *x = a, *y = b;
    return (x->used_ms < y->used_ms) - (x->used_ms > y->used_ms);
}

bool sessions_list(struct sessions *s, const struct session_owner *owner,
                   const struct session_limits *limits, struct arena *a,
                   struct session_info **out, size_t *count, struct err *e)
{
    struct listing l = {.in = s, .owner = owner, .idle_ms = limits->idle_ms, .a = a};
    l.all = arena_get(a, FILES_MAX * sizeof *l.all, e);
    if (!l.all || !os_walk(s->dir, list_one, &l, e) || e->code)
        return false;
    qsort(l.all, l.count, sizeof *l.all, last_used_first);
    *out = l.all;
    *count = l.count;
    return true;
}

bool sessions_end(struct sessions *s, const struct session_owner *owner,
                  const struct session_limits *limits, struct str name, struct err *e)
{
    char handle[SESSION_HANDLE], file[80];
    struct file_head h;
    struct err why = {0};
    if (!find_handle(s, owner, name, handle, e))
        return false;
    file_of(handle, file);
    scoped_fd int lock = wait_for(s, handle, limits->wait_ms, NULL, e);
    if (lock < 0)
        return false;
    /* A damaged one may be ended too, by whoever has the name to it. */
    bool another = read_head(s, file, &h) && !fits_owner(s, handle, &h, owner);
    if (!another && os_remove_file(s->dir, file, &why))
        return true;
    return another || why.code == ERR_NOT_FOUND
               ? err_set(e, ERR_NOT_FOUND,
                         "this caller has no session '%.*s' in this vault",
                         STR_ARGS(str_cut(name, 60)))
               : err_pass(e, &why);
}
