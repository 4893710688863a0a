/* The routes of Linux machines: the caller's own, starting and stopping one, a command. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "machines/internal.h"
#include "machines/machine_terminal.h"
#include "machines/vm_routes.api.h"
#include "routes/routes.h"

#define TYPED_MAX ((size_t)1 << 20)

/* Answers by the action; ?workspace= says whose policy is in force. */
static bool answer_action(struct route_call *c, const char *action,
                          const struct json *arguments, struct err *e)
{
    return route_action(c, action, arguments, route_text(c, "workspace"), NULL, e);
}

static bool route_machines(struct route_call *c, struct err *e)
{
    if (!answer_action(c, "vm_list", NULL, e))
        return false;
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    buf_clear(&c->out->body);
    struct json_writer w = route_writer(c);
    json_put(&w, json_get(said, "machines"));
    return said != NULL;
}

static bool route_start_machine(struct route_call *c, struct err *e)
{
    if (!answer_action(c, "vm_start", c->body, e))
        return false;
    char path[80];
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    (void)snprintf(path, sizeof path, "/vm/%.*s",
                   STR_ARGS(str_cut(json_str(json_get(said, "machine")), 60)));
    return said && route_header(c, "Location", str_of(path), e);
}

static bool route_exec(struct route_call *c, struct err *e)
{
    return answer_action(c, "vm_exec", c->body, e);
}

/* "default" is the one that a command runs in which names none. */
static void put_machine_of(struct route_call *c, struct json_writer *w)
{
    if (!str_is(c->values[0], "default"))
        json_pair_str(w, "machine", str_cut(c->values[0], 100));
}

static bool route_stop_machine(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_machine_of(c, &w);
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), c->arena, e);
    return arguments && answer_action(c, "vm_stop", arguments, e);
}

static void put_members(const struct json *body, struct json_writer *w)
{
    struct json_iter it = json_iter(body);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        json_put(w, it.value);
    }
}

/* The body, and the machine of the path. */
static const struct json *machine_arguments(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_members(c->body, &w);
    put_machine_of(c, &w);
    json_close(&w);
    return json_read(buf_view(&text), c->arena, e);
}

static bool route_apply(struct route_call *c, struct err *e)
{
    const struct json *arguments = machine_arguments(c, e);
    return arguments && answer_action(c, "vm_apply", arguments, e);
}

static bool route_expose(struct route_call *c, struct err *e)
{
    const struct json *arguments = machine_arguments(c, e);
    if (!arguments || !answer_action(c, "vm_expose", arguments, e))
        return false;
    char path[100];
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    (void)snprintf(path, sizeof path, "/vm/%.*s/ports/%lld",
                   STR_ARGS(str_cut(json_str(json_get(said, "machine")), 60)),
                   (long long)json_int(json_get(said, "port"), 0));
    return said && route_header(c, "Location", str_of(path), e);
}

static bool route_unexpose(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    struct err none = {0};
    const struct json *port = json_read(str_cut(c->values[1], 20), c->arena, &none);
    json_open_object(&w);
    json_pair_int(&w, "port", port && json_is_int(port) ? json_int(port, 0) : 0);
    json_pair_bool(&w, "close", true);
    put_machine_of(c, &w);
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), c->arena, e);
    return arguments && answer_action(c, "vm_expose", arguments, e);
}

/* ---- terminals ---------------------------------------------------------------------- */

static bool read_typed(struct route_call *c, struct terminal_input *in, struct buf *bytes,
                       struct err *e)
{
    const struct json *text = json_get(c->body, "text"),
                      *coded = json_get(c->body, "base64");
    int64_t rows = json_int(json_get(c->body, "rows"), 0),
            columns = json_int(json_get(c->body, "columns"), 0);
    if ((rows != 0) != (columns != 0) || (text && coded))
        return err_set(e, ERR_INVALID,
                       "rows and columns, and text or base64, are accepted");
    if (coded && !crypto_base64_read(json_str(coded), bytes, e))
        return false;
    bool any = str_is(c->values[0], "default");
    *in = (struct terminal_input){.machine = any ? STR("") : c->values[0],
                                  .name = c->values[1],
                                  .bytes = coded ? buf_view(bytes) : json_str(text),
                                  .rows = (uint16_t)rows,
                                  .columns = (uint16_t)columns};
    return true;
}

/* The command with the terminal was permitted and recorded when it began. */
static bool route_type(struct route_call *c, struct err *e)
{
    struct terminal_input in;
    char owner[MACHINE_OWNER];
    size_t typed;
    scoped_buf struct buf bytes = buf_of(TYPED_MAX);
    machine_owner(c->who, owner);
    if (!read_typed(c, &in, &bytes, e) ||
        !terminal_type(machines_terminals(c->actions), owner, &in, &typed, e))
        return false;
    struct json_writer w = route_writer(c);
    json_open_object(&w);
    json_pair_int(&w, "typed", (int64_t)typed);
    json_close(&w);
    return buf_check(&c->out->body, "the answer", e);
}

/* ---- copies ------------------------------------------------------------------------- */

/* Answers by an action that starts a machine; `name`: of a snapshot, or nothing. */
static bool start_copy(struct route_call *c, const char *action, const char *name,
                       struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    char path[80];
    json_open_object(&w);
    put_members(c->body, &w);
    if (name)
        json_pair_str(&w, name, str_cut(c->values[0], 100));
    else
        put_machine_of(c, &w);
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), c->arena, e);
    if (!arguments || !answer_action(c, action, arguments, e))
        return false;
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    (void)snprintf(path, sizeof path, "/vm/%.*s",
                   STR_ARGS(str_cut(json_str(json_get(said, "machine")), 60)));
    return said && route_header(c, "Location", str_of(path), e);
}

static bool route_fork(struct route_call *c, struct err *e)
{
    return start_copy(c, "vm_fork", NULL, e);
}

static bool route_restore(struct route_call *c, struct err *e)
{
    return start_copy(c, "vm_restore", "name", e);
}

static bool route_snapshots(struct route_call *c, struct err *e)
{
    if (!answer_action(c, "vm_snapshots", NULL, e))
        return false;
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    buf_clear(&c->out->body);
    struct json_writer w = route_writer(c);
    json_put(&w, json_get(said, "snapshots"));
    return said != NULL;
}

static bool route_snapshot(struct route_call *c, struct err *e)
{
    char path[120];
    if (!answer_action(c, "vm_snapshot", c->body, e))
        return false;
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    (void)snprintf(path, sizeof path, "/vm/snapshots/%.*s",
                   STR_ARGS(str_cut(json_str(json_get(said, "name")), 64)));
    return said && route_header(c, "Location", str_of(path), e);
}

static bool route_remove_snapshot(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_str(&w, "delete", str_cut(c->values[0], 100));
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), c->arena, e);
    if (!arguments || !answer_action(c, "vm_snapshots", arguments, e))
        return false;
    buf_clear(&c->out->body);
    struct json_writer out = route_writer(c);
    json_open_object(&out);
    json_pair_str(&out, "deleted", str_cut(c->values[0], 100));
    json_close(&out);
    return buf_check(&c->out->body, "the answer", e);
}

#define MACHINES "/vm"

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route rows[] = {
    {ROUTE("GET", MACHINES), .operation = "listMachines",
     .summary = "The caller's Linux machines",
     TELLS("Those of this caller alone, also those that have ended, with the reason."),
     .run = route_machines, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .answer = "Machine[]", .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES), .operation = "startMachine",
     .summary =
         "Starts a Linux machine; the first is the one that commands use by themselves",
     TELLS("Commands start one by themselves: this is for another size, or a further "
           "one."),
     .run = route_start_machine, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .status = 201, .body = "MachineOptions", .answer = "Machine",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/exec"), .operation = "execInMachine",
     .summary =
         "Runs a command in a Linux machine, which is started if there is none; with Accept: text/event-stream its output is streamed",
     TELLS("The command's exit code is in the answer: also one that is not 0 is 200. "
           "The shell and its files stay for the next command of the session."),
     .run = route_exec, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE | ROUTE_EVENTS,
     .body = "MachineCommand", .answer = "MachineResult",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("GET", MACHINES "/snapshots"), .operation = "listMachineSnapshots",
     .summary = "The caller's saved Linux machines",
     TELLS("Snapshots, and machines that are kept, as they were last frozen."),
     .run = route_snapshots, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .answer = "MachineSnapshot[]", .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/snapshots"), .operation = "saveMachine",
     .summary = "Saves a Linux machine under a name, with its memory and disk",
     TELLS("Each further machine of the caller begins with the one named \"default\"."),
     .run = route_snapshot, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .status = 201,
     .body = "SnapshotOptions", .answer = "MachineSnapshot",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/snapshots/{name}/restore"), .operation = "restoreMachine",
     .summary = "Starts a Linux machine from a snapshot",
     TELLS(
         "It continues where the snapshot was made. Connections of the past are reset."),
     .run = route_restore, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .status = 201,
     .body = "CopyOptions", .answer = "Machine", .parameters = MACHINE_PARAMETERS},
    {ROUTE("DELETE", MACHINES "/snapshots/{name}"), .operation = "removeMachineSnapshot",
     .summary = "Removes a saved Linux machine",
     TELLS("The snapshot of that name or, if there is none, the machine that is kept "
           "under it and does not run."),
     .run = route_remove_snapshot, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .answer = "RemovedSnapshot", .parameters = MACHINE_PARAMETERS},
    {ROUTE("DELETE", MACHINES "/{machine}"), .operation = "stopMachine",
     .summary =
         "Stops a Linux machine, with all that is in it; \"default\" is the one that "
         "commands use by themselves",
     TELLS("What runs in it ends, and its files are gone."), .run = route_stop_machine,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .answer = "StoppedMachine",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/{machine}/ports"), .operation = "exposePort",
     .summary =
         "Exposes a port of a Linux machine on a loopback address of this computer",
     TELLS("What listens at 0.0.0.0 in the machine at that port is at the url of the "
           "answer, until the machine ends. The policy, or a person, has to allow it."),
     .run = route_expose, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .status = 201,
     .body = "PortOptions", .answer = "ExposedPort", .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/{machine}/apply"), .operation = "applyOverlay",
     .summary = "Writes what changed in an overlay of a Linux machine to its folder",
     TELLS("All of it or nothing; with dryRun it is only listed. 409: something was "
           "changed on the host since the machine saw it."),
     .run = route_apply, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .body = "ApplyOptions", .answer = "AppliedChanges",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/{machine}/terminals/{terminal}"),
     .operation = "typeInTerminal",
     .summary = "Types into the terminal of a command that runs, or changes its size",
     TELLS("The command was begun with terminal: {name}, by the same caller; its output "
           "is in the events of that request."),
     .run = route_type, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .body = "TerminalInput", .answer = "TerminalTyped",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/{machine}/fork"), .operation = "forkMachine",
     .summary = "Copies a running Linux machine, in milliseconds",
     TELLS("Both go on from here, and neither sees what the other writes. Commands that "
           "run are ended in the copy."),
     .run = route_fork, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .status = 201,
     .body = "CopyOptions", .answer = "Machine", .parameters = MACHINE_PARAMETERS},
    {ROUTE("DELETE", MACHINES "/{machine}/ports/{port}"), .operation = "closePort",
     .summary = "Exposes it no more",
     TELLS("Connections that are open stay until they end."), .run = route_unexpose,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .answer = "ClosedPort",
     .parameters = MACHINE_PARAMETERS},
};
const struct route_group vm_routes = {.tag = "Machines",
                                      .about = "Linux machines in WebAssembly.",
                                      ROWS(rows),
                                      .order = 80,
                                      SCHEMAS(schemas),
                                      .root = "/vm/"};
