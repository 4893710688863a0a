/* What was translated before: in memory the last few, on disk more of them, shared by
 * all processes of the user. */
#include "stash/stash.h"
#include "typescript/internal.h"

struct kept {
    char key[STORE_KEY];
    const struct typescript_code *code;
    uint64_t used; /* a count of uses: the smallest goes first */
};

struct store {
    struct store_limits limits;
    struct stash *files;
    pthread_mutex_t lock; /* guards what follows */
    struct kept *row;
    size_t count, bytes;
    uint64_t uses;
};

struct store *store_new(const struct store_limits *limits, struct stash *files)
{
    struct store *s = mem_new(sizeof *s);
    s->limits = *limits;
    s->files = files;
    s->row = mem_new(limits->memory_count * sizeof *s->row);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        typescript_drop(s->row[i].code);
    stash_close(s->files);
    pthread_mutex_destroy(&s->lock);
    free(s->row);
    free(s);
}

/* ---- in memory ---------------------------------------------------------- */

static struct kept *find_kept(struct store *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->row[i].key, key) == 0)
            return &s->row[i];
    return NULL;
}

static void forget_oldest(struct store *s)
{
    size_t oldest = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->row[i].used < s->row[oldest].used)
            oldest = i;
    s->bytes -= code_size(s->row[oldest].code);
    typescript_drop(s->row[oldest].code);
    s->row[oldest] = s->row[--s->count];
}

static void remember(struct store *s, const char *key, const struct typescript_code *c)
{
    size_t size = code_size(c);
    if (size > s->limits.memory_bytes)
        return;
    pthread_mutex_lock(&s->lock);
    if (!find_kept(s, key)) {
        while (s->count && (s->count == s->limits.memory_count ||
                            s->bytes + size > s->limits.memory_bytes))
            forget_oldest(s);
        struct kept *k = &s->row[s->count++];
        memcpy(k->key, key, STORE_KEY);
        k->code = code_share(c);
        k->used = ++s->uses;
        s->bytes += size;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- on disk ------------------------------------------------------------ */

struct file_head {
    uint64_t code_size, segments;
};

/* The head, the segments, the code. */
static void write_code(struct store *s, const char *key, const struct typescript_code *c)
{
    struct file_head head = {c->to.text.n, c->positions.count};
    scoped_buf struct buf all;
    buf_init(&all, s->limits.file_bytes);
    buf_put(&all, &head, sizeof head);
    buf_put(&all, c->positions.row, c->positions.count * sizeof *c->positions.row);
    buf_str(&all, c->to.text);
    if (!all.failed)
        stash_put(s->files, key, buf_view(&all));
}

/* In order, as they are looked for by halves. */
static bool in_order(const struct segment *row, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (row[i].line < row[i - 1].line ||
            (row[i].line == row[i - 1].line && row[i].column < row[i - 1].column))
            return false;
    return true;
}

static struct typescript_code *parse_code(struct str all, struct str source)
{
    struct err e = {0};
    struct file_head head;
    struct positions p = {0};
    if (all.n < sizeof head)
        return NULL;
    memcpy(&head, all.at, sizeof head);
    size_t left = all.n - sizeof head;
    if (head.segments > left / sizeof *p.row ||
        head.code_size != left - head.segments * sizeof *p.row)
        return NULL;
    size_t n = head.segments * sizeof *p.row;
    p.count = head.segments;
    p.row = malloc(n ? n : 1);
    if (!p.row)
        return NULL;
    memcpy(p.row, all.at + sizeof head, n);
    struct str code = {all.at + sizeof head + n, head.code_size};
    if (in_order(p.row, p.count) && str_is_utf8(code))
        return code_new(source, code, &p, &e);
    positions_done(&p);
    return NULL;
}

static struct typescript_code *read_code(struct store *s, const char *key,
                                         struct str source)
{
    scoped_buf struct buf all;
    buf_init(&all, s->limits.file_bytes);
    return stash_get(s->files, key, &all) ? parse_code(buf_view(&all), source) : NULL;
}

/* ---- both --------------------------------------------------------------- */

const struct typescript_code *store_find(struct store *s, const char *key,
                                         struct str source, bool *on_disk)
{
    const struct typescript_code *found = NULL;
    pthread_mutex_lock(&s->lock);
    struct kept *k = find_kept(s, key);
    if (k) {
        k->used = ++s->uses;
        found = code_share(k->code);
    }
    pthread_mutex_unlock(&s->lock);
    *on_disk = !found;
    if (found)
        return found;
    found = read_code(s, key, source);
    if (found)
        remember(s, key, found);
    return found;
}

void store_keep(struct store *s, const char *key, const struct typescript_code *c)
{
    remember(s, key, c);
    write_code(s, key, c);
}
