"""Command-line tools for agents: over MCP, in code, over REST. test_tool_cases.py compares each
tool with the native program."""
import base64
import json
import os
import random
import time

import httpx
import pytest

import needs
from conftest import ROOT, policy_in
from test_access import bearer, closed, make_token  # noqa: F401
from test_permissions import trail
from wire import Server, Stdio, call, initialize, request, structured

pytestmark = needs.installed(*(ROOT / "build/guest/tools" / name for name in ("jq", "brotli")),
                             by="make tools")

ALWAYS = {"tools": {"default": "always"}}


@pytest.fixture
def allow(tmp_path):
    """The user's permission in advance, except for what a test removes."""
    return lambda **more: policy_in(tmp_path, {"tools": ALWAYS["tools"] | more.pop("tools", {})}
                                    | more)


@pytest.fixture
def agent(cloche, vault, allow):
    allow()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield client


def answer(agent, name, arguments, id=1):
    return structured(agent.ask(call(name, arguments, id=id)))


def refusal(agent, name, arguments, id=1):
    result = agent.ask(call(name, arguments, id=id))["result"]
    assert result["isError"]
    return result["content"][0]["text"]


def evaluate(agent, code, **more):
    got = answer(agent, "evaluate_note_code", {"code": code} | more)
    assert got["success"], got["error"]
    return got["result"]


def failure(agent, code, **more):
    got = answer(agent, "evaluate_note_code", {"code": code} | more)
    assert not got["success"]
    return got["errorDetails"]


# ---- the list ---------------------------------------------------------------------


def names(agent, **params):
    return [t["name"] for t in agent.ask(request("tools/list", params, modern=True))
            ["result"]["tools"]]


def test_by_default_tools_are_found_not_listed(agent):
    listed = names(agent)
    assert {"find_tools", "run_tool"} <= set(listed) and len(listed) <= 12
    assert not any(n.startswith("wasm_") for n in listed)
    (first, *_) = answer(agent, "find_tools", {"query": "filter json"})["results"]
    assert first["name"] == "jq" and "filter" in first["parameters"]["properties"]
    assert first["parameters"]["required"] == ["filter"]


def test_an_action_that_is_not_listed_is_found_and_called(agent):
    listed = names(agent)
    found = answer(agent, "find_tools", {"query": "check code without running it"})["results"]
    assert "check_code" in [f["name"] for f in found] and "check_code" not in listed
    direct = answer(agent, "check_code", {"code": "notes.nope()"})
    assert not direct["ok"]
    through = {"name": "check_code", "arguments": {"code": "notes.nope()"}}
    assert answer(agent, "run_tool", through) == direct


@pytest.mark.parametrize("exposure, some", [("all", {"wasm_awk", "run_script", "find_tools"}),
                                            ("listed", {"wasm_brotli", "run_script"})])
def test_the_policy_says_what_is_listed(cloche, vault, allow, exposure, some):
    allow(tools={"exposure": exposure, "listed": ["brotli"]})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        listed = names(agent)
        assert some <= set(listed)
        assert ("wasm_awk" in listed) == ("find_tools" in listed) == (exposure == "all")
        assert answer(agent, "wasm_jq", {"args": ["-n", "1"]})["stdout"] == "1\n"


def test_a_cursor_is_only_good_for_its_list(agent):
    wrong = agent.ask(request("tools/list", {"cursor": "bm9wZQ=="}, modern=True))
    assert wrong["error"]["code"] == -32602 and "nextCursor" in wrong["error"]["message"]


@pytest.mark.parametrize("modern", [False, True])
def test_a_change_of_the_policy_is_told(cloche, vault, allow, modern):
    allow()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        if modern:
            agent.send(request("subscriptions/listen",
                               {"notifications": {"toolsListChanged": True}}, modern=True, id=7))
            assert agent.receive()["method"] == "notifications/subscriptions/acknowledged"
        else:
            agent.ask(initialize())
            agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        answer(agent, "wasm_jq", {"args": ["-n", "1"]}, id=8)
        allow(tools={"listed": ["jq"]})
        told = agent.receive()
        assert told["method"] == "notifications/tools/list_changed"
        if modern:
            assert "wasm_jq" in names(agent)


# ---- calling ----------------------------------------------------------------------


def test_a_tool_is_called_by_its_parameters_or_as_on_a_command_line(agent):
    want = {"success": True, "stdout": "[1]\n", "stderr": "", "exitCode": 0}
    stdin = '{"a": [1]}'
    for name, how in [("wasm_jq", {"filter": ".a", "compact": True}),
                      ("wasm_jq", {"args": ["-c", ".a"]}),
                      ("run_tool", {"name": "jq", "args": ["-c", ".a"]}),
                      ("run_tool", {"name": "jq", "arguments": {"filter": ".a",
                                                                "compact": True}})]:
        got = answer(agent, name, how | {"stdin": stdin})
        assert want.items() <= got.items()
        assert got["stats"]["peak_memory_bytes"] > 0 and got["files"] == []


# What a program's own parser takes only in one form, or behind a parameter of that name.
BY_NAME = [
    ("yq", {"expression": ".a", "paths": ["a.yml"], "unwrapScalar": "false"}, '"q"\n'),
    ("exiftool", {"tags": ["-FileName"], "paths": ["a.txt"], "short": True},
     "FileName                        : a.txt\n"),
    ("minify", {"paths": ["a.css"]}, "a{color:red}"),
    ("markdown", {"paths": ["a.txt"]}, "<p>some text</p>\n"),
    ("shfmt", {"paths": ["a.sh"], "indent": 1}, "if true; then\n echo a\nfi\n"),
    ("terser", {"file": "a.js", "compress": True, "mangle": True},
     "function add(n,d){return n+d}\n"),
    ("terser", {"beautify": True, "file": "a.js"},
     "function add(first, second) {\n    return first + second;\n}\n"),
    ("ag", {"pattern": "text", "path": ".", "vimgrep": True}, "a.txt:1:6:some text\n"),
    ("sed", {"script": "s/(o)m/\\1/", "extended_regexp": True, "file": "a.txt"},
     "soe text\n"),
    ("date", {"date": "2024-02-29", "iso": "minutes"}, "2024-02-29T00:00+00:00\n"),
    ("clang-format", {"paths": ["a.js"], "style": "{ColumnLimit: 40}", "lines": "1:1"},
     "function add(first, second) {\n  return first + second\n}"),
    ("clang-format", {"style": "file", "fallback_style": "none", "sort_includes": True,
                      "paths": ["a.js"]}, "function add(first, second) { return first + second }"),
    ("zip", {"exclude": "*.css", "archive": "o.zip", "file": "a.txt"},
     "  adding: a.txt (stored 0%)\n"),
]


@pytest.mark.parametrize("tool, parameters, expected", BY_NAME)
def test_parameters_by_name_mean_what_the_manifest_says(agent, tool, parameters, expected):
    files = {"a.yml": 'a: "q"\n', "a.txt": "some text\n", "a.css": "a { color: #ff0000 }",
             "a.sh": "if true\nthen echo a\nfi\n",
             "a.js": "function add(first, second) { return first + second }"}
    found = answer(agent, f"wasm_{tool}", {**parameters, "files": files})
    assert (found["exitCode"], found["stdout"]) == (0, expected), found


def test_no_parameter_hides_what_every_call_has(agent):
    shared = {"args", "stdin", "files", "cwd", "timeout"}
    for tool in json.loads((ROOT / "build/guest/tools/catalogue.json").read_text()):
        properties = tool["manifest"]["parameters"].get("properties", {})
        assert not shared & properties.keys(), tool["manifest"]["name"]


def test_exit_codes_and_errors_of_a_tool_are_told(agent):
    result = agent.ask(call("wasm_jq", {"args": ["."], "stdin": "{"}))["result"]
    got = json.loads(result["content"][0]["text"])
    assert result["isError"] and not got["success"] and got["exitCode"] == 5
    assert "parse error" in got["stderr"]


def test_an_answer_is_told_once(agent):
    """Neither as `result`, nor as structured content besides."""
    for name, arguments in [("wasm_jq", {"filter": ".", "stdin": '"needle"'}),
                            ("run_tool", {"name": "jq", "args": ["."], "stdin": '"needle"'})]:
        message = agent.ask(call(name, arguments))
        assert json.dumps(message).count("needle") == 1, message
    listed = {t["name"]: t for t in agent.ask(request("tools/list", modern=True))["result"]["tools"]}
    assert "outputSchema" not in listed["run_tool"]
    code = "const r = await tools.jq({filter: '.', stdin: '\"needle\"'}); return [r.result, r];"
    told = evaluate(agent, code)
    assert told[0] == '"needle"' and "result" not in told[1]


@needs.installed(*(ROOT / "build/guest/tools" / name for name in ("grep", "coreutils", "diffutils")),
                 by="make tools")
@pytest.mark.parametrize("tool, call_it, outcome", [
    ("grep", {"pattern": "x", "stdin": "y"}, "no line matched"),
    ("diff", {"args": ["a", "b"], "files": {"a": "1\n", "b": "2\n"}}, "they differ"),
    ("test", {"args": ["-e", "/work/x"], "cwd": "/work"}, "false"),
    ("expr", {"args": ["0"]}, "the result is empty or 0")])
def test_an_exit_code_that_says_no_is_no_error(agent, tool, call_it, outcome):
    result = agent.ask(call(f"wasm_{tool}", call_it))["result"]
    got = json.loads(result["content"][0]["text"])
    assert not result["isError"] and got["exitCode"] == 1 and got["outcome"] == outcome
    assert not got["success"] and "error" not in got


@needs.installed(ROOT / "build/guest/tools/grep", by="make tools")
def test_an_exit_code_that_tells_of_trouble_is_an_error(agent):
    result = agent.ask(call("wasm_grep", {"args": ["-E", "("], "stdin": "y"}))["result"]
    assert result["isError"] and '"exitCode":2' in result["content"][0]["text"]


def test_what_cannot_be_called_is_named(agent):
    unknown = agent.ask(call("wasm_jqq", {}))
    assert unknown["error"]["code"] == -32602
    assert "'jq'" in refusal(agent, "run_tool", {"name": "jqq"})
    assert "filtr" in refusal(agent, "wasm_jq", {"filtr": "."})
    assert "pipeline" in refusal(agent, "run_tool", {})


def test_files_come_and_go(agent):
    got = answer(agent, "wasm_brotli", {"args": ["-k", "a.txt"], "files": {"a.txt": "abc" * 99}})
    (made,) = got["files"]
    assert made["name"] == "a.txt.br" and made["size"] < 40
    packed = made.get("base64") or base64.b64encode(made["text"].encode()).decode()
    back = answer(agent, "wasm_brotli",
                  {"args": ["-d", "x.br"], "files": {"x.br": {"base64": packed}}})
    assert [(f["name"], f["text"]) for f in back["files"]] == [("x", "abc" * 99)]


def test_a_pipeline_streams(agent):
    got = answer(agent, "run_tool", {
        "pipeline": [{"tool": "jq", "args": ["-c", ".[]"]}, {"tool": "jq", "args": ["-s", "add"]}],
        "stdin": "[1,2,3]"})
    assert got["stdout"] == "6\n" and [s["tool"] for s in got["stages"]] == ["jq", "jq"]
    assert "stdin" in refusal(agent, "run_tool", {
        "pipeline": [{"tool": "jq", "args": ["."], "stdin": "1"}]})


# ---- in code ----------------------------------------------------------------------


def test_code_calls_tools_by_their_names(agent):
    assert evaluate(agent, """
        const stdin = '{"a":[1,2]}';
        const all = await Promise.all([
          tools.jq({filter: '.a', compact: true, stdin}), tools['jq']({args: ['-c', '.a'], stdin}),
          tools.jq(['-c', '.a'], {stdin}), tools.run('jq', {args: ['-c', '.a'], stdin}),
          tools.pipe([{tool: 'jq', args: ['.a']}, {tool: 'jq', args: ['-c', '.']}], {stdin})]);
        return all.map((r) => [r.success, r.result]);""") == [[True, "[1,2]"]] * 5


def test_a_name_with_a_dash_has_one_that_code_can_write(agent):
    call = "(await tools.NAME({args: ['--collapse-whitespace'], stdin: '<p> a </p>'})).result"
    for name in ("htmlMinifier", "html_minifier", "['html-minifier']"):
        code = "return " + call.replace("NAME", name).replace(".[", "[")
        assert evaluate(agent, code) == "<p>a</p>", name
    assert evaluate(agent, "return (await tools.list()).map((t) => t.name)"
                           ".includes('html-minifier')")
    assert evaluate(agent, "return api.describe('tools.htmlMinifier').signature") == \
        evaluate(agent, "return api.describe('tools.html-minifier').signature")


def test_who_is_given_no_input_looks_for_files(agent):
    """As natively if standard input is no pipe."""
    files = {"a.txt": "needle\n"}
    found = answer(agent, "wasm_ag", {"args": ["needle"], "files": files})
    assert found["stdout"] == "a.txt:1:needle\n"
    assert evaluate(agent, "return (await tools.ag({args: ['needle'], files: {a: 'needle'}})).result"
                    ).endswith("1:needle")
    fed = answer(agent, "wasm_ag", {"args": ["needle"], "files": files, "stdin": "a needle\n"})
    assert fed["stdout"] == "a needle\n"


def test_bytes_go_in_and_come_out(agent):
    assert evaluate(agent, """
        const packed = await tools.brotli({args: ['-c'], stdin: new Uint8Array([0, 255, 254])});
        const back = await tools.brotli({args: ['-dc'], stdin: packed.stdout});
        return [packed.stdout instanceof Uint8Array, [...back.stdout]];""") == [
            True, [0, 255, 254]]


def test_code_looks_tools_up(agent):
    assert "jq" in evaluate(agent, "return (await tools.list()).map((t) => t.name)")
    assert evaluate(agent, "return (await tools.describe('jq')).license") == "MIT"
    assert "tools.jq" in evaluate(agent, "return api.describe('tools.jq').signature")
    assert evaluate(agent, "const t = await (async () => tools)(); return typeof t.jq") == "function"


def test_wrong_calls_are_errors_of_their_kind(agent):
    unknown = failure(agent, "\nawait tools.jqq({})")
    assert unknown["type"] == "NotFound" and "'jq'" in unknown["message"]
    assert unknown["line"] == 2
    assert failure(agent, "await tools.jq('.a')")["type"] == "InvalidInput"
    assert failure(agent, "await tools.jq({nope: 1})")["type"] == "InvalidInput"
    assert evaluate(agent, "return (await tools.jq({args: ['.'], stdin: '{'})).exitCode") == 5


def test_allowed_apis_name_single_tools(agent):
    code = "return (await tools.jq({args: ['-n', '1']})).result"
    for allowed in (["tools.jq"], ["tools"], ["tools.*"]):
        assert evaluate(agent, code, allowedAPIs=allowed) == "1"
    for allowed in (["tools.brotli"], ["notes.get"]):
        denied = failure(agent, code, allowedAPIs=allowed)
        assert denied["type"] == "PermissionDenied" and "Permission denied" in denied["message"]


def test_less_trusted_levels_have_no_tools(cloche, vault, allow):
    allow(level="limited")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert failure(agent, "return await tools.list()")["type"] == "PermissionDenied"
        assert "Permission denied" in refusal(agent, "wasm_jq", {"args": ["-n", "1"]})


def test_a_tool_ends_with_the_code_that_called_it(agent, vault):
    """The tool would run for a minute and write then; a call is answered when all that it
    began has ended, and the trail tells how."""
    stopped = failure(agent, r"""
        tools.awk({args: ['BEGIN { while (i < 1e12) i++; print > "/vault/late" }']});
        await notes.list();  // the tool is on its way now
        for (;;);""", timeout=1000)
    assert stopped["type"] == "Timeout"
    ((ran,),) = [r["tools"] for r in trail(vault) if "tools" in r]
    assert ran["tool"] == "awk" and ran["result"] in ("Cancelled", "Timeout")  # the same moment
    assert not (vault / "late").exists()


# ---- the vault ----------------------------------------------------------------------


def test_the_vault_is_there_to_read(agent, vault):
    (vault / "data.json").write_text('{"a": 1}')
    assert answer(agent, "wasm_jq", {"args": [".a", "data.json"]})["stdout"] == "1\n"
    assert answer(agent, "wasm_jq", {"args": [".a", "/vault/data.json"]})["stdout"] == "1\n"
    hidden = answer(agent, "wasm_jq", {"args": [".", "/vault/.cloche/policy.json"]})
    assert hidden["exitCode"] == 2 and not hidden["stdout"]


def test_what_a_tool_changes_is_one_change(agent, vault):
    (vault / "idea").mkdir(exist_ok=True)
    (vault / "idea" / "Pack.md").write_text("# Pack\n")
    (vault / "picture.bin").write_bytes(b"\1\2" * 50)
    got = answer(agent, "wasm_brotli", {"args": ["-j", "idea/Pack.md", "picture.bin"]})
    assert got["changed"] and {what: set(paths) for what, paths in got["vault"].items()} == {
        "created": {"idea/Pack.md.br", "picture.bin.br"},
        "deleted": {"idea/Pack.md", "picture.bin"}}
    assert not (vault / "idea" / "Pack.md").exists() and not (vault / "picture.bin").exists()
    back = answer(agent, "wasm_brotli", {"args": ["-d", "idea/Pack.md.br"]})
    assert back["vault"] == {"created": ["idea/Pack.md"]}
    assert (vault / "idea" / "Pack.md").read_text() == "# Pack\n"
    # A note's old text is in the history, another file is in the trash.
    trash = [p.name for p in (vault / ".cloche" / "trash").rglob("*") if p.is_file()]
    assert sorted(trash) == ["Pack.md", "picture.bin"]
    assert evaluate(agent, "return (await notes.get('idea/Pack')).title") == "Pack"


def test_a_style_is_looked_for_above_the_file(agent, vault):
    """In the vault under the name without a dot: those with one are not shown."""
    code, style = "int  main( ) {return 0;}\n", "{IndentWidth: 3, AllowShortFunctionsOnASingleLine: None}\n"
    want = "int main() {\n   return 0;\n}\n"
    given = answer(agent, "wasm_clang-format", {"files": {".clang-format": style, "a/b/c.c": code},
                                                "args": ["a/b/c.c"]})
    assert given["stdout"] == want
    (vault / "src").mkdir()
    (vault / "_clang-format").write_text(style)
    (vault / "src" / "a.c").write_text(code)
    got = answer(agent, "wasm_clang-format", {"in_place": True, "args": ["src/a.c"]})
    assert got["exitCode"] == 0 and got["vault"] == {"changed": ["src/a.c"]}
    assert (vault / "src" / "a.c").read_text() == want
    assert evaluate(agent, "return (await tools.clangFormat({assume_filename: '/vault/src/b.c', "
                           f"stdin: {json.dumps(code)}}})).stdout") == want


def test_folders_that_a_tool_makes_are_told(agent, vault):
    made = answer(agent, "wasm_mkdir", {"args": ["-p", "/vault/new/empty"]})
    assert made["vault"] == {"created": ["new/", "new/empty/"]}
    assert (vault / "new" / "empty").is_dir()
    gone = answer(agent, "wasm_rmdir", {"args": ["/vault/new/empty"]})
    assert gone["vault"] == {"deleted": ["new/empty/"]}


def test_what_the_policy_keeps_from_code_a_tool_cannot_do_either(cloche, vault, allow):
    (vault / "note.bin").write_bytes(b"abc")
    call_it = {"args": ["-j", "note.bin"], "cwd": "/vault"}
    allow(deniedAPIs=["notes.delete"])
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "notes.delete" in refusal(agent, "wasm_brotli", call_it)
        assert (vault / "note.bin").exists() and not (vault / "note.bin.br").exists()
        allow(readOnly=True)
        got = structured(agent.ask(call("wasm_brotli", call_it)))
        assert got["exitCode"] == 1 and "changed" not in got
        allow(deniedAPIs=["notes.get"])
        assert "/vault" in refusal(agent, "wasm_brotli", call_it)
    assert (vault / "note.bin").read_bytes() == b"abc"
    assert [p.name for p in vault.glob("*.br")] == []


def test_a_tool_that_is_stopped_has_changed_nothing(agent, vault):
    words = random.Random(1).choices([f"word{n} " for n in range(5000)], k=1_000_000)
    (vault / "large.txt").write_text("".join(words))  # minutes, at the highest quality
    slow = {"args": ["-j", "-q", "11", "large.txt"], "cwd": "/vault"}
    stopped = agent.ask(call("wasm_brotli", slow | {"timeout": 50}))["result"]
    assert stopped["isError"]
    assert json.loads(stopped["content"][0]["text"])["errorDetails"]["type"] == "Timeout"
    agent.send(call("wasm_brotli", slow, id=2))
    agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    assert answer(agent, "wasm_jq", {"args": ["-n", "1"]}, id=3)["stdout"] == "1\n"
    assert (vault / "large.txt").read_text() == "".join(words)
    assert not (vault / "large.txt.br").exists()


def test_a_file_that_changed_meanwhile_is_a_conflict(agent, vault):
    """A user's program writes while the tool runs: its files stay as it left them."""
    (vault / "other.bin").write_bytes(b"1")
    (vault / "large.bin").write_bytes(os.urandom(1 << 20) * 4)
    agent.send(call("wasm_brotli", {"args": ["-j", "-q", "9", "other.bin", "large.bin"]}, id=1))
    until = time.monotonic() + 30
    while time.monotonic() < until:
        (vault / "other.bin").write_bytes(b"2")
        if not agent._queue.empty():
            break
    result = agent.receive()["result"]
    assert result["isError"] and "Conflict" in result["content"][0]["text"]
    assert (vault / "other.bin").read_bytes() == b"2" and (vault / "large.bin").exists()
    assert [p.name for p in vault.glob("*.br")] == []


# ---- besides -------------------------------------------------------------------------


def test_runs_and_refusals_are_recorded_and_counted(cloche, vault, allow):
    allow(tools={"disabled": ["brotli"]})
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        with httpx.Client(base_url=server.url, timeout=60) as api:
            assert api.post("/tools/jq", json={"args": ["-n", "1"]}).json()["stdout"] == "1\n"
            refused = api.post("/tools/brotli", json={"stdin": "x"})
            assert refused.status_code == 403 and "Permission denied" in refused.json()["detail"]
            (records,) = [api.get(f"/workspaces/{w['id']}/audit").json()
                          for w in api.get("/workspaces").json()]
            counted = api.get("/metrics").text
    runs = [r["tools"][0] for r in records if "tools" in r]
    assert {(r["tool"], r["result"]) for r in runs} == {("jq", "success"),
                                                        ("brotli", "PermissionDenied")}
    assert all(len(r["arguments"]) == 12 for r in runs)
    assert 'cloche_tool_runs_total{tool="jq",outcome="success"} 1' in counted


def test_a_token_runs_tools_as_far_as_its_scopes_go(cloche, closed, vault, allow):
    allow()
    (vault / "note.bin").write_bytes(b"abc")

    def run(name, arguments, *scopes):
        token = make_token(cloche, "-".join(scopes), "--scope", ",".join(scopes))
        return closed.http.post(f"/tools/{name}", json=arguments, headers=bearer(token))

    pack = {"args": ["-j", "note.bin"], "cwd": "/vault"}
    assert run("jq", {"args": ["-n", "1"]}, "read").status_code == 403
    assert run("jq", {"args": ["-n", "1"]}, "read", "evaluate").json()["stdout"] == "1\n"
    assert run("brotli", pack, "evaluate").status_code == 403
    reads = run("brotli", pack, "evaluate", "read").json()
    assert not reads["success"] and "changed" not in reads
    assert (vault / "note.bin").exists()
    assert run("brotli", pack, "write", "read", "evaluate").json()["changed"]


def test_rest_lists_tells_and_runs(cloche, vault, allow):
    allow()
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        with httpx.Client(base_url=server.url, timeout=60) as api:
            assert "jq" in [t["name"] for t in api.get("/tools").json()]
            assert "filter" in api.get("/tools/jq").json()["parameters"]["properties"]
            assert api.get("/tools/jqq").status_code == 404
            assert api.post("/tools/jqq", json={}).status_code == 404
            assert api.post("/tools/jq", json={"nope": 1}).status_code == 400
            ran = api.post("/tools/jq", json={"filter": ".", "stdin": "{"})
            assert ran.status_code == 200 and ran.json()["exitCode"] == 5
