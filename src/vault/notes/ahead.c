/* Reading notes ahead.
 *
 * Reading and cutting a note costs about as much as writing it down, and the two need
 * nothing of each other: on a second thread a new index takes little more than the
 * longer of both. The thread is bounded by places and by bytes, so that large notes
 * do not pile up. */
#include "notes/ahead.h"

#include "notes/outline.h"
#include "notes/yml.h"
#include "os/os.h"

#define PARSE_MAX (64u << 20) /* bytes of working memory for one note */
#define PLACES 64u            /* notes that may be read ahead */
#define BYTES_MAX (16u << 20) /* of files read ahead; a single one may be larger */
#define WORTH_IT 32u          /* for fewer notes no thread is made */

/* ---- one note ----------------------------------------------------------- */

void reading_init(struct reading *r)
{
    *r = (struct reading){0};
    buf_init(&r->bytes, NOTE_SIZE_MAX + 4096);
    buf_init(&r->tags, YML_JSON_MAX * 2);
    buf_init(&r->tag_words, YML_JSON_MAX * 4);
    buf_init(&r->metadata, YML_JSON_MAX * 2);
    buf_init(&r->properties, YML_JSON_MAX * 2 + 8 * PROPERTIES_MAX);
    buf_init(&r->cut, 8 * PROPERTIES_MAX);
}

void reading_done(struct reading *r)
{
    buf_done(&r->bytes);
    buf_done(&r->tags);
    buf_done(&r->tag_words);
    buf_done(&r->metadata);
    buf_done(&r->properties);
    buf_done(&r->cut);
    arena_free(r->arena);
    r->arena = NULL;
}

/* What is searched beside title and body: tags, and the frontmatter's values, or all of its text
 * where it is no YAML. The search takes anything but letters for a space. */
static void gather_words(struct reading *r)
{
    static const char *const tags[] = {"tags", "tag", "Tags", "Tag", NULL};
    struct json_iter it = json_iter(r->note.front.yml.all);
    buf_str(&r->tag_words, buf_view(&r->tags));
    if (r->ok && r->found && r->note.front.state == FRONTMATTER_BROKEN)
        buf_str(&r->tag_words, str_cut(r->note.front.yaml, YML_JSON_MAX));
    while (json_next(&it)) {
        struct json_writer w = json_writer(&r->tag_words);
        if (!note_is_own_key(it.key) && !str_is_one_of(it.key, tags))
            json_put(&w, it.value);
    }
}

static void gather_metadata(struct reading *r)
{
    buf_clear(&r->tags);
    buf_clear(&r->metadata);
    buf_clear(&r->tag_words);
    buf_clear(&r->properties);
    buf_clear(&r->cut);
    struct json_writer w = json_writer(&r->tags), m = json_writer(&r->metadata);
    if (r->ok && r->found)
        note_put_tags(&r->note, &w);
    else
        buf_cstr(&r->tags, "[]");
    gather_words(r);
    if (!r->ok || !r->note.front.yml.all) {
        buf_cstr(&r->metadata, "{}");
        buf_cstr(&r->properties, "{}");
        buf_cstr(&r->cut, "[]");
        return;
    }
    note_put_metadata(&r->note, &m);
    w = json_writer(&r->properties);
    note_put_short_properties(&r->note, r->arena, &w, &r->cut);
    r->ok = buf_check(&r->metadata, "a note's metadata", &r->why) &&
            buf_check(&r->properties, "a note's properties", &r->why) &&
            buf_check(&r->cut, "a note's properties", &r->why);
}

struct gathering {
    struct reading *r;
    struct link *all;
    size_t count, capacity;
};

static void gather_link(void *arg, const struct link *l)
{
    struct gathering *g = arg;
    if (g->count == g->capacity) {
        size_t more = g->capacity ? 2 * g->capacity : 32;
        struct link *grown = arena_get(g->r->arena, more * sizeof *grown, &g->r->why);
        if (!grown)
            return;
        if (g->count)
            memcpy(grown, g->all, g->count * sizeof *grown);
        g->all = grown;
        g->capacity = more;
    }
    g->all[g->count++] = *l;
}

static void gather_links(struct reading *r)
{
    struct gathering g = {.r = r};
    if (r->ok && r->found)
        markdown_links(r->note.front.body, gather_link, &g);
    r->links = (struct link_list){g.all, g.count};
    r->ok = r->ok && !r->why.code;
}

void reading_take(struct reading *r, struct vault *v, const char *path)
{
    arena_free(r->arena);
    r->arena = arena_new(PARSE_MAX);
    r->path = path;
    r->why = (struct err){0};
    r->st = (struct os_stat){0};
    r->note = (struct note){0}; /* the last one's lay in the arena that is gone */
    buf_clear(&r->bytes);
    r->ok = vault_read(v, path, &r->bytes, &r->st, &r->found, &r->why);
    if (r->ok && r->found)
        r->ok = note_parse(v, str_of(path), buf_view(&r->bytes), &r->st, r->arena,
                           &r->note, &r->why);
    gather_metadata(r);
    gather_links(r);
}

/* ---- many --------------------------------------------------------------- */

/* A ring: the thread fills places, the caller empties them. */
struct ahead {
    struct vault *v;
    const char *const *paths;
    size_t count;
    pthread_t thread;
    bool has_thread;
    struct reading places[PLACES];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t read;  /* by the thread */
    size_t given; /* to the caller, who still holds the last of them */
    size_t bytes; /* of what was read and not yet given back */
    bool stop;
};

/* With the lock held: may the thread read one more? */
static bool has_room(const struct ahead *a)
{
    size_t held = a->given ? a->given - 1 : 0;
    return a->read - held < PLACES && (a->bytes < BYTES_MAX || a->read == a->given);
}

static void *read_all(void *arg)
{
    struct ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (a->read < a->count && !a->stop) {
        if (!has_room(a)) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        size_t i = a->read;
        pthread_mutex_unlock(&a->lock);
        reading_take(&a->places[i % PLACES], a->v, a->paths[i]);
        pthread_mutex_lock(&a->lock);
        a->bytes += a->places[i % PLACES].bytes.n;
        if (a->read++ < a->given)
            pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

struct ahead *ahead_start(struct vault *v, const char *const *paths, size_t count)
{
    struct ahead *a = mem_new(sizeof *a);
    a->v = v;
    a->paths = paths;
    a->count = count;
    for (size_t i = 0; i < PLACES; i++)
        reading_init(&a->places[i]);
    must(pthread_mutex_init(&a->lock, NULL) == 0);
    must(pthread_cond_init(&a->changed, NULL) == 0);
    /* Without one the caller reads by itself. */
    a->has_thread =
        count >= WORTH_IT && os_thread_start(&a->thread, "read-ahead", 0, read_all, a);
    return a;
}

const struct reading *ahead_next(struct ahead *a)
{
    must(a->given < a->count);
    size_t i = a->given;
    struct reading *next = &a->places[i % PLACES];
    if (!a->has_thread) {
        reading_take(next, a->v, a->paths[i]);
        a->given++;
        return next;
    }
    pthread_mutex_lock(&a->lock);
    if (i > 0)
        a->bytes -= a->places[(i - 1) % PLACES].bytes.n;
    a->given++;
    /* Not for each place: waking a thread costs as much as reading a note. */
    if (a->read <= i + PLACES / 2)
        pthread_cond_signal(&a->changed);
    while (a->read <= i)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return next;
}

void ahead_stop(struct ahead *a)
{
    if (!a)
        return;
    if (a->has_thread) {
        pthread_mutex_lock(&a->lock);
        a->stop = true;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        (void)pthread_join(a->thread, NULL);
    }
    for (size_t i = 0; i < PLACES; i++)
        reading_done(&a->places[i]);
    (void)pthread_mutex_destroy(&a->lock);
    (void)pthread_cond_destroy(&a->changed);
    free(a);
}
