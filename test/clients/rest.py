"""The same as rest.ts by what openapi-python-client made of the document.

    python rest.py FOLDER URL

FOLDER holds the generated package `client`. Prints the names of the modules that were used.
"""
import importlib
import io
import json
import pkgutil
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, sys.argv[1])
import client.api  # noqa: E402
import client.models as models  # noqa: E402
import client.types as types  # noqa: E402

server = client.Client(base_url=sys.argv[2], raise_on_unexpected_status=True)
modules = {}
for found in pkgutil.walk_packages(client.api.__path__, "client.api."):
    if not found.ispkg:
        modules[found.name.rsplit(".", 1)[1]] = importlib.import_module(found.name)
made = []


def answer(operation, *path, status=200, body=None, **more):
    """Makes the request; `body`: a model and its members."""
    made.append(operation)
    if body is not None:
        more["body"] = body[0].from_dict(body[1])
    got = modules[operation].sync_detailed(*path, client=server, **more)
    assert got.status_code == status, (operation, got)
    return got


def get(operation, *path, kind=None, **more):
    value = answer(operation, *path, **more).parsed
    if kind:
        assert isinstance(value, kind), (operation, value)
    return value


[workspace] = get("list_workspaces")
here = workspace.id
assert get("get_workspace", here, kind=models.Workspace).id == here

# ---- notes -------------------------------------------------------------------------------

SYNC = "# Weekly Sync\n\n[[start here]]\n\n## Date\n2025-11-29\n"
made_note = answer("create_note", here, status=201,
                   body=(models.NewNote, {"markdown": SYNC, "class": "Meeting"}))
note = made_note.parsed
assert note.properties.to_dict() == {"Date": "2025-11-29"}
read = answer("get_note", here, note.id)
assert read.parsed.links[0].target == "start here"
put = answer("replace_note", here, note.id, if_match=read.headers["etag"],
             body=(models.WholeNote, {"markdown": SYNC + "\n## Place\nAttic\n"}))
patched = get("update_note", here, note.id, if_match=put.headers["etag"],
              body=(models.NotePatch, {"properties": {"Date": "2025-12-06"}}))
assert patched.properties["Date"] == "2025-12-06"
[row] = get("list_notes", here, class_="Meeting", fields="id,properties.Date")
assert row.to_dict() == {"id": note.id, "properties": {"Date": "2025-12-06"}}
[row] = get("query_notes", here, body=(models.Query, {
    "filter": {"class": "Meeting"}, "sort": "properties.Date", "fields": ["title"]}))
assert row.to_dict() == {"title": "Weekly Sync"}
assert get("search_notes", here, q="weekly")[0].id == note.id
assert any(link.source == note.id and link.kind == "wiki" for link in get("list_links", here))
assert get("list_attachments", here) == []
assert any(row.name == "Meeting" for row in get("list_classes", here))
field = get("get_class", here, "Meeting", kind=models.Class).fields[0]
assert field.to_dict() == {"name": "Date", "type": "date", "required": False,
                           "inferred": True, "notes": 1}
assert len(get("list_revisions", here, note.id)) == 3
assert get("get_revision", here, note.id, 1, kind=models.OldNote).markdown == SYNC
get("restore_revision", here, note.id, 1, if_match="*", kind=models.Note)
assert get("list_changes", here, limit=1)[0].changes[0].id == note.id
undone = get("undo_calls", here, body=(models.Undo, {"since": "1h", "dry_run": True}))
assert undone.kept == 0
assert get("list_trash", here) == []

# ---- code --------------------------------------------------------------------------------

assert get("evaluate", here, body=(models.Evaluation, {"code": "return 6 * 7"})).result == 42
assert get("check_code", here, body=(models.Code, {"code": "return 6 * 7"})).ok is True
assert get("run_script", here, body=(models.Script, {"code": "workspace_id"})).result == here
assert len(get("list_records", here, limit=2)) == 2

# ---- functions ---------------------------------------------------------------------------

kept = get("register_function", here, status=201, body=(models.NewFunction, {
    "name": "one", "description": "One", "parameters": {}, "returnType": "number",
    "code": "function one(): number { return 1; }", "examples": [{"args": [], "expected": 1}]}))
assert kept.function.name == "one"
assert get("validate_function", here, body=(models.FunctionDraft, {"name": "2"})).valid is False
assert get("test_definition", here, body=(models.DefinitionTest, {"args": [], "definition": {
    "name": "draft", "description": "A draft", "parameters": {}, "returnType": "number",
    "code": "function draft(): number { return 2; }"}})).success is True
assert len(get("list_functions", here)) == 1
get("get_function", here, "one", kind=models.FunctionTold)
get("update_function", here, "one",
    body=(models.FunctionPatch, {"description": "The number one"}), kind=models.KeptFunction)
assert len(get("list_function_versions", here, "one").versions) == 2
get("get_stats_of_function", here, "one", kind=models.FunctionStats)
get("get_function_stats", here, kind=models.FunctionStats)
assert get("test_function", here, "one", body=(models.FunctionTest, {})).success is True
get("rollback_function", here, "one", body=(models.FunctionRollback, {"version": 1}))
get("duplicate_function", here, "one", status=201,
    body=(models.FunctionCopy, {"newName": "two"}), kind=models.KeptFunction)
exported = get("export_functions", here, kind=models.FunctionFile)
made.append("import_functions")
imported = modules["import_functions"].sync(
    here, client=server, body=models.AnyFunctionFileType0.from_dict(exported.to_dict()))
assert isinstance(imported, models.FunctionImport)
get("backup_functions", here, kind=models.FunctionBackups)
get("list_function_backups", here)
template = get("list_function_templates", here)[0].template
get("get_function_template", here, template, kind=models.FunctionTold)
get("delete_functions", here, names="two", kind=models.DeletedFunctions)
assert get("delete_function", here, "one").deleted == ["one"]
get("restore_functions", here, body=(models.FunctionRestore, {}))

# ---- tools and machines --------------------------------------------------------------------

assert any(tool.name == "jq" for tool in get("list_tools"))
get("get_tool", "jq", kind=models.ToolDescription)
assert get("run_tool", "jq", body=(models.ToolArguments, {"args": ["-n", "1"]})).exit_code == 0
get("start_machine", status=201, body=(models.MachineOptions, {}), kind=models.Machine)
done = get("exec_in_machine", body=(models.MachineCommand, {"command": "exit 3"}))
assert done.exit_code == 3
assert get("list_machines")[0].state == "running"
with ThreadPoolExecutor() as beside:
    command = {"command": "read x; echo got $x", "terminal": {"name": "t"}}
    typed_into = beside.submit(modules["exec_in_machine"].sync, client=server, body=models.MachineCommand.from_dict(command))
    line = models.TerminalInput.from_dict({"text": "a line\n"})
    made.append("type_in_terminal")
    while not isinstance(typed := modules["type_in_terminal"].sync("default", "t", client=server, body=line), models.TerminalTyped) or not typed.typed:
        pass
    assert typed.typed == 7 and typed_into.result().stdout.endswith("got a line\r\n")
made += ["write_machine_file", "read_machine_file"]
content = bytes(range(256))
wrote = modules["write_machine_file"].sync("default", client=server, path="/tmp/a",
                                           body=types.File(io.BytesIO(content)))
assert isinstance(wrote, models.WrittenMachineFile) and wrote.size == 256, wrote
read = modules["read_machine_file"].sync("default", client=server, path="/tmp/a")
assert read.payload.read() == content
part = modules["read_machine_file"].sync_detailed("default", client=server, path="/tmp/a", range_="bytes=-2")
assert (part.status_code, part.content) == (206, b"\xfe\xff"), part
listed = get("list_machine_files", "default", path="/tmp", kind=models.MachineFolder)
assert ("a", "file", 256) in [(entry.name, entry.type_.value, entry.size) for entry in listed.entries]
port = get("expose_port", "default", status=201, body=(models.PortOptions, {"port": 8000}))
assert port.url.startswith("http://127.")
get("close_port", "default", "8000", kind=models.ClosedPort)
answer("apply_overlay", "default", status=404, body=(models.ApplyOptions, {"at": "/none", "dryRun": True}))
saved = get("save_machine", status=201, body=(models.SnapshotOptions, {"name": "one"}), kind=models.MachineSnapshot)
assert saved.kind == "snapshot" and get("list_machine_snapshots")[0].name == "one"
again = get("restore_machine", "one", status=201, body=(models.CopyOptions, {}), kind=models.Machine)
copied = get("fork_machine", again.machine, status=201, body=(models.CopyOptions, {}), kind=models.Machine)
for machine in (again, copied):
    get("stop_machine", machine.machine, kind=models.StoppedMachine)
get("remove_machine_snapshot", "one", kind=models.RemovedSnapshot)
get("stop_machine", "default", kind=models.StoppedMachine)

# ---- the end -------------------------------------------------------------------------------

get("describe", kind=models.Description)
assert get("delete_note", here, note.id, kind=models.DeletedNote).deleted is True
gone = get("get_note", here, note.id, status=404, kind=models.Problem)
assert gone.code == "NOT_FOUND"
print(json.dumps(sorted(set(made))))
