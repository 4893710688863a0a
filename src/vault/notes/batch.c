/* Several changes as one: all of them, or none. */
#include <stdio.h>

#include "notes/notes.api.h"
#include "notes/session.h"
#include "notes/write.h"

#define CHANGES_MAX 1000u
#define BATCH_ARENA ((size_t)512 << 20)

static const struct operation *const operations[] = {
    &create_operation, &update_operation,  &delete_operation,  &rename_operation,
    &move_operation,   &section_operation, &restore_operation,
};

struct item {
    const struct operation *operation;
    void *state;
};

struct batch {
    struct arena *arena;
    struct item *items;
    size_t count;
};

static const struct operation *find_operation(struct str action, struct err *e)
{
    for (size_t i = 0; i < LENGTH(operations); i++)
        if (str_is(action, operations[i]->name + strlen("notes.")))
            return operations[i];
    err_set(e, ERR_INVALID,
            "action must be create, update, delete, rename, move, updateSection or "
            "restore, not \"%.*s\"",
            STR_ARGS(str_cut(action, 40)));
    return NULL;
}

/* The options as the call itself takes them: without the action. */
static const struct json *batch_options(const struct json *item, struct arena *a,
                                        struct err *e)
{
    return json_less(item, (const char *const[]){"action", NULL}, a, e);
}

static bool read_item(struct batch *b, const struct json *value, struct err *e)
{
    if (!json_is(value, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID,
            "it must be an object with an action and the options of that call, "
            "not a value of type %s",
            json_type_name(json_type(value)));
    if (json_get(value, "dry_run"))
        return err_set(e, ERR_INVALID, "dry_run is for the whole batch, beside changes");
    const struct operation *op = find_operation(json_str(json_get(value, "action")), e);
    const struct json *o = op ? batch_options(value, b->arena, e) : NULL;
    void *state = o ? arena_get(b->arena, op->state_size, e) : NULL;
    if (!state || !op->read(o, state, e))
        return false;
    b->items[b->count++] = (struct item){op, state};
    return true;
}

static bool read_batch(const struct json *o, void *state, struct err *e)
{
    struct batch *b = state;
    const struct json *changes = json_get(o, "changes");
    if (!options_check(o, "notes.batch", NOTES_BATCH_KEYS, e))
        return false;
    size_t count = json_length(changes);
    if (!json_is(changes, JSON_ARRAY) || count < 1 || count > CHANGES_MAX)
        return err_set(e, ERR_INVALID, "changes must be an array of 1 to %u changes",
                       CHANGES_MAX);
    b->items = arena_get(b->arena, count * sizeof *b->items, e);
    struct json_iter it = json_iter(changes);
    while (b->items && json_next(&it))
        if (!read_item(b, it.value, e))
            return err_wrap(e, "changes[%zu]", b->count);
    return b->items != NULL;
}

/* A deletion that asks for a confirmation is none, and the batch is none then. */
static bool batch_item_done(const struct change *c, struct err *e)
{
    const char *why = change_held(c);
    return !why ||
           err_set(e, ERR_CONFLICT, "it is not deleted without confirm: true: %s", why);
}

static bool run_item(const struct item *item, struct change *c, struct vault *v,
                     struct json_writer *out, struct err *e)
{
    scoped_buf struct buf answer = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&answer);
    if (!item->operation->run(c, v, item->state, &w, e) ||
        !buf_check(&answer, "the answer", e) || !batch_item_done(c, e))
        return false;
    json_put_raw(out, buf_view(&answer));
    return true;
}

/* A batch that is being done. */
struct run {
    struct batch *batch;
    struct change *c;
    struct vault *v;
    struct json_writer *out;
};

static bool is_permitted(const struct run *r, struct err *e)
{
    for (size_t i = 0; i < r->batch->count; i++)
        if (!vault_permits(r->v, r->batch->items[i].operation->name, e))
            return err_wrap(e, "nothing of the batch was done, because of changes[%zu]",
                            i);
    return true;
}

static bool run_items(void *arg, struct err *e)
{
    struct run *r = arg;
    struct batch *b = r->batch;
    for (size_t i = 0; i < b->count; i++)
        if (!vault_goes_on(r->v, e) || !run_item(&b->items[i], r->c, r->v, r->out, e))
            return err_wrap(e,
                            "nothing of the batch was done, because of changes[%zu], %s",
                            i, b->items[i].operation->name);
    return true;
}

/* A single change needs no look at what those before it did. */
static bool run_batch(struct change *c, struct vault *v, void *state,
                      struct json_writer *out, struct err *e)
{
    struct run r = {state, c, v, out};
    if (!is_permitted(&r, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_key(out, "results");
    json_open_array(out);
    if (r.batch->count > 1 ? !session_run(v, c, run_items, &r, e) : !run_items(&r, e))
        return false;
    json_close(out);
    json_close(out);
    return true;
}

bool notes_batch(struct vault *v, const struct json *options, struct json_writer *out,
                 struct err *e)
{
    static const struct operation operation = {
        "notes.batch", "batch", sizeof(struct batch), read_batch, run_batch};
    scoped(arena_free) struct arena *a = arena_new(BATCH_ARENA);
    return write_perform_in(v, &operation, options, &(struct batch){.arena = a}, out, e);
}
