/* The host calls vm.read, vm.write and vm.ls: files of machines for code. files.js is their
 * side in the guest. */
#include "evaluation/evaluation.h"
#include "machines/machine_files.h"
#include "machines/vm_files.api.h"
#include "performing/performing.h"

EMBED(files_js, "src/capabilities/machines/files.js");

static bool perform(struct calling *x, const char *name, machine_fn *fn,
                    struct json_writer *out, struct err *e)
{
    struct evaluation *v = x->v;
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    struct tool_call call = {.actions = v->actions,
                             .who = v->who,
                             .place = v->here,
                             .account = v->account,
                             .arena = arena,
                             .cancel = v->cancel,
                             .code = v,
                             .outcome = &x->outcome};
    const struct json *options = call_options(x->args, name, e);
    return options && fn(&call, options, out, e);
}

static bool call_read(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.read", machines_read, out, e);
}

static bool call_write(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.write", machines_write, out, e);
}

static bool call_ls(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.ls", machines_ls, out, e);
}

/* ---- the rows -------------------------------------------------------------------- */

static const struct api_type types[] = {
    VM_FILES_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "vm.read", .slow = true, .wrap = files_js),
     .signature = VM_READ_SIGNATURE,
     .summary = "reads a file of a Linux machine, or a part of it, as text or bytes",
     .call = call_read, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "content is a string if the bytes are UTF-8, else a Uint8Array; encoding: 'base64' gives bytes in any case. Of a longer file the first length bytes (1048576) are read from offset on, and next is the offset of what follows; text is split between characters. A path that is not absolute is of /root.",
     .errors =
         "NotFound: no such file, or none of your machines runs. InvalidInput: a folder, or no regular file. PermissionDenied: the policy or a person refused it.",
     .example =
         "await vm.exec('python3 -c \"open(\\'/tmp/a\\', \\'w\\').write(\\'42\\')\"');\n"
         "return (await vm.read('/tmp/a')).content;",
     .words = "file download cat content bytes binary get copy out of machine linux"},
    {CALL(.name = "vm.write", .slow = true,
          .wrap = "(call, callSync, kit) => kit.shared.vmWrite(call)"),
     .signature = VM_WRITE_SIGNATURE,
     .summary = "writes a file of a Linux machine, from text or bytes",
     .call = call_write, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "Folders that are missing are made. The file is replaced at once when all of it is there, and keeps its permissions, or has those of mode; a link is followed. append: true adds to it. If none of your machines runs, one is started.",
     .errors =
         "InvalidInput: the path is a folder, or no regular file. LimitExceeded: the machine's disk is full. PermissionDenied: the policy or a person refused it, or the file system is read-only. NotFound: you have no such machine.",
     .example = "await vm.write('/tmp/in.csv', 'a,1\\nb,2\\n');\n"
                "return (await vm.exec('cut -d, -f2 /tmp/in.csv')).stdout;",
     .words = "file upload save create content bytes binary put copy into machine linux"},
    {CALL(.name = "vm.ls", .slow = true,
          .wrap = "(call, callSync, kit) => kit.shared.vmLs(call)"),
     .signature = VM_LS_SIGNATURE, .summary = "lists a folder of a Linux machine",
     .call = call_ls, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "By name, behind after; limit is 1,000, at most 10,000. total is the number of all; more is true if some behind the last one are left out. Hidden ones are listed, too.",
     .errors =
         "NotFound: no such folder, or none of your machines runs. InvalidInput: it is no folder. LimitExceeded: the folder is too large.",
     .example =
         "await vm.exec('touch /tmp/b /tmp/a');\n"
         "return (await vm.ls('/tmp')).entries.map((f) => [f.name, f.type, f.size]);",
     .words = "list folder directory files dir entries machine linux"},
};
const struct host_call_group vm_file_calls = {TABLE(rows), TYPES(types), .order = 145,
                                              .is_installed = machines_installed};
