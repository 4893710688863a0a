/* Use is noted in memory and written behind, by a thread of its own: an
 * evaluation's answer waits for no lock of another process and for no disk.
 *
 * Notes that a killed process had not written yet (some hundredths of a second) are lost; so are
 * those beyond QUEUE_MAX while nothing can be written.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "os/os.h"
#include "usage/inner.h"

#define QUEUE_MAX 4096u   /* deeds that wait; further ones are dropped */
#define TOGETHER_MS 20u   /* deeds of so long are written together */
#define AGAIN_MS 60000u   /* until one looks again where nothing could be written */
#define SETTLE_MS 250u    /* how long a reader waits for what has just been noted */
#define PRUNE_EVERY 1000u /* transactions */
#define KNOWN_SESSIONS 256u
#define KNOWN_MS (5 * 60 * 1000)
#define THREAD_STACK ((size_t)512 << 10)

struct usage {
    int vault;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake, idle;
    struct deed *first, **last;
    size_t waiting;
    bool running, stop, hurry, busy;
    int64_t off_until_ms; /* nothing could be written; 0: it could */
    pthread_t thread;
    /* Sessions that were noted lately, so that evaluations without functions cost none. */
    struct {
        int64_t key, at_ms;
    } known[KNOWN_SESSIONS];
    /* The writer's alone. */
    struct db *db;
    uint64_t inode;
    unsigned written;
    /* Readers'. */
    pthread_mutex_t read_lock; /* guards what follows */
    struct db *reader;
    uint64_t reader_inode;
    bool frozen;
};

/* ---- durations ---------------------------------------------------------- */

/* Bounds of buckets: the first ends at 1 us, each further one is 2^(1/4) longer. */
uint32_t usage_bucket(double ms)
{
    double bound = 0.001;
    uint32_t i = 0;
    /* Whole powers of two first, so that it is quick; NaN ends in the first bucket. */
    for (; ms >= bound * 2 && i + 4 < USAGE_BUCKETS; i += 4)
        bound *= 2;
    for (; ms >= bound && i + 1 < USAGE_BUCKETS; i++)
        bound *= 1.189207115002721;
    return i;
}

double usage_bucket_ms(uint32_t bucket)
{
    double middle = 0.001 / 1.0905077326652577; /* the eighth root of two */
    for (uint32_t i = 0; i < bucket; i++)
        middle *= 1.189207115002721;
    return middle;
}

double usage_quantile(const uint64_t counts[static USAGE_BUCKETS], double share)
{
    uint64_t all = 0, seen = 0;
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        all += counts[i];
    double wanted = share * (double)all;
    for (uint32_t i = 0; i < USAGE_BUCKETS && all; i++) {
        seen += counts[i];
        if ((double)seen >= wanted && seen)
            return usage_bucket_ms(i);
    }
    return 0;
}

/* ---- the thread that writes ---------------------------------------------- */

static void free_deeds(struct deed *d)
{
    while (d) {
        struct deed *next = d->next;
        free(d);
        d = next;
    }
}

static void close_writer(struct usage *u)
{
    db_close(u->db);
    u->db = NULL;
}

static bool open_writer(struct usage *u, struct err *e)
{
    if (u->db && !db_is_damaged(u->db) && usage_inode(u->vault) == u->inode)
        return true;
    close_writer(u);
    u->db = usage_open_writer(u->vault, e);
    u->inode = u->db ? usage_inode(u->vault) : 0;
    u->written = 0;
    return u->db;
}

enum written { WRITTEN, LATER, NEVER };

/* LATER: another process writes for long, or the database begins anew. */
static enum written write_deeds(struct usage *u, const struct deed *deeds)
{
    struct err e = {0}, none = {0};
    bool ok = open_writer(u, &e);
    if (ok && u->written++ % PRUNE_EVERY == 0)
        (void)usage_prune(u->db, os_real_ms(), &none);
    if (ok && usage_write(u->db, deeds, &e))
        return WRITTEN;
    if (e.code == ERR_BUSY)
        return LATER;
    bool damaged = ok && db_is_damaged(u->db);
    close_writer(u);
    /* It looked sound when it was opened; what is in it is worth less than going on. */
    return damaged && usage_discard(u->vault) ? LATER : NEVER;
}

/* Under the lock: before what has come since. */
static void put_back(struct usage *u, struct deed *deeds)
{
    struct deed **end = &deeds;
    while (*end) {
        u->waiting++;
        end = &(*end)->next;
    }
    *end = u->first;
    if (!u->first)
        u->last = end;
    u->first = deeds;
}

/* Under the lock, which is given back meanwhile. */
static void write_waiting(struct usage *u)
{
    bool ending = u->stop;
    struct deed *deeds = u->first;
    u->first = NULL;
    u->last = &u->first;
    u->waiting = 0;
    u->hurry = false;
    u->busy = true;
    pthread_mutex_unlock(&u->lock);
    enum written how = write_deeds(u, deeds);
    pthread_mutex_lock(&u->lock);
    u->busy = false;
    u->off_until_ms = how == NEVER ? os_real_ms() + AGAIN_MS : 0;
    if (how == LATER && !ending) {
        put_back(u, deeds);
    } else {
        free_deeds(deeds);
    }
    pthread_cond_broadcast(&u->idle);
}

static void *writer_main(void *arg)
{
    struct usage *u = arg;
    pthread_mutex_lock(&u->lock);
    while (!u->stop || u->first) {
        if (!u->first)
            pthread_cond_wait(&u->wake, &u->lock);
        else if (!u->hurry && !u->stop)
            (void)os_cond_wait(&u->wake, &u->lock, os_in_ms(TOGETHER_MS));
        if (u->first)
            write_waiting(u);
    }
    pthread_mutex_unlock(&u->lock);
    close_writer(u);
    return NULL;
}

/* Under the lock. */
static bool start_writer(struct usage *u)
{
    if (u->running)
        return true;
    u->running = os_thread_start(&u->thread, "fn-usage", THREAD_STACK, writer_main, u);
    return u->running;
}

struct usage *usage_open(int vault)
{
    struct usage *u = mem_new(sizeof *u);
    u->vault = fcntl(vault, F_DUPFD_CLOEXEC, 3);
    u->last = &u->first;
    pthread_mutex_init(&u->lock, NULL);
    pthread_mutex_init(&u->read_lock, NULL);
    pthread_cond_init(&u->wake, NULL);
    pthread_cond_init(&u->idle, NULL);
    return u;
}

void usage_close(struct usage *u)
{
    if (!u)
        return;
    pthread_mutex_lock(&u->lock);
    u->stop = true;
    pthread_cond_broadcast(&u->wake);
    pthread_mutex_unlock(&u->lock);
    if (u->running)
        pthread_join(u->thread, NULL);
    free_deeds(u->first);
    db_close(u->reader);
    pthread_cond_destroy(&u->wake);
    pthread_cond_destroy(&u->idle);
    pthread_mutex_destroy(&u->lock);
    pthread_mutex_destroy(&u->read_lock);
    os_close(u->vault);
    free(u);
}

/* ---- noting ---------------------------------------------------------------- */

/* Takes over the chain. */
static void queue_append(struct usage *u, struct deed *chain, size_t count)
{
    pthread_mutex_lock(&u->lock);
    bool off = u->off_until_ms && os_real_ms() < u->off_until_ms;
    if (!chain || off || u->waiting + count > QUEUE_MAX || !start_writer(u)) {
        pthread_mutex_unlock(&u->lock);
        free_deeds(chain);
        return;
    }
    bool slept = !u->first;
    *u->last = chain;
    while (*u->last)
        u->last = &(*u->last)->next;
    u->waiting += count;
    if (slept)
        pthread_cond_signal(&u->wake);
    pthread_mutex_unlock(&u->lock);
}

static void copy_text(char *to, size_t size, struct str s)
{
    s = str_cut(s, size - 1);
    if (s.n)
        memcpy(to, s.at, s.n);
    to[s.n] = '\0';
}

/* Kinds are names: whatever a guest says, they cannot carry more. */
static void copy_kind(char to[static USAGE_KIND], struct str s)
{
    bool is_name = s.n > 0 && s.n < USAGE_KIND;
    for (size_t i = 0; i < s.n && is_name; i++) {
        char c = s.at[i];
        is_name =
            char_is_letter(c) || char_is_digit(c) || c == '_' || c == '$' || c == '.';
    }
    copy_text(to, USAGE_KIND, is_name ? s : STR(USAGE_OTHER));
}

static uint32_t lines_of(struct str code)
{
    uint32_t lines = 0;
    while (code.n) {
        const char *end = memchr(code.at, '\n', code.n);
        size_t n = end ? (size_t)(end - code.at) : code.n;
        lines += str_trim((struct str){code.at, n}).n > 0;
        n += end != NULL;
        code = (struct str){code.at + n, code.n - n};
    }
    return lines;
}

/* The session of an evaluation: MCP's, or where there is none, the calls of one
 * caller within one hour of the clock. */
static int64_t session_key(const struct usage_evaluation *v)
{
    char text[512];
    unsigned char hash[CRYPTO_BLAKE2B];
    int n =
        snprintf(text, sizeof text, "%.*s%c%.*s%c%lld", STR_ARGS(str_cut(v->caller, 200)),
                 0, STR_ARGS(str_cut(v->session, 200)), 0,
                 v->session.n ? 0LL : (long long)(v->at_ms / 3600000));
    crypto_blake2b((struct str){text, n > 0 ? (size_t)n : 0}, hash);
    int64_t key;
    memcpy(&key, hash, sizeof key);
    return key ? key : 1;
}

/* Not noted again within five minutes; a clock set back notes it again. */
static bool is_known(struct usage *u, int64_t key, int64_t at_ms)
{
    size_t slot = (uint64_t)key % KNOWN_SESSIONS;
    pthread_mutex_lock(&u->lock);
    int64_t age = at_ms - u->known[slot].at_ms;
    bool known = u->known[slot].key == key && age >= 0 && age < KNOWN_MS;
    if (!known) {
        u->known[slot].key = key;
        u->known[slot].at_ms = at_ms;
    }
    pthread_mutex_unlock(&u->lock);
    return known;
}

static struct deed *new_deed(const struct usage_evaluation *v, int64_t session)
{
    struct deed *d = mem_new(sizeof *d);
    d->what = DEED_SESSION;
    d->at_ms = v->at_ms;
    d->session = session;
    copy_text(d->caller, sizeof d->caller, v->caller);
    return d;
}

static double sane(double ms)
{
    return ms > 0 && ms < 1e9 ? ms : 0;
}

static void fill_use(struct deed *d, const struct usage_use *use, bool trial)
{
    d->what = trial ? DEED_RUN : DEED_USE;
    copy_text(d->id, sizeof d->id, use->of->id);
    d->version = use->of->version;
    d->made_ms = use->of->made_ms;
    d->lines = lines_of(use->of->code);
    d->calls = use->calls;
    d->failed = use->failed < use->calls ? use->failed : use->calls;
    d->in_a_row = use->in_a_row;
    d->ms = sane(use->ms);
    d->load_ms = sane(use->load_ms);
    for (size_t i = 0; i < use->failure_count; i++) {
        size_t at = i < USAGE_KINDS_AT_ONCE ? i : USAGE_KINDS_AT_ONCE - 1;
        copy_kind(d->kinds[at].kind, i == at ? use->failures[i].kind : STR(USAGE_OTHER));
        d->kinds[at].count += use->failures[i].count;
    }
    for (size_t i = 0; i < use->time_count; i++)
        d->times[usage_bucket(sane(use->times_ms[i]))] += use->each ? use->each : 1;
}

void usage_note(struct usage *u, const struct usage_evaluation *v)
{
    int64_t session = session_key(v);
    bool known = v->is_trial || is_known(u, session, v->at_ms);
    struct deed *chain = NULL, **last = &chain;
    for (size_t i = 0; i < v->use_count; i++) {
        if (!v->uses[i].calls)
            continue;
        *last = new_deed(v, session);
        fill_use(*last, &v->uses[i], v->is_trial);
        last = &(*last)->next;
    }
    if (!chain && !known)
        chain = new_deed(v, session);
    if (chain)
        queue_append(u, chain, v->use_count + 1);
}

void usage_tried(struct usage *u, enum usage_trial how, double ms)
{
    struct deed *d = mem_new(sizeof *d);
    d->what = DEED_TRIAL;
    d->at_ms = os_real_ms();
    d->trial = how;
    d->ms = sane(ms);
    queue_append(u, d, 1);
}

/* ---- reading --------------------------------------------------------------- */

static void queue_settle(struct usage *u)
{
    uint64_t until = os_in_ms(SETTLE_MS);
    pthread_mutex_lock(&u->lock);
    while ((u->first || u->busy) && os_mono_ns() < until) {
        u->hurry = true;
        pthread_cond_signal(&u->wake);
        (void)os_cond_wait(&u->idle, &u->lock, until);
    }
    pthread_mutex_unlock(&u->lock);
}

struct db *usage_begin_read(struct usage *u)
{
    struct err none = {0};
    queue_settle(u);
    pthread_mutex_lock(&u->read_lock);
    uint64_t inode = usage_inode(u->vault);
    if (u->reader && (db_is_damaged(u->reader) || inode != u->reader_inode)) {
        db_close(u->reader);
        u->reader = NULL;
    }
    if (!u->reader)
        u->reader = usage_open_reader(u->vault, &u->frozen, &none);
    u->reader_inode = inode;
    return u->reader;
}

void usage_end_read(struct usage *u)
{
    if (u->frozen) {
        db_close(u->reader);
        u->reader = NULL;
    }
    pthread_mutex_unlock(&u->read_lock);
}

int usage_vault(const struct usage *u)
{
    return u->vault;
}
