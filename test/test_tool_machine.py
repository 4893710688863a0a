"""Tools that are commands of the Linux machine: manifests, runs at every door, files, limits, permissions."""
import base64
import hashlib
import json
import re
import subprocess

import pytest

import packages
from conftest import ROOT, policy_in
from machine_doors import needs_image, without_image
from test_access import bearer, make_token
from test_permissions import run as run_text
from test_permissions import trail, wait_for
from wire import Server, Stdio, call, initialize, notification, request, structured

FREE = {"tools": {"default": "always"}}
SHELL = ["bash", "-c", '"$@"', "bash"]  # runs its arguments


def tool_zip(place, name="run-words", command=SHELL, access="none", more=None, **changes):
    """A package without a module."""
    execution = {"argStyle": "cli", "fileAccess": access} | changes.pop("execution", {})
    whole = packages.manifest(name=name, runtime="vm", command=command, execution=execution, **changes)
    file = place / f"{name}.zip"
    file.write_bytes(packages.pack({"manifest.json": json.dumps(whole)} | (more or {})))
    return file


def tool(cloche, *words, code=0, stdin=b""):
    done = subprocess.run([cloche, "tool", *map(str, words)], capture_output=True, input=stdin, timeout=120)
    assert done.returncode == code, (words, done)
    return done


@pytest.fixture
def install(cloche, tmp_path):
    """Installs one from what its manifest says; its name."""
    def made(**changes):
        file = tool_zip(tmp_path, **changes)
        return tool(cloche, "install", "--update", file).stdout.split()[0].decode()
    return made


@pytest.fixture
def agent(cloche, vault, tmp_path):
    policy_in(tmp_path, FREE)
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield client


def run(agent, name, *args, id=1, **more):
    return structured(agent.ask(call("run_tool", {"name": name, "args": list(args), **more}, id=id)))


def refusal(agent, **arguments):
    result = agent.ask(call("run_tool", arguments))["result"]
    assert result["isError"], result
    return result["content"][0]["text"]


def evaluate(agent, code, **more):
    got = structured(agent.ask(call("evaluate_note_code", {"code": code} | more)))
    assert got["success"], got
    return got["result"]


def why(agent, code, **more):
    got = structured(agent.ask(call("evaluate_note_code", {"code": code} | more)))
    assert not got["success"], got
    return got["errorDetails"]


# ---- packages -------------------------------------------------------------------------


@pytest.mark.parametrize("changes, says", [
    ({"command": None}, "command must begin with a program"),
    ({"command": []}, "command must begin with a program"),
    ({"command": [""]}, "command must begin with a program"),
    ({"command": ["-c", "true"]}, "command must begin with a program"),
    ({"command": "true"}, "command is"),
    ({"command": ["a\0b"]}, "command[0]"),
    ({"command": ["x"] * 65}, "command has 65 items"),
    ({"command": ["x" * 4097]}, "command[0]"),
    ({"execution": {"memoryLimit": 67108863}}, "execution.memoryLimit is less than a Linux machine has"),
    ({"runtime_": "lx"}, "runtime is \"lx\""),
], ids=["none", "empty", "blank", "option", "text", "nul", "many", "long", "memory", "runtime"])
def test_a_manifest_that_is_wrong_says_so(cloche, tmp_path, changes, says):
    execution = {"argStyle": "cli", "fileAccess": "none"} | changes.get("execution", {})
    whole = packages.manifest(runtime=changes.get("runtime_", "vm"), command=changes.get("command", ["true"]),
                              execution=execution)
    (tmp_path / "manifest.json").write_text(json.dumps(whole))
    assert says in tool(cloche, "check", tmp_path / "manifest.json", code=2).stderr.decode()


def test_a_package_has_a_module_or_a_command_of_the_machine(cloche, tmp_path):
    both = tool_zip(tmp_path, more={"a.wasm": packages.module()})
    assert b"one of both is accepted" in tool(cloche, "check", both, code=2).stderr
    assert b"one of both is accepted" in tool(cloche, "install", both, code=2).stderr
    neither = tmp_path / "neither.zip"
    neither.write_bytes(packages.pack({"manifest.json": json.dumps(packages.manifest())}))
    assert b"missing a .wasm file" in tool(cloche, "install", neither, code=2).stderr
    idle = tmp_path / "idle.zip"
    idle.write_bytes(packages.package({"command": ["true"]}))
    assert b"does nothing here" in tool(cloche, "check", idle).stderr


def test_it_is_installed_switched_updated_and_removed_like_another(cloche, tmp_path):
    kept = tmp_path / "data" / "cloche" / "tools"
    tool(cloche, "install", tool_zip(tmp_path, version="1.0.0"))
    assert [p.name for p in (kept / "modules").iterdir()] == []
    (row,) = [t for t in json.loads(tool(cloche, "list", "--json").stdout) if t["source"] == "user"]
    assert (row["name"], row["runtime"], row["enabled"]) == ("run-words", "vm", True)
    assert re.search(r"^run-words .* enabled, in a Linux machine$", tool(cloche, "list").stdout.decode(), re.M)
    shown = tool(cloche, "show", "run-words").stdout.decode()
    assert re.search(r"^runtime +vm$", shown, re.M)
    assert re.search(r"""^command +bash -c '"\$@"' bash$""", shown, re.M)
    assert re.search(r"^memoryLimit +536870912 bytes$", shown, re.M)
    for word, on in (("disable", False), ("enable", True)):
        tool(cloche, word, "run-words")
        assert json.loads(tool(cloche, "show", "--json", "run-words").stdout)["enabled"] is on
    tool(cloche, "disable", "run-words", "--vault", "x", "--unregistered")
    before = json.loads(tool(cloche, "show", "--json", "run-words").stdout)
    tool(cloche, "update", tool_zip(tmp_path, version="1.0.1", command=["cat"]))
    after = json.loads(tool(cloche, "show", "--json", "run-words").stdout)
    assert after["id"] == before["id"] and after["sha256"] != before["sha256"]
    assert after["manifest"]["command"] == ["cat"]
    # A module in its place, and a command in that one's.
    (tmp_path / "module.zip").write_bytes(packages.package({"name": "run-words", "version": "2.0.0"}))
    tool(cloche, "update", tmp_path / "module.zip")
    assert json.loads(tool(cloche, "show", "--json", "run-words").stdout)["runtime"] == "wasm"
    tool(cloche, "update", tool_zip(tmp_path, version="3.0.0"))
    assert [p.name for p in (kept / "modules").iterdir()] == []
    tool(cloche, "remove", "run-words")
    assert [p.name for p in (kept / "records").iterdir()] == []


def test_a_damaged_record_is_left_out_and_named(cloche, tmp_path):
    tool(cloche, "install", tool_zip(tmp_path))
    (record,) = (tmp_path / "data" / "cloche" / "tools" / "records").iterdir()
    whole = json.loads(record.read_text())
    for change in ({"machine": 3}, {"machine": None}, {"wasmBinary": {"sha256": "0" * 64, "size": 1}}):
        record.write_text(json.dumps(whole | change))
        done = tool(cloche, "list", "--json")
        assert b"damaged" in done.stderr and b"run-words" not in done.stdout, change
    whole["manifest"]["command"] = []
    record.write_text(json.dumps(whole))
    assert b"run-words" not in tool(cloche, "list", "--json").stdout


def test_a_signature_covers_the_command(cloche, tmp_path):
    file = tool_zip(tmp_path)
    key = tool(cloche, "sign", file, "--key", tmp_path / "key", "--new-key").stdout.decode().split()[-1]
    tool(cloche, "trust", "add", "me", key)
    tool(cloche, "install", file)
    assert json.loads(tool(cloche, "show", "--json", "run-words").stdout)["signer"] == "me"
    other = tool_zip(tmp_path, command=["cat"])
    assert b"not signed" in tool(cloche, "update", other, code=1).stderr


def test_a_person_who_decides_about_it_is_shown_the_command(cloche, tmp_path):
    tool(cloche, "propose", tool_zip(tmp_path, command=["sh", "-c", "rm -r /vault; echo it's"]))
    (entry,) = wait_for(cloche, 1)
    assert entry["shown"]["runs in a Linux machine"] == "sh -c 'rm -r /vault; echo it'\\''s'"


# ---- runs -------------------------------------------------------------------------------


@needs_image
def test_parameters_args_and_standard_input_reach_the_command(agent, install):
    parameters = {"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string", "description": "x", "position": 1},
        "number": {"type": "number", "description": "x", "flag": "-n"},
        "deep": {"type": "boolean", "description": "x"}}}
    name = install(command=["python3", "-c", "import sys; print(sys.argv[1:], sys.stdin.read())", "first"],
                   parameters=parameters)
    got = structured(agent.ask(call("run_tool", {"name": name, "arguments": {
        "text": "it's $HOME `x` é", "number": 3, "deep": True}, "stdin": "in"})))
    assert got["success"] and got["stdout"] == "['first', '-n', '3', '--deep', \"it's $HOME `x` é\"] in\n", got
    assert run(agent, name, "-", "", "\n")["stdout"] == "['first', '-', '', '\\n'] \n"
    direct = structured(agent.ask(call("wasm_" + name, {"text": "t"})))
    assert direct["stdout"] == "['first', 't'] \n"
    assert "text" in refusal(agent, name=name, arguments={"deep": True})


@needs_image
def test_the_styles_json_and_positional_hold(agent, install):
    of = {"type": "object", "required": ["a"],
          "properties": {"a": {"type": "string", "description": "x"}, "b": {"type": "number", "description": "x"}}}
    script = "import sys, json; print(json.dumps([sys.argv[1:], sys.stdin.read()]))"
    for style, want in (("json", [[], '{"b":2,"a":"x"}']), ("positional", [["x", "2"], ""])):
        name = install(command=["python3", "-c", script], parameters=of, returns={"type": "object", "description": "x"},
                       execution={"argStyle": style})
        assert evaluate(agent, f"return (await tools['{name}']({{b: 2, a: 'x'}})).result") == want


@needs_image
def test_bytes_and_files_go_in_and_come_out_as_they_are(agent, install):
    name = install()
    odd = bytes(range(256)) * 800
    coded = {"base64": base64.b64encode(odd).decode()}
    got = run(agent, name, "sha256sum", "-", "a/b.bin", "t", stdin=coded, files={"a/b.bin": coded, "t": "grün\n"})
    sums = [hashlib.sha256(x).hexdigest() for x in (odd, odd, "grün\n".encode())]
    assert [line.split()[0] for line in got["stdout"].splitlines()] == sums, got
    got = run(agent, name, "sh", "-c", "cat; head -c 2 /dev/zero >&2; gzip -k t; echo x >> t; mkdir d; echo new > d/n; rm gone",
              stdin=coded, files={"t": "one\n", "gone": ""})
    assert base64.b64decode(got["stdout"]) == odd and got["stderr"] == "\0\0"
    files = {f["name"]: f for f in got["files"]}
    assert set(files) == {"t", "t.gz", "d/n"} and files["t"]["text"] == "one\nx\n"


@needs_image
def test_exit_codes_are_the_commands_and_the_manifest_explains_them(agent, install):
    name = install(execution={"exitCodes": {"3": "nothing found"}})
    got = run(agent, name, "sh", "-c", "echo out; exit 3")
    assert (got["exitCode"], got["outcome"], got["stdout"]) == (3, "nothing found", "out\n")
    answer = agent.ask(call("run_tool", {"name": name, "args": ["sh", "-c", "echo no >&2; exit 4"]}))["result"]
    assert answer["isError"] and structured({"result": answer})["exitCode"] == 4
    gone = install(name="no-such", command=["no-such-program"])
    got = run(agent, gone)
    assert got["exitCode"] == 127 and "no-such-program" in got["stderr"]
    assert run(agent, install(name="kill-me"), "sh", "-c", "kill -9 $$")["exitCode"] == 137


@needs_image
def test_the_command_is_a_program_whatever_its_name_means_to_a_shell(agent, install):
    assert run(agent, install(command=["A=b"]), "true")["exitCode"] == 127
    assert run(agent, install(command=["cd"]), "/")["exitCode"] == 127
    assert run(agent, install(command=["printf"]), "%s|", "$(id)", "*")["stdout"] == "$(id)|*|"


@needs_image
def test_calls_share_nothing(agent, install):
    name = install()
    leave = "echo x > /tmp/left; echo x > /usr/local/left; echo x > /root/left; (sleep 1000 &) ; cat /proc/sys/kernel/random/boot_id"
    first = run(agent, name, "sh", "-c", leave)
    assert first["success"], first
    again = run(agent, name, "sh", "-c", "ls /tmp/left /usr/local/left /root/left; pgrep sleep; ls -A /work")
    assert again["stdout"] == "" and again["stderr"].count("No such file") == 3
    assert structured(agent.ask(call("vm_list", {})))["machines"] == [], "it is no machine of the caller's"
    structured(agent.ask(call("vm_exec", {"command": "echo mine > /tmp/mine"})))
    assert run(agent, name, "cat", "/tmp/mine")["exitCode"] == 1


@needs_image
def test_it_begins_with_the_image_not_with_the_callers_own_copy(agent, install):
    """A caller could put other programs there, which would then run with the tool's permissions."""
    structured(agent.ask(call("vm_exec", {"command": "printf '#!/bin/sh\\necho mine\\n' > /usr/local/bin/wc; chmod +x /usr/local/bin/wc"})))
    structured(agent.ask(call("vm_snapshot", {"name": "default"})))
    assert structured(agent.ask(call("vm_exec", {"command": "wc", "machine": structured(
        agent.ask(call("vm_start", {})))["machine"]})))["stdout"] == "mine\n"
    assert run(agent, install(command=["wc", "-c"]), stdin="abc")["stdout"] == "3\n"


@needs_image
def test_code_and_rest_run_it(cloche, vault, tmp_path, install):
    policy_in(tmp_path, FREE)
    name = install()
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        got = server.http.post(f"/tools/{name}", json={"args": ["tr", "a-z", "A-Z"], "stdin": "rest"})
        assert got.status_code == 200 and got.json()["stdout"] == "REST"
        code = """const sent = new Uint8Array([0, 255, 10, 128]);
                  const r = await tools.runWords(['cat'], {stdin: sent});
                  const all = await Promise.all(['a', 'b'].map((x) => tools.runWords(['echo', x])));
                  return [[...r.stdout], all.map((x) => x.result)];"""
        got = structured(server.post(call("evaluate_note_code", {"code": code}, modern=True)).json())
        assert got["result"] == [[0, 255, 10, 128], ["a", "b"]], got
    person = subprocess.run([cloche, "eval", "--vault", str(vault), "-e", "return (await tools.runWords(['echo', 'person'])).result"],
                            capture_output=True, text=True)
    assert json.loads(person.stdout)["result"] == "person"


@needs_image
def test_it_stands_in_a_pipeline(agent, install):
    name = install()
    data = base64.b64encode(bytes(range(256)) * 4000).decode()
    stages = [{"tool": "base64", "args": ["-d"]}, {"tool": name, "args": ["cat"]}, {"tool": name, "args": ["sha256sum"]}]
    got = structured(agent.ask(call("run_tool", {"pipeline": stages, "stdin": data})))
    assert got["stdout"].split()[0] == hashlib.sha256(base64.b64decode(data)).hexdigest(), got
    assert [s["exitCode"] for s in got["stages"]] == [0, 0, 0]
    got = structured(agent.ask(call("run_tool", {"pipeline": [{"tool": name, "args": ["yes"]}, {"tool": "head", "args": ["-n", "2"]}]})))
    assert got["success"] and got["stdout"] == "y\ny\n", got
    got = structured(agent.ask(call("run_tool", {"pipeline": [{"tool": name, "args": ["sh", "-c", "echo a; exit 5"]}, {"tool": "cat"}]})))
    assert not got["success"] and got["exitCode"] == 5 and got["stages"][0]["exitCode"] == 5, got


# ---- the vault ---------------------------------------------------------------------------


@needs_image
def test_it_reads_notes_as_far_as_its_manifest_says(agent, install, vault):
    name, blind = install(access="read"), install(name="blind")
    count = sum(1 for p in vault.rglob("*.md") if ".cloche" not in p.parts)
    got = run(agent, name, "sh", "-c", "pwd; find . -name '*.md' | wc -l; ls -A | grep -c cloche; touch x")
    assert got["stdout"] == f"/vault\n{count}\n0\n" and "Read-only file system" in got["stderr"], got
    assert run(agent, blind, "ls", "/vault")["exitCode"] == 2
    assert run(agent, name, "ls", "/vault", cwd="/work")["success"], "a word names it"
    assert run(agent, name, "sh", "-c", "ls -d /[v]ault", cwd="/work")["exitCode"] == 2, "it is shown what the call refers to"


@needs_image
def test_its_changes_are_one_change_of_the_vault(agent, install, vault):
    name = install(access="readwrite")
    got = run(agent, name, "sh", "-c", "echo '# New' > new.md; for f in *.md; do echo more >> $f; done; mkdir d; echo x > d/y.md")
    assert got["success"] and {"d/y.md", "new.md"} <= set(got["vault"]["created"]) and got["vault"]["changed"], got
    assert (vault / "new.md").read_text() == "# New\nmore\n"
    record = [r for r in trail(vault) if r.get("action") == "run_tool"][-1]
    assert record["changed"] and [t["tool"] for t in record["tools"]] == [name]
    deed = record["machines"][-1]
    assert deed["call"] == "tools.run" and deed["exit"] == 0 and len(deed["command"]) == 64 and deed["machine"]


@needs_image
def test_what_is_stopped_or_not_permitted_changes_nothing(cloche, agent, install, vault, tmp_path):
    name = install(access="readwrite", execution={"timeout": 3000})
    got = run(agent, name, "sh", "-c", "echo x > stopped.md; sync; sleep 100")
    assert got["errorDetails"]["code"] == "TIMEOUT" and not (vault / "stopped.md").exists()
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text(json.dumps({"deniedAPIs": ["notes.create"]}))
    assert "notes.create" in refusal(agent, name=name, args=["sh", "-c", "echo x > refused.md"])
    assert not (vault / "refused.md").exists()


@needs_image
def test_the_manifest_of_the_page_works(cloche, tmp_path):
    page = (ROOT / "docs" / "tools.md").read_text().split("### A command of the Linux machine")[1]
    text = page.split("    {", 1)[1].split("\n\n")[0]
    (tmp_path / "stats.zip").write_bytes(packages.pack({"manifest.json": "{" + text}))
    done = tool(cloche, "install", tmp_path / "stats.zip")
    assert done.stdout == b"py-stats 1.0.0\n" and done.stderr == b"", "and no warning"
    assert tool(cloche, "run", "py-stats", stdin=b"1\n2\n6\n").stdout == b"3.0\n"


@needs_image
def test_it_is_found_and_described_like_another(agent, install):
    name = install(description="Spells words backwards, zebra-like.", command=["rev"])
    found = structured(agent.ask(call("find_tools", {"query": "zebra-like backwards"})))["results"][0]
    assert found["name"] == name and found["description"].startswith("Spells")
    got = evaluate(agent, "return await tools.describe('run-words')")
    assert (got["runtime"], got["memoryLimit"], got["source"]) == ("vm", 512 << 20, "user")
    assert evaluate(agent, "return (await tools.describe('jq')).runtime") == "wasm"
    assert run(agent, name, stdin="abc\n")["stdout"] == "cba\n"


@needs_image
def test_a_dry_run_shows_its_changes_and_keeps_none(agent, install, vault):
    install(access="readwrite")
    code = "return (await tools.runWords(['sh', '-c', 'echo x > dry.md; ls'])).vault"
    assert evaluate(agent, code, dryRun=True)["created"] == ["dry.md"] and not (vault / "dry.md").exists()


# ---- limits ------------------------------------------------------------------------------


@needs_image
def test_its_limits_hold(agent, install):
    name = install(execution={"timeout": 2000})
    got = run(agent, name, "sleep", "100")
    assert got["errorDetails"]["code"] == "TIMEOUT" and "2000 ms" in got["error"] and got["exitCode"] == 124
    got = run(agent, name, "sh", "-c", "echo first; sleep 100", timeout=1500)
    assert "1500 ms" in got["error"] and got["stdout"] == "first\n"
    slow = install(name="slow-words", execution={"timeout": 60000})
    got = run(agent, slow, "sh", "-c", "head -c 12000000 /dev/zero | tr '\\0' x; echo e >&2")
    assert got["success"] and got["truncated"]["stdout"] and got["stderr"] == "e\n"
    full = run(agent, slow, "sh", "-c", "head -c 300000000 /dev/zero > f; wc -c < f; rm f")
    assert "No space left" in full["stderr"], full
    details = why(agent, "return await tools.slowWords(['sleep', '50'])", timeout=3000)
    assert details["type"] == "Timeout", details


@needs_image
def test_the_policys_limits_of_machines_hold(cloche, vault, tmp_path, install):
    name, large = install(), install(name="large", execution={"memoryLimit": 1 << 30})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        policy_in(tmp_path, FREE | {"vm": {"timeoutMs": 1200, "ramMB": 512}})
        assert "1200 ms" in run(agent, name, "sleep", "100")["error"]
        assert "1024 MB" in refusal(agent, name=large) and "vm.ramMB" in refusal(agent, name=large)
        policy_in(tmp_path, FREE | {"vm": {"machines": 0}})
        assert "vm.machines" in refusal(agent, name=name)
        policy_in(tmp_path, FREE | {"vm": {"machines": 1}})
        assert run(agent, name, "true")["success"]
        two = [{"tool": name, "args": ["sleep", "5"]}, {"tool": name, "args": ["cat"]}]
        assert "vm.machines" in refusal(agent, pipeline=two)
        assert run(agent, name, "true")["success"], "the one that was refused holds no place"


@needs_image
def test_memory_and_computing_time_end_it(cloche, vault, tmp_path, install):
    policy_in(tmp_path, FREE | {"vm": {"cpuSeconds": 20}})
    name = install()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        got = run(agent, name, "tail", "/dev/zero")
        assert got["exitCode"] == 137 and "512 MB" in got["error"] and got["errorDetails"]["code"] == "MEMORY_EXCEEDED", got
        assert run(agent, name, "true")["success"]
        policy_in(tmp_path, FREE | {"vm": {"cpuSeconds": 1}})
        assert "vm.cpuSeconds" in refusal(agent, name=name, args=["sh", "-c", "while :; do :; done"])


@needs_image
def test_it_has_no_network_whatever_the_policy_says_of_machines(cloche, vault, tmp_path, install):
    policy_in(tmp_path, FREE | {"vm": {"network": "always"}, "network": {"allowPrivate": ["127.0.0.1:9"], "hosts": ["example.org"]}})
    name = install()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        got = run(agent, name, "sh", "-c", "curl -sS http://host.cloche.internal:9/; getent hosts example.org || echo none")
        assert "none" in got["stdout"] and "curl:" in got["stderr"]
        assert "refused" not in got["stderr"], "nothing was asked for outside"


@needs_image
def test_a_cancelled_call_ends_it(agent, install):
    name = install()
    agent.ask(initialize())
    agent.send(call("run_tool", {"name": name, "args": ["sleep", "1000"]}, id=5))
    agent.send(notification("notifications/cancelled", {"requestId": 5}))
    policy = {"name": name, "args": ["echo", "next"]}
    got = agent.ask(call("run_tool", policy, id=6))
    while got.get("id") != 6:
        got = agent.receive()
    assert structured(got)["stdout"] == "next\n"


# ---- permissions ---------------------------------------------------------------------------


@needs_image
def test_who_may_use_no_machine_gets_none_by_a_tool(cloche, vault, tmp_path, install):
    name = install()
    policy_in(tmp_path, FREE | {"vm": {"permission": "never"}})
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        def ask(action, **arguments):
            return s.post(call(action, arguments, modern=True)).json()["result"]
        for said in (ask("run_tool", name=name, args=["true"]), ask(f"wasm_{name}", args=["true"]),
                     ask("run_tool", pipeline=[{"tool": "cat"}, {"tool": name, "args": ["true"]}])):
            assert said["isError"] and "Permission denied: the Linux machine" in said["content"][0]["text"], said
        assert s.http.post(f"/tools/{name}", json={"args": ["true"]}).status_code == 403
        code = ask("evaluate_note_code", code=f"return await tools['{name}'](['true'])")["structuredContent"]
        assert code["errorDetails"]["type"] == "PermissionDenied"
        found = ask("find_tools", query="does nothing")["content"][0]["text"]
        assert name not in found, "it is not offered"
        assert re.search(r"^agents +never$", tool(cloche, "show", name).stdout.decode(), re.M)
        run_text(cloche, "policy", "set", "vm.permission", "always")
        assert s.http.post(f"/tools/{name}", json={"args": ["true"]}).json()["success"]
        (vault / ".cloche").mkdir(exist_ok=True)
        (vault / ".cloche" / "policy.json").write_text('{"vm": {"permission": "never"}}')
        assert "vault's policy" in ask("run_tool", name=name, args=["true"])["content"][0]["text"]
        (vault / ".cloche" / "policy.json").write_text('{"deniedAPIs": ["vm.exec"]}')
        assert "deniedAPIs" in ask("run_tool", name=name, args=["true"])["content"][0]["text"]


@needs_image
def test_a_person_is_asked_for_the_machine_although_the_tool_is_permitted(cloche, vault, tmp_path, install):
    name = install()
    policy_in(tmp_path, {"vm": {"permission": "ask"}, "tools": {"permissions": {name: "always"}, "askSeconds": 30}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.send(call("run_tool", {"name": name, "args": ["echo", "allowed"]}))
        (entry,) = wait_for(cloche, 1)
        shown = json.dumps(entry["shown"])
        assert "always" not in entry["choices"], "while machines are asked for"
        assert "in a Linux machine of its own: bash -c" in shown and "allowed" in shown
        run_text(cloche, "approvals", "allow", entry["id"], "--remember", "session")
        assert structured(agent.receive())["stdout"] == "allowed\n"
        assert run(agent, name, "echo", "again")["stdout"] == "again\n", "for this session"
        tool(cloche, "install", "--update", tool_zip(tmp_path, name=name, command=["bash", "-c", '"$@"; true', "bash"]))
        agent.send(call("run_tool", {"name": name, "args": ["echo", "other"]}))
        (entry,) = wait_for(cloche, 1)
        run_text(cloche, "approvals", "deny", entry["id"])
        assert agent.receive()["result"]["isError"], "another command is another tool"


@needs_image
def test_a_permitted_machine_does_not_permit_the_tool(cloche, vault, tmp_path, install):
    name = install()
    policy_in(tmp_path, {"vm": {"permission": "always"}, "tools": {"permissions": {name: "never"}}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "Permission denied" in refusal(agent, name=name)
        policy_in(tmp_path, {"vm": {"permission": "always"}, "tools": {"askSeconds": 30}})
        agent.send(call("run_tool", {"name": name, "args": ["true"]}))
        (entry,) = wait_for(cloche, 1)
        run_text(cloche, "approvals", "deny", entry["id"])
        assert agent.receive()["result"]["isError"], "an installed tool is asked for"


@needs_image
def test_allowed_apis_name_the_tool_and_the_machine(agent, install):
    name = install()
    code = "return (await tools.runWords(['echo', 'ran'])).result"
    assert name == "run-words" and evaluate(agent, code, allowedAPIs=["tools.run-words", "tools.run", "vm.exec"]) == "ran"
    for apis in (["tools.run-words", "tools.run"], ["tools.run", "vm.exec"], ["vm.exec"]):
        assert why(agent, code, allowedAPIs=apis)["type"] == "PermissionDenied", apis


@needs_image
def test_less_than_full_trust_runs_none(cloche, vault, tmp_path, install):
    policy_in(tmp_path, FREE)
    name = install()
    low = make_token(cloche, "low", "--vault", "vault", "--level", "limited")
    blind = make_token(cloche, "blind", "--vault", "vault", "--scope", "read")
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0", "--require-token"]) as s:
        for token in (low, blind):
            got = s.http.post(f"/tools/{name}", headers=bearer(token), json={"args": ["true"]})
            assert got.status_code == 403, got.text


# ---- the terminal, and without a machine ----------------------------------------------------


@needs_image
def test_a_person_runs_it_as_a_program(cloche, install, tmp_path):
    name, blind = install(access="readwrite"), install(name="blind")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    done = tool(cloche, "run", "--mount", f"/work={folder}:rw", "--env", "A=b c", name, "sh", "-c", "cat a -; echo $A; echo new > n; exit 6",
                code=6, stdin=b"\0in\n")
    assert done.stdout == b"one\n\0in\nb c\n" and (folder / "n").read_text() == "new\n"
    done = tool(cloche, "run", "--mount", f"/data={folder}", name, "sh", "-c", "pwd; touch x", code=1)
    assert done.stdout == b"/data\n" and b"Read-only" in done.stderr
    assert tool(cloche, "run", "--mount", f"/data={folder}", "--cwd", "/work", blind, "ls", "/data", code=2).stdout == b""
    assert tool(cloche, "run", "--timeout", "300", name, "sleep", "100", code=124).stderr.endswith(b"300 ms\n")
    assert b"of computing" in tool(cloche, "run", "--stats", name, "true").stderr
    line = f"'{cloche}' tool run {name} yes | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60)
    assert done.stdout == b"y\ny\n141\n"


@needs_image
def test_much_goes_through_it(cloche, install):
    name, much = install(), bytes(range(256)) * 20000
    done = tool(cloche, "run", name, "tee", "/dev/null", stdin=much)
    assert done.stdout == much


def test_without_the_image_it_says_the_command_that_adds_it(cloche, vault, tmp_path, install):
    policy_in(tmp_path, FREE | {"tools": {"default": "ask", "askSeconds": 1}})
    name = install()
    program = without_image(cloche, tmp_path)
    with Stdio([program, "mcp", "--vault", str(vault)]) as agent:
        said = refusal(agent, name=name)
        assert "make vm" in said and name in said and str(tmp_path) not in said, "before a person is asked"
    done = tool(program, "run", name, "true", code=1)
    assert b"make vm" in done.stderr
    assert tool(program, "list", "--json").stdout.count(b'"vm"') == 1


@needs_image
def test_private_files_stay_private_and_what_may_only_be_written_is_not_read(cloche, install, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_text("secret")
    (folder / "old").chmod(0o640)
    private = install(name="private", access="readwrite", execution={"privateFiles": True})
    words = "umask 0; echo x > n; install -m 666 n i; cp -p /etc/passwd p; chmod 777 n p old; python3 -c 'import os; os.fchmod(os.open(\"n\", 2), 0o777)'"
    tool(cloche, "run", "--mount", f"/data={folder}:rw", private, "sh", "-c", words)
    modes = {f.name: f.stat().st_mode & 0o777 for f in folder.iterdir()}
    assert modes == {"n": 0o700, "p": 0o700, "i": 0o600, "old": 0o740}, {k: oct(v) for k, v in modes.items()}
    blind = install(name="write-only", access="write")
    done = tool(cloche, "run", "--mount", f"/data={folder}:rw", blind, "sh", "-c", "ls; cat old; cat < old; head -c 3 <> old; echo new > old; ln old l; cat l", code=1)
    assert b"secret" not in done.stdout and b"new" not in done.stdout and done.stderr.count(b"ermission denied") >= 4
    assert (folder / "old").read_text() == "new\n"
