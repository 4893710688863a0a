"""A command with files of its own, and programs of a machine that call notes and tools back."""
import base64
import hashlib
import json

import pytest

import needs
from conftest import ROOT, policy_in
from machine_doors import needs_image
from test_machine import agent, evaluate, refusal, result_of, vm  # noqa: F401
from test_permissions import trail
from wire import Server, Stdio, call, initialize, notification, structured

pytestmark = needs_image


# ---- files of a command --------------------------------------------------------------------


def test_files_are_there_when_the_command_begins(agent):  # noqa: F811
    odd = bytes(range(256))
    long = "d" * 90 + "/" + "n" * 120
    got = vm(agent, command="cat a.txt; sha256sum < b/c; cat /tmp/abs; wc -c < " + long + "; stat -c %a:%U a.txt",
             files={"a.txt": "grün\n", "b/c": {"base64": base64.b64encode(odd).decode()}, "/tmp/abs": "x\n", long: "7 bytes"})
    assert got["stdout"] == f"grün\n{hashlib.sha256(odd).hexdigest()}  -\nx\n7\n644:root\n", got
    got = vm(agent, command="cat here; ls -A /root | sort", cwd="/usr/local", files={"here": "in cwd"})
    assert got["stdout"].startswith("in cwd") and "here" not in got["stdout"].removeprefix("in cwd")


def test_many_files_come_at_once(agent):  # noqa: F811
    files = {f"many/{i % 7}/{i}": f"{i}\n" for i in range(2000)}
    got = vm(agent, command="find many -type f | wc -l; cat many/*/* | awk '{s += $1} END {print s}'", files=files)
    assert got["stdout"] == f"2000\n{sum(range(2000))}\n"


def test_a_file_replaces_a_link_and_is_not_written_through_it(agent):  # noqa: F811
    vm(agent, command="echo old > /tmp/target; ln -s /tmp/target /root/l")
    got = vm(agent, command="cat l; cat /tmp/target; test -L l || echo plain", files={"l": "new\n"})
    assert got["stdout"] == "new\nold\nplain\n"


def test_the_command_does_not_run_without_its_files(agent):  # noqa: F811
    vm(agent, command="touch /tmp/plain; mkdir /tmp/dir; touch /tmp/dir/x; mount -t tmpfs -o size=64k none /mnt")
    for files, says in (({"/tmp/plain/x": ""}, "InvalidInput"), ({"/tmp/dir": ""}, "InvalidInput"),
                        ({"/mnt/x": "x" * 200000}, "LimitExceeded"), ({"../x": ""}, "InvalidInput"),
                        ({"a/../../x": ""}, "InvalidInput"), ({"a/": ""}, "InvalidInput"), ({"": ""}, "InvalidInput"),
                        ({"a": 3}, "InvalidInput"), ([], "InvalidInput"), ({"x" * 5000: ""}, "InvalidInput"),
                        ({str(i): "" for i in range(10001)}, "LimitExceeded")):
        assert refusal(agent, command="touch /tmp/ran", files=files).startswith(says), str(files)[:80]
    assert vm(agent, command="ls /tmp/ran")["exitCode"] != 0


def test_code_gives_bytes_as_files(agent):  # noqa: F811
    assert result_of(agent, """
        const notes_ = await notes.search({query: 'garden', limit: 5});
        const files = {'rows.json': JSON.stringify(notes_), 'b': new Uint8Array([0, 255, 10])};
        const r = await vm.exec('python3 -c "import json; print(len(json.load(open(\\'rows.json\\'))))"; od -An -tx1 b', {files});
        return [r.stdout, notes_.length];
        """, timeout=30000) == [f"{5}\n 00 ff 0a\n", 5]


# ---- notes, tools and machines in one evaluation ---------------------------------------------

COMPOSED = r"""
    const rows = (await notes.list({limit: 5})).map((n) => ({id: n.id, size: n.size}));
    const sum = 'import json; print(sum(r["size"] for r in json.load(open("rows.json"))))';
    const counted = await vm.exec(['sh', '-c', 'python3 -c "$1" >/out/sum', 'sh', sum],
        {cwd: '/in', mounts: [{files: {'rows.json': JSON.stringify(rows)}, at: '/in', mode: 'ro'}, {files: {}, at: '/out'}]});
    const piped = await tools.pipe([{tool: 'jq', args: ['-c', '.[].size']}, {vm: 'sort -n'}, {tool: 'tail', args: ['-n', '1']}],
        {stdin: JSON.stringify(rows)});
    await notes.create({type: 'note', title: 'Sum', content: counted.files[0].text + piped.stdout});
    const sizes = rows.map((r) => r.size);
    return [counted.files[0].text + piped.stdout, `${sizes.reduce((a, b) => a + b)}\n${Math.max(...sizes)}\n`];
"""


@needs.installed(ROOT / "build/guest/tools/jq", by="make tools")
def test_notes_a_machine_and_tools_are_one_call_with_one_record(agent, vault):  # noqa: F811
    told, meant = result_of(agent, COMPOSED)
    assert told == meant
    assert evaluate(agent, "return (await notes.get('note/Sum')).content")["result"].strip() == told.strip()
    record, = [r for r in trail(vault) if r.get("action") == "evaluate_note_code" and r.get("machines")]
    assert [t["tool"] for t in record["tools"]] == ["jq", "tail"]
    counted, sorted_ = record["machines"]
    assert counted["machine"] == sorted_["machine"] and counted["stdin_bytes"] > 50 and sorted_["stdin_bytes"] > 0
    assert record["changed"] and record["notes"] == ["note/Sum"]


def test_one_budget_holds_for_all_of_it(agent):  # noqa: F811
    got = evaluate(agent, "await vm.exec('echo before >/root/f; sleep 100; echo after >/root/f')", timeout=3000)
    assert not got["success"] and got["errorDetails"]["type"] == "Timeout"
    assert vm(agent, command="while pgrep -x sleep; do read -t .05 <> <(:); done >/dev/null; cat /root/f")["stdout"] == "before\n"


def test_one_cancel_ends_all_of_it(agent):  # noqa: F811
    agent.ask(initialize())
    code = "await notes.create({type: 'note', title: 'First', content: ''}); await vm.exec('touch /tmp/up; sleep 1000')"
    agent.send(call("evaluate_note_code", {"code": code, "timeout": 30000}, id=5))
    while vm(agent, command="ls /tmp/up", session="eye", id=6)["exitCode"]:
        pass
    agent.send(notification("notifications/cancelled", {"requestId": 5}))
    assert vm(agent, command="while pgrep -x sleep; do read -t .05 <> <(:); done >/dev/null; echo gone", session="eye",
              id=7)["stdout"] == "gone\n"


# ---- calls of its programs -------------------------------------------------------------------


def guest(agent, command, **more):  # noqa: F811
    return vm(agent, command=command, calls=True, **more)


def test_a_shell_script_uses_notes(agent, vault):  # noqa: F811
    got = guest(agent, """
        set -e
        cloche-guest notes.create type=note title='From a script' content="$(printf 'one\\ntwo')" >/tmp/made
        id=$(python3 -c 'import json; print(json.load(open("/tmp/made"))["id"])')
        cloche-guest notes.get "$id"
        cloche-guest notes.search query=script limit:=1
        """)
    assert got["exitCode"] == 0, got
    note, found = map(json.loads, got["stdout"].splitlines())
    assert note["title"] == "From a script" and note["content"] == "one\ntwo"
    assert [row["id"] for row in found] == [note["id"]]
    record = [r for r in trail(vault) if r.get("action") == "vm_exec"][-1]
    assert record["changed"], "the call's own record has the change"


def test_arguments_are_json_text_or_bytes(agent):  # noqa: F811
    title = 'it\'s "q" ä'
    got = guest(agent, """
        printf 'body\\n' > /tmp/body
        cloche-guest notes.create type=note title='%s' content=@/tmp/body metadata:='{"a": [1, true]}'
        printf 'from stdin' | cloche-guest notes.create type=note title=42 content=@-
        """ % title.replace("'", "'\\''"))
    first, second = map(json.loads, got["stdout"].splitlines())
    assert (first["title"], second["title"]) == (title, "42")
    got = [json.loads(line) for line in guest(agent, f"cloche-guest notes.get {first['id']!r}; cloche-guest notes.get note/42".replace(
        repr(first["id"]), "'" + first["id"].replace("'", "'\\''") + "'"))["stdout"].splitlines()]
    assert got[0]["content"].rstrip("\n") == "body" and got[0]["metadata"]["a"] == [1, True]
    assert got[1]["content"] == "from stdin"


def test_custom_functions_are_called_with_their_arguments(agent):  # noqa: F811
    made = agent.ask(call("register_custom_function", {
        "name": "sum", "description": "Adds numbers, and looks for notes.", "returnType": "Promise<object>",
        "parameters": {"a": {"type": "number"}, "b": {"type": "number"}, "o": {"type": "object", "optional": True}},
        "code": "async function sum(a: number, b: number, o?: object) { const all = await notes.list(); return {sum: a + b, text: o ? (o as {text: string}).text : null, notes: all.length > 0}; }"}))
    assert structured(made)["success"], made
    got = guest(agent, """
        cloche-guest customFunctions.sum :=2 :=3
        cloche-guest customFunctions.sum :=2 :=3 text=given
        cloche-guest customFunctions.sum two :=3
        cloche-guest customFunctions.none""")
    first, second = map(json.loads, got["stdout"].splitlines())
    assert first == {"sum": 5, "text": None, "notes": True} and second["text"] == "given"
    wrong, none = got["stderr"].splitlines()
    assert "sum" in wrong and "number" in wrong and none.startswith("NotFound") and "customFunctions" in none


def test_a_custom_function_may_run_a_command_beside_the_one_that_calls_it(agent):  # noqa: F811
    made = agent.ask(call("register_custom_function", {
        "name": "inside", "description": "Runs a command.", "returnType": "Promise<string>", "parameters": {"session": {"type": "string"}},
        "code": "async function inside(session: string) { const r = await vm.exec('echo in', {session, timeoutMs: 1000}); return r.stdout as string; }"}))
    assert structured(made)["success"], made
    got = guest(agent, "cloche-guest customFunctions.inside b; cloche-guest customFunctions.inside default; echo end", timeoutMs=20000)
    assert got["stdout"] == '"in\\n"\nend\n' and "Busy" in got["stderr"], got


def test_a_failed_call_says_why_and_its_exit_code_is_1(agent):  # noqa: F811
    for words, says in (("notes.nope", "NotFound"), ("vm.exec true", "PermissionDenied"), ("fs.readFile /x", "PermissionDenied"),
                        ("notes.create title=x nope:=1", "InvalidInput"), ("'a b'", "NotFound"), ("fetch x", "NotFound")):
        got = guest(agent, f"cloche-guest {words}")
        assert got["exitCode"] == 1 and got["stderr"].startswith(says) and got["stdout"] == "", (words, got)
    assert guest(agent, "cloche-guest")["exitCode"] == 2
    assert guest(agent, "cloche-guest --help")["stdout"].startswith("usage: cloche-guest")
    assert guest(agent, "cloche-guest notes.create content=@/none")["exitCode"] == 2


def test_only_a_command_that_may_calls_back(agent):  # noqa: F811
    got = vm(agent, command="cloche-guest notes.list")
    assert got["exitCode"] == 2 and "calls: true" in got["stderr"]
    got = guest(agent, "echo $CLOCHE_GUEST; test -S $CLOCHE_GUEST && echo there")
    path, there = got["stdout"].splitlines()
    assert path.startswith("/run/cloche-") and there == "there"
    # Not after it, and not the next command.
    got = vm(agent, command=f"CLOCHE_GUEST={path} cloche-guest notes.list; echo $?; test -e {path}; echo $? -$CLOCHE_GUEST-")
    assert got["stdout"] == "2\n1 --\n", got


def test_its_rights_are_those_of_the_call(cloche, vault, tmp_path):
    policy_in(tmp_path, {"readOnly": True})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        got = guest(client, "cloche-guest notes.create type=note title=x content=y; cloche-guest notes.list | head -c 1")
        assert "PermissionDenied" in got["stderr"] and got["stdout"] == "["
    policy_in(tmp_path, {"vm": {"calls": "never"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        assert refusal(client, command="true", calls=True).startswith("PermissionDenied")
        assert vm(client, command="cloche-guest notes.list")["exitCode"] == 2
    policy_in(tmp_path, {})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        code = "return (await vm.exec('cloche-guest notes.create type=note title=x content=y', {calls: true})).stderr"
        got = evaluate(client, code, allowedAPIs=["vm.*", "notes.get"])
        assert "PermissionDenied" in got["result"], got
        assert "PermissionDenied" not in evaluate(client, code, allowedAPIs=["vm.*", "notes.create"])["result"]


def test_a_custom_function_gives_its_machine_no_calls(agent):  # noqa: F811
    code = "async function inside(): Promise<string> { return (await vm.exec('cloche-guest notes.list', {calls: true})).stdout as string; }"
    structured(agent.ask(call("register_custom_function", {
        "name": "inside", "description": "Runs a command", "parameters": {}, "returnType": "string", "code": code})))
    got = evaluate(agent, "return await customFunctions.inside()")
    assert not got["success"] and "custom function" in got["error"], got


def test_calls_of_code_and_of_its_machine_are_one_record(agent, vault):  # noqa: F811
    got = result_of(agent, """
        const before = (await notes.list()).length;
        const r = await vm.exec('for i in 1 2 3; do cloche-guest notes.create type=note title=n$i content=$i >/dev/null || touch /tmp/failed & done; wait', {calls: true});
        return [r.exitCode, (await notes.list()).length - before, (await vm.ls('/tmp')).entries.map((e) => e.name)];
        """)
    assert got == [0, 3, []]
    record = [r for r in trail(vault) if r.get("action") == "evaluate_note_code"][-1]
    assert record["calls"]["notes.create"] == 3 and record["calls"]["vm.exec"] == 1, record
    assert [m["call"] for m in record["machines"]] == ["vm.exec", "vm.ls"]


def test_many_calls_at_once_and_large_ones(agent):  # noqa: F811
    got = guest(agent, """
        for i in $(seq 30); do cloche-guest utils.now >/dev/null 2>&1; cloche-guest notes.list limit:=1 >/tmp/o$i & done; wait
        cat /tmp/o* | wc -l
        head -c 3000000 /dev/zero | tr '\\0' x >/tmp/large
        cloche-guest notes.create type=note title=large content=@/tmp/large >/dev/null
        cloche-guest notes.get note/large | wc -c
        head -c 17000000 /dev/zero >/tmp/huge
        cloche-guest notes.create type=note title=huge content=@/tmp/huge; echo $?
        """)
    lines = got["stdout"].splitlines()
    assert lines[0] == "30" and int(lines[1]) > 3000000 and lines[2] == "2", got


@pytest.mark.parametrize("relay", ["head -c 100000 /dev/urandom", "printf '\\0\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\377\\377\\377\\377'", "exit 3",
                                   "printf '\\0\\0\\0\\0\\0\\0\\0\\0'; cat >/dev/null"], ids=["noise", "length", "none", "mute"])
def test_a_relay_that_was_replaced_harms_nobody(agent, relay):  # noqa: F811
    vm(agent, command=f"printf '#!/bin/sh\\n%s\\n' {json.dumps(relay)} > /usr/local/sbin/cloche-guest; chmod +x /usr/local/sbin/cloche-guest")
    result = agent.ask(call("vm_exec", {"command": "echo ran", "calls": True}))["result"]
    assert result["isError"] or result["structuredContent"]["stdout"] == "ran\n"
    vm(agent, command="rm /usr/local/sbin/cloche-guest")
    assert guest(agent, "cloche-guest notes.list limit:=1 | head -c 1")["stdout"] == "["


def test_a_cancelled_command_calls_no_more(agent):  # noqa: F811
    got = guest(agent, "cloche-guest notes.list limit:=1 >/dev/null; sleep 100; cloche-guest notes.create type=note title=late content=x",
                timeoutMs=3000)
    assert got["timedOut"]
    assert json.loads(guest(agent, "cloche-guest notes.get note/late")["stdout"]) is None


@needs.installed(ROOT / "build/guest/tools/jq", by="make tools")
def test_bytes_pass_from_the_machine_through_a_tool_and_back(cloche, vault, tmp_path):
    policy_in(tmp_path, {"tools": {"default": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        got = guest(client, """
            seq 1000 | python3 -c 'import json, sys; print(json.dumps([int(l) for l in sys.stdin]))' |
                cloche-guest -r tools.run jq args:='["add"]' stdin=@- | cat -A
            echo '{' | cloche-guest -r tools.run jq args:='["."]' stdin=@-; echo $?
            """)
        assert got["stdout"] == "500500$\n1\n" and "exit code" in got["stderr"], got
