/* The guest: esbuild, baked, in a fresh world for each piece of code. What it answers
 * is read as what any guest answers: within its memory, within limits. */
#include "abi/abi.h"
#include "typescript/internal.h"
#include "json/json.h"

#define MESSAGES_MAX 4096u
#define TEXT_MAX 400u /* bytes of a message */

_Static_assert(TYPESCRIPT_MEMORY_BYTES >> 20 == 512, "see its message");
const struct guest_kind esbuild = {
    .name = "typescript",
    .title = "the TypeScript guest",
    .engine = ENGINE_FOREIGN,
    .wasi = true,
    .memory_bytes = TYPESCRIPT_MEMORY_BYTES,
    .compute_ns = TYPESCRIPT_COMPUTE_MS * UINT64_C(1000000),
    .words = {.stack = "the TypeScript is nested too deeply to be read",
              .memory =
                  "the TypeScript needs more than 512 MB of memory to be translated",
              .timeout = "translating the TypeScript",
              .failed = "the TypeScript cannot be translated"}};

/* A copy of the guest's bytes. */
static bool copy_bytes(struct guest_world *w, uint32_t at, uint32_t n, struct arena *a,
                       struct str *out, struct err *e)
{
    const char *p = world_slice(guest_world(w), at, n);
    if (n > TYPESCRIPT_OUTPUT_BYTES)
        return err_set(e, ERR_OUTPUT,
                       "the TypeScript becomes more than %u MB of JavaScript",
                       (unsigned)(TYPESCRIPT_OUTPUT_BYTES >> 20));
    char *copy = p ? arena_copy(a, p, n, e) : NULL;
    *out = (struct str){copy, n};
    return copy || err_set(e, ERR_GUEST, "the TypeScript guest's answer cannot be read");
}

static bool esbuild_copy_text(struct guest_world *w, uint32_t at, uint32_t n,
                              struct arena *a, struct str *out, struct err *e)
{
    return copy_bytes(w, at, n, a, out, e) &&
           (str_is_utf8(*out) ||
            err_set(e, ERR_GUEST, "the TypeScript guest's answer is not text"));
}

static bool read_messages(struct str all, struct transformed *out, struct arena *a,
                          struct err *e)
{
    struct typescript_message head;
    out->messages = arena_get(a, MESSAGES_MAX * sizeof *out->messages, e);
    for (size_t at = 0; out->messages && all.n - at >= sizeof head;) {
        memcpy(&head, all.at + at, sizeof head);
        at += sizeof head;
        if (head.size > all.n - at || out->message_count == MESSAGES_MAX)
            break;
        struct str text = str_cut((struct str){all.at + at, head.size}, TEXT_MAX);
        if (!str_is_utf8(text))
            text = STR("the code cannot be read");
        out->messages[out->message_count++] =
            (struct message){head.line, head.column, head.length, text};
        size_t padded = ((size_t)head.size + 7) & ~(size_t)7;
        at += padded < all.n - at ? padded : all.n - at;
    }
    return out->messages != NULL;
}

static bool read_map(struct str map, struct transformed *out, struct arena *a,
                     struct err *e)
{
    const struct json *v = json_read(map, a, e);
    out->mappings = json_str(json_get(v, "mappings"));
    return v != NULL;
}

bool esbuild_transform(struct guest_world *w, struct str source, struct arena *a,
                       struct transformed *out, struct err *e)
{
    struct typescript_answer answer;
    struct str map = {0}, messages = {0};
    *out = (struct transformed){0};
    if (!guest_ask(w, source, "transform", NULL, 0, &answer, sizeof answer, e) ||
        !copy_bytes(w, answer.messages_at, answer.messages_size, a, &messages, e) ||
        !read_messages(messages, out, a, e))
        return false;
    if (answer.failed)
        return out->message_count > 0 ||
               err_set(e, ERR_GUEST,
                       "the TypeScript guest failed without an error message");
    return esbuild_copy_text(w, answer.code_at, answer.code_size, a, &out->javascript,
                             e) &&
           esbuild_copy_text(w, answer.map_at, answer.map_size, a, &map, e) &&
           read_map(map, out, a, e);
}
