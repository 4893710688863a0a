/* Files of Linux machines as actions: vm_read, vm_write, vm_ls. An image that is read is shown
 * to the model as an image. */
#include "calls/calls.h"
#include "capability/capability.h"
#include "machines/machine_files.h"
#include "machines/vm_files.api.h"
#include "results/results.h"

static bool perform(const struct action_call *c, machine_fn *fn, struct buf *out,
                    struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(out);
    return fn(&call, c->arguments, &w, e);
}

/* ---- images ------------------------------------------------------------------------- */

/* The arguments, but with as many bytes as an image may have. */
static const struct json *whole_image(const struct action_call *c, struct err *e)
{
    const struct json *rest =
        json_less(c->arguments, (const char *const[]){"length", NULL}, c->arena, e);
    scoped_buf struct buf text = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&text);
    struct json_iter it = json_iter(rest);
    json_open_object(&w);
    while (json_next(&it)) {
        json_key_str(&w, it.key);
        json_put(&w, it.value);
    }
    json_pair_int(&w, "length", (int64_t)MACHINE_IMAGE_MAX);
    json_close(&w);
    return rest && buf_check(&text, "the arguments", e)
               ? json_read(buf_view(&text), c->arena, e)
               : NULL;
}

/* Is it all of an image, by its first bytes? */
static bool is_image(const struct json *file)
{
    return json_str(json_get(file, "mimeType")).n && !json_get(file, "next") &&
           str_is(json_str(json_get(file, "contentEncoding")), "base64");
}

static const char *const but_content[] = {"content", "contentEncoding", NULL};

/* The image, and a text with the rest; the structured answer has no bytes. */
static bool show_image(const struct action_call *c, const struct json *file,
                       struct answer *out, struct err *e)
{
    const struct json *rest = json_less(file, but_content, c->arena, e);
    if (!rest)
        return false;
    buf_clear(&out->json);
    struct json_writer w = json_writer(&out->json);
    json_put(&w, rest);
    w = json_writer(&out->content);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "text");
    json_pair_str(&w, "text", buf_view(&out->json));
    json_close(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "image");
    json_pair(&w, "data", json_get(file, "content"));
    json_pair(&w, "mimeType", json_get(file, "mimeType"));
    json_close(&w);
    json_close(&w);
    return buf_check(&out->content, "the image", e);
}

static bool action_vm_read(const struct action_call *c, struct answer *out, struct err *e)
{
    /* Who asks for bytes, or for a part, gets these. */
    bool asked = json_get(c->arguments, "encoding") || json_get(c->arguments, "offset");
    if (!perform(c, machines_read, &out->json, e))
        return false;
    const struct json *file = json_read(buf_view(&out->json), c->arena, e);
    bool image = file && !asked && json_get(file, "mimeType");
    if (image && json_get(file, "next") && !json_get(c->arguments, "length") &&
        (uint64_t)json_int(json_get(file, "size"), 0) <= MACHINE_IMAGE_MAX) {
        struct action_call again = *c;
        again.arguments = whole_image(c, e);
        buf_clear(&out->json);
        if (!again.arguments || !perform(&again, machines_read, &out->json, e))
            return false;
        file = json_read(buf_view(&out->json), c->arena, e);
    }
    if (!file)
        return false;
    return !image || !is_image(file) || show_image(c, file, out, e);
}

/* ---- the others --------------------------------------------------------------------------- */

static bool action_vm_write(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    return perform(c, machines_write, &out->json, e);
}

static bool action_vm_ls(const struct action_call *c, struct answer *out, struct err *e)
{
    return perform(c, machines_ls, &out->json, e);
}

/* ---- answers that are too large --------------------------------------------------------- */

/* The first part of the content, which takes at most `n` bytes of the answer. */
static struct str cut_content(struct str content, bool coded, size_t n)
{
    return coded ? (struct str){content.at, n < content.n ? n / 4 * 4 : content.n}
                 : str_cut(content, n);
}

static void put_part(const struct json *file, struct str part, bool coded,
                     struct json_writer *w)
{
    int64_t offset = json_int(json_get(file, "offset"), 0);
    int64_t length = (int64_t)(coded ? part.n / 4 * 3 : part.n);
    struct json_iter it = json_iter(file);
    json_open_object(w);
    while (json_next(&it)) {
        if (str_is(it.key, "next"))
            continue;
        json_key_str(w, it.key);
        if (str_is(it.key, "content"))
            json_put_str(w, part);
        else if (str_is(it.key, "length"))
            json_put_int(w, length);
        else
            json_put(w, it.value);
    }
    json_pair_int(w, "next", offset + length);
    json_close(w);
}

/* Fewer bytes, with where the rest begins: as if fewer had been asked for. */
static bool shorten_file(struct str text, size_t most, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    const struct json *file = json_read(text, arena, e);
    struct str content = json_str(json_get(file, "content"));
    bool coded = json_get(file, "contentEncoding") != NULL;
    if (!file)
        return false;
    for (size_t n = content.n; n > 16;) {
        struct str part = cut_content(content, coded, n);
        struct json_writer w = json_writer(out);
        buf_clear(out);
        put_part(file, part, coded, &w);
        if (out->n <= most)
            return buf_check(out, "the answer", e);
        /* By what was too much; control characters take six bytes each. */
        size_t over = (out->n - most + 5) / 6;
        n = part.n > over ? part.n - over : 0;
    }
    return err_set(e, ERR_OUTPUT, "the answer cannot be shortened to %zu bytes", most);
}

static void put_entries(const struct json *folder, size_t n, struct json_writer *w)
{
    struct json_iter it = json_iter(folder);
    json_open_object(w);
    while (json_next(&it)) {
        if (str_is(it.key, "more"))
            continue;
        json_key_str(w, it.key);
        if (!str_is(it.key, "entries")) {
            json_put(w, it.value);
            continue;
        }
        struct json_iter rows = json_iter(it.value);
        json_open_array(w);
        for (size_t i = 0; i < n && json_next(&rows); i++)
            json_put(w, rows.value);
        json_close(w);
    }
    json_pair_bool(w, "more", true);
    json_close(w);
}

/* Fewer entries, as if fewer had been asked for. */
static bool shorten_folder(struct str text, size_t most, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    const struct json *folder = json_read(text, arena, e);
    if (!folder)
        return false;
    for (size_t n = json_length(json_get(folder, "entries")); n > 1;) {
        n = n * 7 / 8;
        struct json_writer w = json_writer(out);
        buf_clear(out);
        put_entries(folder, n, &w);
        if (out->n <= most)
            return buf_check(out, "the answer", e);
    }
    return err_set(e, ERR_OUTPUT, "the answer cannot be shortened to %zu bytes", most);
}

/* ---- the rows ------------------------------------------------------------ */

/* Checked where they are read, which has better messages. */
static const char checked[] = "{\"type\":\"object\",\"additionalProperties\":true} ";

static const struct action_row rows[] = {
    {SHOWN(.name = "vm_read", .title = "Read a file in Linux",
           .description =
               "Read a file of your Linux machine, as text or base64; an image (PNG, JPEG, "
               "GIF, WebP, up to 8 MiB) is shown as an image, so that you see a plot that "
               "your program has drawn. Longer files come in parts: next is the offset of "
               "what follows.",
           VM_READ_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_vm_read, .shorten = shorten_file, .checked = checked, .seldom = true,
     .needs = "vm.read", .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_write", .title = "Write a file in Linux",
           .description =
               "Write a file of your Linux machine: content is text, or {base64}. Missing "
               "folders are made; the file is replaced when all of it is there.",
           VM_WRITE_SCHEMAS, .destructive = true, .idempotent = true),
     .run = action_vm_write, .checked = checked, .seldom = true, .needs = "vm.write",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_ls", .title = "List a folder in Linux",
           .description =
               "List a folder of your Linux machine: names, types, sizes, times.",
           VM_LS_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_vm_ls, .shorten = shorten_folder, .checked = checked, .seldom = true,
     .needs = "vm.ls", .scope = SCOPE_EVALUATE},
};
const struct action_group machine_file_actions = {rows, LENGTH(rows), .order = 75};
