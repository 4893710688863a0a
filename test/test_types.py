"""Type checks of code that does not run: the checker compared with npm's TypeScript, which has the
same source, and its use by agents and users."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import needs
from checker_snippets import SNIPPETS
from wire import Stdio, call, structured

ROOT = Path(__file__).resolve().parent.parent
DEPS = ROOT / "build/deps"
TSC = DEPS / "npm-test/node_modules/typescript/bin/tsc"
needs_checker = needs.installed(ROOT / "build/guest/checker.bare.wasm", by="make checker")

# The same as in guest/checker/program.go and check.go.
LIBRARIES = ["es2025", "esnext.array", "esnext.collection", "esnext.disposable", "esnext.error",
             "esnext.typedarrays", "decorators"]
OPTIONS = {"target": "esnext", "module": "esnext", "moduleResolution": "bundler", "lib": LIBRARIES,
           "moduleDetection": "force", "types": [], "strict": True, "noEmit": True,
           "skipLibCheck": True, "useUnknownInCatchVariables": False}
HEAD = "async function evaluation() {"


@pytest.fixture(scope="module")
def agent(cloche, tmp_path_factory):
    place = tmp_path_factory.mktemp("types")
    (place / "vault").mkdir()
    with Stdio([cloche, "mcp", "--vault", str(place / "vault")]) as client:
        yield client


def check(client, code, **more):
    return structured(client.ask(call("check_code", {"code": code, **more})))


def types_only(client, code, **more):
    arguments = {"code": code, "typesOnly": True, **more}
    return structured(client.ask(call("evaluate_note_code", arguments)))


# ---- against npm's ------------------------------------------------------------------


def returns(code):
    return any(re.match(r"(if \(.*\) )?return\b|.*[;})] return\b", line) for line in code.split("\n"))


def compile_files(place, files):
    """{file name: [(line, code)]}, of one run of tsc."""
    names = ["core.d.ts", "own.d.ts", *files]
    (place / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": OPTIONS, "files": names}))
    done = subprocess.run([DEPS / "node", TSC, "-p", place, "--pretty", "false"],
                          capture_output=True, text=True, timeout=300)
    said = {name: [] for name in files}
    for line in done.stdout.splitlines():
        found = re.match(r"(\S+?)\((\d+),\d+\): error (TS\d+)", line)
        if found:
            said[Path(found[1]).name].append((int(found[2]), found[3]))
    return said


def forgiven(code, wrapped):
    number = int(code[2:])
    return 7005 <= number <= 7057 or number == 2683 or wrapped and number in (1184, 1235)


@pytest.fixture(scope="module")
def peers(cloche, tmp_path_factory):
    """What tsc says of each snippet. A file that cannot be read hides what the types of all
    others are, so those are told first and left out then."""
    place = tmp_path_factory.mktemp("tsc")
    declared = subprocess.run([cloche, "api", "--types"], capture_output=True, text=True,
                              check=True).stdout
    # Without what code has to ask for.
    (place / "core.d.ts").write_text(declared[:declared.index("/** This, the two below and fetch")])
    (place / "own.d.ts").write_text("declare const customFunctions: {};\n")
    files = {}
    for i, code in enumerate(SNIPPETS):
        name = f"s{i}.ts"
        text = f"{HEAD}{code}\n}}" if wraps(code) else code
        (place / name).write_text(text)
        files[name] = code
    unread = {n: d for n, d in compile_files(place, list(files)).items() if d}
    if all(int(c[2:]) < 2000 or int(c[2:]) > 17000 for d in unread.values() for _, c in d):
        said = unread | compile_files(place, [n for n in files if n not in unread])
    else:
        said = compile_files(place, list(files))
    return [said[f"s{i}.ts"] for i in range(len(SNIPPETS))]


def wraps(code):
    """Whether it returns to its caller: then both check it as a function's body."""
    return code.startswith("return") or "\nreturn" in code or "; return" in code and "{ return" not in code \
        or code.startswith("if (1 > 0) return") or code.endswith("} return f()")


@needs_checker
def test_there_are_enough_snippets():
    assert len(set(SNIPPETS)) == len(SNIPPETS) >= 200


@needs_checker
@needs.installed(TSC, by="deps/fetch test")
def test_verdicts_are_those_of_npm_typescript(agent, peers):
    different = {}
    sound = 0
    for code, theirs in zip(SNIPPETS, peers):
        found = types_only(agent, code, language="typescript")["diagnostics"]
        ours = sorted({(d["line"], d["code"]) for d in found})
        theirs = sorted({d for d in theirs if not forgiven(d[1], wraps(code))})
        sound += not theirs
        if ours != theirs:
            different[code] = (ours, theirs)
    assert different == {}
    assert 30 <= sound < len(SNIPPETS) - 100  # of both kinds enough


# ---- agents ---------------------------------------------------------------------------


@needs_checker
def test_only_types_are_checked_and_nothing_runs(agent):
    code = "const made = await notes.create({type: 'a', title: 'b', content: 'c'});\nmade.nope;"
    told = types_only(agent, code, language="typescript")
    assert told["success"] is False and told["result"] is None
    assert told["errorDetails"]["line"] == 2 and "TS2339" in told["error"]
    assert "nope" in told["errorDetails"]["frame"]
    [found] = told["diagnostics"]
    assert (found["code"], found["line"], found["column"], found["severity"]) == ("TS2339", 2, 6, "error")
    told = types_only(agent, code.replace(".nope", ".id"), language="typescript")
    assert told["success"] is True and told["diagnostics"] == []
    assert structured(agent.ask(call("evaluate_note_code", {"code": "notes.list()"})))["result"] == []


@needs_checker
def test_context_session_network_and_files_are_known(agent):
    ts = {"language": "typescript"}
    context = {"n": 1, "rows": [{"a": "x"}, {"a": None}], "deep": {"b": [True, "y"]}}
    assert types_only(agent, "n.toFixed(); rows[0].a?.length; deep.b.length; context.n", context=context,
                      **ts)["success"]
    assert not types_only(agent, "rows[0].b", context=context, **ts)["success"]
    assert types_only(agent, "fetch('https://a.test')", enableNetwork=True, **ts)["success"]
    assert types_only(agent, "fs.readFileSync('/a', 'utf8').length", enableFileSystem=True, **ts)["success"]
    assert not types_only(agent, "fetch('https://a.test')", **ts)["success"]
    assert types_only(agent, "earlier.x; state.y = 1", session="s", **ts)["success"]
    assert not types_only(agent, "state.y = 1", **ts)["success"]


@needs_checker
def test_check_code_tells_types_beside_findings(agent):
    told = check(agent, "const n: number = 'x'; n", language="typescript")
    assert told["ok"] is False and told["typeErrors"] == 1
    assert told["types"][0]["code"] == "TS2322"
    # JavaScript is written without types in mind: told, and no error.
    told = check(agent, "const n = 1; n.nope()")
    assert told["ok"] is True and told["typeErrors"] == 0
    assert (told["types"][0]["code"], told["types"][0]["severity"]) == ("TS2339", "warning")


@needs_checker
def test_what_checker_and_linter_both_find_is_told_once(agent):
    code = "const n = await notes.lst({});\nfoo.bar();\nreturn n"
    for language in ("typescript", "javascript"):
        told = check(agent, code, language=language)
        places = [(f["line"], f.get("rule", f.get("code"))) for f in told["types"] + told["findings"]]
        name = "TS2304" if language == "typescript" else "undefined-name"
        assert sorted(places) == [(1, "unknown-api"), (2, name)]
        assert not told["ok"] and told["errors"] == 1
        assert told["typeErrors"] == (language == "typescript")
        assert told["warnings"] == (language == "javascript")
        # Where the call's context is known, the linter's is an error as well.
        told = check(agent, code, language=language, context={})
        assert told["errors"] == 1 + (language == "javascript") and told["warnings"] == 0


@needs_checker
def test_what_the_libraries_declare_and_the_guest_has_not_is_told(agent):
    for name in ("DisplayNames", "DurationFormat"):
        told = types_only(agent, f"return new Intl.{name}('en', {{type: 'region'}})", language="typescript")
        assert name in told["diagnostics"][0]["message"], told
        assert told["diagnostics"][0]["code"] in ("TS2339", "TS2550", "TS2551")
    told = types_only(agent, "return new Intl.NumberFormat('de').formatRangeToParts(1, 2).length", language="typescript")
    assert told["diagnostics"] == []


@needs_checker
def test_positions_are_those_of_the_text(agent):
    """In characters, whatever stands before, also where the code returns."""
    for head in ("", "return 1;\n", "/* \U0001f600é */ "):
        code = head + "nope"
        [found] = [d for d in types_only(agent, code, language="typescript")["diagnostics"]
                   if d["code"] == "TS2304"]
        line = head.count("\n") + 1
        assert (found["line"], found["column"]) == (line, len(head.split("\n")[-1]) + 1)
        assert (found["endLine"], found["endColumn"]) == (line, found["column"] + 4)


@needs_checker
def test_a_pipeline_shares_what_every_tool_takes(agent):
    for shared, wrong in (("{stdin: {base64: 'YQ=='}, timeout: 1000, cwd: '/work'}", False),
                          ("{args: ['-r']}", True)):
        code = f"await tools.pipe([{{tool: 'sort'}}], {shared})"
        assert bool(types_only(agent, code, language="typescript")["diagnostics"]) == wrong


@needs_checker
@pytest.mark.parametrize("language", ["typescript", "javascript"])
@pytest.mark.parametrize("code, line, column", [
    ("const x = 1;\nconst y = " + "(" * 3000 + "1" + ")" * 3000, 2, 111), ("const x = " + "[" * 130 + "]" * 130, 1, 111),
    ("const é = '((', y = " + "{a:" * 3000 + "1" + "}" * 3000, 1, 321)])
def test_code_that_is_nested_too_deeply_is_told_with_its_place(agent, language, code, line, column):
    told = types_only(agent, code, language=language)["diagnostics"]
    assert [(d["code"], d["line"], d["column"]) for d in told] == [("NESTED", line, column)]


@needs_checker
def test_hostile_code_ends_and_the_next_is_checked(agent):
    for code in ("let a = " + "[" * 100_000, "type A = " + "(" * 50_000,
                 "type B<N extends any[] = []> = N['length'] extends 1e9 ? N : B<[...N, 0]>; let b: B = 1",
                 "let s = `" + "${`" * 10_000, "{" * 50_000):
        told = types_only(agent, code, language="typescript")
        assert told["success"] is False and told["error"]
    assert types_only(agent, "1 + 1", language="typescript")["success"] is True


# ---- custom functions -----------------------------------------------------------------

DAILY = """
async function createOrUpdateDailyNote(date?: string, content?: string): Promise<Note> {
  const title = utils.formatDate(date ? new Date(date) : new Date(), 'YYYY-MM-DD');
  const existing = await notes.search({ query: title, exact: true });
  if (existing.length > 0) {
    const note = await notes.get(existing[0].id);
    if (note && content) await notes.update(note.id, { content: note.content + content });
    return note!;
  }
  return await notes.create({ title, content: content || '# Daily Note', type_id: 'daily-note' });
}
"""


def register(client, **changed):
    definition = {"name": "createOrUpdateDailyNote", "description": "Today's note.", "code": DAILY,
                  "parameters": {"date": {"type": "string", "optional": True},
                                 "content": {"type": "string", "optional": True}},
                  "returnType": "Promise<Note>"} | changed
    return structured(client.ask(call("register_custom_function", definition)))


@needs_checker
def test_a_function_is_held_against_its_definition(agent):
    """The seed's own example fits; callers are checked against it."""
    told = register(agent)
    assert told["success"] is True, told
    code = "const n = await customFunctions.createOrUpdateDailyNote(%s); n.title"
    assert types_only(agent, code % "'2024-01-15', 'x'", language="typescript")["success"] is True
    told = types_only(agent, code % "5", language="typescript")
    assert [d["code"] for d in told["diagnostics"]] == ["TS2345"]
    told = types_only(agent, "customFunctions.createOrUpdate()", language="typescript")
    assert told["success"] is False

    told = register(agent, name="other", code=DAILY.replace("OrUpdateDailyNote", ""),
                    parameters={"when": {"type": "string"}})
    assert told["success"] is False
    assert any(e["field"] == "name" and e["suggestion"] == "create" for e in told["errors"])
    told = register(agent, name="add", code="function add(a, b) { return a + b; }", returnType="string",
                    parameters={"a": {"type": "number"}, "b": {"type": "numbr"}})
    assert [(e["field"], e["code"], e.get("suggestion")) for e in told["errors"]][:1] == \
        [("parameters.b.type", "TS2552", "number")]


# ---- persons ----------------------------------------------------------------------------


@pytest.fixture
def run_check(cloche, vault, tmp_path):
    def run(code, *options, name="code.ts"):
        file = tmp_path / name
        file.write_text(code)
        return subprocess.run([cloche, "eval", "--vault", str(vault), "--check", *options, str(file)],
                              capture_output=True, text=True, timeout=120)
    return run


@needs_checker
def test_the_command_line_says_file_line_and_column(run_check, tmp_path):
    done = run_check("const a = 1;\n  a.nope;\n")
    assert done.returncode == 1
    assert f"{tmp_path}/code.ts:2:5: error: Property 'nope' does not exist on type '1'. [TS2339]" \
        in done.stdout.splitlines()
    assert "1 type error" in done.stdout
    done = run_check("const a = 1;\na.toFixed();\n")
    assert (done.returncode, done.stderr) == (0, "")


@needs_checker
def test_of_javascript_nothing_is_said_twice(run_check, tmp_path):
    done = run_check("const a = nots.list();\nreturn a.nope(process)\n", name="code.js")
    said = [line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith(f"{tmp_path}")]
    places = [place for place, _ in said[:-1]]
    assert len(places) == len(set(places)) and "npm" not in done.stdout
    assert any("'nots' is not defined" in text for _, text in said)


@pytest.fixture
def unbuilt(cloche, tmp_path):
    """The folder of a build, in a checkout of its own, whose guests have no checker."""
    built = Path(cloche).parent
    place = tmp_path / "checkout" / "build"

    def lay(file):
        to = place / file.relative_to(built)
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, to)
        except OSError:
            shutil.copy(file, to)

    guests = [f for f in (built / "guest").iterdir() if not f.name.startswith("checker") and f.is_file()]
    for file in [Path(cloche), *guests, *(built / "guest/ahead").iterdir()]:
        lay(file)
    (place / "lib").symlink_to(built / "lib")
    lay(built / "cloche-sql")
    return place


def test_without_the_checker_it_says_so(unbuilt, vault):
    """Everything works, but types are not checked."""
    place = unbuilt
    with Stdio([place / "cloche", "mcp", "--vault", str(vault)]) as client:
        told = check(client, "const a: number = 'x'; a", language="typescript")
        assert told["ok"] is True and "make checker" in told["typesUnchecked"]
        told = types_only(client, "1")
        assert told["success"] is False and "make checker" in told["error"]
        assert structured(client.ask(call("evaluate_note_code", {"code": "return 1"})))["result"] == 1


MAKEFILE = """checker:
	@echo begun; cat fifo; touch build/guest/checker.bare.wasm
"""


def test_the_checker_is_built_in_the_background_and_doctor_says_so(unbuilt, vault, tmp_path):
    """A stand-in for `make checker` that ends when told to."""
    checkout = unbuilt.parent
    (checkout / "dev").mkdir()
    shutil.copy(ROOT / "dev" / "checker-later", checkout / "dev")
    (checkout / "Makefile").write_text(MAKEFILE)
    os.mkfifo(checkout / "fifo")
    (tmp_path / "one.ts").write_text("/** One. */\nfunction one(): number { return 1; }\n")

    def run(*words, **env):
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **env})
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr
    doctor = lambda: run(unbuilt / "cloche", "doctor", "--vault", vault)[0]  # noqa: E731
    add = (unbuilt / "cloche", "fn", "validate", tmp_path / "one.ts", "--vault", vault)
    assert "not built: types are not checked; 'make checker'" in doctor()
    assert "not built" in run(*add)[0] and "not built" in doctor()
    # The first use by a person begins it, and says so in a line; the next ones say it is under way.
    out, line = run(*add, CLOCHE_CHECKER="")
    assert "[TYPES_UNCHECKED]" in out and line.count("\n") == 1
    assert "is being built in the background, once" in line and "build/checker.log" in line
    assert "being built in the background" in doctor()
    out, line = run(*add, CLOCHE_CHECKER="")
    assert "the checker is being built" in out and line.count("\n") == 1
    assert run(checkout / "dev" / "checker-later", CLOCHE_CHECKER="")[0].startswith("Type checking: ")
    waiting = subprocess.Popen([checkout / "dev" / "checker-later", "--wait"])
    with open(checkout / "fifo", "w"):
        pass
    assert waiting.wait(60) == 0
    assert (unbuilt / "guest" / "checker.bare.wasm").exists()
    assert run(checkout / "dev" / "checker-later", CLOCHE_CHECKER="") == ("", "")
    assert (checkout / "build" / "checker.log").read_text() == "begun\n"
