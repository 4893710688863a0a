/* The trails: where each is stored, which lane of it this process has, and when records are
 * synced. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/trail.h"
#include "os/os.h"

#define LASTING_MS 40u /* until a record is synced, without the time of the sync itself */
#define KEY_FILE "key"

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

/* The key is made by the first process that needs one. */
static bool read_key(struct audit *a, struct err *e)
{
    struct err taken = {0}, why = {0};
    unsigned char fresh[CRYPTO_KEY];
    scoped_buf struct buf text = buf_of(BUF_NAME);
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

bool audit_make_ready(struct audit *a, struct err *e)
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
        atomic_init(&t->keep_most, (uint64_t)256 << 20);
        os_brief_mutex(&t->lock);
        pthread_mutex_init(&t->sync_lock, NULL);
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

/* A vault's chain: "v-" or, for records kept aside, "s-", with a hash of its path. */
void trail_chain_name(const struct trail *t, bool aside, char out[static 40])
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
int trail_folder(const struct trail *t, bool aside, bool make, char **path, struct err *e)
{
    static const char inside[] = ".cloche/audit";
    char name[40];
    trail_chain_name(t, aside, name);
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

bool trail_open_chain(const struct trail *t, bool aside, unsigned lane, bool write,
                      struct chain *c, struct err *e)
{
    char name[40], head[48];
    char *path = NULL;
    int dir = trail_folder(t, aside, write, &path, e);
    if (dir < 0)
        return false;
    trail_chain_name(t, aside, name);
    (void)snprintf(head, sizeof head, lane ? "%s-%u" : "%s", name, lane);
    return chain_open(c, lane, dir, path, t->audit->heads, head, t->audit->key, write, e);
}

bool trail_has_head(const struct trail *t, bool aside, unsigned lane)
{
    char name[40], head[48];
    struct os_stat st;
    struct err none = {0};
    trail_chain_name(t, aside, name);
    (void)snprintf(head, sizeof head, lane ? "%s-%u" : "%s", name, lane);
    return os_stat_beneath(t->audit->heads, head, &st, &none);
}

/* Opens one lane to be read; where the folder or the head is gone, without it. */
bool trail_open_to_read(const struct trail *t, bool aside, unsigned lane, struct chain *c,
                        struct err *e)
{
    struct err none = {0};
    char name[40], head[48];
    char *path = NULL;
    int dir = trail_folder(t, aside, false, &path, &none);
    if (dir < 0)
        path = mem_strdup(aside ? t->audit->path : t->vault);
    trail_chain_name(t, aside, name);
    (void)snprintf(head, sizeof head, lane ? "%s-%u" : "%s", name, lane);
    if (!trail_has_head(t, aside, lane)) {
        /* Reading creates nothing: an empty chain without a folder. */
        return chain_open_headless(c, lane, dir, path, head, t->audit->key);
    }
    return chain_open(c, lane, dir, path, t->audit->heads, head, t->audit->key, false, e);
}

/* The first lane that no other process has. */
static bool open_lane(struct trail *t, bool aside, struct err *e)
{
    for (unsigned lane = 0; lane < LANES_MAX; lane++) {
        struct err why = {0};
        if (trail_open_chain(t, aside, lane, true, &t->chain, &why))
            return true;
        if (why.code != ERR_BUSY)
            return err_set(e, why.code, "%s", why.msg);
    }
    return err_set(e, ERR_BUSY, "%u processes append to the audit trail already",
                   LANES_MAX);
}

/* ---- what dead processes began -------------------------------------------- */

void audit_on_interrupted(struct audit *a, audit_interrupted_fn *fn, void *arg)
{
    a->on_interrupted = fn;
    a->interrupted_arg = arg;
}

bool trail_settle_chain(struct trail *t, struct chain *c, struct err *e)
{
    return chain_settle(c, t->vault, t->audit->on_interrupted, t->audit->interrupted_arg,
                        e);
}

/* A lane that no process has, if it has left something. */
static void settle_lane(struct trail *t, bool aside, unsigned lane)
{
    struct err none = {0};
    struct chain c;
    struct head head = {0};
    bool damaged;
    if (!trail_open_to_read(t, aside, lane, &c, &none))
        return;
    bool left = chain_read_head(&c, &head, &damaged, &none) && head.file &&
                (head.open || chain_grew(&c, &head));
    chain_close(&c);
    if (!left || !trail_open_chain(t, aside, lane, true, &c, &none))
        return;
    (void)trail_settle_chain(t, &c, &none);
    chain_close(&c);
}

/* Lanes are taken from the lowest on: behind an unused one there are no others. The lock is
 * held. */
static void settle_lanes(struct trail *t)
{
    for (unsigned place = t->vault ? 0 : 1; place < 2; place++)
        for (unsigned lane = 0; lane < LANES_MAX && trail_has_head(t, place, lane);
             lane++)
            if (!t->is_open || t->chain.lane != lane || t->is_aside != (place == 1))
                settle_lane(t, place == 1, lane);
}

bool trail_settle(struct trail *t, struct err *e)
{
    if (!audit_make_ready(t->audit, e))
        return false;
    pthread_mutex_lock(&t->lock);
    if (t->is_open || !t->was_open)
        settle_lanes(t);
    pthread_mutex_unlock(&t->lock);
    return true;
}

/* In the vault; aside where that cannot be written. The lock is held, as below. */
static bool open_trail(struct trail *t, struct err *e)
{
    struct err inside = {0};
    if (t->is_open)
        return true;
    if (!audit_make_ready(t->audit, e))
        return false;
    t->is_aside = false;
    t->is_open = t->vault && open_lane(t, false, &inside);
    if (!t->is_open)
        t->is_aside = t->is_open = open_lane(t, true, e);
    if (!t->is_open)
        return false;
    t->chain.rotate_at = atomic_load(&t->rotate_at);
    /* Once: later its open intents may be those of this process. */
    struct err none = {0};
    if (!t->was_open && trail_settle_chain(t, &t->chain, &none))
        settle_lanes(t);
    t->was_open = true;
    return true;
}

/* The lane, fit to be appended to. A folder that was removed, or moved away, is made
 * anew. */
bool trail_begin(struct trail *t, struct err *e)
{
    struct err why = {0};
    if (!t->is_open)
        return open_trail(t, e);
    t->chain.rotate_at = atomic_load(&t->rotate_at);
    if (chain_look(&t->chain, &why))
        return true;
    chain_close(&t->chain);
    t->is_open = false;
    return open_trail(t, e);
}

bool trail_ready(struct trail *t, struct err *e)
{
    if (atomic_load_explicit(&t->ready, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&t->lock);
    bool ok = trail_begin(t, e) && chain_reserve(&t->chain, e);
    atomic_store(&t->ready, ok);
    pthread_mutex_unlock(&t->lock);
    return ok;
}

/* ---- lasting ------------------------------------------------------------ */

/* Syncs what was appended, at least up to `number`. */
static bool make_lasting(struct trail *t, uint64_t number, struct err *e)
{
    bool ok = true;
    pthread_mutex_lock(&t->sync_lock);
    if (t->synced < number) {
        uint64_t written = atomic_load(&t->written);
        /* The file may be another by the time that it is synced: that one was synced
         * before it was left. */
        pthread_mutex_lock(&t->lock);
        scoped_fd int fd =
            t->is_open && t->chain.fd >= 0 ? fcntl(t->chain.fd, F_DUPFD_CLOEXEC, 0) : -1;
        pthread_mutex_unlock(&t->lock);
        ok = fd < 0 || fdatasync(fd) == 0 ||
             err_set(e, ERR_IO, "cannot sync the audit trail to disk: %m");
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
        uint64_t until_ns = os_in_ms(LASTING_MS);
        while (!a->stop && os_cond_wait(&a->sync_wake, &a->sync_lock, until_ns))
            continue;
        a->dirty = false;
        pthread_mutex_unlock(&a->sync_lock);
        sync_all(a);
        pthread_mutex_lock(&a->sync_lock);
    }
    pthread_mutex_unlock(&a->sync_lock);
    return NULL;
}

static void sync_soon(struct audit *a)
{
    if (atomic_load(&a->dirty))
        return; /* the syncer wakes after this record was written */
    pthread_mutex_lock(&a->sync_lock);
    if (!a->has_syncer && !a->stop)
        a->has_syncer =
            os_thread_start(&a->syncer, "audit", (size_t)256 << 10, syncer_main, a);
    /* Woken once: it then waits, for further records to come. */
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

bool trail_put(struct trail *t, const struct trail_entry *in, struct err *e)
{
    struct entry entry = {in->members, in->before, in->state, in->kind};
    struct err full = {0};
    bool fits =
        in->members.n <= AUDIT_RECORD_MAX - 256 && in->before.n <= AUDIT_RECORD_MAX - 256;
    pthread_mutex_lock(&t->lock);
    bool ok = fits ? trail_begin(t, e) && chain_append(&t->chain, &entry, e)
                   : err_set(e, ERR_LIMIT, "a record of the audit trail is too long");
    if (ok)
        chain_put_beside(&t->chain, in->beside);
    atomic_store(&t->ready, ok && chain_reserve(&t->chain, &full));
    uint64_t number = atomic_fetch_add(&t->written, ok) + ok;
    pthread_mutex_unlock(&t->lock);
    atomic_fetch_add(ok ? &t->audit->appended : &t->audit->lost, 1);
    if (!ok)
        return false;
    if (in->lasting)
        return make_lasting(t, number, e);
    sync_soon(t->audit);
    return true;
}

bool trail_append(struct trail *t, struct str members, const char *state,
                  struct str before, bool lasting, struct err *e)
{
    struct trail_entry entry = {
        .members = members, .before = before, .state = state, .lasting = lasting};
    return trail_put(t, &entry, e);
}

uint64_t audit_lost(const struct audit *a)
{
    return atomic_load(&a->lost);
}

uint64_t audit_appended(const struct audit *a)
{
    return atomic_load(&a->appended);
}
