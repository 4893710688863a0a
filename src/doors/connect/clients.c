#include <stdio.h>
#include <sys/stat.h>

#include "connect/connect.h"
#include "connect/jsonc.h"
#include "connect/toml.h"
#include "json/json.h"

#define PLACES_MAX 3u

/* How an entry is written. */
enum form {
    FORM_PLAIN, /* {command, args} */
    FORM_TYPED, /* {type: "stdio", command, args} */
    FORM_LOCAL, /* {type: "local", command: [...], enabled} */
    FORM_TOML,  /* command = "...", args = [...] */
};
static const struct details {
    enum form form;
    const char *key;                /* of the object, or the table, of all servers */
    const char *places[PLACES_MAX]; /* "~/" is the home folder, "@/" that of settings */
} details[] = {
    {FORM_PLAIN, "mcpServers", {"@/Claude/claude_desktop_config.json"}},
    {FORM_TYPED, "mcpServers", {"~/.claude.json"}},
    {FORM_PLAIN, "mcpServers", {"~/.cursor/mcp.json"}},
    {FORM_TYPED,
     "servers",
     {"@/Code/User/mcp.json", "@/Code - Insiders/User/mcp.json",
      "@/VSCodium/User/mcp.json"}},
    {FORM_TOML, "mcp_servers", {"~/.codex/config.toml"}},
    {FORM_PLAIN, "context_servers", {"@/zed/settings.json"}},
    {FORM_PLAIN, "mcpServers", {"~/.gemini/settings.json"}},
    {FORM_PLAIN, "mcpServers", {"~/.codeium/windsurf/mcp_config.json"}},
    {FORM_PLAIN, "mcpServers", {"~/.lmstudio/mcp.json"}},
    {FORM_PLAIN,
     "mcpServers",
     {"@/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"}},
    {FORM_LOCAL,
     "mcp",
     {"@/opencode/opencode.json", "@/opencode/opencode.jsonc", "@/opencode/config.json"}},
};
static const struct connect_client clients[] = {
    {"claude-desktop", "Claude Desktop", "quit Claude Desktop and start it again"},
    {"claude-code", "Claude Code",
     "sessions that run now may write over the change; new ones have it"},
    {"cursor", "Cursor", NULL},
    {"vscode", "VS Code", NULL},
    {"codex", "Codex", "new sessions have it"},
    {"zed", "Zed", NULL},
    {"gemini", "Gemini CLI", "new sessions have it"},
    {"windsurf", "Windsurf", "refresh its list of MCP servers"},
    {"lm-studio", "LM Studio", NULL},
    {"cline", "Cline", NULL},
    {"opencode", "opencode", "new sessions have it"},
};
_Static_assert(LENGTH(details) == LENGTH(clients), "a row each");

static const struct details *details_of(const struct connect_client *c)
{
    return &details[c - clients];
}

const struct connect_client *connect_clients(size_t *count)
{
    *count = LENGTH(clients);
    return clients;
}

const struct connect_client *connect_find(const char *id, struct err *e)
{
    const char *names[LENGTH(clients)];
    scoped_buf struct buf all = buf_of(BUF_LINE);
    for (size_t i = 0; i < LENGTH(clients); i++) {
        names[i] = clients[i].id;
        if (!strcmp(clients[i].id, id))
            return &clients[i];
        buf_printf(&all, "%s%s", i ? ", " : "", clients[i].id);
    }
    const char *near = str_nearest(str_of(id), names, LENGTH(names));
    if (near)
        err_set(e, ERR_INVALID, "no client '%.40s' is known; did you mean %s?", id, near);
    else
        err_set(e, ERR_INVALID, "no client '%.40s' is known; those known: %s", id,
                buf_cz(&all));
    return NULL;
}

/* ---- the file ---------------------------------------------------------------- */

static const char *home(void)
{
    const char *at = getenv("HOME");
    return at && at[0] == '/' ? at : NULL;
}

static char *path_of(const char *place)
{
    const char *settings = getenv("XDG_CONFIG_HOME");
    bool given = settings && settings[0] == '/';
    scoped_buf struct buf path = buf_of(BUF_PAGE);
    if (place[0] == '@' && given)
        buf_cstr(&path, settings);
    else
        buf_printf(&path, "%s%s", home(), place[0] == '@' ? "/.config" : "");
    buf_cstr(&path, place + 1);
    char *out = mem_new(path.n + 1);
    memcpy(out, buf_cz(&path), path.n + 1);
    return out;
}

char *connect_path(const struct connect_client *c, struct err *e)
{
    const struct details *d = details_of(c);
    struct stat st;
    if (!home()) {
        err_set(e, ERR_NOT_FOUND, "HOME names no folder; give the settings by --file");
        return NULL;
    }
    for (size_t i = 0; i < PLACES_MAX && d->places[i]; i++) {
        char *path = path_of(d->places[i]);
        if (stat(path, &st) == 0)
            return path;
        free(path);
    }
    return path_of(d->places[0]);
}

/* ---- the entry --------------------------------------------------------------- */

static void put_words(struct buf *out, const char *const *words)
{
    struct json_writer w = json_writer(out);
    buf_char(out, '[');
    for (size_t i = 0; words[i]; i++) {
        if (i)
            buf_cstr(out, ", ");
        w = json_writer(out);
        json_put_cstr(&w, words[i]);
    }
    buf_char(out, ']');
}

static void put_word(struct buf *out, const char *word)
{
    struct json_writer w = json_writer(out);
    json_put_cstr(&w, word);
}

static void put_json(enum form form, const struct connect_server *s, struct buf *out)
{
    buf_cstr(out, "{\n\t");
    if (form == FORM_LOCAL) {
        buf_cstr(out, "\"type\": \"local\",\n\t\"command\": ");
        put_words(out, s->words);
        buf_cstr(out, ",\n\t\"enabled\": true\n}");
        return;
    }
    if (form == FORM_TYPED)
        buf_cstr(out, "\"type\": \"stdio\",\n\t");
    buf_cstr(out, "\"command\": ");
    put_word(out, s->words[0]);
    buf_cstr(out, ",\n\t\"args\": ");
    put_words(out, s->words + 1);
    buf_cstr(out, "\n}");
}

bool connect_has(const struct connect_client *c, struct str text, const char *name,
                 bool *there, struct err *e)
{
    const struct details *d = details_of(c);
    struct str value;
    return d->form == FORM_TOML ? toml_has(text, d->key, name, there, e)
                                : jsonc_get(text, (const char *const[]){d->key, name}, 2,
                                            &value, there, e);
}

bool connect_set(const struct connect_client *c, struct str text,
                 const struct connect_server *s, struct buf *out, struct err *e)
{
    const struct details *d = details_of(c);
    scoped_buf struct buf entry = buf_of(BUF_TEXT);
    if (d->form == FORM_TOML) { /* its strings are JSON's */
        buf_cstr(&entry, "command = ");
        put_word(&entry, s->words[0]);
        buf_cstr(&entry, "\nargs = ");
        put_words(&entry, s->words + 1);
        buf_char(&entry, '\n');
    } else
        put_json(d->form, s, &entry);
    if (!buf_check(&entry, "the entry", e))
        return false;
    return d->form == FORM_TOML
               ? toml_set(text, d->key, s->name, buf_view(&entry), out, e)
               : jsonc_set(text, (const char *const[]){d->key, s->name}, 2,
                           buf_view(&entry), out, e);
}

bool connect_remove(const struct connect_client *c, struct str text, const char *name,
                    struct buf *out, struct err *e)
{
    const struct details *d = details_of(c);
    return d->form == FORM_TOML
               ? toml_remove(text, d->key, name, out, e)
               : jsonc_remove(text, (const char *const[]){d->key, name}, 2, out, e);
}
