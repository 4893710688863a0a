#include "mcp/session.h"

#include "os/os.h"

#define BUCKETS 1024u /* a power of two */

struct seat {
    struct session session;
    int64_t used_ms;
    struct kept kept;
    uint32_t chain;        /* next in its bucket, or among the free */
    uint32_t newer, older; /* neighbours by last use */
};

void sessions_init(struct sessions *s)
{
    *s = (struct sessions){.stdio.log_least = LOG_UNASKED};
    pthread_mutex_init(&s->lock, NULL);
}

void sessions_done(struct sessions *s)
{
    free(s->seats);
    free(s->buckets);
    pthread_mutex_destroy(&s->lock);
}

/* Seats are named by their number plus one, so that zero is none. */
static struct seat *seat(struct sessions *s, uint32_t name)
{
    return &s->seats[name - 1];
}

/* The ids are random: any of their bits do. */
static uint32_t *session_bucket(struct sessions *s, const unsigned char id[static 16])
{
    return &s->buckets[(id[0] | (unsigned)id[1] << 8) & (BUCKETS - 1)];
}

/* ---- the order of use --------------------------------------------------- */

static void unlink_use(struct sessions *s, uint32_t name)
{
    struct seat *t = seat(s, name);
    *(t->newer ? &seat(s, t->newer)->older : &s->newest) = t->older;
    *(t->older ? &seat(s, t->older)->newer : &s->oldest) = t->newer;
}

static void link_newest(struct sessions *s, uint32_t name, int64_t now_ms)
{
    struct seat *t = seat(s, name);
    t->used_ms = now_ms;
    t->newer = 0;
    t->older = s->newest;
    *(t->older ? &seat(s, t->older)->newer : &s->oldest) = name;
    s->newest = name;
}

/* ---- the table ---------------------------------------------------------- */

static uint32_t lookup(struct sessions *s, const unsigned char id[static 16])
{
    if (!s->seats)
        return 0;
    uint32_t name = *session_bucket(s, id);
    while (name && memcmp(seat(s, name)->session.id, id, 16) != 0)
        name = seat(s, name)->chain;
    return name;
}

static void session_drop_named(struct sessions *s, uint32_t name)
{
    struct seat *t = seat(s, name);
    uint32_t *link = session_bucket(s, t->session.id);
    while (*link != name)
        link = &seat(s, *link)->chain;
    *link = t->chain;
    unlink_use(s, name);
    *t = (struct seat){.chain = s->free};
    s->free = name;
}

static void drop_silent(struct sessions *s, int64_t now_ms)
{
    while (s->oldest && now_ms - seat(s, s->oldest)->used_ms >= SESSION_IDLE_MS)
        session_drop_named(s, s->oldest);
}

/* The one of this owner that was silent longest, if it has too many; else 0. Who needed
 * no credential is the person of this machine, and many programs. */
static uint32_t one_too_many(struct sessions *s, const char *owner)
{
    uint32_t found = 0;
    unsigned n = 0;
    for (uint32_t at = owner[0] ? s->oldest : 0; at; at = seat(s, at)->newer) {
        if (strcmp(seat(s, at)->session.owner, owner) != 0)
            continue;
        found = found ? found : at;
        n++;
    }
    return n >= SESSIONS_OWNER_MAX ? found : 0;
}

void sessions_add(struct sessions *s, int64_t now_ms, struct session *out)
{
    out->there = true;
    os_random(out->id, sizeof out->id);

    pthread_mutex_lock(&s->lock);
    if (!s->seats) {
        s->seats = mem_new(SESSIONS_MAX * sizeof *s->seats);
        s->buckets = mem_new(BUCKETS * sizeof *s->buckets);
    }
    drop_silent(s, now_ms);
    uint32_t own = s->used < SESSIONS_OWNER_MAX ? 0 : one_too_many(s, out->owner);
    if (own)
        session_drop_named(s, own);
    else if (!s->free && s->used == SESSIONS_MAX)
        session_drop_named(s, s->oldest);
    uint32_t name = s->free;
    if (name)
        s->free = seat(s, name)->chain;
    else
        name = ++s->used;
    uint32_t *head = session_bucket(s, out->id);
    *seat(s, name) =
        (struct seat){.session = *out, .kept.log_least = LOG_UNASKED, .chain = *head};
    *head = name;
    link_newest(s, name, now_ms);
    pthread_mutex_unlock(&s->lock);
}

bool sessions_touch(struct sessions *s, const struct session *which, int64_t now_ms,
                    bool used)
{
    pthread_mutex_lock(&s->lock);
    uint32_t name = lookup(s, which->id);
    if (name && used) {
        unlink_use(s, name);
        link_newest(s, name, now_ms);
    }
    pthread_mutex_unlock(&s->lock);
    return name != 0;
}

static bool read_id(struct str text, unsigned char id[static 16])
{
    if (text.n != SESSION_TEXT || !str_is_hex(text))
        return false;
    for (size_t i = 0; i < 16; i++)
        id[i] =
            (unsigned char)(char_hex(text.at[2 * i]) << 4 | char_hex(text.at[2 * i + 1]));
    return true;
}

bool sessions_find(struct sessions *s, struct str id, int64_t now_ms, struct session *out)
{
    unsigned char bytes[16];
    if (!read_id(id, bytes))
        return false;
    pthread_mutex_lock(&s->lock);
    drop_silent(s, now_ms);
    uint32_t name = lookup(s, bytes);
    if (name) {
        unlink_use(s, name);
        link_newest(s, name, now_ms);
        *out = seat(s, name)->session;
    }
    pthread_mutex_unlock(&s->lock);
    return name != 0;
}

bool sessions_remove(struct sessions *s, const struct session *which)
{
    pthread_mutex_lock(&s->lock);
    uint32_t name = lookup(s, which->id);
    if (name)
        session_drop_named(s, name);
    pthread_mutex_unlock(&s->lock);
    return name != 0;
}

/* Called with the lock held; NULL: the session has gone. */
static struct kept *kept_of(struct sessions *s, const struct session *which)
{
    static const unsigned char none[sizeof which->id];
    if (!which->there)
        return NULL;
    if (!memcmp(which->id, none, sizeof none))
        return &s->stdio;
    uint32_t name = lookup(s, which->id);
    return name ? &seat(s, name)->kept : NULL;
}

static struct kept session_kept(struct sessions *s, const struct session *which)
{
    struct kept out = {.log_least = LOG_UNASKED};
    pthread_mutex_lock(&s->lock);
    const struct kept *kept = kept_of(s, which);
    if (kept)
        out = *kept;
    pthread_mutex_unlock(&s->lock);
    return out;
}

unsigned sessions_vault(struct sessions *s, const struct session *which)
{
    return session_kept(s, which).vault;
}

void sessions_set_vault(struct sessions *s, const struct session *which, unsigned vault)
{
    pthread_mutex_lock(&s->lock);
    struct kept *kept = kept_of(s, which);
    if (kept)
        kept->vault = vault;
    pthread_mutex_unlock(&s->lock);
}

unsigned sessions_log_least(struct sessions *s, const struct session *which)
{
    return session_kept(s, which).log_least;
}

void sessions_set_log_least(struct sessions *s, const struct session *which,
                            unsigned least)
{
    pthread_mutex_lock(&s->lock);
    struct kept *kept = kept_of(s, which);
    if (kept)
        kept->log_least = least;
    pthread_mutex_unlock(&s->lock);
}

void session_text(const struct session *s, char out[static SESSION_TEXT + 1])
{
    hex_write(s->id, sizeof s->id, out);
}
