"""Management of tools: `cloche tool install|update|remove|enable|disable|sign|trust`, for all
vaults or for one, by many processes, and killed at any moment."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from packages import Zip, module, package
from test_permissions import lay_out
from wire import Stdio, call, initialize

ROOT = Path(__file__).resolve().parent.parent


class Tools:
    def __init__(self, program, place):
        self.program, self.place = program, place
        self.folder = place / "data" / "cloche" / "tools"

    def __call__(self, *words, code=0, **options):
        p = subprocess.run([self.program, "tool", *map(str, words)], capture_output=True,
                           text=True, **options)
        assert p.returncode == code, (words, p.returncode, p.stderr)
        return p.stderr if code else p.stdout

    def zip(self, changes=None, name="tool.zip", **more):
        file = self.place / name
        file.write_bytes(package(changes, **more))
        return file

    def list(self, *words):
        return {r["name"]: r for r in json.loads(self("list", "--json", *words))
                if r["source"] == "user"}

    def all(self, *words):
        return {r["name"]: r for r in json.loads(self("list", "--json", *words))}

    def files(self):
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*")
                      if p.is_file() and p.name not in ("lock", "changes"))


@pytest.fixture
def tools(cloche, tmp_path):
    return Tools(cloche, tmp_path)


# ---- the examples --------------------------------------------------------------------

@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """examples/tools, built as its page says."""
    place = tmp_path_factory.mktemp("examples") / "tools"
    shutil.copytree(ROOT / "examples" / "tools", place,
                    ignore=shutil.ignore_patterns("*.wasm", "*.zip"))
    cc = f"{ROOT / 'build' / 'deps' / 'zig'} cc -target wasm32-wasi"
    for name in ("base64", "sha256sum"):
        subprocess.run(["make", "-C", place / name, f"CC={cc}"], check=True,
                       capture_output=True)
    return place


def test_the_examples_are_built_installed_and_run(tools, examples, tmp_path):
    for name in ("base64", "sha256sum"):
        assert tools("install", "--update", examples / name / f"{name}.zip") == f"{name} 1.0.0\n"
    assert tools("run", "base64", "encode", "Hello, World!") == "SGVsbG8sIFdvcmxkIQ==\n"
    assert tools("run", "base64", "decode", "SGVsbG8sIFdvcmxkIQ==") == "Hello, World!\n"
    data = bytes(range(256)) * 1000
    (tmp_path / "data.bin").write_bytes(data)
    import hashlib
    told = tools("run", "--mount", f"/here={tmp_path}:ro", "sha256sum", "data.bin")
    assert told == f"{hashlib.sha256(data).hexdigest()}  data.bin\n"
    assert tools("run", "sha256sum", input="abc").split()[0] == hashlib.sha256(b"abc").hexdigest()


def test_the_examples_manifests_have_nothing_wrong(tools):
    for name in ("base64", "sha256sum"):
        assert tools("check", ROOT / "examples" / "tools" / name / "manifest.json") == ""


# ---- install, update, remove -----------------------------------------------------------

def test_a_taken_name_is_a_conflict_unless_it_is_updated(tools):
    tools("install", tools.zip())
    before = tools.list()["probe"]
    assert "is installed already, version 1.0.0; --update" in tools(
        "install", tools.zip({"version": "2.0.0"}), code=1)
    assert tools.list()["probe"] == before
    tools("disable", "probe")
    tools("install", "--update", tools.zip({"version": "2.0.0"}))
    after = tools.list()["probe"]
    assert after["version"] == "2.0.0" and after["updatedAt"] > before["updatedAt"]
    for kept in ("id", "installedAt"):
        assert after[kept] == before[kept]
    assert after["enabled"] is False, "an update switches nothing on"


def test_update_needs_what_it_updates(tools):
    assert "no tool 'probe' is installed" in tools("update", tools.zip(), code=1)
    tools("install", tools.zip())
    assert tools("update", tools.zip({"version": "1.1.0"})) == "probe 1.1.0\n"


def test_an_update_goes_forward(tools):
    tools("install", tools.zip({"version": "1.10.0"}))
    assert "version 1.9.0 of 'probe' is older than the installed version 1.10.0" in tools(
        "update", tools.zip({"version": "1.9.0"}), code=1)
    assert "older" in tools("update", tools.zip({"version": "1.10.0-rc.1"}), code=1)
    tools("update", tools.zip({"version": "1.10.0"}))
    tools("install", "--update", tools.zip({"version": "1.9.0"}))
    assert tools.list()["probe"]["version"] == "1.9.0"


def test_a_version_that_is_none_is_warned_of(tools):
    done = subprocess.run([tools.program, "tool", "check", tools.zip({"version": "latest"})],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "version is not a semantic version" in done.stderr


def test_a_module_that_needs_more_memory_than_its_manifest_gives_is_refused(tools):
    execution = {"argStyle": "cli", "fileAccess": "none", "memoryLimit": 65536}
    told = tools("install", tools.zip({"execution": execution}, wasm=module(pages=2)), code=2)
    assert "execution.memoryLimit is 65536, and the module begins with 131072" in told
    assert tools.files() == []
    tools("install", tools.zip({"execution": execution}))
    tools("run", "probe")


def test_a_parameter_that_is_standard_input_is_one_of_the_tools(tools, tmp_path):
    """As manifests of Co-do have it: execution.stdinParam, and `pipeable`."""
    parameters = {"type": "object", "required": ["input"],
                  "properties": {"input": {"type": "string", "description": "the text"}}}
    execution = {"argStyle": "cli", "fileAccess": "none", "stdinParam": "input"}
    changes = {"parameters": parameters, "execution": execution, "pipeable": True}
    done = subprocess.run([tools.program, "tool", "check", tools.zip(changes)],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    execution["stdinParam"] = "text"
    assert "execution.stdinParam is not a name in parameters.properties" in tools(
        "install", tools.zip(changes), code=2)


@pytest.mark.parametrize("name", ["check_code", "get_note", "run_tool", "test_custom_function", "pipe"])
def test_a_tool_cannot_have_the_name_of_something_else(tools, name):
    for command in ("install", "check", "propose"):
        assert f"'{name}' is a reserved name" in tools(
            command, tools.zip({"name": name}), code=1)
    assert tools.files() == []


def test_a_removed_tool_is_gone_with_its_module(tools):
    tools("install", tools.zip())
    tools("install", tools.zip({"name": "other"}))
    assert len(tools.files()) == 3, "two records of one module"
    tools("remove", "probe")
    assert len(tools.files()) == 2
    tools("remove", "other")
    assert tools.files() == []
    assert "there is no tool 'probe'" in tools("remove", "probe", code=1)


def test_an_update_leaves_no_old_module(tools):
    tools("install", tools.zip())
    tools("update", tools.zip(wasm=module(padding=100)))
    assert len([f for f in tools.files() if f.startswith("modules/")]) == 1


def test_a_disabled_tool_says_who_can_enable_it(tools):
    tools("install", tools.zip())
    tools("disable", "probe")
    assert "a person can enable it with 'cloche tool enable probe'" in tools(
        "run", "probe", code=1)
    tools("enable", "probe")
    tools("run", "probe")


def test_a_built_in_tool_is_switched_and_replaced_but_never_removed(tools):
    builtin = next((r for r in tools.all().values() if r["source"] == "builtin"), None)
    if not builtin:
        pytest.fail("built-in tools are missing: make tools builds them")
    name = builtin["name"]
    assert "is built in and cannot be removed" in tools("remove", name, code=2)
    tools("disable", name)
    assert tools.all()[name]["enabled"] is False
    tools("enable", name)
    assert tools.all()[name] == builtin, "its id and state are the same as before"
    mine = tools.zip({"name": name, "version": "9.9.9"})
    assert "is a built-in tool" in tools("install", mine, code=1)
    tools("install", "--update", mine)
    told = json.loads(tools("show", name, "--json"))
    assert (told["source"], told["version"]) == ("user", "9.9.9")
    tools("remove", name)
    assert tools.all()[name] == builtin


# ---- one vault --------------------------------------------------------------------------

@pytest.fixture
def vaults(cloche, tmp_path):
    """Two that are registered."""
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
        subprocess.run([cloche, "vault", "add", tmp_path / name], check=True,
                       capture_output=True)


def test_a_tool_of_one_vault_is_not_another_vaults(tools, vaults):
    tools("install", "--vault", "work", tools.zip({"version": "1.0.0"}))
    tools("install", tools.zip({"version": "2.0.0"}))
    assert tools.list("--vault", "work")["probe"]["version"] == "1.0.0"
    assert tools.list("--vault", "home")["probe"]["version"] == "2.0.0"
    tools("remove", "--vault", "work", "probe")
    assert tools.list("--vault", "work")["probe"]["version"] == "2.0.0"
    assert "not for this one alone" in tools("remove", "--vault", "work", "probe", code=1)


def test_an_update_makes_no_second_tool_in_another_place(tools, vaults):
    tools("install", "--vault", "work", tools.zip())
    newer = tools.zip({"version": "2.0.0"})
    for words in (["install", "--update"], ["update"], ["install", "--update", "--vault", "home"]):
        told = tools(*words, newer, code=1)
        assert "installed for the vault work alone" in told and "update --vault work" in told
    tools("remove", "--vault", "work", "probe")
    tools("install", tools.zip())
    for words in (["install", "--update"], ["update"], ["install"]):
        assert "is installed for all vaults" in tools(*words, "--vault", "work", newer, code=1)
    assert [r["version"] for r in json.loads(tools("list", "--json")) if r["name"] == "probe"] == [
        "1.0.0"]


def test_a_tool_is_disabled_for_one_vault_alone(tools, vaults):
    tools("install", tools.zip())
    tools("disable", "--vault", "work", "probe")
    assert tools.list("--vault", "work")["probe"]["enabled"] is False
    assert tools.list("--vault", "home")["probe"]["enabled"] is True
    assert tools.list()["probe"]["enabled"] is True
    tools("enable", "--vault", "work", "probe")
    assert tools.list("--vault", "work")["probe"]["enabled"] is True


def test_a_vault_that_nobody_registered_is_no_place_for_a_tool(tools, vaults):
    tools("install", tools.zip())
    for words in (["install", tools.zip({"name": "other"})], ["disable", "probe"],
                  ["enable", "probe"], ["list"], ["show", "probe"]):
        assert "no registered vault has the id 'wrok'" in tools(*words, "--vault", "wrok", code=2)
    tools("install", tools.zip({"name": "other"}), "--vault", "folder", "--unregistered")
    assert tools.list("--vault", "folder")["other"]["vault"] == "folder"
    tools("remove", "other", "--vault", "folder")


@pytest.mark.parametrize("vault", ["../x", "a/b", "", ".hidden", "x" * 65, "a@b"])
def test_what_is_no_vaults_id_is_refused(tools, vault):
    assert "is not the id of a vault" in tools("install", f"--vault={vault}", tools.zip(), code=2)
    assert tools.files() == []


# ---- what is on disk ---------------------------------------------------------------------

def record_of(tools):
    return next((tools.folder / "records").iterdir())


@pytest.mark.parametrize("damage", ["{", '{"id": 1}', "", "null", '{"a": "' + "x" * 10 + '"}'])
def test_a_damaged_record_is_named_and_left_out(tools, damage):
    tools("install", tools.zip({"name": "good"}))
    tools("install", tools.zip())
    bad = next(f for f in (tools.folder / "records").iterdir() if '"probe"' in f.read_text())
    bad.write_text(damage)
    p = subprocess.run([tools.program, "tool", "list", "--json"], capture_output=True, text=True)
    assert p.returncode == 0 and bad.name in p.stderr
    names = [r["name"] for r in json.loads(p.stdout)]
    assert "good" in names and "probe" not in names
    tools("install", tools.zip({"name": "third"}))
    assert bad.read_text() == damage, "what a person may mend is not touched"


def test_another_module_than_was_installed_does_not_run(tools):
    tools("install", tools.zip())
    file = next((tools.folder / "modules").iterdir())
    file.write_bytes(module(padding=10))
    assert "its module is not the one that was installed" in tools("run", "probe", code=2)


def test_a_tool_runs_again_when_the_cache_was_emptied(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tools("install", tools.zip())
    shutil.rmtree(tmp_path / "cache")
    tools("run", "probe")


def test_many_processes_install_at_once(tools):
    files = [tools.zip({"name": f"tool{i}"}, f"{i}.zip", wasm=module(padding=i + 1))
             for i in range(12)]
    all_of_them = [subprocess.Popen([tools.program, "tool", "install", f],
                                    stdout=subprocess.DEVNULL) for f in files]
    assert [p.wait() for p in all_of_them] == [0] * 12
    assert len(tools.list()) == 12
    one = tools.zip({"name": "same"})
    rivals = [subprocess.Popen([tools.program, "tool", "install", one],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for _ in range(6)]
    assert sorted(p.wait() for p in rivals) == [0, 1, 1, 1, 1, 1], "the name goes to one"


def test_an_install_that_is_killed_is_whole_or_nothing(tools):
    """At 40 moments of its run: the next change removes what a kill left."""
    file = tools.zip(wasm=module(padding=300_000))
    start = time.monotonic()
    tools("install", file)
    whole = time.monotonic() - start
    tools("remove", "probe")
    for i in range(40):
        p = subprocess.Popen([tools.program, "tool", "install", file],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(whole * (i + 1) / 40)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.wait()
        if "probe" in tools.list():
            tools("run", "probe")
            tools("remove", "probe")
        else:
            left = [f for f in tools.files() if f.startswith("records/")]
            assert all(f.startswith("records/.cloche-") for f in left), "no whole record"
            tools("install", tools.zip({"name": "next"}, "next.zip"))
            tools("remove", "next")
        assert tools.files() == [], "something was left"


# ---- signatures -------------------------------------------------------------------------

@pytest.fixture
def signed(tools):
    file = tools.zip(more={"notes.txt": "some notes"})
    key = tools("sign", file, "--key", tools.place / "key", "--new-key").strip()
    return file, key


def test_a_signature_counts_when_its_key_is_trusted(tools, signed):
    file, key = signed
    p = subprocess.run([tools.program, "tool", "install", file], capture_output=True, text=True)
    assert p.returncode == 0 and key in p.stderr and "not trusted" in p.stderr
    assert tools.list()["probe"]["signer"] is None
    tools("trust", "add", "me", key)
    assert tools.list()["probe"]["signer"] == "me"
    assert json.loads(tools("trust", "list", "--json"))[0]["key"] == key
    tools("trust", "remove", "me")
    assert tools.list()["probe"]["signer"] is None, "at once"


def test_trust_is_given_once_and_under_a_name(tools, signed):
    _, key = signed
    tools("trust", "add", "me", key)
    assert "is there already" in tools("trust", "add", "me", key, code=1)
    assert "is there already, as me" in tools("trust", "add", "you", key, code=1)
    assert "is not a public key" in tools("trust", "add", "you", key[:-1], code=2)
    assert "is not a valid name for a key" in tools("trust", "add", "a b", key, code=2)
    assert "no key is named 'you'" in tools("trust", "remove", "you", code=1)


def repack(file, change):
    import io
    import zipfile
    out = io.BytesIO()
    with zipfile.ZipFile(file) as z, zipfile.ZipFile(out, "w") as new:
        files = {n: z.read(n) for n in z.namelist()}
        change(files)
        for name, content in files.items():
            new.writestr(name, content)
    file.write_bytes(out.getvalue())


def swap_module(files):
    files["probe.wasm"] = module(padding=5)


def edit_list(files):
    import hashlib
    swap_module(files)
    signature = json.loads(files["signature.json"])
    signature["files"]["probe.wasm"] = hashlib.sha256(files["probe.wasm"]).hexdigest()
    files["signature.json"] = json.dumps(signature)


ALTERED = {
    "the module": (swap_module, "the SHA-256 of 'probe.wasm' is "),
    "a note": (lambda f: f.update({"notes.txt": "x"}), "the SHA-256 of 'notes.txt' is "),
    "a file more": (lambda f: f.update({"more.txt": "x"}), "the SHA-256 of 'more.txt' is "),
    "a file less": (lambda f: f.pop("notes.txt"), "the SHA-256 of 'notes.txt' is of nothing"),
    "list and module": (edit_list, "its list of files"),
}


@pytest.mark.parametrize("change, why", ALTERED.values(), ids=ALTERED.keys())
def test_a_package_that_was_changed_after_it_was_signed_is_refused(tools, signed, change, why):
    file, key = signed
    tools("trust", "add", "me", key)
    repack(file, change)
    told = tools("install", file, code=1)
    assert "the package was changed after it was signed" in told and why in told
    import re
    assert len(re.findall(r"\b[0-9a-f]{64}\b|\bed25519:|no such file|of nothing", told)) >= 2
    assert tools.list() == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"version": 1, '
                                  '"algorithm": "ed25519", "files": {}, "key": "x"}'])
def test_a_signature_that_cannot_be_read_is_refused(tools, signed, text):
    file, _ = signed
    repack(file, lambda f: f.update({"signature.json": text}))
    tools("install", file, code=1 if '"files"' in text else 2)
    assert tools.list() == {}


def test_signing_again_takes_the_place_of_the_signature(tools, signed):
    file, key = signed
    other = tools("sign", file, "--key", tools.place / "other", "--new-key").strip()
    assert other != key
    tools("trust", "add", "other", other)
    tools("install", file)
    assert tools.list()["probe"]["signer"] == "other"


def test_an_update_needs_the_same_signature(tools, signed):
    file, key = signed
    tools("install", file)
    told = tools("update", tools.zip({"version": "2.0.0"}), code=1)
    assert f"was signed by {key}, and this package is not signed" in told
    assert tools.list()["probe"]["version"] == "1.0.0"


def test_a_key_that_others_can_read_signs_nothing(tools, signed):
    file, _ = signed
    (tools.place / "key").chmod(0o644)
    assert "can be read by others" in tools("sign", file, "--key", tools.place / "key", code=1)


def test_policy_can_demand_a_signature(cloche, tools, signed):
    file, key = signed
    tools("install", file)
    subprocess.run([cloche, "policy", "set", "tools.requireSignature", "true"], check=True,
                   capture_output=True)
    assert tools.list()["probe"]["permission"] == "never"
    tools("trust", "add", "me", key)
    assert tools.list()["probe"]["permission"] == "ask"


# ---- the compiler, apart ------------------------------------------------------------------

@pytest.mark.parametrize("how, least, enough", [("well", 64, 2048), ("simply", 64, 1024)])
def test_the_compiler_has_no_more_memory_than_it_is_given(cloche, tools, how, least, enough):
    """One large function: 64 MB do not suffice, however it is compiled."""
    wasm = module(body=b"\x41\0" + b"\x41\1\x6a" * 250_000 + b"\x1a\x0b")

    def answer(megabytes):
        return subprocess.run([cloche, "compile-module", "0", how, str(megabytes << 20)], input=wasm,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout[:1]

    assert answer(least) != b"D" and answer(enough) == b"D"


def test_the_compiler_has_nothing_to_open(cloche, tools, tmp_path):
    """The compiler's seccomp filter is active in every thread."""
    wasm = module(body=b"\x41\0" + b"\x41\1\x6a" * 200_000 + b"\x1a\x0b")
    source = tmp_path / "module.wasm"
    source.write_bytes(wasm)
    with source.open("rb") as f:
        p = subprocess.Popen([cloche, "compile-module", "0", "well", str(1 << 30)], stdin=f,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen = set()
    while p.poll() is None and not seen & {"2"}:
        for task in Path(f"/proc/{p.pid}/task").glob("*/status"):
            try:
                seen |= {line.split()[1] for line in task.read_text().splitlines()
                         if line.startswith("Seccomp:")}
            except OSError:
                pass
    answer = p.communicate()[0]
    assert answer[:1] == b"D" and p.returncode == 0
    assert "2" in seen


def test_what_was_done_is_recorded(cloche, tools, signed):
    file, key = signed
    tools("trust", "add", "me", key)
    tools("install", file)
    tools("disable", "probe")
    tools("remove", "probe")
    told = subprocess.check_output([cloche, "audit", "--json"], text=True)
    for event in ("tool trust", "tool install", "tool disable", "tool remove"):
        assert event in told


# ---- proposals ----------------------------------------------------------------------------

def waiting(cloche):
    return json.loads(subprocess.check_output([cloche, "approvals", "list", "--json"]))


def test_what_is_proposed_is_installed_when_a_person_allows_it(cloche, tools):
    ticket = tools("propose", tools.zip({"license": "MIT"})).strip()
    entry = waiting(cloche)[0]
    assert (entry["id"], entry["kind"], entry["tools"]) == (ticket, "install", ["probe"])
    import hashlib
    assert entry["shown"]["sha256"] == hashlib.sha256(
        (tools.place / "tool.zip").read_bytes()).hexdigest()
    for label in ("name", "version", "fileAccess", "size", "signer"):
        assert entry["shown"][label]
    assert tools.list() == {}, "not before"
    tools.zip({"name": "other"})  # the file is another one by now
    subprocess.run([cloche, "approvals", "allow", ticket], check=True, capture_output=True)
    assert list(tools.list()) == ["probe"], "what was looked at is what is installed"
    assert not list((tools.place / "state/cloche/proposals").iterdir())


def test_a_denied_proposal_is_forgotten(cloche, tools):
    ticket = tools("propose", tools.zip()).strip()
    subprocess.run([cloche, "approvals", "deny", ticket], check=True, capture_output=True)
    assert tools.list() == {} and waiting(cloche) == []
    assert not list((tools.place / "state/cloche/proposals").iterdir())


def test_a_proposal_that_was_exchanged_meanwhile_is_not_installed(cloche, tools):
    ticket = tools("propose", tools.zip()).strip()
    kept = next((tools.place / "state/cloche/proposals").iterdir())
    kept.write_bytes(package({"name": "other"}))
    p = subprocess.run([cloche, "approvals", "allow", ticket], capture_output=True, text=True)
    assert p.returncode == 1 and "is not there any more" in p.stderr
    assert tools.list() == {}


def test_what_cannot_be_installed_is_not_proposed(cloche, tools):
    tools("propose", tools.zip({"version": 1}), code=2)
    assert waiting(cloche) == []


def test_only_so_many_proposals_wait(cloche, tools):
    for i in range(16):
        tools("propose", tools.zip({"name": f"tool{i}"}))
    told = tools("propose", tools.zip({"name": "more"}), code=1)
    assert "already wait for a person's approval" in told
    assert len(waiting(cloche)) == 16


# ---- compiling ---------------------------------------------------------------------------

class Compiler:
    """A stand-in for the compiler, which a test can delay and make fail."""

    def __init__(self, place, cloche):
        place.mkdir()
        program = Path(lay_out(place, cloche))
        program.rename(place / "real")
        self.program, self.log, self.go = str(place / "real"), place / "log", place / "go"
        program.write_text(f"""#!/bin/sh
echo "$3" >>{self.log}
{{}}
exec {self.program} "$@"
""")
        program.chmod(0o755)
        self.script = program

    def does(self, what):
        self.script.write_text(self.script.read_text().replace("{}", what))


@pytest.fixture
def compiler(cloche, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Compiler(tmp_path / "program", cloche)


def test_what_takes_too_much_is_compiled_simply(compiler, tmp_path):
    compiler.does('[ "$3" = simply ] || exit 9')
    tools = Tools(compiler.program, tmp_path)
    tools("install", tools.zip({"name": "mine"}))
    assert compiler.log.read_text().split() == ["well", "simply"]
    tools("run", "mine")
    assert compiler.log.read_text().split() == ["well", "simply"], "what was compiled is kept"


def test_what_takes_too_much_in_any_way_is_refused_with_the_limits(compiler, tmp_path):
    compiler.does("exit 9")
    tools = Tools(compiler.program, tmp_path)
    told = tools("install", tools.zip({"name": "mine"}), code=1)
    assert "not even without optimisation" in told and "120 s of processor time" in told
    assert " MB of memory (three quarters of what is here, at most 4096 MB)" in told
    assert tools.files() == []


def test_how_long_it_takes_is_told_at_the_terminal(compiler, tmp_path):
    compiler.does(f"while [ ! -e {compiler.go} ]; do :; done")
    tools = Tools(compiler.program, tmp_path)
    with subprocess.Popen([compiler.program, "tool", "install", tools.zip({"name": "mine"})], text=True,
                          stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as done:
        assert done.stderr.readline() == "cloche: compiling mine: 2 s\n"
        compiler.go.touch()
    assert done.returncode == 0


def test_how_long_it_takes_is_told_to_a_client(compiler, tmp_path, vault):
    """Compiled modules that are gone: on another computer, or with an emptied cache."""
    tools = Tools(compiler.program, tmp_path)
    compiler.does("")
    tools("install", tools.zip({"name": "mine"}))
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]) / "cloche" / "modules")
    compiler.script.write_text(compiler.script.read_text().replace(
        "exec", f"while [ ! -e {compiler.go} ]; do :; done\nexec"))
    tools("permit", "mine", "always")
    with Stdio([compiler.program, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize("2025-11-25"))
        message = call("run_tool", {"name": "mine"})
        message["params"]["_meta"] = {"progressToken": "p"}
        client.send(message)
        told = client.receive()
        assert told["method"] == "notifications/progress"
        assert told["params"]["message"].startswith("compiling mine: ")
        compiler.go.touch()
        while "result" not in (told := client.receive()):
            pass
    assert not told["result"]["isError"]
