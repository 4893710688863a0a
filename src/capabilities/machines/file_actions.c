/* Files of Linux machines as actions: vm_read, vm_write, vm_ls. An image that is read is shown
 * to the model as an image. */
#include "capability/capability.h"
#include "machines/machine_files.h"
#include "machines/vm_files.api.h"

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
     .run = action_vm_read, .checked = checked, .seldom = true, .needs = "vm.read",
     .scope = SCOPE_EVALUATE},
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
     .run = action_vm_ls, .checked = checked, .seldom = true, .needs = "vm.ls",
     .scope = SCOPE_EVALUATE},
};
const struct action_group machine_file_actions = {rows, LENGTH(rows), .order = 75};
