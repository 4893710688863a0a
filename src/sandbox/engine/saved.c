/* A world's memory, saved as what differs from its image.
 *
 * JavaScript touches many pages and changes little of each, so that the unit is a line of
 * 64 bytes: a page that differs has a mask of its 64 lines, and those lines follow. What
 * is saved is read by the same build only (the image's hash is checked), on the machine
 * that wrote it: numbers are as the processor has them. The bytes may come from a damaged
 * file: every number is checked before it is used.
 */
#include "engine/internal.h"

#define LINE ((size_t)64)
#define WASM_PAGE ((uint64_t)65536)

static const char magic[8] = "cloche1";

struct saved_head {
    char magic[sizeof magic];
    uint8_t image[IMAGE_ID];
    uint64_t memory_bytes;
    uint64_t page_count;
};

/* Followed by the lines whose bit is set, the lowest first. */
struct saved_page {
    uint64_t page; /* ascending */
    uint64_t lines;
};

/* ---- saving ------------------------------------------------------------- */

struct saving {
    const struct image *image;
    const uint8_t *memory;
    struct buf *out;
    uint64_t pages;
};

static const uint8_t zeros[PAGE];

static void save_page(struct saving *s, size_t at)
{
    const uint8_t *now = s->memory + at, *was = image_page(s->image, at);
    struct saved_page p = {.page = at / PAGE};
    was = was ? was : zeros;
    for (size_t i = 0; i < PAGE / LINE; i++)
        if (memcmp(now + i * LINE, was + i * LINE, LINE) != 0)
            p.lines |= (uint64_t)1 << i;
    if (!p.lines)
        return;
    s->pages++;
    buf_put(s->out, &p, sizeof p);
    for (uint64_t left = p.lines; left; left &= left - 1)
        buf_put(s->out, now + (size_t)__builtin_ctzll(left) * LINE, LINE);
}

static void save_stretch(void *arg, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += PAGE)
        save_page(arg, at);
}

bool world_save(struct world *w, struct buf *out, struct err *e)
{
    must(w->module->image && !image_is_file(w->module->image));
    must(atomic_load(&w->verdict) == ERR_NONE);
    struct str all = world_memory(w);
    struct saved_head head = {.memory_bytes = all.n};
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.image, image_id(w->module->image), IMAGE_ID);
    struct saving s = {w->module->image, (const uint8_t *)all.at, out, 0};
    size_t start = out->n;
    buf_put(out, &head, sizeof head);
    if (w->slot)
        slot_written(w->slot, save_stretch, &s);
    else
        save_stretch(&s, 0, all.n);
    if (!buf_check(out, "what the world holds", e))
        return false;
    head.page_count = s.pages;
    memcpy(out->at + start, &head, sizeof head);
    return true;
}

/* ---- restoring ---------------------------------------------------------- */

static bool saved_check_head(struct world *w, struct str saved, struct saved_head *head,
                             struct err *e)
{
    if (saved.n < sizeof *head)
        return err_set(e, ERR_INVALID, "saved state of %zu bytes is too short", saved.n);
    memcpy(head, saved.at, sizeof *head);
    if (memcmp(head->magic, magic, sizeof magic) != 0)
        return err_set(e, ERR_INVALID, "not a saved world");
    if (memcmp(head->image, image_id(w->module->image), IMAGE_ID) != 0)
        return err_set(e, ERR_CONFLICT, "it was saved by another build of this program");
    if (head->memory_bytes % WASM_PAGE != 0 || head->memory_bytes < world_memory(w).n)
        return err_set(e, ERR_INVALID,
                       "a saved world of %llu bytes of memory is "
                       "invalid",
                       (unsigned long long)head->memory_bytes);
    if (head->memory_bytes > w->limits.memory_bytes)
        return err_set(e, ERR_MEMORY, "the saved world needs %llu MB of memory",
                       (unsigned long long)(head->memory_bytes >> 20) + 1);
    return true;
}

static bool grow_to(struct world *w, uint64_t bytes, struct err *e)
{
    uint64_t more = (bytes - world_memory(w).n) / WASM_PAGE, before = 0;
    if (more == 0)
        return true;
    if (!world_find_memory(w))
        return err_set(e, ERR_BUG, "the guest exports no memory");
    wasmtime_error_t *error = wasmtime_memory_grow(w->context, &w->memory, more, &before);
    return !error ||
           engine_failure(e, ERR_BUSY, "no memory for the saved world", error, NULL);
}

/* Restores a page's lines from `at` on; answers their end, NULL where they are cut. */
static const char *restore_page(const struct saved_page *p, uint8_t *to, const char *at,
                                const char *end)
{
    if ((size_t)(end - at) / LINE < (size_t)__builtin_popcountll(p->lines))
        return NULL;
    for (uint64_t left = p->lines; left; left &= left - 1, at += LINE)
        memcpy(to + (size_t)__builtin_ctzll(left) * LINE, at, LINE);
    return at;
}

static bool restore_pages(struct str memory, struct str saved,
                          const struct saved_head *head, struct err *e)
{
    const char *at = saved.at + sizeof *head, *end = saved.at + saved.n;
    uint64_t next = 0, count = 0;
    while (at && (size_t)(end - at) >= sizeof(struct saved_page)) {
        struct saved_page p;
        memcpy(&p, at, sizeof p);
        if (p.page < next || p.page >= memory.n / PAGE)
            break;
        next = p.page + 1;
        count++;
        at = restore_page(&p, (uint8_t *)(uintptr_t)memory.at + p.page * PAGE,
                          at + sizeof p, end);
    }
    return (at == end && count == head->page_count) ||
           err_set(e, ERR_INVALID, "a saved world is damaged at its page %llu",
                   (unsigned long long)count);
}

bool world_restore(struct world *w, struct str saved, struct err *e)
{
    must(w->module->image && !image_is_file(w->module->image));
    must(atomic_load(&w->verdict) == ERR_NONE);
    struct saved_head head;
    if (saved_check_head(w, saved, &head, e) && grow_to(w, head.memory_bytes, e) &&
        restore_pages(world_memory(w), saved, &head, e))
        return true;
    if (w->slot)
        w->slot->spoilt = true;
    return false;
}
