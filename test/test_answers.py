"""Every action called by the official clients, which check answers against its output schema: by
its own name and by run_tool, successful calls and failures. The list shows all actions, so that the
clients know all schemas."""
import functools
import json
import os
import subprocess
import sys

import pytest

from conftest import ROOT, folders_in, policy_in, sample_vault
from packages import module, package
from test_schemas import all_tools
from wire import Stdio

sys.path.insert(0, str(ROOT / "test" / "clients"))
from calls import make  # noqa: E402

DEPS = ROOT / "build" / "deps"
NODE, PACKAGES = DEPS / "node", DEPS / "npm-test" / "node_modules"
MACHINE = (ROOT / "build/vm/machine-512.mem").exists()

CODE = "async function twice(n: number): Promise<number> { return 2 * n; }"
TWICE = {"name": "twice", "description": "Twice n", "returnType": "number", "code": CODE,
         "parameters": {"n": {"type": "number", "description": "a number"}},
         "examples": [{"args": {"n": 2}, "expected": 4}]}
IDEA = {"type": "idea", "title": "Kept", "content": "x"}
BIG = "return 'x'.repeat(3000000)"

# (action, arguments, goes well): in this order, since one uses what another made.
CALLS = [
    ("evaluate_note_code", {"code": BIG}, False),
    ("read_result", {"resource": "$0.errorDetails.resource", "limit": 100}, True),
    ("read_result", {"resource": "cloche://result/none"}, False),
    ("evaluate_note_code", {"code": "return [1, {a: null}]"}, True),
    ("evaluate_note_code", {"code": "throw new Error('no')"}, False),
    ("evaluate_note_code", {"code": "1 +"}, False),
    ("evaluate_note_code", {"code": "for (;;);", "timeout": 50}, False),
    ("evaluate_note_code", {"code": "1", "session": "s"}, True),
    ("close_session", {"session": "s"}, True),
    ("close_session", {"session": "no such one"}, None),
    ("get_note", {"identifier": "project/greenhouse"}, True),
    ("get_note", {"identifier": "no/such"}, False),
    ("get_note", {}, False),
    ("search_notes", {"query": "greenhouse"}, True),
    ("search_notes", {"query": "zzzz"}, True),
    ("search_notes", {"query": "(", "useRegex": True}, False),
    ("create_note", IDEA, True),
    ("create_note", IDEA, False),
    # An answer that is shortened still fits its schema.
    ("create_note", {**IDEA, "title": "Large", "content": "long line\n" * 90_000}, True),
    ("create_note", {**IDEA, "title": "Wide",
                     "metadata": {f"key{n}": "value " * 9 for n in range(3400)},
                     "content": "long line\n" * 60_000}, True),
    ("get_note", {"identifier": "idea/Large"}, True),
    ("get_note", {"identifier": "idea/Wide"}, True),
    ("update_note", {"identifier": "idea/Kept", "content": "y", "force": True}, True),
    ("update_note", {"identifier": "idea/Kept", "content": "y", "contentHash": "0"}, False),
    ("rename_note", {"identifier": "idea/Kept", "new_title": "Other", "force": True}, True),
    ("rename_note", {"identifier": "idea/none", "new_title": "Other", "force": True}, False),
    ("check_code", {"code": "notes.get('a')"}, True),
    ("check_code", {"code": "1 +"}, True),
    ("search_api", {"query": "backlinks"}, True),
    ("search_api", {"query": "qqqq"}, True),
    ("describe_api", {}, True),
    ("describe_api", {"name": "notes.update"}, True),
    ("describe_api", {"name": "notes.nothing"}, None),
    ("find_tools", {"query": "rename"}, True),
    ("run_script", {"code": "1 + 1", "workspace_id": "vault"}, True),
    ("run_script", {"code": "throw 1", "workspace_id": "vault"}, False),
    ("run_script", {"code": "1", "workspace_id": "none"}, False),
    ("register_custom_function", TWICE, True),
    ("register_custom_function", {"name": "no"}, False),
    ("validate_custom_function", TWICE | {"name": "thrice"}, True),
    ("validate_custom_function", {"code": "1 +"}, True),
    ("test_custom_function", {"name": "twice"}, True),
    ("test_custom_function", {"name": "twice", "args": {"n": 4}}, True),
    ("test_custom_function", {"name": "none"}, False),
    ("list_custom_functions", {}, True),
    ("list_custom_functions", {"cursor": "none"}, None),
    ("get_custom_function", {"name": "twice"}, True),
    ("get_custom_function", {"name": "none"}, False),
    ("update_custom_function", {"name": "twice", "description": "Two times n"}, True),
    ("update_custom_function", {"name": "twice", "code": "no"}, False),
    ("custom_function_versions", {"name": "twice"}, True),
    ("custom_function_versions", {"name": "twice", "from": 1, "to": 2}, True),
    ("custom_function_versions", {"name": "none"}, False),
    ("rollback_custom_function", {"name": "twice", "version": 1}, True),
    ("rollback_custom_function", {"name": "twice", "version": 9}, False),
    ("duplicate_custom_function", {"name": "twice", "newName": "doubled"}, True),
    ("duplicate_custom_function", {"name": "none", "newName": "doubled"}, False),
    ("custom_function_stats", {}, True),
    ("custom_function_stats", {"name": "twice"}, True),
    ("custom_function_stats", {"name": "none"}, None),
    ("custom_function_templates", {}, True),
    ("custom_function_templates", {"template": "none"}, False),
    ("export_custom_functions", {}, True),
    ("export_custom_functions", {"names": ["none"]}, False),
    ("import_custom_functions", {"text": "{", "dryRun": True}, False),
    ("backup_custom_functions", {}, True),
    ("backup_custom_functions", {"list": True}, True),
    ("restore_custom_functions", {}, True),
    ("restore_custom_functions", {"backup": "none"}, False),
    ("migrate_custom_functions", {}, True),
    ("delete_custom_function", {"names": ["doubled", "twice"]}, True),
    ("delete_custom_function", {"name": "none"}, False),
    ("vm_list", {}, True),
    ("vm_start", {}, MACHINE),
    ("vm_exec", {"command": "true"}, MACHINE),
    ("vm_exec", {"command": "exit 3"}, MACHINE),
    ("vm_expose", {"port": 0}, False),
    ("vm_write", {"path": "/tmp/a/b", "content": "ä"}, MACHINE),
    ("vm_write", {"path": "/tmp/a/c", "content": {"base64": "AP8="}, "mode": "600"}, MACHINE),
    ("vm_write", {"path": "/tmp/a", "content": ""}, False),
    ("vm_read", {"path": "/tmp/a/b"}, MACHINE),
    ("vm_read", {"path": "/tmp/a/c", "offset": 1, "length": 1}, MACHINE),
    ("vm_read", {"path": "/tmp/none"}, False),
    ("vm_ls", {"path": "/tmp/a"}, MACHINE),
    ("vm_ls", {"path": "/tmp/a/b"}, False),
    ("vm_snapshots", {}, True),
    ("vm_snapshots", {"delete": "none"}, False),
    ("vm_snapshot", {"name": "one"}, MACHINE),
    ("vm_snapshot", {"name": "../one"}, False),
    ("vm_restore", {"name": "one"}, MACHINE),
    ("vm_restore", {"name": "none"}, False),
    ("vm_fork", {}, MACHINE),
    ("vm_fork", {"machine": "none"}, False),
    ("vm_apply", {"at": "/none"}, False),
    ("vm_apply", {"machine": "none", "at": "/none"}, False),
    ("vm_stop", {}, None),
    ("vm_stop", {"machine": "none"}, None),
    ("wasm_probe", {}, True),
    ("wasm_probe", {"timeout": -1}, False),
    ("wasm_broken", {}, False),
    ("run_tool", {"name": "probe"}, True),
    ("run_tool", {"pipeline": [{"tool": "probe"}, {"tool": "probe"}]}, True),
    ("run_tool", {"name": "none"}, False),
    ("run_tool", {}, False),
]


def as_run_tool(name, arguments):
    """The same call for a host that only calls what is in its list."""
    return ("run_tool", {"name": name, "arguments": arguments}) if name != "run_tool" else \
        (name, arguments)


def calls_by(way):
    rows = [(name, arguments) for name, arguments, _ in CALLS]
    return rows if way == "directly" else [as_run_tool(*row) for row in rows]


@pytest.fixture(scope="module")
def place(cloche, tmp_path_factory):
    """(a new vault's command, its environment) of each use."""
    def make_place():
        folder = tmp_path_factory.mktemp("answers")
        policy_in(folder, {"tools": {"default": "always", "exposure": "all"}})
        env = os.environ | folders_in(folder) | {"HOME": str(folder)}
        for name, wasm in (("probe", module()), ("broken", module(body=b"\0\x0b"))):
            file = folder / f"{name}.zip"
            file.write_bytes(package({"name": name}, wasm))
            subprocess.run([cloche, "tool", "install", file], env=env, check=True,
                           capture_output=True)
        return [cloche, "mcp", "--vault", str(sample_vault(folder))], env
    return make_place


@pytest.fixture(scope="module")
def answers(place, tmp_path_factory):
    @functools.cache
    def run(client, way):
        command, env = place()
        assert NODE.exists() and PACKAGES.exists(), "deps/fetch test brings the clients"
        if client == "python":
            return make(calls_by(way), command, env)
        file = tmp_path_factory.mktemp("calls") / "calls.json"
        file.write_text(json.dumps(calls_by(way)))
        done = subprocess.run([str(NODE), str(ROOT / "test/clients/calls.mjs"), str(PACKAGES),
                               client, str(file), *command], env=env, capture_output=True,
                              text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def test_every_action_is_called_here(place):
    command, env = place()
    with Stdio(command, env=env) as client:
        listed = {t["name"] for t in all_tools(client)}
    ours = {n for n in listed if not n.startswith("wasm_")} | {"wasm_probe", "wasm_broken"}
    assert ours == {name for name, _, _ in CALLS}


@pytest.mark.parametrize("way", ["directly", "by run_tool"])
@pytest.mark.parametrize("client", ["python", "sdk", "client"])
def test_no_answer_breaks_its_output_schema(answers, client, way):
    results = answers(client, way)
    thrown = [(CALLS[i][:2], r["thrown"]) for i, r in enumerate(results) if "thrown" in r]
    assert thrown == []
    wrong = [(CALLS[i], r) for i, r in enumerate(results)
             if CALLS[i][2] is not None and r["isError"] == CALLS[i][2]]
    assert wrong == []


@pytest.mark.parametrize("client", ["python", "sdk", "client"])
def test_both_ways_answer_with_the_same_members(answers, client):
    for row, one, other in zip(CALLS, answers(client, "directly"),
                               answers(client, "by run_tool")):
        assert sorted(one["content"] or {}) == sorted(other["content"] or {}), row
