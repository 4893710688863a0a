/* The tools there are, as a snapshot that is made anew when something on disk has
 * changed, and shared by all who hold a tool of it. */
#include "catalogue/catalogue.h"

#include <fcntl.h>
#include <stdio.h>

#include "catalogue/internal.h"
#include "catalogue/keys.h"
#include "catalogue/plain.h"
#include "catalogue/records.h"

#define PROBLEMS_MAX ((size_t)16 << 10)

/* ---- opening ------------------------------------------------------------- */

struct catalogue *catalogue_open(const struct catalogue_options *o)
{
    struct err none = {0};
    struct catalogue *c = mem_new(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->engine = o->engine;
    c->guest_dir = mem_strdup(o->guest_dir);
    c->compiler = o->compiler ? mem_strdup(o->compiler) : NULL;
    c->taken = o->taken;
    c->guest = os_dir_open(c->guest_dir, &none);
    none = (struct err){0};
    c->data = os_data_dir(NULL, &none);
    none = (struct err){0};
    c->config = os_config_dir(NULL, &none);
    return c;
}

struct engine *catalogue_engine(struct catalogue *c, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    if (!c->engine) {
        char *ahead = NULL;
        must(asprintf(&ahead, "%s/ahead", c->guest_dir) > 0);
        free(c->own_ahead); /* of an attempt that failed */
        c->own_ahead = ahead;
        c->own_engine = engine_open(&(struct engine_options){.ahead = ahead}, e);
        c->engine = c->own_engine;
    }
    struct engine *g = c->engine;
    pthread_mutex_unlock(&c->lock);
    return g;
}

static void snapshot_drop(struct catalogue *c, struct snapshot *s)
{
    if (!s || --s->refs)
        return;
    for (size_t i = 0; i < s->count; i++)
        binary_drop(c, s->all[i]->binary);
    buf_done(&s->problems);
    arena_free(s->arena);
    free(s->all);
    free(s);
}

void catalogue_close(struct catalogue *c)
{
    if (!c)
        return;
    snapshot_drop(c, c->now);
    engine_close(c->own_engine);
    free(c->own_ahead);
    os_close(c->guest);
    os_close(c->data);
    os_close(c->config);
    pthread_mutex_destroy(&c->lock);
    free(c->guest_dir);
    free(c->compiler);
    free(c);
}

/* ---- a snapshot ----------------------------------------------------------- */

struct entry *snapshot_add(struct snapshot *s, struct err *e)
{
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        void *more = realloc(s->all, room * sizeof *s->all);
        if (!more) {
            err_set(e, ERR_LIMIT, "there is no memory for %zu tools", room);
            return NULL;
        }
        s->all = more;
        s->room = room;
    }
    struct entry *n = arena_get(s->arena, sizeof *n, e);
    if (!n)
        return NULL;
    n->owner = s;
    return s->all[s->count++] = n;
}

void snapshot_problem(struct snapshot *s, const char *what, const struct err *why)
{
    scoped_buf struct buf line = buf_of(BUF_LINE);
    buf_printf(&line, "%s: %s", what, why->msg);
    if (s->problems.n + line.n + 1 < s->problems.ceiling) {
        plain_put(buf_view(&line), line.n, &s->problems);
        buf_char(&s->problems, '\n');
    }
}

/* The order within one name: a vault's own, then that which is switched off for a vault,
 * then the user's, then the built-in one. */
static int entry_rank(const struct entry *n)
{
    return n->tool.vault     ? 0
           : n->tool.builtin ? (n->only_in ? 3 : 4)
           : n->only_in      ? 1
                             : 2;
}

static int tools_by_name(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    int order = strcmp(x->tool.name, y->tool.name);
    return order ? order : entry_rank(x) - entry_rank(y);
}

static struct snapshot *snapshot_make(struct catalogue *c)
{
    struct snapshot *s = mem_new(sizeof *s);
    s->refs = 1;
    s->arena = arena_new(SNAPSHOT_MEMORY);
    buf_init(&s->problems, PROBLEMS_MAX);
    builtin_load(c, s);
    records_load(c, s);
    if (s->count)
        qsort(s->all, s->count, sizeof(struct entry *), tools_by_name);
    return s;
}

/* Looks whether something has changed. With the lock held. */
struct snapshot *catalogue_current(struct catalogue *c)
{
    struct os_stamp stamps[STAMPS] = {
        os_stamp(c->guest, "tools/catalogue.json"),
        os_stamp(c->data, "tools/records"),
        os_stamp(c->data, "tools/changes"),
        os_stamp(c->config, KEYS_FILE),
    };
    bool same = c->now != NULL;
    for (size_t i = 0; i < STAMPS; i++)
        same = same && os_same_stamp(&stamps[i], &c->stamps[i]);
    if (same)
        return c->now;
    /* The stamps were taken before: what changes meanwhile is seen at the next call. */
    struct snapshot *fresh = snapshot_make(c);
    snapshot_drop(c, c->now);
    memcpy(c->stamps, stamps, sizeof stamps);
    c->version++;
    return c->now = fresh;
}

bool catalogue_is_filled(const char *guest_dir)
{
    struct err none = {0};
    scoped_fd int guest = os_dir_open(guest_dir, &none);
    if (guest >= 0 && os_stamp(guest, "tools/catalogue.json").size > 2) /* [] */
        return true;
    none = (struct err){0};
    scoped_fd int data = os_data_dir(NULL, &none);
    return data >= 0 && os_stamp(data, "tools/changes").inode;
}

uint64_t catalogue_version(struct catalogue *c)
{
    pthread_mutex_lock(&c->lock);
    (void)catalogue_current(c);
    uint64_t version = c->version;
    pthread_mutex_unlock(&c->lock);
    return version;
}

/* ---- finding -------------------------------------------------------------- */

static bool entry_is_for(const struct entry *n, struct str vault)
{
    const char *own = n->tool.vault ? n->tool.vault : n->only_in;
    return !own || str_is(vault, own);
}

static size_t first_of(const struct snapshot *s, struct str name)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(str_of(s->all[middle]->tool.name), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct entry *snapshot_find(const struct snapshot *s, struct str name, struct str vault)
{
    for (size_t i = first_of(s, name); i < s->count; i++) {
        if (!str_is(name, s->all[i]->tool.name))
            break;
        if (entry_is_for(s->all[i], vault))
            return s->all[i];
    }
    return NULL;
}

bool snapshot_none(const struct snapshot *s, struct str name, struct str vault,
                   struct err *e)
{
    const char *nearest = NULL;
    size_t best = name.n > 6 ? 3 : 2; /* slips, not another word */
    for (size_t i = 0; i < s->count; i++) {
        size_t slips = str_distance(name, str_of(s->all[i]->tool.name));
        if (slips < best && slips < name.n && entry_is_for(s->all[i], vault)) {
            best = slips;
            nearest = s->all[i]->tool.name;
        }
    }
    scoped_buf struct buf shown = buf_of(4 * TOOL_NAME_MAX);
    plain_put(name, TOOL_NAME_MAX, &shown);
    if (nearest)
        return err_set(e, ERR_NOT_FOUND, "there is no tool '%s'; the nearest is '%s'",
                       buf_cz(&shown), nearest);
    bool built_in = false;
    for (size_t i = 0; i < s->count; i++)
        built_in |= s->all[i]->tool.builtin;
    if (!built_in)
        return err_set(
                   e, ERR_NOT_FOUND,
                   "there is no tool '%s'; the built-in ones are not installed: 'make "
                   "tools' in Cloche's own folder adds them",
                   buf_cz(&shown)) ||
               err_because(e, CAUSE_NOT_INSTALLED);
    return err_set(e, ERR_NOT_FOUND,
                   "there is no tool '%s' among the %zu that are there%s%.120s",
                   buf_cz(&shown), s->count, s->problems.n ? "; could not be read: " : "",
                   s->problems.n ? s->problems.at : "") ||
           err_because(e, CAUSE_NO_TOOL);
}

const struct tool *tool_find(struct catalogue *c, struct str name, struct str vault,
                             struct err *e)
{
    pthread_mutex_lock(&c->lock);
    struct snapshot *s = catalogue_current(c);
    struct entry *n = snapshot_find(s, name, vault);
    if (!n)
        (void)snapshot_none(s, name, vault, e);
    else if (!n->tool.enabled)
        err_set(e, ERR_DENIED,
                "the tool '%s' is disabled%s; a person can enable it with 'cloche tool "
                "enable %s'",
                n->tool.name, n->only_in ? " for this vault" : "", n->tool.name);
    bool usable = n && n->tool.enabled;
    if (usable)
        s->refs++;
    pthread_mutex_unlock(&c->lock);
    return usable ? &n->tool : NULL;
}

void tool_release(struct catalogue *c, const struct tool *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&c->lock);
    snapshot_drop(c, ((const struct entry *)t)->owner);
    pthread_mutex_unlock(&c->lock);
}

bool tool_list(struct catalogue *c, struct str vault, struct tool_list *out,
               struct err *e)
{
    *out = (struct tool_list){0};
    bool every = str_eq(vault, TOOL_EVERY_VAULT);
    pthread_mutex_lock(&c->lock);
    struct snapshot *s = catalogue_current(c);
    out->tools = calloc(s->count + 1, sizeof *out->tools);
    for (size_t i = 0; out->tools && i < s->count; i++) {
        const struct entry *n = s->all[i];
        bool meant =
            every ? !n->only_in : snapshot_find(s, str_of(n->tool.name), vault) == n;
        if (meant)
            out->tools[out->count++] = &n->tool;
    }
    out->problems = buf_cz(&s->problems);
    out->held = s;
    s->refs += out->tools != NULL;
    pthread_mutex_unlock(&c->lock);
    return out->tools ||
           err_set(e, ERR_LIMIT, "there is no memory for the list of tools");
}

void tool_list_release(struct catalogue *c, struct tool_list *l)
{
    if (!l->tools)
        return;
    pthread_mutex_lock(&c->lock);
    snapshot_drop(c, l->held);
    pthread_mutex_unlock(&c->lock);
    free(l->tools);
    *l = (struct tool_list){0};
}
