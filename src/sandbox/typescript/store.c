/* The form of cached translations in files. */
#include "typescript/internal.h"

struct file_head {
    uint64_t code_size, segments;
};

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

static void *store_read_code(void *source, struct str bytes)
{
    return parse_code(bytes, *(struct str *)source);
}

const struct typescript_code *store_find(struct cache *c, const char *key,
                                         struct str source, bool *on_disk)
{
    return cache_find_file(c, key, store_read_code, &source, on_disk);
}

/* The head, the segments, the code. */
void store_keep(struct cache *c, const char *key, const struct typescript_code *code)
{
    struct file_head head = {code->to.text.n, code->positions.count};
    scoped_buf struct buf all = buf_of(STORE_FILE_BYTES);
    buf_put(&all, &head, sizeof head);
    buf_put(&all, code->positions.row, head.segments * sizeof *code->positions.row);
    buf_str(&all, code->to.text);
    cache_put_file(c, key, code, all.failed ? STR("") : buf_view(&all));
}
