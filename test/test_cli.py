"""The command line, as scripts rely on it."""

import contextlib
import json
import os
import sqlite3
import subprocess

import pytest

from wire import Stdio, call


def run(cloche, *words, stdin=None, env=None):
    return subprocess.run([cloche, *words], input=stdin, capture_output=True, text=True, timeout=120, env=env)


def test_eval_prints_one_json_object_and_exits_0(cloche):
    done = run(cloche, "eval", "-e", "return {a: [1, null, false, '']}")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    answer = json.loads(done.stdout)
    assert answer["success"] is True
    assert answer["result"] == {"a": [1, None, False, ""]}
    assert answer["logs"] == []
    assert {"compute_ms", "host_ms", "peak_memory_bytes", "host_calls"} <= set(answer["stats"])
    assert done.stderr == ""


def test_eval_that_fails_exits_1_with_the_error_in_the_object(cloche):
    done = run(cloche, "eval", "-e", "const a = 1;\nthrow new RangeError('too far')")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["success"] is False
    assert answer["error"] == "RangeError: too far"
    details = answer["errorDetails"]
    assert details["type"] == "ExecutionError"
    assert details["code"] == "EXECUTION"
    assert details["name"] == "RangeError"
    assert (details["line"], details["column"]) == (2, 11)
    assert "> " in details["frame"] and "^" in details["frame"]
    assert details["changed"] is False


def test_eval_reads_a_file_and_standard_input(cloche, tmp_path):
    (tmp_path / "x.js").write_text("return 'from a file'")
    assert json.loads(run(cloche, "eval", str(tmp_path / "x.js")).stdout)["result"] == "from a file"
    assert json.loads(run(cloche, "eval", "-", stdin="return 'from stdin'").stdout)["result"] == "from stdin"


def test_eval_injects_the_context(cloche):
    done = run(cloche, "eval", "--context", '{"n": 20, "who": {"name": "Ada"}}', "-e", "return who.name + (n + 1)")
    assert json.loads(done.stdout)["result"] == "Ada21"


@pytest.mark.parametrize(
    "words, said",
    [
        (["eval"], "give the code once"),
        (["eval", "-e", "1", "x.js"], "give the code once"),
        (["eval", "-e", "1", "--nonsense"], "unknown option '--nonsense'"),
        (["eval", "-e", "1", "--timeout", "soon"], "--timeout is 'soon'"),
        (["eval", "-e", "1", "--timeout", "30001"], "30000"),
        (["eval", "-e", "1", "--memory", "257"], "256"),
        (["eval", "-e", "1", "--level", "zero", "--timeout", "3000"], "2000"),
        (["eval", "-e", "1", "--level", "boss"], "full, limited and zero"),
        (["eval", "-e", "1", "--lang", "cobol"], "js, ts and py"),
        (["eval", "-e", "1", "--context", "[1"], "--context"),
        (["eval", "-e", "1", "--context", '{"1x": 1}'], "identifier"),
        (["eval", "-e", "1", "--context", '{"notes": 1}'], "hide"),
        (["eval", "-e", "1", "--allow", "notes.gte"], "notes.gte"),
        (["eval", "-e", "1", "--fuel", "5"], "--workspace"),
        (["eval", "-e", "1", "--workspace", "x", "--session", "y"], "--session is not for scripts"),
        (["eval", "-e", "1", "--workspace", "x", "--lang", "ts"], "TypeScript is not for scripts"),
        (["eval", "-e", "1", "--memory", "99999"], "cloche: --memory is 99999 MB; 8 to 256 is accepted here\n"),
        (["eval", "-e", "1", "--vault", "/nowhere"], "/nowhere"),
        (["eval", "/tmp"], "/tmp: cannot be read: Is a directory"),
        (["policy", "check", "/tmp"], "/tmp: cannot be read: Is a directory"),
        *[([*words, "--vault", "/nowhere"], 'cannot open the folder "/nowhere"')
          for words in (["audit"], ["policy", "show"], ["doctor"], ["reindex"], ["mcp"], ["callers"], ["fn", "list"])],
        (["frobnicate"], "unknown command 'cloche frobnicate'; commands: eval, mcp"),
        (["evla"], "unknown command 'cloche evla'; did you mean 'eval'?"),
        (["help", "evla"], "unknown command 'cloche evla'; did you mean 'eval'?"),
        (["tool", "isntall"], "unknown command 'cloche tool isntall'; did you mean 'install'?"),
        (["eval", "--vautl", "x", "-e", "1"], "unknown option '--vautl'; did you mean --vault?"),
        (["eval", "--vautl=x", "-e", "1"], "unknown option '--vautl=x'; did you mean --vault?"),
        (["eval", "-x", "1"], "unknown option '-x'; options: --vault"),
        ([], ""),
    ],
)
def test_a_wrong_call_exits_2_and_says_what_would_be_accepted(cloche, words, said):
    done = run(cloche, *words)
    assert done.returncode == 2
    if words:
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("asked, usage", [
    (["-h"], "cloche COMMAND"), (["help"], "cloche COMMAND"), (["help", "eval"], "cloche eval"),
    (["eval", "-h"], "cloche eval"), (["help", "tool"], "cloche tool COMMAND"),
    (["tool", "-h"], "cloche tool COMMAND"), (["help", "tool", "run"], "cloche tool run"),
    (["tool", "help", "run"], "cloche tool run"), (["tool", "run", "-h"], "cloche tool run"),
    (["help", "vm", "exec"], "cloche vm exec"), (["fn", "help"], "cloche fn"),
])
def test_help_is_found_in_all_the_usual_ways(cloche, asked, usage):
    done = run(cloche, *asked)
    assert done.returncode == 0 and done.stderr == ""
    assert f"usage: {usage}" in done.stdout


def test_the_version_is_found_in_all_the_usual_ways(cloche):
    told = {run(cloche, word).stdout for word in ("--version", "-V", "version")}
    assert len(told) == 1 and told.pop().startswith("cloche ")


def test_without_a_vault_notes_say_so(cloche):
    answer = json.loads(run(cloche, "eval", "-e", "return await notes.list()").stdout)
    assert answer["errorDetails"]["type"] == "NoVault"


def test_a_vault_that_is_not_there_is_named(cloche, tmp_path):
    done = run(cloche, "eval", "--vault", str(tmp_path / "nowhere"), "-e", "1")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    "words, code, kind",
    [
        (["--allow", "notes.get,utils"], "await notes.list()", "PermissionDenied"),
        (["--allow", "notes"], "await notes.list()", None),
        (["--allow", "notes.*"], "await notes.list()", None),
        (["--level", "zero"], "await notes.search({query: 'a'})", "PermissionDenied"),
        (["--level", "zero"], "await notes.create({type: 'a', title: 'b', content: ''})", "PermissionDenied"),
        (["--level", "limited"], "await notes.delete({identifier: 'a/b'})", "PermissionDenied"),
        (["--level", "zero"], "utils.formatDate(0)", None),
    ],
)
def test_levels_and_allowed_apis_hold(cloche, vault, words, code, kind):
    answer = json.loads(run(cloche, "eval", "--vault", str(vault), *words, "-e", code).stdout)
    assert answer["success"] is (kind is None), answer
    if kind:
        assert answer["errorDetails"]["type"] == kind


@pytest.mark.parametrize(
    "code, kind",
    [
        ("for(;;);", "Timeout"),
        ("Promise.resolve().then(() => { while (true); }); await new Promise(() => {})", "Timeout"),
        ("/^(a+)+$/.test('a'.repeat(50) + 'b')", "Timeout"),
        ("[3, 2, 1].sort(() => { for (;;); })", "Timeout"),
        ("for (;;) { try { for (;;); } catch {} }", "Timeout"),
        ("JSON.stringify({ toJSON() { for (;;); } })", "Timeout"),
        ("'x'.repeat(2 ** 29)", "MemoryExceeded"),
        ("const a = []; for (;;) { try { for (;;) a.push(new Array(1000).fill(a)); } catch {} }", "MemoryExceeded"),
        ("const f = () => f() + 1; f()", "StackOverflow"),
        ("'x'.repeat(2_000_000)", "OutputTooLarge"),
        ("for (;;) { try { notes.get('a/b').catch(() => {}); } catch {} }", "TooManyHostCalls"),
        ("const x = {; ", "SyntaxError"),
        ("null.x", "ExecutionError"),
        ("await notes.update({identifier: 'none/such', content: ''})", None),
    ],
)
def test_limits_stop_for_real_each_with_its_own_name(cloche, vault, code, kind):
    done = run(cloche, "eval", "--vault", str(vault), "--timeout", "1000", "--memory", "32", "-e", code)
    assert done.returncode == 1
    details = json.loads(done.stdout)["errorDetails"]
    if kind:
        assert details["type"] == kind
    assert details["message"]


def test_doctor_reindex_version_and_help(cloche, vault):
    doctor = run(cloche, "doctor", "--vault", str(vault), "--json")
    report = json.loads(doctor.stdout)
    assert {c["name"] for c in report["checks"]} >= {"engine", "evaluation of code", "vault"}
    assert all(c["ok"] for c in report["checks"] if c["name"] in ("evaluation of code", "vault")), report
    counts = json.loads(run(cloche, "reindex", "--vault", str(vault), "--json").stdout)
    assert counts["notes"] == len(list(vault.rglob("*.md")))
    assert run(cloche, "--version").stdout.startswith("cloche ")
    for words in (["--help"], ["eval", "--help"], ["mcp", "--help"], ["serve", "--help"], ["reindex", "--help"]):
        done = run(cloche, *words)
        assert done.returncode == 0 and "usage: cloche" in done.stdout


@pytest.mark.parametrize("more", [-1, 1, 99])
def test_an_index_of_another_version_is_made_again(cloche, vault, more):
    def reindexed():
        told = run(cloche, "reindex", "--vault", str(vault), "--json")
        return json.loads(told.stdout)
    notes = reindexed()["notes"]
    with contextlib.closing(sqlite3.connect(vault / ".cloche" / "index.db")) as index, index:
        [version] = index.execute("PRAGMA user_version").fetchone()
        index.execute("DROP TABLE links")
        index.execute(f"PRAGMA user_version = {version + more}")
    told = reindexed()
    assert told["notes"] == notes and told["index"] == "vault", told
    with contextlib.closing(sqlite3.connect(vault / ".cloche" / "index.db")) as index:
        assert index.execute("PRAGMA user_version").fetchone() == (version,)
        assert index.execute("SELECT count(*) FROM notes").fetchone() == (notes,)
        assert index.execute("SELECT count(*) FROM links").fetchone() != (0,)


def test_a_newer_history_is_not_touched(cloche, vault):
    write = "return (await notes.create({type: 'a', title: '%s', content: ''})).id"
    assert run(cloche, "eval", "--vault", str(vault), "-e", write % "One").returncode == 0
    history = vault / ".cloche" / "history" / "history.db"
    with contextlib.closing(sqlite3.connect(history)) as file:
        file.execute("PRAGMA user_version = 99")
    before = history.read_bytes()
    told = run(cloche, "eval", "--vault", str(vault), "-e", write % "Two")
    assert "made by a newer version of this program (its version is 99" in json.loads(told.stdout)["error"]
    assert not (vault / "a" / "Two.md").exists() and history.read_bytes() == before
    read = run(cloche, "eval", "--vault", str(vault), "-e", "return (await notes.get('a/One')).id")
    assert json.loads(read.stdout)["result"] == "a/One"


def test_databases_are_their_owners_alone(cloche, vault):
    def change(title):
        code = f"await notes.create({{type: 'a', title: '{title}', content: ''}}); await notes.list()"
        done = subprocess.run([cloche, "eval", "--vault", str(vault), "-e", code], umask=0,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
        return {p: p.stat().st_mode & 0o777 for p in (vault / ".cloche").rglob("*.db*")
                if not p.name.endswith(".lock")}
    modes = change("One")
    assert {p.name for p in modes} >= {"index.db", "history.db"}
    assert set(modes.values()) == {0o600}, modes
    for path in modes:
        path.chmod(0o644)
    modes = change("Two")
    assert set(modes.values()) == {0o600}, modes


def test_it_runs_where_there_is_no_home_and_no_cache(cloche, tmp_path):
    env = {"PATH": "/usr/bin:/bin"}
    done = run(cloche, "eval", "-e", "return 7", env=env)
    assert json.loads(done.stdout)["result"] == 7
    readonly = tmp_path / "cache"
    readonly.write_text("a file, where a folder should be")
    done = run(cloche, "eval", "-e", "return 8", env={**env, "XDG_CACHE_HOME": str(readonly)})
    assert json.loads(done.stdout)["result"] == 8


def test_the_first_start_compiles_nothing(cloche, vault, tmp_path):
    """What the build compiled ahead is found: else the first start takes seconds, and many times its memory."""
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=env) as client:
        for tool, arguments in [("check_code", {"code": "1"}), ("evaluate_note_code", {"code": "return 1"}),
                                ("run_script", {"code": "1", "workspace_id": "vault"}),
                                ("evaluate_note_code", {"code": "const n: number = 1", "language": "typescript"})]:
            answer = client.ask(call(tool, arguments))
            assert not answer["result"].get("isError"), answer
    assert list((tmp_path / "cache").rglob("*.cwasm")) == []
