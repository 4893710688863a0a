/* A question as a person reads it. An agent wrote parts of it, and would like to have
 * written the rest: nothing of it may look like ours, move the cursor, or hide.
 */
#include "approvals/approvals.h"

static void tell_line(struct str label, struct str text, bool first, struct buf *out)
{
    scoped_buf struct buf name = buf_of(BUF_PAGE);
    if (first)
        str_spell(str_cut(label, 128), &name);
    buf_printf(out, "  %-11s ", buf_cz(&name));
    str_spell(text, out);
    buf_char(out, '\n');
}

void approvals_tell_shown(const struct json *shown, struct buf *out)
{
    struct json_iter it = json_iter(shown);
    while (json_next(&it)) {
        if (!json_is(it.value, JSON_ARRAY)) {
            tell_line(it.key, json_str(it.value), true, out);
            continue;
        }
        bool first = true;
        struct json_iter line = json_iter(it.value);
        for (; json_next(&line); first = false)
            tell_line(it.key, json_str(line.value), first, out);
    }
}

static void tell_asker(struct str caller, struct str name, struct str version,
                       struct buf *out)
{
    str_spell(str_cut(caller, 100), out);
    if (!name.n)
        return;
    buf_cstr(out, ", which says it is '");
    str_spell(name, out);
    if (version.n) {
        buf_char(out, ' ');
        str_spell(version, out);
    }
    buf_cstr(out, "' (claimed)");
}

void approvals_tell_asker(struct str caller, const struct client_claim *claim,
                          struct buf *out)
{
    buf_cstr(out, "Asked by ");
    tell_asker(caller, claim ? str_of(claim->name) : STR(""),
               claim ? str_of(claim->version) : STR(""), out);
}

static void put_entry_asker(const struct json *entry, struct buf *out)
{
    const struct json *client = json_get(entry, "client");
    tell_asker(json_str(json_get(entry, "caller")),
               str_cut(json_str(json_get(client, "name")), 4 * CLIENT_NAME_MAX),
               str_cut(json_str(json_get(client, "version")), 4 * CLIENT_VERSION_MAX),
               out);
}

void approvals_tell(const struct json *entry, struct buf *out)
{
    int64_t left = json_int(json_get(entry, "left_ms"), 0) / 1000;
    str_spell(json_str(json_get(entry, "id")), out);
    struct str kind = json_str(json_get(entry, "kind"));
    buf_cstr(out, str_is(kind, "install") ? "  to be installed, proposed by "
                  : str_is(kind, "call")  ? "  to be called, asked by "
                                          : "  to be run, asked by ");
    put_entry_asker(entry, out);
    buf_printf(out, ", %s\n",
               json_bool(json_get(entry, "waiting"), false)
                   ? "who waits"
                   : "which has stopped waiting");
    approvals_tell_shown(json_get(entry, "shown"), out);
    buf_printf(out, "  %-11s %lld s\n", "good for", (long long)left);
}
