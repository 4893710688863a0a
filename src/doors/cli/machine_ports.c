/* cloche vm ports, expose, unexpose: a person's look at the ports of the machines that servers of
 * this account have, whoever started them. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "nearby/nearby.h"
#include "json/json.h"

#define TOPIC "machines"
#define LIST_MAX ((size_t)8 << 20)
#define FOUND_MAX 256u
#define NAME_MIN 4u /* characters of a machine's name that have to be given */

struct ports_command {
    const char *words[4];
    size_t given;
    bool json, help;
    struct arena *arena;
    const struct json *machines[FOUND_MAX];
    size_t count;
    char *answer; /* of the machine's own process */
};

/* ---- asking ------------------------------------------------------------------------ */

static bool take_list(void *arg, struct str text)
{
    struct ports_command *c = arg;
    struct err none = {0};
    const char *copy = arena_copy(c->arena, text.at, text.n, &none);
    const struct json *all =
        copy ? json_read((struct str){copy, text.n}, c->arena, &none) : NULL;
    struct json_iter it = json_iter(json_get(all, "machines"));
    while (json_next(&it) && c->count < FOUND_MAX)
        c->machines[c->count++] = it.value;
    return true;
}

static bool find_all(struct ports_command *c, struct err *e)
{
    return nearby_ask(TOPIC, STR("{\"do\":\"ports\"}"), take_list, c, e);
}

static bool take_answer(void *arg, struct str text)
{
    struct ports_command *c = arg;
    struct err none = {0};
    c->answer = arena_copy(c->arena, text.at, text.n, &none);
    return false;
}

/* The one machine whose name begins so; a name may be left out where one runs. */
static const char *machine_named(struct ports_command *c, const char *name, struct err *e)
{
    const char *found = NULL;
    size_t n = strlen(name), hits = 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *id = json_cstr(json_get(c->machines[i], "machine"));
        if (strncmp(id, name, n) != 0)
            continue;
        found = id;
        hits++;
    }
    if (n < NAME_MIN || hits == 0)
        err_set(e, ERR_NOT_FOUND,
                "no machine '%.60s' runs in a server of yours; 'cloche vm ports' lists "
                "them (at least %u characters of a name are needed)",
                name, NAME_MIN);
    else if (hits > 1)
        err_set(e, ERR_CONFLICT, "'%.60s' is the beginning of %zu machines' names", name,
                hits);
    return e->code ? NULL : found;
}

static bool read_port(const char *text, const char *what, unsigned least, unsigned *out,
                      struct err *e)
{
    long long n = 0;
    if (!options_number(what, text, least, UINT16_MAX, &n, e))
        return false;
    *out = (unsigned)n;
    return true;
}

/* ---- printing ------------------------------------------------------------------------ */

static void print_port(const struct json *p)
{
    printf("  port %lld at %s\n", (long long)json_int(json_get(p, "port"), 0),
           json_cstr(json_get(p, "url")));
}

static void print_machine(const struct json *m)
{
    const struct json *ports = json_get(m, "ports");
    const char *caller = json_cstr(json_get(m, "caller"));
    printf("%s  of %.*s, process %lld, since %s%s\n", json_cstr(json_get(m, "machine")),
           SPELT_ARGS(str_of(caller)), (long long)json_int(json_get(m, "process"), 0),
           json_cstr(json_get(m, "started")),
           json_length(ports) ? "" : ", no port exposed");
    struct json_iter it = json_iter(ports);
    while (json_next(&it))
        print_port(it.value);
}

static void print_json(const struct ports_command *c)
{
    scoped_buf struct buf text = buf_of(LIST_MAX);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < c->count; i++)
        json_put(&w, c->machines[i]);
    json_close(&w);
    cli_put_line(buf_view(&text));
}

/* ---- the commands ---------------------------------------------------------------------- */

static bool list_ports(struct ports_command *c, struct err *e)
{
    if (!find_all(c, e))
        return false;
    if (c->json) {
        print_json(c);
        return true;
    }
    for (size_t i = 0; i < c->count; i++)
        print_machine(c->machines[i]);
    if (!c->count)
        fprintf(stderr, "No machine runs in a server of yours.\n");
    return true;
}

/* Asks the process that has the machine. */
static const struct json *ask(struct ports_command *c, const char *what, unsigned port,
                              unsigned host_port, struct err *e)
{
    const char *id = find_all(c, e) ? machine_named(c, c->words[0], e) : NULL;
    if (!id)
        return NULL;
    scoped_buf struct buf request = buf_of(NEARBY_REQUEST_MAX);
    struct json_writer w = json_writer(&request);
    json_open_object(&w);
    json_pair_cstr(&w, "do", what);
    json_pair_cstr(&w, "machine", id);
    json_pair_int(&w, "port", port);
    json_pair_int(&w, "hostPort", host_port);
    json_close(&w);
    if (!nearby_ask(TOPIC, buf_view(&request), take_answer, c, e))
        return NULL;
    const struct json *answer =
        c->answer ? json_read(str_of(c->answer), c->arena, e) : NULL;
    const char *why = json_cstr(json_get(answer, "error"));
    if (!answer || *why)
        err_set(e, *why ? ERR_CONFLICT : ERR_NOT_FOUND, "%s",
                *why ? why : "the machine has ended");
    return e->code ? NULL : answer;
}

static bool expose_port(struct ports_command *c, struct err *e)
{
    unsigned port = 0, host_port = 0;
    if (!read_port(c->words[1], "PORT", 1, &port, e) ||
        (c->given > 2 && !read_port(c->words[2], "HOSTPORT", 1024, &host_port, e)))
        return false;
    const struct json *answer = ask(c, "expose", port, host_port, e);
    const char *url = json_cstr(json_get(json_get(answer, "exposed"), "url"));
    if (!answer)
        return false;
    if (c->json)
        printf("{\"port\":%u,\"url\":\"%s\"}\n", port, url);
    else
        printf("%s\n", url);
    return true;
}

static bool unexpose_port(struct ports_command *c, struct err *e)
{
    unsigned port = 0;
    return read_port(c->words[1], "PORT", 1, &port, e) &&
           ask(c, "unexpose", port, 0, e) != NULL;
}

static int run(int argc, char **argv, const char *usage, size_t least, size_t most,
               bool (*command)(struct ports_command *c, struct err *e))
{
    int exit;
    struct err e = {0};
    struct ports_command c = {0};
    const struct option_row rows[] = {
        OPTION_FLAG("--json", &c.json, "print JSON"),
        OPTION_FLAG("--help", &c.help, "print this"),
    };
    struct option_use use = {
        .usage = usage, OPTION_ROWS(rows, &c.help), OPTION_WORDS(c.words)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    c.given = use.given;
    if (use.given < least || use.given > most) {
        err_set(&e, ERR_INVALID, "usage: %.*s", (int)strcspn(usage, "\n"), usage);
        return cli_fail(&e);
    }
    c.arena = arena_new(4 * LIST_MAX);
    bool ok = command(&c, &e);
    exit = ok ? EXIT_DONE : cli_fail(&e);
    arena_free(c.arena);
    return exit;
}

int ports_command_list(int argc, char **argv)
{
    return run(
        argc, argv,
        "cloche vm ports [--json]\n\nLists the machines of your servers (cloche "
        "serve, cloche mcp), with the ports that\nare exposed. Machines are named as "
        "in the audit.",
        0, 0, list_ports);
}

int ports_command_expose(int argc, char **argv)
{
    return run(
        argc, argv,
        "cloche vm expose MACHINE PORT [HOSTPORT]\n\nExposes a port of a machine at "
        "a loopback address of this computer, and prints\nwhere. MACHINE is a name of "
        "'cloche vm ports', or its beginning.",
        2, 3, expose_port);
}

int ports_command_unexpose(int argc, char **argv)
{
    return run(
        argc, argv,
        "cloche vm unexpose MACHINE PORT\n\nCloses a port that is exposed. Connections "
        "stay until they end.",
        2, 2, unexpose_port);
}
