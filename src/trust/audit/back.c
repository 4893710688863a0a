/* A trail from its end: the newest record of all its lanes, then the one before it. Each lane
 * is read backwards, a piece at a time, so that the last ones of a large trail cost no more
 * than those of a small one. The files may hold anything.
 */
#include <unistd.h>

#include "audit/trail.h"
#include "os/os.h"

#define PIECE ((size_t)64 << 10)
#define TIME_MAX 32u
#define READ_MEMORY ((size_t)512 << 20) /* of those that are kept to be reversed */

/* A lane. `buf` holds the open file's bytes from `at` on, and ends with the line
 * end of the next line to be given. */
struct lane {
    struct chain chain; /* its folder and number alone */
    struct file_list files;
    size_t left; /* of these, not opened yet */
    uint32_t file;
    int fd; /* -1: none */
    uint64_t at;
    char *buf;
    size_t n;
    struct str line; /* the newest that is left, in `buf`; none: all were given */
    bool has_line;
    char time[TIME_MAX + 1]; /* of it; never above that of one behind it in the lane */
};

struct back {
    struct lane *lanes;
    size_t count;
    struct err odd;
};

/* ---- a file -------------------------------------------------------------- */

static void close_file(struct lane *l)
{
    os_close(l->fd);
    l->fd = -1;
    l->n = 0;
}

/* The piece before what is there. */
static bool read_on(struct lane *l)
{
    size_t n = l->at < PIECE ? (size_t)l->at : PIECE;
    memmove(l->buf + n, l->buf, l->n);
    for (size_t got = 0; got < n;) {
        ssize_t more = pread(l->fd, l->buf + got, n - got, (off_t)(l->at - n + got));
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    l->at -= n;
    l->n += n;
    return true;
}

/* Reads more of the file, if a line may still begin there; else the file is finished. */
static bool go_back(struct back *b, struct lane *l)
{
    if (l->n > AUDIT_RECORD_MAX + 1)
        chain_note_odd(&l->chain, l->file, &b->odd);
    else if (l->at > 0 && read_on(l))
        return true;
    close_file(l);
    return false;
}

/* Up to its last line end: what stands behind that was never acknowledged. */
static bool open_file(struct back *b, struct lane *l, uint32_t file)
{
    struct os_stat st;
    struct err none = {0};
    l->file = file;
    l->fd = chain_open_file(&l->chain, file);
    if (l->fd < 0 || !os_stat_fd(l->fd, &st, &none) || !st.is_file) {
        close_file(l);
        return false;
    }
    l->at = st.size;
    l->n = 0;
    while (go_back(b, l)) {
        const char *end = memrchr(l->buf, '\n', l->n);
        if (end) {
            l->n = (size_t)(end + 1 - l->buf);
            return true;
        }
    }
    return false;
}

/* false: the file has no more. */
static bool lane_take_line(struct back *b, struct lane *l)
{
    while (l->fd >= 0 && (l->n || l->at)) {
        const char *end = l->n > 1 ? memrchr(l->buf, '\n', l->n - 1) : NULL;
        size_t from = end ? (size_t)(end + 1 - l->buf) : 0;
        if (l->n && (end || l->at == 0) && l->n - from <= AUDIT_RECORD_MAX + 1) {
            l->line = (struct str){l->buf + from, l->n - from - 1};
            l->n = from;
            return true;
        }
        if (end) { /* too long */
            chain_note_odd(&l->chain, l->file, &b->odd);
            break;
        }
        if (!go_back(b, l))
            return false;
    }
    close_file(l);
    return false;
}

/* ---- a lane -------------------------------------------------------------- */

/* A record's time stands at its beginning, in a form that sorts as text. */
static struct str line_time(struct str line)
{
    static const char key[] = "\"time\":\"";
    size_t n = line.n < 80 ? line.n : 80;
    const char *at = memmem(line.at, n, key, sizeof key - 1);
    if (!at)
        return STR("");
    at += sizeof key - 1;
    size_t left = (size_t)(line.at + line.n - at);
    const char *end = memchr(at, '"', left);
    return str_cut((struct str){at, end ? (size_t)(end - at) : left}, TIME_MAX);
}

static void lane_next_line(struct back *b, struct lane *l)
{
    while (!(l->has_line = lane_take_line(b, l))) {
        if (!l->left)
            return;
        (void)open_file(b, l, l->files.at[--l->left]);
    }
    /* Records of one lane keep their order, whatever times they state. */
    struct str time = line_time(l->line);
    if (time.n && str_cmp(time, str_of(l->time)) < 0) {
        memcpy(l->time, time.at, time.n);
        l->time[time.n] = '\0';
    }
}

static bool add_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct back *b = arg;
    (void)aside;
    if (c->dir < 0)
        return true;
    struct lane *l = &b->lanes[b->count];
    *l = (struct lane){.fd = -1, .time = "~"}; /* above all times */
    if (!chain_list(c, &l->files, e))
        return false;
    l->left = l->files.count;
    l->buf = mem_new(AUDIT_RECORD_MAX + 1 + PIECE);
    l->chain = (struct chain){.lane = c->lane, .dir = c->dir, .folder = take(c->folder)};
    c->dir = -1;
    b->count++;
    lane_next_line(b, l);
    return true;
}

static void back_done(struct back *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct lane *l = &b->lanes[i];
        close_file(l);
        os_close(l->chain.dir);
        free(l->chain.folder);
        free(l->buf);
        file_list_done(&l->files);
    }
    free(b->lanes);
}

/* ---- all of them --------------------------------------------------------- */

static struct lane *newest(const struct back *b)
{
    struct lane *found = NULL;
    for (size_t i = 0; i < b->count; i++) {
        struct lane *l = &b->lanes[i];
        if (l->has_line && (!found || strcmp(l->time, found->time) >= 0))
            found = l;
    }
    return found;
}

bool trail_back(struct trail *t, trail_line_fn *each, void *arg, struct err *e)
{
    struct back b = {.lanes = mem_new(2 * LANES_MAX * sizeof *b.lanes)};
    bool ok = trail_visit(t, &(struct lane_visit){.each = add_lane, .arg = &b}, e),
         more = ok;
    for (struct lane *l; more && (l = newest(&b));) {
        more = each(arg, l->line, e);
        if (more)
            lane_next_line(&b, l);
    }
    if (ok && more && b.odd.code)
        ok = err_set(e, b.odd.code, "%s", b.odd.msg);
    back_done(&b);
    return ok && !e->code;
}

/* ---- the last ones, turned round ----------------------------------------- */

struct kept_line {
    struct str text, time;
    size_t number; /* 0: the newest */
};

struct keeping {
    struct arena *arena;
    struct kept_line *lines;
    size_t count, capacity;
    uint64_t most; /* 0: all */
};

static bool keep_line(void *arg, struct str line, struct err *e)
{
    struct keeping *k = arg;
    if (k->count == k->capacity) {
        size_t more = k->capacity ? 2 * k->capacity : 64;
        struct kept_line *grown = reallocarray(k->lines, more, sizeof *grown);
        if (!grown)
            return err_set(e, ERR_LIMIT, "no memory for %zu audit records", more);
        k->lines = grown;
        k->capacity = more;
    }
    const char *copy = arena_copy(k->arena, line.at, line.n, e);
    if (!copy)
        return err_wrap(e, "the audit trail");
    struct str text = {copy, line.n}, time = line_time(text);
    if (!time.n && k->count) /* beside the one after it */
        time = k->lines[k->count - 1].time;
    k->lines[k->count] = (struct kept_line){text, time, k->count};
    return ++k->count != k->most;
}

static int as_written(const void *a, const void *b)
{
    const struct kept_line *x = a, *y = b;
    return x->number < y->number ? 1 : -1;
}

static int lanes_by_time(const void *a, const void *b)
{
    const struct kept_line *x = a, *y = b;
    int order = str_cmp(x->time, y->time);
    return order ? order : as_written(a, b);
}

bool trail_read(struct trail *t, uint64_t count, enum trail_order order,
                trail_line_fn *each, void *arg, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(READ_MEMORY);
    struct keeping k = {.arena = arena, .most = count};
    struct err why = {0}, odd = {0};
    if (!trail_back(t, keep_line, &k, &why)) {
        if (!k.count || why.code != ERR_LIMIT) {
            free(k.lines);
            return err_set(e, why.code, "%s", why.msg);
        }
        odd = why;
    }
    if (k.count)
        qsort(k.lines, k.count, sizeof *k.lines,
              order == TRAIL_BY_TIME ? lanes_by_time : as_written);
    bool more = true;
    for (size_t i = 0; more && i < k.count; i++)
        more = each(arg, k.lines[i].text, e);
    free(k.lines);
    if (!more)
        return !e->code;
    return !odd.code || err_set(e, odd.code, "%s", odd.msg);
}
