/* The trails: where each lies, who of several threads writes for the others, and when
 * records are made lasting. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "audit/chain.h"
#include "os/os.h"

#define LASTING_MS 40u /* from a record to its being on the disk, less the sync itself */
#define BATCH 64u
#define KEY_FILE "key"

/* A thread that waits for its record to be written by whoever is at it. */
struct waiter {
    struct entry entry;
    struct waiter *next;
    bool done;
    struct err e;
    uint64_t number; /* of all that were appended by this process */
};

struct trail {
    struct audit *audit;
    struct trail *next;
    char *vault; /* NULL: none */

    pthread_mutex_t lock; /* guards the queue and the state of the writer */
    pthread_cond_t wake;
    struct waiter *first, *last;
    bool writing;
    atomic_uint_least64_t rotate_at;

    /* The writer's, whoever it is. */
    bool is_open;
    struct chain chain;

    atomic_bool ready;             /* nothing speaks against the next record */
    atomic_uint_least64_t written; /* records of this process that were appended */

    pthread_mutex_t sync_lock; /* one at a time; the others find theirs done */
    uint64_t synced;           /* of `written` */
};

struct audit {
    pthread_mutex_t lock; /* guards the opening, the list and the syncer's beginning */
    bool is_open;
    int folder, heads; /* in the user's state folder */
    char *path;
    unsigned char key[CRYPTO_KEY];
    struct trail *_Atomic trails;
    atomic_uint_least64_t lost, appended;

    pthread_t syncer;
    bool has_syncer;
    pthread_mutex_t sync_lock; /* guards the two below */
    pthread_cond_t sync_wake;
    bool dirty, stop;
};

/* ---- opening ------------------------------------------------------------ */

struct audit *audit_open(void)
{
    struct audit *a = mem_new(sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    pthread_mutex_init(&a->sync_lock, NULL);
    pthread_cond_init(&a->sync_wake, NULL);
    a->folder = a->heads = -1;
    return a;
}

/* The key is made by the first that needs one, of whatever processes. */
static bool read_key(struct audit *a, struct err *e)
{
    struct err taken = {0}, why = {0};
    unsigned char fresh[CRYPTO_KEY];
    scoped_buf struct buf text;
    buf_init(&text, 256);
    if (os_read_file(a->folder, KEY_FILE, &text, NULL, &why) && text.n == CRYPTO_KEY) {
        memcpy(a->key, text.at, CRYPTO_KEY);
        return true;
    }
    if (why.code != ERR_NOT_FOUND)
        return err_set(e, ERR_IO, "the key of the audit trail, %s/%s, cannot be used: %s",
                       a->path, KEY_FILE, why.code ? why.msg : "it has another length");
    os_random(fresh, sizeof fresh);
    if (os_write_file(a->folder, KEY_FILE, (struct str){(char *)fresh, sizeof fresh},
                      OS_CREATE, 0600, NULL, &taken)) {
        memcpy(a->key, fresh, sizeof a->key);
        return true;
    }
    return taken.code == ERR_CONFLICT ? read_key(a, e)
                                      : err_set(e, taken.code, "%s", taken.msg);
}

static bool open_state(struct audit *a, struct err *e)
{
    scoped(free) char *path = NULL;
    scoped_fd int state = os_state_dir(&path, e);
    if (state < 0)
        return false;
    free(a->path);
    a->path = NULL;
    must(asprintf(&a->path, "%s/audit", path) > 0);
    os_close(a->folder);
    a->folder = os_make_dirs(state, "audit/heads", e)
                    ? os_open_beneath(state, "audit", O_RDONLY | O_DIRECTORY, 0, e)
                    : -1;
    os_close(a->heads);
    a->heads = a->folder < 0 ? -1
                             : os_open_beneath(a->folder, "heads",
                                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    return a->heads >= 0 && read_key(a, e);
}

static bool make_ready(struct audit *a, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    bool ok = a->is_open || open_state(a, e);
    a->is_open = ok;
    pthread_mutex_unlock(&a->lock);
    return ok || err_wrap(e, "there is no audit trail");
}

/* ---- trails ------------------------------------------------------------- */

static struct trail *find_trail(struct trail *t, const char *vault)
{
    while (t && (!t->vault != !vault || (vault && strcmp(t->vault, vault) != 0)))
        t = t->next;
    return t;
}

struct trail *audit_trail(struct audit *a, const char *vault)
{
    struct trail *t = find_trail(atomic_load(&a->trails), vault);
    if (t)
        return t;
    pthread_mutex_lock(&a->lock);
    t = find_trail(atomic_load(&a->trails), vault);
    if (!t) {
        t = mem_new(sizeof *t);
        t->audit = a;
        t->vault = vault ? mem_strdup(vault) : NULL;
        atomic_init(&t->rotate_at, (uint64_t)16 << 20);
        pthread_mutex_init(&t->lock, NULL);
        pthread_mutex_init(&t->sync_lock, NULL);
        pthread_cond_init(&t->wake, NULL);
        t->next = atomic_load(&a->trails);
        atomic_store(&a->trails, t);
    }
    pthread_mutex_unlock(&a->lock);
    return t;
}

void trail_rotate_at(struct trail *t, uint64_t size_bytes)
{
    atomic_store_explicit(&t->rotate_at, size_bytes, memory_order_relaxed);
}

/* Of a vault: "v-" and, for what lies aside, "s-", each with a hash of its path. */
static void chain_name(const struct trail *t, bool aside, char out[static 40])
{
    char hex[CRYPTO_HASH_HEX];
    if (!t->vault) {
        (void)snprintf(out, 40, "user");
        return;
    }
    crypto_hash_hex(str_of(t->vault), hex);
    (void)snprintf(out, 40, "%s-%.24s", aside ? "s" : "v", hex);
}

/* The folder of one of the two; -1 and *e. `make`: where it is missing. */
static int open_folder(const struct trail *t, bool aside, bool make, char **path,
                       struct err *e)
{
    static const char inside[] = ".cloche/audit";
    char name[40];
    chain_name(t, aside, name);
    scoped_fd int vault = aside ? -1 : os_dir_open(t->vault, e);
    int base = aside ? t->audit->folder : vault;
    if (base < 0 || (make && !os_make_dirs(base, aside ? name : inside, e)))
        return -1;
    int dir = os_open_beneath(base, aside ? name : inside,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    if (dir >= 0 && make && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        err_set(e, ERR_DENIED, "%s may not be written: %m", aside ? name : t->vault);
        os_close(dir);
        dir = -1;
    }
    if (dir >= 0)
        must(asprintf(path, "%s/%s", aside ? t->audit->path : t->vault,
                      aside ? name : inside) > 0);
    return dir;
}

static bool open_chain(const struct trail *t, bool aside, bool make, struct chain *c,
                       struct err *e)
{
    char name[40], head[48];
    char *path = NULL;
    int dir = open_folder(t, aside, make, &path, e);
    if (dir < 0)
        return false;
    chain_name(t, aside, name);
    (void)snprintf(head, sizeof head, "%s", name);
    if (chain_open(c, dir, path, t->audit->heads, head, t->audit->key, e))
        return true;
    chain_close(c);
    return false;
}

/* In the vault; aside where that cannot be written. By the writer alone. */
static bool open_trail(struct trail *t, struct err *e)
{
    struct err inside = {0};
    if (t->is_open)
        return true;
    if (!make_ready(t->audit, e))
        return false;
    t->is_open = (t->vault && open_chain(t, false, true, &t->chain, &inside)) ||
                 open_chain(t, true, true, &t->chain, e);
    if (t->is_open)
        t->chain.rotate_at = atomic_load(&t->rotate_at);
    return t->is_open;
}

/* ---- the writer --------------------------------------------------------- */

/* One thread at a time is; the lock is held before and after. */
static void begin_writing(struct trail *t)
{
    while (t->writing)
        pthread_cond_wait(&t->wake, &t->lock);
    t->writing = true;
    if (t->is_open)
        t->chain.rotate_at = atomic_load(&t->rotate_at);
}

static void end_writing(struct trail *t)
{
    t->writing = false;
    pthread_cond_broadcast(&t->wake);
}

/* A folder that was removed, or moved away, is made anew and looked at again. */
static bool begin_chain(struct trail *t, struct err *e)
{
    struct err first = {0};
    if (open_trail(t, &first) && chain_begin(&t->chain, &first))
        return true;
    if (!t->is_open || first.code == ERR_BUSY) {
        *e = first;
        return false;
    }
    chain_close(&t->chain);
    t->is_open = false;
    return open_trail(t, e) && chain_begin(&t->chain, e);
}

static bool write_batch(struct trail *t, struct waiter *const *batch, size_t count,
                        struct err *e)
{
    const struct entry *entries[BATCH];
    for (size_t i = 0; i < count; i++)
        entries[i] = &batch[i]->entry;
    if (!begin_chain(t, e))
        return false;
    bool ok = chain_append(&t->chain, entries, count, e);
    struct err full = {0};
    atomic_store(&t->ready, ok && chain_reserve(&t->chain, &full));
    chain_end(&t->chain);
    return ok;
}

/* Writes what waits, as one; called as the writer, with the lock. */
static void write_queue(struct trail *t)
{
    struct waiter *batch[BATCH];
    size_t count = 0;
    while (t->first && count < BATCH) {
        batch[count++] = t->first;
        t->first = t->first->next;
    }
    if (!t->first)
        t->last = NULL;
    pthread_mutex_unlock(&t->lock);

    struct err e = {0};
    bool ok = write_batch(t, batch, count, &e);
    atomic_fetch_add(ok ? &t->audit->appended : &t->audit->lost, count);
    if (!ok)
        atomic_store(&t->ready, false);
    uint64_t number = atomic_fetch_add(&t->written, ok ? count : 0) + count;

    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < count; i++) {
        batch[i]->e = e;
        batch[i]->number = number;
        batch[i]->done = true;
    }
}

bool trail_ready(struct trail *t, struct err *e)
{
    if (atomic_load_explicit(&t->ready, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&t->lock);
    begin_writing(t);
    pthread_mutex_unlock(&t->lock);
    bool ok = begin_chain(t, e);
    if (ok) {
        ok = chain_reserve(&t->chain, e);
        chain_end(&t->chain);
    }
    atomic_store(&t->ready, ok);
    pthread_mutex_lock(&t->lock);
    end_writing(t);
    pthread_mutex_unlock(&t->lock);
    return ok;
}

/* ---- lasting ------------------------------------------------------------ */

/* Makes lasting what was appended up to `number`, and more where there is more. */
static bool make_lasting(struct trail *t, uint64_t number, struct err *e)
{
    bool ok = true;
    pthread_mutex_lock(&t->sync_lock);
    if (t->synced < number) {
        uint64_t written = atomic_load(&t->written);
        /* The file may be another by the time that it is synced: that one was synced
         * before it was left. */
        pthread_mutex_lock(&t->lock);
        begin_writing(t);
        scoped_fd int fd =
            t->is_open && t->chain.fd >= 0 ? fcntl(t->chain.fd, F_DUPFD_CLOEXEC, 0) : -1;
        end_writing(t);
        pthread_mutex_unlock(&t->lock);
        ok = fd < 0 || fdatasync(fd) == 0 ||
             err_set(e, ERR_IO, "the audit trail cannot be made lasting: %m");
        if (ok)
            t->synced = written;
    }
    pthread_mutex_unlock(&t->sync_lock);
    return ok;
}

static void sync_all(struct audit *a)
{
    for (struct trail *t = atomic_load(&a->trails); t; t = t->next) {
        struct err none = {0};
        uint64_t written = atomic_load(&t->written);
        if (written)
            (void)make_lasting(t, written, &none);
    }
}

static void *syncer_main(void *arg)
{
    struct audit *a = arg;
    pthread_mutex_lock(&a->sync_lock);
    while (!a->stop) {
        if (!a->dirty) {
            pthread_cond_wait(&a->sync_wake, &a->sync_lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)LASTING_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (!a->stop && pthread_cond_clockwait(&a->sync_wake, &a->sync_lock,
                                                  CLOCK_MONOTONIC, &until) == 0)
            ;
        a->dirty = false;
        pthread_mutex_unlock(&a->sync_lock);
        sync_all(a);
        pthread_mutex_lock(&a->sync_lock);
    }
    pthread_mutex_unlock(&a->sync_lock);
    return NULL;
}

static void begin_syncer(struct audit *a)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, (size_t)256 << 10);
    a->has_syncer = pthread_create(&a->syncer, &attr, syncer_main, a) == 0;
    if (a->has_syncer)
        (void)pthread_setname_np(a->syncer, "audit");
    pthread_attr_destroy(&attr);
}

static void sync_soon(struct audit *a)
{
    pthread_mutex_lock(&a->sync_lock);
    if (!a->has_syncer && !a->stop)
        begin_syncer(a);
    /* Woken once: it then sleeps for all that come within that time. */
    if (!a->dirty)
        pthread_cond_signal(&a->sync_wake);
    a->dirty = true;
    pthread_mutex_unlock(&a->sync_lock);
}

void audit_close(struct audit *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->sync_lock);
    a->stop = true;
    pthread_cond_signal(&a->sync_wake);
    pthread_mutex_unlock(&a->sync_lock);
    if (a->has_syncer)
        pthread_join(a->syncer, NULL);
    sync_all(a);
    for (struct trail *t = atomic_load(&a->trails), *next; t; t = next) {
        next = t->next;
        if (t->is_open)
            chain_close(&t->chain);
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->sync_lock);
        pthread_mutex_destroy(&t->lock);
        free(t->vault);
        free(t);
    }
    os_close(a->heads);
    os_close(a->folder);
    pthread_cond_destroy(&a->sync_wake);
    pthread_mutex_destroy(&a->sync_lock);
    pthread_mutex_destroy(&a->lock);
    free(a->path);
    free(a);
}

/* ---- appending ---------------------------------------------------------- */

bool trail_append(struct trail *t, struct str members, const char *state,
                  struct str before, bool lasting, struct err *e)
{
    struct waiter self = {
        .entry = {.members = members, .before = before, .state = state}};
    if (members.n > AUDIT_RECORD_MAX - 256 || before.n > AUDIT_RECORD_MAX - 256)
        return err_set(e, ERR_LIMIT, "a record of the audit trail is too long");
    pthread_mutex_lock(&t->lock);
    if (t->last)
        t->last->next = &self;
    else
        t->first = &self;
    t->last = &self;
    while (!self.done) {
        if (t->writing) {
            pthread_cond_wait(&t->wake, &t->lock);
            continue;
        }
        begin_writing(t);
        write_queue(t);
        end_writing(t);
    }
    pthread_mutex_unlock(&t->lock);
    if (self.e.code) {
        *e = e->code ? *e : self.e;
        return false;
    }
    if (lasting)
        return make_lasting(t, self.number, e);
    sync_soon(t->audit);
    return true;
}

uint64_t audit_lost(const struct audit *a)
{
    return atomic_load(&a->lost);
}

uint64_t audit_appended(const struct audit *a)
{
    return atomic_load(&a->appended);
}

/* ---- texts beside it ---------------------------------------------------- */

static bool is_hex(const char *s)
{
    return strlen(s) == CRYPTO_SHA256_HEX - 1 &&
           strspn(s, "0123456789abcdef") == CRYPTO_SHA256_HEX - 1;
}

bool trail_keep(struct trail *t, const char *sha256, struct str text, struct err *e)
{
    char name[80];
    struct err taken = {0};
    must(is_hex(sha256));
    (void)snprintf(name, sizeof name, "code/%s.txt", sha256);
    pthread_mutex_lock(&t->lock);
    begin_writing(t);
    scoped_fd int dir = open_trail(t, e) ? fcntl(t->chain.dir, F_DUPFD_CLOEXEC, 0) : -1;
    end_writing(t);
    pthread_mutex_unlock(&t->lock);
    return dir >= 0 && os_make_dirs(dir, "code", e) &&
           (os_write_file(dir, name, text, OS_CREATE, 0600, NULL, &taken) ||
            taken.code == ERR_CONFLICT || err_set(e, taken.code, "%s", taken.msg));
}

/* ---- reading ------------------------------------------------------------ */

/* Opens what there is of the two, to be read. */
struct reading {
    struct chain chain[2];
    bool is_open[2];
};

static bool reading_open(struct reading *r, const struct trail *t, struct err *e)
{
    *r = (struct reading){0};
    if (!make_ready(t->audit, e))
        return false;
    for (int aside = !t->vault; aside < 2; aside++) {
        struct err why = {0};
        r->is_open[aside] = open_chain(t, aside, false, &r->chain[aside], &why);
        if (r->is_open[aside] || why.code == ERR_NOT_FOUND)
            continue;
        /* Something else stands there: no trail of ours could be in it. */
        if (why.code != ERR_DENIED && why.code != ERR_INVALID)
            return err_set(e, why.code, "%s", why.msg);
    }
    return true;
}

static void reading_close(struct reading *r)
{
    for (int i = 0; i < 2; i++)
        if (r->is_open[i])
            chain_close(&r->chain[i]);
}

bool trail_kept(struct trail *t, const char *sha256, struct buf *out, struct err *e)
{
    struct reading r;
    char name[80];
    bool found = false;
    (void)snprintf(name, sizeof name, "code/%.64s.txt", sha256);
    if (!is_hex(sha256) || !reading_open(&r, t, e))
        return err_set(e, ERR_INVALID, "'%.80s' is no SHA-256", sha256);
    for (int i = 0; i < 2 && !found; i++) {
        struct err why = {0};
        found = r.is_open[i] && os_read_file(r.chain[i].dir, name, out, NULL, &why);
    }
    reading_close(&r);
    return found || err_set(e, ERR_NOT_FOUND, "this code was not kept");
}

/* A trail that was written and then removed leaves its head: that is told, too. */
static bool verify_gone(const struct trail *t, bool aside, struct json_writer *out,
                        bool *sound, struct err *e)
{
    char name[40];
    struct os_stat st;
    struct err none = {0};
    chain_name(t, aside, name);
    if (!os_stat_beneath(t->audit->heads, name, &st, &none) || st.size == 0)
        return true;
    struct chain c;
    struct head head;
    bool damaged;
    if (!chain_open(&c, -1, mem_strdup(aside ? t->audit->path : t->vault),
                    t->audit->heads, name, t->audit->key, e))
        return false;
    bool ok = chain_read_head(&c, &head, &damaged, e);
    if (ok && (head.count || damaged)) {
        json_open_object(out);
        json_pair_cstr(out, "folder", c.folder);
        json_pair_int(out, "records", 0);
        json_key(out, "missing");
        json_open_object(out);
        json_pair_int(out, "from", 1);
        json_pair_int(out, "to", (int64_t)head.count);
        json_pair_cstr(out, "why", "the whole folder of the trail is gone");
        json_close(out);
        json_pair_bool(out, "ok", false);
        json_close(out);
        *sound = false;
    }
    chain_close(&c);
    return ok;
}

bool trail_verify(struct trail *t, struct json_writer *out, bool *sound, struct err *e)
{
    struct reading r;
    *sound = true;
    if (!reading_open(&r, t, e))
        return false;
    bool ok = true;
    json_open_array(out);
    for (int i = !t->vault; ok && i < 2; i++)
        ok = r.is_open[i] ? chain_verify(&r.chain[i], out, sound, e)
                          : verify_gone(t, i, out, sound, e);
    json_close(out);
    reading_close(&r);
    return ok;
}

bool trail_read(struct trail *t, uint64_t count, trail_line_fn *each, void *arg,
                struct err *e)
{
    struct reading r;
    bool ok = reading_open(&r, t, e);
    for (int i = 0; ok && i < 2; i++)
        ok = !r.is_open[i] || chain_last(&r.chain[i], count, each, arg, e);
    if (ok)
        reading_close(&r);
    return ok;
}

bool trail_follow(struct trail *t, struct trail_place *place, trail_line_fn *each,
                  void *arg, struct err *e)
{
    struct reading r;
    bool ok = reading_open(&r, t, e);
    for (int i = 0; ok && i < 2; i++)
        ok = !r.is_open[i] ||
             chain_follow(&r.chain[i], &place->chain[i].file, &place->chain[i].offset,
                          place->begun, each, arg, e);
    place->begun = true;
    reading_close(&r);
    return ok;
}
