/* A person's changes of tools, and their records in that person's trail. */
#include "catalogue/catalogue.h"
#include "desk/desk.h"
#include "desk/internal.h"
#include "os/os.h"
#include "json/json.h"

bool desk_record_tool(struct ward *w, const char *event, const struct tool *t,
                      const char *vault, const char *sha256, const char *by,
                      struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    struct json_writer out = json_writer(&text);
    json_open_object(&out);
    json_pair_time(&out, "time", os_real_ms());
    json_pair_cstr(&out, "event", event);
    json_pair_cstr(&out, "caller", by);
    json_pair_cstr(&out, "why", t->name);
    json_pair_cstr(&out, "version", t->version);
    if (vault)
        json_pair_cstr(&out, "vault", vault);
    if (sha256)
        json_pair_cstr(&out, "sha256", sha256);
    if (t->signer)
        json_pair_cstr(&out, "signer", t->signer);
    json_close(&out);
    struct err unusable = {0};
    const struct policy *p = ward_policy(w, &unusable);
    const struct trail_entry entry = {.members = {text.at + 1, text.n - 2},
                                      .state = p ? p->digest : "unusable",
                                      .lasting = true};
    bool ok = buf_check(&text, "the record", e) && ward_record(w, &entry, e);
    policy_release(p);
    return ok;
}

bool desk_install(struct ward *w, struct catalogue *c, const struct tool_package *p,
                  const char *vault, enum tool_replace replace,
                  const struct tool_watch *watch, const char *by, struct err *e)
{
    char id[TOOL_ID];
    const char *event = replace == TOOL_MUST_REPLACE ? "tool update" : "tool install";
    if (!tool_install(c, p, vault, replace, watch, id, e))
        return false;
    return desk_record_tool(w, event, tool_package_tool(p), vault, tool_package_sha256(p),
                            by, e) ||
           err_wrap(e, "it is installed, but not recorded");
}

bool desk_switch(struct ward *w, struct catalogue *c, const char *tool, const char *vault,
                 bool on, const char *by, struct err *e)
{
    const struct tool named = {.name = tool, .version = ""};
    return tool_switch(c, tool, vault, on, e) &&
           desk_record_tool(w, on ? "tool enable" : "tool disable", &named, vault, NULL,
                            by, e);
}
