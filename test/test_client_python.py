"""clients/python, the package cloche: the machine and the rest from plain code and from asyncio, its types,
its README, and the wheel, installed into an empty environment."""
import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

import needs
from conftest import ROOT, policy_in
from machine_doors import needs_image

PACKAGE = ROOT / "clients" / "python"
VENV = ROOT / "build" / "deps" / "venv-clients" / "bin"
IMAGE = ROOT / "build" / "vm"
TIMEOUT_S = 600
sys.path.insert(0, str(PACKAGE))

from cloche import (AgentVM, AsyncAgentVM, AsyncCloche, Cloche, ClocheError, Disconnected,  # noqa: E402
                    FileError, HostFolder, ImageNotFound, Mount, NotStarted, OutputTooLarge,
                    ProgramNotFound, Timeout)

pytestmark = [needs_image, needs.installed(VENV / "mypy", by="deps/fetch test"),
              needs.installed(ROOT / "build/guest/tools/jq", by="make tools")]


@pytest.fixture(autouse=True)
def program(cloche, monkeypatch):
    monkeypatch.setenv("CLOCHE_BIN", cloche)


@pytest.fixture
def vm():
    with AgentVM(wasm_path=IMAGE) as machine:
        yield machine


@pytest.fixture
def library(vault):
    with Cloche(vaults=vault) as c:
        yield c


def run(*command, **how):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          timeout=TIMEOUT_S, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- a machine -----------------------------------------------------------------------


def test_a_result_is_text_bytes_and_the_exit_code(vm):
    got = vm.exec("echo hello; printf '\\377' >&2; (exit 3)")
    assert (got.stdout, got.stderr, got.exit_code) == ("hello\n", "\ufffd", 3)
    assert (got.stdout_bytes, got.stderr_bytes) == (b"hello\n", b"\xff")
    assert vm.exec("cat", stdin=bytes(range(256))).stdout_bytes == bytes(range(256))
    assert vm.exec(["printf", "%s|", "$HOME", "it's"]).stdout == "$HOME|it's|"
    assert vm.exec("python3 -c 'print(100 + 200)'").stdout == "300\n"


def test_the_shell_stays_and_stdin_cwd_and_env_do_not(vm):
    vm.exec("export MYVAR=foobar; cd /tmp")
    assert vm.exec("cat; echo $PWD $MYVAR $WHO", stdin="in\n", cwd="/usr",
                   env={"WHO": "me"}).stdout == "in\n/usr foobar me\n"
    assert vm.exec("echo $PWD -$WHO-").stdout == "/tmp --\n"
    assert vm.exec("echo -$MYVAR-", session="another").stdout == "--\n"
    assert vm.exec("exit 7", session="short").shell_ended


def test_files_are_there_when_the_command_begins(vm):
    assert vm.exec("cat a; od -An -tx1 b/c", cwd="/tmp", files={"a": "text\n", "b/c": b"\0\xff\n"}).stdout == "text\n 00 ff 0a\n"


def test_programs_of_the_machine_use_the_notes_of_the_library(library):
    with library.machine() as machine:
        got = machine.exec("cloche-guest -r notes.create type=idea title=Made content=inside >/dev/null && "
                           "cloche-guest notes.get idea/Made", calls=True)
        assert json.loads(got.stdout)["content"] == "inside"
    assert library.notes.get("idea/Made")["content"] == "inside"


def test_output_is_heard_in_order_and_whole(vm):
    heard, own = [], []
    vm.on("output", heard.append)
    got = vm.exec("for i in $(seq 1000); do echo läuft $i; done; printf '\\377' >&2", on_output=own.append)
    assert b"".join(o.data for o in heard if o.stream == "stdout") == got.stdout_bytes
    assert "".join(o.data.decode() for o in heard if o.stream == "stdout") == got.stdout
    assert [o.data for o in heard if o.stream == "stderr"] == [b"\xff"]
    assert own == heard


def test_output_is_heard_while_the_command_runs(vm):
    def go(output):
        if output.data == b"up\n":
            vm.exec("touch /tmp/go", session="other")

    got = vm.exec("echo up; until [ -e /tmp/go ]; do sleep .05; done; echo end", on_output=go)
    assert got.stdout == "up\nend\n"


def test_what_stopped_a_command_is_an_error_with_its_output(vm):
    with pytest.raises(Timeout, match="3000 ms") as timeout:
        vm.exec("echo begun; sleep 100", timeout_ms=3000)
    assert "begun\n".startswith(timeout.value.result.stdout)
    heard = []
    with pytest.raises(OutputTooLarge) as large:
        vm.exec("seq 1000", max_output=100, on_output=heard.append)
    assert vm.exec("seq 1000").stdout_bytes.startswith(b"".join(o.data for o in heard))
    assert large.value.result.stdout.startswith("1\n2\n") and large.value.result.exit_code == 0
    with pytest.raises(OutputTooLarge, match="exit code 3"):
        vm.exec("head -c 7000000 /dev/zero; exit 3", session="much")  # six bytes of JSON each
    assert len(vm.exec("seq 300000").stdout) == 1988895
    with pytest.raises(ClocheError, match="40 characters") as refused:
        vm.exec("true", session="x" * 41)
    assert refused.value.name == "InvalidInput"


def test_files_go_in_and_come_out(vm, tmp_path):
    data = bytes(range(251)) * 20000
    vm.upload(data, "/root/data")
    assert vm.download("/root/data") == data
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "run").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "folder" / "run").chmod(0o755)
    (tmp_path / "folder" / "inner" / "it's").touch()
    vm.upload(tmp_path / "folder", "/root/a b")
    assert vm.exec("'/root/a b/run'; ls '/root/a b/inner'").stdout == "ran\nit's\n"
    assert vm.download("/root/a b/inner/it's", tmp_path / "back") == b""
    assert (tmp_path / "back").read_bytes() == b""
    with pytest.raises(FileError, match="No such file"):
        vm.download("/root/none")


def test_a_machine_that_is_not_running_says_so():
    vm = AgentVM(wasm_path=IMAGE)
    for _ in range(2):
        with pytest.raises(NotStarted, match=r"start\(\)"):
            vm.exec("true")
        vm.start()
        vm.start()
        assert vm.exec("ls /root").stdout == ""
        vm.exec("touch /root/mine")
        vm.stop()


def test_what_is_missing_is_named():
    with pytest.raises(ImageNotFound, match="make vm"):
        AgentVM(wasm_path="./none.wasm").start()
    with pytest.raises(ProgramNotFound, match="/none/cloche"):
        AgentVM(program="/none/cloche").start()
    with pytest.raises(Disconnected, match="exit code 1"):
        AgentVM(program="/bin/false").start()
    with pytest.raises(ClocheError, match="02:00:00:00:00:01"):
        AgentVM(mac="02:00")


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    (place / "inner").mkdir(parents=True)
    (place / "data.txt").write_text("of the host\n")
    return place


def refused(name, says, call):
    with pytest.raises(ClocheError, match=says) as error:
        call()
    assert error.value.name == name


def test_folders_of_this_computer_are_seen_at_their_place(folder):
    with AgentVM(wasm_path=IMAGE, mounts={"/mnt/data": folder}) as vm:
        assert vm.exec("ls /mnt/data; cat /mnt/data/data.txt").stdout == "data.txt\ninner\nof the host\n"
        vm.exec("echo of the machine >/mnt/data/inner/made")
        assert (folder / "inner" / "made").read_text() == "of the machine\n"
        (folder / "later").write_text("later\n")
        assert vm.exec("cat /mnt/data/later").stdout == "later\n"
        with vm.fork() as fork:
            assert fork.exec("cat /mnt/data/later; echo of the fork >/mnt/data/inner/fork").stdout == "later\n"
        assert vm.exec("cat /mnt/data/inner/fork").stdout == "of the fork\n"
    mounts = {"/ro": HostFolder(folder, "ro"), "/over": HostFolder(folder, "overlay")}
    with AgentVM(wasm_path=IMAGE, mounts=mounts) as vm:
        assert "Read-only" in vm.exec("echo no >/ro/data.txt").stderr
        assert vm.exec("echo yes >/over/data.txt; cat /over/data.txt").stdout == "yes\n"
    assert (folder / "data.txt").read_text() == "of the host\n"


def test_machines_of_a_library_name_its_folders(folder):
    with Cloche(mounts={"/data": folder}) as library:
        with library.machine(mounts={"/work": Mount("/data", "ro"), "/too": "/data"}) as vm:
            assert vm.exec("cat /work/data.txt; echo x >/work/x; echo y >/too/y").stdout == "of the host\n"
        refused("NotFound", "/none", library.machine(mounts={"/work": "/none"}).start)
    assert sorted(f.name for f in folder.iterdir()) == ["data.txt", "inner", "y"]


def test_what_changed_in_an_overlay_is_written_when_the_program_says_so(folder):
    (folder / "a").write_text("one")
    mounts = {"/src": HostFolder(folder, "overlay", apply=True), "/kept": HostFolder(folder, "overlay")}
    with AgentVM(wasm_path=IMAGE, mounts=mounts) as vm:
        vm.exec("echo two >/src/a; mkdir /src/d; rm /kept/a")
        seen = vm.changes("/src")
        assert (seen.applied, seen.created, seen.changed, seen.conflicts) == (False, ["d/"], ["a"], [])
        assert (folder / "a").read_text() == "one"
        assert vm.apply("/src").applied and (folder / "a").read_text() == "two\n" and (folder / "d").is_dir()
        assert vm.changes("/src").changed == [] and vm.changes("/kept").deleted == ["a"]
        refused("PermissionDenied", ":apply", lambda: vm.apply("/kept"))
        vm.exec("echo three >/src/a")
        (folder / "a").write_text("mine")
        assert vm.changes("/src").conflicts == ["a"]
        refused("Conflict", "a was changed", lambda: vm.apply("/src"))
    assert (folder / "a").read_text() == "mine"
    refused("InvalidInput", "no overlay", lambda: AgentVM(mounts={"/x": HostFolder(folder, apply=True)}))


def test_folders_that_cannot_be_mounted_are_errors(folder):
    refused("NotFound", "none", AgentVM(wasm_path=IMAGE, mounts={"/x": folder / "none"}).start)
    refused("InvalidInput", "/proc", AgentVM(wasm_path=IMAGE, mounts={"/proc": folder}).start)
    refused("InvalidInput", "absolute", lambda: AgentVM(mounts={"/x:ro": folder}))
    refused("InvalidInput", "overlay", lambda: AgentVM(mounts={"/x": HostFolder(folder, "w")}))


def test_the_network_card_has_the_address_that_is_given():
    for mac, seen in ((None, "02:00:00:00:00:01"), ("02:00:00:00:0A:09", "02:00:00:00:0a:09")):
        with AgentVM(wasm_path=IMAGE, mac=mac) as vm:
            assert vm.exec("cat /sys/class/net/eth0/address").stdout == f"{seen}\n"
    refused("InvalidInput", "group", AgentVM(wasm_path=IMAGE, mac="03:00:00:00:00:01").start)


@pytest.mark.parametrize("word, asked, has", [("always", None, True), ("always", False, False),
                                              ("never", None, False), ("ask", None, False)])
def test_the_network_is_there_where_the_policy_allows_it(word, asked, has, tmp_path):
    policy_in(tmp_path, {"vm": {"network": word}})
    with AgentVM(wasm_path=IMAGE, network=asked) as vm:
        assert vm.cloche.evaluate("return (await vm.list())[0].network") is has
        with vm.fork() as copy:
            listed = copy.cloche.evaluate("return (await vm.list()).map(({network}) => network)")
            assert listed == [has, has]


def test_a_network_that_is_asked_for_is_there_or_an_error(tmp_path):
    policy_in(tmp_path, {"vm": {"network": "never"}})
    refused("PermissionDenied", "network", AgentVM(wasm_path=IMAGE, network=True).start)


def test_a_fork_goes_on_beside_its_machine_and_neither_sees_the_other():
    vm = AgentVM(wasm_path=IMAGE)
    for call in (vm.fork, lambda: vm.snapshot("x")):
        with pytest.raises(NotStarted):
            call()
    vm.start()
    vm.exec("export WHO=me; cd /tmp; echo before >file")
    copy = vm.fork()
    vm.exec("echo parent >file")
    assert copy.exec("echo $WHO $PWD; cat file; echo copy >file").stdout == "me /tmp\nbefore\n"
    assert vm.exec("cat file").stdout == "parent\n"
    heard = []
    with copy.fork() as second:
        second.on("output", heard.append)
        vm.stop()  # the process is that of all three
        assert second.exec("cat file").stdout == "copy\n"
        copy.stop()
        with pytest.raises(NotStarted):
            copy.exec("true")
        assert second.exec("echo on").stdout == "on\n"
        vm.start()  # as another machine
        assert vm.exec("cat /tmp/file").exit_code != 0
        vm.stop()
    assert [o.data for o in heard] == [b"copy\n", b"on\n"]
    with pytest.raises(Disconnected):
        second.cloche.evaluate("return 1")


def test_a_snapshot_is_where_machines_of_another_process_begin(folder):
    with AgentVM(wasm_path=IMAGE) as vm:
        vm.exec("echo kept >/root/file; sleep 1000 & export JOB=$!")
        saved = vm.snapshot("tools")
        assert saved.name == "tools" and saved.size > 0 and saved.ram_mb == 512 and saved.made
        refused("InvalidInput", "name", lambda: vm.snapshot("not a name"))
    with AgentVM(wasm_path=IMAGE, from_snapshot="tools", mac="02:00:00:00:00:07", mounts={"/host": folder}) as vm:
        assert vm.exec("cat /root/file; kill -0 $JOB && echo runs").stdout == "kept\nruns\n"
        got = vm.exec("cat /sys/class/net/eth0/address /host/data.txt").stdout
        assert got == "02:00:00:00:00:07\nof the host\n"
        assert [(s["name"], s["kind"], s["usable"]) for s in vm.cloche.snapshots.list()] == [("tools", "snapshot", True)]
        vm.cloche.snapshots.delete("tools")
        assert vm.cloche.snapshots.list() == []
    refused("NotFound", "tools", AgentVM(wasm_path=IMAGE, from_snapshot="tools").start)
    refused("InvalidInput", "ramMB", lambda: AgentVM(from_snapshot="tools", ram_mb=256))


def test_a_folder_in_memory_gives_its_files_and_its_changes_come_back():
    with AgentVM(wasm_path=IMAGE) as vm:
        mounts = [{"files": {"in": b"b\na\n", "same": ""}, "at": "/d"}, {"files": {"q": "x"}, "at": "/q", "mode": "ro"}]
        ran = vm.exec("cat /q/q >c; sort in >out; printf '\\377' >bin", cwd="/d", mounts=mounts)
        assert ran.files == {"/d/bin": b"\xff", "/d/c": b"x", "/d/out": b"a\nb\n"}
        assert vm.exec("true").files == {}


def test_machines_begin_with_the_snapshot_that_is_the_default():
    with AgentVM(wasm_path=IMAGE) as vm:
        vm.exec("echo kept >/root/file")
        vm.snapshot("default")
    with AgentVM(wasm_path=IMAGE) as vm, vm.cloche.machine(plain=True) as plain:
        assert vm.exec("cat /root/file").stdout == "kept\n"
        assert plain.exec("cat /root/file").exit_code == 1


def test_a_machine_with_a_name_is_found_again():
    with AgentVM(wasm_path=IMAGE, name="dev") as vm:
        vm.exec("cd /tmp; echo kept >file")
    with AgentVM(wasm_path=IMAGE, name="dev") as vm:
        assert vm.exec("cat file").stdout == "kept\n"


def test_a_port_is_reached_as_the_policy_allows(tmp_path):
    policy_in(tmp_path, {"vm": {"expose": "always"}})
    with AgentVM(wasm_path=IMAGE) as vm:
        vm.exec("mkdir /srv/a; cd /srv/a; echo page >x; python3 -m http.server 8000 >/dev/null 2>&1 &")
        vm.exec("until ss -tln | grep -q :8000; do sleep .05; done")
        port = vm.expose(8000)
        assert port.port == 8000 and f":{port.host_port}/" in port.url
        with httpx.Client(trust_env=False, timeout=120) as client:
            assert client.get(port.url + "x").text == "page\n"
            vm.unexpose(8000)
            with pytest.raises(httpx.ConnectError):
                client.get(port.url + "x")
        policy_in(tmp_path, {"vm": {"expose": "never"}})
        with pytest.raises(ClocheError) as refused:
            vm.expose(8000)
        assert refused.value.name == "PermissionDenied"
    with pytest.raises(NotStarted):
        vm.expose(8000)


def test_threads_share_a_machine(vm):
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.update(
        {n: vm.exec(f"echo {n}", session=f"s{n}").stdout})) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"{n}\n" for n in range(4)}


# ---- asyncio -------------------------------------------------------------------------


def test_a_cancelled_task_ends_its_command_and_all_its_processes():
    async def main():
        async with AsyncAgentVM(wasm_path=IMAGE) as vm:
            up = asyncio.Event()
            task = asyncio.create_task(vm.exec("sleep 1000 & echo $! >/tmp/pid; echo ready; wait",
                                               on_output=lambda output: up.set()))
            await up.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gone = "while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep .05; done; echo gone"
            assert (await vm.exec(gone, session="eye")).stdout == "gone\n"

    asyncio.run(main())


def test_commands_run_at_once_and_files_are_carried():
    async def main():
        async with AsyncAgentVM(wasm_path=IMAGE) as vm:
            wait = "touch /tmp/{0}; until [ -e /tmp/{1} ]; do sleep .05; done; echo {0}"
            got = await asyncio.gather(vm.exec(wait.format("a", "b"), session="a"),
                                       vm.exec(wait.format("b", "a"), session="b"))
            assert [r.stdout for r in got] == ["a\n", "b\n"]
            await vm.upload(b"\0\xff", "/root/x")
            assert await vm.download("/root/x") == b"\0\xff"
            await vm.exec("echo mine >/root/mine")
            assert (await vm.snapshot("tools")).name == "tools"
            async with await vm.fork() as copy:
                await copy.exec("echo other >/root/mine")
                await vm.stop()
                assert (await copy.exec("cat /root/mine")).stdout == "other\n"
                async with copy.cloche.machine(from_snapshot="tools") as saved:
                    assert (await saved.exec("cat /root/mine")).stdout == "mine\n"
                assert len(await copy.cloche.snapshots.list()) == 1
        with pytest.raises(NotStarted):
            await vm.exec("true")

    asyncio.run(main())


def test_asyncio_has_the_rest_too(vault):
    async def main():
        async with AsyncCloche(vaults=vault) as c:
            assert await c.evaluate("return n + 1", context={"n": 1}) == 2
            assert len(await c.notes.list(limit=2)) == 2
            assert (await c.tools.run("jq", {"filter": ".a"}, stdin=b'{"a":2}')).stdout == "2\n"
            assert (await c.functions.list())["functions"] == []
            async with c.machine() as vm:
                assert (await vm.exec("echo 1")).stdout == "1\n"
            assert await c.evaluate("return 1") == 1

    asyncio.run(main())


# ---- the rest of Cloche --------------------------------------------------------------


def test_code_is_evaluated_and_its_console_is_heard(library):
    heard = []
    assert library.evaluate("console.log('so', n); return {n: n + 1}", context={"n": 1},
                            on_log=lambda m: heard.append((m["level"], m["data"]))) == {"n": 2}
    assert heard == [("info", "so 1")]
    assert len(library.evaluate("return 'x'.repeat(3_000_000)")) == 3_000_000
    with pytest.raises(ClocheError, match="far") as failed:
        library.evaluate("\nthrow new RangeError('far')")
    assert failed.value.name == "ExecutionError" and failed.value.details["line"] == 2


def test_notes_tools_and_functions_are_called(library):
    made = library.notes.create(type="project", title="Three", content="Beside [[Start here]].")
    assert "Beside" in library.notes.get(made["id"])["content"]
    assert "project/Three" in str(library.links.getBacklinks("note/Start here"))
    with pytest.raises(ClocheError, match="titel"):
        library.notes.create(titel="x")
    with pytest.raises(AttributeError, match="noteTypes"):
        library.node
    ran = library.tools.run("jq", {"filter": ".a"}, stdin='{"a": [1]}')
    assert ran.exit_code == 0 and ran.stdout.split() == ["[", "1", "]"]
    assert not library.tools.run("jq", {"filter": ".a"}, stdin="no").success
    assert library.tools.run("sort", args=["-o", "d/out", "in"], files={"in": b"b\na\n", "d/x": "y"}).files == {"d/out": b"a\nb\n"}
    library.functions.register(
        name="twice", description="Twice a number", returnType="number",
        parameters={"n": {"type": "number", "description": "it"}},
        code="async function twice(n: number): Promise<number> { return 2 * n; }")
    assert library.functions.call("twice", 21) == 42
    with library.machine() as vm:
        assert vm.exec("echo 1").stdout == "1\n"


def test_what_is_closed_is_not_started_again():
    library = Cloche()
    vm = library.machine()
    vm.start()
    library.close()
    for call in (lambda: library.evaluate("return 1"), lambda: vm.exec("true")):
        with pytest.raises(Disconnected):
            call()
    vm.stop()


# ---- the package ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Python of an empty environment with the wheel in it."""
    place = tmp_path_factory.mktemp("wheel")
    run(VENV / "python", "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--wheel-dir", place, PACKAGE, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    wheel, = place.glob("cloche-*-py3-none-any.whl")
    run(VENV / "python", "-m", "venv", place / "venv")
    run(place / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", wheel)
    return place / "venv" / "bin" / "python"


SEED_EXAMPLE = """\
from cloche import AgentVM

vm = AgentVM(wasm_path="./agentvm-alpine-python.wasm")
vm.start()
result = vm.exec('python3 -c "print(1+1)"')
print(result.stdout)  # "2\\n"
vm.stop()
"""


def test_the_wheel_runs_the_specification_s_example(installed, tmp_path, monkeypatch):
    (tmp_path / "agentvm-alpine-python.wasm").symlink_to(IMAGE)
    (tmp_path / "main.py").write_text(SEED_EXAMPLE)
    assert run(installed, "main.py", cwd=tmp_path) == "2\n\n"
    monkeypatch.delenv("CLOCHE_BIN")  # the image's own program is found as well
    assert run(installed, "main.py", cwd=tmp_path) == "2\n\n"


def test_the_readme_s_example_runs(installed, tmp_path):
    readme = (PACKAGE / "README.md").read_text()
    assert len(readme.splitlines()) <= 50, "one screen"
    example, = re.findall(r"```python\n(.*?)```", readme, re.S)
    (tmp_path / "main.py").write_text(example)
    assert run(installed, "main.py", cwd=tmp_path) == "stdout b'4\\n2\\n'\n0 '4\\n2\\n'\n6\n"


TYPED = """\
import asyncio
from cloche import AgentVM, AsyncAgentVM, Cloche, ExecResult, HostFolder, Snapshot

with AgentVM(wasm_path="x", mounts={"/mnt": "/tmp"}, network=True, mac="02:00:00:00:00:01") as vm:
    result: ExecResult = vm.exec(["ls"], stdin=b"x", env={"A": "b"}, timeout_ms=5)
    texts: list[str] = [result.stdout, result.stderr]
    data: bytes = vm.download("/etc/passwd")
    copy: AgentVM = vm.fork(network=False)
    saved: Snapshot = copy.snapshot("tools")
    vm.exec(5)  # type: ignore[arg-type]

async def main() -> int:
    async with AsyncAgentVM(from_snapshot="tools", name=None) as vm, await vm.fork() as copy:
        return (await copy.exec("true")).exit_code

with Cloche(vaults=["a", "b"], mounts={"/data": HostFolder("/tmp", "ro")}) as cloche:
    code: int = cloche.tools.run("jq", {"filter": "."}).exit_code
"""


def test_its_types_are_what_it_takes_and_gives(installed, tmp_path):
    (tmp_path / "main.py").write_text(TYPED)
    run(VENV / "mypy", "--strict", "--cache-dir", tmp_path / "cache", "--python-executable", installed,
        "main.py", cwd=tmp_path)
    run(VENV / "mypy", "--strict", "--cache-dir", tmp_path / "cache", PACKAGE / "cloche")
