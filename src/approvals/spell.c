/* What is asked, as a person reads it. An agent wrote parts of it, and would like to have
 * written the rest: nothing of it may look like ours, move the cursor, or hide.
 */
#include "approvals/approvals.h"

static void tell_line(struct str label, struct str text, bool first, struct buf *out)
{
    scoped_buf struct buf name;
    buf_init(&name, 1 << 11);
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

void approvals_tell(const struct json *entry, struct buf *out)
{
    int64_t left = json_int(json_get(entry, "left_ms"), 0) / 1000;
    str_spell(json_str(json_get(entry, "id")), out);
    buf_cstr(out, str_is(json_str(json_get(entry, "kind")), "install")
                      ? "  to be installed, proposed by "
                      : "  to be run, asked by ");
    str_spell(str_cut(json_str(json_get(entry, "caller")), 100), out);
    buf_printf(out, ", %s\n",
               json_bool(json_get(entry, "waiting"), false)
                   ? "who waits"
                   : "who does not wait any more");
    approvals_tell_shown(json_get(entry, "shown"), out);
    buf_printf(out, "  %-11s %lld s\n", "good for", (long long)left);
}
