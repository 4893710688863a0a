/* cloche vault: the user's list of vaults, as a person keeps it. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/subcommand.h"
#include "vaults/vaults.h"
#include "json/json.h"

#define LIST_MEMORY ((size_t)32 << 20)

struct vault_command {
    const char *words[2]; /* the verb, and what it is about */
    const char *id, *name, *description;
    bool json, make, use, help;
};

/* ---- list --------------------------------------------------------------- */

static void vault_put_row(const struct vaults *list, const struct vault_entry *v,
                          struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "id", v->id);
    json_pair_str(w, "name", v->name);
    json_pair_str(w, "path", v->path);
    if (v->description.n)
        json_pair_str(w, "description", v->description);
    json_pair_str(w, "last_accessed", v->last_accessed);
    json_pair_str(w, "created", v->created);
    json_pair_bool(w, "current", str_eq(v->id, list->current));
    json_close(w);
}

static bool vaults_print_json(const struct vaults *list, struct err *e)
{
    scoped_buf struct buf text = buf_of(LIST_MEMORY);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < list->count; i++)
        vault_put_row(list, &list->all[i], &w);
    json_close(&w);
    if (!buf_check(&text, "the list", e))
        return false;
    cli_put_line(buf_view(&text));
    return true;
}

static bool list_vaults(void *command, struct err *e)
{
    const struct vault_command *c = command;
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    if (!vaults_read(a, &list, e))
        return false;
    if (c->json)
        return vaults_print_json(&list, e);
    for (size_t i = 0; i < list.count; i++) {
        const struct vault_entry *v = &list.all[i];
        printf("%s %-16.*s %-24.*s %.*s\n", str_eq(v->id, list.current) ? "*" : " ",
               SPELT_ARGS(v->id), SPELT_ARGS(v->name), SPELT_ARGS(v->path));
    }
    return true;
}

/* ---- add, use, remove --------------------------------------------------- */

static bool add_vault(void *command, struct err *e)
{
    const struct vault_command *c = command;
    scoped(free) char *path = vaults_folder(c->words[1], c->make, e);
    if (!path)
        return false;
    char id[VAULT_ID_MAX + 1];
    vaults_id_of(path, id);
    const char *slash = strrchr(path, '/');
    struct vault_entry v = {
        .id = str_of(c->id ? c->id : id),
        .name = str_of(c->name    ? c->name
                       : slash[1] ? slash + 1
                                  : path),
        .path = str_of(path),
        .description = str_of(c->description),
    };
    if (!vaults_add(&v, c->use, e))
        return false;
    printf("%.*s\n", SPELT_ARGS(v.id));
    return true;
}

static bool use_vault(void *command, struct err *e)
{
    const struct vault_command *c = command;
    return vaults_use(str_of(c->words[1]), e);
}

static bool remove_vault(void *command, struct err *e)
{
    const struct vault_command *c = command;
    return vaults_remove(str_of(c->words[1]), e);
}

static const struct verb verbs[] = {
    {.name = "list", .run = list_vaults},
    {.name = "add",
     .takes = "a DIR",
     .least = 1,
     .most = 1,
     .only = "--id, --name, --description and --make",
     .run = add_vault},
    {.name = "use", .takes = "an ID", .least = 1, .most = 1, .run = use_vault},
    {.name = "remove", .takes = "an ID", .least = 1, .most = 1, .run = remove_vault},
};

int command_vault(int argc, char **argv)
{
    struct vault_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--id", &c.id, "ID",
                     "add: what code calls it (made from the folder)"),
        OPTION_VALUE("--name", &c.name, "NAME",
                     "add: what people call it (the folder's)"),
        OPTION_VALUE("--description", &c.description, "TEXT", "add: what it is for"),
        OPTION_FLAG("--make", &c.make, "add: make the folder where it is missing"),
        OPTION_FLAG("--use", &c.use, "add: and make it the current one"),
        OPTION_FLAG("--json", &c.json, "list: print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche vault (list | add DIR | use ID | remove ID) "
                 "[OPTIONS]\n\nManages the list of your vaults, which commands "
                 "without --vault use. Removing a\nvault from the list does not touch "
                 "its files.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    return verbs_command("vault", verbs, LENGTH(verbs), &use, &c, argc, argv);
}
