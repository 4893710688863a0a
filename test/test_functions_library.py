"""Custom functions beyond one vault and one moment: libraries, templates, and a file that other
programs change, damage, or are killed over."""
import json
import os
import subprocess
import threading
import time

import pytest

from conftest import policy_in
from wire import Stdio, call, initialize, structured

FILE = ".cloche/custom-functions.json"


@pytest.fixture
def fn(cloche, vault):
    """cloche fn ..., with its answer as JSON; `fails`: it must fail, and its message is returned.
    """

    def run(*args, fails=False, at=vault):
        done = subprocess.run([cloche, "fn", *args, "--vault", str(at), "--json"],
                              capture_output=True, text=True, timeout=120)
        if fails:
            assert done.returncode, done.stdout
            return done.stderr + done.stdout
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    return run


@pytest.fixture
def evaluate(cloche, vault):
    def run(code):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), "--json", "-"],
                              input=code, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    return run


def definition(name, body="return 1", description="says something"):
    return {"name": name, "description": description, "parameters": {},
            "returnType": "number", "code": f"function {name}(): number {{ {body} }}"}


def write(vault, *functions):
    place = vault / FILE
    place.parent.mkdir(exist_ok=True, parents=True)
    place.write_text(json.dumps({"version": 1, "functions": list(functions)}))


def names_of(answer):
    return [row["name"] for row in answer["functions"]]


# ---- libraries ------------------------------------------------------------------


def test_a_library_is_called_and_listed_and_left_alone(fn, evaluate, vault, tmp_path):
    library = tmp_path / "library"
    write(library, definition("shared", "return 7"), definition("both", "return 8"))
    write(vault, definition("both", "return 9"))
    assert names_of(fn("list")) == ["both"]
    policy_in(tmp_path, {"functions": {"libraries": [str(library)]}})
    rows = {row["name"]: row for row in fn("list")["functions"]}
    assert set(rows) == {"both", "shared"}
    before = (library / FILE).read_bytes()
    answer = evaluate("[customFunctions.shared(), customFunctions.both()]")
    assert answer["result"] == [7, 9]
    for wrong in (["delete", "shared"], ["rollback", "shared", "1"]):
        fn(*wrong, fails=True)
    assert (library / FILE).read_bytes() == before
    assert sorted(p.name for p in (library / ".cloche").iterdir()) == ["custom-functions.json"]

    write(library, definition("shared", "return 70"))
    assert evaluate("customFunctions.shared()")["result"] == 70
    (library / FILE).write_text("{ damaged")
    assert names_of(fn("list")) == ["both"]


def test_a_plain_folder_is_a_library_too(fn, tmp_path):
    library = tmp_path / "plain"
    library.mkdir()
    (library / "custom-functions.json").write_text(json.dumps([definition("plain")]))
    policy_in(tmp_path, {"functions": {"libraries": [str(library), "/no/such/folder", "none"]}})
    assert names_of(fn("list")) == ["plain"]


def test_no_vault_names_a_library(cloche, fn, vault, tmp_path):
    library = tmp_path / "library"
    write(library, definition("shared"))
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text(
        json.dumps({"functions": {"libraries": [str(library)]}}))
    assert names_of(fn("list")) == []


# ---- templates ------------------------------------------------------------------


def test_every_template_does_what_its_examples_say(cloche, fn, vault):
    templates = [row["template"] for row in fn("templates")["templates"]]
    assert len(templates) >= 6
    for which in templates:
        fn("new", f"my_{which}", "--template", which)
    kept = {f["name"]: f for f in json.loads((vault / FILE).read_text())["functions"]}
    assert len(kept) == len(templates)
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as stdio:
        stdio.ask(initialize())
        for name, one in kept.items():
            assert one["examples"], name
            for example in one["examples"]:
                hold(stdio, name, one, example)


def hold(stdio, name, one, example):
    args = example.get("args", {})
    if isinstance(args, dict):
        args = [args.get(p) for p in one["parameters"]]
        while args and args[-1] is None:
            args.pop()
    code = f"customFunctions.{name}(...{json.dumps(args)}.map((v) => v ?? undefined))"
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": code})))
    if "error" in example:
        assert not answer["success"], name
        assert example["error"] in f"{answer['error']}", (name, answer["error"])
        return
    assert answer["success"], (name, answer["error"])
    if "expected" in example:
        assert answer["result"] == example["expected"], name
    for key, value in example.get("matches", {}).items():
        assert answer["result"][key] == value, name


# ---- a file that others change ---------------------------------------------------


def test_a_damaged_file_is_named_and_put_back_by_one_command(fn, vault, tmp_path):
    for name in ("one", "two"):
        source = tmp_path / f"{name}.json"
        source.write_text(json.dumps(definition(name)))
        fn("add", str(source))
    (vault / FILE).write_text('{"version": 1,\n "functions": [}')
    said = fn("list", fails=True)
    assert "custom-functions.json is damaged: line 2" in said and "restore" in said
    before = (vault / FILE).read_bytes()
    fn("add", str(tmp_path / "one.json"), fails=True)
    assert (vault / FILE).read_bytes() == before
    fn("restore")
    assert names_of(fn("list")) == ["one"]


def test_links_out_of_the_vault_are_refused(fn, vault, tmp_path):
    write(tmp_path / "elsewhere", definition("secret"))
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / FILE).symlink_to(tmp_path / "elsewhere" / FILE)
    assert "secret" not in fn("list", fails=True)
    (vault / FILE).unlink()
    (vault / ".cloche" / "backups").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    write(vault, definition("mine"))
    source = tmp_path / "new.json"
    source.write_text(json.dumps(definition("mine", "return 2")))
    fn("delete", "mine", fails=True)
    assert names_of(fn("list")) == ["mine"]
    assert [p.name for p in (tmp_path / "elsewhere").iterdir()] == [".cloche"]


def add_one(stdio, name):
    stdio.ask(call("import_custom_functions", {"text": json.dumps([definition(name)])}))


def test_who_is_killed_while_registering_leaves_a_whole_file(cloche, fn, vault):
    """At many moments the file is the old or the new one, and acknowledged changes are in it."""
    answered = {"first", "second"}
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as stdio:
        stdio.ask(initialize())
        add_one(stdio, "first")
        begun = time.monotonic()
        add_one(stdio, "second")
        usual = time.monotonic() - begun  # only says where the moments lie
    rounds = int(os.environ.get("CLOCHE_KILLS", 300)) // 15
    for round in range(rounds):
        stdio = Stdio([cloche, "mcp", "--vault", str(vault)])
        stdio.ask(initialize())
        end = threading.Timer(3 * usual * (round + 1) / rounds, stdio.process.kill)
        end.start()
        try:
            for i in range(50):
                add_one(stdio, f"f{round}_{i}")
                answered.add(f"f{round}_{i}")
        except (AssertionError, OSError, ValueError, IndexError):
            pass
        end.join()
        stdio.process.wait()
        there = {f["name"] for f in json.loads((vault / FILE).read_text())["functions"]}
        assert answered <= there, answered - there
        answered |= there
    assert set(names_of(fn("list", "--limit", "100"))) <= answered
    assert len(list((vault / ".cloche" / "backups").iterdir())) <= 10


def test_a_file_that_is_replaced_all_the_time_is_never_read_in_part(fn, evaluate, vault):
    stop = threading.Event()

    def replace():
        for n in range(10**6):
            if stop.is_set():
                return
            fresh = vault / ".cloche" / "new"
            fresh.write_text(json.dumps(
                {"functions": [definition("a", f"return {n}"), definition("b", f"return {n}")]}))
            os.replace(fresh, vault / FILE)

    write(vault, definition("a", "return -1"), definition("b", "return -1"))
    other = threading.Thread(target=replace)
    other.start()
    try:
        for _ in range(10):
            answer = evaluate("[customFunctions.a(), customFunctions.b()]")
            assert answer["success"], answer
            assert answer["result"][0] == answer["result"][1]
    finally:
        stop.set()
        other.join()
